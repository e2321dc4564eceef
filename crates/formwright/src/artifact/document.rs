//! `model.json`, written and read.

use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_json::{Value, json};

use super::tensors::Skeleton;
use super::{FORMAT, MODEL, TARGET, VERSION, WEIGHTS, check_folder};
use crate::construct::families;
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::files::read_file;
use crate::host;
use crate::input::parse_json;
use crate::lattice::Grid;
use crate::model::{ANEW, Check, Family, Folder, Host, Model, Tolerance};
use crate::network::{Affine, FloatNetwork};
use crate::target::{Source, Target};

/// `model.json`: the summary, and what is needed to run.
pub(super) fn to_json(model: &Model) -> Result<Value> {
    let mut file = json!({"format": FORMAT, "version": VERSION});
    let mut summary = model.summary()?;
    let exact = model.exact().filter(|_| model.float().is_none());
    if let Some(network) = exact {
        for (stage, written) in network.stages.iter().zip(summary["stages"].as_array_mut().into_iter().flatten()) {
            written["parameters"] = stage.generator.parameters();
        }
    }
    if let (Some(file), Value::Object(summary)) = (file.as_object_mut(), summary) {
        file.extend(summary);
    }
    file["coordinates"] = model.coordinates_to_json();
    if model.meanings().is_some() {
        file["atoms"] = model.atoms_to_json();
    }
    let tolerance = &model.tolerance;
    file["tolerance"] = json!({
        "eps": tolerance.eps,
        "norm": tolerance.norm().map(|norm| norm.to_string()),
        "lipschitz": tolerance.lipschitz,
    });
    if let Some(host) = model.host_to_json() {
        file["host"] = host;
    }
    file["grid"] = json!(model.grid);
    model.built.write(&mut file);
    if let Some(network) = model.float() {
        file["network"] = json!(Skeleton::of(network));
    }
    if let Some(network) = exact {
        let affine = |map: &Affine| json!({"weight": map.weight, "bias": map.bias});
        file["embed"] = affine(&network.embed);
        file["pos"] = json!(network.positions);
        file["read_out"] = affine(&network.read_out);
    }
    Ok(file)
}

/// The part of `model.json` that every model has.
#[derive(Deserialize)]
struct Common {
    format: String,
    version: u64,
    construction: String,
    positional: bool,
    as_printed: Vec<String>,
    domain: String,
    tolerance: WrittenTolerance,
    grid: Grid,
    precision: String,
    error: WrittenError,
    /// Of a model that was built for a stock class.
    host: Option<WrittenHost>,
}

/// What is said in the host is computed anew.
#[derive(Deserialize)]
struct WrittenHost {
    class: String,
    eps: Rat,
}

/// The part of the claim that is not computed anew.
#[derive(Deserialize)]
struct WrittenError {
    checked: String,
    /// Models of earlier versions do not tell it.
    checked_reason: Option<String>,
}

#[derive(Deserialize)]
struct WrittenTolerance {
    eps: Option<Rat>,
    norm: Option<String>,
    lipschitz: Option<Rat>,
}

/// Reads a model's folder.
pub(crate) fn read(dir: &Path) -> Result<Model> {
    check_folder(dir)?;
    let load = |name: &str| {
        let path = dir.join(name);
        let read = read_file(&path).and_then(|text| parse_json(&text, &path.display().to_string()));
        read.map_err(|error| error.note("try", ANEW))
    };
    let path = dir.join(MODEL);
    let wrong = |what: &str| {
        Error::input(format!("{} is no model that this version reads: {what}", path.display())).note("try", ANEW)
    };
    let source = Source::from_json(TARGET, &load(TARGET)?)?;
    let file = load(MODEL)?;
    let common: Common = serde_json::from_value(file.clone()).map_err(|error| wrong(&error.to_string()))?;
    if common.format != FORMAT || common.version != VERSION {
        return Err(wrong(&format!("format {}, version {}", common.format, common.version)));
    }
    let everywhere = match common.domain.as_str() {
        "box" => false,
        "all" => true,
        other => return Err(wrong(&format!("domain '{other}', expected box or all"))),
    };
    let WrittenTolerance { eps, norm, lipschitz } = common.tolerance;
    let norm = norm.map(|name| name.parse()).transpose()?;
    if lipschitz.as_ref().is_some_and(|l| *l <= Rat::ZERO) {
        return Err(wrong("a Lipschitz constant that is not positive"));
    }
    let check = Check::named(&common.error.checked, common.error.checked_reason.clone());
    let check = check.ok_or_else(|| wrong(&format!("checked is '{}'", common.error.checked)))?;
    let grid = common.grid;
    if !belongs(&grid, &source) {
        return Err(wrong("its grid is not one of its target's: target.json belongs to another model"));
    }
    let target = Arc::new(source.target(grid.dims())?);
    let tolerance = Tolerance { eps, norm, lipschitz };
    let network = || {
        let written = file.get("network").ok_or_else(|| wrong("missing field `network`"))?;
        let skeleton = serde_json::from_value(written.clone()).map_err(|error| wrong(&error.to_string()))?;
        read_network(dir, &skeleton, (&grid, &target), &common.precision, &wrong)
    };
    let family = families().into_iter().find(|family| family.name() == common.construction).ok_or_else(|| {
        let known: Vec<&str> = families().into_iter().map(Family::name).collect();
        wrong(&format!("construction '{}', expected one of {}", common.construction, known.join(", ")))
    })?;
    let read = family.read(&Folder {
        path: &path,
        file: &file,
        positional: common.positional,
        as_printed: &common.as_printed,
        everywhere,
        precision: &common.precision,
        grid: &grid,
        target: &target,
        tolerance: &tolerance,
        network: &network,
    })?;
    let mut model =
        Model::new(source, Arc::clone(&target), grid.clone(), read.assumptions, tolerance.clone(), read.built);
    model.edited = read.edited.map_or_else(OnceLock::new, OnceLock::from);
    if let Some(WrittenHost { class, eps }) = common.host {
        host::named(&class).map_err(|error| wrong(error.headline()))?;
        model = model.hosted(Host { class, eps });
    }
    model.was_checked(check);
    Ok(model)
}

/// True if a grid is one of a target's.
fn belongs(grid: &Grid, source: &Source) -> bool {
    source.tokens().is_none_or(|tokens| tokens == grid.tokens())
        && source.dims().is_none_or(|dims| dims == grid.dims())
        && source.resolution().is_none_or(|resolution| resolution == grid.resolution())
        && source.cube() == (grid.low().clone(), grid.high().clone())
}

/// The float network of a folder, for this grid and target and of this precision.
fn read_network(
    dir: &Path,
    skeleton: &Skeleton,
    (grid, target): (&Grid, &Target),
    precision: &str,
    wrong: &impl Fn(&str) -> Error,
) -> Result<FloatNetwork> {
    let weights = dir.join(WEIGHTS);
    let bytes = fs::read(&weights)
        .map_err(|error| Error::input(format!("cannot read {}: {error}", weights.display())).note("try", ANEW))?;
    let network = skeleton.read(&bytes, &weights.display().to_string())?;
    let fits = network.tokens == grid.tokens()
        && network.dims() == grid.dims()
        && network.output_dims() == target.output_dims();
    if !fits {
        return Err(wrong("its network is not one of its target's, or not of its precision"));
    }
    if precision != network.precision.name() {
        return Err(wrong(&format!("it says {precision}, and its network is {}", network.precision)));
    }
    Ok(network)
}
