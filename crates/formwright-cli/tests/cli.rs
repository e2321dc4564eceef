//! The binary as a user meets it: every answer and every message is a snapshot, exit code included.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use formwright::artifact::{self, Contents};
use formwright::construct::sumformer::learned::{Dense, Trained};
use formwright::network::Precision;
use formwright::target::Source;
use serde_json::Value;
use tempfile::TempDir;

/// A scratch folder in which the commands run.
pub struct Scratch(TempDir);

struct Outcome {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Scratch {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// The example whose values reach into the windows.
    fn gap(&self) {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/lemma7-gap.json");
        fs::copy(example, self.path("gap.json")).expect("a copy");
    }

    fn folder(&self, name: &str) -> &Self {
        fs::create_dir(self.path(name)).expect("a folder");
        self
    }

    fn write(&self, name: &str, content: &str) -> &Self {
        fs::write(self.path(name), content).expect("a file");
        self
    }

    fn run(&self, arguments: &[&str], input: &str) -> Outcome {
        // How long work takes is not what is tested.
        let mut child = Command::new(env!("CARGO_BIN_EXE_formwright"))
            .arg("--quiet")
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary");
        // A command that refuses its arguments does not read its input.
        drop(child.stdin.take().expect("a pipe").write_all(input.as_bytes()));
        let output = child.wait_with_output().expect("an end");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Outcome {
            code: output.status.code().expect("a code"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// The exit code and the output of a line as one types it.
    pub fn shell(&self, line: &str) -> (i32, String) {
        let binary = Path::new(env!("CARGO_BIN_EXE_formwright")).parent().expect("a folder");
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("sh");
        // `ls` sorts as the language of the user does.
        command.args(["-c", line]).current_dir(self.0.path()).env("PATH", path).env("LC_ALL", "C");
        let output = command.output().expect("a shell");
        (output.status.code().expect("a code"), String::from_utf8(output.stdout).expect("UTF-8"))
    }

    /// A command that must succeed.
    fn done(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments, "");
        assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.stderr);
        outcome.stdout
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.done(arguments)).expect("JSON")
    }

    /// A command that must fail with this code; nothing may be left in the folder besides what was there.
    fn refused(&self, arguments: &[&str], input: &str, code: i32) -> String {
        let before = self.listing();
        let outcome = self.run(arguments, input);
        assert_eq!(outcome.code, code, "{arguments:?}: {}{}", outcome.stdout, outcome.stderr);
        assert_eq!(outcome.stdout, "", "messages go to standard error");
        assert_eq!(self.listing(), before, "nothing is half-written");
        outcome.stderr
    }

    fn listing(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

macro_rules! refusals {
    ($($name:ident: $code:literal $setup:expr, $arguments:expr, $input:expr;)*) => {$(
        #[test]
        fn $name() {
            let scratch = Scratch::new();
            let setup: &dyn Fn(&Scratch) = &$setup;
            setup(&scratch);
            let message = scratch.refused(&$arguments, $input, $code);
            insta::assert_snapshot!(stringify!($name), message);
        }
    )*};
}

fn nothing(_: &Scratch) {}

fn compiled(scratch: &Scratch) {
    scratch.done(&["build", "mean-centring", "--tokens", "2", "--resolution", "4", "-o", "model"]);
}

const TABLE: &str = r#"{"kind":"table","tokens":2,"dims":1,"output_dims":1,"resolution":2,"symmetry":"equivariant",
    "values":[[[0],[0]],[[1],["1/3"]],[["1/3"],[1]],[[0],[0]]]}"#;

fn table(from: &'static str, to: &'static str) -> impl Fn(&Scratch) {
    move |scratch| {
        assert!(TABLE.contains(from));
        scratch.write("table.json", &TABLE.replacen(from, to, 1));
    }
}

/// A file with a pattern.
fn pattern(text: &'static str) -> impl Fn(&Scratch) {
    move |scratch| {
        scratch.write("pattern.json", text);
    }
}

const SPARSE_FILE: [&str; 10] =
    ["build", "x", "--attention", "sparse:file:pattern.json", "--tokens", "2", "--resolution", "2", "-o", "model"];

/// A model with sparse attention of which one text is replaced.
fn sparse_tampered(from: &'static str, to: &'static str) -> impl Fn(&Scratch) {
    move |scratch| {
        scratch.done(&[
            "build",
            "x",
            "--tokens",
            "3",
            "--resolution",
            "2",
            "--attention",
            "sparse:window:1",
            "-o",
            "model",
        ]);
        edit(scratch, "model.json", from, to);
    }
}

/// A compiled model with one text in one of its files replaced.
fn tampered(file: &'static str, from: &'static str, to: &'static str) -> impl Fn(&Scratch) {
    move |scratch| {
        compiled(scratch);
        let path = scratch.path("model").join(file);
        let content = fs::read_to_string(&path).expect("a file");
        assert!(content.contains(from), "{content}");
        fs::write(path, content.replacen(from, to, 1)).expect("a file");
    }
}

/// A compiled float model.
fn floats(scratch: &Scratch) {
    let arguments =
        ["build", "mean-centring", "--tokens", "2", "--resolution", "4", "--precision", "f32", "-o", "model"];
    scratch.done(&arguments);
}

/// A safetensors file, taken apart.
struct Weights {
    header: Value,
    data: Vec<u8>,
}

impl Weights {
    /// The offset of a tensor's bytes.
    fn place(&self, name: &str) -> usize {
        self.header[name]["data_offsets"][0].as_u64().expect(name).try_into().expect("a place")
    }

    fn set(&mut self, name: &str, entry: usize, value: f32) {
        let start = self.place(name) + 4 * entry;
        self.data[start..start + 4].copy_from_slice(&value.to_le_bytes());
    }
}

/// A compiled float model with other weights.
fn weights(change: impl Fn(&mut Weights)) -> impl Fn(&Scratch) {
    move |scratch| {
        if !scratch.path("model").exists() {
            floats(scratch);
        }
        let path = scratch.path("model/model.safetensors");
        let bytes = fs::read(&path).expect("a file");
        let length = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"))).expect("a length");
        let (header, data) = bytes[8..].split_at(length);
        let mut file = Weights { header: serde_json::from_slice(header).expect("JSON"), data: data.to_vec() };
        change(&mut file);
        let header = file.header.to_string().into_bytes();
        let length = (header.len() as u64).to_le_bytes();
        fs::write(path, [&length[..], &header, &file.data].concat()).expect("a file");
    }
}

/// A compiled float model without one of its files.
fn without(file: &'static str) -> impl Fn(&Scratch) {
    move |scratch| {
        floats(scratch);
        fs::remove_file(scratch.path("model").join(file)).expect("a file");
    }
}

/// A compiled float model one of whose files is cut off behind this many bytes.
fn cut(file: &'static str, bytes: usize) -> impl Fn(&Scratch) {
    move |scratch| {
        floats(scratch);
        let path = scratch.path("model").join(file);
        let content = fs::read(&path).expect("a file");
        assert!(bytes < content.len(), "{} bytes", content.len());
        fs::write(path, &content[..bytes]).expect("a file");
    }
}

/// A compiled float model with one text in one of its files replaced.
fn float_tampered(file: &'static str, from: &'static str, to: &'static str) -> impl Fn(&Scratch) {
    move |scratch| {
        floats(scratch);
        let path = scratch.path("model").join(file);
        let content = fs::read_to_string(&path).expect("a file");
        assert!(content.contains(from), "{content}");
        fs::write(path, content.replacen(from, to, 1)).expect("a file");
    }
}

/// A circuit.
fn circuit(scratch: &Scratch) {
    scratch.done(&["build", "mean-centring", "-o", "model"]);
}

/// A Sumformer with one text in its `model.json` replaced.
fn sumformer_tampered(from: &'static str, to: &'static str) -> impl Fn(&Scratch) {
    move |scratch| {
        scratch.done(&["build", "x * mean(x)", "--construction", "sumformer", "-o", "model"]);
        let path = scratch.path("model/model.json");
        let content = fs::read_to_string(&path).expect("a file");
        assert!(content.contains(from), "{content}");
        fs::write(path, content.replacen(from, to, 1)).expect("a file");
    }
}

/// A circuit with one text in its `model.json` replaced.
fn circuit_tampered(from: &'static str, to: &'static str) -> impl Fn(&Scratch) {
    move |scratch| {
        circuit(scratch);
        let path = scratch.path("model/model.json");
        let content = fs::read_to_string(&path).expect("a file");
        assert!(content.contains(from), "{content}");
        fs::write(path, content.replacen(from, to, 1)).expect("a file");
    }
}

fn doubles(scratch: &Scratch) {
    let arguments =
        ["build", "mean-centring", "--tokens", "2", "--resolution", "4", "--precision", "f64", "-o", "model"];
    scratch.done(&arguments);
}

const RUN: [&str; 4] = ["run", "model", "--input", "-"];
const BUILD_TABLE: [&str; 2] = ["build", "table.json"];

refusals! {
    // Sums of codes.
    sum_code_in_sup: 2 nothing, ["build", "mean-centring", "--construction", "sum-code", "--eps", "0.1"], "";
    sumformer_discrete_in_sup: 2 nothing, ["build", "x", "--construction", "sumformer-discrete", "--norm", "sup"], "";
    sum_code_not_equivariant: 2 nothing, ["build", "sort", "--construction", "sum-code", "--resolution", "4"], "";
    sumformer_discrete_not_equivariant: 2 nothing, ["build", "reverse", "--construction", "sumformer-discrete", "--resolution", "4"], "";
    sum_code_walks_too_far: 2 nothing, ["build", "x", "--construction", "sum-code", "--tokens", "8", "--resolution", "64"], "";
    sum_code_has_too_many_columns: 2 nothing, ["build", "x", "--construction", "sum-code", "--dims", "3", "--resolution", "100"], "";
    sum_code_has_too_many_ids: 2 nothing, ["build", "x", "--construction", "sum-code", "--tokens", "4", "--resolution", "60", "--precision", "f64"], "";
    sum_code_does_not_fit_f32: 2 nothing, ["build", "x", "--construction", "sum-code", "--resolution", "16", "--precision", "f32"], "";
    histogram_too_long: 2 nothing, ["build", "x", "--construction", "sumformer-discrete", "--tokens", "2", "--resolution", "40", "--precision", "f64"], "";
    mian_chowla_too_large: 2 nothing, ["build", "x", "--construction", "sum-code", "--code", "mian-chowla", "--tokens", "4", "--resolution", "30"], "";
    field_too_small: 3 nothing, ["build", "x", "--construction", "sum-code", "--code", "bose-chowla:7", "--resolution", "9"], "";
    field_no_number: 3 nothing, ["build", "x", "--construction", "sum-code", "--code", "bose-chowla:ten", "--resolution", "9"], "";
    code_unknown: 3 nothing, ["build", "x", "--construction", "sum-code", "--code", "bose-chowlar", "--resolution", "4"], "";
    values_unknown: 3 nothing, ["build", "x", "--construction", "sum-code", "--values", "ranks", "--resolution", "4"], "";
    code_of_another_construction: 3 nothing, ["build", "x", "--code", "histogram", "--resolution", "4"], "";
    code_with_positions: 3 nothing, ["build", "sort", "--construction", "sum-code", "--positional", "--code", "histogram", "--resolution", "4"], "";
    sum_code_packed: 2 nothing, ["build", "x", "--construction", "sum-code", "--pack", "--resolution", "4"], "";
    sum_code_everywhere: 2 nothing, ["build", "x", "--construction", "sum-code", "--domain", "all", "--resolution", "4"], "";
    sum_code_tolerance_too_small: 1 nothing, ["build", "x", "--construction", "sum-code", "--tokens", "2", "--resolution", "4", "--eps", "1/100", "--norm", "l2"], "";
    // Shapes.
    tokens_0: 3 nothing, ["build", "x", "--tokens", "0", "--resolution", "4"], "";
    tokens_1: 2 nothing, ["build", "x", "--tokens", "1", "--resolution", "4"], "";
    tokens_0_of_a_circuit: 3 nothing, ["build", "x - mean(x)", "--tokens", "0"], "";
    tokens_1_of_sums: 2 nothing, ["build", "x", "--construction", "sum-code", "--tokens", "1", "--norm", "l2"], "";
    // The first line is the cause: what is wrong with the expression, not what cells are for.
    division_by_zero: 2 nothing, ["build", "1/x"], "";
    division_by_zero_of_cells: 2 nothing, ["build", "1/x", "--construction", "yun"], "";
    division_by_zero_on_integers: 2 nothing, ["build", "1/(x - 1) on integers 0..4"], "";
    logarithm_of_zero: 2 nothing, ["build", "log(x)"], "";
    step_on_a_box: 2 nothing, ["build", "if x > 1/2 then 1 else 0"], "";
    token_before_the_first: 2 nothing, ["build", "if x == x[i-1] then 1 else 0 on integers 0..4"], "";
    aggregate_that_does_not_separate: 2 nothing, ["build", "count(x > x[i])"], "";
    supremum_of_cells_and_what_l2_reaches: 2 nothing,
        ["build", "x * mean(x)", "--construction", "yun", "--eps", "0.01", "--tokens", "2", "--precision", "f32"], "";
    supremum_of_cells_where_l2_serves: 2 nothing, ["build", "x * mean(x)", "--construction", "yun", "--eps", "1/2", "--tokens", "2"], "";
    // Names from elsewhere, files that are not there.
    name_avg: 3 nothing, ["build", "x - avg(x)"], "";
    name_softmax: 3 nothing, ["build", "softmax(x)"], "";
    name_median: 3 nothing, ["build", "median(x)"], "";
    name_std: 3 nothing, ["build", "x / std(x)"], "";
    missing_file: 3 nothing, ["build", "missing.json"], "";
    missing_file_with_a_space: 3 nothing, ["plan", "my table.json"], "";
    missing_path: 3 nothing, ["build", "tables/first"], "";
    folder_for_a_target: 3 |scratch: &Scratch| { compiled(scratch); }, ["build", "model"], "";
    file_for_a_folder: 3 compiled, ["inspect", "model/model.json"], "";
    other_file_for_a_folder: 3 |scratch: &Scratch| { scratch.write("x.json", ""); }, ["check", "x.json"], "";
    folder_without_a_model: 3 |scratch: &Scratch| { scratch.folder("empty"); }, ["inspect", "empty"], "";
    input_that_is_empty: 3 compiled, RUN, "\n";
    domain_the_wrong_way_round: 3 nothing, ["build", "x on integers 4..0"], "";
    box_the_wrong_way_round: 3 nothing, ["build", "x on [1, 0]"], "";
    function_as_a_method: 3 nothing, ["build", "x.mean()"], "";
    function_of_a_module: 3 nothing, ["build", "np.mean(x)"], "";
    norm_inf: 3 nothing, ["build", "x", "--norm", "linf"], "";
    norm_l3: 3 nothing, ["build", "x", "--norm", "l3"], "";
    tokens_a_word: 3 nothing, ["build", "x", "--tokens", "three"], "";
    tokens_below_0: 3 nothing, ["build", "x", "--tokens", "-1"], "";
    tokens_huge: 3 nothing, ["build", "x", "--tokens", "99999999999999999999"], "";
    construction_for_a_target: 3 nothing, ["build", "sum-code"], "";
    tokens_negative: 3 nothing, ["build", "x", "--tokens=-1", "--resolution", "4"], "";
    dims_0: 3 nothing, ["build", "x", "--dims", "0", "--resolution", "4"], "";
    resolution_1: 3 nothing, ["build", "x", "--resolution", "1"], "";
    lattice_without_grid_or_norm: 2 nothing, ["build", "x", "--construction", "yun"], "";
    too_few_columns: 2 nothing, ["build", "x", "--tokens", "5", "--resolution", "4", "-o", "model"], "";
    too_few_columns_in_two_dimensions: 2 nothing, ["build", "x", "--tokens", "10", "--dims", "2", "--resolution", "3"], "";
    ids_too_long: 2 nothing, ["build", "x", "--tokens", "100000", "--dims", "3", "--resolution", "16", "-o", "model"], "";
    too_many_outputs: 2 nothing, ["build", "[x, 2 * x]", "--dims", "1", "--resolution", "4"], "";
    // Targets.
    unknown_target: 3 nothing, ["build", "mean-centering", "--resolution", "4"], "";
    unknown_target_far_from_all: 3 nothing, ["build", "fibonacci-words", "--resolution", "4"], "";
    broken_expression: 3 nothing, ["build", "x - mean(x", "--resolution", "4"], "";
    unknown_function: 3 nothing, ["build", "x - maen(x)", "--resolution", "4"], "";
    not_equivariant: 2 nothing, ["build", "sort", "--resolution", "4", "-o", "model"], "";
    not_equivariant_two_coordinates: 2 nothing, ["build", "reverse", "--dims", "2", "--resolution", "3"], "";
    perhaps_equivariant: 2 nothing, ["build", "x + 0 * i", "--resolution", "4"], "";
    not_rational: 2 nothing, ["build", "exp(x)", "--resolution", "4"], "";
    denominator_with_zero: 2 nothing, ["build", "1 / x", "--resolution", "4"], "";
    // Tables.
    table_not_json: 3 table("[[[0],[0]]", "[[[0],[0]"), BUILD_TABLE, "";
    table_without_field: 3 table(r#""resolution":2,"#, ""), BUILD_TABLE, "";
    table_of_unknown_kind: 3 table(r#""kind":"table""#, r#""kind":"tabel""#), BUILD_TABLE, "";
    table_with_unknown_symmetry: 3 table(r#""equivariant""#, r#""invariant""#), BUILD_TABLE, "";
    table_too_short: 3 table(",[[0],[0]]]", "]"), BUILD_TABLE, "";
    table_entry_of_wrong_shape: 3 table(r#"[["1/3"],[1]]"#, r#"[["1/3"]]"#), BUILD_TABLE, "";
    table_entry_nan: 3 table(r#"[[1],["1/3"]]"#, "[[1],[NaN]]"), BUILD_TABLE, "";
    table_entry_no_number: 3 table(r#"[[1],["1/3"]]"#, r#"[[1],["1/0"]]"#), BUILD_TABLE, "";
    table_that_is_not_equivariant: 3 table(r#"[["1/3"],[1]]"#, r#"[["1/3"],[2]]"#), BUILD_TABLE, "";
    table_tokens_negative: 3 table(r#""tokens":2"#, r#""tokens":-2"#), BUILD_TABLE, "";
    table_one_token: 3 table(r#""tokens":2"#, r#""tokens":1"#), BUILD_TABLE, "";
    table_tokens_too_many: 3 table(r#""tokens":2"#, r#""tokens":20"#), BUILD_TABLE, "";
    table_and_other_tokens: 3 table("[[0],[0]]", "[[0],[0]]"), ["build", "table.json", "--tokens", "3"], "";
    // Options.
    unknown_option: 3 nothing, ["build", "x", "--resolutoin", "4"], "";
    unknown_command: 3 nothing, ["bulid"], "";
    unknown_printed_step: 3 nothing, ["build", "x", "--resolution", "4", "--as-printed", "lemma7-oder"], "";
    printed_positions_without_positions: 3 nothing, ["build", "x", "--resolution", "4", "--as-printed", "theorem3-positions"], "";
    printed_flag_with_positions: 3 nothing, ["build", "x", "--resolution", "4", "--positional", "--as-printed", "flag-sign"], "";
    nothing_to_write: 3 nothing, ["build", "-o", "model"], "";
    folder_of_somebody_else: 3 |scratch: &Scratch| { scratch.folder("mine").write("mine/notes.txt", "mine"); },
        ["build", "x", "--resolution", "4", "-o", "mine"], "";
    folder_with_another_model: 3 |scratch: &Scratch| { scratch.folder("mine").write("mine/model.json", r#"{"model_type":"bert"}"#); },
        ["build", "x", "--resolution", "4", "-o", "mine"], "";
    folder_with_a_model_of_ours: 3 compiled, ["build", "x * mean(x)", "--resolution", "4", "-o", "model"], "";
    folder_with_a_model_and_more: 3 |scratch: &Scratch| { compiled(scratch); scratch.write("model/notes.txt", "mine"); },
        ["build", "x", "--resolution", "4", "-o", "model"], "";
    folder_that_cannot_be_made: 3 |scratch: &Scratch| { scratch.write("file", ""); },
        ["build", "x", "--resolution", "4", "-o", "file/model"], "";
    unknown_statement: 3 nothing, ["theorems", "lema7"], "";
    assumed_against_a_witness: 2 nothing, ["build", "sort", "--resolution", "4", "--assume", "equivariant"], "";
    too_many_dims: 2 nothing, ["build", "x", "--tokens", "2", "--dims", "10000", "--resolution", "2"], "";
    domain_of_one_integer: 3 nothing, ["build", "x on integers 0..1"], "";
    model_whose_grids_differ: 3 tampered("model.json", "\"grid\": {\n            \"tokens\": 2", "\"grid\": {\n            \"tokens\": 9223372036854775808"), RUN, "";
    // Tolerances.
    eps_zero: 3 nothing, ["build", "x", "--eps", "0", "--norm", "l2"], "";
    eps_negative: 3 nothing, ["build", "x", "--eps", "-1/10", "--norm", "l2"], "";
    lipschitz_without_norm: 3 nothing, ["build", "x", "--resolution", "4", "--lipschitz", "1"], "";
    too_many_inputs_to_bound: 2 nothing, ["build", "x", "--construction", "yun", "--tokens", "101", "--dims", "10", "--eps", "1", "--norm", "l2"], "";
    too_many_tokens_to_plan: 2 nothing, ["build", "x", "--construction", "yun", "--tokens", "100000", "--eps", "1", "--norm", "l2"], "";
    current_folder: 3 nothing, ["build", "x", "--resolution", "4", "-o", "."], "";
    eps_no_number: 3 nothing, ["build", "x", "--eps", "small", "--norm", "l2"], "";
    lipschitz_no_number: 3 nothing, ["build", "x", "--eps", "1", "--norm", "l2", "--lipschitz", "1/0"], "";
    unknown_norm: 3 nothing, ["build", "x", "--eps", "0.1", "--norm", "l3"], "";
    no_norm: 3 nothing, ["build", "x", "--eps", "0.1", "--norm", "lp:0.5"], "";
    lattice_in_sup: 2 nothing, ["build", "x", "--construction", "yun", "--eps", "0.1", "-o", "model"], "";
    tolerance_missed_at_this_resolution: 1 nothing, ["build", "x", "--eps", "0.1", "--norm", "l2", "--resolution", "4", "-o", "model"], "";
    tolerance_out_of_reach: 1 nothing, ["build", "x", "--tokens", "2", "--construction", "yun", "--eps", "1e-9", "--norm", "l2", "-o", "model"], "";
    tolerance_on_integers: 2 nothing, ["build", "x on integers 0..4", "--norm", "l2"], "";
    nothing_to_plan: 3 nothing, ["plan", "--eps", "0.1"], "";
    plan_of_nonsense: 3 nothing, ["plan", "x +", "--eps", "0.1"], "";
    plan_of_no_token: 3 nothing, ["plan", "x", "--tokens", "0"], "";
    tolerance_of_a_broken_step: 1 |scratch: &Scratch| { scratch.gap(); }, ["build", "gap.json", "--as-printed", "lemma7-order", "--eps", "1", "--norm", "l2", "-o", "model"], "";
    no_finite_bound: 2 nothing, ["build", "if x < 1/2 then 10^400 * x else 0", "--tokens", "2", "--positional", "--resolution", "4", "--norm", "l2"], "";
    target_of_another_model: 3 |scratch: &Scratch| {
        compiled(scratch);
        scratch.done(&["build", "x on [0, 7]", "--tokens", "2", "--resolution", "4", "-o", "other"]);
        fs::copy(scratch.path("other/target.json"), scratch.path("model/target.json")).expect("a copy");
    }, RUN, "";
    coordinate_of_a_coordinate: 3 nothing, ["build", "x.0.0", "--resolution", "4"], "";
    coordinate_that_is_not_there: 3 nothing, ["build", "x.1", "--resolution", "4"], "";
    // Inputs.
    input_nan: 3 compiled, RUN, "[[[0],[NaN]]]";
    input_infinite: 3 compiled, RUN, "[[[0],[0.5]],[[1],[-Infinity]]]";
    input_infinite_text: 3 compiled, RUN, r#"[[[0],["inf"]]]"#;
    input_of_three_tokens: 3 compiled, RUN, "[[[0],[0.5],[1]]]";
    input_of_two_coordinates: 3 compiled, RUN, "[[[0],[0.5,1]]]";
    input_without_batch: 3 compiled, RUN, "[[0],[0.5]]";
    input_empty_batch: 3 compiled, RUN, "[]";
    input_no_number: 3 compiled, RUN, r#"[[[0],["a half"]]]"#;
    input_not_json: 3 compiled, RUN, "0 0.5";
    input_missing: 3 compiled, ["run", "model", "--input", "nowhere.json"], "";
    trace_of_two: 3 compiled, ["run", "model", "--input", "-", "--trace"], "[[[0],[0.5]],[[0],[1]]]";
    // Folders.
    folder_missing: 3 nothing, RUN, "";
    model_truncated: 3 tampered("model.json", "\"read_out\"", ""), RUN, "";
    model_of_another_version: 3 tampered("model.json", "\"version\": 1", "\"version\": 2"), RUN, "";
    model_with_empty_interval: 3 tampered("model.json", "\"low\": \"768\"", "\"low\": \"7680\""), RUN, "";
    model_with_unknown_stage: 3 tampered("model.json", "\"name\": \"shifts\"", "\"name\": \"sifts\""), RUN, "";
    model_with_a_wide_stage: 3 tampered("model.json", "\"rows\": 1", "\"rows\": 2"), RUN, "";
    target_that_contradicts_itself: 3 tampered("target.json", "x - mean(x)", "x + mean(x)"), RUN, "";
    // Floats.
    eps_below_double_precision: 1 nothing, ["build", "x - mean(x)", "--tokens", "2", "--construction", "yun", "--eps", "1e-9", "--norm", "l2", "--precision", "f64", "-o", "model"], "";
    eps_below_single_precision: 1 nothing, ["build", "x - mean(x)", "--tokens", "2", "--construction", "yun", "--eps", "0.1", "--norm", "l2", "--precision", "f32", "-o", "model"], "";
    eps_below_floats_of_an_irrational_target: 1 nothing, ["build", "exp(x)", "--tokens", "2", "--construction", "yun", "--eps", "1e-6", "--norm", "l2", "-o", "model"], "";
    eps_below_packed_blocks: 1 nothing, ["build", "x * max(x)", "--tokens", "2", "--construction", "yun", "--eps", "0.1", "--norm", "l2", "--hidden", "16", "-o", "model"], "";
    ids_beyond_the_ramps_of_f32: 2 nothing, ["build", "x", "--tokens", "2", "--resolution", "13", "--precision", "f32", "--norm", "l2", "-o", "model"], "";
    ids_beyond_f32: 2 nothing, ["build", "x", "--tokens", "2", "--resolution", "100", "--precision", "f32", "-o", "model"], "";
    ids_beyond_f64: 2 nothing, ["build", "x", "--tokens", "2", "--resolution", "1000000", "--precision", "f64", "-o", "model"], "";
    ids_beyond_every_float: 2 nothing, ["build", "x", "--tokens", "2", "--resolution", "1000000", "--attention", "softmax", "-o", "model"], "";
    one_hidden_unit: 3 nothing, ["build", "x", "--resolution", "4", "--hidden", "1", "-o", "model"], "";
    no_hidden_unit: 3 nothing, ["build", "x", "--resolution", "4", "--hidden", "0", "-o", "model"], "";
    packed_and_hidden: 3 nothing, ["build", "x", "--resolution", "4", "--pack", "--hidden", "8", "-o", "model"], "";
    softmax_in_exact_numbers: 3 nothing, ["build", "x", "--resolution", "4", "--attention", "softmax", "--precision", "exact", "-o", "model"], "";
    hardmax_in_floats: 3 nothing, ["build", "x", "--resolution", "4", "--attention", "hardmax", "--precision", "f64", "-o", "model"], "";
    packed_exact_numbers: 3 nothing, ["build", "x", "--resolution", "4", "--pack", "--precision", "exact", "-o", "model"], "";
    single_engine_on_a_double_model: 2 doubles, ["run", "model", "--input", "-", "--engine", "f32"], "[[[0],[0.5]]]";
    double_engine_on_an_exact_model: 3 compiled, ["run", "model", "--input", "-", "--engine", "f64"], "[[[0],[0.5]]]";
    skips_left_out_of_floats: 3 floats, ["run", "model", "--input", "-", "--without-skips"], "[[[0],[0.5]]]";
    input_beyond_single_precision: 3 floats, RUN, "[[[0],[1e39]]]";
    weights_missing: 3 without("model.safetensors"), RUN, "";
    model_missing: 3 without("model.json"), RUN, "";
    target_missing: 3 without("target.json"), RUN, "";
    weights_cut_in_the_length: 3 cut("model.safetensors", 5), RUN, "";
    weights_cut_in_the_header: 3 cut("model.safetensors", 100), RUN, "";
    weights_cut_in_the_data: 3 cut("model.safetensors", 2500), RUN, "";
    float_model_cut: 3 cut("model.json", 1000), RUN, "";
    float_target_cut: 3 cut("target.json", 20), RUN, "";
    weights_empty: 3 cut("model.safetensors", 0), RUN, "";
    weight_nan: 3 weights(|file| file.set("embed.weight", 0, f32::NAN)), RUN, "";
    weight_infinite: 3 weights(|file| file.set("read_out.bias", 0, f32::NEG_INFINITY)), RUN, "";
    weight_of_another_shape: 3 weights(|file| {
        let sides = file.header["0.ff.w1"]["shape"].as_array_mut().expect("a shape");
        sides.rotate_left(1);
    }), RUN, "";
    weight_too_many: 3 weights(|file| {
        let end = file.data.len();
        file.data.extend([0; 4]);
        file.header["extra"] = serde_json::json!({"dtype": "F32", "shape": [1], "data_offsets": [end, end + 4]});
    }), RUN, "";
    weight_missing: 3 weights(|file| {
        let renamed = file.header["embed.bias"].take();
        file.header.as_object_mut().expect("an object").remove("embed.bias");
        file.header["embed.bais"] = renamed;
    }), RUN, "";
    precision_swapped_in_the_network: 3 float_tampered("model.json", "\"network\": {\n    \"precision\": \"f32\"", "\"network\": {\n    \"precision\": \"f64\""), RUN, "";
    precision_swapped_in_the_request: 3 float_tampered("model.json", "\"format_asked\": {\n    \"precision\": \"f32\"", "\"format_asked\": {\n    \"precision\": \"f64\""), RUN, "";
    precision_swapped_to_exact: 3 float_tampered("model.json", "\"precision\": \"f32\"", "\"precision\": \"exact\""), RUN, "";
    precision_swapped_in_the_summary: 3 float_tampered("model.json", "\"precision\": \"f32\"", "\"precision\": \"f64\""), RUN, "";
    export_of_an_exact_model: 2 compiled, ["export", "model"], "";
    export_onto_a_file: 3 |scratch: &Scratch| { floats(scratch); scratch.write("model.onnx", "mine"); }, ["export", "model"], "";
    export_into_no_folder: 3 floats, ["export", "model", "-o", "nowhere/model.onnx"], "";
    export_of_nothing: 3 nothing, ["export", "model"], "";
    export_of_real_numbers_for_transformerlens: 2 floats, ["export", "model", "--format", "transformerlens"], "";
    export_of_an_exact_model_as_instances: 2 compiled, ["export", "model", "--format", "vnnlib"], "";
    export_with_an_option_of_another_format: 3 floats, ["export", "model", "--rotate", "7"], "";
    export_of_no_cells: 3 floats, ["export", "model", "--format", "vnnlib", "--cells", "0"], "";
    export_into_no_host: 3 floats, ["export", "model", "--format", "hf"], "";
    export_into_an_unknown_host: 3 floats, ["export", "model", "--format", "hf", "--host", "brt"], "";
    export_of_a_lattice_into_a_host: 2 floats, ["export", "model", "--format", "hf", "--host", "bert"], "";
    export_with_a_host_in_another_format: 3 floats, ["export", "model", "--format", "vnnlib", "--host", "bert"], "";
    export_of_the_stages_of_a_host: 3 floats, ["export", "model", "--host", "bert", "--stages"], "";
    build_for_an_unknown_host: 3 nothing, ["build", "x - mean(x)", "--host", "gtp2"], "";
    build_for_a_host_that_is_no_word: 3 nothing, ["build", "x - mean(x)", "--host", ""], "";
    build_for_a_host_in_l2: 3 nothing, ["build", "x - mean(x)", "--host", "bert", "--norm", "l2"], "";
    build_for_a_host_in_exact_numbers: 3 nothing, ["build", "x - mean(x)", "--host", "bert", "--precision", "exact"], "";
    build_for_a_host_without_its_tokens: 2 nothing, ["build", "x - mean(x)", "--host", "gpt2"], "";
    build_for_a_host_without_positions: 2 nothing, ["build", "reverse", "--tokens", "4", "--host", "t5"], "";
    build_for_a_host_without_doubles: 1 nothing, ["build", "x - mean(x)", "--host", "modernbert", "--eps", "1/300000"], "";
    build_of_no_blocks_for_a_host: 2 nothing, ["build", "x", "--host", "bert"], "";
    build_of_a_lattice_for_a_host: 2 nothing, ["build", "x * mean(x)", "--construction", "yun", "--resolution", "4", "--host", "bert"], "";
    build_of_a_table_for_a_host: 2 table("[[0],[0]]", "[[0],[0]]"), ["build", "table.json", "--host", "bert"], "";
    build_below_what_a_host_leaves: 1 nothing, ["build", "x - mean(x)", "--host", "bert", "--precision", "f32", "--eps", "1/400000"], "";
    export_to_an_unknown_format: 3 floats, ["export", "model", "--format", "onxx"], "";
    // Circuits.
    circuit_of_a_table: 2 table("[[0],[0]]", "[[0],[0]]"), ["build", "table.json", "--construction", "circuit"], "";
    circuit_with_resolution: 2 nothing, ["build", "x", "--construction", "circuit", "--resolution", "4", "-o", "model"], "";
    circuit_as_printed: 2 nothing, ["build", "x", "--construction", "circuit", "--as-printed", "flag-sign"], "";
    circuit_everywhere: 2 nothing, ["build", "x", "--construction", "circuit", "--domain", "all"], "";
    circuit_with_lipschitz: 2 nothing, ["build", "x", "--construction", "circuit", "--eps", "1/10", "--lipschitz", "1"], "";
    circuit_packed: 2 nothing, ["build", "x", "--construction", "circuit", "--pack"], "";
    circuit_with_temperature: 2 nothing, ["build", "x", "--construction", "circuit", "--temperature", "saturate"], "";
    circuit_in_exact_numbers: 2 nothing, ["build", "x", "--construction", "circuit", "--precision", "exact"], "";
    circuit_with_hardmax: 2 nothing, ["build", "x", "--construction", "circuit", "--attention", "hardmax"], "";
    attention_of_no_kind: 3 nothing, ["build", "x", "--attention", "softmin"], "";
    attention_of_size_0: 3 nothing, ["build", "x", "--attention", "linformer:0"], "";
    attention_of_no_size: 3 nothing, ["plan", "x", "--attention", "performer:x"], "";
    attention_of_a_size_it_has_not: 3 nothing, ["build", "x", "--attention", "average:4"], "";
    attention_without_the_sum: 2 nothing, ["build", "mean(x)", "--attention", "linformer:4:gaussian"], "";
    average_of_a_maximum: 2 nothing, ["build", "x * max(x)", "--attention", "average", "-o", "model"], "";
    average_in_exact_numbers: 3 nothing, ["build", "mean(x)", "--attention", "average", "--precision", "exact"], "";
    performer_of_a_lattice: 2 nothing, ["build", "mean(x)", "--construction", "yun", "--norm", "l2", "--attention", "performer"], "";
    sparse_of_no_pattern: 3 nothing, ["build", "x", "--attention", "sparse:stra", "--resolution", "2"], "";
    sparse_without_a_width: 3 nothing, ["build", "x", "--attention", "sparse:window", "--resolution", "2"], "";
    sparse_without_a_chain: 2 nothing, ["build", "x", "--attention", "sparse:hub", "--tokens", "5", "--resolution", "2", "-o", "model"], "";
    sparse_and_causal: 2 nothing, ["build", "x", "--attention", "sparse:strided-causal:2", "--tokens", "4", "--resolution", "2", "-o", "model"], "";
    sparse_in_parts: 2 nothing, ["build", "x", "--attention", "sparse:block:2", "--tokens", "4", "--resolution", "2", "-o", "model"], "";
    sparse_file_out_of_range: 3 pattern("[[0, 1], [1, 2]]"), SPARSE_FILE, "";
    sparse_file_without_a_self_loop: 2 pattern("[[[0, 1], [0, 1]], [[0, 1], [0]]]"), SPARSE_FILE, "";
    sparse_file_of_no_layers: 3 pattern("[]"), SPARSE_FILE, "";
    sparse_file_of_other_tokens: 3 pattern("[[0, 1, 2], [0, 1, 2], [0, 1, 2]]"), SPARSE_FILE, "";
    sparse_file_that_is_none: 3 pattern("{\"star\": 5}"), SPARSE_FILE, "";
    sparse_file_that_is_not_there: 3 nothing, SPARSE_FILE, "";
    sparse_as_printed: 3 nothing, ["build", "x", "--attention", "sparse:star", "--resolution", "4", "--as-printed", "theorem3-positions"], "";
    sparse_everywhere: 2 nothing, ["build", "x", "--attention", "sparse:star", "--resolution", "4", "--domain", "all", "--precision", "f64"], "";
    sparse_circuit_without_a_hub: 2 nothing, ["build", "mean(x)", "--construction", "circuit", "--attention", "sparse:window:1", "--tokens", "4"], "";
    sparse_circuit_of_a_maximum: 2 nothing, ["build", "max(x)", "--construction", "circuit", "--attention", "sparse:star", "--tokens", "4"], "";
    sparse_ids_beyond_floats: 2 nothing, ["build", "x", "--attention", "sparse:window:1", "--tokens", "6", "--resolution", "8", "--precision", "f64"], "";
    sparse_model_of_another_pattern: 2 sparse_tampered("\"cycle\": [\n        [\n          [\n            0,\n            1", "\"cycle\": [\n        [\n          [\n            0"), RUN, "";
    sparse_model_of_another_name: 3 sparse_tampered("\n  \"sparse\": {\n    \"pattern\": {\n      \"name\": \"window:1\"", "\n  \"sparse\": {\n    \"pattern\": {\n      \"name\": \"star\""), RUN, "";
    sparse_model_of_endless_hops: 3 sparse_tampered("\"count\": 2", "\"count\": 2000000000"), RUN, "";
    patterns_of_no_tokens: 3 nothing, ["patterns", "--tokens", "0"], "";
    patterns_of_no_name: 3 nothing, ["patterns", "windows:2"], "";
    patterns_of_too_many_keys: 3 nothing, ["patterns", "random:9:1", "--tokens", "5"], "";
    circuit_of_another_attention: 3 circuit_tampered("\"attention\": \"softmax\"", "\"attention\": \"softmin\""), RUN, "";
    circuit_with_positional: 3 nothing, ["build", "x", "--construction", "circuit", "--positional"], "";
    circuit_on_integers_in_l2: 2 nothing, ["build", "x on integers 0..4", "--construction", "circuit", "--norm", "l2"], "";
    circuit_below_floats: 1 nothing, ["build", "x - mean(x)", "--construction", "circuit", "--eps", "1e-30", "-o", "model"], "";
    circuit_below_single_precision: 1 nothing, ["build", "z-score", "--tokens", "16", "--construction", "circuit", "--eps", "1e-4", "--precision", "f32", "-o", "model"], "";
    circuit_of_a_quotient_by_zero: 2 nothing, ["build", "x / mean(x)", "--construction", "circuit", "-o", "model"], "";
    circuit_of_a_step: 2 nothing, ["build", "if x > 1/2 then 1 else 0", "--construction", "circuit", "-o", "model"], "";
    circuit_of_a_mixture: 2 nothing, ["build", "sum(exp(x[i] * x))", "--construction", "circuit", "-o", "model"], "";
    average_of_three_codes: 2 nothing, ["build", "x - mean(x)", "--tokens", "3", "--resolution", "4", "--precision", "f64", "--construction", "sum-code", "--attention", "average", "-o", "model"], "";
    constant_performer_of_codes: 2 nothing, ["build", "x - mean(x)", "--tokens", "2", "--resolution", "4", "--precision", "f64", "--construction", "sum-code", "--attention", "performer:4:constant"], "";
    linformer_of_exact_codes: 3 nothing, ["build", "x - mean(x)", "--tokens", "2", "--resolution", "4", "--precision", "exact", "--construction", "sum-code", "--attention", "linformer"], "";
    trade_of_a_lattice: 3 nothing, ["build", "x", "--construction", "yun", "--trade", "depth"], "";
    unknown_trade: 3 nothing, ["build", "x", "--trade", "height"], "";
    unknown_construction: 3 nothing, ["build", "x", "--construction", "yuen"], "";
    exact_in_sup: 2 nothing, ["build", "x", "--precision", "exact"], "";
    sumformer_of_a_table: 2 table("[[0],[0]]", "[[0],[0]]"), ["build", "table.json", "--construction", "sumformer"], "";
    sumformer_with_resolution: 2 nothing, ["build", "x", "--construction", "sumformer", "--resolution", "4"], "";
    sumformer_with_positional: 3 nothing, ["build", "x", "--construction", "sumformer", "--positional"], "";
    sumformer_of_a_positional_target: 2 nothing, ["build", "sum(x, j <= i)", "--construction", "sumformer", "-o", "model"], "";
    sumformer_of_no_polynomial: 2 nothing, ["build", "x + exp(mean(x))", "--construction", "sumformer", "-o", "model"], "";
    sumformer_that_explodes: 2 nothing, ["build", "sum(x.0)^40 * sum(x.1)^40 + 0 * x.9", "--construction", "sumformer", "--tokens", "12", "--dims", "10"], "";
    sumformer_by_a_basis_that_explodes: 2 nothing, ["build", "exp(x * mean(x))", "--construction", "sumformer", "--tokens", "8", "--dims", "12", "--basis", "fit:6"], "";
    sumformer_beyond_hats: 1 nothing, ["build", "abs(x - mean(x))", "--tokens", "2", "--construction", "sumformer"], "";
    sumformer_beyond_a_fit: 1 nothing, ["build", "abs(x - mean(x))", "--construction", "sumformer", "--basis", "fit:2"], "";
    sumformer_below_floats: 1 nothing, ["build", "x - mean(x)", "--construction", "sumformer", "--eps", "1e-30"], "";
    sumformer_of_many_hats: 2 nothing, ["build", "exp(x * mean(x))", "--construction", "sumformer", "--basis", "hats"], "";
    sumformer_by_no_basis: 3 nothing, ["build", "x", "--construction", "sumformer", "--basis", "splines"], "";
    sumformer_without_a_degree: 3 nothing, ["build", "x", "--construction", "sumformer", "--basis", "fit:0"], "";
    circuit_with_a_basis: 3 nothing, ["build", "x", "--construction", "circuit", "--basis", "hats"], "";
    sumformer_called_a_circuit: 3 sumformer_tampered("\"construction\": \"sumformer\"", "\"construction\": \"circuit\""), RUN, "";
    circuit_called_a_sumformer: 3 circuit_tampered("\"construction\": \"circuit\"", "\"construction\": \"sumformer\""), RUN, "";
    sumformer_of_another_basis: 3 sumformer_tampered("\"basis\": \"polynomial\"", "\"basis\": \"splines\""), RUN, "";
    circuit_of_no_tokens: 3 circuit, RUN, "[[]]";
    circuit_of_two_coordinates: 3 circuit, RUN, "[[[0, 1], [0, 1]]]";
    circuit_without_skips: 3 circuit, ["run", "model", "--input", "-", "--without-skips"], "[[[0],[0.5]]]";
    circuit_traced_twice: 3 circuit, ["run", "model", "--input", "-", "--trace"], "[[[0],[0.5]],[[0],[1],[1]]]";
    circuit_traded_for_nothing: 3 circuit_tampered("\"trade\": \"width\"", "\"trade\": \"nothing\""), RUN, "";
    circuit_of_another_construction: 3 circuit_tampered("\"construction\": \"circuit\"", "\"construction\": \"curcuit\""), RUN, "";
    circuit_called_yun: 3 circuit_tampered("\"construction\": \"circuit\"", "\"construction\": \"yun\""), RUN, "";
    circuit_without_tolerance: 3 circuit_tampered("\"eps\": \"1/100\"", "\"eps\": null"), RUN, "";
    circuit_of_other_tokens: 3 circuit_tampered("\"grid\": {\n    \"tokens\": 3", "\"grid\": {\n    \"tokens\": 4"), RUN, "";
    circuit_of_another_precision: 3 circuit_tampered("\"precision\": \"f32\"", "\"precision\": \"f64\""), RUN, "";
    // Sizes.
    mixer_unknown: 3 nothing, ["contextual", "atention"], "";
    mixer_without_pattern: 3 nothing, ["contextual", "sparse"], "";
    mixer_of_no_pattern: 3 nothing, ["contextual", "sparse:stars"], "";
    mixer_of_a_pattern_without_chain: 2 nothing, ["contextual", "sparse:hub", "--tokens", "4"], "";
    mixer_of_a_causal_pattern: 2 nothing, ["contextual", "sparse:strided-causal:2", "--tokens", "4"], "";
    mixer_of_a_pattern_for_others: 3 |scratch: &Scratch| { scratch.write("ring.json", "[[0, 1], [0, 1]]"); }, ["contextual", "sparse:file:ring.json"], "";
    mixer_without_taps: 3 nothing, ["contextual", "sepconv"], "";
    mixer_of_no_size: 3 nothing, ["contextual", "linformer:many"], "";
    contextual_too_many_sequences: 2 nothing, ["contextual", "attention", "--tokens", "9", "--resolution", "8"], "";
    contextual_far_too_many_sequences: 2 nothing, ["contextual", "attention", "--tokens", "100000000"], "";
    contextual_no_distinct_columns: 2 nothing, ["contextual", "attention", "--tokens", "5", "--set", "distinct"], "";
    contextual_of_one_token: 3 nothing, ["contextual", "attention", "--tokens", "1"], "";
    contextual_by_no_definition: 3 nothing, ["contextual", "attention", "--definition", "permutations"], "";
    contextual_on_no_set: 3 nothing, ["contextual", "attention", "--set", "distnict"], "";
    contextual_halfway_of_others: 3 nothing, ["contextual", "attention", "--set", "halfway"], "";
    contextual_halfway_of_two: 2 nothing, ["contextual", "sumformer", "--tokens", "2"], "";
    contextual_sumformer_with_positions: 3 nothing, ["contextual", "sumformer", "--positional"], "";
    contextual_sumformer_of_two_coordinates: 2 nothing, ["contextual", "sumformer", "--dims", "2"], "";
    contextual_seeds_of_nothing: 3 nothing, ["contextual", "attention", "--seeds", "100"], "";
    contextual_too_many_draws: 2 nothing, ["contextual", "bproj", "--tokens", "5", "--resolution", "8", "--seeds", "1000"], "";
    contextual_file_missing: 3 nothing, ["contextual", "average", "--set", "file:nowhere.json"], "";
    contextual_file_with_a_short_sequence: 3 |scratch: &Scratch| { scratch.write("set.json", "[[[0], [1]], [[2]]]"); }, ["contextual", "average", "--set", "file:set.json"], "";
    contextual_file_twice_the_same: 3 |scratch: &Scratch| { scratch.write("set.json", "[[[0], [1]], [[0], [1.0]]]"); }, ["contextual", "average", "--set", "file:set.json"], "";
    contextual_file_and_resolution: 3 |scratch: &Scratch| { scratch.write("set.json", "[[[0], [1]]]"); }, ["contextual", "average", "--set", "file:set.json", "--resolution", "4"], "";
    contextual_file_and_other_tokens: 3 |scratch: &Scratch| { scratch.write("set.json", "[[[0], [1]]]"); }, ["contextual", "average", "--set", "file:set.json", "--tokens", "3"], "";
    contextual_file_outside_of_phi: 2 |scratch: &Scratch| { scratch.write("set.json", "[[[0], [1], [9]]]"); }, ["contextual", "sumformer", "--set", "file:set.json"], "";
    too_many_layers_to_list: 2 |scratch: &Scratch| { scratch.done(&["build", "x", "--tokens", "4", "--resolution", "100", "-o", "large"]); },
        ["inspect", "large", "--layers"], "";
    too_many_layers_to_execute: 2 |scratch: &Scratch| { scratch.done(&["build", "x", "--tokens", "4", "--resolution", "200", "-o", "large"]); },
        ["run", "large", "--input", "-", "--layer-by-layer"], "[[[0],[0],[0],[0]]]";
}

#[test]
fn a_refusal_in_json_is_a_document_too() {
    let scratch = Scratch::new();
    let outcome = scratch.run(&["build", "sort", "--resolution", "4", "--json"], "");
    assert_eq!(outcome.code, 2);
    insta::assert_snapshot!(outcome.stdout);
    let usage = scratch.run(&["build", "sort", "--resolution", "four", "--json"], "");
    assert_eq!(usage.code, 3);
    let document: Value = serde_json::from_str(&usage.stdout).expect("JSON");
    assert_eq!(document["verdict"], "error");
}

#[test]
fn an_empty_folder_may_be_filled_and_a_link_is_followed() {
    let scratch = Scratch::new();
    scratch.folder("empty").done(&["build", "x", "--resolution", "4", "-o", "empty"]);
    assert!(scratch.path("empty/model.json").is_file());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(scratch.path("empty"), scratch.path("link")).expect("a link");
        scratch.done(&["build", "square", "--resolution", "4", "-o", "link", "--force"]);
        let target = fs::read_to_string(scratch.path("empty/target.json")).expect("a file");
        assert!(target.contains("x^2"), "{target}");
        assert!(scratch.path("link").is_symlink());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_and_no_panic() {
    let scratch = Scratch::new();
    compiled(&scratch);
    for arguments in [&["targets"][..], &["targets", "--json"], &["inspect", "model", "--layers"], &["build", "--json"]]
    {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        let status = Command::new(env!("CARGO_BIN_EXE_formwright"))
            .args(arguments)
            .current_dir(scratch.0.path())
            .stdout(full)
            .stderr(Stdio::null())
            .status()
            .expect("the binary");
        assert_eq!(status.code(), Some(3), "{arguments:?}");
    }
}

#[test]
fn sequences_outside_of_the_claim_are_noted() {
    let scratch = Scratch::new();
    compiled(&scratch);
    let outcome = scratch.run(&RUN, "[[[0],[0.5]],[[0.1],[0.2]],[[1],[0]]]");
    assert_eq!(outcome.code, 0);
    insta::assert_snapshot!(outcome.stderr);
    // A float network gives the middle of its target's range.
    scratch.done(&["build", "max(x)", "--tokens", "2", "--resolution", "4", "--precision", "f64", "-o", "floats"]);
    let outcome = scratch.run(&["run", "floats", "--input", "-"], "[[[0],[0.5]],[[0.1],[0.2]],[[1],[0]]]");
    assert!(outcome.stdout.contains("[1/10, 1/5] ↦ [0.5, 0.5]"), "{}", outcome.stdout);
    insta::assert_snapshot!("sequences_outside_of_the_claim_of_floats", outcome.stderr);
}

#[test]
fn the_demonstration_fits_one_screen() {
    let text = Scratch::new().done(&["build"]);
    assert!(text.lines().count() <= 40, "{} lines", text.lines().count());
    insta::assert_snapshot!(text);
}

#[test]
fn help_tells_every_command() {
    let scratch = Scratch::new();
    let text: Vec<String> = [
        &["--help"][..],
        &["build", "--help"],
        &["run", "--help"],
        &["inspect", "--help"],
        &["contextual", "--help"],
        &["export", "--help"],
        &["report", "--help"],
        &["explore", "--help"],
        &["runtime", "--help"],
        &["zoo", "--help"],
        &["patterns", "--help"],
        &["theorems", "--help"],
    ]
    .iter()
    .map(|arguments| scratch.done(arguments))
    .collect();
    insta::assert_snapshot!(text.join("\n----\n"));
}

#[test]
fn targets_and_theorems_are_listed() {
    let scratch = Scratch::new();
    insta::assert_snapshot!("targets", scratch.done(&["targets"]));
    insta::assert_snapshot!("theorems", scratch.done(&["theorems"]));
    insta::assert_snapshot!("theorem3", scratch.done(&["theorems", "theorem3"]));
    let targets = scratch.json(&["targets", "--json"]);
    assert!(targets["targets"].as_array().expect("targets").len() >= 12);
    assert_eq!(targets["targets"][3]["expression"], "x - mean(x)");
    let statements = scratch.json(&["theorems", "--json"]);
    assert_eq!(statements["statements"][2]["id"], "lemma8");
}

/// A folder of the first release, whose certificate is about fewer executions: it runs, it is inspected, and nothing is said of its claim.
#[test]
fn a_folder_of_version_1_is_run_and_inspected_and_its_claim_declined() {
    let scratch = Scratch::new();
    scratch.folder("old");
    let released = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/version-1");
    for name in ["certificate.fwc", "model.json", "model.safetensors", "target.json"] {
        fs::copy(released.join(name), scratch.path("old").join(name)).expect("a copy");
    }
    let Outcome { code, stdout, stderr } = scratch.run(&["check", "old"], "");
    assert_eq!((code, stderr.as_str()), (2, ""));
    insta::assert_snapshot!("check_version_1", stdout);
    let Outcome { code, stdout, .. } = scratch.run(&["run", "old", "--input", "-"], "[[[0],[1]],[[2],[0]]]");
    let outputs = ["[0, 1] ↦ [1.0003", "[2, 0] ↦ [0.0003"];
    assert!(code == 0 && outputs.iter().all(|output| stdout.contains(output)), "{stdout}");
    assert!(scratch.done(&["inspect", "old"]).contains("max(x) - x"));
}

#[test]
fn a_model_is_written_read_run_and_inspected() {
    let scratch = Scratch::new();
    let built =
        scratch.json(&["build", "mean-centring", "--tokens", "2", "--resolution", "4", "-o", "model", "--json"]);
    insta::assert_snapshot!("build_json", format!("{built:#}"));
    let inspected = scratch.json(&["inspect", "model", "--json"]);
    for (field, value) in built.as_object().expect("an object") {
        assert_eq!(inspected[field], *value, "{field}");
    }
    insta::assert_snapshot!("inspect", scratch.done(&["inspect", "model"]));
    let layers = scratch.done(&["inspect", "model", "--layers"]);
    assert_eq!(layers.lines().count(), 5 + 4 + 1 + 2 + 12);
    insta::assert_snapshot!("first_layers", scratch.done(&["inspect", "model", "--layers", "--first", "1"]));
    scratch.write("x.json", r#"[[[0.1],["7/8"]],[[0.1],[0.2]],[[2],[0]]]"#);
    insta::assert_snapshot!("run", scratch.done(&["run", "model", "--input", "x.json"]));
    let outputs = scratch.json(&["run", "model", "--input", "x.json", "--json"]);
    assert_eq!(outputs["outputs"], serde_json::json!([[["-3/8"], ["3/8"]], [["0"], ["0"]], [["0"], ["0"]]]));
    assert_eq!(scratch.json(&["run", "model", "--input", "x.json", "--json", "--layer-by-layer"]), outputs);
    let trace = scratch.run(&["run", "model", "--input", "-", "--trace", "--json"], r#"[[["1/8"],["5/8"]]]"#);
    insta::assert_snapshot!("trace_json", trace.stdout);
}

/// The numbers of nested arrays.
fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .map_or_else(|| vec![value.as_f64().expect("a number")], |part| part.iter().flat_map(numbers).collect())
}

#[test]
fn the_layers_of_a_float_model_are_its_tensors() {
    let scratch = Scratch::new();
    floats(&scratch);
    insta::assert_snapshot!("float_layers", scratch.done(&["inspect", "model", "--layers", "--first", "1"]));
    let lines = scratch.done(&["inspect", "model", "--layers"]);
    let layers: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let stages = scratch.json(&["inspect", "model", "--json"])["stages"].clone();
    for stage in stages.as_array().expect("stages") {
        let mine: Vec<&Value> = layers.iter().filter(|layer| layer["stage"] == stage["name"]).collect();
        assert_eq!(Some(mine.len() as u64), stage["layers"].as_u64(), "{stage}");
        assert!(mine.iter().enumerate().all(|(i, layer)| layer["index"] == i), "{stage}");
    }
    // What is listed is what the file holds, entry by entry.
    let bytes = fs::read(scratch.path("model/model.safetensors")).expect("a file");
    let entries: usize = layers
        .iter()
        .flat_map(|layer| layer["layer"].as_object().expect("a layer").iter().filter(|(name, _)| *name != "kind"))
        .map(|(_, tensor)| numbers(tensor).len())
        .sum();
    let length = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"))).expect("a length");
    assert_eq!((bytes.len() - 8 - length) / 4, entries + 4, "all but embedding and read-out");
}

#[test]
fn a_tolerance_finds_its_grid() {
    let scratch = Scratch::new();
    let built = scratch.json(&[
        "build",
        "mean-centring",
        "--construction",
        "yun",
        "--tokens",
        "2",
        "--eps",
        "0.1",
        "--norm",
        "l2",
        "-o",
        "model",
        "--json",
    ]);
    insta::assert_snapshot!("tolerance_json", format!("{:#}", built["error"]));
    assert_eq!(built["resolution"], 9);
    let inspected = scratch.json(&["inspect", "model", "--json"]);
    assert_eq!(inspected["error"], built["error"], "the bound is computed anew, and is the same");
    let coarser = scratch.run(
        &[
            "build",
            "mean-centring",
            "--tokens",
            "2",
            "--eps",
            "0.1",
            "--norm",
            "l2",
            "--construction",
            "yun",
            "--resolution",
            "8",
        ],
        "",
    );
    assert_eq!(coarser.code, 1, "one cell fewer is not enough");
    insta::assert_snapshot!(
        "tolerance",
        scratch.done(&["build", "prefix-mean", "--positional", "--eps", "1/5", "--norm", "lp:3/2"])
    );
    insta::assert_snapshot!(
        "stated_lipschitz",
        scratch.done(&[
            "build",
            "if x < 1/2 then x else 1 - x",
            "--tokens",
            "2",
            "--resolution",
            "16",
            "--norm",
            "l1",
            "--lipschitz",
            "1"
        ])
    );
}

#[test]
fn values_beyond_floats_are_no_panic() {
    let scratch = Scratch::new();
    let text = scratch.done(&["build", "10^400 * x", "--tokens", "2", "--positional", "--resolution", "4"]);
    assert!(text.contains("exact-on-grid"));
    let plan = scratch.run(&["plan", "exp(2000 * x)", "--eps", "1/10", "--norm", "l2", "--tokens", "2"], "");
    assert_eq!(plan.code, 0, "{}", plan.stderr);
}

#[test]
fn an_export_says_what_it_is() {
    let scratch = Scratch::new();
    floats(&scratch);
    insta::assert_snapshot!("export", scratch.done(&["export", "model", "--stages"]));
    assert!(scratch.path("model.onnx").is_file());
    let export = scratch.json(&["export", "model", "--format", "onnx", "-o", "plain.onnx", "--json"]);
    insta::assert_snapshot!("export_json", format!("{export:#}"));
    let (stages, plain) = (fs::read(scratch.path("model.onnx")), fs::read(scratch.path("plain.onnx")));
    assert!(stages.expect("a file").len() > plain.expect("a file").len());
    assert_eq!(scratch.listing(), ["model", "model.onnx", "plain.onnx"], "nothing else is left behind");
    weights(|file| file.set("read_out.bias", 0, 0.25))(&scratch);
    let edited = scratch.json(&["export", "model", "-o", "edited.onnx", "--json"]);
    assert_eq!(edited["properties"]["target"], "x - mean(x)");
    for claim in ["badge", "norm", "bound", "domain", "on_grid"] {
        assert_eq!(edited["properties"][claim], Value::Null, "{claim}");
    }
    assert!(scratch.done(&["export", "model", "-o", "again.onnx"]).contains("no claim"));
}

#[test]
fn a_circuit_is_put_into_a_stock_transformer() {
    let scratch = Scratch::new();
    scratch.done(&["build", "sort(x) on integers 0..3", "--tokens", "3", "-o", "model"]);
    let export = ["export", "model", "--format", "hf", "--host", "bert", "--vocabulary", "ace,king,queen"];
    insta::assert_snapshot!("export_hf", scratch.done(&export));
    let file = |name: &str| fs::read_to_string(scratch.path(name)).expect("a file");
    insta::assert_snapshot!("hf_card", file("model.hf/README.md"));
    insta::assert_snapshot!("hf_config", file("model.hf/config.json"));
    insta::assert_snapshot!("hf_tokenizer", file("model.hf/tokenizer.json"));
    insta::assert_snapshot!("hf_manifest", file("model.hf/formwright.json"));
    let checked = scratch.json(&["check", "model.hf", "--json"]);
    let files = checked["sha256"].as_object().map(serde_json::Map::len);
    assert_eq!((&checked["verdict"], files), (&"accepted".into(), Some(4)));
    // Same input, same bytes.
    scratch.done(&[&export[..], &["-o", "again"]].concat());
    fs::write(scratch.path("again/config.json"), file("model.hf/config.json").replace("1e-12", "1e-2"))
        .expect("written");
    let outcome = scratch.run(&["check", "again"], "");
    assert_eq!(
        (outcome.code, outcome.stdout.starts_with("rejected: hash: config.json")),
        (1, true),
        "{}",
        outcome.stdout
    );
    for name in ["model.safetensors", "formwright.json", "certificate.fwc"] {
        let bytes = |folder: &str| fs::read(scratch.path(&format!("{folder}/{name}"))).expect("a file");
        assert!(bytes("model.hf") == bytes("again"), "{name}");
    }
    let short = ["export", "model", "--format", "hf", "--host", "bert", "--vocabulary", "a,b", "-o", "other"];
    insta::assert_snapshot!("export_hf_words", scratch.refused(&short, "", 3));
    // Pipelines drop what is labelled O, and the unknown word must stay unknown.
    for (name, words) in [("left_out", "O,b,c"), ("unknown", "a,[none],c"), ("quoted", "a,\"b\",c")] {
        let taken = ["export", "model", "--format", "hf", "--host", "bert", "--vocabulary", words, "-o", "other"];
        insta::assert_snapshot!(format!("export_hf_word_{name}"), scratch.refused(&taken, "", 3));
    }
    scratch.done(&["build", "sum(x) on integers 0..3", "--tokens", "3", "-o", "sums"]);
    let labels = ["export", "sums", "--format", "hf", "--host", "bert", "--vocabulary", "3,4,5", "-o", "other"];
    insta::assert_snapshot!("export_hf_labels", scratch.refused(&labels, "", 3));
    let causal = ["export", "model", "--format", "hf", "--host", "gpt2", "-o", "other"];
    insta::assert_snapshot!("export_hf_mask", scratch.refused(&causal, "", 2));
}

#[test]
fn a_host_is_asked_for_once() {
    let scratch = Scratch::new();
    insta::assert_snapshot!("host_plan", scratch.done(&["plan", "x * mean(x)", "--host", "bert"]));
    let plan = scratch.json(&["plan", "x * mean(x)", "--host", "bert", "--json"]);
    let hosts = plan["hosts"].as_array().expect("hosts");
    assert_eq!(hosts.len(), 6);
    assert!(hosts.iter().all(|host| host["host_term"].is_f64() != host["why_not"].is_string()), "{hosts:?}");
    assert_eq!(plan["chosen"]["host"], "bert");
    let build = ["build", "sort(x) on integers 0..3", "--tokens", "3", "--host", "bert", "-o", "model"];
    insta::assert_snapshot!("host_build", scratch.done(&build));
    insta::assert_snapshot!("host_export", scratch.done(&["export", "model", "--format", "hf"]));
    let asked = scratch.json(&["inspect", "model", "--json"]);
    assert_eq!((&asked["host"]["class"], &asked["host"]["eps"]), (&"bert".into(), &"1/100".into()));
    assert!(scratch.done(&["inspect", "model"]).contains("in bert every output"));
    insta::assert_snapshot!("host_onnx", scratch.done(&["export", "model", "--host", "bert"]));
    // Another class is asked for by its name.
    scratch.done(&["build", "max(x)", "--host", "bert", "-o", "largest"]);
    let other = scratch.done(&["export", "largest", "--format", "hf", "--host", "t5", "-o", "other"]);
    assert!(other.contains("the host term is"), "{other}");
}

#[test]
fn a_circuit_on_integers_is_exported_for_transformerlens() {
    let scratch = Scratch::new();
    scratch.done(&["build", "sort(x) on integers 0..3", "--tokens", "3", "-o", "model"]);
    let export = ["export", "model", "--format", "transformerlens"];
    insta::assert_snapshot!("export_transformerlens", scratch.done(&export));
    let file = |name: &str| fs::read_to_string(scratch.path(name)).expect("a file");
    insta::assert_snapshot!("transformerlens_config", file("model.transformerlens/config.json"));
    insta::assert_snapshot!("transformerlens_circuit", file("model.transformerlens/circuit.json"));
    // What is said of rotated weights is what the checker proves of them.
    insta::assert_snapshot!(
        "export_rotated",
        scratch.done(&[&export[..], &["--rotate", "7", "-o", "rotated"]].concat())
    );
    assert!(scratch.done(&["check", "rotated"]).starts_with("accepted: "));
    let rotated: Value = serde_json::from_str(&file("rotated/circuit.json")).expect("JSON");
    let direction = numbers(&rotated["coordinates"][0]["direction"]);
    assert!(direction.iter().all(|x| *x != 0.0), "{direction:?}");
    let length: f64 = direction.iter().map(|x| x * x).sum();
    assert!((length - 1.0).abs() < 1e-12, "{length}");
    let json = scratch.json(&[&export[..], &["--rotate", "8", "-o", "other", "--json"]].concat());
    assert_ne!(
        json["sha256"]["other/state_dict.safetensors"],
        artifact_hash(&scratch, "rotated/state_dict.safetensors")
    );
    weights(|file| file.set("read_out.bias", 0, 0.25))(&scratch);
    assert!(scratch.done(&[&export[..], &["-o", "edited"]].concat()).contains("no claim"));
}

fn artifact_hash(scratch: &Scratch, name: &str) -> String {
    artifact::sha256(&fs::read(scratch.path(name)).expect("a file"))
}

#[test]
fn claims_are_exported_as_instances_for_verifiers() {
    let scratch = Scratch::new();
    scratch.done(&["build", "x - mean(x)", "--tokens", "2", "-o", "model"]);
    insta::assert_snapshot!(
        "export_vnnlib",
        scratch.done(&["export", "model", "--format", "vnnlib", "--cells", "3", "-o", "instances"])
    );
    let wrong = fs::read_to_string(scratch.path("instances/vnnlib/wrong_outputs.vnnlib")).expect("an instance");
    insta::assert_snapshot!("vnnlib_instance", wrong);
    assert_eq!(scratch.listing(), ["instances", "model"], "nothing else is left behind");
}

#[test]
fn plans_are_told() {
    let scratch = Scratch::new();
    insta::assert_snapshot!(
        "plan",
        scratch.done(&["plan", "--all", "mean-centring", "--tokens", "2", "--eps", "0.1", "--norm", "l2"])
    );
    insta::assert_snapshot!("plan_not_equivariant", scratch.done(&["plan", "sort", "--eps", "0.2", "--norm", "l1"]));
    let chosen = scratch.done(&["build", "if x < 1/2 then x else i / 8", "--eps", "0.2", "--norm", "l1"]);
    assert!(chosen.starts_with("chosen: no circuit: "), "{chosen}");
    assert!(chosen.contains("\ninstead: sum-code --positional in f64,"), "{chosen}");
    insta::assert_snapshot!("plan_in_sup", scratch.done(&["plan", "mean-centring"]));
    insta::assert_snapshot!(
        "plan_not_rational",
        scratch.done(&["plan", "--all", "exp(x)", "--tokens", "2", "--eps", "0.2", "--norm", "l2"])
    );
    let plan = scratch.json(&["plan", "mean-centring", "--tokens", "2", "--eps", "0.1", "--norm", "l2", "--json"]);
    insta::assert_snapshot!("plan_json", format!("{plan:#}"));
}

#[test]
fn the_same_request_gives_the_same_bytes() {
    let scratch = Scratch::new();
    let read = |name: &str| {
        ["model.json", "target.json", "report.html"]
            .map(|file| fs::read(scratch.path(name).join(file)).expect("a file"))
    };
    for name in ["one", "two"] {
        scratch.done(&["build", "sort", "--positional", "--dims", "2", "--resolution", "3", "-o", name]);
    }
    assert_eq!(read("one"), read("two"));
    // A folder of ours is replaced as a whole.
    scratch.done(&["build", "identity", "--resolution", "4", "-o", "two", "--force"]);
    assert_ne!(read("one"), read("two"));
    assert_eq!(scratch.listing(), ["one", "two"]);
}

#[test]
fn another_model_is_replaced_by_force_only() {
    let scratch = Scratch::new();
    let files = |scratch: &Scratch| {
        let files = fs::read_dir(scratch.path("model")).expect("a folder").map(|file| file.expect("a file").path());
        let mut files: Vec<_> = files.map(|file| (file.clone(), fs::read(file).expect("bytes"))).collect();
        files.sort();
        files
    };
    // The same target, in floats and exactly: the tokens, what is claimed or the arithmetic make another model.
    for (build, others) in [
        (vec!["build", "mean-centring", "-o", "model"], [["--tokens", "4"], ["--norm", "l2"], ["--precision", "f64"]]),
        (
            vec!["build", "mean-centring", "--resolution", "3", "-o", "model"],
            [["--tokens", "2"], ["--domain", "all"], ["--precision", "f64"]],
        ),
    ] {
        scratch.done(&[&build[..], &["--force"]].concat());
        let first = files(&scratch);
        scratch.done(&build);
        assert_eq!(files(&scratch), first, "the same model may be written again");
        for other in others {
            let message = scratch.refused(&[&build[..], &other].concat(), "", 3);
            assert!(
                message.contains("model holds another model, and nothing was written\n  there    mean-centring, by "),
                "{message}"
            );
            assert_eq!(files(&scratch), first);
        }
        scratch.done(&[&build[..], &others[0], &["--force"]].concat());
        assert_ne!(files(&scratch), first);
    }
    // A page that was edited, or an old one, does not make it another model; other weights do.
    scratch.done(&["build", "mean-centring", "-o", "model", "--force"]);
    scratch.write("model/report.html", "").done(&["build", "mean-centring", "-o", "model"]);
    let weights = scratch.path("model/model.safetensors");
    let mut bytes = fs::read(&weights).expect("weights");
    *bytes.last_mut().expect("a byte") ^= 1;
    fs::write(&weights, bytes).expect("a file");
    scratch.refused(&["build", "mean-centring", "-o", "model"], "", 3);
    // What is in the file is shown on one short line.
    let hostile =
        format!(r#"{{"format": "formwright-model", "tokens": [{0}], "construction": "a\nb{0}"}}"#, "1".repeat(500));
    fs::write(scratch.path("model/model.json"), hostile).expect("a file");
    let message = scratch.refused(&["build", "mean-centring", "-o", "model"], "", 3);
    assert!(message.lines().count() == 3 && message.lines().all(|line| line.chars().count() < 300), "{message}");
}

/// Digits that give a float of single precision back, and no more of them.
#[test]
fn single_precision_prints_its_own_digits() {
    let scratch = Scratch::new();
    scratch.done(&["build", "z-score", "--tokens", "4", "--eps", "1/10", "-o", "model"]);
    let input = r#"[[[0.1], [0.9], ["3/8"], [0.5]]]"#;
    let run = |more: &[&str]| scratch.run(&[&["run", "model", "--input", "-"], more].concat(), input).stdout;
    let text = run(&[]);
    let (_, outputs) = text.trim().split_once("↦ ").expect("an output");
    let digits: Vec<&str> = outputs.trim_matches(['[', ']']).split(", ").collect();
    assert_eq!(digits.len(), 4);
    for number in &digits {
        let single: f32 = number.parse().expect("a number");
        assert!(single.to_string() == *number && number.len() <= 12, "{number}");
    }
    let document = run(&["--json", "--trace"]);
    let told: Value = serde_json::from_str(&document).expect("JSON");
    let told_digits: Vec<String> = (0..4).map(|token| told["outputs"][0][token][0].to_string()).collect();
    assert_eq!(told_digits, digits);
    assert!(!document.contains("000000014901161"), "{document}");
    // In double precision the same weights have the digits of doubles.
    let wider: Value = serde_json::from_str(&run(&["--json", "--engine", "f64"])).expect("JSON");
    assert!(wider["outputs"][0][0][0].to_string().len() > 15, "{wider}");
}

#[test]
fn an_edited_model_runs_and_claims_nothing() {
    let scratch = Scratch::new();
    tampered("model.json", "\"scale\": \"4\"", "\"scale\": \"5\"")(&scratch);
    let summary = scratch.json(&["inspect", "model", "--json"]);
    assert_eq!(summary["error"]["badge"], Value::Null);
    let input = r#"[[["1/8"],["5/8"]]]"#;
    let run = |scratch: &Scratch, more: &[&str]| {
        scratch.run(&[&["run", "model", "--input", "-", "--json"], more].concat(), input).stdout
    };
    assert_eq!(run(&scratch, &[]), run(&scratch, &["--layer-by-layer"]));
    let other = Scratch::new();
    compiled(&other);
    assert_ne!(run(&scratch, &[]), run(&other, &[]));
}

#[test]
fn a_circuit_is_written_read_run_and_exported() {
    let scratch = Scratch::new();
    let built = scratch.json(&["build", "mean-centring", "--tokens", "8", "-o", "model", "--json"]);
    insta::assert_snapshot!("circuit_json", format!("{built:#}"));
    let inspected = scratch.json(&["inspect", "model", "--json"]);
    // What else there was to choose is nothing of the model.
    for (field, value) in built.as_object().expect("an object").iter().filter(|(field, _)| *field != "choice") {
        assert_eq!(inspected[field], *value, "{field}");
    }
    insta::assert_snapshot!("circuit_inspect", scratch.done(&["inspect", "model"]));
    let layers = scratch.done(&["inspect", "model", "--layers"]);
    assert_eq!(layers.lines().count(), 1, "{layers}");
    // One network for every length.
    let input = r#"[[["1/2"]],[[0],[1]],[["1/8"],["5/8"],["3/8"],[0],[1]]]"#;
    for engine in [&[][..], &["--engine", "f64"], &["--engine", "exact"]] {
        let run = scratch.run(&[&["run", "model", "--input", "-", "--json"], engine].concat(), input);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let outputs = numbers(&serde_json::from_str::<Value>(&run.stdout).expect("JSON")["outputs"]);
        for (found, expected) in outputs.iter().zip([0.0, -0.5, 0.5, -0.3, 0.2, -0.05, -0.425, 0.575]) {
            assert!((found - expected).abs() < 1e-6, "{engine:?}: {outputs:?}");
        }
    }
    let trace = scratch.run(&["run", "model", "--input", "-", "--trace"], "[[[0],[1]]]");
    insta::assert_snapshot!("circuit_trace", trace.stdout);
    let outside = scratch.run(&RUN, "[[[0],[1]],[[0],[2]]]");
    assert_eq!(outside.stderr, "note: sequence 1: outside of the domain, where nothing is claimed\n");
    insta::assert_snapshot!("circuit_export", scratch.done(&["export", "model", "--stages"]));
    weights(|file| file.set("read_out.bias", 0, 0.25))(&scratch);
    let text = scratch.done(&["inspect", "model"]);
    assert!(text.contains("no claim") && !text.contains("certified:"), "{text}");
    assert_eq!(scratch.json(&["inspect", "model", "--json"])["error"]["badge"], Value::Null);
    assert!(scratch.done(&["export", "model", "-o", "edited.onnx"]).contains("no claim"));
}

#[test]
fn a_sum_of_codes_is_written_read_run_and_exported() {
    let scratch = Scratch::new();
    let wish = ["build", "x - mean(x)", "--tokens", "3", "--resolution", "4", "--construction"];
    // 32 is not prime.
    insta::assert_snapshot!("sum_code", scratch.done(&[&wish[..], &["sum-code", "--code", "bose-chowla:32"]].concat()));
    insta::assert_snapshot!(
        "sum_code_layered",
        scratch.done(&[&wish[..], &["sum-code", "--values", "layered"]].concat())
    );
    for (family, values, precision) in [
        ("sum-code", "one-block", "exact"),
        ("sum-code", "rank", "f64"),
        ("sum-code", "layered", "f64"),
        ("sumformer-discrete", "one-block", "f64"),
        ("sumformer-discrete", "layered", "exact"),
    ] {
        let more = [family, "--values", values, "--precision", precision, "-o", "model", "--force", "--json"];
        let built = scratch.json(&[&wish[..], &more].concat());
        assert_eq!((&built["construction"], &built["values"]), (&Value::from(family), &Value::from(values)));
        let inspected = scratch.json(&["inspect", "model", "--json"]);
        for (field, value) in built.as_object().expect("an object") {
            assert_eq!(inspected[field], *value, "{family} {values}: {field}");
        }
        // Equal tokens, which Theorem 2 does not serve; and outside of the box.
        let run = scratch.run(&["run", "model", "--input", "-", "--json"], "[[[0.1],[0.1],[0.6]],[[0.1],[3],[0.6]]]");
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(run.stderr, "note: sequence 1: outside of the box\n");
        let outputs = serde_json::from_str::<Value>(&run.stdout).expect("JSON")["outputs"].clone();
        if precision == "exact" {
            assert_eq!(outputs.to_string(), r#"[[["-1/6"],["-1/6"],["1/3"]],[["0"],["0"],["0"]]]"#);
            scratch.refused(&["export", "model"], "", 2);
        } else {
            for (found, expected) in numbers(&outputs).iter().zip([-1.0 / 6.0, -1.0 / 6.0, 1.0 / 3.0, 0.0, 0.0, 0.0]) {
                assert!((found - expected).abs() < 1e-9, "{outputs}");
            }
            let file = format!("{family}-{values}.onnx");
            assert!(scratch.done(&["export", "model", "-o", &file]).contains("certified: l2 error"));
        }
    }
    insta::assert_snapshot!(
        "sumformer_discrete",
        scratch.done(&[&wish[..], &["sumformer-discrete", "--precision", "f64", "-o", "model", "--force"]].concat())
    );
    insta::assert_snapshot!("sumformer_discrete_inspect", scratch.done(&["inspect", "model"]));
}

#[test]
fn an_edited_sum_of_codes_claims_nothing() {
    let wish =
        ["build", "x - mean(x)", "--tokens", "2", "--resolution", "4", "--construction", "sum-code", "-o", "model"];
    let scratch = Scratch::new();
    scratch.done(&[&wish[..], &["--precision", "f32"]].concat());
    weights(|file| file.set("read_out.bias", 0, 0.25))(&scratch);
    let text = scratch.done(&["inspect", "model"]);
    assert!(text.contains("no claim") && !text.contains("certified:"), "{text}");
    // There is no other way to run the stages of an exact one than to build them.
    let scratch = Scratch::new();
    scratch.done(&wish);
    let path = scratch.path("model/model.json");
    let file = fs::read_to_string(&path).expect("model.json");
    fs::write(&path, file.replacen("\"flagged\": \"", "\"flagged\": \"1", 1)).expect("model.json");
    insta::assert_snapshot!("sum_code_edited", scratch.refused(&["run", "model", "--input", "-"], "[[[0],[0]]]", 3));
}

#[test]
fn a_sumformer_is_written_read_run_and_exported() {
    let scratch = Scratch::new();
    let wish = ["build", "var(x) * x", "--construction", "sumformer", "-o", "model", "--json"];
    let built = scratch.json(&wish);
    insta::assert_snapshot!("sumformer_json", format!("{built:#}"));
    let inspected = scratch.json(&["inspect", "model", "--json"]);
    for (field, value) in built.as_object().expect("an object") {
        assert_eq!(inspected[field], *value, "{field}");
    }
    assert_eq!(built["size"]["attention_layers"], "1");
    insta::assert_snapshot!("sumformer_inspect", scratch.done(&["inspect", "model"]));
    let run = scratch.run(&[&RUN[..], &["--json"]].concat(), r#"[[["1/2"],[0],[1]]]"#);
    let outputs = numbers(&serde_json::from_str::<Value>(&run.stdout).expect("JSON")["outputs"]);
    for (found, expected) in outputs.iter().zip([1.0 / 12.0, 0.0, 1.0 / 6.0]) {
        assert!((found - expected).abs() < 0.01, "{outputs:?}");
    }
    assert!(scratch.done(&["export", "model"]).contains("certified"));
    weights(|file| file.set("read_out.bias", 0, 0.25))(&scratch);
    let text = scratch.done(&["inspect", "model"]);
    assert!(text.contains("no claim") && !text.contains("certified:"), "{text}");
}

/// A Sumformer that computes the mean of four tokens, but for its last bias, which is 1/8 too large.
fn trained(scratch: &Scratch, target: &str, attention: &str) {
    let dense = |rows: &[&[f32]], bias: f32| Dense {
        weight: rows.iter().map(|row| row.to_vec()).collect(),
        bias: vec![bias; rows.len()],
    };
    let trained = Trained {
        source: Source::expression("mean", target).expect("an expression"),
        tokens: 4,
        phi: vec![dense(&[&[1.0]], 0.0), dense(&[&[1.0]], 0.0)],
        psi: vec![dense(&[&[0.0, 0.25]], 0.0), dense(&[&[1.0]], 0.125)],
        attention: attention.parse().expect("a kind"),
        precision: Precision::F32,
    };
    let model = trained.compile().expect("a model");
    Contents::of(&model).and_then(|files| files.replace(&model, &scratch.path("model"))).expect("a folder");
}

#[test]
fn a_trained_sumformer_is_read_run_and_exported_and_has_nothing_to_check() {
    let scratch = Scratch::new();
    trained(&scratch, "mean(x)", "linformer:2");
    insta::assert_snapshot!("learned_inspect", scratch.done(&["inspect", "model"]));
    let inspected = scratch.json(&["inspect", "model", "--json"]);
    insta::assert_snapshot!("learned_json", format!("{:#}", inspected["error"]));
    for engine in ["f32", "exact"] {
        let run = scratch.run(&[&RUN[..], &["--json", "--engine", engine]].concat(), r#"[[["1/2"],[0],[1],[0]]]"#);
        let outputs = numbers(&serde_json::from_str::<Value>(&run.stdout).expect("JSON")["outputs"]);
        assert!(outputs.iter().all(|y| (y - 0.5).abs() < 1e-6), "{outputs:?}");
    }
    insta::assert_snapshot!("learned_check", scratch.refused(&["check", "model"], "", 2));
    insta::assert_snapshot!("learned_vnnlib", scratch.refused(&["export", "model", "--format", "vnnlib"], "", 2));
    scratch.refused(&["export", "model", "--format", "transformerlens"], "", 2);
    insta::assert_snapshot!("learned_export", scratch.done(&["export", "model"]));
    weights(|file| file.set("embed.bias", 1, 0.25))(&scratch);
    let text = scratch.done(&["inspect", "model"]);
    assert!(text.contains("no claim") && !text.contains("measured:"), "{text}");
    // Sizes of φ and ψ that are not those of the network.
    trained(&scratch, "mean(x)", "linformer:2");
    let path = scratch.path("model/model.json");
    let file: Value = serde_json::from_str(&fs::read_to_string(&path).expect("model.json")).expect("JSON");
    for sizes in [serde_json::json!([1, 2, 1]), serde_json::json!([]), serde_json::json!([1, u64::MAX, 1])] {
        let mut file = file.clone();
        file["sumformer"]["phi"] = sizes;
        fs::write(&path, file.to_string()).expect("model.json");
        let refused = scratch.refused(&["inspect", "model"], "", 3);
        assert!(refused.contains("its network has no φ of sizes"), "{refused}");
    }
    // Tokens that TransformerLens can read; every sequence of them is measured.
    trained(&scratch, "mean(x) on integers 0..3", "softmax");
    let measured = scratch.json(&["inspect", "model", "--json"])["error"]["measured"].clone();
    assert_eq!((&measured["exhaustive"], &measured["points"]), (&true.into(), &81.into()));
    assert!(scratch.done(&["export", "model", "--format", "transformerlens"]).contains("no claim"));
}

#[test]
fn sumformers_of_other_bases_say_what_they_are() {
    let scratch = Scratch::new();
    let hats = ["build", "exp(-x * mean(x))", "--tokens", "2", "--construction", "sumformer", "-o", "hats"];
    insta::assert_snapshot!("sumformer_of_hats", scratch.done(&hats));
    let inspected = scratch.json(&["inspect", "hats", "--json"]);
    assert_eq!((&inspected["sumformer"]["basis"], &inspected["error"]["badge"]), (&"hats".into(), &"certified".into()));
    let fit = |eps| ["build", "x / (1 + sum(x))", "--construction", "sumformer", "--basis", "fit:2", "--eps", eps];
    insta::assert_snapshot!("sumformer_of_a_fit", scratch.done(&fit("1/10")));
    let plan = scratch.done(&["plan", "var(x) * x", "--construction", "sumformer"]);
    insta::assert_snapshot!("sumformer_plan", plan);
}

#[test]
fn a_circuit_of_every_kind_of_attention_is_written_read_and_run() {
    let input = r#"[[["1/8"],["5/8"],["3/8"],[0]]]"#;
    for kind in ["average", "linformer:3", "performer:2", "performer:2:constant", "sparse:hub"] {
        let scratch = Scratch::new();
        let asked = ["build", "mean-centring", "--tokens", "4", "--attention", kind, "-o", "model"];
        let built = scratch.json(&[&asked[..], &["--json"]].concat());
        assert_eq!(built["attention"], kind);
        let inspected = scratch.json(&["inspect", "model", "--json"]);
        assert_eq!(inspected["error"], built["error"], "{kind}");
        let run = scratch.run(&["run", "model", "--input", "-", "--json"], input);
        let outputs = numbers(&serde_json::from_str::<Value>(&run.stdout).expect("JSON")["outputs"]);
        let bound = built["error"]["bound"].as_f64().expect("a bound");
        for (found, expected) in outputs.iter().zip([-0.15625, 0.34375, 0.09375, -0.28125]) {
            assert!((found - expected).abs() <= bound, "{kind}: {outputs:?}");
        }
        // Of other lengths only where n is not in the weights.
        let shorter = scratch.run(&RUN, "[[[0],[1]]]");
        assert_eq!(shorter.code == 0, kind == "average", "{kind}: {}", shorter.stderr);
        if kind == "linformer:3" {
            insta::assert_snapshot!("linformer_inspect", scratch.done(&["inspect", "model"]));
            insta::assert_snapshot!("linformer_layers", scratch.done(&["inspect", "model", "--layers"]));
            insta::assert_snapshot!("linformer_export", scratch.done(&["export", "model"]));
        }
    }
    let scratch = Scratch::new();
    insta::assert_snapshot!("average_plan", scratch.done(&["plan", "times-mean", "--attention", "average"]));
}

#[test]
fn sumformers_and_sums_of_codes_have_every_kind_of_attention() {
    let codes = ["--construction", "sum-code", "--resolution", "4", "--precision", "f64"];
    let discrete = ["--construction", "sumformer-discrete", "--resolution", "4", "--precision", "f64"];
    let continuous = ["--construction", "sumformer"];
    for (family, kind) in [
        (&codes[..], "average"),
        (&codes, "linformer:2"),
        (&codes, "performer:4"),
        (&discrete, "linformer:1"),
        (&discrete, "performer:1"),
        (&continuous, "average"),
        (&continuous, "linformer:3"),
        (&continuous, "performer:2:constant"),
        (&codes, "sparse:hub"),
        (&discrete, "sparse:hub"),
        (&continuous, "sparse:hub"),
    ] {
        let scratch = Scratch::new();
        let asked = ["build", "x * mean(x)", "--tokens", "2", "--attention", kind, "-o", "model", "--json"];
        let built = scratch.json(&[&asked[..], family].concat());
        assert_eq!(built["attention"], kind, "{family:?}");
        let inspected = scratch.json(&["inspect", "model", "--json"]);
        assert_eq!(
            (&inspected["error"], &inspected["attention"]),
            (&built["error"], &built["attention"]),
            "{family:?}"
        );
        let run = scratch.run(&["run", "model", "--input", "-", "--json"], r#"[[["1/8"],["5/8"]]]"#);
        let outputs = numbers(&serde_json::from_str::<Value>(&run.stdout).expect("JSON")["outputs"]);
        for (found, expected) in outputs.iter().zip([0.046_875, 0.234_375]) {
            assert!((found - expected).abs() <= 0.01, "{family:?} {kind}: {outputs:?}");
        }
    }
}

/// The table of the sparse theorem by a command; a pattern, its picture and its verdict.
#[test]
fn patterns_are_compared_and_shown() {
    let scratch = Scratch::new();
    insta::assert_snapshot!("patterns", scratch.done(&["patterns"]));
    insta::assert_snapshot!("patterns_star", scratch.done(&["patterns", "star", "--tokens", "9"]));
    insta::assert_snapshot!("patterns_strided", scratch.done(&["patterns", "sparse:strided:3", "--tokens", "9"]));
    scratch.write("turned.json", "[[[0, 2], [1], [0, 2]], [[0], [1, 2], [1, 2]]]");
    insta::assert_snapshot!("patterns_file", scratch.done(&["patterns", "file:turned.json"]));
    for n in [16, 64, 256] {
        let table = scratch.json(&["patterns", "--tokens", &n.to_string(), "--json"]);
        let rows = table["patterns"].as_array().expect("rows");
        let row = |name: &str| rows.iter().find(|row| row["pattern"] == name).expect("a row");
        assert_eq!(row("star")["connections"], serde_json::json!([5 * n - 4]));
        assert_eq!(row("hub")["serves"], false);
        assert_eq!(rows.iter().filter(|row| row["serves"] == true).count(), 8, "{n}");
    }
    let large = scratch.done(&["patterns", "star", "--tokens", "100", "--svg", "star.svg"]);
    assert!(large.contains("--svg FILE draws it") && large.contains("written: star.svg"), "{large}");
    let picture = fs::read_to_string(scratch.path("star.svg")).expect("a picture");
    assert!(picture.contains("layer 1 of 1: 496 connections of 10000"), "{picture}");
    // Nothing is overwritten.
    assert_eq!(scratch.run(&["patterns", "star", "--svg", "star.svg"], "").code, 3);
}

#[test]
fn sparse_models_are_written_read_run_and_checked() {
    let scratch = Scratch::new();
    let exact =
        ["build", "reverse", "--tokens", "4", "--resolution", "3", "--attention", "sparse:strided:2", "-o", "exact"];
    insta::assert_snapshot!("sparse_build", scratch.done(&exact));
    let floats = [
        "build",
        "reverse",
        "--tokens",
        "4",
        "--resolution",
        "3",
        "--attention",
        "sparse:strided:2",
        "--precision",
        "f64",
        "-o",
        "model",
    ];
    insta::assert_snapshot!("sparse_floats", scratch.done(&floats));
    let mut outputs = Vec::new();
    for model in ["exact", "model"] {
        let inspected = scratch.json(&["inspect", model, "--json"]);
        assert_eq!(inspected["attention"], "sparse:strided:2");
        assert_eq!((&inspected["sparse"]["hops"], &inspected["size"]["connections"]), (&2.into(), &14.into()));
        assert_eq!(inspected["size"]["attention_layers"], "20");
        let run = scratch.run(
            &["run", model, "--input", "-", "--engine", if model == "exact" { "exact" } else { "f64" }],
            "[[[0],[0.4],[0.8],[0.9]]]",
        );
        outputs.push(run.stdout);
    }
    assert!(outputs[0].trim().ends_with("[5/6, 5/6, 1/2, 1/6]"), "{outputs:?}");
    assert!(
        outputs[1].trim().ends_with("[0.8333333333333333, 0.8333333333333333, 0.5, 0.16666666666666669]"),
        "{outputs:?}"
    );
    let inspected = scratch.json(&["inspect", "model", "--json"]);
    assert_eq!(
        (&inspected["error"]["badge"], &inspected["error"]["checked"]),
        (&"certified".into(), &"accepted".into())
    );
    assert_eq!(scratch.run(&["check", "model"], "").code, 0);
    insta::assert_snapshot!(
        "sparse_plan",
        scratch.done(&[
            "plan",
            "--all",
            "x - mean(x)",
            "--tokens",
            "5",
            "--attention",
            "sparse:star",
            "--eps",
            "0.3",
            "--norm",
            "l2"
        ])
    );
    // An edge taken from the pattern is another network.
    let layers = scratch.done(&["inspect", "exact", "--layers"]);
    assert!(layers.lines().any(|line| line.contains("\"connections\":[[0,1,2],")), "{layers}");
}

#[test]
fn build_takes_the_first_row_of_the_plan() {
    let scratch = Scratch::new();
    for wish in [
        &["x - mean(x)"][..],
        &["x - mean(x)", "--norm", "l2"],
        &["x * mean(x)", "--trade", "depth", "--eps", "1/1000"],
        &["var(x)", "--precision", "f64", "--eps", "1/1000"],
        &["var(x)", "--construction", "sumformer"],
        &["x - mean(x)", "--precision", "f64", "--eps", "1e-9"],
        &["x - mean(x)", "--construction", "yun", "--eps", "1/10", "--norm", "l2", "--tokens", "2"],
        &["x - mean(x)", "--attention", "performer:3"],
        &["x on integers 0..3", "--tokens", "2"],
        &["x * max(x)", "--construction", "sum-code", "--eps", "1/10", "--norm", "l2", "--tokens", "2"],
        &["x * max(x)", "--construction", "sumformer-discrete", "--eps", "1/4", "--norm", "l2", "--tokens", "2"],
        &["x on integers 0..3", "--construction", "yun", "--eps", "1/10", "--tokens", "2"],
    ] {
        let plan = scratch.json(&[&["plan", "--json"], wish].concat());
        let chosen = &plan["chosen"];
        let positional: &[&str] =
            if chosen["construction"] == "yun" && chosen["positional"] == true { &["--positional"] } else { &[] };
        let built = scratch.json(&[&["build", "--json"], wish, positional].concat());
        for field in ["construction", "positional", "precision"] {
            assert_eq!(built[field], chosen[field], "{wish:?}: {field}");
        }
        let first = &plan["candidates"][0];
        assert_eq!((&built["size"], &built["trade"]), (&first["size"], &first["trade"]), "{wish:?}");
        assert_eq!(built["error"]["bound"], first["error"]["bound"], "{wish:?}");
        assert_eq!(built["error"]["domain"], first["error"]["domain"], "{wish:?}");
    }
}

#[test]
fn a_fallback_is_told() {
    let scratch = Scratch::new();
    let wish = ["sort(x) on integers 0..9", "--tokens", "9", "--eps", "1e-13"];
    let built = scratch.done(&[&["build"][..], &wish].concat());
    insta::assert_snapshot!("fallback", built.lines().take(6).collect::<Vec<_>>().join("\n"));
    let json = scratch.json(&[&["build", "--json"][..], &wish].concat());
    let reason = json["choice"]["no_circuit"].as_str().expect("a reason");
    assert!(reason.starts_with("the tolerance 0.0000000000001 is not met"), "{reason}");
    let circuit = scratch.json(&["build", "sort(x) on integers 0..9", "--tokens", "9", "--json"]);
    assert!(circuit["choice"]["no_circuit"].is_null());
}

#[test]
fn a_plan_says_what_it_left_out_and_looks_at_all_on_request() {
    let scratch = Scratch::new();
    let wish = ["plan", "x * mean(x)", "--tokens", "2", "--eps", "0.1", "--norm", "l2"];
    insta::assert_snapshot!("plan_left_out", scratch.done(&wish));
    let (needed, all) =
        (scratch.json(&[&wish[..], &["--json"]].concat()), scratch.json(&[&wish[..], &["--json", "--all"]].concat()));
    assert_eq!(needed["chosen"], all["chosen"]);
    assert_eq!(needed["candidates"][0], all["candidates"][0]);
    let rows = |plan: &Value, part: &str| plan[part].as_array().expect("rows").len();
    assert_eq!(rows(&all, "left_out"), 0);
    assert_eq!(rows(&needed, "left_out") + rows(&needed, "candidates"), rows(&all, "candidates"));
    assert!(rows(&needed, "left_out") > 10);
}

#[test]
fn the_size_in_the_other_precision_is_told() {
    let scratch = Scratch::new();
    let wish = ["z-score", "--tokens", "5", "--eps", "1/1000"];
    let built = scratch.done(&[&["build"][..], &wish].concat());
    let first = built.lines().next().expect("a line");
    assert!(first.contains("circuit --trade depth in f64"), "{first}");
    assert!(first.contains("; in f32 it would have 5120 parameters, 20 kB; "), "{first}");
    let plan = scratch.done(&[&["plan"][..], &wish].concat());
    assert!(plan.contains("\nin f32 it would have 5120 parameters, 20 kB (circuit --trade width)\n"), "{plan}");
}

#[test]
fn a_circuit_in_other_norms_and_on_integers_says_what_it_is() {
    let scratch = Scratch::new();
    insta::assert_snapshot!("circuit_in_l2", scratch.done(&["build", "mean-centring", "--norm", "l2"]));
    insta::assert_snapshot!("circuit_on_integers", scratch.done(&["build", "x on integers 0..4"]));
    let built = scratch.json(&["build", "x on integers 0..4", "--json"]);
    assert!(built["margin"].as_f64().is_some_and(|margin| margin > 0.0), "{built:#}");
    let measured = &built["error"]["measured"];
    assert_eq!((&measured["points"], &measured["exhaustive"]), (&Value::from(64), &Value::from(true)));
    assert!(measured["value"].as_f64() <= built["error"]["bound"].as_f64());
}

#[test]
fn a_packed_model_is_written_and_read() {
    for width in [&["--pack"][..], &["--hidden", "8"]] {
        let scratch = Scratch::new();
        let base = [
            "build",
            "mean-centring",
            "--tokens",
            "2",
            "--resolution",
            "4",
            "--precision",
            "f64",
            "-o",
            "model",
            "--json",
        ];
        let built = scratch.json(&[&base, width].concat());
        let blocks: usize = built["size"]["blocks"].as_str().expect("a count").parse().expect("a number");
        assert!(blocks < 24, "{blocks}: the literal network has 24");
        let inspected = scratch.json(&["inspect", "model", "--json"]);
        assert_eq!(inspected["error"], built["error"]);
        assert_eq!(inspected["error"]["badge"], "certified");
        let run = scratch.run(&["run", "model", "--input", "-", "--json"], "[[[0.1],[0.9]]]");
        let outputs = numbers(&serde_json::from_str::<Value>(&run.stdout).expect("JSON")["outputs"]);
        assert!((outputs[0] + 0.375).abs() < 1e-8 && (outputs[1] - 0.375).abs() < 1e-8, "{outputs:?}");
        scratch.done(&["export", "model"]);
    }
}

#[test]
fn an_edited_weight_is_executed_and_claims_nothing() {
    let scratch = Scratch::new();
    let input = "[[[0.1],[0.9]]]";
    let run = || scratch.run(&["run", "model", "--input", "-", "--json"], input).stdout;
    floats(&scratch);
    let before = run();
    assert!(scratch.done(&["inspect", "model"]).contains("certified: l2 error"));
    weights(|file| file.set("read_out.bias", 0, 0.25))(&scratch);
    assert_ne!(run(), before);
    let text = scratch.done(&["inspect", "model"]);
    assert!(text.contains("no claim") && !text.contains("certified"), "{text}");
    assert_eq!(scratch.json(&["inspect", "model", "--json"])["error"]["badge"], Value::Null);
}

#[test]
fn what_is_offered_instead_of_a_tolerance_is_enough() {
    let scratch = Scratch::new();
    for more in
        [&["--precision", "f64", "--construction", "yun"][..], &["--precision", "f32"], &["--construction", "yun"]]
    {
        let wish = |eps: &str| {
            let base = ["build", "x - mean(x)", "--tokens", "2", "--norm", "l2", "--eps", eps];
            scratch.run(&[&base, more].concat(), "")
        };
        let refusal = wish("1e-15").stderr;
        let (_, offer) = refusal.split_once("--eps ").expect("an offer");
        let offer = offer.split(',').next().expect("a number");
        let outcome = wish(offer);
        assert_eq!(outcome.code, 0, "{more:?} {offer}: {}", outcome.stderr);
    }
}

#[test]
fn a_trillion_layers_build_and_run() {
    let scratch = Scratch::new();
    let arguments =
        ["build", "mean-centring", "--tokens", "4", "--dims", "2", "--resolution", "46", "-o", "large", "--json"];
    let built = scratch.json(&arguments);
    let layers: u64 = built["size"]["feed_forward_layers"].as_str().expect("a string").parse().expect("a number");
    assert!(layers > 1_000_000_000_000, "{layers}");
    let input = "[[[0.1,0.2],[0.3,0.4],[0.5,0.6],[0.7,0.9]]]";
    let run = scratch.run(&["run", "large", "--input", "-", "--json"], input);
    insta::assert_snapshot!("a_trillion_layers", run.stdout);
}

#[test]
fn the_commands_of_the_registry_show_what_they_say() {
    let scratch = Scratch::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    fs::create_dir(scratch.path("examples")).expect("a folder");
    fs::copy(examples.join("lemma7-gap.json"), scratch.path("examples/lemma7-gap.json")).expect("a file");
    let shown: Vec<String> = formwright::theorems::STATEMENTS
        .iter()
        .flat_map(|statement| statement.departures)
        .filter_map(|departure| departure.show)
        .map(|command| format!("$ {command}\n{}", scratch.shell(command).1))
        .collect();
    assert_eq!(shown.len(), 11);
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn mixers_are_contextual_or_there_is_a_counterexample_in_numbers() {
    let scratch = Scratch::new();
    scratch.write("means.json", "[[[0], [1], [5]], [[0], [2], [4]]]");
    let told: Vec<String> = [
        "attention --set distinct",
        "attention --positional",
        "attention:2 --set distinct --definition permutation",
        "feed-forward-only --positional",
        "average --set file:means.json",
        "ff-average --definition columns",
        "linformer:2:gaussian --set distinct",
        "sumformer",
        "sumformer --set grid --definition columns",
        "bproj",
        "bproj --positional --seeds 100",
        "bproj:7 --set distinct",
        "sepconv:5 --set distinct",
        "sepconv:3 --positional",
        "sepconv:5 --positional",
        "sparse:star --tokens 5 --resolution 2",
    ]
    .iter()
    .map(|line| {
        let arguments: Vec<&str> = std::iter::once("contextual").chain(line.split(' ')).collect();
        format!("$ formwright contextual {line}\n{}", scratch.done(&arguments))
    })
    .collect();
    insta::assert_snapshot!("contextual", told.join("\n"));
    let document = scratch.json(&["contextual", "average", "--set", "file:means.json", "--json"]);
    insta::assert_snapshot!("contextual_json", format!("{document:#}"));
    let document = scratch.json(&["contextual", "sum-code", "--definition", "columns", "--json"]);
    assert_eq!((&document["verdict"], &document["sequences"]), (&"contextual".into(), &"64".into()));
    assert!(document["margin"] == "4" && document.get("counterexample").is_none());
}

#[test]
fn questions_are_answered_with_numbers_that_can_be_had_again() {
    let scratch = Scratch::new();
    insta::assert_snapshot!("questions", scratch.done(&["theorems", "questions"]));
    let document = scratch.json(&["theorems", "questions", "--json"]);
    let questions = document["questions"].as_array().expect("questions");
    assert_eq!(questions.iter().map(|q| q["number"].as_u64().expect("a number")).collect::<Vec<_>>(), [1, 2, 4, 5, 6]);
    assert_eq!(questions[0]["numbers"]["equivariant"], true);
    assert_eq!(questions[1]["numbers"]["rows"][0]["host"], "bert");
    assert_eq!(questions[2]["numbers"]["right_without"], 0);
    assert_eq!(questions[3]["numbers"]["rows"][0]["attention_layers"], "13");
    let commands = questions.iter().flat_map(|question| question["commands"].as_array().expect("commands"));
    let (mut done, mut declined) = (String::new(), 0);
    for command in commands.map(|command| command.as_str().expect("a command")) {
        let (code, stdout) = scratch.shell(command);
        match code {
            0 => done.push_str(&stdout),
            2 => declined += 1,
            code => panic!("{command}: {code}"),
        }
    }
    assert_eq!(questions[4]["numbers"]["error"], "1/2");
    assert_eq!(declined, 2, "sort is not equivariant, and there is no supremum norm for a sum of codes");
    for shown in [
        "[3/8, 1/8, 7/8] ↦ [-1/12, -1/3, 5/12]",
        "zero      1,332,032",
        "680 blocks",
        "38 blocks",
        "18 blocks",
        "in bert every output",
        "in gpt2 every output",
    ] {
        assert!(done.contains(shown), "{shown}: {done}");
    }
}

/// A model by cells whose claim the checker decides.
fn checked(scratch: &Scratch) -> String {
    scratch.done(&[
        "build",
        "x * mean(x)",
        "--tokens",
        "2",
        "--resolution",
        "3",
        "--construction",
        "yun",
        "--norm",
        "l2",
        "--precision",
        "f64",
        "-o",
        "model",
    ])
}

/// Changes a file of the folder.
fn edit(scratch: &Scratch, file: &str, from: &str, to: &str) {
    let path = scratch.path("model").join(file);
    let text = fs::read_to_string(&path).expect("a file");
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replacen(from, to, 1)).expect("a file");
}

#[test]
fn what_is_built_is_checked() {
    let scratch = Scratch::new();
    let built = checked(&scratch);
    insta::assert_snapshot!("check_after_build", built.lines().rev().take(3).collect::<Vec<_>>().join("\n"));
    insta::assert_snapshot!("check", scratch.done(&["check", "model"]));
    let said = scratch.json(&["check", "model", "--json"]);
    insta::assert_snapshot!("check_json", format!("{said:#}"));
    assert_eq!(scratch.json(&["inspect", "model", "--json"])["error"]["checked"], "accepted");
    assert!(scratch.done(&["inspect", "model"]).contains("checked: accepted"));
    let skipped =
        ["build", "x * mean(x)", "--tokens", "2", "--resolution", "3", "--construction", "yun", "--precision", "f64"];
    let skipped = scratch.json(&[&skipped[..], &["--no-check", "-o", "model", "--force", "--json"]].concat());
    assert_eq!((&skipped["error"]["checked"], &skipped["error"]["checked_reason"]), (&"not-run".into(), &Value::Null));
    // Variances over a mask have no rule yet; a document says why, and so does the folder.
    let declined = scratch.json(&["build", "var(x, j <= i)", "-o", "model", "--force", "--json"]);
    let reason = "scope: a claim in the supremum norm over a box, without meanings";
    for told in [declined, scratch.json(&["inspect", "model", "--json"])] {
        assert_eq!((&told["error"]["checked"], &told["error"]["checked_reason"]), (&"declined".into(), &reason.into()));
    }
    assert!(scratch.done(&["inspect", "model"]).contains(reason));
    let outcome = scratch.run(&["check", "model"], "");
    assert_eq!(outcome.code, 2);
    insta::assert_snapshot!("check_declined", outcome.stdout);
}

#[test]
fn what_is_not_proved_is_rejected() {
    let reject = |name: &str, change: &dyn Fn(&Scratch), code: i32| {
        let scratch = Scratch::new();
        checked(&scratch);
        change(&scratch);
        let outcome = scratch.run(&["check", "model"], "");
        assert_eq!(outcome.code, code, "{}{}", outcome.stdout, outcome.stderr);
        insta::assert_snapshot!(format!("check_{name}"), format!("{}{}", outcome.stdout, outcome.stderr));
    };
    let certificate = |scratch: &Scratch| fs::read_to_string(scratch.path("model/certificate.fwc")).expect("a file");
    let line = |scratch: &Scratch, name: &str| {
        let text = certificate(scratch);
        text.lines().find(|line| line.starts_with(name)).expect("a line").to_owned()
    };
    reject("bound_too_small", &|scratch| edit(scratch, "certificate.fwc", &line(scratch, "bound"), "bound 1/100"), 1);
    reject("cut_off", &|scratch| edit(scratch, "certificate.fwc", "end\n", ""), 1);
    reject("not_canonical", &|scratch| edit(scratch, "certificate.fwc", "tokens 2 2", "tokens 2 02"), 1);
    reject("other_target", &|scratch| edit(scratch, "target.json", "mul", "add"), 1);
    reject(
        "assumption",
        &|scratch| edit(scratch, "certificate.fwc", "assumptions 0", "assumptions 1\nassume equivariant"),
        2,
    );
    reject("no_certificate", &|scratch| fs::remove_file(scratch.path("model/certificate.fwc")).expect("gone"), 3);
    reject("no_weights", &|scratch| fs::remove_file(scratch.path("model/model.safetensors")).expect("gone"), 3);
    reject("no_folder", &|scratch| fs::remove_dir_all(scratch.path("model")).expect("gone"), 3);
}

/// Tracr's programs for brackets, as they are written there: shares of a prefix, which are fractions. The claims are
/// true, and accepted.
#[test]
fn brackets_by_shares_of_prefixes_are_accepted() {
    let share = |symbol: u8| format!("mean(if x == {symbol} then 1 else 0, j <= i)");
    let one = format!(
        "let b = {} - {}; let under = mean(if b < 0 then 1 else 0); \
         if under > 0 then 0 else if b[n - 1] > 0 then 0 else 1 on integers 0..2",
        share(1),
        share(0)
    );
    let two = format!(
        "let p = {} - {}; let q = {} - {}; let under = mean(if p < 0 or q < 0 then 1 else 0); \
         if under > 0 then 0 else if p[n - 1] > 0 or q[n - 1] > 0 then 0 else 1 on integers 0..4",
        share(0),
        share(1),
        share(2),
        share(3)
    );
    let counted = "let b = count(x == 1, j <= i) / (i + 1) - count(x == 0, j <= i) / (i + 1); \
                   if min(b) < 0 or b[n - 1] > 0 then 0 else 1 on integers 0..2";
    for (name, text) in [("one", one.as_str()), ("two", two.as_str()), ("counted", counted)] {
        let scratch = Scratch::new();
        let built = scratch.json(&["build", text, "--tokens", "4", "-o", name, "--json"]);
        assert_eq!(built["error"]["checked"], "accepted", "{text}: {}", built["error"]);
    }
}

/// One token is a length: its model is written with its page, which has no second token to draw.
#[test]
fn a_model_of_one_token_is_written() {
    for text in ["x^2", "x mod 2 on integers 0..3"] {
        let scratch = Scratch::new();
        let built = scratch.json(&["build", text, "--tokens", "1", "-o", "one", "--json"]);
        assert_eq!(built["tokens"], 1, "{text}");
        assert!(scratch.0.path().join("one").join("report.html").is_file(), "{text}");
    }
}
