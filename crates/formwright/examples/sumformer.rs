//! The tables of `measurements/sumformer.md`: continuous Sumformers beside the circuits of the same targets.
//!
//!     cargo run --release -p formwright --example sumformer

#[path = "../tests/support/report.rs"]
mod report;

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use formwright::bound::Norm;
use formwright::compile::{Arithmetic, Construction, Model, Request, Tolerance, compile};
use formwright::construct::circuit::family::Options as Gates;
use formwright::construct::normal_form::continuous::Basis;
use formwright::construct::only;
use formwright::construct::sumformer::family::Options;
use formwright::error::Result;
use formwright::exact::Rat;
use formwright::lower::{Format, Hidden, Temperature};
use formwright::network::{Precision, Realisation};
use formwright::target::Source;

use report::{grouped, machine, measurements, table, today};

/// A target, its tokens and coordinates, a tolerance.
type Subject = (&'static str, usize, usize, (i64, i64));

const POLYNOMIALS: &[Subject] = &[
    ("x * mean(x)", 3, 1, (1, 1000)),
    ("x^2 * sum(x)", 4, 1, (1, 1000)),
    ("var(x)", 3, 1, (1, 1000)),
    ("x * var(x)", 4, 1, (1, 1000)),
    ("mean((x - mean(x))^3)", 4, 1, (1, 1000)),
    ("(x - mean(x))^4", 4, 1, (1, 1000)),
    ("mean((x[i] - x)^4)", 4, 1, (1, 1000)),
    ("sum(x)^2 - sum(x^2)", 3, 1, (1, 1000)),
    ("x[0] * x[1]", 2, 1, (1, 1000)),
    ("x[0] * x[1] * x[2]", 3, 1, (1, 1000)),
    ("[x.0 * mean(x.1), x.1 - mean(x.0 * x.1)]", 2, 2, (1, 1000)),
    ("[x.0^2 * mean(x.1^2), mean((x.0 - mean(x.0)) * (x.1 - mean(x.1)))]", 3, 2, (1, 1000)),
];

const OTHERS: &[(Subject, Basis)] = &[
    (("exp(-x * mean(x))", 2, 1, (1, 100)), Basis::Hats),
    (("exp(-x * mean(x))", 2, 1, (1, 400)), Basis::Hats),
    (("x / (1 + sum(x))", 2, 1, (1, 100)), Basis::Hats),
    (("abs(x - mean(x))", 2, 1, (1, 20)), Basis::Hats),
    (("exp(-x * mean(x))", 2, 1, (1, 100)), Basis::Fit(4)),
    (("exp(-x * mean(x))", 3, 1, (1, 100)), Basis::Fit(4)),
    (("x / (1 + sum(x))", 3, 1, (1, 100)), Basis::Fit(4)),
    (("sqrt(x + mean(x) + 1/10)", 3, 1, (1, 20)), Basis::Fit(4)),
    (("tanh(x - mean(x))", 4, 1, (1, 50)), Basis::Fit(3)),
    (("[exp(-x.0 * mean(x.1)), x.1]", 2, 2, (1, 20)), Basis::Fit(3)),
    (("exp(-sum(x)) * x", 6, 1, (1, 20)), Basis::Fit(4)),
];

fn build((text, tokens, dims, (above, below)): Subject, constructions: Vec<Arc<dyn Construction>>) -> Result<Model> {
    let format = Format { precision: Precision::F64, temperature: Temperature::Derived, hidden: Hidden::Literal };
    compile(&Request {
        source: Source::expression(text, text)?,
        constructions,
        tokens: Some(tokens),
        dims: Some(dims),
        resolution: None,
        everywhere: false,
        assume_equivariant: false,
        tolerance: Tolerance { eps: Some(Rat::new(above, below)), norm: Some(Norm::Sup), lipschitz: None },
        arithmetic: Arithmetic::Float(format),
        attention: Realisation::SOFTMAX,
    })
}

/// Attention layers, blocks, hidden units, parameters, and the errors.
fn size(model: &Model) -> Result<Vec<String>> {
    let size = model.size();
    let trade = model.circuit().map_or("", |circuit| circuit.wish.trade.name());
    let bound = model.certified()?.map_or(f64::NAN, |certified| certified.budget.bound);
    let measured = model.measured()?.map_or(f64::NAN, |measured| measured.value);
    assert!(measured <= bound || model.summary()?["error"]["badge"] == "measured", "{}", model.target.name);
    Ok(vec![
        trade.to_owned(),
        grouped(&size.attention_layers),
        grouped(&size.blocks),
        grouped(size.hidden),
        grouped(&size.parameters),
        format!("{bound:.2e}"),
        format!("{measured:.2e}"),
    ])
}

fn row(subject: Subject, basis: Option<Basis>) -> Result<Vec<String>> {
    let (text, tokens, dims, (above, below)) = subject;
    let started = Instant::now();
    let model = build(subject, only(Options { basis, ..Options::default() }))?;
    let seconds = started.elapsed().as_secs_f64();
    let summary = model.summary()?;
    let form = &summary["sumformer"];
    let phi: Vec<&str> = form["phi"].as_array().into_iter().flatten().filter_map(|phi| phi.as_str()).collect();
    let mut row = vec![format!("`{text}`"), tokens.to_string(), dims.to_string()];
    if basis.is_some() {
        row.extend([
            format!("{above}/{below}"),
            form["basis"].as_str().unwrap_or_default().to_owned(),
            format!("{:.2e}", form["distance"].as_f64().unwrap_or(f64::NAN)),
            summary["error"]["badge"].as_str().unwrap_or_default().to_owned(),
        ]);
    }
    row.push(phi.iter().map(|phi| format!("`{phi}`")).collect::<Vec<_>>().join(", "));
    row.push(form["latent_dimension_of_the_theorem"].as_str().unwrap_or_default().to_owned());
    row.extend(size(&model)?);
    row.push(format!("{seconds:.1}"));
    let circuit = build(subject, only(Gates::default())).and_then(|circuit| size(&circuit));
    row.push(circuit.map_or_else(
        |error| format!("declined: {}", error.headline()),
        |size| format!("{} attention, {} parameters", size[1], size[4]),
    ));
    Ok(row)
}

fn main() -> Result<()> {
    let of_form = ["φ", "C(n+d,d)-1"];
    let of_size = ["trade", "attention", "blocks", "hidden", "parameters", "bound", "measured", "s", "circuit"];
    let columns = [&["target", "n", "d"][..], &of_form, &of_size].concat();
    let polynomials = POLYNOMIALS.iter().map(|subject| row(*subject, None)).collect::<Result<Vec<_>>>()?;
    let mut text = format!(
        "# Continuous Sumformers\n\n{}, {}.\n\
         `cargo run --release -p formwright --example sumformer` writes this page.\n\n\
         Every network has doubles and one attention layer, whose scores are all equal. *bound* is certified in the supremum\n\
         norm over the box, *measured* is the largest error that an ascent found; *circuit* is the circuit of the target's own\n\
         expression, for the same tolerance, with the trade (`--trade width` or `depth`) of fewer parameters. *s* are the\n\
         seconds of the compilation.\n\n\
         ## Polynomials, to 1/1000\n\n{}",
        today(),
        machine(),
        table(&columns, &polynomials)
    );
    let columns = [&["target", "n", "d", "eps", "basis", "distance", "badge"][..], &of_form, &of_size].concat();
    let others = OTHERS.iter().map(|(subject, basis)| row(*subject, Some(*basis))).collect::<Result<Vec<_>>>()?;
    let more = format!(
        "\n## Targets that are not polynomials\n\n*distance* is that of ψ from the target: proved, unless the badge is `measured`.\n\n{}",
        table(&columns, &others)
    );
    text.push_str(&more);
    fs::write(measurements("sumformer.md"), &text).expect("measurements/sumformer.md is written");
    print!("{text}");
    Ok(())
}
