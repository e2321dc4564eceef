//! Ways to realise the uniform sum `Σ_k v z_k` by attention (Alberti et al. 2023, section 4), and what a run of such attention holds.
//!
//! With `Q_i = q z_i + q_bias`, `K_j = k z_j`, `V_j = v z_j` and `n` tokens, a head adds `o ·` the following to token `i`:
//!
//! ```text
//! softmax      Σ_j softmax_j(K_jᵀQ_i) V_j                                            the mean, where all scores are equal
//! average      (1/n) Σ_j V_j                                                         the mean; neither queries nor keys
//! linformer    Σ_a softmax_a((Σ_j e_aj K_j)ᵀQ_i) Σ_j f_aj V_j,  a = 1 … k            the sum, for f = 1 and any e
//! performer    Σ_a a_a(Q_i) Σ_j a_a(K_j) V_j,  a = 1 … k                             ‖a_0‖² times the sum, where Q_i = K_j = const
//!              a_a(x) = k^{-1/2} exp(w_aᵀx − ‖x‖²/2)                                 no normaliser
//! hub          Σ_j softmax_j(K_jᵀQ_h) V_j of one token h, by two layers              the mean, where all scores are equal
//! ```
//!
//! All but softmax take time linear in `n`. `e`, `f` and `w` are drawn from a seed: sums of three numbers that are uniform on `[-1, 1]`, which have mean 0,
//! variance 1, lie in `[-3, 3]`, and are odd multiples of `2^-19`, so that single precision holds them and their halves.

use std::fmt;
use std::str::FromStr;

use super::Normaliser;
use crate::error::{Error, Result};
use crate::random;

/// How a uniform sum is realised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Realisation {
    /// Softmax attention with equal scores.
    #[default]
    Softmax,
    /// The average of the values.
    Average,
    /// Keys and values are mixed over the tokens first.
    Linformer {
        /// How many mixtures, `k`.
        size: usize,
        /// What `e` is drawn from, and `f` if it is drawn.
        seed: u64,
        /// How the values are mixed.
        values: Values,
    },
    /// Positive random features of queries and keys.
    Performer {
        /// How many features, `k`.
        size: usize,
        /// What `w` is drawn from.
        seed: u64,
        /// Where the constant queries and keys come from.
        form: Form,
    },
    /// Sparse: one token, the hub, sees all and adds up; then all see the hub. Two attention layers of `O(n)` connections.
    Hub {
        /// Which token.
        token: usize,
    },
}

/// How a Linformer mixes values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Values {
    /// `f = 1`: every mixture is the sum.
    #[default]
    Ones,
    /// `f` drawn like `e`, as in practice. It does not give the sum: it is there to show that.
    Gaussian,
}

/// Why the queries and keys of a Performer are constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// They are 0, so `‖a_0‖ = 1` for every draw.
    #[default]
    Zero,
    /// They are a constant channel of the residual stream, as in the paper; a further feed-forward layer divides by `‖a_0‖²`.
    ConstantRow,
}

/// The seed where none is named: the number of the paper at arXiv.
const SEED: u64 = 230_702_301;

/// The kinds, as they are written.
const KNOWN: &str = "softmax, average, linformer[:k], performer[:k], sparse:PATTERN; hardmax for exact networks";

impl Realisation {
    /// A Linformer with `f = 1`.
    pub fn linformer(size: usize, seed: u64) -> Self {
        Self::Linformer { size, seed, values: Values::Ones }
    }

    /// A Performer whose queries and keys are 0.
    pub fn performer(size: usize, seed: u64) -> Self {
        Self::Performer { size, seed, form: Form::Zero }
    }

    /// The kind alone.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Softmax => "softmax",
            Self::Average => "average",
            Self::Linformer { .. } => "linformer",
            Self::Performer { .. } => "performer",
            Self::Hub { .. } => "sparse",
        }
    }

    /// Whether the number of tokens is in the weights: a head gives a sum, and a mean is a sum of `v/n`.
    pub fn fixes_tokens(&self) -> bool {
        matches!(self, Self::Linformer { .. } | Self::Performer { .. })
    }

    /// How many blocks stand before the one that ends a sum, and whether the feed-forward layer behind it has a block of its own.
    pub(crate) fn more_blocks(&self) -> (usize, bool) {
        match self {
            Self::Hub { .. } => (1, true),
            Self::Performer { form: Form::ConstantRow, .. } => (0, true),
            _ => (0, false),
        }
    }

    /// What its heads do on rationals, where queries and keys are 0: softmax and averages weigh every token by `1/n`; a Linformer has
    /// `k` equal scores, hence `k` times `1/k` of the sum, and so has a Performer, whose features are all `k^{-1/2}`. `None` where that is not
    /// rational, or no sum.
    pub fn normaliser(&self) -> Option<Normaliser> {
        match self {
            Self::Softmax | Self::Average | Self::Hub { .. } => Some(Normaliser::Average),
            Self::Linformer { values: Values::Ones, .. } | Self::Performer { form: Form::Zero, .. } => {
                Some(Normaliser::Sum)
            }
            Self::Linformer { .. } | Self::Performer { .. } => None,
        }
    }
}

impl fmt::Display for Realisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        let (size, seed, variant) = match self {
            Self::Softmax | Self::Average => return Ok(()),
            Self::Hub { token: 0 } => return f.write_str(":hub"),
            Self::Hub { token } => return write!(f, ":hub@{token}"),
            Self::Linformer { size, seed, values } => (size, seed, (*values != Values::Ones).then_some("gaussian")),
            Self::Performer { size, seed, form } => (size, seed, (*form != Form::Zero).then_some("constant")),
        };
        write!(f, ":{size}")?;
        if let Some(variant) = variant {
            write!(f, ":{variant}")?;
        }
        if *seed == SEED { Ok(()) } else { write!(f, "@{seed}") }
    }
}

/// `kind[:k][:variant][@seed]`, or `sparse:hub[@token]`. Every `k ≥ 1` gives the sum, so that without one it is 1: the fewest weights, and the least rounding.
impl FromStr for Realisation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let no_kind = || {
            Error::input(format!("'{text}' is no kind of attention"))
                .note("known", KNOWN)
                .note("try", "--attention softmax")
        };
        if let Some(token) = text.strip_prefix("sparse:hub") {
            let token =
                if token.is_empty() { Some(0) } else { token.strip_prefix('@').and_then(|token| token.parse().ok()) };
            return token.map(|token| Self::Hub { token }).ok_or_else(no_kind);
        }
        let (rest, seed) = match text.split_once('@') {
            Some((rest, seed)) => {
                let seed = seed.parse().map_err(|_| {
                    Error::input(format!("'{seed}' is no seed of attention"))
                        .note("try", format!("{rest}@7, or {rest} alone"))
                })?;
                (rest, Some(seed))
            }
            None => (text, None),
        };
        let mut parts = rest.split(':');
        let kind = parts.next().unwrap_or_default();
        let mut parts: Vec<&str> = parts.collect();
        let variant_name = match kind {
            "softmax" | "average" => {
                let plain = if kind == "softmax" { Self::Softmax } else { Self::Average };
                if parts.is_empty() && seed.is_none() {
                    return Ok(plain);
                }
                return Err(Error::input(format!("'{text}': {kind} has no size and no seed"))
                    .note("try", format!("--attention {kind}")));
            }
            "linformer" => "gaussian",
            "performer" => "constant",
            _ => return Err(no_kind()),
        };
        let variant = parts.last() == Some(&variant_name);
        if variant {
            parts.pop();
        }
        let size = match parts[..] {
            [] => 1,
            [size] => match size.parse::<usize>() {
                Ok(0) => {
                    return Err(Error::input(format!("'{text}': a {kind} of size 0 has nothing to attend to"))
                        .note("expected", "k ≥ 1; every one gives the sum")
                        .note("try", format!("--attention {kind}:1")));
                }
                Ok(size) => size,
                Err(_) => {
                    return Err(Error::input(format!("'{text}': '{size}' is no size"))
                        .note("expected", format!("{kind}:k with an integer k ≥ 1, or {kind}:k:{variant_name}"))
                        .note("try", format!("--attention {kind}:4")));
                }
            },
            _ => return Err(no_kind()),
        };
        let seed = seed.unwrap_or(SEED);
        Ok(match (kind, variant) {
            ("linformer", gaussian) => {
                Self::Linformer { size, seed, values: if gaussian { Values::Gaussian } else { Values::Ones } }
            }
            (_, constant) => {
                Self::Performer { size, seed, form: if constant { Form::ConstantRow } else { Form::Zero } }
            }
        })
    }
}

/// What the attention of a run is, with the tensors that only its kind has.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum AttentionKind {
    /// Softmax over the keys that are seen.
    #[default]
    Softmax,
    /// The mean of all values. There are no queries and no keys: the head size is 0.
    Average,
    /// Softmax over `size` mixtures.
    Linformer {
        /// How many.
        size: usize,
        /// Mixes keys: `[blocks, heads, size, tokens]`.
        e: Vec<f64>,
        /// Mixes values: `[blocks, heads, size, tokens]`.
        f: Vec<f64>,
    },
    /// `size` features instead of scores.
    Performer {
        /// How many.
        size: usize,
        /// The directions of the features: `[blocks, heads, size, head_size]`.
        w: Vec<f64>,
    },
}

impl AttentionKind {
    /// Its name in files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Softmax => "softmax",
            Self::Average => "average",
            Self::Linformer { .. } => "linformer",
            Self::Performer { .. } => "performer",
        }
    }

    /// Whether it has queries and keys.
    pub fn has_scores(&self) -> bool {
        !matches!(self, Self::Average)
    }

    /// How many mixtures or features there are.
    pub fn size(&self) -> Option<usize> {
        match self {
            Self::Softmax | Self::Average => None,
            Self::Linformer { size, .. } | Self::Performer { size, .. } => Some(*size),
        }
    }
}

/// Numbers of mean 0 and variance 1 in `[-3, 3]`, from a seed.
pub(crate) struct Gaussians(u64);

impl Gaussians {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// An odd multiple of `2^-19` in `[-1, 1]`.
    fn uniform(&mut self) -> f64 {
        let bits = u32::try_from(random::word(&mut self.0) >> 45).unwrap_or_default();
        (f64::from(2 * bits + 1) - f64::from(1_u32 << 19)) / f64::from(1_u32 << 19)
    }

    pub fn draw(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.uniform() + self.uniform() + self.uniform()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Precision;

    #[test]
    fn names_are_read_as_they_are_printed() {
        for text in [
            "softmax",
            "average",
            "sparse:hub",
            "sparse:hub@3",
            "linformer:4",
            "performer:16",
            "linformer:3:gaussian",
            "performer:2:constant@7",
        ] {
            assert_eq!(text.parse::<Realisation>().expect(text).to_string(), text);
        }
        let default = |text: &str| text.parse::<Realisation>().expect(text).to_string();
        assert_eq!([default("linformer"), default("performer")], ["linformer:1", "performer:1"]);
        assert_eq!(default("performer:constant"), "performer:1:constant");
    }

    #[test]
    fn what_is_no_kind_is_refused() {
        let wrong = [
            "",
            "soft",
            "softmax:2",
            "average@3",
            "sparse:hub:3",
            "sparse:hub@x",
            "linformer:0",
            "linformer:-1",
            "performer:x",
            "performer:2:3",
            "linformer:constant",
            "performer:gaussian",
            "linformer:1:gaussian:2",
            "performer:1@x",
        ];
        for text in wrong {
            let error = text.parse::<Realisation>().expect_err(text);
            assert_eq!(error.kind(), crate::error::ErrorKind::Input, "{text}");
        }
    }

    #[test]
    fn draws_are_single_precision_numbers_of_mean_0_and_variance_1() {
        let draws = Gaussians::new(SEED).draw(100_000);
        assert!(draws.iter().all(|x| x.abs() <= 3.0 && Precision::F32.round(x - 0.5).to_bits() == (x - 0.5).to_bits()));
        let mean = |f: fn(f64) -> f64| draws.iter().map(|x| f(*x)).sum::<f64>() / 1e5;
        // Ten standard deviations of the sample's moments.
        assert!(
            mean(|x| x).abs() < 10.0 / 1e5_f64.sqrt() && (mean(|x| x * x) - 1.0).abs() < 10.0 * (1.6 / 1e5_f64).sqrt()
        );
        assert_ne!(Gaussians::new(1).draw(4), Gaussians::new(2).draw(4));
    }
}
