//! The median of an odd number of registers, in place, by comparators.
//!
//! ```text
//! r = R(a - b),    a ← a - r = min(a, b),    b ← b + r = max(a, b)          one ReLU
//! ```
//!
//! Neighbours are compared in `K` rounds, even places and odd places in turn, which sorts `K` numbers. Only the one in the
//! middle is wanted: of the last rounds what does not lead to it is left out.

use serde::Serialize;
use serde_json::Value;

use super::{empty, unit};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::network::{FeedForward, Generator, Layer, LayerKind, Sequence, StageSize};

/// The comparators' parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Compare {
    /// The width of the stream.
    pub width: usize,
    /// The registers of each output that are compared.
    pub wires: Vec<Vec<usize>>,
}

/// The first of two neighbours that are compared, round by round, so that the one in the middle of `count` is their median.
pub(crate) fn rounds(count: usize) -> Vec<Vec<usize>> {
    let mut wanted = vec![false; count];
    wanted[count / 2] = true;
    let mut rounds = Vec::new();
    for round in (0..count).rev() {
        let pairs: Vec<usize> = (round % 2..count - 1).step_by(2).filter(|a| wanted[*a] || wanted[a + 1]).collect();
        for a in &pairs {
            wanted[*a..a + 2].fill(true);
        }
        rounds.push(pairs);
    }
    rounds.retain(|pairs| !pairs.is_empty());
    rounds.reverse();
    rounds
}

impl Compare {
    /// The numbers that are compared.
    fn count(&self) -> usize {
        self.wires.first().map_or(1, Vec::len)
    }

    /// The rounds of comparisons.
    pub fn rounds(&self) -> Vec<Vec<usize>> {
        rounds(self.count())
    }

    /// The registers that hold the medians, output by output.
    pub fn middle(&self) -> impl Iterator<Item = usize> + '_ {
        self.wires.iter().map(|wire| wire[wire.len() / 2])
    }

    /// The layer of a round.
    pub fn layer(&self, pairs: &[usize]) -> FeedForward {
        let mut layer = empty(self.width);
        for wire in &self.wires {
            for pair in pairs {
                let (a, b) = (wire[*pair], wire[pair + 1]);
                let ends = [(a, Rat::ONE), (b, -Rat::ONE)];
                unit(&mut layer, &ends, Rat::ZERO, &[(a, -Rat::ONE), (b, Rat::ONE)]);
            }
        }
        layer
    }

    /// Its effect, in words.
    pub fn meaning(&self) -> String {
        let count = self.count();
        format!("of {count} numbers, of which at most {} are spoiled, the median to the middle one", count / 2)
    }
}

impl Generator for Compare {
    fn width(&self) -> usize {
        self.width
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        let units: Vec<usize> = self.rounds().iter().map(|pairs| pairs.len() * self.wires.len()).collect();
        let all = Int::from(units.iter().sum::<usize>());
        StageSize {
            layers: Int::from(units.len()),
            heads: 0,
            head_size: 0,
            hidden: units.into_iter().max().unwrap_or(0),
            nonzeros: Int::from(4) * &all,
            units: all,
        }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        Box::new(self.rounds().into_iter().map(|pairs| Ok(Layer::FeedForward(self.layer(&pairs)))))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        let rounds = self.rounds();
        for token in &mut state {
            for wire in &self.wires {
                for pair in rounds.iter().flatten() {
                    let (a, b) = (wire[*pair], wire[pair + 1]);
                    if token[a] > token[b] {
                        token.swap(a, b);
                    }
                }
            }
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        serde_json::to_value(self).expect("plain data")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the 0-1 principle that is enough for numbers of any kind.
    #[test]
    fn the_middle_wire_has_the_median_of_all_zeros_and_ones() {
        for count in (1..=17).step_by(2) {
            let rounds = rounds(count);
            for bits in 0..1_u32 << count {
                let mut numbers: Vec<bool> = (0..count).map(|k| bits >> k & 1 == 1).collect();
                for pair in rounds.iter().flatten() {
                    numbers[*pair..pair + 2].sort_unstable();
                }
                assert_eq!(numbers[count / 2], bits.count_ones() as usize > count / 2, "{count} {bits:b}");
            }
            assert!(rounds.len() <= count);
        }
    }
}
