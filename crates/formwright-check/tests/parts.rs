//! Parts of a check: together they say what one run says, and what is not all of one check is rejected.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use formwright_check::sha256;

fn corpus(name: &str) -> PathBuf {
    let crate_folder = std::env::var("CARGO_MANIFEST_DIR").expect("the crate's folder");
    Path::new(&crate_folder).join("../../corpus").join(name)
}

fn fwcheck(arguments: &[&str]) -> (i32, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_fwcheck")).args(arguments).output().expect("fwcheck runs");
    (status.code().expect("a code"), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

/// The parts of a folder, in a place of their own.
struct Parts {
    place: PathBuf,
    folder: String,
    names: Vec<String>,
}

impl Parts {
    fn new(test: &str, folder: &str, of: usize) -> Self {
        let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("parts-{test}"));
        drop(fs::remove_dir_all(&place));
        fs::create_dir_all(&place).expect("a folder");
        let folder = corpus(folder).display().to_string();
        let names: Vec<String> = (1..=of).map(|at| place.join(format!("{at}-{of}")).display().to_string()).collect();
        for (at, name) in names.iter().enumerate() {
            let (code, said) = fwcheck(&["--shard", &format!("{}/{of}", at + 1), "-o", name, &folder]);
            assert!(code < 3, "{said}");
        }
        Self { place, folder, names }
    }

    fn merged(&self) -> (i32, String) {
        merge(&self.names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// A part with its text changed, and its sum made right again or not.
    fn altered(&self, at: usize, change: impl Fn(&str) -> String, summed: bool) -> String {
        let text = change(&fs::read_to_string(&self.names[at]).expect("a part"));
        let lines = text.split_inclusive('\n');
        let body: String = lines.take_while(|line| !line.starts_with("sum ")).collect();
        let sum = sha256(body.as_bytes());
        let text = if summed { format!("{body}sum {sum}\nend\n") } else { text };
        let name = self.place.join("altered").display().to_string();
        fs::write(&name, text).expect("written");
        name
    }
}

fn merge(parts: &[&str]) -> (i32, String) {
    fwcheck(&[&["merge"], parts].concat())
}

#[test]
fn parts_say_what_one_run_says() {
    for (name, of) in [
        ("accept/circuit-sort", 1),
        ("accept/circuit-sort", 7),
        ("accept/circuit-gather", 5),
        ("accept/circuit-gather", 40),
        ("accept/yun-4x3", 3),
    ] {
        let parts = Parts::new("same", name, of);
        let alone = fwcheck(&[&parts.folder]);
        assert_eq!(parts.merged(), alone, "{name} in {of}");
        let backwards: Vec<&str> = parts.names.iter().rev().map(String::as_str).collect();
        assert_eq!(merge(&backwards), alone);
        assert_eq!(merge(&[&["--of", &parts.folder], backwards.as_slice()].concat()), alone);
    }
}

/// If one part rejects or declines, all of them do.
#[test]
fn parts_of_what_is_not_accepted_say_so() {
    let (mut points, mut declined) = (0, 0);
    for entry in ["reject", "decline"].into_iter().flat_map(|kind| fs::read_dir(corpus(kind)).expect("a folder")) {
        let path = entry.expect("an entry").path();
        let alone = fwcheck(&[&path.display().to_string()]);
        let parts = Parts::new("other", &path.strip_prefix(corpus("")).expect("inside").display().to_string(), 3);
        let merged = parts.merged();
        assert!(merged.0 == alone.0 || merged.0 == 2, "{}: {merged:?}, {alone:?}", path.display());
        // Claims over a box are not cut.
        let cut = fs::read_to_string(path.join("certificate.fwc")).is_ok_and(|text| !text.contains("\nover box\n"));
        if cut && alone.1.starts_with("rejected: point") {
            assert_eq!(merged, alone);
            points += 1;
        }
        declined += usize::from(merged.0 == 2);
    }
    assert!(points > 2 && declined > 2, "{points} points, {declined} declined");
}

#[test]
fn parts_that_are_not_all_of_one_check_are_rejected() {
    let parts = Parts::new("broken", "accept/circuit-sort", 4);
    let [a, b, c, d] = parts.names.iter().map(String::as_str).collect::<Vec<_>>().try_into().expect("four parts");
    assert_eq!(merge(&[a, b, c, d]).0, 0);
    let rejected = |parts: &[&str], why: &str| {
        let (code, said) = merge(parts);
        assert!(code == 1 && said.starts_with("rejected: parts: ") && said.contains(why), "{why}: {said}");
    };
    rejected(&[a, b, d], "shard 3 of 4 is missing");
    rejected(&[b, c, d], "shard 1 of 4 is missing");
    rejected(&[a, b, c], "shard 4 of 4 is missing");
    rejected(&[a, b, b, c, d], "shard 2 of 4 is there more than once");
    rejected(&[a, b, c, c], "shard 3 of 4 is there more than once");
    // Of another check.
    let others = Parts::new("others", "accept/circuit-max", 4);
    rejected(&[a, b, c, &others.names[3]], "another certificate.fwc");
    let fewer = Parts::new("fewer", "accept/circuit-sort", 3);
    rejected(&[a, b, c, &fewer.names[2]], "3 shards, not 4");
    let of = |folder: &str| fwcheck(&["merge", "--of", folder, a, b, c, d]);
    assert_eq!(of(&parts.folder).0, 0);
    let (code, said) = of(&others.folder);
    assert!(code == 1 && said.contains("the folder's has"), "{said}");
    // Altered, with its sum made right again or not.
    let altered = |from: &str, to: &str, summed: bool, why: &str| {
        let change = |text: &str| {
            assert!(text.contains(from), "{from} is not in {text}");
            text.replacen(from, to, 1)
        };
        rejected(&[a, &parts.altered(1, change, summed), c, d], why);
    };
    altered("sequences 5 10 20", "sequences 5 11 20", false, "it was altered");
    altered("sequences 5 10 20", "sequences 5 11 20", true, "its sequences are not those of shard 2 of 4 of 20");
    altered("sequences 5 10 20", "sequences 5 10 21", true, "not 20");
    altered("sequences 5 10 20", "sequences 05 10 20", true, "not counted");
    altered("shard 2 4", "shard 3 4", true, "its sequences are not those of shard 3");
    altered("shard 2 4", "shard 5 4", true, "names no shard");
    altered("checker 0", "checker 9", true, "the checker 9");
    altered("sha256 target.json ", "sha256 target.json 0", true, "another target.json");
    altered("formwright-part 1", "formwright-part 2", true, "another version");
    altered("verdict accepted", "verdict perhaps", true, "its verdict is none");
    altered("said sup", "said another claim: sup", true, "different claims");
    altered("end\n", "", false, "not written as parts are");
    altered("end\n", "end\n\n", false, "not written as parts are");
    altered("verdict accepted\n", "", true, "missing, or out of place");
    let empty = parts.altered(1, |_| String::new(), false);
    rejected(&[a, &empty, c, d], "missing, or out of place");
    // A part that rejects is heard.
    let change =
        |text: &str| text.replace("verdict accepted", "verdict rejected").replace("said sup", "said point: sup");
    let (code, said) = merge(&[a, &parts.altered(1, change, true), c, d]);
    assert!(code == 1 && said.starts_with("rejected: point: sup"), "{said}");
}

#[test]
fn a_claim_over_a_box_has_no_shards() {
    let parts = Parts::new("box", "accept/yun-box", 2);
    let (code, said) = parts.merged();
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("only claims over integers are cut into shards"), "{said}");
}

#[test]
fn what_cannot_be_asked_is_said() {
    let folder = corpus("accept/circuit-sort").display().to_string();
    let asked = |arguments: &[&str], why: &str| {
        let (code, said) = fwcheck(arguments);
        assert!(code == 3 && said.contains(why), "{arguments:?}: {said}");
    };
    asked(&[], "a folder is missing");
    asked(&[&folder, &folder], "one folder is checked at a time");
    asked(&["--quick", &folder], "there is no option --quick");
    asked(&["--shard", "1/2", &folder], "--shard needs -o PART");
    asked(&["-o", "part", &folder], "-o belongs to --shard");
    asked(&["--shard"], "--shard needs a value");
    for shard in ["0/2", "3/2", "1", "1/0", "a/b", "-1/2", "1/2/3", "1/1048577"] {
        asked(&["--shard", shard, "-o", "part", &folder], "i/k is needed");
    }
    for threads in ["0", "1025", "-1", "many"] {
        asked(&["--threads", threads, &folder], "a number from 1 to 1024 is needed");
    }
    asked(&["--threads", "1", "--threads", "2", &folder], "--threads is given twice");
    asked(&["merge"], "merge needs parts");
    asked(&["merge", "no-such-part"], "cannot read no-such-part");
    asked(&["merge", &folder], "it is no regular file");
    asked(&["--of", &folder, &folder], "--of belongs to merge");
    asked(&["--shard", "1/2", "-o", "/no/such/place", &folder], "cannot write /no/such/place");
    assert_eq!(fwcheck(&["--version"]), (0, format!("fwcheck {}\n", env!("CARGO_PKG_VERSION"))));
    let (code, help) = fwcheck(&["--help"]);
    assert!(code == 0 && help.starts_with("usage: fwcheck"), "{help}");
    assert_eq!(fwcheck(&["--plain", "--threads", "1", &folder]), fwcheck(&[&folder]));
}
