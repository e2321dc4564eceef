//! The files of a folder: regular files no longer than the checker reads.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use crate::part::LONGEST_PART;
use crate::prove::{MOST_TEXT, MOST_WEIGHTS};
use crate::read::certificate::{HostCertificate, LONGEST};
use crate::{
    Effort, Files, HostFiles, Line, Part, Reason, Verdict, check_host, check_with, proved_host_lines, proved_lines,
};

/// The longest file of weights that is read: doubles, with the longest header.
const MOST_BYTES: usize = MOST_TEXT.saturating_add(MOST_WEIGHTS.saturating_mul(8)).saturating_add(8);

/// The files, and the most bytes that are read of each.
const FILES: [(&str, usize); 3] =
    [("certificate.fwc", LONGEST), ("target.json", MOST_TEXT), ("model.safetensors", MOST_BYTES)];

/// The files beside these that a host has: of the second, nothing where its certificate does not name it.
const HOST: [(&str, usize); 2] = [("config.json", MOST_TEXT), ("inputs.safetensors", MOST_BYTES)];

/// The files of a folder.
pub struct Folder {
    files: [Vec<u8>; 3],
    host: Option<[Vec<u8>; 2]>,
    /// The first one that is longer than is read, and is no certificate.
    long: Option<Reason>,
}

impl Folder {
    /// Reads the files, or says why one cannot be read. Only regular files are read: others may never end.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let (mut files, mut long) = ([const { Vec::new() }; 3], None);
        for ((name, most), file) in FILES.into_iter().zip(&mut files) {
            *file = read(&folder.join(name), most)?;
            // A certificate that is too long is at fault, and the checker says so.
            if file.len() > most && name != "certificate.fwc" && long.is_none() {
                let what = format!("{name} is longer than the limit of {most} bytes");
                long = Some(Reason { obligation: "scope", what });
            }
        }
        let [certificate, ..] = &files;
        let mut host = None;
        if HostCertificate::is_one(certificate) {
            let mut more = [const { Vec::new() }; 2];
            for ((name, most), file) in HOST.into_iter().zip(&mut more) {
                let line = format!("\nsha256 {name} ");
                if certificate.windows(line.len()).any(|bytes| bytes == line.as_bytes()) {
                    *file = read(&folder.join(name), most)?;
                }
                if file.len() > most && long.is_none() {
                    let what = format!("{name} is longer than the limit of {most} bytes");
                    long = Some(Reason { obligation: "scope", what });
                }
            }
            host = Some(more);
        }
        Ok(Self { files, host, long })
    }

    /// The bytes of the files, if it is the folder of a host.
    fn hosted(&self) -> Result<Option<HostFiles<'_>>, Verdict> {
        let files = self.files()?;
        Ok(self.host.as_ref().map(|[config, inputs]| HostFiles { files, config, inputs }))
    }

    /// The verdict on the claim.
    pub fn check(&self, effort: &Effort<'_>) -> Verdict {
        let verdict = self.hosted().and_then(|host| match host {
            Some(host) => Ok(check_host(&host)),
            None => Ok(check_with(&self.files()?, effort)),
        });
        verdict.unwrap_or_else(|verdict| verdict)
    }

    /// The lines that say what registers mean, as they are proved; or the verdict, where one of them is not.
    pub fn lines(&self) -> Result<Vec<Line>, Verdict> {
        match self.hosted()? {
            Some(host) => proved_host_lines(&host),
            None => proved_lines(&self.files()?),
        }
    }

    /// The bytes of the files; or the verdict, where there are more than are read.
    pub fn files(&self) -> Result<Files<'_>, Verdict> {
        let [certificate, target, weights] = &self.files;
        self.long
            .as_ref()
            .map_or(Ok(Files { certificate, target, weights }), |long| Err(Verdict::Declined(long.clone())))
    }
}

/// Checks the claim of a folder, or says why a file cannot be read.
pub fn check_folder(folder: &Path) -> Result<Verdict, String> {
    Ok(Folder::read(folder)?.check(&Effort::default()))
}

/// Checks the claim of a host whose files are given by their names; nothing if it has no certificate.
pub fn check_named(files: &[(String, Vec<u8>)]) -> Option<Verdict> {
    let file = |wanted: &str| files.iter().find(|(name, _)| name == wanted).map(|(_, bytes)| bytes.as_slice());
    let [certificate, target, weights] = FILES.map(|(name, _)| file(name));
    let [config, inputs] = HOST.map(|(name, _)| file(name));
    let files = Files { certificate: certificate?, target: target?, weights: weights? };
    Some(check_host(&HostFiles { files, config: config?, inputs: inputs.unwrap_or(&[]) }))
}

/// True if these are the bytes of a certificate of a host, well-formed or not.
pub fn is_host(certificate: &[u8]) -> bool {
    HostCertificate::is_one(certificate)
}

/// Reads a part of a check, or says why it is none.
pub fn read_part(path: &Path) -> Result<Result<Part, String>, String> {
    Ok(Part::read(&read(path, LONGEST_PART)?))
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
