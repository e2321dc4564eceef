//! Packed networks: the same function, exactly, in fewer and wider blocks.

use std::sync::Arc;

use super::support::shuffled::{self, Shuffle};
use formwright::artifact::tensors::{self, Skeleton};
use formwright::construct::yun::Options;
use formwright::construct::yun::lower::Lowering;
use formwright::eval::indexed;
use formwright::exact::Rat;
use formwright::lattice::{Grid, has_distinct_columns};
use formwright::lower::{Format, Hidden, Temperature};
use formwright::network::{FloatNetwork, Precision};
use formwright::target::Source;

/// The network, checked at every lattice point and inside of its cells, in several orders of summation.
fn check(
    expression: &str,
    (n, d, side): (usize, usize, u64),
    positional: bool,
    precision: Precision,
    hidden: Hidden,
) -> FloatNetwork {
    let grid = Grid::unit(n, d, side).expect("a grid");
    let target = Arc::new(Source::expression("f", expression).and_then(|source| source.target(d)).expect("a target"));
    let options = Options { positional, ..Options::default() };
    let format = Format { precision, temperature: Temperature::Derived, hidden };
    let lowering = Lowering::derive(&grid, &target, &options, format).expect("it fits");
    let exact = lowering.exact(&grid, &target).expect("a network");
    let (network, losses) = lowering.finish(&exact).expect("floats");
    assert!(losses.rounding.is_finite() && losses.height.is_finite(), "{losses:?}");
    let mut worst: f64 = 0.0;
    for (index, point) in grid.all_points().enumerate() {
        let centre = grid.centre(&point);
        let expected = indexed::trace(&exact, &centre).expect("a trace");
        let output = indexed::run(&exact, &centre).expect("an output");
        for (seed, thousandths) in (0_u64..).zip([500, 37, 893]) {
            // Inside of the cell, off its ramp, at a place with all its digits.
            let place = Rat::new(thousandths, 1000) + Rat::new(1, 100_003 * (index + 1));
            let inside = |k: &u64| ((Rat::from(*k) + &place) / Rat::from(side)).to_f64();
            let x: Vec<Vec<f64>> = point.iter().map(|column| column.iter().map(inside).collect()).collect();
            let found = shuffled::trace(&network, &x, &mut Shuffle::new(seed * 77 + index as u64 * seed));
            for (name, state) in &expected {
                let distinct = positional || has_distinct_columns(&point);
                if ["quantise", "shifts", "global", "zero"].contains(name) && distinct {
                    let (_, floats) = found.iter().find(|(stage, _)| stage == name).expect("the stage");
                    let pairs = state.iter().flatten().zip(floats.iter().flatten());
                    let same = pairs.clone().all(|(a, b)| Rat::from_f64(*b).as_ref() == Some(a));
                    assert!(same, "{name} at {x:?}, seed {seed}: {floats:?}, not {state:?}");
                }
            }
            let (_, y) = found.last().expect("an output");
            for (a, b) in output.iter().flatten().zip(y.iter().flatten()) {
                worst = worst.max((a.to_f64() - b).abs());
                assert!((a.to_f64() - b).abs() <= losses.rounding, "{x:?} seed {seed}: {a} {b} {losses:?}");
            }
        }
    }
    let bytes = tensors::to_bytes(&network).expect("a file");
    assert_eq!(Skeleton::of(&network).read(&bytes, "model").expect("a network"), network);
    let size = network.size();
    println!(
        "{expression} {:?} positional {positional} {precision} {hidden:?}: {} blocks, hidden {}, {} parameters, rounding {:.1e} (found {worst:.1e}), bad {:.1e}",
        (n, d, side),
        size.blocks,
        size.hidden,
        size.parameters,
        losses.rounding,
        losses.bad_share
    );
    network
}

#[test]
fn packed_networks_compute_the_same_on_the_lattice_in_any_order() {
    use Precision::{F32, F64};
    for hidden in
        [Hidden::Literal, Hidden::Units(4), Hidden::Units(9), Hidden::Units(16), Hidden::Units(64), Hidden::All]
    {
        check("x * mean(x)", (2, 1, 9), false, F64, hidden);
        check("x * mean(x)", (2, 1, 8), true, F64, hidden);
        check("max(x) - x / 3", (3, 1, 4), true, F64, hidden);
        check("x * mean(x)", (2, 2, 3), false, F64, hidden);
        check("x * mean(x)", (2, 1, 3), true, F32, hidden);
    }
}
