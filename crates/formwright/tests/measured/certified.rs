//! The tables of `measurements/certified.md`: fifteen targets, what is certified of their float networks, and what is measured.
//!
//!     cargo test --release -p formwright --lib -- --ignored --nocapture measured::certified

use crate::tests::support::certified::{Case, cases};
use formwright::bound::norm::upward;
use formwright::compile::Model;
use formwright::network::Precision;

/// A line of a table.
fn row(case: &Case, eps: Option<f64>, model: &Model, remark: &str) {
    let setting = case.setting;
    let size = model.size();
    let budget = &model.certified().expect("a bound").expect("a norm").budget;
    let measured = model.measured().expect("a run").expect("a float network");
    let (low, high) = measured.confidence.expect("sampled");
    let dominant = budget.dominant().expect("a term");
    let eps = eps.map_or_else(String::new, |eps| format!("{eps:.3e} | "));
    println!(
        "| `{}` | {} | {} | {} | {} | {eps}{} | {} | {} | {} | {:.3e} ({:.3e}, {:.3e}) | {:.1} | {}{remark} |",
        case.source.name,
        if setting.positional { 3 } else { 2 },
        setting.tokens,
        setting.dims,
        &setting.norm[1..],
        model.grid.resolution(),
        size.blocks,
        size.parameters,
        upward(budget.bound, 3),
        measured.value,
        low,
        high,
        budget.bound / measured.value,
        dominant.name,
    );
}

#[test]
#[ignore = "a measurement, not a test: minutes"]
fn is_printed() {
    let cases = cases();
    println!("## f64: by tolerance\n");
    println!(
        "| target | theorem | n | d | p | ε | N | blocks | parameters | certified | measured (95 % interval) | certified / measured | largest term |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for case in &cases {
        let eps = case.eps();
        let model = case.compile(Precision::F64, None, Some(eps.clone())).expect("a network that meets the tolerance");
        row(case, Some(eps.to_f64()), &model, "");
    }
    println!("\n## f32: the least bound that single precision reaches\n");
    println!(
        "| target | theorem | n | d | p | N | blocks | parameters | certified | measured (95 % interval) | certified / measured | largest term | one cell more |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for case in &cases {
        let (resolution, _) = case.best_single();
        let model = case.compile(Precision::F32, Some(resolution), None).expect("a network");
        row(case, None, &model, &format!(" | {}", case.why_no_finer(resolution)));
    }
}
