//! The host that a model was built for: its sides, and its stream, of which a mirrored pair is one row.

use maud::{Markup, html};

use crate::exact::Int;
use crate::host::{Matrices, named};
use crate::model::Model;
use crate::show::plural;

/// The section; `None` if it was built for no host.
pub(super) fn host(model: &Model) -> Option<Markup> {
    let class = named(model.host()?);
    let found = class.and_then(|class| Ok((class, Matrices::new(model, class, &[])?)));
    Some(match found {
        Ok((class, matrices)) => {
            let tensors = class.tensors(&matrices, &matrices.read_out);
            let parameters = tensors.iter().map(|(.., entries)| entries.len()).sum();
            html! {
                p { code { (class.architecture) } ": what " code { "formwright export --format hf" } " writes of it." }
                (sides(&matrices, parameters))
                (pairs(model, &matrices))
            }
        }
        Err(error) => html! { p { "Nothing is known of it there: " (error.headline()) "." } },
    })
}

fn sides(matrices: &Matrices, parameters: usize) -> Markup {
    let (sides, fitted) = (&matrices.sides, &matrices.fitted);
    let counts = [
        ("width", sides.width),
        ("blocks", sides.blocks),
        ("heads", sides.heads),
        ("head size", sides.head_size),
        ("hidden units", sides.hidden),
        ("parameters", parameters),
    ];
    let powers = [("pin", fitted.pin), ("gain of norms", fitted.gain), ("scale of activations", fitted.scale)];
    html! {
        dl.sizes {
            @for (name, count) in counts { div { dt { (name) } dd { (super::count(name, &Int::from(count))) } } }
            @for (name, x) in powers { div { dt { (name) } dd { "2" sup { (x.log2()) } } } }
        }
    }
}

/// The registers with the two coordinates that hold each: `½(v[p] - v[q])` is what is read.
fn pairs(model: &Model, matrices: &Matrices) -> Markup {
    let (sides, known) = (&matrices.sides, model.coordinates());
    let half = sides.width / 2;
    let pair = |p: usize| format!("{p}, {}", half + p);
    let empty = half - 1 - known.len() - sides.flags;
    html! {
        div.scroll { table {
            thead { tr { th { "register" } th { "coordinate, mirror" } th { "what half their difference is" } } }
            tbody {
                @for (p, coordinate) in known.iter().enumerate() {
                    tr { th scope="row" { (coordinate.name) } td { (pair(p)) } td.text { (coordinate.meaning) } }
                }
                @for token in 0..sides.flags { tr {
                    th scope="row" { "place " (token) } td { (pair(known.len() + token)) }
                    td.text { (matrices.fitted.flag) " at token " (token) ", 0 at others: hides tokens from heads" }
                } }
                tr { th scope="row" { "pin" } td { (pair(half - 1)) } td.text { "2" sup { (matrices.fitted.pin.log2()) } } }
            }
        } }
        @if empty > 0 { p.note { (plural(empty, "pair")) " more " (if empty == 1 { "holds" } else { "hold" }) " 0." } }
    }
}
