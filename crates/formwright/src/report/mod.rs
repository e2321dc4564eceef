//! `report.html`: a model to look at, on one page that needs nothing else.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the page: claim, sizes, stages, the residual stream of an example |
//! | `budget.rs` | the bound by term; what it is to be read beside, on one scale |
//! | `sample.rs` | the network's own outputs and the target's at many points, as many as a second allows |
//! | `picture.rs` | of two inputs maps of both, of the error and of the bad set; of more, slices |
//! | `grids.rs` | of a median of two inputs, which copies are spoiled where |
//! | `circuit.rs` | a circuit, drawn |
//! | `host.rs` | the host that it was built for, a row a mirrored pair |
//! | `plot.rs` | scales, ticks, axes |
//! | `style.css` | colours for light, dark and paper |
//!
//! Pictures are SVG in the page; their colours are classes, so that both schemes suit them. There is no script, and a policy in
//! the page forbids everything but its own style.

mod budget;
mod circuit;
mod grids;
mod host;
mod picture;
mod plot;
mod sample;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::construct::circuit::built::{Circuit, Proof};
use crate::error::{Error, Result};
use crate::eval::float::Engine;
use crate::eval::indexed;
use crate::exact::{Int, Rat};
use crate::meaning::THEN;
use crate::model::Model;
use crate::network::Precision;
use crate::option::Front;
use crate::pattern::Pattern;
use crate::show::{brief, plural, short_int, shown};

/// The style of its pages.
pub(crate) const STYLE: &str = include_str!("style.css");

/// The rights of the page in a browser: it may only be shown.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The page.
pub fn page(model: &Model) -> Result<String> {
    let name = &model.target.name;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (name) " — formwright" }
                style { (PreEscaped(STYLE)) (PreEscaped(plot::ramps())) }
            }
            body {
                header {
                    p.kicker { "A Transformer, compiled" }
                    h1 { (model.title()) }
                    p.made { (model.made()) }
                    @for line in model.normal_form().into_iter().flatten() { p.formula { (line) } }
                }
                main {
                    section #claim { h2 { "What is claimed" } (claim(&model.claims()?)) (budget::compared(model)?) }
                    section #size { h2 { "Size" } (sizes(model)) }
                    section #pictures { h2 { "The function and the network" } (picture::pictures(model)) }
                    @if let Some(grids) = grids::spoiled(model) {
                        section #grids { h2 { "Which grids are spoiled where" } (grids) }
                    }
                    section #budget { h2 { "Where the error comes from" } (budget::terms(model)?) }
                    @if let Some(circuit) = model.circuit() {
                        section #circuit { h2 { "The circuit" } (gates(circuit)) }
                    }
                    @if let Some(host) = host::host(model) {
                        section #host { h2 { "In its host" } (host) }
                    }
                    @if let Some(pattern) = model.connections() {
                        section #connections { h2 { "What each token sees" } (connections(&pattern)) }
                    }
                    section #stages { h2 { "Stages" } (stages(model)) }
                    section #stream { h2 { "The residual stream of an example" } (stream(model)?) }
                    section #coordinates { h2 { "What the coordinates mean" } (coordinates(model)) }
                }
                footer {
                    "Written by formwright " (env!("CARGO_PKG_VERSION")) ". Every number and picture on this page was computed from the model itself."
                }
            }
        }
    };
    Ok(Front::CommandLine.shows(&page.into_string()))
}

/// Claims, each behind its badge.
pub(crate) fn claim(lines: &[(&'static str, String)]) -> Markup {
    html! {
        dl.claims {
            @for (label, text) in lines {
                dt { span class={ "badge " (label.replace(' ', "-")) } { (label) } }
                dd { (text) }
            }
        }
    }
}

/// A count, shortened for people; the whole of it is in its `value`.
fn count(name: &str, count: &Int) -> Markup {
    html! { data class=(name.replace(' ', "-")) value=(count) { (short_int(count)) } }
}

fn sizes(model: &Model) -> Markup {
    let size = model.size();
    let whole = |number: usize| Int::from(number);
    let mut counts = vec![
        ("blocks", size.blocks),
        ("attention layers", size.attention_layers),
        ("feed-forward layers", size.feed_forward_layers),
        ("heads", whole(size.heads)),
        ("head size", whole(size.head_size)),
        ("hidden units", whole(size.hidden)),
        ("width", whole(model.coordinates().len())),
        ("parameters", size.parameters),
        ("not fixed to 0", size.nonzeros),
    ];
    counts.extend(size.connections.map(|count| ("connections of a layer", whole(count))));
    counts.extend(model.id_bits().map(|bits| ("bits of an id", whole(bits))));
    html! {
        dl.sizes {
            @for (name, number) in &counts { div { dt { (name) } dd { (count(name, number)) } } }
            div { dt { "attention" } dd { (model.attention()) } }
            div { dt { "numbers" } dd { (model.precision()) } }
        }
    }
}

fn stages(model: &Model) -> Markup {
    html! {
        div.scroll { table {
            thead { tr { th { "stage" } th { "statement" } th.number { "layers" } th { "kind" } th { "what it does" } } }
            tbody { @for stage in model.stages() {
                tr {
                    th scope="row" { (stage.name) }
                    td { code { (stage.statement) } }
                    td.number { (count("layers", &stage.layers)) }
                    td { (stage.kind.name()) }
                    td.text { (stage.meaning) }
                }
            } }
        } }
    }
}

/// The most tokens whose connections are drawn.
const MOST_DRAWN: usize = 512;

/// A row a query, a column a key.
fn connections(pattern: &Pattern) -> Markup {
    let counts: Vec<String> = pattern.cycle().iter().map(|layer| layer.count().to_string()).collect();
    let all = pattern.tokens().pow(2);
    html! {
        @if pattern.tokens() <= MOST_DRAWN {
            figure {
                (PreEscaped(pattern.svg("")))
                figcaption { "A row is a token that looks, a column a token that is seen; the layers of a cycle stand side by side." }
            }
        }
        p { (counts.join(" and ")) " connections of " (all) " where all see all." }
    }
}

/// The drawing, and the gates with what they cost.
fn gates(circuit: &Circuit) -> Markup {
    let Some(Proof { gates, outputs, .. }) = circuit.proof() else {
        return html! { p { "No gates are shown: these weights are not the ones that are compiled." } };
    };
    if gates.is_empty() {
        return html! { p { "There are no gates: every output is an affine function of its token." } };
    }
    let parameters = |gate| circuit::parameters(gate, &circuit.network);
    let some = |count: usize| (count > 0).then_some(count);
    html! {
        (circuit::drawing(gates, outputs, &circuit.network))
        div.scroll { table {
            thead { tr {
                th { "gate" } th { "formula" } th { "kind" } th.number { "block" } th.number { "units" } th.number { "heads" }
                th.number { "parameters" } th { "registers" } th { "range" } th.number { "share of the error" }
            } }
            tbody { @for gate in gates { tr {
                th scope="row" { (gate.name) }
                td.text { code { (gate.formula) } }
                td { (gate.kind) }
                td.number { (gate.block) }
                td.number { @if let Some(units) = some(gate.units) { (units) } }
                td.number { @if let Some(heads) = some(gate.heads) { (heads) } }
                td.number { (parameters(gate)) }
                td { (circuit::registers(gate, &circuit.network)) }
                td { "[" (brief(gate.range.0)) ", " (brief(gate.range.1)) "]" }
                td.number { @if gate.share > 0.0 { (budget::number("share", gate.share, 1)) } @else { "0" } }
            } } }
        } }
        p.note {
            "Parameters of a gate are the rows and columns of its hidden units, or of its head. What gates share is counted with each of them; \
             embedding, read-out and what empties registers belong to none."
        }
    }
}

/// The most tokens of which the residual stream is shown.
const MOST_TOKENS: usize = 8;

/// The most rows of the table of the residual stream.
const MOST_ROWS: usize = 400;

/// A name of a state, its coordinates' names, its numbers as they are shown, `[token][coordinate]`.
type State = (String, Vec<String>, Vec<Vec<String>>);

/// The path of an input, stage by stage.
fn stream(model: &Model) -> Result<Markup> {
    let states = states(model)?;
    let tokens = model.grid.tokens().min(MOST_TOKENS);
    let left_out = model.grid.tokens() - tokens;
    let mut rows: Vec<(usize, Vec<usize>)> = Vec::new();
    let (mut count, mut cut) = (0, 0);
    for (index, (_, names, state)) in states.iter().enumerate() {
        // Input, output and target are shown whole; before the embedding everything is 0.
        let whole = index == 0 || index + 2 >= states.len();
        let before = |token: usize, row: usize| if index == 1 { "0" } else { &states[index - 1].2[token][row] };
        let changed = |row: &usize| whole || (0..tokens).any(|j| before(j, *row) != state[j][*row]);
        let shown: Vec<usize> = (0..names.len()).filter(changed).collect();
        if count + shown.len() > MOST_ROWS && index + 2 < states.len() {
            cut += 1;
            continue;
        }
        count += shown.len();
        rows.push((index, shown));
    }
    Ok(html! {
        p {
            "An input with distinct tokens, spread over the domain; after each stage, the coordinates that it changed"
            @if left_out > 0 { ", of the first " (tokens) " tokens out of " (model.grid.tokens()) }
            "."
            @if cut > 0 { " " (plural(cut, "stage")) " would not fit and " (if cut == 1 { "is" } else { "are" }) " left out." }
        }
        div.scroll { table.stream {
            thead { tr {
                th { "after" } th { "coordinate" }
                @for token in 0..tokens { th.number { "token " (token) } }
            } }
            @for (index, shown) in &rows {
                @let (name, names, state) = &states[*index];
                tbody {
                    @if shown.is_empty() { tr { th scope="row" { (name) } td.dim colspan=(tokens + 1) { "nothing changes here" } } }
                    @for (place, row) in shown.iter().enumerate() {
                        tr {
                            @if place == 0 { th scope="rowgroup" rowspan=(shown.len()) { (name) } }
                            td { code { (names[*row]) } }
                            @for token in state.iter().take(tokens) { td.number { (token[*row]) } }
                        }
                    }
                }
            }
        } }
    })
}

/// Input, embedding, every stage, output, target.
fn states(model: &Model) -> Result<Vec<State>> {
    let x = model.example();
    let expected = model.expected(&x)?;
    let floats = |x: &[Vec<Rat>]| -> Vec<Vec<f64>> { x.iter().map(|t| t.iter().map(Rat::to_f64).collect()).collect() };
    let entries = |what: &str, count: usize| -> Vec<String> {
        if count == 1 { vec![what.to_owned()] } else { (0..count).map(|c| format!("{what}.{c}")).collect() }
    };
    let names: Vec<String> = model.coordinates().iter().map(|coordinate| coordinate.name.clone()).collect();
    let of_output = entries("y", model.target.output_dims());
    let mut states = vec![("input".to_owned(), entries("x", model.grid.dims()), shown(&x))];
    let mut target = shown(&expected);
    if let Some(network) = model.float() {
        let engine = Engine::new(network)?;
        let inexact = !model.has_cells();
        let show =
            |state: &[Vec<f64>]| if inexact { Precision::shown_rounded(state) } else { network.precision.shown(state) };
        let trace = engine.trace(&floats(&x))?;
        states.extend(trace.iter().map(|(name, state)| (name.clone(), names.clone(), show(state))));
        let output = engine.run(&[floats(&x)])?.remove(0);
        states.push(("output".to_owned(), of_output.clone(), show(&output)));
        if inexact {
            target = Precision::shown_rounded(&floats(&expected));
        }
    } else {
        let network = model.exact().ok_or_else(|| Error::declined("a circuit has no exact network"))?;
        let trace = indexed::trace(network, &x)?;
        states.extend(trace.iter().map(|(name, state)| ((*name).to_owned(), names.clone(), shown(state))));
        states.push(("output".to_owned(), of_output.clone(), shown(&indexed::run(network, &x)?)));
    }
    states.push(("target".to_owned(), of_output, target));
    Ok(states)
}

fn coordinates(model: &Model) -> Markup {
    html! {
        div.scroll { table {
            thead { tr { th { "coordinate" } th { "meaning" } } }
            tbody { @for coordinate in model.coordinates() { tr {
                th scope="row" { (coordinate.name) }
                td.text {
                    @let meanings: Vec<&str> = coordinate.meaning.split(THEN).collect();
                    @if let [meaning] = meanings.as_slice() { (meaning) } @else {
                        ol { @for meaning in meanings { li { (meaning) } } }
                    }
                }
            } } }
        } }
    }
}
