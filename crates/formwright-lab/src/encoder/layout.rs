//! The mixer of each layer, in a short string:
//!
//! ```text
//! layout = run {"," run}        run = mixer ["*" layers]        attention*12      sepconv*2,attention*10
//! ```
//!
//! | mixer | what it is |
//! |---|---|
//! | `attention` | multi-head softmax attention |
//! | `average` | every token gets the same projected mean |
//! | `bproj` | a learned matrix over the tokens |
//! | `sepconv[:LENGTH[:FILTERS]]` | gated linear units, then convolutions, a filter for each group of dimensions |
//! | `linformer:K` | attention to `K` learned mixtures of the tokens |
//! | `performer:K` | attention by `K` random features |
//! | `sparse:PATTERN` | attention under a pattern of `formwright patterns`, or `file:PATH` |
//!
//! A convolution has 16 filters of length 128 unless said otherwise.
//! The layers with a pattern of several layers go through it in their order, as a cycle.

use std::fmt;
use std::str::FromStr;

use formwright::error::{Error, Result, nearest};
use formwright::pattern::Family;
use serde::{Deserialize, Serialize};

/// The way in which a layer mixes tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the module says what each of them is")]
pub enum Mix {
    Attention,
    Average,
    BProj,
    SepConv { length: usize, filters: usize },
    Linformer { slots: usize },
    Performer { features: usize },
    Sparse { pattern: String },
}

/// The length of the paper's filters (appendix D).
const LENGTH: usize = 128;
/// The number of the paper's filters.
const FILTERS: usize = 16;

/// Every name, with the parameters that follow it.
const NAMES: [(&str, &str); 7] = [
    ("attention", ""),
    ("average", ""),
    ("bproj", ""),
    ("sepconv", "[:LENGTH[:FILTERS]]"),
    ("linformer", ":K"),
    ("performer", ":K"),
    ("sparse", ":PATTERN"),
];

impl Mix {
    /// The names and their parameters, in one line.
    pub fn names() -> String {
        NAMES.map(|(name, after)| format!("{name}{after}")).join(", ")
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attention => write!(f, "attention"),
            Self::Average => write!(f, "average"),
            Self::BProj => write!(f, "bproj"),
            Self::SepConv { length: LENGTH, filters: FILTERS } => write!(f, "sepconv"),
            Self::SepConv { length, filters: FILTERS } => write!(f, "sepconv:{length}"),
            Self::SepConv { length, filters } => write!(f, "sepconv:{length}:{filters}"),
            Self::Linformer { slots } => write!(f, "linformer:{slots}"),
            Self::Performer { features } => write!(f, "performer:{features}"),
            Self::Sparse { pattern } => write!(f, "sparse:{pattern}"),
        }
    }
}

impl FromStr for Mix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, after) = text.split_once(':').map_or((text, None), |(name, after)| (name, Some(after)));
        let Some((_, expected)) = NAMES.into_iter().find(|(known, _)| *known == name) else {
            let error = Error::input(format!("'{name}' is no token mixer")).note("known", Self::names());
            return Err(match nearest(name, NAMES.map(|(name, _)| name)) {
                Some(near) => error.note("try", near),
                None => error,
            });
        };
        let wrong =
            || Error::input(format!("'{text}' is no token mixer")).note("expected", format!("{name}{expected}"));
        let number = |text: &str| match text.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(wrong().note("witness", format!("'{text}', and it takes a whole number from 1 on"))),
        };
        match (name, after) {
            ("attention", None) => Ok(Self::Attention),
            ("average", None) => Ok(Self::Average),
            ("bproj", None) => Ok(Self::BProj),
            ("sepconv", None) => Ok(Self::SepConv { length: LENGTH, filters: FILTERS }),
            ("sepconv", Some(after)) => {
                let (length, filters) = after.split_once(':').map_or((after, None), |(a, b)| (a, Some(b)));
                let filters = filters.map_or(Ok(FILTERS), number)?;
                Ok(Self::SepConv { length: number(length)?, filters })
            }
            ("linformer", Some(slots)) => Ok(Self::Linformer { slots: number(slots)? }),
            ("performer", Some(features)) => Ok(Self::Performer { features: number(features)? }),
            ("sparse", Some(pattern)) => {
                if !pattern.starts_with("file:") {
                    pattern.parse::<Family>()?;
                }
                Ok(Self::Sparse { pattern: pattern.to_owned() })
            }
            _ => Err(wrong()),
        }
    }
}

/// The mixers of all layers, from the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Layout(Vec<Mix>);

/// The most layers; more are a slip of the keyboard.
const MOST_LAYERS: usize = 1000;

impl Layout {
    /// The mixers, layer by layer.
    pub fn layers(&self) -> &[Mix] {
        &self.0
    }
}

impl From<Vec<Mix>> for Layout {
    fn from(layers: Vec<Mix>) -> Self {
        Self(layers)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, run) in self.0.chunk_by(|a, b| a == b).enumerate() {
            let comma = if place > 0 { "," } else { "" };
            write!(f, "{comma}{}", run[0])?;
            if run.len() > 1 {
                write!(f, "*{}", run.len())?;
            }
        }
        Ok(())
    }
}

impl FromStr for Layout {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut layers = Vec::new();
        for (place, run) in text.split(',').enumerate() {
            let at = |error: Error| error.note_first("where", format!("run {} of the layout '{text}'", place + 1));
            // A star behind the last colon counts layers; a path may hold others.
            let (mixer, count) = run.rsplit_once('*').map_or((run, None), |(mixer, count)| (mixer, Some(count)));
            let count = match count.map(|count| (count, count.trim().parse())) {
                None => 1,
                Some((_, Ok(count))) if (1..=MOST_LAYERS).contains(&count) => count,
                Some((count, _)) => {
                    let error = Error::input(format!("'{count}' is no number of layers from 1 to {MOST_LAYERS}"));
                    return Err(at(error).note("expected", "MIXER*LAYERS, as in attention*12"));
                }
            };
            let mixer: Mix = mixer.trim().parse().map_err(at)?;
            layers.extend(std::iter::repeat_n(mixer, count));
        }
        if layers.len() > MOST_LAYERS {
            return Err(Error::input(format!("{} layers, and the most are {MOST_LAYERS}", layers.len())));
        }
        Ok(Self(layers))
    }
}

impl TryFrom<String> for Layout {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Layout> for String {
    fn from(layout: Layout) -> Self {
        layout.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_what_it_prints() {
        let text =
            "sepconv*2,sepconv:7,sepconv:7:3,average,bproj,linformer:4*3,performer:8,sparse:random:3:1,attention*10";
        let layout: Layout = text.parse().expect("a layout");
        assert_eq!(layout.to_string(), text);
        assert_eq!(layout.layers().len(), 21);
        assert_eq!("attention,attention , attention*2".parse::<Layout>().expect("runs").to_string(), "attention*4");
        assert_eq!("sepconv:128:16".parse::<Layout>().expect("the paper's").to_string(), "sepconv");
    }

    #[test]
    fn an_error_names_the_run_and_the_nearest() {
        let error = |text: &str| text.parse::<Layout>().expect_err("no layout").to_string();
        insta::assert_snapshot!(
            [
                "attention*2,sepcnov*3",
                "",
                "attention*0",
                "attention*two",
                "attention:3",
                "linformer",
                "performer:0",
                "attention,sparse:windw:3",
                "sepconv:7:x",
                "attention*2000"
            ]
            .map(error)
            .join("\n\n")
        );
    }
}
