//! The mixers by name.

use std::fmt;
use std::str::FromStr;

use super::set::Set;
use super::{attention, linear, sparse, sums};
use crate::error::{Error, Result, nearest};
use crate::exact::Rat;
use crate::lattice::Point;
use crate::network::{Realisation, attention as kinds};
use crate::pattern::Family;
use crate::show::plural;

/// `q`: from a sequence to a number for each of its tokens.
pub(super) type Map = Box<dyn Fn(&Point) -> Vec<Rat>>;

/// The longest filter.
const MOST_TAPS: usize = 4096;

/// A way to mix tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mixer {
    /// The paper's stack of attention layers.
    Attention {
        /// Windows per layer; the paper has one.
        windows: u64,
    },
    /// Sums over the tokens.
    Sums {
        /// Their realisation.
        by: Realisation,
        /// True if a feed-forward layer gives the columns codes first.
        coded: bool,
    },
    /// One continuous number for each token, added up.
    Sumformer {
        /// The seed from which `φ` is drawn.
        seed: u64,
    },
    /// A bilinear projection.
    BProj {
        /// The seed from which `W_P` is drawn.
        seed: u64,
    },
    /// A separable convolution.
    SepConv {
        /// The length of the filter.
        taps: usize,
        /// The seed from which it is drawn.
        seed: u64,
    },
    /// Attention under a sparsity pattern.
    Sparse {
        /// The pattern's name.
        pattern: String,
    },
    /// Feed-forward layers alone.
    FeedForward,
}

/// The names of those that are no kinds of attention, with what may follow them: some before the kinds, and some behind.
const NAMES: [(&str, &str); 8] = [
    ("attention", "[:K]"),
    ("attention-only", "[:K]"),
    ("feed-forward-only", ""),
    ("sum-code", ""),
    ("sumformer", "[:SEED]"),
    ("bproj", "[:SEED]"),
    ("sepconv", ":K[:SEED]"),
    ("sparse", ":PATTERN"),
];

/// The prefix of a kind of attention's name where a feed-forward layer gives the columns codes first.
const CODED: &str = "ff-";

/// Every name, with what may follow it.
fn names() -> Vec<(String, &'static str)> {
    let kinds = || kinds::kinds().into_iter().filter_map(|kind| Some((kind.name(), kind.mixer()?)));
    let own = NAMES.map(|(name, after)| (name.to_owned(), after));
    let plain = kinds().map(|(name, after)| (name.to_owned(), after));
    let coded = kinds().map(|(name, after)| (format!("{CODED}{name}"), after));
    own[..4].iter().cloned().chain(plain).chain(coded).chain(own[4..].iter().cloned()).collect()
}

/// The seed where none is named.
const SEED: u64 = 1;

impl Mixer {
    /// The names and their arguments, in one line.
    pub fn names() -> String {
        names().iter().map(|(name, after)| format!("{name}{after}")).collect::<Vec<_>>().join(", ")
    }

    /// A description of the mixer.
    pub fn about(&self) -> String {
        match self {
            Self::Attention { windows: 1 } => {
                "the paper's stack of attention layers, and nothing else (Lemma 6)".to_owned()
            }
            Self::Attention { windows } => {
                format!("the paper's stack of attention layers (Lemma 6), {windows} windows a layer instead of one")
            }
            Self::Sums { by, coded } => {
                let what =
                    if *coded { "the codes of all tokens, by a feed-forward layer in front" } else { "all tokens" };
                let weighted = if self.names_places() { "a sum, with Gaussian weights, of" } else { "the sum of" };
                let by = if by.is_softmax() { "softmax with equal scores".to_owned() } else { by.to_string() };
                format!("a token learns {weighted} {what} ({by}), and knows itself")
            }
            Self::Sumformer { .. } => {
                "a token learns the sum of φ over all tokens, one number, φ continuous, and knows itself".to_owned()
            }
            Self::BProj { .. } => "X + X W_P, W_P drawn (Yun et al. 2020, section 6.1)".to_owned(),
            Self::SepConv { taps, .. } => {
                format!("X + X * W_C, {} drawn (Yun et al. 2020, section 6.2)", plural(*taps, "tap"))
            }
            Self::Sparse { .. } => {
                "attention under a pattern, positions by its chain, sweeps, all-max shifts (Yun et al. 2020b)"
                    .to_owned()
            }
            Self::FeedForward => "feed-forward layers alone; the identity tells as much as any".to_owned(),
        }
    }

    /// The seed, if anything is drawn.
    pub fn seed(&self) -> Option<u64> {
        self.clone().seed_mut().copied()
    }

    /// The same mixer with another seed, where it has one.
    pub fn with_seed(&self, seed: u64) -> Self {
        let mut mixer = self.clone();
        if let Some(own) = mixer.seed_mut() {
            *own = seed;
        }
        mixer
    }

    fn seed_mut(&mut self) -> Option<&mut u64> {
        match self {
            Self::Sumformer { seed } | Self::BProj { seed } | Self::SepConv { seed, .. } => Some(seed),
            Self::Sums { by, .. } if !by.is_sum() => Some(&mut by.choice.at),
            _ => None,
        }
    }

    /// How it adds up with drawn weights, if it does.
    pub(super) fn weighted_sum(&self) -> Option<&Realisation> {
        match self {
            Self::Sums { by, .. } if !by.is_sum() => Some(by),
            _ => None,
        }
    }

    /// True if its weights depend on the place of a token.
    fn names_places(&self) -> bool {
        match self {
            Self::Sums { .. } => self.weighted_sum().is_some(),
            Self::BProj { .. } | Self::SepConv { .. } | Self::Sparse { .. } => true,
            _ => false,
        }
    }

    /// True if permuted tokens have permuted numbers.
    pub fn is_equivariant(&self, positional: bool) -> bool {
        !positional && !self.names_places()
    }

    /// `q` of every sequence of a set; the `φ` of a Sumformer has its knots at `0, …, resolution - 1`.
    pub fn values(&self, set: &Set, resolution: u64, positional: bool) -> Result<Vec<Vec<Rat>>> {
        let q: Map = match self {
            Self::Attention { windows } => attention::map(set, *windows, positional),
            Self::Sums { by, coded } => sums::map(set, by, *coded, positional)?,
            Self::Sumformer { seed } => sums::sumformer(set, resolution, *seed)?,
            Self::BProj { seed } => linear::bproj(set, *seed, positional),
            Self::SepConv { taps, seed } => linear::sepconv(set, *taps, *seed, positional),
            Self::Sparse { pattern } => sparse::map(set, pattern)?,
            Self::FeedForward => linear::feed_forward(set, positional),
        };
        Ok(set.points.iter().map(q).collect())
    }
}

impl fmt::Display for Mixer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attention { windows: 1 } => f.write_str("attention"),
            Self::Attention { windows } => write!(f, "attention:{windows}"),
            Self::Sums { by, .. } if by.is_softmax() => f.write_str("sum-code"),
            Self::Sums { by, coded } => write!(f, "{}{by}", if *coded { CODED } else { "" }),
            Self::Sumformer { seed } => write!(f, "sumformer:{seed}"),
            Self::BProj { seed } => write!(f, "bproj:{seed}"),
            Self::SepConv { taps, seed } => write!(f, "sepconv:{taps}:{seed}"),
            Self::Sparse { pattern } => write!(f, "sparse:{pattern}"),
            Self::FeedForward => f.write_str("feed-forward-only"),
        }
    }
}

impl FromStr for Mixer {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, rest) = text.find([':', '@']).map_or((text, ""), |end| text.split_at(end));
        let names = names();
        let Some((_, after)) = names.iter().find(|(known, _)| *known == name) else {
            let error = Error::input(format!("'{text}' is no mixer")).note("known", Self::names());
            return Err(match nearest(name, names.iter().map(|(name, _)| name.as_str())) {
                Some(near) => error.note("try", format!("formwright contextual {near}")),
                None => error,
            });
        };
        let wrong = |what: &str| Error::input(format!("'{text}': {what}")).note("expected", format!("{name}{after}"));
        let parts: Vec<&str> = rest.split(':').skip(1).collect();
        let number = |part: &str| part.parse::<u64>().map_err(|_| wrong(&format!("'{part}' is no whole number")));
        let numbers = || parts.iter().map(|part| number(part)).collect::<Result<Vec<u64>>>();
        let seed = || match numbers()?[..] {
            [] => Ok(SEED),
            [seed] => Ok(seed),
            _ => Err(wrong("one seed is enough")),
        };
        let (kind, coded) = name.strip_prefix(CODED).map_or((name, false), |kind| (kind, true));
        if kinds::named(kind).is_some_and(|kind| kind.mixer().is_some()) {
            let by = format!("{kind}{rest}").parse::<Realisation>().map_err(|error| {
                Error::input(error.headline().to_owned()).note("expected", format!("{name}{after}"))
            })?;
            return Ok(Self::Sums { by, coded });
        }
        match name {
            "attention" | "attention-only" => match numbers()?[..] {
                [] => Ok(Self::Attention { windows: 1 }),
                [windows] if windows > 0 => Ok(Self::Attention { windows }),
                _ => Err(wrong("a layer has one window or more")),
            },
            "sumformer" => Ok(Self::Sumformer { seed: seed()? }),
            "bproj" => Ok(Self::BProj { seed: seed()? }),
            "sepconv" => {
                let (taps, seed) = match numbers()?[..] {
                    [taps] if taps > 0 => (taps, SEED),
                    [taps, seed] if taps > 0 => (taps, seed),
                    _ => return Err(wrong("a filter has one tap or more, and a seed")),
                };
                let taps = usize::try_from(taps).ok().filter(|taps| *taps <= MOST_TAPS);
                let taps = taps.ok_or_else(|| wrong(&format!("more than {MOST_TAPS} taps")))?;
                Ok(Self::SepConv { taps, seed })
            }
            "sparse" => match rest.strip_prefix(':').filter(|pattern| !pattern.is_empty()) {
                Some(pattern) => Ok(Self::Sparse { pattern: pattern.to_owned() }),
                None => Err(wrong("under which pattern?").note("known", Family::names()).note("try", "sparse:star")),
            },
            _ if !rest.is_empty() => Err(wrong("nothing may follow the name")),
            "sum-code" => Ok(Self::Sums { by: Realisation::SOFTMAX, coded: true }),
            _ => Ok(Self::FeedForward),
        }
    }
}
