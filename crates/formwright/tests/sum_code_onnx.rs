//! The exported sum of codes gives, in a runtime that is not ours, the same numbers at every grid point, and exactly 0 outside of the box.

use std::sync::Arc;

use super::support::onnxruntime::{self, Batch};
use super::support::{GENERIC, Triple, expression, grid};
use formwright::construct::sumcode::lower::SumCodeLowering;
use formwright::construct::sumcode::{Options, SUM_CODE, Scheme, Values};
use formwright::construct::sumformer::discrete::SUMFORMER_DISCRETE;
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::export::onnx;
use formwright::network::Precision;

#[test]
fn onnxruntime_gives_the_same_numbers_at_every_grid_point() {
    let mut cases: Vec<(String, Vec<u8>, Batch)> = Vec::new();
    let mut expected: Vec<(Batch, usize)> = Vec::new();
    let shapes: [(Triple, &'static Scheme, Precision); 6] = [
        ((2, 1, 16), &SUM_CODE, Precision::F64),
        ((3, 1, 7), &SUM_CODE, Precision::F64),
        ((2, 2, 3), &SUM_CODE, Precision::F64),
        ((5, 1, 3), &SUM_CODE, Precision::F64),
        ((2, 1, 8), &SUM_CODE, Precision::F32),
        ((3, 1, 4), &SUMFORMER_DISCRETE, Precision::F64),
    ];
    for (triple, family, precision) in shapes {
        for values in Values::ALL {
            let options = Options { values, ..Options::of(family) };
            let grid = grid(triple);
            let target = Arc::new(expression(GENERIC).target(grid.dims()).expect("a target"));
            let lowering = SumCodeLowering::derive(&grid, &target, &options, precision).expect("it fits");
            let network = lowering.lower().expect("a network");
            let centre = |point: Vec<Vec<u64>>| -> Vec<Vec<f64>> {
                grid.centre(&point).iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect()
            };
            let mut inputs: Batch = grid.all_points().map(centre).collect();
            let points = inputs.len();
            for far in [-0.5, 1.25, 1e3, -1e6, 1e12] {
                let mut x = inputs[points / 2].clone();
                x[1][0] = far;
                inputs.push(x);
            }
            let outputs = Engine::new(&network).and_then(|engine| engine.run(&inputs)).expect("a run");
            let model = onnx::to_bytes(&network, &[], false).expect("an ONNX model");
            cases.push((format!("{}-{}-{}-{values}-{precision}", triple.0, triple.1, triple.2), model, inputs));
            expected.push((outputs, points));
        }
    }
    // Two families have one shape nowhere: names are unique.
    for ((name, ..), (outcome, (ours, points))) in cases.iter().zip(onnxruntime::run(&cases).iter().zip(&expected)) {
        for (way, outputs) in &outcome.runs {
            // The reader of JSON is off by a unit in the last place now and then.
            let pairs = outputs["y"].iter().flatten().flatten().zip(ours.iter().flatten().flatten());
            for (theirs, ours) in pairs {
                assert!(
                    (theirs - ours).abs() <= 2.0 * f64::EPSILON * ours.abs(),
                    "{name}, {way}: {theirs}, ours {ours}"
                );
            }
            assert_eq!(outputs["y"].len(), ours.len(), "{name}, {way}");
            let outside = outputs["y"][*points..].iter().flatten().flatten();
            assert!(outside.clone().count() > 0 && outside.into_iter().all(|y| *y == 0.0), "{name}, {way}");
        }
        assert!(!outcome.runs.is_empty(), "{name}");
    }
}
