//! A comparison as a page, a table, pictures and JSON.

use std::fmt::Write as _;

use formwright::bound::norm::upward;
use formwright::error::Result;
use formwright::markdown::wrapped;
use serde_json::{Value, json};

use super::{Certified, Comparison, Count, LeftOut, NORMS, Network, Number, Origin, SAMPLES, Try};
use crate::folder::{Folder, replace};
use crate::plot::{self, Line, Panel, Scale};
use crate::summary::Spread;

const SECONDS: Number = |one| one.seconds;

/// The constructed families, each with its networks.
fn constructed(comparison: &Comparison) -> Vec<(&str, Vec<&Network>)> {
    let mut families: Vec<(&str, Vec<&Network>)> = Vec::new();
    for network in comparison.networks.iter().filter(|network| network.is_constructed()) {
        match families.iter_mut().find(|(family, _)| *family == network.family) {
            Some((_, networks)) => networks.push(network),
            None => families.push((&network.family, vec![network])),
        }
    }
    families
}

fn range(spread: Spread) -> String {
    let Spread { least, middle, most } = spread;
    if least < most { format!("{middle:.1e} ({least:.1e} – {most:.1e})") } else { format!("{middle:.1e}") }
}

/// A count of smaller errors, in words.
fn words(count: Count, first: &str, second: &str) -> String {
    let named = [(count.first, first), (count.second, second), (count.undecided, "undecided")];
    let words: Vec<String> =
        named.into_iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{name} {count}")).collect();
    words.join(", ")
}

/// The errors of training at the size of each construction.
fn at_the_size(comparison: &Comparison) -> String {
    let family = |(family, networks): (&str, Vec<&Network>)| {
        let sizes = || networks.iter().map(|network| network.parameters);
        let (least, most) = (sizes().min().unwrap_or_default(), sizes().max().unwrap_or_default());
        let norm = |(name, number): (&str, Number)| {
            let pair =
                |network: &&Network| Some((comparison.beside(network, number)?.spread(number), network.spread(number)));
            format!("{name}: {}", words(Count::of(networks.iter().filter_map(pair)), "training", "construction"))
        };
        let sizes = if least < most { format!("{least} to {most}") } else { least.to_string() };
        format!("`{family}` ({sizes} parameters) {}", NORMS.map(norm).join("; "))
    };
    let families: Vec<String> = constructed(comparison).into_iter().map(family).collect();
    format!(
        "**At the size that a theorem needs**, beside the best trained network with at most as many parameters (the \
         smallest, where there is none), the smaller error, counted over the sizes of each construction: {}.",
        or_nothing(&families, "; ")
    )
}

/// The families as a list, or the word for none.
fn or_nothing(families: &[String], between: &str) -> String {
    if families.is_empty() { "nothing could be written down".to_owned() } else { families.join(between) }
}

/// The size that each construction needs to reach the error of training.
fn at_the_error(comparison: &Comparison) -> String {
    let norm = |(name, number): (&str, Number)| {
        let Some(trained) = comparison.best_trained(usize::MAX, number) else {
            return format!("{name}: nothing was trained");
        };
        let reached = trained.spread(number);
        let proved = |network: &Network| match network.origin {
            Origin::Constructed(Certified { sup, l2 }) => {
                if name == "sup" {
                    sup
                } else {
                    l2
                }
            }
            Origin::Trained(_) => None,
        };
        let smallest = |networks: &[&Network], error: &dyn Fn(&Network) -> Option<f64>| {
            let enough = networks.iter().filter_map(|network| Some((network.parameters, error(network)?)));
            let (parameters, error) =
                enough.filter(|(_, error)| *error <= reached.middle).min_by_key(|(size, _)| *size)?;
            // Some seeds do better than that.
            Some(format!("{parameters}{}", if error < reached.least { "" } else { " (undecided)" }))
        };
        let family = |(family, networks): (&str, Vec<&Network>)| {
            let measured = |network: &Network| Some(network.spread(number).middle);
            let nearest = networks.iter().filter_map(|network| measured(network)).fold(f64::INFINITY, f64::min);
            let Some(parameters) = smallest(&networks, &measured) else {
                return format!("`{family}` does not get there, {nearest:.1e} at best");
            };
            let certified = smallest(&networks, &proved).unwrap_or_else(|| "none".to_owned());
            format!("`{family}` {parameters} measured, {certified} certified")
        };
        let families: Vec<String> = constructed(comparison).into_iter().map(family).collect();
        format!(
            "in {name}, {} by {} {} with {} parameters: {}",
            range(reached),
            trained.family,
            trained.size,
            trained.parameters,
            or_nothing(&families, ", "),
        )
    };
    format!(
        "**At the error that training reaches**, a theorem needs so many parameters: {}.",
        NORMS.map(norm).join("; ")
    )
}

/// The effect of layer norm on trained Transformers of one size.
fn layer_norm(comparisons: &[Comparison]) -> Option<String> {
    let pairs: Vec<_> = comparisons.iter().flat_map(Comparison::layer_norms).collect();
    let norm = |(name, number): (&str, Number)| {
        let spreads = pairs.iter().map(|(without, with)| (without.spread(number), with.spread(number)));
        format!("{name}: {}", words(Count::of(spreads), "without", "with"))
    };
    (!pairs.is_empty()).then(|| {
        format!(
            "**Layer norm**, the smaller error, counted over pairs of trained Transformers of one size, {} in all: {}.",
            pairs.len(),
            NORMS.map(norm).join("; ")
        )
    })
}

/// The sentences of a comparison.
fn sentences(comparison: &Comparison) -> Vec<String> {
    let mut sentences = vec![at_the_size(comparison), at_the_error(comparison)];
    sentences.extend(layer_norm(std::slice::from_ref(comparison)));
    sentences
}

fn title(comparison: &Comparison) -> String {
    let coordinates = if comparison.dims == 1 { "coordinate" } else { "coordinates" };
    format!("{}, {} {coordinates}", comparison.target, comparison.dims)
}

fn rows(comparison: &Comparison) -> String {
    let mut rows =
        "| network | size | parameters | sup, measured | L², measured | sup, certified | L², certified | seconds |\n\
                    |---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for network in &comparison.networks {
        let [sup, l2] = NORMS.map(|(_, number)| range(network.spread(number)));
        let certified = match network.origin {
            Origin::Constructed(Certified { sup, l2 }) => [sup, l2],
            Origin::Trained(_) => [None, None],
        };
        let [sup_at_most, l2_at_most] = certified.map(|bound| bound.map_or_else(String::new, |bound| upward(bound, 1)));
        let (Network { family, size, parameters, .. }, seconds) = (network, network.spread(SECONDS).middle);
        let _ = writeln!(
            rows,
            "| {family} | {size} | {parameters} | {sup} | {l2} | {sup_at_most} | {l2_at_most} | {seconds:.2} |"
        );
    }
    let super::Errors { sup, l2 } = comparison.best_constant;
    let _ = writeln!(rows, "| best constant | | | {sup:.1e} | {l2:.1e} | | | |");
    rows
}

/// The page.
pub fn page(folder: &Folder, comparisons: &[Comparison]) -> String {
    let experiment = &folder.experiment;
    let mut page = format!(
        "# Training against construction: {}\n\nmeasured: errors on {SAMPLES} fresh samples per function, uniform on \
         its box, {} tokens; sup is the largest, L² the root of the mean square over samples, tokens and coordinates; \
         in brackets the best and the worst of the seeds {:?}. certified: the proved error of a construction, at every \
         point (sup) or over the box (L²). Seconds are those of this machine, on one core: to the best epoch (the \
         middle seed), or to write a network down and prove its bound. A gap smaller than the spread of the seeds is \
         undecided.\n",
        experiment.title, experiment.tokens, experiment.seeds,
    );
    if experiment.seeds.len() == 1 {
        page.push_str("\nThere is one seed, and hence no spread: all statements below hold for that seed.\n");
    }
    if let Some(sentence) = layer_norm(comparisons).filter(|_| comparisons.len() > 1) {
        let _ = writeln!(page, "\nOver all functions: {sentence}");
    }
    for (place, comparison) in comparisons.iter().enumerate() {
        let title = title(comparison);
        let _ = write!(page, "\n## `{title}`\n\n{}\n![{title}]({})\n", rows(comparison), picture_name(place));
        for sentence in sentences(comparison) {
            let _ = writeln!(page, "\n{sentence}");
        }
        if !comparison.left_out.is_empty() {
            page.push_str("\nLeft out:\n");
        }
        for LeftOut { family, sizes, why } in &comparison.left_out {
            let _ = writeln!(page, "- `{family}`, {}: {why}", sizes.join(", "));
        }
        if comparison.unfinished > 0 {
            let _ = writeln!(page, "\n{} runs have not ended, and are left out.", comparison.unfinished);
        }
    }
    wrapped(&page)
}

fn field(bound: Option<f64>) -> String {
    bound.map_or_else(String::new, |bound| upward(bound, 6))
}

/// A line for each network and seed.
pub fn table(comparisons: &[Comparison]) -> String {
    let mut table =
        "target,dims,network,size,seed,parameters,sup_measured,l2_measured,sup_certified,l2_certified,seconds\n"
            .to_owned();
    for comparison in comparisons {
        for network in &comparison.networks {
            let Certified { sup, l2 } = match network.origin {
                Origin::Constructed(certified) => certified,
                Origin::Trained(_) => Certified::default(),
            };
            for Try { seed, errors, seconds } in &network.tries {
                let _ = writeln!(
                    table,
                    "\"{}\",{},\"{}\",\"{}\",{},{},{:.6e},{:.6e},{},{},{seconds:.3}",
                    comparison.target.replace('"', "\"\""),
                    comparison.dims,
                    network.family,
                    network.size,
                    seed.map_or_else(String::new, |seed| seed.to_string()),
                    network.parameters,
                    errors.sup,
                    errors.l2,
                    field(sup),
                    field(l2),
                );
            }
        }
    }
    table
}

fn picture_name(place: usize) -> String {
    format!("compare-{}.svg", place + 1)
}

/// A place on an axis.
type Place = fn(&Network) -> f64;

#[expect(clippy::cast_precision_loss, reason = "a count of parameters")]
const PARAMETERS: Place = |network| network.parameters as f64;

/// The seconds that are drawn: zero has no place on a logarithmic axis.
const SHOWN_SECONDS: Place = |network| network.spread(SECONDS).middle.max(1e-3);

/// Error against parameters and against seconds, in both norms.
fn picture(comparison: &Comparison) -> Result<String> {
    let mut panels = Vec::new();
    for (axis, at) in [("parameters", PARAMETERS), ("seconds, on this machine", SHOWN_SECONDS)] {
        for (name, number) in NORMS {
            let mut lines: Vec<Line> = Vec::new();
            // Lines go up the ladders.
            for network in &comparison.networks {
                let point = (at(network), network.spread(number));
                match lines.iter_mut().find(|line| line.name == network.family) {
                    Some(line) => line.points.push(point),
                    None => lines.push(Line { name: network.family.clone(), points: vec![point], marked: true }),
                }
            }
            let constant = comparison.best_constant;
            let level = if name == "sup" { constant.sup } else { constant.l2 };
            panels.push(Panel {
                title: format!("{}: {name}", title(comparison)),
                x: axis.to_owned(),
                across: Scale::Decades,
                y: format!("{name} error, measured"),
                up: Scale::Decades,
                lines,
                level: Some((level, "best constant".to_owned())),
            });
        }
    }
    plot::draw(&panels)
}

/// A comparison as JSON.
pub fn to_json(comparison: &Comparison) -> Value {
    let spread = |Spread { least, middle, most }| json!({"least": least, "middle": middle, "most": most});
    let network = |network: &Network| {
        let [sup, l2] = NORMS.map(|(_, number)| spread(network.spread(number)));
        let certified = match network.origin {
            Origin::Constructed(Certified { sup, l2 }) => json!({"badge": "certified", "sup": sup, "l2": l2}),
            Origin::Trained(_) => Value::Null,
        };
        json!({
            "network": network.family, "size": network.size, "parameters": network.parameters, "seeds": network.tries.iter().filter_map(|one| one.seed).collect::<Vec<_>>(),
            "measured": {"badge": "measured", "sup": sup, "l2": l2}, "certified": certified, "seconds": spread(network.spread(SECONDS)),
        })
    };
    let left_out = |LeftOut { family, sizes, why }: &LeftOut| json!({"network": family, "sizes": sizes, "why": why});
    json!({
        "target": comparison.target, "dims": comparison.dims, "samples": SAMPLES,
        "best_constant": {"badge": "measured", "sup": comparison.best_constant.sup, "l2": comparison.best_constant.l2},
        "networks": comparison.networks.iter().map(network).collect::<Vec<_>>(),
        "left_out": comparison.left_out.iter().map(left_out).collect::<Vec<_>>(),
        "unfinished": comparison.unfinished, "sentences": sentences(comparison),
    })
}

/// Writes page, table and pictures; returns their names.
pub fn write(folder: &Folder, comparisons: &[Comparison]) -> Result<Vec<String>> {
    let mut files =
        vec![("compare.md".to_owned(), page(folder, comparisons)), ("compare.csv".to_owned(), table(comparisons))];
    for (place, comparison) in comparisons.iter().enumerate() {
        files.push((picture_name(place), picture(comparison)?));
    }
    for (name, content) in &files {
        replace(&folder.path().join(name), content.as_bytes())?;
    }
    Ok(files.into_iter().map(|(name, _)| name).collect())
}
