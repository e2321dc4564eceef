//! A circuit, drawn: a column a layer, an edge for everything that a gate reads.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::plot::px;
use crate::construct::circuit::Gate;
use crate::network::FloatNetwork;
use crate::show::plural;

/// The number of the network's parameters in a gate's hidden units, or in its head.
pub(crate) fn parameters(gate: &Gate, network: &FloatNetwork) -> usize {
    let width = network.width();
    let mut before = 0;
    let run = network.runs.iter().find(|run| {
        before += run.blocks;
        gate.block < before
    });
    let head = run.and_then(|run| run.attention.as_ref()).map_or(0, |part| {
        let tensors = part.tensors(network.tokens, width);
        tensors.iter().map(|(_, shape, _)| shape.iter().product::<usize>()).sum::<usize>() / part.heads.max(1)
    });
    gate.units * (2 * width + 1) + gate.heads * head
}

/// The names of the registers that it is added to.
pub(crate) fn registers(gate: &Gate, network: &FloatNetwork) -> String {
    let names: Vec<&str> = gate.registers.iter().map(|register| network.coordinates[*register].name.as_str()).collect();
    names.join(", ")
}

/// The most gates of a drawing.
const MOST_GATES: usize = 150;

/// The size of a box, from column to column, above the first box, the height of a row with a box and with a wire.
const BOX: (f64, f64) = (200.0, 62.0);
const COLUMN: f64 = 252.0;
const TOP: f64 = 32.0;
const ROW: f64 = 80.0;
const WIRE: f64 = 16.0;

/// A box of the drawing, or a wire that passes a layer.
struct Node {
    /// The text in the box; nothing on a wire.
    text: Option<[String; 3]>,
    class: &'static str,
    /// The boxes that it reads, in earlier columns.
    reads: Vec<usize>,
    column: usize,
    /// Its middle, from above.
    y: f64,
}

impl Node {
    fn height(&self) -> f64 {
        if self.text.is_some() { ROW } else { WIRE }
    }

    fn left(&self) -> f64 {
        2.0 + size(self.column) * COLUMN
    }
}

/// The drawing.
pub(crate) fn drawing(gates: &[Gate], outputs: &[String], network: &FloatNetwork) -> Markup {
    if gates.len() > MOST_GATES {
        return html! { p { "There are " (gates.len()) " gates, too many to be drawn; the table has them all." } };
    }
    let (mut nodes, headings) = nodes(gates, outputs, network);
    route(&mut nodes);
    let height = TOP + arrange(&mut nodes, headings.len());
    let width = size(headings.len() - 1) * COLUMN + BOX.0 + 4.0;
    html! {
        div.scroll tabindex="0" {
            svg.circuit viewBox=(format!("0 0 {} {}", px(width), px(height))) width=(px(width)) role="img" aria-label="the circuit" {
                @for (column, heading) in headings.iter().enumerate() {
                    text.tick x=(px(2.0 + size(column) * COLUMN)) y="16" { (heading) }
                }
                @for node in &nodes { @for read in &node.reads { path.edge d=(edge(&nodes[*read], node)) {} } }
                @for node in &nodes {
                    @let (x, y) = (node.left(), node.y - BOX.1 / 2.0);
                    @if let Some([name, formula, cost]) = &node.text {
                        g class={ "node " (node.class) } {
                            rect x=(px(x)) y=(px(y)) width=(px(BOX.0)) height=(px(BOX.1)) rx="5" {}
                            text.name x=(px(x + 10.0)) y=(px(y + 19.0)) { (name) }
                            text.formula x=(px(x + 10.0)) y=(px(y + 36.0)) { (formula) }
                            text.tick x=(px(x + 10.0)) y=(px(y + 52.0)) { (cost) }
                        }
                    } @else {
                        path.edge d=(format!("M{} {}h{}", px(x), px(node.y), px(BOX.0))) {}
                    }
                }
            }
        }
    }
}

/// A curve from the right of one to the left of another.
fn edge(from: &Node, to: &Node) -> String {
    let (x, end) = (from.left() + BOX.0, to.left());
    let middle = f64::midpoint(x, end);
    let [x, y, middle, end, below] = [x, from.y, middle, end, to.y].map(px);
    format!("M{x} {y}C{middle} {y} {middle} {below} {end} {below}")
}

/// A box for everything that is read, for every gate and for the outputs; the layers' names.
fn nodes(gates: &[Gate], outputs: &[String], network: &FloatNetwork) -> (Vec<Node>, Vec<String>) {
    let slot = |gate: &Gate| 2 * gate.block + usize::from(gate.heads == 0);
    let mut slots: Vec<usize> = gates.iter().map(slot).collect();
    slots.sort_unstable();
    slots.dedup();
    let mut names: Vec<&str> = gates.iter().flat_map(|gate| &gate.reads).chain(outputs).map(String::as_str).collect();
    names.retain(|name| gates.iter().all(|gate| gate.name != *name));
    names.sort_unstable();
    names.dedup();
    let node = |text, class, reads, column| Node { text: Some(text), class, reads, column, y: 0.0 };
    let mut nodes = Vec::new();
    for name in &names {
        let what = if name.starts_with('x') { "of the input token" } else { "of the position" };
        nodes.push(node([(*name).to_owned(), what.to_owned(), String::new()], "input", Vec::new(), 0));
    }
    names.extend(gates.iter().map(|gate| gate.name.as_str()));
    let read = |reads: &[String]| -> Vec<usize> {
        reads.iter().filter_map(|read| names.iter().position(|name| name == read)).collect()
    };
    for gate in gates {
        let what = if gate.heads > 0 { plural(gate.heads, "head") } else { plural(gate.units, "unit") };
        let (parameters, registers) = (plural(parameters(gate, network), "parameter"), registers(gate, network));
        let cost = cut(&format!("{what}, {parameters}, {registers}"), 34);
        let column = 1 + slots.partition_point(|known| *known < slot(gate));
        let class = if gate.heads > 0 { "head" } else { "units" };
        nodes.push(node([gate.name.clone(), cut(&gate.formula, 27), cost], class, read(&gate.reads), column));
    }
    let last = ["y".to_owned(), "the output token".to_owned(), String::new()];
    nodes.push(node(last, "output", read(outputs), slots.len() + 1));
    let layer = |slot: usize| {
        format!("block {}, {}", slot / 2, if slot.is_multiple_of(2) { "attention" } else { "feed-forward" })
    };
    let headings = std::iter::once("embedding".to_owned()).chain(slots.iter().map(|slot| layer(*slot)));
    (nodes, headings.chain(std::iter::once("output".to_owned())).collect())
}

/// Makes every edge go from one column to the next: what is read later passes the layers between as a wire, one for all who read it.
fn route(nodes: &mut Vec<Node>) {
    let boxes = nodes.len();
    let mut wires: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for index in 0..boxes {
        for place in 0..nodes[index].reads.len() {
            let source = nodes[index].reads[place];
            let mut last = source;
            for column in nodes[source].column + 1..nodes[index].column {
                last = *wires.entry((source, column)).or_insert_with(|| {
                    nodes.push(Node { text: None, class: "wire", reads: vec![last], column, y: 0.0 });
                    nodes.len() - 1
                });
            }
            nodes[index].reads[place] = last;
        }
    }
}

/// Puts everything near what it reads; the height of the highest column.
fn arrange(nodes: &mut [Node], columns: usize) -> f64 {
    let height =
        |nodes: &[Node], column| nodes.iter().filter(|node| node.column == column).map(Node::height).sum::<f64>();
    let highest = (0..columns).map(|column| height(nodes, column)).fold(0.0, f64::max);
    for column in 0..columns {
        let wish = |node: &Node| {
            let sum: f64 = node.reads.iter().map(|read| nodes[*read].y).sum();
            sum / size(node.reads.len()).max(1.0)
        };
        let mut here: Vec<(f64, usize)> = nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.column == column)
            .map(|(i, node)| (wish(node), i))
            .collect();
        here.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut y = TOP + (highest - height(nodes, column)) / 2.0;
        for (_, index) in here {
            nodes[index].y = y + nodes[index].height() / 2.0;
            y += nodes[index].height();
        }
    }
    highest
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred boxes")]
fn size(count: usize) -> f64 {
    count as f64
}

/// A text, cut to what fits into a box.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wires_go_from_column_to_column_and_are_shared() {
        let node = |reads: &[usize], column| Node {
            text: Some(Default::default()),
            class: "",
            reads: reads.to_vec(),
            column,
            y: 0.0,
        };
        let mut nodes = vec![node(&[], 0), node(&[0], 1), node(&[0, 1], 3), node(&[0, 2], 4)];
        route(&mut nodes);
        // The first passes layers 1, 2 and 3, the second layer 2.
        assert_eq!(nodes.len(), 4 + 3 + 1);
        for node in &nodes {
            assert!(node.reads.iter().all(|read| nodes[*read].column + 1 == node.column));
        }
        let height = arrange(&mut nodes, 5);
        assert!((height - (ROW + WIRE)).abs() < 1e-9, "{height}");
    }
}
