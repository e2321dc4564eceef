//! `certificate.fwc`: the claim of a float model, and what its tensors mean, for a checker that believes neither. The format, line by line, is in
//! `CERTIFICATE.md`.

use std::fmt::Write as _;

use super::{TARGET, WEIGHTS, sha256};
use crate::bound::Norm;
use crate::exact::Rat;
use crate::lower::Margins;
use crate::model::{Model, Over, Stated};
use crate::network::{AttentionRun, FloatNetwork};

/// The kinds of attention of which the format says what they compute.
const KINDS: [&str; 4] = ["softmax", "average", "linformer", "performer"];

/// The word for a kind of attention. What others compute a checker does not know, and declines.
fn word(kind: &str) -> String {
    if KINDS.contains(&kind) { kind.to_owned() } else { format!("x-{kind}") }
}

/// The certificate of a model whose files are these bytes; `None` if something is claimed only at some points.
pub(super) fn text(
    model: &Model,
    stated: &Stated,
    network: &FloatNetwork,
    (target, weights): (&[u8], &[u8]),
) -> Option<String> {
    let (over, bound) = (over(&stated.over)?, Rat::from_f64(stated.bound)?);
    let copies = model.built.copies().filter(|_| stated.norm == Norm::Sup && model.float() == Some(network));
    // Of a table with a Lipschitz constant it is the claim itself that says which functions are meant.
    let constant = model.target.table().and(model.tolerance.lipschitz.as_ref()).filter(|_| copies.is_some());
    let norm = match (&stated.norm, constant) {
        (Norm::Sup, Some(constant)) => format!("sup lipschitz {constant}"),
        (Norm::Sup, None) => "sup".to_owned(),
        (Norm::Lp(p), _) => format!("lp {p}"),
    };
    let said = model.built.supremum().filter(|_| constant.is_some()).map_or(&[][..], |budget| &budget.assumptions);
    let assumptions: Vec<&String> = stated.assumptions.iter().filter(|words| !said.contains(words)).collect();
    let (least, most) = model.lengths();
    let positions = network.positions.as_ref().map_or(0, |_| network.tokens);
    let mut lines = vec![
        "formwright-certificate 2".to_owned(),
        format!("sha256 {TARGET} {}", sha256(target)),
        format!("sha256 {WEIGHTS} {}", sha256(weights)),
        format!("badge {}", stated.badge),
        format!("over {over}"),
        format!("norm {norm}"),
        // What is checked is what is shown: the float's own value.
        format!("bound {bound}"),
        format!("assumptions {}", assumptions.len()),
    ];
    lines.extend(assumptions.iter().map(|words| format!("assume {}", ascii(words))));
    lines.extend([
        format!("tokens {least} {most}"),
        format!("dims {}", network.dims()),
        format!("output-dims {}", network.output_dims()),
        format!("execution ieee-any-order {}", network.precision),
        format!("width {}", network.width()),
        format!("positions {positions}"),
        format!("runs {}", network.runs.len()),
    ]);
    for run in &network.runs {
        let mut line = format!("run {}", run.blocks);
        if let Some(AttentionRun { kind, heads, head_size, value_size, .. }) = &run.attention {
            let (name, size) = (word(kind.name()), kind.size().unwrap_or(0));
            let _ = write!(line, " attention {name} {heads} {head_size} {value_size} {size}");
        }
        if let Some(part) = &run.feed_forward {
            let _ = write!(line, " ff {}", part.hidden);
        }
        lines.push(line);
        if let Some(AttentionRun { masks, connections, .. }) = &run.attention {
            lines.extend(masks.iter().map(|mask| format!("mask {}", mask.limits())));
            lines.extend((!connections.is_empty()).then(|| format!("connections {}", connections.len())));
            lines.extend(connections.iter().flat_map(|layer| (0..layer.tokens()).map(|token| sees(layer.keys(token)))));
        }
    }
    let (cells, margins, copies) = copies.unwrap_or_else(|| cells(model));
    lines.extend([format!("cells {cells}"), format!("margins {} {}", margins.low, margins.high)]);
    lines.extend(copies);
    // Meanings are those of the model's own network, and prove a bound at every point of a box (where there is no grid, in
    // every norm), or at all integers.
    let everywhere = match stated.over {
        Over::Box => stated.norm == Norm::Sup || cells == 0,
        Over::Integers => stated.norm == Norm::Sup,
        _ => false,
    };
    let wanted = everywhere && model.float() == Some(network);
    lines.extend(model.built.lines().filter(|_| wanted).into_iter().flatten().cloned());
    lines.push("end".to_owned());
    Some(lines.join("\n") + "\n")
}

fn over(over: &Over) -> Option<String> {
    match over {
        Over::Box => Some("box".to_owned()),
        Over::Space => Some("space".to_owned()),
        Over::Integers => Some("integers".to_owned()),
        Over::DistinctIntegers(others) => Some(format!("distinct-integers {others}")),
        Over::Centres => None,
    }
}

/// Words that every reader sees alike.
fn ascii(words: &str) -> String {
    words.replace('ψ', "psi").replace(|c: char| !c.is_ascii_graphic() && c != ' ', "?")
}

fn sees(keys: &[usize]) -> String {
    keys.iter().fold("sees".to_owned(), |line, key| format!("{line} {key}"))
}

/// The cells a side, and what is cut off each; a circuit has none.
fn cells(model: &Model) -> (u64, Margins, Vec<String>) {
    let cells = model.built.margins().map(|margins| (model.grid.resolution(), margins, Vec::new()));
    cells.unwrap_or((0, Margins { low: Rat::ZERO, high: Rat::ZERO }, Vec::new()))
}
