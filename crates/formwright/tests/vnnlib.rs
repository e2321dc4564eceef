//! Exported instances say what is claimed: points of their boxes, through onnxruntime and an independent reader of VNN-LIB (`parity/vnnlib.py`), answer as expected;
//! and of a network that is a little wrong they do not.

use std::fs;

use super::support::onnxruntime;
use super::support::{Constructions, Options, Triple, circuits, expression, only, positional, request};
use formwright::artifact;
use formwright::compile::{Arithmetic, Model, Request, compile};
use formwright::construct::sumcode::{self, SUM_CODE};
use formwright::export::{onnx, vnnlib};
use formwright::lower::{Format, Hidden, Temperature};
use formwright::network::Precision;

fn model(text: &str, triple: Triple, constructions: Constructions, precision: Precision) -> Model {
    let format = Format { precision, temperature: Temperature::Derived, hidden: Hidden::Literal };
    let cells = constructions[0].has_cells();
    let asked = Request {
        resolution: cells.then_some(triple.2),
        constructions,
        arithmetic: Arithmetic::Float(format),
        ..request(expression(text), triple, Options::default())
    };
    compile(&asked).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn points_of_every_box_answer_as_expected_and_a_wrong_network_does_not() {
    use Precision::{F32, F64};
    let codes = only(sumcode::Options::of(&SUM_CODE));
    let models = [
        model("x * mean(x)", (2, 1, 8), only(Options::default()), F32),
        model("x * mean(x) - x[n - 1 - i] / 3", (2, 1, 5), only(positional()), F64),
        model("x * mean(x)", (3, 1, 3), codes, F64),
        model("x * mean(x)", (3, 1, 4), circuits(), F32),
        model("exp(-x) * max(x)", (2, 1, 4), circuits(), F64),
        model("sort(x) on integers 0..4", (3, 1, 4), circuits(), F32),
    ];
    for model in &models {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let case = folder.path().join("case");
        let (name, properties) = (model.source.name.clone(), model.metadata().expect("properties"));
        let export = vnnlib::files(model, &properties, Some(12)).expect("instances");
        let uniform = model.family() != "yun" && !name.contains("max");
        artifact::write_new_folder(&case, &export.files).expect("a folder");
        let seen = onnxruntime::script("vnnlib.py", &case).unwrap_or_else(|error| panic!("{name}: {error}"));
        // Where all weights of heads are known there is a plain network as well.
        let asked = (export.taken + 1).to_string();
        let plain = if uniform { format!("{asked} {asked}") } else { asked };
        assert_eq!(seen.trim(), plain, "{name}");
        assert!(export.taken >= 8, "{name}: {}", export.taken);
        let mut wrong = model.float().expect("a float network").clone();
        wrong.read_out.bias[0] += 4.0;
        wrong.lengths = (model.grid.tokens(), model.grid.tokens());
        fs::write(case.join("network.onnx"), onnx::to_bytes(&wrong, &[], false).expect("a model")).expect("a file");
        let error = onnxruntime::script("vnnlib.py", &case).expect_err("a wrong network");
        assert!(error.contains("expected unsat"), "{name}: {error}");
    }
}
