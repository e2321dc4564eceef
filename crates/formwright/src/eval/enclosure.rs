//! Enclosures of *every* execution of a float network: intervals around the residual stream after each stage, and
//! around the output.
//!
//! The executions are those of `ieee-any-order`: sums in any order, products and sums fused or not, `exp` within `ε`,
//! results below the normal range kept or flushed. With `p` digits, `u = 2^-p`, `γ_k = ku/(1-ku)` and `η` the least
//! normal number:
//!
//! | operation | possible results | file |
//! |---|---|---|
//! | a sum of `m` terms | the exact sum `± γ_m Σ|t|`, and less where terms are few or have few digits | `sum.rs` |
//! | softmax | `1/Σ_j e^{s_j - s_k}`, with each score moved by `u|s - max|` and `ε`, `± γ_{n+2}` | `attention.rs` |
//! | averages | by `Σ p_k v_k = c Σ p_k + Σ p_k (v_k - c)`, since weights add up to 1 `± γ_{n+2}` | `attention.rs` |
//! | a feed-forward layer | certainly positive units are composed, so that slopes cancel; `max(·, 0)` is exact | |
//!
//! Everything else is interval arithmetic, rounded outward. So two executions of one stage differ by no more than the
//! width of its intervals. At points of a lattice that are numbers of the format, where networks are exact in any
//! order, intervals are points. Where an execution might overflow, nothing is known, and the interval is entire: the
//! number may be infinite or not a number, and so may be everything that is computed from it, even with a weight of 0.

mod attention;
mod sum;

use rayon::prelude::*;

use super::{Part, check_network, check_tokens, stages};
use crate::error::{Error, Result};
use crate::interval::Interval;
use crate::network::{FeedForwardRun, FloatAffine, FloatNetwork};
use sum::{Rounding, Sum};

/// Intervals around the numbers of a sequence, `[tokens][coordinates]`.
pub(crate) type State = Vec<Vec<Interval>>;

/// Intervals that contain the results of any execution on one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Enclosure {
    /// The residual stream after the embedding and after each stage.
    pub states: Vec<State>,
    /// The output.
    pub output: State,
}

/// All executions of a float network.
#[derive(Debug)]
pub struct Executions<'a> {
    network: &'a FloatNetwork,
    stages: Vec<(&'a str, Vec<Part<'a>>)>,
    format: Rounding,
}

impl<'a> Executions<'a> {
    /// The executions of a network; refused where the engine refuses it.
    pub fn new(network: &'a FloatNetwork) -> Result<Self> {
        check_network(network)?;
        Ok(Self { network, stages: stages(network)?, format: Rounding::of(network.precision) })
    }

    /// Encloses the executions on each of many inputs, which are first rounded to the format.
    pub fn enclose_batch(&self, batch: &[Vec<Vec<f64>>]) -> Result<Vec<Enclosure>> {
        batch.par_iter().map(|x| self.enclose(x)).collect()
    }

    /// Encloses the executions on one input.
    pub fn enclose(&self, x: &[Vec<f64>]) -> Result<Enclosure> {
        let mut states = vec![self.embed(x)?];
        for stage in 0..self.stages.len() {
            states.push(self.stage(stage, &states[stage]));
        }
        let output = self.read_out(&states[self.stages.len()]);
        Ok(Enclosure { states, output })
    }

    /// The residual stream after the embedding.
    pub fn embed(&self, x: &[Vec<f64>]) -> Result<State> {
        let FloatNetwork { precision, lengths, .. } = self.network;
        check_tokens(*lengths, self.network.dims(), x, None)?;
        let number = |entry: &f64| {
            let rounded = precision.round(*entry);
            let refused = || Error::input(format!("{entry:?} is no finite {precision} number"));
            rounded.is_finite().then(|| Interval::point(rounded)).ok_or_else(refused)
        };
        let x = x.iter().map(|token| token.iter().map(number).collect()).collect::<Result<State>>()?;
        Ok(self.affine(&self.network.embed, &x, self.network.positions.as_deref().unwrap_or_default()))
    }

    /// The residual stream after a stage, from an enclosure of the state before it.
    pub fn stage(&self, stage: usize, z: &State) -> State {
        let mut z = z.clone();
        for part in &self.stages[stage].1 {
            for block in 0..part.blocks {
                if let Some(run) = part.attention {
                    self.attention(run, block, &mut z);
                }
                if let Some(run) = part.feed_forward {
                    for token in &mut z {
                        self.feed_forward(run, block, token);
                    }
                }
            }
        }
        z
    }

    /// The output, from an enclosure of the last state.
    pub fn read_out(&self, z: &State) -> State {
        self.affine(&self.network.read_out, z, &[])
    }

    /// `weight · z + bias`, plus `more`, token by token.
    fn affine(&self, map: &FloatAffine, z: &State, more: &[f64]) -> State {
        let entry = |token: usize, i: usize| {
            let sum = self.row(&map.weight, i, &z[token]).plus(map.bias[i]);
            more.get(token * map.outputs + i).map_or(sum, |x| sum.plus(*x)).total()
        };
        (0..z.len()).map(|token| (0..map.outputs).map(|i| entry(token, i)).collect()).collect()
    }

    /// `z + w2 h + b2` with `h = max(w1 z + b1 + ρ, 0)`, where `ρ` is the effect of rounding. Where units are certainly
    /// positive they are affine, and their sum is `Σ_c (δ_ic + Σ_j w2_ij w1_jc) z_c + Σ_j w2_ij (b1_j + ρ_j)`: slopes
    /// cancel before intervals are put in.
    fn feed_forward(&self, run: &FeedForwardRun, block: usize, z: &mut [Interval]) {
        let (width, hidden) = (z.len(), run.hidden);
        let before = z.to_vec();
        let unit = |unit: usize| self.row(&run.w1, unit, &before).plus(run.b1[unit]).parts();
        let (units, lost): (Vec<Interval>, Vec<Interval>) = (block * hidden..(block + 1) * hidden).map(unit).unzip();
        // A unit that may not be a number is not bounded by its ReLU.
        let height = |unit: &Interval| if unit.is_bounded() { unit.relu() } else { Interval::ENTIRE };
        let heights: Vec<Interval> = units.iter().map(height).collect();
        for (i, z) in z.iter_mut().enumerate() {
            let row = block * width + i;
            let mut sum = self.row(&run.w2, row, &heights).plus(run.b2[row]);
            sum.term(before[i]);
            let (plain, rounding) = sum.parts();
            *z = plain;
            if plain.width() == 0.0 || !plain.is_bounded() {
                continue;
            }
            let mut slopes = vec![Interval::ZERO; width];
            slopes[i] = Interval::ONE;
            let mut rest = Interval::point(run.b2[row]) + rounding;
            for (j, w2) in run.w2[row * hidden..][..hidden].iter().enumerate().filter(|(_, w2)| **w2 != 0.0) {
                let (w2, place) = (Interval::point(*w2), block * hidden + j);
                if units[j].lo() < 0.0 {
                    rest = rest + w2 * heights[j];
                    continue;
                }
                rest = rest + w2 * (Interval::point(run.b1[place]) + lost[j]);
                for (slope, w1) in slopes.iter_mut().zip(&run.w1[place * width..][..width]) {
                    *slope = *slope + w2 * Interval::point(*w1);
                }
            }
            let composed = slopes.iter().zip(&before).fold(rest, |sum, (slope, z)| sum + *slope * *z);
            *z = plain.intersect(composed).unwrap_or(plain);
        }
    }

    /// A row of a matrix times a vector.
    fn row(&self, matrix: &[f64], row: usize, z: &[Interval]) -> Sum {
        let mut sum = self.sum();
        matrix[row * z.len()..][..z.len()].iter().zip(z).for_each(|(w, z)| sum.weighted(*w, *z));
        sum
    }

    fn sum(&self) -> Sum {
        Sum::new(self.format)
    }
}
