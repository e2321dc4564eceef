//! `formwright check`, and the check that `build` makes before it writes.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use formwright::artifact::{Contents, sha256};
use formwright::compile;
use formwright::error::{Error, Result};
use formwright_check::{Files, Verdict};
use serde_json::{Map, Value, json};

use crate::Answer;
use crate::show::working;

#[derive(Args)]
pub struct Check {
    /// The folder that `build` wrote, with a float model.
    dir: PathBuf,
}

impl Check {
    /// The verdict, and its exit code.
    pub fn execute(&self) -> Result<(Answer, ExitCode)> {
        let contents = Contents::read(&self.dir)?;
        let _working = working("checking the claim");
        let hosted = contents.certificate.as_deref().is_some_and(formwright_check::is_host);
        let verdict = if hosted { Some(self.hosted()?) } else { verdict(&contents) };
        let Some(verdict) = verdict else { return Err(Contents::no_certificate(&self.dir)) };
        let (code, reason) = match &verdict {
            Verdict::Accepted(_) => (0, None),
            Verdict::Rejected(reason) => (1, Some(reason.to_string())),
            Verdict::Declined(reason) => (2, Some(reason.to_string())),
        };
        let mut hashes: Map<String, Value> =
            contents.files().into_iter().map(|(name, bytes)| (name.to_owned(), sha256(bytes).into())).collect();
        let named = contents.certificate.as_deref().filter(|_| hosted).map(String::from_utf8_lossy);
        for name in named.iter().flat_map(|text| text.lines()).filter_map(|line| line.split(' ').nth(1)) {
            if ["config.json", "inputs.safetensors"].contains(&name) {
                let bytes = std::fs::read(self.dir.join(name))
                    .map_err(|error| Error::input(format!("cannot read {name}: {error}")))?;
                hashes.insert(name.to_owned(), sha256(&bytes).into());
            }
        }
        let claim = claim(&contents);
        let json = json!({"verdict": verdict.name(), "reason": reason, "claim": claim, "sha256": hashes});
        Ok((Answer { text: verdict.to_string(), json }, ExitCode::from(code)))
    }

    /// The verdict on a network in a stock Transformer, of more files.
    fn hosted(&self) -> Result<Verdict> {
        formwright_check::check_folder(&self.dir).map_err(Error::input)
    }
}

/// The lines of a certificate that state the claim.
const CLAIM: [&str; 5] = ["badge", "over", "norm", "bound", "tokens"];

/// The claim as the certificate states it, proved or not; `None` if it states none.
fn claim(contents: &Contents) -> Option<Map<String, Value>> {
    let text = std::str::from_utf8(contents.certificate.as_deref()?).ok()?;
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    CLAIM.into_iter().map(|name| Some((name.to_owned(), line(name)?.into()))).collect()
}

/// The checker's verdict on a model's files; `None` if there is no certificate.
pub fn verdict(contents: &Contents) -> Option<Verdict> {
    let Contents { target, weights: Some(weights), certificate: Some(certificate) } = contents else { return None };
    Some(formwright_check::check(&Files { certificate, target, weights }))
}

/// The checker's verdict on a model that was just built, if it has a certificate. A model that it rejects must not be
/// written.
pub fn before_writing(contents: &Contents) -> Result<(compile::Check, Option<String>)> {
    let Some(verdict) = verdict(contents) else { return Ok((compile::Check::NotRun, None)) };
    let said = Some(verdict.to_string());
    match verdict {
        Verdict::Accepted(_) => Ok((compile::Check::Accepted, said)),
        Verdict::Declined(reason) => Ok((compile::Check::Declined(reason.to_string()), said)),
        Verdict::Rejected(reason) => Err(Contents::refused(&reason.to_string())),
    }
}
