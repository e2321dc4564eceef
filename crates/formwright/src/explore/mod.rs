//! `explore.html`: a float model to try, on one page that needs nothing else.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the page: its frame, what a browser may do with it, how large it may be |
//! | `data.rs` | the model, as the page reads it |
//! | `engine.js` | the network, run as `eval/float` runs it, or otherwise on request |
//! | `target.js` | the target in doubles |
//! | `anatomy.js` | what is read off the weights: writers and readers, equations, hinges; the search for the worst input |
//! | `draw.js` | elements, pictures, files of pictures |
//! | `page.js` | what is set, the address that holds it, what is shown |
//! | `style.css` | what the report's style does not have |
//!
//! Plain JavaScript, without a library or a build. A policy in the page allows this very script and style, by their hashes, and nothing
//! else: it cannot load or send anything. All texts of a model become text nodes.

mod data;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use crate::artifact::GENERATOR;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::network::FloatNetwork;
use crate::report;

/// The script, in the order in which its parts name each other.
const SCRIPT: &str = concat!(
    include_str!("engine.js"),
    include_str!("target.js"),
    include_str!("anatomy.js"),
    include_str!("draw.js"),
    include_str!("page.js"),
);

/// The most bytes of a page.
const MOST_BYTES: usize = 1_000_000;

/// The page.
pub fn page(model: &Model) -> Result<String> {
    let Some(network) = model.float() else {
        return Err(Error::declined("an exact model has fractions of any length, and the page computes in floats")
            .note("try", "formwright report DIR, or a model with ⟨precision=f64⟩"));
    };
    // The weights alone, before anything is written down.
    fits(data::encoded(data::bytes(network)), network)?;
    let data = data::text(model, network)?;
    let style = format!("{}{}", report::STYLE, include_str!("style.css"));
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(&style)
    );
    let claims = model.claims()?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(GENERATOR);
                title { (model.target.name) " — explore" }
                style { (PreEscaped(&style)) }
            }
            body {
                header {
                    p.kicker { "A Transformer, to try" }
                    h1 { (model.title()) }
                    p.made { (model.made()) }
                }
                (status())
                main {
                    (try_it())
                    section #source { h2 { "Where the error comes from" } div #flow {} }
                    (inside())
                    (bench())
                    section #claim { h2 { "What is claimed" } (report::claim(&claims)) }
                }
                footer {
                    "Written by formwright " (env!("CARGO_PKG_VERSION"))
                    ". Everything on this page is computed here, from the model's own weights; nothing is loaded or sent. \
                     The address holds what you set: copy it to share."
                }
                script #model type="application/json" { (PreEscaped(data)) }
                script #script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string();
    fits(page.len(), network)?;
    Ok(page)
}

/// Refuses a page that is too large.
fn fits(bytes: usize, network: &FloatNetwork) -> Result<()> {
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    let parameters = network.size().parameters;
    Err(Error::declined(format!("the page of this model would have {bytes} bytes or more"))
        .note("limit", format!("{MOST_BYTES} bytes; the model has {parameters} parameters"))
        .note(
            "try",
            "formwright report DIR and formwright run DIR --trace, at any size; or fewer tokens, a larger ⟨eps⟩",
        ))
}

/// The hash of a script or style, as a policy names it.
fn hash(text: &str) -> String {
    format!("sha256-{}", data::base64(&Sha256::digest(text)))
}

/// The claim at the input at hand; it stays in sight.
fn status() -> Markup {
    html! {
        div #status.none {
            p #status-text role="status" {
                noscript { "This page computes: it needs JavaScript, and loads and sends nothing." }
            }
            button #mend.quiet type="button" { "As compiled" }
        }
    }
}

/// The input, and what becomes of it.
fn try_it() -> Markup {
    html! {
        section #try {
            h2 { "Try it" }
            p { "Change a token: the network runs here, in its own arithmetic." }
            div #tokens.scroll {}
            p #wrong role="alert" {}
            p.buttons {
                button #worst type="button" { "Search the worst input" }
                button #example type="button" { "Back to the example" }
                button #more type="button" { "One token more" }
                button #fewer type="button" { "One token fewer" }
            }
            p #searched.note role="status" {}
            div #answer {}
        }
    }
}

/// The residual stream, layer by layer.
fn inside() -> Markup {
    html! {
        section #inside {
            h2 { "Inside" }
            p {
                label for="place" { "After each layer, what every register holds: " }
                input #place type="range" min="0" step="1";
                output #where for="place" {}
            }
            div #stream.scroll {}
            div #cell {}
            div #layer {}
        }
    }
}

/// The part of the page that breaks a claim.
fn bench() -> Markup {
    html! {
        section #bench {
            h2 { "Break it" }
            p { "The claim is about the network as it was compiled, with sums in any order. Run it otherwise, and see what the proof was for." }
            div.knobs {
                p {
                    label for="scale" { "Scale of the scores" }
                    input #scale type="range" min="-40" max="40" step="1";
                    output #scale-text for="scale" {}
                }
                p {
                    label for="format" { "Precision" }
                    select #format {
                        option value="f64" { "f64: all in double precision" }
                        option value="f32" { "f32: all in single precision" }
                        option value="tf32" { "tf32: factors of 11 bits, sums in f32" }
                        option value="bf16" { "bf16: factors of 8 bits, sums in f32" }
                    }
                }
                p {
                    label for="order" { "Sums" }
                    select #order {
                        option value="left" { "from left to right" }
                        option value="right" { "from right to left" }
                        option value="pairs" { "in pairs" }
                        option value="shuffled" { "in a random order" }
                    }
                }
                div #bench-weight {
                    label for="weight" { "A weight, by single steps of its format" }
                    input #weight autocomplete="off" spellcheck="false" placeholder="0.ff.w1:0";
                    output #value for="weight" {}
                    span.buttons {
                        button #far-down type="button" { "65,536 steps down" }
                        button #down type="button" { "one step down" }
                        button #up type="button" { "one step up" }
                        button #far-up type="button" { "65,536 steps up" }
                    }
                    ul #nudges {}
                }
            }
        }
    }
}
