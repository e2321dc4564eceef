//! Enclosed slopes describe every pair of points: for `x` and `y` in a box, `f(y) - f(x)` is `Σ_k g_k (y_k - x_k)` with some `g_k` in the
//! enclosed `G_k`. So it is across kinks; across jumps nothing is enclosed. Enclosed second derivatives hold second differences.
//!
//! Values come from exact rationals, or from the oracle in 400 binary digits (`support/reference.rs`); `Σ_k G_k (y_k - x_k)` is computed
//! in exact rationals too.

use super::support::Random;
use super::support::expressions::{Kind, checked, constructs, cube, exact, point, text};
use super::support::reference;
use formwright::exact::{Int, Rat};
use formwright::interval::Interval;
use formwright::interval::dual::{Dual, Order};
use formwright::network::Sequence;
use formwright::target::Checked;
use formwright::target::modulus::Cube;

/// A set of rational numbers between two ends, `None` for no end.
#[derive(Clone, Debug)]
struct Range {
    low: Option<Rat>,
    high: Option<Rat>,
}

impl Range {
    fn zero() -> Self {
        Self { low: Some(Rat::ZERO), high: Some(Rat::ZERO) }
    }

    /// `interval · by`; 0 times anything is 0.
    fn of(interval: Interval, by: &Rat) -> Self {
        if by.is_zero() {
            return Self::zero();
        }
        let end = |end: f64| end.is_finite().then(|| exact(end) * by);
        let (low, high) = (end(interval.lo()), end(interval.hi()));
        if by.is_negative() { Self { low: high, high: low } } else { Self { low, high } }
    }

    fn plus(self, other: Self) -> Self {
        let sum = |a: Option<Rat>, b: Option<Rat>| Some(a? + b?);
        Self { low: sum(self.low, other.low), high: sum(self.high, other.high) }
    }

    /// True if `x` is inside, up to `slack`.
    fn holds(&self, x: &Rat, slack: &Rat) -> bool {
        self.low.as_ref().is_none_or(|low| *low <= x + slack)
            && self.high.as_ref().is_none_or(|high| x - slack <= *high)
    }

    fn is_bounded(&self) -> bool {
        self.low.is_some() && self.high.is_some()
    }
}

/// The output entries at a point and how far they can be off: exactly, else with 400 digits of which 250 may be wrong.
fn values(target: &Checked, x: &[Vec<Rat>]) -> Option<(Vec<Rat>, Rat)> {
    if let Ok(y) = target.evaluate_exact(x) {
        return Some((y.concat(), Rat::ZERO));
    }
    let (y, _) = reference::evaluate(target, x).ok()?;
    let largest = y.iter().map(Rat::abs).max().unwrap_or_default();
    Some((y, (largest + Rat::ONE) / Rat::from(Int::from(2).pow(150))))
}

#[derive(Debug, Default)]
struct Tally {
    targets: usize,
    refused: usize,
    /// Differences compared whose enclosure is bounded, exact and not.
    exact: usize,
    irrational: usize,
    /// Differences about which the slopes say nothing.
    unbounded: usize,
    /// Differences across a kink that the slopes describe.
    kinks: usize,
    /// Targets that can jump, on a box on which their slopes are bounded nevertheless.
    quiet: usize,
}

fn has_kinks(names: &[String]) -> bool {
    let kinks = ["abs", "relu", "clamp", "min", "max", "min of two", "max of two", "min, filtered", "max, filtered"];
    names.iter().any(|name| kinks.contains(&name.as_str()) || name.starts_with("sort"))
}

fn has_jumps(names: &[String]) -> bool {
    let jumps = ["if", "count", "count, filtered", "floor", "table", "mod", "gather by value"];
    names.iter().any(|name| jumps.contains(&name.as_str()))
}

/// Checks promise 2 of `interval::dual` for a pair of points.
fn compare(target: &Checked, slopes: &[Dual], (x, y): (&Sequence, &Sequence), names: &[String], tally: &mut Tally) {
    let (Some((at_x, slack)), Some((at_y, other))) = (values(target, x), values(target, y)) else { return };
    let steps: Vec<Rat> = y.iter().flatten().zip(x.iter().flatten()).map(|(y, x)| y - x).collect();
    let slack = slack + other;
    for ((slope, from), to) in slopes.iter().zip(&at_x).zip(&at_y) {
        let products = slope.gradient().iter().zip(&steps).map(|(g, step)| Range::of(*g, step));
        let range = products.fold(Range::zero(), Range::plus);
        let difference = to - from;
        assert!(
            range.holds(&difference, &slack),
            "{} from {x:?} to {y:?}: {} is not in {range:?} from {:?}",
            target.expression(),
            difference.to_f64(),
            slope.gradient()
        );
        match (range.is_bounded(), slack.is_zero()) {
            (false, _) => tally.unbounded += 1,
            (true, true) => tally.exact += 1,
            (true, false) => tally.irrational += 1,
        }
        tally.kinks += usize::from(range.is_bounded() && has_kinks(names));
    }
}

fn pairs(seed: u64, targets: usize) -> Tally {
    let random = &mut Random::new(seed);
    let mut tally = Tally::default();
    while tally.targets < targets {
        let kind = Kind { integers: random.below(8) == 0, ..Kind::random(random) };
        let target = checked(&text(random, kind), kind.dims);
        let tokens = 1 + usize::try_from(random.below(4)).expect("small");
        let cube = cube(random, tokens, kind);
        let Ok(slopes) = target.slopes(&cube, Order::First) else {
            tally.refused += 1;
            continue;
        };
        tally.targets += 1;
        let (slopes, names): (_, Vec<String>) = (slopes.concat(), constructs(&target).into_iter().collect());
        let bounded = slopes.iter().all(|slope| slope.gradient().iter().all(|g| g.is_bounded()));
        tally.quiet += usize::from(bounded && has_jumps(&names));
        for _ in 0..4 {
            let (x, mut y) = (point(random, &cube, kind), point(random, &cube, kind));
            if random.below(2) == 0 {
                // Only one coordinate moves.
                let t = usize::try_from(random.below(tokens as u64)).expect("small");
                y = x.iter().enumerate().map(|(s, token)| if s == t { y[t].clone() } else { token.clone() }).collect();
            }
            compare(&target, &slopes, (&x, &y), &names, &mut tally);
        }
    }
    println!("{tally:?}");
    tally
}

#[test]
fn differences_are_slopes_times_steps() {
    let tally = pairs(1, 1_500);
    assert!(tally.exact > 7_000 && tally.irrational > 3_000, "too little was compared: {tally:?}");
    assert!(tally.kinks > 3_500 && tally.quiet > 100, "too few kinks and jumps: {tally:?}");
    assert!(tally.refused < tally.targets / 4 && tally.unbounded < tally.exact / 2, "{tally:?}");
}

#[test]
#[ignore = "fifty thousand targets: minutes"]
fn differences_of_fifty_thousand_targets() {
    let tally = pairs(2, 50_000);
    assert!(tally.exact > 200_000 && tally.irrational > 80_000, "too little was compared: {tally:?}");
}

fn side(lo: f64, hi: f64) -> Interval {
    Interval::new(lo, hi).expect("ends in order")
}

/// The gradient of entry `(0, 0)`.
fn gradient(text: &str, cube: &Cube) -> Vec<Interval> {
    checked(text, cube[0].len()).slopes(cube, Order::First).expect("slopes")[0][0].gradient().to_vec()
}

/// The gradient on a box with the kink inside is the hull of both sides' and no more; on a box beside it, that side's.
#[test]
fn slopes_at_a_kink_are_those_of_both_sides() {
    type Ends = (f64, f64);
    let kinks: [(&str, Ends, Ends); 6] = [
        ("abs(x - 1/2)", (-1.0, 1.0), (1.0, 1.0)),
        ("max(x, 1/2)", (0.0, 1.0), (1.0, 1.0)),
        ("min(x, 1/2)", (0.0, 1.0), (0.0, 0.0)),
        ("relu(3 * x - 3/2)", (0.0, 3.0), (3.0, 3.0)),
        ("clamp(2 * x, 0, 1)", (0.0, 2.0), (0.0, 0.0)),
        ("max(x, 1 - x)", (-1.0, 1.0), (1.0, 1.0)),
    ];
    for (text, inside, beside) in kinks {
        let found = gradient(text, &vec![vec![side(0.25, 0.75)]]);
        assert_eq!((found[0].lo(), found[0].hi()), inside, "{text}");
        let found = gradient(text, &vec![vec![side(0.5, 1.0)]]);
        assert_eq!((found[0].lo(), found[0].hi()), beside, "{text}");
    }
    // The first of two in order is the smaller: either token may be it where the sides overlap, only one where they do not.
    let apart = vec![vec![side(0.0, 0.25)], vec![side(0.5, 1.0)]];
    let overlapping = vec![vec![side(0.0, 0.75)], vec![side(0.5, 1.0)]];
    assert_eq!(gradient("sort(x)", &apart), [Interval::ONE, Interval::ZERO]);
    assert_eq!(gradient("sort(x)", &overlapping), [side(0.0, 1.0), side(0.0, 1.0)]);
}

/// Targets that jump at 1/2, and whether their value there continues the one from the left or from the right.
const JUMPS: [(&str, &str); 15] = [
    ("if x < 1/2 then 0 else 1", "right"),
    ("if x <= 1/2 then 0 else 1", "left"),
    ("if x > 1/2 then 0 else 1", "left"),
    ("if x >= 1/2 then 0 else 1", "right"),
    ("if not (x < 1/2) then x else x + 1", "right"),
    ("if x < 1/2 or i > 3 then 0 else 1", "right"),
    ("count(x < 1/2)", "right"),
    ("count(x >= 1/2) + x", "right"),
    ("floor(2 * x)", "right"),
    ("exp(floor(2 * x))", "right"),
    ("table(floor(2 * x); 1, 0, 3)", "right"),
    ("floor(2 * x) mod 2", "right"),
    ("sum(if x > 1/2 then x else 0)", "left"),
    ("max(floor(2 * x), 1/2)", "right"),
    ("floor(2 * x) * x", "right"),
];

/// With the jump inside of the box, or at an edge that belongs to the other side, nothing is known of the slope; else all is.
#[test]
fn slopes_are_unbounded_exactly_where_a_target_jumps() {
    for (text, continues) in JUMPS {
        let bounded = |lo: f64, hi: f64| gradient(text, &vec![vec![side(lo, hi)]])[0].is_bounded();
        for (lo, hi) in
            [(0.25, 0.75), (0.0, 0.9), (0.499_999_999, 0.500_000_001), (0.5_f64.next_down(), 0.5_f64.next_up())]
        {
            assert!(!bounded(lo, hi), "{text} on [{lo}, {hi}]");
        }
        assert_eq!(bounded(0.25, 0.5), continues == "left", "{text} up to 1/2");
        assert_eq!(bounded(0.5, 0.75), continues == "right", "{text} from 1/2 on");
        assert!(bounded(0.25, 0.5_f64.next_down()) && bounded(0.5_f64.next_up(), 0.75), "{text} beside 1/2");
    }
}

/// A point of the box, and for each coordinate a step in either direction that stays inside.
fn point_with_steps(random: &mut Random, cube: &Cube) -> (Sequence, Vec<Rat>) {
    let mut steps = Vec::new();
    let mut at = |side: &Interval| {
        let (low, high) = (exact(side.lo()), exact(side.hi()));
        let share = Rat::new(1 + random.below(15), 16);
        let x = &low + (&high - &low) * share;
        steps.push((&x - &low).min(&high - &x) * Rat::new(1 + random.below(4), 4));
        x
    };
    let x = cube.iter().map(|token| token.iter().map(&mut at).collect()).collect();
    (x, steps)
}

/// The point with some coordinates moved; coordinate `t·dims + c` is coordinate `c` of token `t`.
fn moved(x: &Sequence, by: &[(usize, &Rat)]) -> Sequence {
    let dims = x[0].len();
    let mut x = x.clone();
    for (k, step) in by {
        x[k / dims][k % dims] += step;
    }
    x
}

/// `f(x+h) - 2f(x) + f(x-h) = h² ∂ₖₖf(ξ)`, and with two directions `f(x+h+k) - f(x+h) - f(x+k) + f(x) = hk ∂ₖₗf(ξ)`.
#[test]
fn second_differences_lie_in_the_enclosed_second_derivatives() {
    let random = &mut Random::new(4);
    let (mut targets, mut exactly, mut nearly, mut without) = (0, 0, 0, 0);
    while targets < 3_000 {
        let dims = if random.below(3) == 0 { 2 } else { 1 };
        let kind = Kind { dims, integers: false, rational: random.below(2) == 0, smooth: true, total: false };
        let target = checked(&text(random, kind), kind.dims);
        let tokens = 1 + usize::try_from(random.below(3)).expect("small");
        let cube = cube(random, tokens, kind);
        let Ok(slopes) = target.slopes(&cube, Order::Second) else { continue };
        targets += 1;
        let (x, steps) = point_with_steps(random, &cube);
        for _ in 0..3 {
            let inputs = steps.len() as u64;
            let [k, l] = [0; 2].map(|_| usize::try_from(random.below(inputs)).expect("small"));
            let (h_k, h_l) = (&steps[k], &steps[l]);
            let back = -h_k;
            let (points, scale) = if k == l {
                ([moved(&x, &[(k, h_k)]), x.clone(), x.clone(), moved(&x, &[(k, &back)])], h_k * h_k)
            } else {
                let both = moved(&x, &[(k, h_k), (l, h_l)]);
                ([both, moved(&x, &[(k, h_k)]), moved(&x, &[(l, h_l)]), x.clone()], h_k * h_l)
            };
            let Some(at) = points.iter().map(|point| values(&target, point)).collect::<Option<Vec<_>>>() else {
                continue;
            };
            let slack: Rat = at.iter().map(|(_, slack)| slack.clone()).sum();
            for (entry, slope) in slopes.iter().flatten().enumerate() {
                let Some(second) = slope.second(k, l) else {
                    without += 1;
                    continue;
                };
                let [a, b, c, d] = [0, 1, 2, 3].map(|p| &at[p].0[entry]);
                let difference = a - b - c + d;
                let range = Range::of(second, &scale);
                assert!(
                    range.holds(&difference, &slack),
                    "{}: {} is not in {range:?} at {points:?}",
                    target.expression(),
                    difference.to_f64()
                );
                *(if slack.is_zero() { &mut exactly } else { &mut nearly }) += usize::from(range.is_bounded());
            }
        }
    }
    println!(
        "{targets} targets, {exactly} second differences exactly, {nearly} nearly, {without} without second derivatives"
    );
    assert!(exactly > 10_000 && nearly > 4_000, "only {exactly} and {nearly} second differences");
    assert!(without < 100, "{without} smooth entries have no second derivative");
}
