//! Rule *read-out within a distance*: where the forms of the outputs are not the target, how far they are from it.
//!
//! The difference `g` of both normal forms, token by token, is a function of the inputs. On a box with sides
//! `[a_k, b_k]` of width `w_k`, let all slopes of `g` along the input `k` lie in `[s_k, S_k]`, and, where `g` has no
//! kinks, all its second derivatives in `[m_k, M_k]`. Then
//!
//! ```text
//! min g(corners) - Σ_k d_k^-  ≤  g  ≤  max g(corners) + Σ_k d_k^+
//! d_k^+ = min(w_k (S_k - s_k)/4, w_k² max(-m_k, 0)/8),   d_k^- = min(w_k (S_k - s_k)/4, w_k² max(M_k, 0)/8)
//! ```
//!
//! *Proof*, input by input. Along `k`, `g(t) ≤ g(a) + S(t - a)` and `g(t) ≤ g(b) - s(b - t)`, so that `g` is above the
//! chord by at most `(S - c)(t - a)` and `(c - s)(b - t)`, `c` its slope, of which the smaller is at most
//! `w(S - c)(c - s)/(S - s) ≤ w(S - s)/4`; and by at most `½(t - a)(b - t) sup(-g'')`. The chord is at most the larger end,
//! and the ends are functions of the other inputs, with the same slopes.
//!
//! Boxes are cut, at kinks where there are some inside, until all of them are within what the claim leaves, or too much
//! work has been done, or a corner is found at which `g` is larger.

use std::collections::VecDeque;

use super::normal::Program;
use super::profile::up;
use super::{Outcome, Polynomial, Prover, Stop, Things, declined};
use crate::kernel::function::Jet;
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::prove::rejected;
use crate::read::target::Target;

/// The most work: factors and terms of normal forms, times the corners and sides of boxes.
const MOST_WORK: usize = 1 << 23;

/// By how many powers of two an estimate of the work may be too large.
const SPARE: i64 = 4;

/// The most boxes on which a place is looked for where two functions are far from each other, if more would be needed to
/// show that there is none.
const TRIES: usize = 256;

/// The most inputs of a difference: a box has as many corners as two to this power.
const MOST_INPUTS: usize = 10;

/// What is found of a difference.
enum Found {
    /// It is nowhere larger than this.
    Within(Dyadic),
    /// Its size is at least this for these inputs, which is more than was asked for.
    Beyond(Dyadic, Vec<((usize, usize), Dyadic)>),
}

/// A difference of two normal forms over the inputs of a sequence.
#[derive(Debug)]
pub(super) struct Apart {
    /// The output.
    pub output: usize,
    /// The token.
    pub token: usize,
    /// The number of tokens.
    pub tokens: usize,
    program: Program,
}

/// What outputs must be within.
pub struct Goal {
    /// The largest error that is enough.
    pub most: Dyadic,
    /// True if the claim is not met where the error is larger at one point.
    pub everywhere: bool,
}

impl Prover<'_> {
    /// How far outputs are from the target, which are within `offs` of their forms.
    pub(super) fn distance(
        &mut self,
        apart: &[Apart],
        offs: &[Dyadic],
        target: &Target,
        wanted: &Goal,
    ) -> Result<Vec<Dyadic>, Stop> {
        let (mut worst, mut left) = (offs.to_vec(), MOST_WORK);
        for part in apart {
            let Apart { output, token, tokens, .. } = part;
            let place = format!("output {output} of token {token} of {tokens}");
            let differs = |why: String| declined(format!("{place} is not shown to be the target: {why}"));
            let off = offs.get(*output).ok_or_else(|| declined("an output that does not exist"))?;
            let goal = &wanted.most - off;
            let (size, at) = match part.most(&self.domain, &goal, &mut left).map_err(differs)? {
                Found::Within(most) => {
                    let sum = up(&(off + &most));
                    worst.iter_mut().skip(*output).take(1).for_each(|worst| *worst = worst.clone().max(sum.clone()));
                    continue;
                }
                Found::Beyond(size, at) => (size, at),
            };
            // Outputs may be nearer to the target there than the form is; and the place may lie outside, by a rounding.
            let (beyond, inside) = (&wanted.most + off, target.domain.inside());
            if wanted.everywhere && inside.lo <= inside.hi {
                let found = part.most(&inside, &beyond, &mut left).map_err(differs)?;
                if let Found::Beyond(size, at) = found {
                    let told = format!("{place}: {}, and outputs are within {off} of the form", told(&size, &at));
                    return Err(rejected("point", told));
                }
            }
            return Err(differs(format!("{}; outputs are within {off} of the form", told(&size, &at))));
        }
        Ok(worst)
    }
}

/// How far a form is from the target somewhere.
fn told(size: &Dyadic, at: &[((usize, usize), Dyadic)]) -> String {
    let inputs: Vec<String> = at.iter().map(|((t, c), x)| format!("x_{t}[{c}] = {x}")).collect();
    let place = if inputs.is_empty() { String::new() } else { format!("at {} ", inputs.join(", ")) };
    format!("{place}its form is {size} from the target")
}

/// A box with a bound on the difference there.
struct Bounded {
    /// Not less than its size; nothing where it is not enclosed.
    most: Option<Dyadic>,
    /// The input to be cut first.
    widest: usize,
}

impl Apart {
    pub(super) fn new(
        things: &Things,
        [is, wanted]: [&Polynomial; 2],
        [output, token, tokens]: [usize; 3],
    ) -> Outcome<Self> {
        let program = things.program(&Things::plus(is, &Ratio::ONE.negative(), wanted)?)?;
        let count = program.inputs.len();
        if count > MOST_INPUTS {
            return Err(format!("their difference is one of {count} inputs, the limit is {MOST_INPUTS}"));
        }
        Ok(Self { output, token, tokens, program })
    }

    /// Bounds the difference over all inputs of the domain, by at most `goal` if it is not larger somewhere; `left` is
    /// the work that may still be done.
    fn most(&self, domain: &Range, goal: &Dyadic, left: &mut usize) -> Outcome<Found> {
        let program = &self.program;
        let count = program.inputs.len();
        let corners = 1_usize.checked_shl(u32::try_from(count).unwrap_or(u32::MAX)).unwrap_or(usize::MAX);
        let cost = program.cost.saturating_mul(corners.saturating_add(count).saturating_add(1));
        let (mut open, mut worst) = (VecDeque::from([vec![domain.clone(); count]]), Dyadic::ZERO);
        // Only a place where it is larger is looked for, on so many boxes, if nothing else can be shown.
        let (mut tries, mut first) = (None, true);
        while let Some(sides) = if tries.is_some() { open.pop_front() } else { open.pop_back() } {
            *left = left.checked_sub(cost).ok_or_else(|| {
                format!("to show that they are within {goal} of each other takes more than {MOST_WORK} steps")
            })?;
            let (ends, beyond) = at_corners(program, &sides, goal)?;
            if let Some((size, corner)) = beyond {
                return Ok(Found::Beyond(size, program.inputs.iter().copied().zip(corner).collect()));
            }
            let bounded = on_box(program, &sides, &ends);
            if first && bounded.most.as_ref().is_some_and(|most| is_hopeless(most, goal, count, cost)) {
                tries = Some(TRIES);
            }
            first = false;
            tries = match tries {
                Some(0) => {
                    let far = "smaller boxes than can be looked at";
                    return Err(format!("to show that they are within {goal} of each other takes {far}"));
                }
                tries => tries.map(|left: usize| left.saturating_sub(1)),
            };
            match bounded.most.filter(|most| most <= goal) {
                Some(most) => worst = worst.max(most),
                None => open.extend(cut(program, &sides, bounded.widest)?),
            }
        }
        Ok(Found::Within(worst))
    }
}

/// True if boxes would have to be so small that there are far too many. What is unknown of a box shrinks with the square
/// of its sides: to make it `2^k` times smaller takes `2^(k/2)` boxes for each input.
fn is_hopeless(unknown: &Dyadic, goal: &Dyadic, inputs: usize, cost: usize) -> bool {
    let log = |x: usize| i64::from(usize::BITS.saturating_sub(x.leading_zeros()));
    let inputs = i64::try_from(inputs).unwrap_or(i64::MAX);
    let boxes = unknown.top().saturating_sub(goal.top()).saturating_mul(inputs) / 2;
    boxes.saturating_add(log(cost)) > log(MOST_WORK).saturating_add(SPARE)
}

/// All values at corners; and one that is larger in size than the goal, with its place.
#[expect(clippy::type_complexity, reason = "a value and its place")]
fn at_corners(program: &Program, sides: &[Range], goal: &Dyadic) -> Outcome<(Range, Option<(Dyadic, Vec<Dyadic>)>)> {
    let mut corners: Vec<Vec<Dyadic>> = vec![Vec::new()];
    for side in sides {
        let further = |end: &Dyadic| {
            let longer = |corner: &Vec<Dyadic>| corner.iter().chain([end]).cloned().collect::<Vec<_>>();
            corners.iter().map(longer).collect::<Vec<_>>()
        };
        corners = if side.is_point() { further(&side.lo) } else { [further(&side.lo), further(&side.hi)].concat() };
    }
    let mut all: Option<Range> = None;
    for corner in corners {
        let point: Vec<Range> = corner.iter().cloned().map(Range::point).collect();
        let value = program.on(&point, None).ok_or("a difference is not shown to be defined")?.value;
        let least = value.absolute().lo;
        if least > *goal {
            return Ok((value, Some((least, corner))));
        }
        all = Some(all.map_or(value.clone(), |all| all.hull(&value)));
    }
    Ok((all.ok_or("a box without corners")?, None))
}

/// The theorem, on a box whose corners have these values.
fn on_box(program: &Program, sides: &[Range], ends: &Range) -> Bounded {
    let (mut above, mut below) = (Some(ends.hi.clone()), Some(ends.lo.clone()));
    let (mut plain, mut widest): (Option<Range>, (Option<Dyadic>, usize)) = (None, (Some(Dyadic::ZERO), 0));
    for (place, side) in sides.iter().enumerate() {
        let jet = program.on(sides, Some(place));
        let more = jet.as_ref().and_then(|jet| bulge(jet, side));
        let larger = more.as_ref().map(|[up, down]| up.clone().max(down.clone()));
        // What has no bound at all comes first; of those, what is wider.
        let first = match (&larger, &widest.0) {
            (None, None) => sides.get(widest.1).is_some_and(|widest| width(side) > width(widest)),
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (Some(here), Some(most)) => here > most,
        };
        if first {
            widest = (larger, place);
        }
        above = above.zip(more.as_ref()).map(|(sum, [up, _])| &sum + up);
        below = below.zip(more.as_ref()).map(|(sum, [_, down])| &sum - down);
        plain = plain.or_else(|| jet.map(|jet| jet.value));
    }
    let by_corners = above.zip(below).map(|(above, below)| above.abs().max(below.abs()));
    let plain = plain.map(|plain| plain.size());
    // A difference that depends on nothing is what it is at the only corner; of any other, corners alone say nothing.
    let alone = sides.is_empty().then(|| ends.size());
    let most = [by_corners, plain, alone].into_iter().flatten().reduce(Dyadic::min);
    Bounded { most, widest: widest.1 }
}

fn width(side: &Range) -> Dyadic {
    &side.hi - &side.lo
}

/// How far a function of this jet may be above its chord over a side, and below it; nothing if it may be steep without
/// bound.
fn bulge(jet: &Jet, side: &Range) -> Option<[Dyadic; 2]> {
    let (width, slope) = (width(side), jet.slope.as_ref()?);
    let kinked = &(&width * &(&slope.hi - &slope.lo)) * &Dyadic::power_of_two(-2);
    let Some(bend) = &jet.bend else { return Some([kinked.clone(), kinked]) };
    let bent =
        |bend: Dyadic| (&(&(&width * &width) * &bend.positive()) * &Dyadic::power_of_two(-3)).min(kinked.clone());
    Some([bent(-&bend.lo), bent(bend.hi.clone())])
}

/// Cuts a box at a kink inside of a side, the one next to its middle; or at the middle.
fn cut(program: &Program, sides: &[Range], place: usize) -> Outcome<Vec<Vec<Range>>> {
    let missing = || "a side that does not exist".to_owned();
    let (side, kinks) = (sides.get(place).ok_or_else(missing)?, program.kinks.get(place).ok_or_else(missing)?);
    let middle = &(&side.lo + &side.hi) * &Dyadic::power_of_two(-1);
    let inside = kinks.iter().map(Ratio::range).filter(|kink| side.lo < kink.lo && kink.hi < side.hi);
    let from_middle = |kink: &Range| (&kink.lo - &middle).abs();
    let kink = inside.min_by(|a, b| from_middle(a).cmp(&from_middle(b)));
    // A kink that is no dyadic number lies in a piece of its own.
    let Range { lo, hi } = kink.unwrap_or_else(|| Range::point(middle));
    let mut open = Vec::new();
    for (lo, hi) in [(&side.lo, &lo), (&lo, &hi), (&hi, &side.hi)] {
        if lo < hi {
            let piece = Range { lo: lo.clone(), hi: hi.clone() };
            let with = |(at, side): (usize, &Range)| if at == place { piece.clone() } else { side.clone() };
            open.push(sides.iter().enumerate().map(with).collect());
        }
    }
    Ok(open)
}
