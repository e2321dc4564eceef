//! The content of `certificate.fwc`, line by line, for every family of constructions.

use std::fs;

use super::support::{Options, as_printed, cells_of, circuits, expression, only, positional, request, sumformers};
use formwright::artifact::{self, Contents, sha256};
use formwright::bound::Norm;
use formwright::compile::{Arithmetic, Model, Request, Tolerance, compile};
use formwright::construct::normal_form::continuous::Basis;
use formwright::construct::sumcode::{self, SUM_CODE, Scheme, Values};
use formwright::construct::sumformer::discrete::SUMFORMER_DISCRETE;
use formwright::construct::yun::AsPrinted;
use formwright::exact::Rat;
use formwright::lower::{Format, Hidden};
use formwright::network::{FloatNetwork, Precision, Run};
use formwright::pattern::Connections;

const BOX: &str = "x - mean(x)";
const INTEGERS: &str = "sum(x) + x on integers 0..4";

fn lattice(text: &str, options: Options, precision: Precision) -> Request {
    let request = request(expression(text), (2, 1, 4), options);
    Request { arithmetic: Arithmetic::Float(Format::literal(precision)), ..request }
}

fn sums(text: &str, family: &'static Scheme, values: Values) -> Request {
    let options = sumcode::Options { values, ..sumcode::Options::of(family) };
    let request = lattice(text, Options::default(), Precision::F64);
    Request { constructions: only(options), ..request }
}

fn circuit(text: &str, attention: &str) -> Request {
    let request = lattice(text, Options::default(), Precision::F64);
    let attention = attention.parse().expect("a kind of attention");
    Request { constructions: circuits(), resolution: None, attention, ..request }
}

fn sumformer(text: &str, basis: Option<Basis>) -> Request {
    Request { constructions: sumformers(basis), ..circuit(text, "softmax") }
}

fn in_norm(norm: &str, request: Request) -> Request {
    Request { tolerance: Tolerance { norm: Some(norm.parse().expect("a norm")), ..Tolerance::default() }, ..request }
}

fn with_hidden(hidden: Hidden) -> Request {
    let format = Format { hidden, ..Format::literal(Precision::F64) };
    Request { arithmetic: Arithmetic::Float(format), ..lattice(BOX, Options::default(), Precision::F64) }
}

/// A model of every kind, with what is claimed of it.
fn families() -> Vec<(Request, &'static str, &'static str)> {
    let plain = Options::default;
    let everywhere = Options { everywhere: true, ..plain() };
    let mut families = vec![
        (lattice(BOX, plain(), Precision::F32), "box", "lp 2"),
        (in_norm("lp:3/2", lattice(BOX, positional(), Precision::F64)), "box", "lp 3/2"),
        (lattice(BOX, everywhere, Precision::F64), "space", "lp 2"),
        (with_hidden(Hidden::All), "box", "lp 2"),
        (with_hidden(Hidden::Units(9)), "box", "lp 2"),
        (lattice(INTEGERS, plain(), Precision::F32), "distinct-integers 9/2", "sup"),
        (lattice(INTEGERS, positional(), Precision::F32), "integers", "sup"),
        (in_norm("sup", lattice(INTEGERS, positional(), Precision::F32)), "integers", "sup"),
        (circuit(BOX, "average"), "box", "sup"),
        (circuit(BOX, "linformer:2"), "box", "sup"),
        (circuit(BOX, "performer:2"), "box", "sup"),
        (circuit("sum(x, j <= i)", "softmax"), "box", "sup"),
        (in_norm("l1", circuit(BOX, "softmax")), "box", "lp 1"),
        (circuit(INTEGERS, "softmax"), "integers", "sup"),
        (sumformer("x * mean(x)", None), "box", "sup"),
    ];
    for values in [Values::OneBlock, Values::Staircase, Values::Layered, Values::Rank] {
        families.push((sums(BOX, &SUM_CODE, values), "box", "lp 2"));
        families.push((sums(INTEGERS, &SUM_CODE, values), "integers", "sup"));
    }
    families.push((sums(BOX, &SUMFORMER_DISCRETE, Values::OneBlock), "box", "lp 2"));
    families
}

fn built(request: &Request) -> (Model, Contents) {
    let model = compile(request).unwrap_or_else(|error| panic!("{}: {error}", request.source.name));
    let contents = Contents::of(&model).expect("files");
    (model, contents)
}

fn certificate(contents: &Contents) -> &str {
    let bytes = contents.certificate.as_deref().expect("a certificate");
    std::str::from_utf8(bytes).expect("ASCII")
}

/// The lines of a certificate, as they are read.
struct Lines<'a>(std::str::Lines<'a>);

impl<'a> Lines<'a> {
    /// The rest of the next line, behind its first words.
    fn after(&mut self, words: &str) -> &'a str {
        let line = self.0.next().expect("a line");
        line.strip_prefix(words).unwrap_or_else(|| panic!("'{line}' is no line of {words}"))
    }

    fn rational(&mut self, words: &str) -> Rat {
        rational(self.after(words))
    }
}

/// A number in the one way in which it may be written.
fn rational(text: &str) -> Rat {
    let number: Rat = text.parse().expect("a number");
    assert_eq!(number.to_string(), text);
    number
}

/// The line of a run, and of each of its heads.
fn described(run: &Run) -> Vec<String> {
    let attention = run.attention.as_ref();
    let head = attention.map_or(String::new(), |part| {
        let sizes = [part.heads, part.head_size, part.value_size, part.kind.size().unwrap_or(0)].map(|n| n.to_string());
        format!(" attention {} {}", part.kind.name(), sizes.join(" "))
    });
    let hidden = run.feed_forward.as_ref().map_or(String::new(), |part| format!(" ff {}", part.hidden));
    let masks = attention.iter().flat_map(|part| &part.masks).map(|mask| {
        let limits = [mask.relative.0, mask.relative.1, mask.absolute.0, mask.absolute.1];
        let limits = limits.map(|limit| limit.map_or("*".to_owned(), |limit| limit.to_string()));
        format!("mask {} {}", limits.join(" "), if mask.first { "yes" } else { "no" })
    });
    std::iter::once(format!("run {}{head}{hidden}", run.blocks)).chain(masks).collect()
}

fn check_shapes(lines: &mut Lines<'_>, network: &FloatNetwork) {
    for (words, count) in
        [("dims ", network.dims()), ("output-dims ", network.output_dims()), ("execution ieee-any-order ", 0)]
    {
        let expected = if count == 0 { network.precision.to_string() } else { count.to_string() };
        assert_eq!(lines.after(words), expected);
    }
    let positions = if network.positions.is_some() { network.tokens } else { 0 };
    for (words, count) in [("width ", network.width()), ("positions ", positions), ("runs ", network.runs.len())] {
        assert_eq!(lines.after(words), count.to_string());
    }
    for line in network.runs.iter().flat_map(described) {
        assert_eq!(lines.0.next(), Some(line.as_str()));
    }
}

#[test]
fn every_line_says_what_the_model_is() {
    for (request, over, norm) in families() {
        let (model, contents) = built(&request);
        let text = certificate(&contents);
        assert!(text.ends_with("\nend\n") && text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)));
        assert!(text.lines().all(|line| line.split(' ').all(|word| !word.is_empty())), "{text}");
        let mut lines = Lines(text.lines());
        assert_eq!(lines.after("formwright-certificate "), "2");
        assert_eq!(lines.after("sha256 target.json "), sha256(&contents.target));
        assert_eq!(lines.after("sha256 model.safetensors "), sha256(contents.weights.as_deref().expect("weights")));
        assert_eq!((lines.after("badge "), lines.after("over "), lines.after("norm ")), ("certified", over, norm));
        let error = &model.summary().expect("a summary")["error"];
        assert_eq!(Some(lines.rational("bound ")), error["bound"].as_f64().and_then(Rat::from_f64));
        assert_eq!(lines.after("assumptions "), "0");
        let (least, most) = model.lengths();
        assert_eq!(lines.after("tokens "), format!("{least} {most}"));
        check_shapes(&mut lines, model.float().expect("floats"));
        let cells = if model.circuit().is_some() { 0 } else { model.grid.resolution() };
        assert_eq!(lines.after("cells "), cells.to_string());
        let (low, high) = lines.after("margins ").split_once(' ').expect("two numbers");
        let (low, high) = (rational(low), rational(high));
        assert!(if cells == 0 { high.is_zero() } else { low > Rat::ZERO && low < high }, "{low} {high}");
        assert!(low + high < Rat::new(1, 1000));
        // What registers mean stands there as well; the checker reads it, and a circuit on a box has it.
        let meanings = lines.0.clone().next().is_some_and(|line| line.starts_with("meanings "));
        while meanings && lines.0.clone().next().is_some_and(|line| line != "end") {
            lines.0.next();
        }
        assert_eq!((lines.after("end"), lines.0.next()), ("", None));
    }
}

#[test]
fn a_folder_has_the_files_that_were_hashed_and_the_same_bytes_every_time() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, (request, ..)) in families().into_iter().enumerate() {
        let (model, contents) = built(&request);
        let dir = folder.path().join(number.to_string());
        contents.write(&model, &dir).expect("a folder");
        let read = |name: &str| fs::read(dir.join(name)).expect("a file");
        let certificate = read("certificate.fwc");
        let text = String::from_utf8(certificate.clone()).expect("ASCII");
        for name in ["target.json", "model.safetensors"] {
            assert!(text.contains(&format!("sha256 {name} {}\n", sha256(&read(name)))), "{text}");
        }
        let (_, again) = built(&request);
        assert_eq!(again.certificate, Some(certificate));
        // What is read back says the same, and may be replaced.
        let read_back = artifact::read(&dir).expect("a model");
        assert_eq!(Contents::of(&read_back).expect("files").certificate, again.certificate);
        artifact::write(&read_back, &dir).expect("a folder that holds a model and nothing else");
    }
}

#[test]
fn masks_and_lengths_are_those_of_the_network() {
    let lines = |text: &str| -> Vec<String> {
        let (_, contents) = built(&Request { tokens: Some(4), ..circuit(text, "softmax") });
        let wanted = |line: &&str| line.starts_with("mask") || line.starts_with("tokens");
        certificate(&contents).lines().filter(wanted).map(str::to_owned).collect()
    };
    assert_eq!(lines("mean(x, j <= i)"), ["tokens 1 4", "mask * 0 * * no"]);
    assert_eq!(lines("x - mean(x)"), ["tokens 1 4", "mask * * * * no"]);
    assert_eq!(lines("x[max(i - 1, 0)]")[0], "tokens 4 4");
}

/// Behind the masks of each run, layer by layer and token by token.
#[test]
fn connections_are_those_of_the_network() {
    let mut model = compile(&lattice(BOX, positional(), Precision::F64)).expect("a model");
    let layer = |keys: [&[usize]; 2]| Connections::new(keys.map(<[usize]>::to_vec).to_vec()).expect("connections");
    let lattice = cells_of(&mut model);
    let lowered = lattice.lowered.as_mut().expect("floats");
    for run in lowered.network.runs.iter_mut().filter_map(|run| run.attention.as_mut()) {
        run.connections = vec![layer([&[1, 0], &[1]]), layer([&[0], &[0, 1]])];
    }
    let contents = Contents::of(&model).expect("files");
    let of_runs = ["run", "mask", "connections", "sees"];
    let wanted = |line: &&str| of_runs.contains(&line.split(' ').next().expect("a word"));
    let lines: Vec<&str> = certificate(&contents).lines().filter(wanted).collect();
    let seen = ["mask * * * * no"; 2].into_iter().chain(["connections 2", "sees 0 1", "sees 1", "sees 0", "sees 0 1"]);
    let mut expected = Vec::new();
    for line in lines.iter().copied().filter(|line| line.starts_with("run")) {
        expected.push(line);
        expected.extend(seen.clone().filter(|_| line.contains("attention")));
    }
    assert_eq!(lines, expected);
    assert!(lines.contains(&"connections 2"));
}

#[test]
fn assumptions_are_listed() {
    let fit = Request {
        tolerance: Tolerance { eps: Some(Rat::new(1, 40)), norm: Some(Norm::Sup), lipschitz: None },
        tokens: Some(6),
        ..sumformer("exp(-sum(x)) * x", Some(Basis::Fit(4)))
    };
    let lipschitz = in_norm("l2", lattice(BOX, Options::default(), Precision::F64));
    let tolerance = Tolerance { lipschitz: Some(Rat::from(3)), ..lipschitz.tolerance.clone() };
    for (request, badge, words) in [
        (fit, "measured", "assume psi is within "),
        (Request { tolerance, ..lipschitz }, "certified", "assume every output entry changes by at most 3 times "),
    ] {
        let (_, contents) = built(&request);
        let text = certificate(&contents);
        assert!(text.contains(&format!("\nbadge {badge}\n")), "{text}");
        assert!(text.contains(&format!("\nassumptions 1\n{words}")), "{text}");
    }
}

#[test]
fn what_has_no_words_has_no_certificate() {
    let exact = Request { arithmetic: Arithmetic::Exact, ..lattice(BOX, Options::default(), Precision::F64) };
    let printed = lattice(BOX, as_printed(AsPrinted::FlagSign, false), Precision::F64);
    let irrational = lattice("exp(x) on integers 0..4", positional(), Precision::F64);
    for request in [exact, printed, irrational] {
        let (model, contents) = built(&request);
        assert_eq!((contents.certificate, contents.weights.is_some()), (None, model.float().is_some()));
    }
}
