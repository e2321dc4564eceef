//! The quantiser of a sum of codes in floats: cell numbers, binary digit by binary digit.
//!
//! On the registers `x` (in cells), `cell` and a free one, `p = 0`, for `b = 2^{J-1}, …, 2, 1` with `2^J ≥ N`, two layers:
//!
//! ```text
//! p ← p + R(b - x)
//! x ← x - b h,    cell ← cell + b h,    p ← p - R(p),        h = R(1 - p/ε)
//! ```
//!
//! `h` is 1 for `x ≥ b` and 0 for `x ≤ b - ε`, so that off the ramps `(k-ε, k)` this leaves `cell = ⌊x⌋`. One layer before them sends what is outside of `[0, N)`
//! below every id, by two ReLUs that do not saturate,
//!
//! ```text
//! cell ← cell - (F/ε) (R(-x) + R(x-N+ε)),          F = a power of two ≥ Q + 2^J + 2
//! ```
//!
//! **Exact, in any order, for every float.** For `x ≥ b` the first unit rests, `p = 0` and `h = 1` exactly, and `x - b` is exact because `b ≤ x < 2b`. For `x ≤ b - ε` rounding
//! keeps `p ≥ ε`, the second unit rests, and nothing changes. `p - R(p) = 0`. No sum has a term that is larger than its result, so that `ε` may be the distance of floats below
//! `2^J`, `ε = 2^{J-μ}`: at `N` no float lies on the ramp. (With both kinks in one layer, `h = (R(x-b+ε) - R(x-b))/ε`, there are terms of `b²/ε` in the sums, which are
//! exact in one order and not in others.)
//!
//! **Outside.** For `x ≥ N`, however large while `(F/ε) x` is a float, all digits are 1 or fewer, exactly; they add at most `2^J - 1`, and the flag takes at least `F(1-u)`. For `x ≤ -ε` they are 0. So the cell is below `-Q`.
//! Between `-ε` and 0 the flag is on its way.
//!
//! *Size*: `2J + 1` layers, of two ReLUs a coordinate at most (more layers if there are fewer free registers than coordinates). *Loss*: coordinates on ramps.

use crate::exact::{Int, Rat};
use crate::network::{Activation, FeedForward, Precision};

/// The quantiser's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BinaryQuantiser {
    /// `N`.
    pub cells: u64,
    /// `J`.
    pub digits: usize,
    /// `m`: ramps are `2^-m` wide.
    pub ramp: usize,
    /// `F`.
    pub flag: Rat,
}

impl BinaryQuantiser {
    /// The quantiser for `cells` cells and `symbols` codes; `None` if floats are no finer than cells.
    pub fn derive(cells: u64, symbols: usize, precision: Precision) -> Option<Self> {
        let digits = (64 - (cells - 1).leading_zeros()) as usize;
        let ramp = precision.digits().checked_sub(digits).filter(|ramp| *ramp > 1)?;
        let least = Int::from(symbols) + (Int::ONE << digits) + Int::ONE;
        Some(Self { cells, digits, ramp, flag: Rat::from(2).pow(least.bits()) })
    }

    /// The same with the widest ramps that a room for them leaves, which is a part of a cell; `None` if these are not at
    /// least as wide as those that it has.
    pub fn gentle(self, room: &Rat) -> Option<Self> {
        let half = Rat::new(1, 2);
        let fits = |ramp: &usize| half.pow(*ramp) <= *room;
        let ramp = (1..=self.ramp).find(fits)?;
        Some(Self { ramp, ..self })
    }

    /// `ε`.
    pub fn width(&self) -> Rat {
        Rat::ONE / Rat::from(2).pow(self.ramp)
    }

    /// The layers, for coordinates in the registers `0..rows`, their cells in the next `rows`, and registers from `free` on that are 0 before and behind.
    pub fn layers(&self, rows: usize, free: usize, width: usize) -> Vec<FeedForward> {
        let (ramp, per_ramp) = (self.width(), Rat::from(2).pow(self.ramp));
        let flag = -(&self.flag * &per_ramp);
        let mut outside = Block::new(width);
        for row in 0..rows {
            outside.unit(row, -Rat::ONE, Rat::ZERO, &[(rows + row, flag.clone())]);
            outside.unit(row, Rat::ONE, &ramp - Rat::from(self.cells), &[(rows + row, flag.clone())]);
        }
        let mut layers = vec![outside.layer];
        let all: Vec<usize> = (0..rows).collect();
        for rows_at_once in all.chunks(width - free) {
            for digit in (0..self.digits).rev() {
                let b = Rat::from(2).pow(digit);
                let (mut below, mut taken) = (Block::new(width), Block::new(width));
                for (place, &row) in rows_at_once.iter().enumerate() {
                    let scratch = free + place;
                    below.unit(row, -Rat::ONE, b.clone(), &[(scratch, Rat::ONE)]);
                    taken.unit(scratch, -per_ramp.clone(), Rat::ONE, &[(row, -b.clone()), (rows + row, b.clone())]);
                    taken.unit(scratch, Rat::ONE, Rat::ZERO, &[(scratch, -Rat::ONE)]);
                }
                layers.extend([below.layer, taken.layer]);
            }
        }
        layers
    }
}

/// A layer as it is put together.
struct Block {
    layer: FeedForward,
}

impl Block {
    fn new(width: usize) -> Self {
        let layer = FeedForward {
            w1: Vec::new(),
            b1: Vec::new(),
            activations: Vec::new(),
            w2: vec![Vec::new(); width],
            b2: vec![Rat::ZERO; width],
        };
        Self { layer }
    }

    /// `R(slope · register + bias)`, with these weights to other registers.
    fn unit(&mut self, register: usize, slope: Rat, bias: Rat, to: &[(usize, Rat)]) {
        let width = self.layer.b2.len();
        let mut read = vec![Rat::ZERO; width];
        read[register] = slope;
        self.layer.w1.push(read);
        self.layer.b1.push(bias);
        self.layer.activations.push(Activation::Relu);
        for (register, row) in self.layer.w2.iter_mut().enumerate() {
            let weight = to.iter().find(|(target, _)| *target == register);
            row.push(weight.map_or(Rat::ZERO, |(_, weight)| weight.clone()));
        }
    }
}
