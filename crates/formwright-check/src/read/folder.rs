//! The files of a folder: regular files no longer than the checker reads.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use crate::prove::{MOST_TEXT, MOST_WEIGHTS};
use crate::read::certificate::LONGEST;
use crate::{Files, Reason, Verdict, check};

/// The longest file of weights that is read: doubles, with the longest header.
const MOST_BYTES: usize = MOST_TEXT.saturating_add(MOST_WEIGHTS.saturating_mul(8)).saturating_add(8);

/// The files, and the most bytes that are read of each.
const FILES: [(&str, usize); 3] =
    [("certificate.fwc", LONGEST), ("target.json", MOST_TEXT), ("model.safetensors", MOST_BYTES)];

/// Checks the claim of a folder, or says why a file cannot be read. Only regular files are read: others may never end.
pub fn check_folder(folder: &Path) -> Result<Verdict, String> {
    let mut all = Vec::new();
    for (name, most) in FILES {
        let bytes = read(&folder.join(name), most)?;
        // A certificate that is too long is at fault, and the checker says so.
        if bytes.len() > most && name != "certificate.fwc" {
            let what = format!("{name} is longer than the limit of {most} bytes");
            return Ok(Verdict::Declined(Reason { obligation: "scope", what }));
        }
        all.push(bytes);
    }
    let [certificate, target, weights] = all.as_slice() else { return Err("not three files".to_owned()) };
    Ok(check(&Files { certificate, target, weights }))
}

/// Reads a file. If it is longer than the limit, reads one byte more than the limit.
fn read(path: &Path, most: usize) -> Result<Vec<u8>, String> {
    let fail = |error: &dyn std::fmt::Display| format!("cannot read {}: {error}", path.display());
    // This comes before opening: opening a pipe waits for somebody to write.
    if !fs::metadata(path).map_err(|error| fail(&error))?.is_file() {
        return Err(fail(&"it is no regular file"));
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)).map_err(|error| fail(&error))?;
    Ok(bytes)
}
