//! Contextual mappings: which token mixers tell contexts apart, decided exactly on finite sets of sequences.
//!
//! A map `q` gives every sequence `L` of a finite set `n` numbers, one per token. It is contextual by
//!
//! ```text
//!               1. in one sequence L                             2. in two sequences L ≠ L'
//! paper         q(L)_i ≠ q(L)_j for i ≠ j                        q(L)_i ≠ q(L')_j for all i, j
//! permutation   q(L)_i ≠ q(L)_j for i ≠ j                        the same, unless L' is a permutation of L
//! columns       q(L)_i ≠ q(L)_j where L_i ≠ L_j                  the same, unless L' is a permutation of L
//! ```
//!
//! `paper` is Definition 5.1 of Yun et al. 2020, to the letter. A mixer without positions is equivariant: it gives `L`
//! and its permutations the same numbers, so that it fails on any set with a sequence and a permutation of it.
//! `permutation` is the property that their Lemma 6 proves, where all columns are distinct. An equivariant mixer also
//! gives equal tokens equal numbers, so that it fails there as soon as one sequence has two equal columns; `columns`,
//! the definition of a lecture on the paper (G. So 2020), allows that. Each definition is weaker than the one above it.
//! The weakest is still enough for values: where it holds of an equivariant `q`, the number of a token names its column
//! and the multiset of all columns, and an equivariant function depends on nothing else.
//!
//! The *margin* is the least distance of two numbers that must differ; the mapping is contextual if it is not 0.
//! Everything is rational, nothing is rounded.
//!
//! | file | content |
//! |---|---|
//! | `inquiry.rs` | a question in the words of the command line, and its answer |
//! | `set.rs` | the finite sets |
//! | `mixer.rs` | the mixers by name |
//! | `attention.rs` | the paper's stack, with any number of windows per layer |
//! | `sums.rs` | sums over the tokens: averages, Linformer, Performer, with or without codes; one continuous number |
//! | `linear.rs` | bilinear projections and separable convolutions, and the probability that a projection fails |
//! | `sparse.rs` | Yun et al. 2020b under a pattern |

mod attention;
mod inquiry;
mod linear;
mod mixer;
mod set;
mod sparse;
mod sums;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub use inquiry::Inquiry;
pub use inquiry::{Answer, Draws, Pair};
pub use linear::Failure;
pub(crate) use mixer::Mixer;
pub(crate) use set::Set;

use crate::error::{Error, Result, nearest};
use crate::exact::Rat;
use crate::lattice::Point;

/// A definition of a contextual mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// Definition 5.1.
    Paper,
    /// As `Paper`, up to permutations of a sequence.
    Permutation,
    /// As `Permutation`, and equal columns of a sequence may have equal numbers.
    Columns,
}

impl Definition {
    /// Every definition, the strongest first.
    pub const ALL: [Self; 3] = [Self::Paper, Self::Permutation, Self::Columns];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Permutation => "permutation",
            Self::Columns => "columns",
        }
    }
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Definition {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|definition| definition.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let error = Error::input(format!("'{name}' is no definition of a contextual mapping"));
            error
                .note("known", names.join(", "))
                .note("try", format!("⟨definition={}⟩", nearest(name, names).unwrap_or("paper")))
        })
    }
}

/// A token of a sequence of a set: the index of the sequence and of the token.
pub(crate) type Place = (usize, usize);

/// Two tokens whose numbers must differ, the closest of all such pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Closest {
    /// The tokens.
    pub places: [Place; 2],
    /// The distance of their numbers.
    pub distance: Rat,
}

impl Closest {
    /// The closer of two; the first if they are equally close.
    fn closer(self, other: Self) -> Self {
        if other.distance < self.distance { other } else { self }
    }
}

/// The closest pair of tokens whose numbers must differ; `None` where no two must.
///
/// In one sequence all pairs are compared. Two sequences are in one class if their numbers may coincide. By increasing
/// numbers, the closest lower token of another class is the one before, or the last one that is not of its class.
pub(crate) fn closest(definition: Definition, points: &[Point], values: &[Vec<Rat>]) -> Option<Closest> {
    let mut best: Option<Closest> = None;
    let mut found = |places: [Place; 2]| {
        let [a, b] = places.map(|(sequence, token)| &values[sequence][token]);
        let pair = Closest { places, distance: (a - b).abs() };
        best = Some(best.take().map_or_else(|| pair.clone(), |best| best.closer(pair.clone())));
    };
    for (sequence, point) in points.iter().enumerate() {
        for j in 0..point.len() {
            for i in 0..j {
                if definition != Definition::Columns || point[i] != point[j] {
                    found([(sequence, i), (sequence, j)]);
                }
            }
        }
    }
    let classes = classes(definition, points);
    let mut places: Vec<Place> =
        values.iter().enumerate().flat_map(|(sequence, q)| (0..q.len()).map(move |token| (sequence, token))).collect();
    places.sort_by(|a, b| values[a.0][a.1].cmp(&values[b.0][b.1]).then(a.cmp(b)));
    // The last place, and the last one of another class.
    let (mut last, mut other): (Option<Place>, Option<Place>) = (None, None);
    for place in places {
        match last {
            Some(before) if classes[before.0] != classes[place.0] => {
                found([before, place]);
                other = last;
            }
            _ => {
                if let Some(before) = other {
                    found([before, place]);
                }
            }
        }
        last = Some(place);
    }
    best
}

/// The class of every sequence: sequences of one class may share numbers.
fn classes(definition: Definition, points: &[Point]) -> Vec<usize> {
    if definition == Definition::Paper {
        return (0..points.len()).collect();
    }
    let mut known: BTreeMap<Point, usize> = BTreeMap::new();
    let class = |point: &Point| {
        let mut sorted = point.clone();
        sorted.sort();
        let next = known.len();
        *known.entry(sorted).or_insert(next)
    };
    points.iter().map(class).collect()
}
