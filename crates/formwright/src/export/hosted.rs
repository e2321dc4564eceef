//! The certificate of a network inside of a stock Transformer, for a checker that believes nothing of it. The format is
//! section 10 of `CERTIFICATE.md`.

use super::Files;
use crate::artifact::{Contents, sha256};
use crate::error::Result;
use crate::exact::Rat;
use crate::host::{Class, Matrices};
use crate::model::Model;

/// The files that a certificate is about, in its order.
const HASHED: [&str; 4] = ["target.json", "config.json", "model.safetensors", "inputs.safetensors"];

/// Adds `target.json` and `certificate.fwc` to the files of a host, which are for `from_pretrained`.
pub(super) fn add(
    files: &mut Files,
    model: &Model,
    (class, matrices): (&Class, &Matrices),
    labels: Option<&[i64]>,
) -> Result<()> {
    files.push(("target.json".to_owned(), Contents::of(model)?.target));
    if let Some(lines) = lines(files, model, (class, matrices), labels)? {
        files.push(("certificate.fwc".to_owned(), (lines.join("\n") + "\n").into_bytes()));
    }
    Ok(())
}

fn lines(
    files: &Files,
    model: &Model,
    (class, matrices): (&Class, &Matrices),
    labels: Option<&[i64]>,
) -> Result<Option<Vec<String>>> {
    let (Some(stated), Some(scale)) = (model.stated()?, Rat::from_f64(matrices.fitted.scale)) else { return Ok(None) };
    // The label is the integer itself.
    let bound = if labels.is_some() { Some(Rat::ZERO) } else { Rat::from_f64(matrices.fitted.bound) };
    let Some(bound) = bound.filter(|_| stated.assumptions.is_empty()) else { return Ok(None) };
    let mut lines = vec!["formwright-certificate 2".to_owned(), format!("host {}", class.name)];
    for name in HASHED {
        let file = files.iter().find(|(known, _)| known == name);
        lines.extend(file.map(|(_, bytes)| format!("sha256 {name} {}", sha256(bytes))));
    }
    let (least, most) = model.lengths();
    lines.extend([
        format!("badge {}", stated.badge),
        format!("over {}", if model.target.is_discrete() { "integers" } else { "box" }),
        "norm sup".to_owned(),
        format!("bound {bound}"),
        "assumptions 0".to_owned(),
        format!("tokens {least} {most}"),
        format!("dims {}", model.grid.dims()),
        format!("output-dims {}", model.target.output_dims()),
        format!("execution ieee-any-order {}", matrices.precision),
        format!("scale {scale}"),
    ]);
    lines.extend(labels.map(|labels| labels.iter().fold("labels".to_owned(), |line, label| format!("{line} {label}"))));
    lines.extend(meanings(model).into_iter().flatten());
    lines.push("end".to_owned());
    Ok(Some(lines))
}

/// The lines that say what registers mean, with both sub-layers in every block. Of registers that tell positions apart
/// they say nothing.
fn meanings(model: &Model) -> Option<Vec<String>> {
    let (lines, network) = (model.built.lines()?, model.float()?);
    let first = lines.iter().position(|line| line.starts_with("layers "))?;
    let last = lines.iter().position(|line| line.starts_with("outputs "))?;
    let mut layers: Vec<Vec<String>> = Vec::new();
    for line in &lines[first + 1..last] {
        if line.starts_with("layer ") {
            layers.push(Vec::new());
        }
        layers.last_mut()?.push(line.clone());
    }
    let mut layers = layers.into_iter();
    let empty = || vec!["layer 0 0".to_owned()];
    let mut all = vec![layers.next()?];
    for run in &network.runs {
        for _ in 0..run.blocks {
            all.push(if run.attention.is_some() { layers.next()? } else { empty() });
            all.push(if run.feed_forward.is_some() { layers.next()? } else { empty() });
        }
    }
    if layers.next().is_some() {
        return None;
    }
    let mut found = lines[..first].to_vec();
    found.push(format!("layers {}", all.len()));
    found.extend(all.into_iter().flatten());
    found.extend(lines[last..].iter().cloned());
    Some(found)
}
