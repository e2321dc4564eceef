//! Activations: ReLU, and the class Φ of Yun et al. 2020.
//!
//! Φ holds the piecewise linear functions `R → R` of at most three pieces, at least one of them constant; they may
//! jump. A breakpoint belongs to the piece on its right unless it says otherwise.

use serde::{Deserialize, Serialize};

use crate::exact::Rat;

/// The activation of one hidden unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Activation {
    /// `max(t, 0)`.
    Relu,
    /// A member of Φ.
    Piecewise(Piecewise),
}

impl Activation {
    /// The value at `t`.
    pub fn apply(&self, t: &Rat) -> Rat {
        match self {
            Self::Relu => t.clone().max(Rat::ZERO),
            Self::Piecewise(function) => function.apply(t),
        }
    }
}

/// `slope · t + intercept`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// The slope.
    pub slope: Rat,
    /// The value at 0.
    pub intercept: Rat,
}

impl Piece {
    /// The constant `value`.
    pub fn constant(value: impl Into<Rat>) -> Self {
        Self { slope: Rat::ZERO, intercept: value.into() }
    }

    /// `slope · t + intercept`.
    pub fn line(slope: impl Into<Rat>, intercept: impl Into<Rat>) -> Self {
        Self { slope: slope.into(), intercept: intercept.into() }
    }

    fn at(&self, t: &Rat) -> Rat {
        if self.slope.is_zero() { self.intercept.clone() } else { &(&self.slope * t) + &self.intercept }
    }
}

/// The piece that a breakpoint belongs to, of its two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Side {
    /// The piece on its left.
    Left,
    /// The piece on its right.
    Right,
}

/// A point at which the piece changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Break {
    /// Its place.
    pub at: Rat,
    /// The piece that holds the point itself.
    pub belongs: Side,
}

/// A member of Φ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Piecewise {
    pieces: Vec<Piece>,
    breaks: Vec<Break>,
}

impl Piecewise {
    /// The function with these pieces from left to right and these breakpoints between them, or the reason why it is
    /// not in Φ.
    pub fn new(pieces: Vec<Piece>, breaks: Vec<Break>) -> Result<Self, &'static str> {
        if pieces.is_empty() || pieces.len() > 3 {
            return Err("a function in Φ has one to three pieces");
        }
        if breaks.len() + 1 != pieces.len() {
            return Err("between two pieces there is one breakpoint");
        }
        if !pieces.iter().any(|piece| piece.slope.is_zero()) {
            return Err("a function in Φ has a constant piece");
        }
        if breaks.windows(2).any(|pair| pair[0].at >= pair[1].at) {
            return Err("breakpoints increase");
        }
        Ok(Self { pieces, breaks })
    }

    /// `inside` for `low ≤ t < high` (`t ≤ high` if `closed`), `outside` elsewhere.
    ///
    /// # Panics
    /// If `low ≥ high` or neither piece is constant, which no construction asks for.
    pub fn window(low: Rat, high: Rat, closed: bool, inside: Piece, outside: Piece) -> Self {
        let belongs = if closed { Side::Left } else { Side::Right };
        let breaks = vec![Break { at: low, belongs: Side::Right }, Break { at: high, belongs }];
        Self::new(vec![outside.clone(), inside, outside], breaks).expect("low < high and a constant piece")
    }

    /// The value at `t`.
    pub fn apply(&self, t: &Rat) -> Rat {
        let passed = self.breaks.iter().take_while(|at| match at.belongs {
            Side::Left => *t > at.at,
            Side::Right => *t >= at.at,
        });
        self.pieces[passed.count()].at(t)
    }

    /// The pieces from left to right.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The breakpoints between them.
    pub fn breaks(&self) -> &[Break] {
        &self.breaks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(t: i32, belongs: Side) -> Break {
        Break { at: Rat::from(t), belongs }
    }

    #[test]
    fn a_breakpoint_belongs_to_the_side_it_names() {
        let indicator = Piecewise::window(Rat::ZERO, Rat::ONE, false, Piece::constant(1), Piece::constant(0));
        let closed = Piecewise::window(Rat::ZERO, Rat::ONE, true, Piece::constant(1), Piece::constant(0));
        for (t, half_open, both) in
            [(Rat::new(-1, 9), 0, 0), (Rat::ZERO, 1, 1), (Rat::new(1, 2), 1, 1), (Rat::ONE, 0, 1)]
        {
            assert_eq!(indicator.apply(&t), Rat::from(half_open), "[0,1) at {t}");
            assert_eq!(closed.apply(&t), Rat::from(both), "[0,1] at {t}");
        }
        assert_eq!(closed.apply(&Rat::new(10, 9)), Rat::ZERO);
    }

    #[test]
    fn functions_outside_phi_are_refused() {
        let line = || Piece::line(1, 0);
        let flat = || Piece::constant(0);
        let right = |t| at(t, Side::Right);
        assert!(Piecewise::new(vec![], vec![]).is_err());
        assert!(Piecewise::new(vec![line()], vec![]).is_err(), "no constant piece");
        assert!(Piecewise::new(vec![line(), line()], vec![right(0)]).is_err(), "no constant piece");
        assert!(Piecewise::new(vec![flat(), line()], vec![]).is_err(), "a breakpoint is missing");
        assert!(
            Piecewise::new(vec![flat(), line(), flat()], vec![right(1), right(0)]).is_err(),
            "breakpoints decrease"
        );
        assert!(Piecewise::new(vec![flat(); 4], vec![right(0), right(1), right(2)]).is_err(), "four pieces");
        assert!(Piecewise::new(vec![flat(), line()], vec![right(0)]).is_ok());
    }
}
