//! `fwcheck` reads regular files, and no more of them than it looks at.

#![cfg(unix)]
#![allow(clippy::expect_used, clippy::arithmetic_side_effects)]

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Output};

use super::support::{Artifact, on_integers};

/// A folder with a true claim.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).expect("a folder");
    let net = Artifact::new(on_integers(r#""token""#, 0, 3), 2, "0", &[(1.0, 0.0)], &[1.0]);
    let (target, weights) = (net.target.as_bytes(), net.weights());
    fs::write(folder.join("certificate.fwc"), net.certificate(target, &weights)).expect("written");
    fs::write(folder.join("target.json"), target).expect("written");
    fs::write(folder.join("model.safetensors"), &weights).expect("written");
    folder
}

fn fwcheck(folder: &PathBuf) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fwcheck")).arg(folder).output().expect("fwcheck runs")
}

const FILES: [&str; 3] = ["certificate.fwc", "target.json", "model.safetensors"];

#[test]
fn what_is_no_regular_file_is_not_read() {
    assert_eq!(fwcheck(&folder("regular")).status.code(), Some(0));
    for name in FILES {
        // Nobody writes into the pipe: who waits for it waits for ever.
        for kind in ["pipe", "device", "folder", "missing"] {
            let folder = folder(&format!("{kind}-{name}"));
            let path = folder.join(name);
            fs::remove_file(&path).expect("removed");
            match kind {
                "pipe" => assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo runs").success()),
                "device" => std::os::unix::fs::symlink("/dev/zero", &path).expect("a link"),
                "folder" => fs::create_dir(&path).expect("a folder"),
                _ => {}
            }
            let output = fwcheck(&folder);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(3), "{kind}: {said}");
            let why = if kind == "missing" { "No such file" } else { "it is no regular file" };
            assert!(said.contains(name) && said.contains(why), "{kind}: {said}");
        }
    }
}

#[test]
fn files_have_a_length() {
    for (name, most, code, why) in [
        ("certificate.fwc", 1_u64 << 24, 1, "rejected: format"),
        ("target.json", 1 << 24, 2, "declined: scope: target.json is longer than the limit of 16777216 bytes"),
        ("model.safetensors", (1 << 26) + (1 << 24) + 8, 2, "declined: scope: model.safetensors is longer"),
    ] {
        let folder = folder(&format!("long-{name}"));
        // Zeros that take no place on the disk.
        File::options().write(true).open(folder.join(name)).and_then(|file| file.set_len(most + 1)).expect("longer");
        let output = fwcheck(&folder);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.starts_with(why), "{said}");
    }
}
