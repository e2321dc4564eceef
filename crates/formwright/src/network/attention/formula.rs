//! The formula of a head, as data: a few steps over all tokens, then a look at what they made.
//!
//! With `Q_i = q z_i + q_bias`, `K_j = k z_j`, `V_j = v z_j`, a head adds `o ·` what the query of token `i` finds to
//! that token. Rows are numbered: [`KEYS`] and [`VALUES`] are those of the tokens, and step `s` makes the
//! rows `2 + s`.
//!
//! ```text
//! step   Mixed      y_a = Σ_j t_aj x_j,  a = 1 … k                    t is stored, [k, tokens]
//!        Features   x_a(y) = exp(w_aᵀy − ‖y‖²/2),  a = 1 … k          of every key; w is stored, [k, head size]
//!        Products   c_a = Σ_j x_a(j) V_j                              of features and values
//!        Mean       (Σ_j V_j) / n                                     one row
//! look   Softmax    Σ_a softmax_a(K_aᵀQ_i) V_a                        over the tokens that are seen, or over mixtures
//!        Features   (Σ_a x_a(Q_i) c_a) / k
//!        Row        row i of what was made, or the only one
//! ```
//!
//! There are five interpreters of these: `eval/float/` runs them, `eval/enclosure/attention.rs` encloses every
//! execution of them, `eval/reference.rs` has them without rounding, `export/onnx/heads.rs` writes them as nodes, and
//! `explore/engine.js` runs them in a page.
//! So what a kind computes is said once. How the operations may be rounded is the execution model's to say
//! (ARCHITECTURE.md, invariant 8).

/// Some rows of a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows(pub usize);

/// The keys of all tokens.
pub(crate) const KEYS: Rows = Rows(0);
/// The values of all tokens.
pub const VALUES: Rows = Rows(1);

/// How rows are made of others; tensors are called by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Mixtures of what the tokens have.
    Mixed {
        /// Keys or values.
        of: Rows,
        /// The weights, `[k, tokens]`.
        by: &'static str,
    },
    /// Positive features of the keys.
    Features {
        /// Keys.
        of: Rows,
        /// The directions, `[k, head size]`.
        by: &'static str,
    },
    /// The values, added up with features as their weights.
    Products {
        /// Features of all tokens.
        features: Rows,
        /// Values.
        of: Rows,
    },
    /// The mean of the values.
    Mean {
        /// Values.
        of: Rows,
    },
}

impl Step {
    /// The rows of tokens that it is of.
    pub fn of(&self) -> Rows {
        match *self {
            Self::Mixed { of, .. } | Self::Features { of, .. } | Self::Products { of, .. } | Self::Mean { of } => of,
        }
    }
}

/// How the query of a token finds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Look {
    /// An average, by the softmax of its products with keys.
    Softmax {
        /// Keys of tokens or of mixtures.
        keys: Rows,
        /// As many values.
        values: Rows,
    },
    /// A sum, by the features of the query.
    Features {
        /// The directions, as the keys had them.
        by: &'static str,
        /// A value for each feature.
        values: Rows,
    },
    /// Whatever the query is, the row of its token, or the only row.
    Row {
        /// Values.
        of: Rows,
    },
}

/// The computation of a kind's heads. Its tensors, and what it asks of a network, follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formula {
    /// The name in files.
    pub name: &'static str,
    /// How rows are made of all tokens.
    pub steps: &'static [Step],
    /// How queries look at them.
    pub look: Look,
}

/// The last side of a tensor, which is `[blocks, heads, k, side]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// As many as there are tokens.
    Tokens,
    /// The rows of `q` and `k`.
    HeadSize,
}

/// How many rows there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// One for each token.
    Tokens,
    /// One for each mixture or feature.
    Size,
    /// One.
    One,
}

/// The content of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// As many numbers as `k` has rows.
    Keys,
    /// As many numbers as `v` has rows.
    Values,
    /// A number for each feature.
    Features,
}

impl Formula {
    /// The tensors that only this kind has, in the order in which they are used.
    pub(crate) fn tensors(&self) -> Vec<(&'static str, Side)> {
        let of_step = |step: &Step| match step {
            Step::Mixed { by, .. } => Some((*by, Side::Tokens)),
            Step::Features { by, .. } => Some((*by, Side::HeadSize)),
            Step::Products { .. } | Step::Mean { .. } => None,
        };
        let of_look = match self.look {
            Look::Features { by, .. } => Some((by, Side::HeadSize)),
            Look::Softmax { .. } | Look::Row { .. } => None,
        };
        let mut tensors: Vec<(&'static str, Side)> = Vec::new();
        for used in self.steps.iter().filter_map(of_step).chain(of_look) {
            if !tensors.contains(&used) {
                tensors.push(used);
            }
        }
        tensors
    }

    /// The number of a tensor among those of the kind.
    pub(crate) fn tensor(&self, name: &str) -> usize {
        self.tensors().iter().position(|(known, _)| *known == name).expect("checked: one of its own")
    }

    /// True if there are queries and keys.
    pub fn has_scores(&self) -> bool {
        let reads_keys = |step: &Step| matches!(step, Step::Mixed { of: KEYS, .. } | Step::Features { .. });
        !matches!(self.look, Look::Row { .. }) || self.steps.iter().any(reads_keys)
    }

    /// True if there are mixtures or features, and hence a number of them.
    pub fn is_sized(&self) -> bool {
        !self.tensors().is_empty()
    }

    /// True if queries look at the tokens themselves: only then can some be hidden.
    pub fn sees_tokens(&self) -> bool {
        self.look == Look::Softmax { keys: KEYS, values: VALUES }
    }

    /// True if a tensor has a number for each token, so that sequences are of one length.
    pub fn fixes_tokens(&self) -> bool {
        self.tensors().iter().any(|(_, side)| *side == Side::Tokens)
    }

    /// How many rows of what there are, in the order of their numbers; or what is wrong with the formula.
    pub(crate) fn rows(&self) -> Result<Vec<(Count, Held)>, String> {
        let mut rows = vec![(Count::Tokens, Held::Keys), (Count::Tokens, Held::Values)];
        for (number, step) in self.steps.iter().enumerate() {
            let of = |of: Rows| rows.get(of.0).copied();
            let made = match *step {
                Step::Mixed { of: rows, .. } => match of(rows) {
                    Some((Count::Tokens, held @ (Held::Keys | Held::Values))) => Some((Count::Size, held)),
                    _ => None,
                },
                Step::Features { of: KEYS, .. } => Some((Count::Tokens, Held::Features)),
                Step::Products { features, of: VALUES } => match of(features) {
                    Some((Count::Tokens, Held::Features)) => Some((Count::Size, Held::Values)),
                    _ => None,
                },
                Step::Mean { of: VALUES } => Some((Count::One, Held::Values)),
                Step::Features { .. } | Step::Products { .. } | Step::Mean { .. } => None,
            };
            rows.push(made.ok_or_else(|| format!("step {number} of {} is of rows that it cannot be of", self.name))?);
        }
        Ok(rows)
    }

    /// Refuses what cannot be followed.
    pub fn check(&self) -> Result<(), String> {
        let rows = self.rows()?;
        let of = |of: Rows| rows.get(of.0).copied();
        let found = match self.look {
            Look::Softmax { keys, values } => {
                matches!((of(keys), of(values)), (Some((a, Held::Keys)), Some((b, Held::Values))) if a == b)
            }
            Look::Features { values, .. } => of(values) == Some((Count::Size, Held::Values)),
            Look::Row { of: row } => {
                matches!(of(row), Some((Count::Size | Count::One, Held::Values)))
            }
        };
        if !found {
            return Err(format!("{} looks at rows that cannot be looked at", self.name));
        }
        let looks = |rows: Rows| match self.look {
            Look::Softmax { keys, values } => [keys, values].contains(&rows),
            Look::Features { values: of, .. } | Look::Row { of } => of == rows,
        };
        let reads = |rows: Rows, step: &Step| {
            step.of() == rows || matches!(*step, Step::Products { features, .. } if features == rows)
        };
        let used = |rows: Rows| looks(rows) || self.steps.iter().any(|step| reads(rows, step));
        if let Some(step) = (0..self.steps.len()).find(|step| !used(Rows(step + 2))) {
            return Err(format!("nothing looks at what step {step} of {} makes", self.name));
        }
        let tensors = self.tensors();
        let own = ["q", "q_bias", "k", "v", "o"];
        match tensors
            .iter()
            .enumerate()
            .find(|(place, (name, _))| own.contains(name) || tensors[..*place].iter().any(|(before, _)| before == name))
        {
            Some((_, (name, _))) => Err(format!("{} uses the tensor '{name}' as two things", self.name)),
            None => Ok(()),
        }
    }
}

/// The attention of a run, with the tensors that only its kind has.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionKind {
    /// The formula of its heads.
    pub formula: &'static Formula,
    /// How many mixtures or features there are; 0 where there are none.
    pub size: usize,
    /// `[blocks, heads, size, side]` each, in the order of `Formula::tensors`.
    pub tensors: Vec<Vec<f64>>,
}

impl Default for AttentionKind {
    fn default() -> Self {
        Self::softmax()
    }
}

impl AttentionKind {
    /// A kind with nothing of its own.
    pub fn plain(formula: &'static Formula) -> Self {
        Self { formula, size: 0, tensors: Vec::new() }
    }

    /// Softmax over the keys that are seen.
    pub fn softmax() -> Self {
        Self::plain(&super::softmax::FORMULA)
    }

    /// Its name in files.
    pub fn name(&self) -> &'static str {
        self.formula.name
    }

    /// True if it is softmax over the tokens themselves.
    pub fn is_softmax(&self) -> bool {
        *self.formula == super::softmax::FORMULA
    }

    /// How many mixtures or features there are.
    pub fn size(&self) -> Option<usize> {
        self.formula.is_sized().then_some(self.size)
    }
}
