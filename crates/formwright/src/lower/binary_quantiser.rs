//! The quantiser of a sum of codes in floats: cell numbers, binary digit by binary digit.
//!
//! On the registers `x` (in cells) and `cell`, for `b = 2^{J-1}, …, 2, 1` with `2^J ≥ N`, one block of two ReLUs a coordinate:
//!
//! ```text
//! h = (R(x-b+ε) - R(x-b)) / ε,      x ← x - b h,      cell ← cell + b h
//! ```
//!
//! Off the ramps `[k-ε, k)` this leaves `cell = ⌊x⌋`. One block before them sends what is outside of `[0, N)` below every id, by two ReLUs that do not saturate,
//!
//! ```text
//! cell ← cell - (F/ε) (R(-x) + R(x-N+ε)).
//! ```
//!
//! **Exact, in any order.** As it comes, `x` has all its digits, and `x - (b/ε)R(…) + (b/ε)R(…)` does not keep them if the large terms are added last. So two
//! layers in front *snap* `x` to a multiple of `2^-m`, by adding `C = 2^{μ-1-m}` and subtracting it again. With ramps `ε = 2^-m` all terms are then
//! multiples of `2^-m` below `b²/ε + 4·2^J + Q`, and every sum is exact as long as
//!
//! ```text
//! (2^{2(J-1)+m} + 2^{J+2} + Q) · 2^m ≤ 2^μ           Q bounds what else is in `cell`
//! ```
//!
//! The ramps are as narrow as that allows. (Without snapping the any-order claim fails; measured in the order in which it is written, it does not show.)
//!
//! **Outside.** For `x ≥ N`, however large, the digits sum to at most `2^J` and rounding errors, at most `g x` with `g = γ_8·2^{J+2}/ε`; the flag is at least `F(x-N+ε)/ε`.
//! With `F ≥ 2(Q + 2^J + 2gN + 4)`, a power of two, `cell ≤ -(Q+2)` for `x ≤ 2N`, and beyond the flag grows faster. For `x ≤ -ε` the digits are 0.
//!
//! *Loss*: a coordinate on a ramp, or snapped across an edge: `ε + 2·2^{-m-1}` of every cell.

use super::to_float::gamma;
use crate::exact::{Int, Rat};
use crate::network::{Activation, FeedForward, Precision};

/// The quantiser's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryQuantiser {
    /// `N`.
    pub cells: u64,
    /// `J`.
    pub digits: usize,
    /// `m`: ramps are `2^-m` wide.
    pub ramp: usize,
    /// `F`.
    pub flag: Rat,
    precision: Precision,
}

impl BinaryQuantiser {
    /// The narrowest ramps; `None` if there are none below a whole cell.
    pub fn derive(cells: u64, symbols: usize, precision: Precision) -> Option<Self> {
        let two = Rat::from(2);
        let digits = (64 - (cells - 1).leading_zeros()) as usize;
        let others = two.pow(digits + 2) + Rat::from(symbols);
        let exact = |m: usize| (two.pow(2 * (digits - 1) + m) + &others) * two.pow(m) <= two.pow(precision.digits());
        let ramp = (1..precision.digits()).take_while(|m| exact(*m)).last()?;
        let rounding = Rat::from_f64(gamma(8, precision).hi())? * two.pow(digits + 2 + ramp);
        let least =
            (Rat::from(symbols) + two.pow(digits) + two.clone() * rounding.clone() * Rat::from(cells) + Rat::from(4))
                * &two;
        let flag = two.pow((least.max(Rat::from(8) * rounding).ceil() - Int::ONE).bits());
        Some(Self { cells, digits, ramp, flag, precision })
    }

    /// `ε`.
    pub fn width(&self) -> Rat {
        Rat::ONE / Rat::from(2).pow(self.ramp)
    }

    /// The blocks, for coordinates in the registers `0..rows` and their cells in the next `rows`.
    pub fn layers(&self, rows: usize, width: usize) -> Vec<FeedForward> {
        let (ramp, per_ramp) = (self.width(), Rat::from(2).pow(self.ramp));
        let constant = Rat::from(2).pow(self.precision.digits() - 1 - self.ramp);
        let snap = |constant: Rat| {
            let mut b2 = vec![Rat::ZERO; width];
            b2[..rows].fill(constant);
            // A layer has at least one hidden unit; this one's does nothing.
            FeedForward {
                w1: vec![vec![Rat::ZERO; width]],
                b1: vec![Rat::ZERO],
                activations: vec![Activation::Relu],
                w2: vec![vec![Rat::ZERO]; width],
                b2,
            }
        };
        let mut layers = vec![snap(constant.clone()), snap(-constant)];
        let flag = -(&self.flag * &per_ramp);
        let end = Rat::from(self.cells);
        layers.push(pairs(
            rows,
            width,
            &[(-Rat::ONE, Rat::ZERO, Rat::ZERO, flag.clone()), (Rat::ONE, &ramp - end, Rat::ZERO, flag)],
        ));
        for digit in (0..self.digits).rev() {
            let b = Rat::from(2).pow(digit);
            let height = &b * &per_ramp;
            layers.push(pairs(
                rows,
                width,
                &[(Rat::ONE, &ramp - &b, -height.clone(), height.clone()), (Rat::ONE, -b, height.clone(), -height)],
            ));
        }
        layers
    }
}

/// The block whose units, for each coordinate, read it by `(slope, bias)` and write `(to x, to cell)`.
fn pairs(rows: usize, width: usize, units: &[(Rat, Rat, Rat, Rat)]) -> FeedForward {
    let hidden = rows * units.len();
    let mut layer = FeedForward {
        w1: vec![vec![Rat::ZERO; width]; hidden],
        b1: Vec::with_capacity(hidden),
        activations: vec![Activation::Relu; hidden],
        w2: vec![vec![Rat::ZERO; hidden]; width],
        b2: vec![Rat::ZERO; width],
    };
    for row in 0..rows {
        for (slope, bias, to_x, to_cell) in units {
            let unit = layer.b1.len();
            layer.w1[unit][row] = slope.clone();
            layer.b1.push(bias.clone());
            layer.w2[row][unit] = to_x.clone();
            layer.w2[rows + row][unit] = to_cell.clone();
        }
    }
    layer
}
