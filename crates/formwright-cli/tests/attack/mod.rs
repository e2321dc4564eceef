//! Attacks on the checker: files that claim what is not so. It is used as a black box; whether a claim is true is for the compiler's own evaluators to say.
//!
//! | file | what |
//! |---|---|
//! | `artifacts.rs` | true claims of every family |
//! | `weights.rs` | the tensors' file, taken apart and put together again |
//! | `corpus.rs` | small folders with the verdict that they must have |
//! | `hosts.rs`, `classes.rs` | small stock Transformers with the verdict that they must have |
//! | `mutants.rs` | true claims with one change somewhere |
//! | `needles.rs` | networks and targets that are wrong at one place |
//! | `circuits.rs` | circuits whose lines are proved: changes of weights and lines, and tents in a gate |
//! | `aimed.rs` | changes by somebody who has read the checker, each aimed at one of its rules |
//! | `programs` | random programs, which are true claims |
//! | `judge.rs`, `syntax.rs` | whether a claim is true, by the compiler's evaluators |

pub mod aimed;
pub mod artifacts;
pub mod circuits;
mod classes;
pub mod corpus;
pub mod hosts;
pub mod judge;
pub mod mutants;
pub mod needles;
pub mod programs;
#[path = "../../../formwright/tests/support/shuffled.rs"]
mod shuffled;
mod syntax;
pub mod weights;

use std::collections::BTreeMap;

use artifacts::Artifact;
use formwright::exact::Rat;

/// A seeded generator of numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }

    pub fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A multiple of 1/2 in `[-4, 4)`.
    pub fn half(&mut self) -> Rat {
        Rat::new(self.below(16), 2_u64) - Rat::from(4)
    }
}

/// The results of all attempts.
#[derive(Debug, Default)]
pub struct Tally {
    pub tried: usize,
    /// How often the checker said what, by what was changed and how.
    pub said: BTreeMap<(&'static str, &'static str), BTreeMap<String, usize>>,
    /// Failures, in words, and their files.
    pub failures: Vec<(String, Artifact)>,
}

impl Tally {
    fn count(&mut self, group: &'static str, name: &'static str, said: &str) {
        self.tried += 1;
        *self.said.entry((group, name)).or_default().entry(said.to_owned()).or_default() += 1;
    }
}
