//! Lowered networks at lattice points: floats equal the exact network, in any order of summation.

#[path = "support/shuffled.rs"]
mod shuffled;

use std::sync::Arc;

use formwright::construct::yun::Options;
use formwright::eval::indexed;
use formwright::exact::Rat;
use formwright::lattice::{Grid, has_distinct_columns};
use formwright::lower::{Format, Lowering};
use formwright::network::Precision;
use formwright::target::Source;
use shuffled::Shuffle;

fn check(expression: &str, (n, d, side): (usize, usize, u64), positional: bool, precision: Precision) {
    let grid = Grid::unit(n, d, side).expect("a grid");
    let target = Arc::new(Source::expression("f", expression).and_then(|source| source.target(d)).expect("a target"));
    let options = Options { positional, ..Options::default() };
    let lowering = Lowering::derive(&grid, &target, &options, Format::literal(precision)).expect("it fits");
    let exact = lowering.exact(&grid, &target).expect("a network");
    let network = lowering.lower(&exact, &grid).expect("floats");
    println!("{n} {d} {side} {positional} {precision}: 2^{} {:?}", lowering.temperature, lowering.losses);
    let mut worst: f64 = 0.0;
    for (index, point) in grid.all_points().enumerate() {
        let centre = grid.centre(&point);
        let x: Vec<Vec<f64>> = centre.iter().map(|t| t.iter().map(Rat::to_f64).collect()).collect();
        let expected = indexed::trace(&exact, &centre).expect("a trace");
        let output = indexed::run(&exact, &centre).expect("an output");
        for seed in [0, index as u64 * 2 + 1] {
            let found = shuffled::trace(&network, &x, &mut Shuffle::new(seed));
            for (name, state) in &expected {
                if ["quantise", "shifts", "global", "zero"].contains(name)
                    && (positional || has_distinct_columns(&point))
                {
                    let (_, floats) = found.iter().find(|(stage, _)| stage == name).expect("the stage");
                    let same = state
                        .iter()
                        .flatten()
                        .zip(floats.iter().flatten())
                        .all(|(a, b)| Rat::from_f64(*b).as_ref() == Some(a));
                    assert!(same, "{name} at {point:?}, seed {seed}: {floats:?} {state:?}");
                }
            }
            let (_, y) = found.last().expect("an output");
            for (a, b) in output.iter().flatten().zip(y.iter().flatten()) {
                worst = worst.max((a.to_f64() - b).abs());
                assert!((a.to_f64() - b).abs() <= lowering.losses.rounding, "{point:?} seed {seed}: {a} {b}");
            }
        }
    }
    println!("    worst {worst:.3e}");
}

#[test]
fn floats_are_exact_on_the_lattice() {
    use Precision::{F32, F64};
    check("x - mean(x)", (2, 1, 4), false, F64);
    check("max(x)", (2, 1, 15), false, F64);
    check("max(x)", (2, 1, 15), true, F64);
    check("x * mean(x)", (3, 1, 5), true, F64);
    check("x * mean(x)", (3, 1, 6), false, F64);
    check("x * mean(x)", (2, 2, 3), false, F64);
    check("x * mean(x)", (2, 2, 3), true, F64);
    check("max(x)", (2, 1, 8), false, F32);
    check("max(x)", (2, 1, 6), true, F32);
    check("max(x)", (3, 1, 4), false, F32);
}
