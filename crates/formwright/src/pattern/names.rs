//! Patterns by name.
//!
//! | name | token `i` sees `j`, besides itself | connections |
//! |---|---|---|
//! | `dense` | always | `n²` |
//! | `window:W` | `\|i-j\| ≤ W` | `n(2W+1) - W(W+1)` |
//! | `star` | one of them is token 0, the hub, or they are neighbours in the ring of the others | `5n-4` |
//! | `hub`, `hub@K` | one of them is token 0, or `K` | `3n-2` |
//! | `strided:W` | layer 1: `\|i-j\| ≤ W`; layer 2: `i ≡ j (mod W)` | |
//! | `fixed:W` | layer 1: the same block of `W` tokens; layer 2: `j` is the last of its block | |
//! | `strided-causal:W`, `fixed-causal:W` | the same, and `j ≤ i` | |
//! | `bigbird:SEED` | `\|i-j\| ≤ 1`, one of them is token 0, or `j` is one of two others drawn for `i` | `≤ 7n` |
//! | `random:K:SEED` | `j` is one of `K` others drawn for `i` | `n(K+1)` |
//! | `dilated:W:G` | `\|i-j\|` is a multiple of `G`, at most `WG` | |
//! | `block:W` | the same block of `W` tokens | |
//!
//! Strided and fixed patterns are those of Child et al. 2019, whose masks are causal, with every token seeing itself in
//! both layers.

use std::fmt;
use std::str::FromStr;

use super::{Connections, Pattern};
use crate::error::{Error, Result, nearest};
use crate::random;

/// A pattern by its name: one for every number of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the module says what each of them is")]
pub enum Family {
    Dense,
    Window { half_width: usize },
    Star,
    Hub { token: usize },
    Strided { width: usize, causal: bool },
    Fixed { width: usize, causal: bool },
    Bigbird { seed: u64 },
    Random { keys: usize, seed: u64 },
    Dilated { half_width: usize, gap: usize },
    Block { width: usize },
}

/// The most connections of a cycle: half a gigabyte of them.
const MOST_CONNECTIONS: u128 = 1 << 26;

/// Every name, with its arguments.
const NAMES: [(&str, &str); 12] = [
    ("dense", ""),
    ("window", ":W"),
    ("star", ""),
    ("hub", ""),
    ("strided", ":W"),
    ("strided-causal", ":W"),
    ("fixed", ":W"),
    ("fixed-causal", ":W"),
    ("bigbird", ":SEED"),
    ("random", ":K:SEED"),
    ("dilated", ":W:G"),
    ("block", ":W"),
];

impl Family {
    /// The names and their arguments, in one line.
    pub fn names() -> String {
        let names: Vec<String> = NAMES.iter().map(|(name, parts)| format!("{name}{parts}")).collect();
        format!("{}, file:PATH", names.join(", "))
    }

    /// One of each, of the size that the theory uses for `n` tokens: `W = ⌈√n⌉`, `K = ⌈log2 n⌉`.
    pub fn examples(tokens: usize) -> Vec<Self> {
        let width = (1..=tokens).find(|width| width * width >= tokens).unwrap_or(1);
        let keys = (0..usize::BITS as usize).find(|power| 1 << power >= tokens).unwrap_or(0);
        let keys = keys.min(tokens.saturating_sub(1)).max(1);
        let mut examples = vec![
            Self::Dense,
            Self::Window { half_width: 1 },
            Self::Window { half_width: width },
            Self::Star,
            Self::Hub { token: 0 },
            Self::Strided { width, causal: false },
            Self::Strided { width, causal: true },
            Self::Fixed { width, causal: false },
            Self::Fixed { width, causal: true },
            Self::Bigbird { seed: 1 },
            Self::Random { keys, seed: 1 },
            Self::Dilated { half_width: 2, gap: 2 },
            Self::Block { width },
        ];
        examples.dedup();
        examples.retain(|family| tokens > 1 || !matches!(family, Self::Random { .. }));
        examples
    }

    /// A bound on the connections of a cycle.
    fn most_connections(self, tokens: usize) -> u128 {
        let n = tokens as u128;
        let near = |half_width: usize| n.min(2 * half_width as u128 + 1);
        let strides = |width: usize| n.div_ceil(width as u128);
        n * match self {
            Self::Dense => n,
            Self::Window { half_width } | Self::Dilated { half_width, .. } => near(half_width),
            Self::Star | Self::Hub { .. } | Self::Bigbird { .. } => 7,
            Self::Strided { width, .. } => near(width) + strides(width),
            Self::Fixed { width, .. } => n.min(width as u128) + strides(width) + 1,
            Self::Random { keys, .. } => n.min(keys as u128 + 1),
            Self::Block { width } => n.min(width as u128),
        }
    }

    /// The pattern for this number of tokens.
    pub fn pattern(self, tokens: usize) -> Result<Pattern> {
        let most = self.most_connections(tokens);
        if most > MOST_CONNECTIONS {
            return Err(Error::declined(format!("{self}, for {tokens} tokens, has up to {most} connections"))
                .note("limit", format!("{MOST_CONNECTIONS}: they are written out"))
                .note("try", "fewer ⟨tokens⟩, or a sparser pattern, such as star"));
        }
        let all = || (0..tokens).collect::<Vec<usize>>();
        let cycle = match self {
            Self::Dense => vec![Connections::by(tokens, |_| all())],
            Self::Window { half_width } => vec![window(tokens, half_width)],
            Self::Star => {
                // The ring of the other tokens, 1 to n - 1.
                let ring = tokens.saturating_sub(1);
                let behind = |i: usize| i % ring + 1;
                let before = |i: usize| (i + ring - 2) % ring + 1;
                let keys = |i: usize| if i == 0 { all() } else { vec![0, i, behind(i), before(i)] };
                vec![Connections::by(tokens, keys)]
            }
            Self::Hub { token: hub } => {
                if hub >= tokens {
                    return Err(Error::input(format!("{self}: the tokens are 0 to {}", tokens - 1)));
                }
                vec![Connections::by(tokens, |i| if i == hub { all() } else { vec![hub, i] })]
            }
            Self::Strided { width, causal } => {
                let stride = Connections::by(tokens, |i| (i % width..tokens).step_by(width).collect());
                within(vec![window(tokens, width), stride], causal)
            }
            Self::Fixed { width, causal } => {
                let last = || (width - 1..tokens - 1).step_by(width).chain([tokens - 1]);
                let summary = Connections::by(tokens, |i| last().chain([i]).collect());
                within(vec![block(tokens, width), summary], causal)
            }
            Self::Bigbird { seed } => {
                let drawn = drawn(seed, 2.min(tokens.saturating_sub(1)), tokens);
                let near = window(tokens, 1);
                let keys = |i: usize| if i == 0 { all() } else { [&[0], near.keys(i), &drawn[i]].concat() };
                vec![Connections::by(tokens, keys)]
            }
            Self::Random { keys, seed } => {
                if keys >= tokens {
                    return Err(Error::input(format!("{self}: a token has only {} others to see", tokens - 1))
                        .note("try", format!("fewer, or ⟨tokens={}⟩ or more", keys.saturating_add(1))));
                }
                let drawn = drawn(seed, keys, tokens);
                vec![Connections::by(tokens, |i| [&[i], drawn[i].as_slice()].concat())]
            }
            Self::Dilated { half_width, gap } => {
                let first = |i: usize| i - (i / gap).min(half_width) * gap;
                let end = |i: usize| tokens.min(i.saturating_add(half_width.saturating_mul(gap)).saturating_add(1));
                vec![Connections::by(tokens, |i| (first(i)..end(i)).step_by(gap).collect())]
            }
            Self::Block { width } => vec![block(tokens, width)],
        };
        Pattern::new(self.to_string(), cycle).map_err(|what| Error::input(format!("{self}: {what}")))
    }
}

fn window(tokens: usize, half_width: usize) -> Connections {
    Connections::by(tokens, |i| {
        (i.saturating_sub(half_width)..tokens.min(i.saturating_add(half_width).saturating_add(1))).collect()
    })
}

fn block(tokens: usize, width: usize) -> Connections {
    Connections::by(tokens, |i| (i / width * width..tokens.min((i / width + 1) * width)).collect())
}

/// The layers, without the keys after a token if `causal`.
fn within(layers: Vec<Connections>, causal: bool) -> Vec<Connections> {
    let up_to = |layer: &Connections, i: usize| layer.keys(i).iter().copied().filter(|j| *j <= i).collect();
    let causally = |layer: Connections| Connections::by(layer.tokens(), |i| up_to(&layer, i));
    if causal { layers.into_iter().map(causally).collect() } else { layers }
}

/// For every token, `count` others.
fn drawn(seed: u64, count: usize, tokens: usize) -> Vec<Vec<usize>> {
    let mut state = seed;
    (0..tokens).map(|i| others(&mut state, i, count, tokens)).collect()
}

/// `count` different tokens other than `i`.
fn others(state: &mut u64, i: usize, count: usize, tokens: usize) -> Vec<usize> {
    let mut drawn = Vec::with_capacity(count);
    while drawn.len() < count {
        let j = random::below(state, tokens);
        if j != i && !drawn.contains(&j) {
            drawn.push(j);
        }
    }
    drawn
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let causally = |causal: &bool| if *causal { "-causal" } else { "" };
        match self {
            Self::Dense => write!(f, "dense"),
            Self::Window { half_width } => write!(f, "window:{half_width}"),
            Self::Star => write!(f, "star"),
            Self::Hub { token: 0 } => write!(f, "hub"),
            Self::Hub { token } => write!(f, "hub@{token}"),
            Self::Strided { width, causal } => write!(f, "strided{}:{width}", causally(causal)),
            Self::Fixed { width, causal } => write!(f, "fixed{}:{width}", causally(causal)),
            Self::Bigbird { seed } => write!(f, "bigbird:{seed}"),
            Self::Random { keys, seed } => write!(f, "random:{keys}:{seed}"),
            Self::Dilated { half_width, gap } => write!(f, "dilated:{half_width}:{gap}"),
            Self::Block { width } => write!(f, "block:{width}"),
        }
    }
}

impl FromStr for Family {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(token) = text.strip_prefix("hub@").and_then(|token| token.parse().ok()) {
            return Ok(Self::Hub { token });
        }
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let names = NAMES.map(|(name, _)| name);
        let Some((_, after)) = NAMES.into_iter().find(|(known, _)| *known == name) else {
            let error = Error::input(format!("'{text}' is no pattern")).note("known", Self::names());
            return Err(match nearest(name, names) {
                Some(near) => error.note(
                    "try",
                    format!("sparse:{near}{}", NAMES[names.iter().position(|name| *name == near).unwrap_or(0)].1),
                ),
                None => error,
            });
        };
        let wrong = |what: String| {
            let numbers = if after.is_empty() { " alone" } else { ", with whole numbers" };
            Error::input(format!("'{text}': {what}")).note("expected", format!("{name}{after}{numbers}"))
        };
        let numbers =
            parts.map(|part| part.parse::<u64>().map_err(|_| wrong(format!("'{part}' is no whole number of 64 bits"))));
        let numbers = numbers.collect::<Result<Vec<u64>>>()?;
        let expected = after.matches(':').count();
        if numbers.len() != expected {
            return Err(wrong(format!("{} numbers behind the name, and {name} has {expected}", numbers.len())));
        }
        let size = |place: usize, least: u64| match numbers[place] {
            number if number < least => Err(wrong(format!("{number}, and the least is {least}"))),
            number => usize::try_from(number).map_err(|_| wrong(format!("{number} is too large"))),
        };
        let causal = name.ends_with("-causal");
        Ok(match name {
            "dense" => Self::Dense,
            "window" => Self::Window { half_width: size(0, 1)? },
            "star" => Self::Star,
            "hub" => Self::Hub { token: 0 },
            "strided" | "strided-causal" => Self::Strided { width: size(0, 1)?, causal },
            "fixed" | "fixed-causal" => Self::Fixed { width: size(0, 1)?, causal },
            "bigbird" => Self::Bigbird { seed: numbers[0] },
            "random" => Self::Random { keys: size(0, 1)?, seed: numbers[1] },
            "dilated" => Self::Dilated { half_width: size(0, 1)?, gap: size(1, 1)? },
            _ => Self::Block { width: size(0, 1)? },
        })
    }
}
