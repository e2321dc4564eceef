//! Feed-forward blocks on lanes: `z ← z + (b2 + w2 · max(b1 + w1 z, 0))`.
//!
//! On a stream of up to four coordinates the numbers of a hidden unit stand together, `b1, w1[..], w2[..]`, so that
//! deep networks of narrow blocks are read from front to back, and hidden units are never stored. On wider ones the two
//! products are taken one after the other, with the hidden units of one tile in between, which the first cache holds.

use std::ops::Range;

use super::real::{Real, numbers};
use super::tile::{LANES, Lanes, add, product, tile, tile_mut};
use crate::network::FeedForwardRun;

/// The feed-forward layers of a run.
#[derive(Clone, Debug)]
pub(crate) struct FeedForward<T> {
    width: usize,
    hidden: usize,
    form: Form<T>,
}

#[derive(Clone, Debug)]
enum Form<T> {
    /// Hidden units one after the other, then `b2`, block by block.
    Narrow(Vec<T>),
    /// The tensors as they are stored.
    Wide { w1: Vec<T>, b1: Vec<T>, w2: Vec<T>, b2: Vec<T> },
}

impl<T: Real> FeedForward<T> {
    /// Arranges the tensors of a run of so many blocks.
    pub fn new(run: &FeedForwardRun, blocks: usize, width: usize) -> Self {
        let hidden = run.hidden;
        let form = if width > 4 {
            Form::Wide { w1: numbers(&run.w1), b1: numbers(&run.b1), w2: numbers(&run.w2), b2: numbers(&run.b2) }
        } else {
            let mut numbers = Vec::with_capacity(blocks * (hidden * (2 * width + 1) + width));
            for block in 0..blocks {
                for unit in 0..hidden {
                    let row = block * hidden + unit;
                    numbers.push(T::nearest(run.b1[row]));
                    numbers.extend(run.w1[row * width..][..width].iter().map(|w| T::nearest(*w)));
                    numbers.extend((0..width).map(|i| T::nearest(run.w2[(block * width + i) * hidden + unit])));
                }
                numbers.extend(run.b2[block * width..][..width].iter().map(|b| T::nearest(*b)));
            }
            Form::Narrow(numbers)
        };
        Self { width, hidden, form }
    }

    /// The approximate number of operations of a block for each token.
    pub fn operations(&self) -> usize {
        4 * self.width * self.hidden
    }

    /// Applies blocks, one after the other, to groups of lanes, `[groups][width]`, of which the first `tiles` tiles are
    /// in use; `units` is room for the hidden units of a tile.
    pub fn apply<const S: usize>(
        &self,
        blocks: Range<usize>,
        state: &mut [Lanes<T>],
        tiles: usize,
        units: &mut Vec<[T; S]>,
    ) {
        match (&self.form, self.width) {
            (Form::Narrow(numbers), width) => {
                let size = self.hidden * (2 * width + 1) + width;
                let numbers = &numbers[blocks.start * size..blocks.end * size];
                match width {
                    1 => narrow::<T, 1>(numbers, self.hidden, state),
                    2 => narrow::<T, 2>(numbers, self.hidden, state),
                    3 => narrow::<T, 3>(numbers, self.hidden, state),
                    _ => narrow::<T, 4>(numbers, self.hidden, state),
                }
            }
            (Form::Wide { w1, b1, w2, b2 }, width) => {
                let hidden = self.hidden;
                units.resize(hidden, [T::ZERO; S]);
                for block in blocks {
                    let weights = block * hidden * width..(block + 1) * hidden * width;
                    let (w1, w2) = (&w1[weights.clone()], &w2[weights]);
                    let (b1, b2) = (&b1[block * hidden..][..hidden], &b2[block * width..][..width]);
                    for z in state.chunks_exact_mut(width) {
                        for t in 0..tiles {
                            product(w1, b1, width, |i| *tile(&z[i], t), |unit, sum| units[unit] = sum.map(relu));
                            let add_to = |i: usize, sum: [T; S]| add(tile_mut(&mut z[i], t), &sum);
                            product(w2, b2, hidden, |unit| units[unit], add_to);
                        }
                    }
                }
            }
        }
    }
}

/// `max(x, 0)`, one instruction; NaN stays NaN.
#[inline]
fn relu<T: Real>(x: T) -> T {
    if T::ZERO > x { T::ZERO } else { x }
}

/// Blocks on a stream of `W` coordinates: the loop over lanes is the innermost one, around loops of known length.
fn narrow<T: Real, const W: usize>(numbers: &[T], hidden: usize, state: &mut [Lanes<T>]) {
    let unit = 2 * W + 1;
    for block in numbers.chunks_exact(hidden * unit + W) {
        let (units, b2) = block.split_at(hidden * unit);
        let fours = units.chunks_exact(4 * unit);
        for z in state.as_chunks_mut::<W>().0 {
            let mut sum: [Lanes<T>; W] = std::array::from_fn(|i| [b2[i]; LANES]);
            fours.clone().for_each(|four| add_units::<T, W, 4>(four, z, &mut sum));
            fours.remainder().chunks_exact(unit).for_each(|one| add_units::<T, W, 1>(one, z, &mut sum));
            z.iter_mut().zip(&sum).for_each(|(z, sum)| add(z, sum));
        }
    }
}

/// `sum += Σ_units w2 · max(b1 + w1 z, 0)` for `H` units.
#[inline]
fn add_units<T: Real, const W: usize, const H: usize>(units: &[T], z: &[Lanes<T>; W], sum: &mut [Lanes<T>; W]) {
    let unit = 2 * W + 1;
    let b1: [T; H] = std::array::from_fn(|h| units[h * unit]);
    let w1: [[T; W]; H] = std::array::from_fn(|h| std::array::from_fn(|i| units[h * unit + 1 + i]));
    let w2: [[T; W]; H] = std::array::from_fn(|h| std::array::from_fn(|i| units[h * unit + 1 + W + i]));
    for lane in 0..LANES {
        for h in 0..H {
            let mut t = b1[h];
            for i in 0..W {
                t += w1[h][i] * z[i][lane];
            }
            let t = relu(t);
            for i in 0..W {
                sum[i][lane] += w2[h][i] * t;
            }
        }
    }
}
