//! Numbers that a user can make large: each gets an answer that says how large it would be, in a gigabyte.

use std::fmt::Write as _;
use std::process::{Command, Output};

/// Runs a command in one gigabyte of address space, and in a minute of the processor even where nothing is optimised.
fn bounded(arguments: &[&str]) -> Output {
    Command::new("sh")
        .args([
            "-c",
            "ulimit -v 1048576 && ulimit -t 60 && exec \"$0\" --quiet \"$@\"",
            env!("CARGO_BIN_EXE_formwright"),
        ])
        .args(arguments)
        // Room for threads is not what is bounded here.
        .envs([("RAYON_NUM_THREADS", "2"), ("MALLOC_ARENA_MAX", "2")])
        .output()
        .expect("a shell")
}

/// Asserts that a command is declined with this headline, a limit and something to do.
fn declined(arguments: &[&str], headline: &str) {
    let output = bounded(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {:?} {said}", output.status);
    assert_eq!(said.lines().next(), Some(format!("error: {headline}").as_str()), "{arguments:?}: {said}");
    for label in ["\n  limit", "\n  try"] {
        assert!(said.contains(label), "{arguments:?}: {said}");
    }
}

#[test]
fn tokens_and_coordinates() {
    let tokens = |tokens: &str| format!("a sequence of {tokens} tokens of 1 coordinate would have {tokens} numbers");
    for command in ["build", "plan"] {
        for many in ["16385", "1000000000", "18446744073709551615"] {
            declined(&[command, "x - mean(x)", "--tokens", many], &tokens(many));
        }
        declined(&[command, "max(x)", "--tokens", "1000000"], &tokens("1000000"));
        for many in ["257", "1000000", "18446744073709551615"] {
            let headline = format!("a token would have {many} coordinates");
            declined(&[command, "x", "--dims", many], &headline);
        }
        declined(
            &[command, "x", "--dims", "256", "--tokens", "65"],
            "a sequence of 65 tokens of 256 coordinates would have 16640 numbers",
        );
        declined(
            &[command, "histogram", "--tokens", "10000"],
            "one value of the target at 10000 tokens of 1 coordinate would take about 500000000 steps",
        );
    }
    for construction in ["yun", "sum-code", "sumformer-discrete", "sumformer", "circuit"] {
        declined(&["build", "x", "--construction", construction, "--tokens", "1000000000"], &tokens("1000000000"));
    }
    declined(&["build", "x - mean(x)", "--attention", "sparse:star", "--tokens", "1000000"], &tokens("1000000"));
}

#[test]
fn sizes_of_heads() {
    for command in ["build", "plan"] {
        for (kind, drawn) in [("linformer", "6000000000"), ("performer", "1000000000")] {
            let attention = format!("{kind}:1000000000");
            let headline = format!("{kind} attention of size 1000000000 would draw {drawn} numbers");
            let arguments = [command, "x - mean(x)", "--construction", "circuit", "--attention", &attention];
            if command == "build" {
                declined(&arguments, &headline);
            } else {
                let said = bounded(&arguments);
                let text = String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
                assert!(matches!(said.status.code(), Some(0 | 2)) && text.contains(&headline), "{text}");
            }
        }
    }
    declined(
        &["build", "z-score", "--construction", "circuit", "--attention", "performer:1000000", "--tokens", "64"],
        "performer attention of size 1000000 would have 64000000 features of 64 tokens",
    );
    declined(
        &["build", "z-score", "--construction", "circuit", "--attention", "performer:1000000", "--tokens", "3"],
        "performer attention of size 1000000 would have 3000000 features of 3 tokens",
    );
    declined(
        &["contextual", "linformer:1000000000:gaussian"],
        "linformer:1000000000:gaussian would draw 3000000000 weights for 3 tokens",
    );
    declined(
        &["contextual", "sumformer", "--tokens", "1000000000"],
        "the sequences of the intermediate value theorem have 1000000000 tokens",
    );
}

#[test]
fn degrees() {
    let sumformer = |text: &str, more: &[&str], headline: &str| {
        let output = bounded(&[&["build", text, "--construction", "sumformer"], more].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}: {:?} {said}", output.status);
        assert!(said.contains(headline), "{text}: {said}");
    };
    sumformer("((x^1000)^1000)^1000", &[], "1000000000 power sums up to degree 1000000000");
    sumformer("x*mean(x)", &["--basis", "fit:1000000000"], "1000000000 power sums up to degree 1000000000");
    sumformer("(x.0*x.1)^999", &["--dims", "256", "--tokens", "2"], "more than 2^255 power sums up to degree 1998");
    let mut lets = String::from("let a1 = x * mean(x); ");
    for k in 2..=40 {
        write!(lets, "let a{k} = a{} * mean(a{}); ", k - 1, k - 1).expect("a string");
    }
    sumformer(&format!("{lets}a40"), &[], "power sums up to degree 4294967295");
    // There is a circuit of it, or there is none: either way there is an answer.
    let whole = bounded(&["build", &format!("{lets}a40"), "--construction", "circuit"]);
    assert!(matches!(whole.status.code(), Some(0..=2)), "{whole:?}");
    let power = bounded(&["build", "((x^1000)^1000)^1000"]);
    assert!(matches!(power.status.code(), Some(0..=2)), "{power:?}");
}

#[test]
fn gates() {
    let circuit = |text: &str, more: &[&str]| bounded(&[&["build", text, "--construction", "circuit"], more].concat());
    let many = circuit("let y = 2 * x; sort(x) + sort(y) on integers 0..256", &[]);
    let long = circuit("sort(x)", &["--tokens", "16384"]);
    for (output, headline) in [
        (many, "the circuit would have 2297 inputs and gates"),
        (long, "sorting 16384 tokens would take 1720320 ends of comparators"),
    ] {
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{:?} {said}", output.status);
        assert!(said.starts_with(&format!("error: {headline}\n")), "{said}");
    }
}

/// Without distinct columns there are no ids: the real cause comes first, and no drift of theirs is asked for.
#[test]
fn more_tokens_than_columns() {
    let headline = |tokens| format!("{tokens} tokens cannot have distinct columns: the grid has only D = 4");
    for (tokens, format) in [("5", "f32"), ("1000", "f32"), ("1000", "f64"), ("1000", "exact")] {
        let grid = ["--construction", "yun", "--norm", "l2", "--resolution", "4", "--precision", format];
        let output = bounded(&[&["build", "x - mean(x)", "--tokens", tokens][..], &grid].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{format}: {said}");
        assert!(said.starts_with(&format!("error: {}", headline(tokens))), "{format}: {said}");
    }
}

/// Tolerances that no grid meets: what is reached is said, without the bounds of all grids being worked out.
#[test]
fn tolerances_that_no_grid_meets() {
    let not_met = |arguments: &[&str], try_this: &str| {
        let output = bounded(&[&["build"], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {:?} {said}", output.status);
        assert!(said.starts_with("error: the tolerance ") && said.contains(" in l2 is not met\n"), "{said}");
        assert!(said.contains(&format!("\n  try      --eps {try_this}")), "{arguments:?}: {said}");
    };
    let tiny = ["--eps", "1e-6", "--norm", "l2"];
    let with = |target: &'static str, more: &[&'static str]| [&[target], more, &tiny].concat();
    not_met(&with("x - mean(x)", &["--construction", "yun"]), "2.007e-6, the least that was found");
    not_met(&with("z-score", &["--construction", "yun"]), "5.053e-1, the least that was found");
    not_met(&with("x - mean(x)", &["--construction", "sum-code"]), "1.833e-2, the least that was found");
    let stated = ["--construction", "yun", "--lipschitz", "1e300"];
    not_met(&with("x - mean(x)", &stated), "2.007e-6, the least that was found");
    // A code of eight tokens takes a walk through the powers of a large field.
    let eight = ["x - mean(x)", "--construction", "sum-code", "--tokens", "8", "--eps", "1e-4", "--norm", "l2"];
    not_met(&eight, "3.536e-1, the least that was found");
}

/// Ids of a thousand tokens have ten thousand digits: the largest is a formula, and no context is worked out for it.
#[test]
fn ids_of_many_tokens() {
    for arguments in [
        ["build", "x mod 7 on integers 0..100000", "--tokens", "1000"],
        ["plan", "sum(x) mod 1000003 on integers 0..1000000", "--tokens", "1000"],
    ] {
        let output = bounded(&arguments);
        assert!(matches!(output.status.code(), Some(0..=2)), "{arguments:?}: {output:?}");
    }
}

/// Many tokens of many coordinates: ids of a lattice are not worked out to say that they are too long, and one formula is for
/// all grids that are too fine to be looked at cell by cell.
#[test]
fn lattices_of_many_tokens() {
    for dims in ["4", "8"] {
        declined(
            &["build", "median", "--construction", "yun", "--positional", "--tokens", "2000", "--dims", dims],
            "the network of 2000 tokens would be too large to run",
        );
    }
    let fine = bounded(&["build", "x*mean(x)", "--eps", "1e-6", "--norm", "l1", "--tokens", "64", "--dims", "8"]);
    assert!(matches!(fine.status.code(), Some(0..=2)), "{fine:?}");
}

/// A witness against symmetry is looked for in a bounded number of steps, and not at all for a circuit.
#[test]
fn witnesses_among_many_tokens() {
    for construction in ["yun", "sum-code", "sumformer-discrete"] {
        let output = bounded(&["build", "sort-integers", "--construction", construction, "--tokens", "16384"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{construction}: {:?}", output.status);
        assert!(said.starts_with("error: the target is not permutation-equivariant"), "{construction}: {said}");
    }
    for arguments in [["median", "--tokens", "1000"], ["sort-integers", "--tokens", "16384"]] {
        let output = bounded(&[&["build", "--construction", "circuit"], &arguments[..]].concat());
        assert!(matches!(output.status.code(), Some(0..=2)), "{arguments:?}: {output:?}");
    }
}

/// The look-ups of a sum of codes, of values and of the walk to its codes, are counted before they are listed.
#[test]
fn value_maps_of_sums_of_codes() {
    let parity = ["build", "sum(x) mod 2 on integers 0..2", "--tokens", "10000", "--construction"];
    declined(
        &[&parity[..], &["sumformer-discrete", "--precision", "f64"]].concat(),
        "the value map has the target's values at 10001 multisets, of 50000 steps each",
    );
    declined(&[&parity[..], &["sum-code"]].concat(), "the codes would take a walk through 2^10000 powers");
    let exact = ["build", "x^100 on integers 0..1000", "--construction", "sum-code", "--tokens", "3"];
    declined(&exact, "the codes would take a walk through 1009^3 = 1027243729 powers");
}

/// The sizes that are allowed are built, by the constructions to which they are nothing.
#[test]
fn what_is_large_and_cheap_is_built() {
    for arguments in [
        ["build", "x - mean(x)", "--construction", "circuit", "--tokens", "4096"],
        ["build", "x", "--construction", "circuit", "--dims", "64"],
        // Gates that do the same to each coordinate are looked at once.
        ["build", "softmax", "--construction", "circuit", "--dims", "32"],
    ] {
        let output = bounded(&arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A hundred thousand short sequences are read and printed as they come, from JSON and from `.npy`.
#[test]
fn run_holds_a_few_sequences_at_a_time() {
    let dir = tempfile::tempdir().expect("a folder");
    let place = |name: &str| dir.path().join(name).display().to_string();
    let (model, input, output) = (place("model"), place("x.json"), place("y.npy"));
    assert!(bounded(&["build", "x - mean(x)", "--construction", "circuit", "-o", &model]).status.success());
    let many = 100_000;
    let batch = vec!["[[0.125], [0.5], [\"3/8\"]]"; many].join(",\n");
    std::fs::write(&input, format!("[{batch}]")).expect("a file");
    let run = |arguments: &[&str]| {
        // The program itself takes some 40 MB of addresses, and its threads as much again; all sequences at once took 270 MB.
        let limited = "ulimit -v 200000 && exec \"$0\" run \"$@\"";
        Command::new("sh")
            .args(["-c", limited, env!("CARGO_BIN_EXE_formwright"), &model])
            .args(arguments)
            .envs([("RAYON_NUM_THREADS", "1"), ("MALLOC_ARENA_MAX", "1")])
            .output()
            .expect("a shell")
    };
    let lines = run(&["--input", &input]);
    assert!(lines.status.success(), "{}", String::from_utf8_lossy(&lines.stderr));
    assert_eq!(String::from_utf8_lossy(&lines.stdout).lines().count(), many);
    let document = run(&["--input", &input, "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&document.stdout).expect("one document");
    assert_eq!(document["outputs"].as_array().map(Vec::len), Some(many));
    let written = run(&["--input", &input, "--output", &output]);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let bytes = std::fs::read(&output).expect("an array");
    assert_eq!((&bytes[..8], bytes.len()), (&b"\x93NUMPY\x01\x00"[..], 128 + many * 3 * 4));
    let again = run(&["--input", &input, "--output", &output]);
    assert_eq!(again.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&again.stderr).contains("nothing is overwritten"));
    assert_eq!(std::fs::read(&output).expect("an array"), bytes);
    let back = run(&["--input", &output]);
    assert!(back.status.success());
    assert_eq!(String::from_utf8_lossy(&back.stdout).lines().count(), many);
}
