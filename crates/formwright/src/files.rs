//! Files: read whole, and written beside their place and renamed, so that nothing half-written is ever seen.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use crate::error::{Error, Result};

/// The text of a file.
pub(crate) fn read_file(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path);
    let text = text.map_err(|error| Error::input(format!("cannot read {}: {error}", path.display())))?;
    // Some editors put a byte order mark in front.
    Ok(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned))
}

/// Refuses a file that is there already.
pub fn check_new(file: &Path) -> Result<()> {
    if file.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(Error::input(format!("{} exists, and nothing is overwritten", file.display()))
        .note("try", "another name, or take it away"))
}

/// Writes a file that is not there yet: beside its place, then renamed.
pub fn write_new(file: &Path, content: &[u8]) -> Result<()> {
    check_new(file)?;
    let fail = |error: io::Error| Error::input(format!("cannot write {}: {error}", file.display()));
    let new = beside(file, "new")?;
    let placed = fs::write(&new, content).map_err(fail).and_then(|()| match fs::hard_link(&new, file) {
        // Somebody was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check_new(file),
        // Not every file system has links.
        Err(_) => fs::rename(&new, file).map_err(fail),
        Ok(()) => Ok(()),
    });
    // Where it was renamed it is gone already.
    drop(fs::remove_file(&new));
    placed
}

/// Writes a folder that is not there yet: beside its place, then renamed.
pub fn write_new_folder(dir: &Path, files: &[(String, Vec<u8>)]) -> Result<()> {
    check_new(dir)?;
    let fail = |error: io::Error| Error::input(format!("cannot write {}: {error}", dir.display()));
    let new = beside(dir, "new")?;
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let written = write_files(&files, &new).and_then(|()| fs::rename(&new, dir)).map_err(fail);
    if written.is_err() {
        // The error that is reported is the one that came first.
        drop(fs::remove_dir_all(&new));
    }
    written
}

/// A name beside `dir` that is this call's own: of this process, and of no other thread of it.
pub fn beside(dir: &Path, what: &str) -> Result<PathBuf> {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let name =
        dir.file_name().ok_or_else(|| Error::input(format!("{} names neither a folder nor a file", dir.display())))?;
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let name = format!(".{}.{what}-{}-{call}", name.to_string_lossy(), std::process::id());
    Ok(dir.with_file_name(name))
}

/// Writes the files of a new folder.
pub(crate) fn write_files(files: &[(&str, &[u8])], dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for (name, content) in files {
        let file = dir.join(name);
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(file, content)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads of one process, and calls of one thread, write beside each other.
    #[test]
    fn every_call_writes_under_a_name_of_its_own() {
        let name = || beside(Path::new("models/one"), "new").expect("a name");
        let names =
            std::thread::scope(|scope| [scope.spawn(name), scope.spawn(name)].map(|one| one.join().expect("a name")));
        assert_ne!(names[0], names[1]);
        assert_ne!(name(), name());
        assert!(names.iter().all(|name| name.parent() == Some(Path::new("models"))));
    }
}
