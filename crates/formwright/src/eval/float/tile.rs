//! Numbers side by side, and matrices times them.
//!
//! ```text
//! lanes    32 columns of the state: the same coordinate of 32 tokens
//! tile     64 bytes of them: 8 doubles or 16 singles, which two rows of a product hold in registers
//! ```
//!
//! A product runs over the tiles of its columns; for each, over two rows of the matrix at a time; for these, over the
//! inputs, from left to right. So a sum does not depend on the lane of its column, nor on the other lanes.

use super::real::Real;

/// The number of columns side by side.
pub(crate) const LANES: usize = 32;

/// The same coordinate of [`LANES`] columns.
pub(crate) type Lanes<T> = [T; LANES];

/// The lanes of a tile.
#[inline]
pub(crate) fn tile<T, const S: usize>(lanes: &Lanes<T>, number: usize) -> &[T; S] {
    &lanes.as_chunks().0[number]
}

/// The lanes of a tile, to be written.
#[inline]
pub(crate) fn tile_mut<T, const S: usize>(lanes: &mut Lanes<T>, number: usize) -> &mut [T; S] {
    &mut lanes.as_chunks_mut().0[number]
}

/// `bias + weight · x`, row by row: `weight` is `[rows][inputs]`, `x` gives the tile of an input, `y` takes the tile of
/// a row.
#[inline]
pub(crate) fn product<T: Real, const S: usize>(
    weight: &[T],
    bias: &[T],
    inputs: usize,
    x: impl Fn(usize) -> [T; S],
    mut y: impl FnMut(usize, [T; S]),
) {
    let rows = bias.len();
    let row = |row: usize| &weight[row * inputs..][..inputs];
    for pair in 0..rows / 2 {
        let (a, b) = (2 * pair, 2 * pair + 1);
        let [at_a, at_b] = sums([row(a), row(b)], [bias[a], bias[b]], inputs, &x);
        y(a, at_a);
        y(b, at_b);
    }
    if rows % 2 == 1 {
        let [last] = sums([row(rows - 1)], [bias[rows - 1]], inputs, &x);
        y(rows - 1, last);
    }
}

/// `R` rows of a product.
#[inline]
fn sums<T: Real, const R: usize, const S: usize>(
    weight: [&[T]; R],
    bias: [T; R],
    inputs: usize,
    x: &impl Fn(usize) -> [T; S],
) -> [[T; S]; R] {
    let mut sums = bias.map(|bias| [bias; S]);
    for i in 0..inputs {
        let x = x(i);
        for (sum, weight) in sums.iter_mut().zip(weight) {
            add_scaled(sum, weight[i], &x);
        }
    }
    sums
}

/// `sum += w · x`, lane by lane.
#[inline]
pub(crate) fn add_scaled<T: Real, const S: usize>(sum: &mut [T; S], w: T, x: &[T; S]) {
    sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += w * *x);
}

/// `x += y`, lane by lane.
#[inline]
pub(crate) fn add<T: Real, const S: usize>(x: &mut [T; S], y: &[T; S]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += *y);
}
