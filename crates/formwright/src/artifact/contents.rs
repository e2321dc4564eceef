//! The files that a checker reads.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{CERTIFICATE, LONGEST, MODEL, TARGET, WEIGHTS, certificate, check_folder, tensors, text};
use crate::construct::families;
use crate::error::{Error, Result};
use crate::model::{ANEW, Model, Stated};
use crate::network::FloatNetwork;

/// The files of a model that a checker reads, byte for byte as it is written.
#[derive(Clone, Debug)]
pub struct Contents {
    /// `target.json`.
    pub target: Vec<u8>,
    /// `model.safetensors`, of a float model.
    pub weights: Option<Vec<u8>>,
    /// `certificate.fwc`, if something is claimed that it has words for.
    pub certificate: Option<Vec<u8>>,
}

impl Contents {
    /// The files of a model, before anything is written.
    pub fn of(model: &Model) -> Result<Self> {
        Self::of_network(model, model.stated()?.as_ref(), model.float())
    }

    /// The same with another network for the model's target, of which this is claimed.
    pub fn of_network(model: &Model, stated: Option<&Stated>, network: Option<&FloatNetwork>) -> Result<Self> {
        let target = text(&model.source.to_json());
        let weights = network.map(tensors::to_bytes).transpose()?;
        let certificate = match (stated, network, &weights) {
            (Some(stated), Some(network), Some(weights)) => {
                certificate::text(model, stated, network, (&target, weights))
            }
            _ => None,
        };
        Ok(Self { target, weights, certificate: certificate.map(String::into_bytes) })
    }

    /// The files of a folder, whatever is in them. Without a certificate there is nothing to check, and no weights are read.
    pub fn read(dir: &Path) -> Result<Self> {
        check_folder(dir)?;
        let load = |name: &str| {
            let path = dir.join(name);
            let fail = |why: &dyn std::fmt::Display| {
                Error::input(format!("cannot read {}: {why}", path.display())).note("try", ANEW)
            };
            // Opening a pipe would wait for somebody to write.
            let about = fs::metadata(&path).map_err(|error| fail(&error))?;
            if !about.is_file() {
                return Err(fail(&"it is no regular file"));
            }
            if about.len() > LONGEST {
                return Err(Error::declined(format!("{} has {} bytes", path.display(), about.len()))
                    .note("limit", format!("{LONGEST} bytes are the most that the checker looks at")));
            }
            fs::read(&path).map_err(|error| fail(&error))
        };
        let certificate = dir.join(CERTIFICATE).exists().then(|| load(CERTIFICATE)).transpose()?;
        let weights = certificate.as_ref().map(|_| load(WEIGHTS)).transpose()?;
        Ok(Self { target: load(TARGET)?, weights, certificate })
    }

    /// Its files, by name.
    pub fn files(&self) -> Vec<(&'static str, &[u8])> {
        let all = [
            (TARGET, Some(self.target.as_slice())),
            (WEIGHTS, self.weights.as_deref()),
            (CERTIFICATE, self.certificate.as_deref()),
        ];
        all.into_iter().filter_map(|(name, bytes)| Some((name, bytes?))).collect()
    }

    /// Why a model whose claim the checker rejects is not written.
    pub fn refused(reason: &str) -> Error {
        Error::rejected("the checker rejects the claim of this network, and nothing was written")
            .note("reason", reason)
            .note("try", "to report it, with this message; ⟨no-check⟩ writes the network all the same")
    }

    /// Why a folder without a certificate cannot be checked.
    pub fn no_certificate(dir: &Path) -> Error {
        let file: Value =
            serde_json::from_str(&fs::read_to_string(dir.join(MODEL)).unwrap_or_default()).unwrap_or_default();
        let family = families().into_iter().find(|family| file["construction"] == family.name());
        if let Some(error) = family.and_then(|family| family.no_certificate(dir)) {
            return error;
        }
        Error::input(format!("there is no certificate in {}", dir.display()))
            .note(
                "reason",
                "an exact model has none, nor has one of which nothing, or only a grid's points, is claimed",
            )
            .note("try", "build it with a tolerance, such as ⟨eps=1/10⟩ ⟨norm=l2⟩, and ⟨precision=f64⟩")
    }
}
