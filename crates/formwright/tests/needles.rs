//! Nothing comes from samples: targets with a spike that no sampling would meet, and every bound sees it.
//!
//! On a box of side 1 the spikes are between 10⁻⁴ and 10⁻¹² wide. The points at which a program would look, the centres and the
//! corners of every grid up to 200 cells a side, all miss them: the first test says so.

use formwright::bound::Norm;
use formwright::bound::piecewise::{Question, bound};
use formwright::interval::Interval;
use formwright::interval::dual::Order;
use formwright::lattice::Grid;
use formwright::target::modulus::Cube;
use formwright::target::{Checked, Expression, Source, Target};

struct Needle {
    text: &'static str,
    /// A sequence of two tokens at which entry 0 is the height: the needle's tip.
    tip: [f64; 2],
    height: f64,
    /// `sup |∂f/∂x|` of entry 0 along its steepest input, as far as it exists: at most the true one.
    steepness: f64,
}

/// A relu needle at 1/3 or 1/2, a bell, a resonance against the mean, a jump up and down, and compositions of them.
const NEEDLES: [Needle; 8] = [
    Needle { text: "relu(1 - 1e9 * abs(x - 1/3))", tip: [1.0 / 3.0, 0.9], height: 1.0, steepness: 1e9 },
    Needle { text: "relu(1 - 1e9 * abs(x - 0.123456))", tip: [0.123_456, 0.9], height: 1.0, steepness: 1e9 },
    // exp(-s²) is steepest at s = 1/√2, by √2/√e = 0.857763…, and s = 10⁷ (x - 0.4321).
    Needle { text: "exp(-1e14 * (x - 0.4321)^2)", tip: [0.4321, 0.9], height: 1.0, steepness: 8_577_630.0 },
    // With t = 10⁴ (x - mean(x) - 0.1234) and x - mean(x) = (x_0 - x_1)/2: 1/(1+t²) is steepest at t = 1/√3, by 3√3/8 = 0.649519….
    Needle {
        text: "1 / (1 + 1e8 * (x - mean(x) - 0.1234)^2)",
        tip: [0.75, 0.75 - 0.2468],
        height: 1.0,
        steepness: 5_000.0 * 0.649_519,
    },
    Needle {
        text: "if x > 0.31415 and x < 0.31415 + 1e-9 then 7 else 0",
        tip: [0.314_150_000_5, 0.9],
        height: 7.0,
        steepness: f64::INFINITY,
    },
    Needle { text: "count(abs(x - 0.271828) < 1e-12)", tip: [0.271_828, 0.9], height: 1.0, steepness: f64::INFINITY },
    Needle { text: "5 * max(relu(1 - 1e9 * abs(x - 1/3)))", tip: [1.0 / 3.0, 0.9], height: 5.0, steepness: 5e9 },
    Needle {
        text: "sum(relu(1/100 - 1e6 * abs(x - x[i] - 0.098765)), j != i)",
        tip: [0.25, 0.25 + 0.098_765],
        height: 0.01,
        steepness: 1e6,
    },
];

/// The tip is a float near the tip: nearly the height is reached there.
const NEARLY: f64 = 0.999_9;

fn checked(text: &str) -> Checked {
    Expression::parse(text).and_then(|target| target.check(1)).expect(text)
}

fn target(text: &str) -> Target {
    Source::expression(text, text).and_then(|source| source.target(1)).expect(text)
}

/// One box of each side for each of the two tokens.
fn cube(first: (f64, f64), second: (f64, f64)) -> Cube {
    [first, second].map(|(lo, hi)| vec![Interval::new(lo, hi).expect("ends in order")]).to_vec()
}

#[test]
fn no_reasonable_sample_meets_a_needle() {
    for needle in &NEEDLES {
        let target = checked(needle.text);
        let at_tip = target.evaluate_f64(&[vec![needle.tip[0]], vec![needle.tip[1]]])[0][0];
        assert!(at_tip >= NEARLY * needle.height && at_tip <= needle.height, "{}: {at_tip} at the tip", needle.text);
        // The two that compare tokens are as wide as 10⁻⁴ in the difference: grids of up to 20 cells miss them, others up to 200.
        let most = if needle.text.contains("mean") || needle.text.contains("sum") { 20 } else { 200 };
        for cells in 1..=most {
            let at = |k: u32| f64::from(k) / f64::from(2 * cells);
            let places: Vec<f64> = (0..=2 * cells)
                .map(at)
                .filter(|x| !needle.text.contains("1/3") || (x * 3.0 - 1.0).abs() > 1e-9)
                .collect();
            for x in &places {
                let others: Vec<f64> = if most == 20 { places.clone() } else { vec![0.5] };
                for y in others {
                    let value = target.evaluate_f64(&[vec![*x], vec![y]])[0][0];
                    assert!(value < needle.height / 10.0, "{} is {value} at [{x}, {y}]", needle.text);
                }
            }
        }
    }
}

#[test]
fn enclosures_reach_the_tip_and_slopes_the_flanks() {
    for needle in &NEEDLES {
        let target = checked(needle.text);
        let [x, y] = needle.tip;
        for cube in [
            target.domain_box(2),
            cube((x - 0.01, x + 0.02), (0.0, 1.0)),
            cube((x - 0.01, x + 0.02), (y - 0.005, y + 0.001)),
            cube((x - 1e-3, x + 1e-3), (y, y)),
        ] {
            let value = target.enclose(&cube).expect("an enclosure")[0][0];
            assert!(value.hi() >= NEARLY * needle.height, "{} on {cube:?}: {value}", needle.text);
            assert!(value.lo() <= 0.8 * needle.height, "{} on {cube:?}: {value}", needle.text);
            let slopes = target.slopes(&cube, Order::First).expect("slopes");
            let steepest = slopes[0][0].gradient().iter().map(|g| g.mag()).fold(0.0, f64::max);
            assert!(slopes[0][0].value().hi() >= NEARLY * needle.height, "{} on {cube:?}", needle.text);
            assert!(steepest >= needle.steepness, "{} on {cube:?}: {steepest}", needle.text);
        }
    }
}

#[test]
fn oscillation_rates_and_bounds_see_a_needle() {
    for needle in &NEEDLES {
        let target = target(needle.text);
        let [x, y] = needle.tip;
        // Boxes whose centre is beside the needle.
        for reach in [0.1, 1e-3, 1e-6] {
            let sides = |x: f64| (x - 0.7 * reach, x + 0.7 * reach);
            let middle = |x: f64| x + 0.2 * reach;
            let centre = cube((middle(x), middle(x)), (middle(y), middle(y)));
            let oscillation =
                target.oscillations(&cube(sides(x), sides(y)), &centre, reach).expect("an oscillation")[0];
            let at_centre = target.evaluate_f64(&[vec![middle(x)], vec![middle(y)]]);
            let true_one = NEARLY * needle.height - at_centre.expect("a value")[0];
            assert!(oscillation >= true_one, "{} within {reach}: {oscillation:?}", needle.text);
            let supremum = target.suprema(&cube(sides(x), sides(y)), Interval::ZERO).expect("a supremum")[0];
            assert!(supremum >= NEARLY * needle.height, "{} within {reach}: {supremum:?}", needle.text);
        }
        for splits in [0, 4, 9] {
            for (rate, supremum) in target.rates(2, splits).expect("rates") {
                assert!(rate >= needle.steepness && supremum >= NEARLY * needle.height, "{}: {rate:?}", needle.text);
            }
        }
        match target.range(2).map(|(low, high)| low.abs().max(high.abs())) {
            Ok(bound) => assert!(bound.to_f64() >= NEARLY * needle.height, "{}: {bound}", needle.text),
            Err(error) => assert!(needle.text.contains("exp"), "{}: {error}", needle.text),
        }
    }
}

fn certified(text: &str, cells: u64, positional: bool, norm: &str) -> f64 {
    let (target, grid) = (target(text), Grid::unit(2, 1, cells).expect("a grid"));
    let norm: Norm = norm.parse().expect("a norm");
    let budget = bound(Question { target: &target, grid: &grid, positional, lipschitz: None }, &norm).expect("a bound");
    budget.bound
}

/// `f = relu(1 - 10⁹|x - c|)` for each of two tokens, `w = 10⁻⁹`: `∫ f^p = 2w/(p+1)`.
///
/// Where no centre is near `c` the network is 0 and `‖f - g‖_p^p = 2 · 2w/(p+1)`. With `c` a centre the network is 1 on a whole cell of
/// width `h`, and `‖f - g‖_p^p = 2 (h - 2w + ∫(1 - f)^p) = 2 (h - 2w + 2w/(p+1))`; the second is almost all of what is certified.
#[test]
fn the_certified_error_of_a_relu_needle_exceeds_the_true_one() {
    let w = 1e-9;
    for (norm, p) in [("l1", 1.0), ("lp:3/2", 1.5), ("l2", 2.0), ("lp:3", 3.0)] {
        let root = |x: f64| x.powf(1.0 / p);
        for cells in [2, 3, 4, 5, 10, 64] {
            let missed = certified("relu(1 - 1e9 * abs(x - 1/3))", cells, true, norm);
            assert!(missed >= root(4.0 * w / (p + 1.0)), "{norm}, {cells} cells: {missed}");
        }
        for cells in [3, 5, 9, 33] {
            let h = 1.0 / f64::from(u32::try_from(cells).expect("small"));
            let hit = certified("relu(1 - 1e9 * abs(x - 1/2))", cells, true, norm);
            let true_one = root(2.0 * (h - 2.0 * w + 2.0 * w / (p + 1.0)));
            assert!(hit >= true_one && hit <= true_one * (1.0 + 1e-6), "{norm}, {cells} cells: {hit}, {true_one}");
        }
        // An even number of cells has the needle at an edge: both neighbours must count it.
        for cells in [2, 4, 32] {
            let edge = certified("relu(1 - 1e9 * abs(x - 1/2))", cells, true, norm);
            let h = 1.0 / f64::from(u32::try_from(cells).expect("small"));
            assert!(edge >= root(4.0 * h), "{norm}, {cells} cells: {edge}");
        }
    }
}

/// Theorem 2 gives 0 on the diagonal cells, where a needle along the diagonal of the square lies; only their supremum tells.
#[test]
fn a_needle_among_equal_columns_is_a_duplicate() {
    // 1 where the two tokens are nearly equal: ∫ f = 1 - (1 - w)² for w = 10⁻⁹, over both entries.
    let text = "if max(x) - min(x) < 1e-9 then 1 else 0";
    let w = 1e-9_f64;
    for cells in [2_u32, 5, 20] {
        let found = certified(text, u64::from(cells), false, "l1");
        assert!(found >= 2.0 * (2.0 * w - w * w), "{cells} cells: {found}");
        // And no more than the diagonal cells and those that touch them at a corner or an edge.
        assert!(found <= 2.0 * 3.0 / f64::from(cells), "{cells} cells: {found}");
    }
}
