//! Lemma 9, feed-forward half: a function of Φ becomes at most four ReLUs.
//!
//! For `φ = a_1 t + b_1` (`t < c_1`), `a_2 t + b_2` (`c_1 ≤ t < c_2`), `a_3 t + b_3` (`t ≥ c_2`), with `R = max(·, 0)` and ramps on
//! `[c_1 - ε, c_1]` and `[c_2 - ε, c_2]`, one constant piece being where all four units *rest* at 0:
//!
//! ```text
//! left rests (a_1 = 0)      s_1 = (a_2 c_1 + b_2 - b_1)/ε,   s_2 = (a_3 c_2 + b_3 - a_2 (c_2 - ε) - b_2)/ε
//!     φ̃ = b_1 + s_1 R(t-c_1+ε) + (a_2-s_1) R(t-c_1) + (s_2-a_2) R(t-c_2+ε) + (a_3-s_2) R(t-c_2)
//! middle rests (a_2 = 0)    α = (a_1 (c_1 - ε) + b_1 - b_2)/ε,   γ = (a_3 c_2 + b_3 - b_2)/ε
//!     φ̃ = b_2 + α R(c_1-t) - (a_1+α) R(c_1-ε-t) + γ R(t-c_2+ε) + (a_3-γ) R(t-c_2)
//! right rests (a_3 = 0)     α = (a_2 (c_2 - ε) + b_2 - b_3)/ε,   s = (a_2 c_1 + b_2 - a_1 (c_1 - ε) - b_1)/ε
//!     φ̃ = b_3 + α R(c_2-t) - (a_2+α) R(c_2-ε-t) + (a_2-s) R(c_1-t) + (s-a_1) R(c_1-ε-t)
//! ```
//!
//! *Bound*: `φ̃ = φ` off the ramps, exactly. On a ramp `φ̃` runs between the values of the two pieces.
//!
//! *Departures*: the paper writes out the first case; which piece rests matters in floats, so a piece that is 0 is preferred, the
//! middle one first: the units of the outside-indicator and of the flag are then exactly 0 on everything that they leave alone.

use crate::exact::Rat;
use crate::network::{Activation, FeedForward, Piece, Piecewise};

/// `coefficient · max(slope · t + offset, 0)`, `slope = ±1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hinge {
    /// The weight of the unit.
    pub coefficient: Rat,
    /// Its direction: 1 to the right, -1 to the left.
    pub slope: Rat,
    /// The constant added before the ReLU.
    pub offset: Rat,
}

/// `rest + Σ hinges`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hinges {
    /// The constant.
    pub rest: Rat,
    /// At most four units.
    pub hinges: Vec<Hinge>,
}

impl Hinges {
    #[cfg(test)]
    /// The value at `t`.
    pub fn apply(&self, t: &Rat) -> Rat {
        let unit = |h: &Hinge| &h.coefficient * (&h.slope * t + &h.offset).max(Rat::ZERO);
        self.hinges.iter().map(unit).fold(self.rest.clone(), |sum, value| sum + value)
    }
}

/// A unit that opens to the right of `at`.
fn right(coefficient: Rat, at: Rat) -> Hinge {
    Hinge { coefficient, slope: Rat::ONE, offset: -at }
}

/// A unit that opens to the left of `at`.
fn left(coefficient: Rat, at: Rat) -> Hinge {
    Hinge { coefficient, slope: -Rat::ONE, offset: at }
}

/// `φ̃` for ramps of width `ramp`; the two breakpoints of `φ` must be at least that far apart.
pub(crate) fn hinges(phi: &Piecewise, ramp: &Rat) -> Hinges {
    let at: Vec<&Rat> = phi.breaks().iter().map(|point| &point.at).collect();
    debug_assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= *ramp), "ramps overlap");
    // A function of fewer pieces is one whose last piece is cut once more, outside of every ramp.
    let pieces = phi.pieces();
    let (one, two, three) = (&pieces[0], pieces.get(1).unwrap_or(&pieces[0]), pieces.last().unwrap_or(&pieces[0]));
    let c1 = at.first().map_or(Rat::ZERO, |c| (*c).clone());
    let c2 = at.get(1).map_or_else(|| &c1 + ramp, |c| (*c).clone());
    let value = |piece: &Piece, t: &Rat| &piece.slope * t + &piece.intercept;
    let (low1, low2) = (&c1 - ramp, &c2 - ramp);
    let rests_at_zero = |piece: &Piece| piece.slope.is_zero() && piece.intercept.is_zero();
    let resting = [two, one, three].into_iter().find(|piece| rests_at_zero(piece));
    let resting = resting.or_else(|| [two, one, three].into_iter().find(|piece| piece.slope.is_zero())).unwrap_or(one);
    let (rest, hinges) = if std::ptr::eq(resting, two) && pieces.len() == 3 {
        let alpha = (value(one, &low1) - &two.intercept) / ramp.clone();
        let gamma = (value(three, &c2) - &two.intercept) / ramp.clone();
        let hinges = vec![
            left(alpha.clone(), c1),
            left(-(&one.slope + &alpha), low1),
            right(gamma.clone(), low2),
            right(&three.slope - &gamma, c2),
        ];
        (&two.intercept, hinges)
    } else if std::ptr::eq(resting, one) {
        let s1 = (value(two, &c1) - &one.intercept) / ramp.clone();
        let s2 = (value(three, &c2) - value(two, &low2)) / ramp.clone();
        let hinges = vec![
            right(s1.clone(), low1),
            right(&two.slope - &s1, c1),
            right(&s2 - &two.slope, low2),
            right(&three.slope - &s2, c2),
        ];
        (&one.intercept, hinges)
    } else {
        let alpha = (value(two, &low2) - &three.intercept) / ramp.clone();
        let s = (value(two, &c1) - value(one, &low1)) / ramp.clone();
        let hinges = vec![
            left(alpha.clone(), c2),
            left(-(&two.slope + &alpha), low2),
            left(&two.slope - &s, c1),
            left(&s - &one.slope, low1),
        ];
        (&three.intercept, hinges)
    };
    let hinges = hinges.into_iter().filter(|hinge| !hinge.coefficient.is_zero()).collect();
    Hinges { rest: rest.clone(), hinges }
}

/// The layer with ReLUs in the place of functions of Φ; ReLUs stay as they are. Equal units are not merged.
pub(crate) fn piecewise_to_relu(layer: &FeedForward, ramp: &Rat) -> FeedForward {
    let width = layer.b2.len();
    let mut lowered = FeedForward {
        w1: Vec::new(),
        b1: Vec::new(),
        activations: Vec::new(),
        w2: vec![Vec::new(); width],
        b2: layer.b2.clone(),
    };
    for (unit, activation) in layer.activations.iter().enumerate() {
        let (read, bias) = (&layer.w1[unit], &layer.b1[unit]);
        let function = match activation {
            Activation::Relu => Hinges { rest: Rat::ZERO, hinges: vec![right(Rat::ONE, Rat::ZERO)] },
            Activation::Piecewise(phi) => hinges(phi, ramp),
        };
        for Hinge { coefficient, slope, offset } in function.hinges {
            lowered.w1.push(read.iter().map(|w| w * &slope).collect());
            lowered.b1.push(bias * &slope + offset);
            lowered.activations.push(Activation::Relu);
            for (row, out) in lowered.w2.iter_mut().zip(&layer.w2) {
                row.push(&out[unit] * &coefficient);
            }
        }
        for (constant, out) in lowered.b2.iter_mut().zip(&layer.w2) {
            *constant += &(&out[unit] * &function.rest);
        }
    }
    lowered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Break, Side};

    /// Every function with small integer pieces and breakpoints, at quarter steps: equal off the ramps, between the pieces on them.
    #[test]
    fn four_relus_equal_phi_off_the_ramps_and_run_between_the_pieces_on_them() {
        let ramp = Rat::new(1, 2);
        let (mut cases, mut evaluations) = (0, 0);
        for flat in 0..3 {
            for code in 0..3_i32.pow(5) {
                let digit = |k: u32| code / 3_i32.pow(k) % 3 - 1;
                let slopes = [digit(0), digit(1)];
                let mut next = slopes.into_iter();
                let slope = |piece| if piece == flat { 0 } else { next.next().unwrap_or(0) };
                let slopes: Vec<i32> = (0..3).map(slope).collect();
                let intercepts = [digit(2), digit(3), digit(4)];
                let pieces: Vec<Piece> = (0..3).map(|k| Piece::line(slopes[k], intercepts[k])).collect();
                let breaks = [-1, 2].map(|at| Break { at: Rat::from(at), belongs: Side::Right });
                let phi = Piecewise::new(pieces.clone(), breaks.to_vec()).expect("in Φ");
                let lowered = hinges(&phi, &ramp);
                assert!(lowered.hinges.len() <= 4);
                cases += 1;
                for quarter in -24..24 {
                    let t = Rat::new(quarter, 4);
                    let found = lowered.apply(&t);
                    evaluations += 1;
                    let on_ramp = |c: i32| t > Rat::from(c) - &ramp && t < Rat::from(c);
                    if on_ramp(-1) || on_ramp(2) {
                        let k = usize::from(on_ramp(2));
                        let ends = [Rat::from([-1, 2][k]) - &ramp, Rat::from([-1, 2][k])];
                        let [a, b] =
                            [0, 1].map(|side| &pieces[k + side].slope * &ends[side] + &pieces[k + side].intercept);
                        let share = (&t - &ends[0]) / &ramp;
                        assert_eq!(found, &a + (&b - &a) * &share, "{phi:?} at {t}: the ramp is a line");
                    } else {
                        assert_eq!(found, phi.apply(&t), "{phi:?} at {t}");
                    }
                }
            }
        }
        assert_eq!((cases, evaluations), (729, 34_992));
    }

    #[test]
    fn fewer_pieces_need_fewer_units() {
        let step = |pieces: Vec<Piece>| {
            let breaks = vec![Break { at: Rat::ZERO, belongs: Side::Right }; pieces.len() - 1];
            Piecewise::new(pieces, breaks).expect("in Φ")
        };
        let ramp = Rat::new(1, 4);
        for phi in [
            step(vec![Piece::constant(3)]),
            step(vec![Piece::constant(0), Piece::line(2, 1)]),
            step(vec![Piece::line(-1, 2), Piece::constant(0)]),
            step(vec![Piece::constant(1), Piece::constant(5)]),
        ] {
            let lowered = hinges(&phi, &ramp);
            assert!(lowered.hinges.len() <= 2, "{phi:?}: {lowered:?}");
            for t in [-2, -1, 1, 2, 3].map(Rat::from) {
                assert_eq!(lowered.apply(&t), phi.apply(&t), "{phi:?} at {t}");
            }
        }
    }

    #[test]
    fn the_outside_indicator_rests_inside_and_the_window_outside() {
        let (zero, one) = (Piece::constant(0), Piece::constant(1));
        let (low, high) = (Rat::from(10), Rat::from(20));
        let outside =
            hinges(&Piecewise::window(low.clone(), high.clone(), true, zero.clone(), one.clone()), &Rat::new(1, 4));
        let inside = hinges(&Piecewise::window(low, high, false, one, zero), &Rat::new(1, 4));
        let resting = |function: &Hinges, t: i32| {
            function.hinges.iter().all(|h| &h.slope * &Rat::from(t) + &h.offset <= Rat::ZERO)
        };
        assert!(resting(&outside, 10) && resting(&outside, 19) && !resting(&outside, 9) && !resting(&outside, 20));
        assert!(resting(&inside, 9) && !resting(&inside, 10), "a window's units open to the right");
    }
}
