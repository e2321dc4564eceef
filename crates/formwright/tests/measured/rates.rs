//! The tables of `measurements/rates.md`: measured errors on finer and finer grids, and their rates.
//!
//!     cargo test --release -p formwright --lib -- --ignored --nocapture measured::rates

use crate::tests::support::rates::{Part, Subject, rate};

/// Points of a measurement.
fn points(part: Part) -> usize {
    match part {
        Part::Everywhere => 1 << 14,
        // Few of them lie in cells with equal columns, and only those are executed.
        Part::Duplicates => 1 << 18,
    }
}

fn table(dims: usize, sides: &[u64], targets: &[&str]) {
    let columns: Vec<String> = sides.iter().map(|side| format!("N = {side}")).collect();
    println!("| target | theorem | p | part | {} | rate | Proposition 4: d/p |", columns.join(" | "));
    println!("|---|---|---|---|{}---|---|", "---|".repeat(sides.len()));
    for text in targets {
        for positional in [false, true] {
            let subjects: Vec<(u64, Option<Subject>)> =
                sides.iter().map(|side| (*side, Subject::new(text, (2, dims, *side), positional))).collect();
            for p in [1, 2] {
                for part in [Part::Everywhere, Part::Duplicates] {
                    if positional && part == Part::Duplicates {
                        continue;
                    }
                    let error = |(side, subject): &(u64, Option<Subject>)| {
                        Some((*side, subject.as_ref()?.error(p, part, points(part))))
                    };
                    let errors: Vec<Option<(u64, f64)>> = subjects.iter().map(error).collect();
                    let shown = |error: &Option<(u64, f64)>| match error {
                        Some((_, error)) => format!("{error:.3e}"),
                        None => "does not fit".to_owned(),
                    };
                    let shown: Vec<String> = errors.iter().map(shown).collect();
                    let known: Vec<(u64, f64)> = errors.into_iter().flatten().collect();
                    let (theorem, where_) = match (positional, part) {
                        (true, _) => (3, "all cells"),
                        (false, Part::Everywhere) => (2, "all cells"),
                        (false, Part::Duplicates) => (2, "equal columns"),
                    };
                    let proposition = if positional { "–".to_owned() } else { format!("{dims}/{p}") };
                    let (shown, rate) = (shown.join(" | "), rate(&known));
                    println!("| `{text}` | {theorem} | {p} | {where_} | {shown} | {rate:.2} | {proposition} |");
                }
            }
        }
    }
}

#[test]
#[ignore = "a measurement, not a test: minutes"]
fn is_printed() {
    println!("## One coordinate\n");
    table(1, &[4, 8, 16, 32, 64], &["max(x)", "x * mean(x)", "x - mean(x)"]);
    println!("\n## Two coordinates\n");
    table(2, &[4, 8, 16], &["max(x)"]);
}
