//! `index.html`: the models of a zoo, to look through.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

use crate::report::STYLE;

/// The rights of the page in a browser: its own style and script.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Hides the rows without the words.
const FILTER: &str = "const rows = [...document.querySelectorAll('tbody tr')], box = document.getElementById('filter'), \
count = document.getElementById('count');\n\
box.addEventListener('input', () => {\n\
  const words = box.value.toLowerCase().split(/\\s+/);\n\
  let shown = 0;\n\
  for (const row of rows) {\n\
    const text = row.textContent.toLowerCase();\n\
    row.hidden = !words.every((word) => text.includes(word));\n\
    shown += row.hidden ? 0 : 1;\n\
  }\n\
  count.textContent = shown + ' of ' + rows.length + ' models';\n\
});\n";

/// The page.
pub(super) fn page(models: &[&Value]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "A zoo of certified Transformers" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.kicker { "Ground truth for looking into networks" }
                    h1 { "A zoo of certified Transformers" }
                    p {
                        "Of every model it is known what each head and each hidden unit computes (" code { "manifest.json" }
                        "; of those in stock hosts, " code { "formwright.json" } "), and a checker has proved how far its "
                        "outputs are from its target, at every input: " code { "fwcheck NAME" } " proves it again. "
                        code { "python score.py ." } " scores an example that looks for the units that matter."
                    }
                }
                main {
                    p { label { "Show those with " input #filter type="search"; } " " span #count { (models.len()) " models" } }
                    table {
                        thead { tr { th { "model" } th { "computes" } th { "change" } th { "gates" } th { "weights" } th { "error, at most" } } }
                        tbody { @for model in models { (row(model)) } }
                    }
                }
                script { (PreEscaped(FILTER)) }
            }
        }
    };
    page.into_string()
}

fn row(model: &Value) -> Markup {
    let text = |key: &str| model[key].as_str().unwrap_or_default();
    let file = if model["change"]["kind"] == "host" { "formwright.json" } else { "manifest.json" };
    let number = |key: &str| model[key].as_u64().map_or_else(String::new, |count| count.to_string());
    html! {
        tr {
            td { a href=(format!("{}/{file}", text("name"))) { (text("name")) } }
            td { code { (text("target").lines().next_back().unwrap_or_default()) } }
            td { (change(&model["change"])) }
            td { (number("gates")) }
            td { (number("weights")) }
            td { (model["bound"].as_f64().map_or_else(|| text("claim").to_owned(), crate::show::brief)) }
        }
    }
}

/// A change in words.
fn change(change: &Value) -> String {
    let seed = change["seed"].as_u64().unwrap_or_default();
    let cut = |what: &str, key: &str| if change[key] == true { format!(", {what} split") } else { String::new() };
    let cuts = cut("units", "split_units") + &cut("heads", "split_heads");
    match change["kind"].as_str() {
        Some("varied") => format!("reordered, with idle parts{cuts}; seed {seed}"),
        Some("turned") => format!("in a turned basis{cuts}; seed {seed}"),
        Some("host") => format!("inside of {}", change["class"].as_str().unwrap_or_default()),
        _ => String::new(),
    }
}
