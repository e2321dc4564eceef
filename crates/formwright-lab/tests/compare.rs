//! Training against construction, end to end on a tiny experiment, and its arithmetic against other ways to compute it.

use std::path::Path;
use std::process::{Command, Output};

use burn::backend::{Autodiff, Flex};
use formwright::compile::{Asked, compile};
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright_lab::compare::constructions::constructions;
use formwright_lab::compare::{
    self, Certified, Comparison, Count, Errors, NORMS, Network, Origin, SAMPLES, Try, to_json,
};
use formwright_lab::config::{Architecture, Experiment, Norm, Run, source};
use formwright_lab::data::Samples;
use formwright_lab::execute;
use formwright_lab::folder::Folder;
use formwright_lab::regression::judge;
use formwright_lab::study::Study as _;
use formwright_lab::summary::Spread;

use super::support::quiet::go;

/// `times-mean` is equivariant and a polynomial; `sort` is neither, and no circuit on an interval.
const EXPERIMENT: &str = r#"
title = "tiny"
targets = ["times-mean", "sort"]
tokens = 2
seeds = [1, 2]

[[model]]
kind = "transformer"
blocks = [1]
width = [4]

[[model]]
kind = "transformer"
blocks = [1]
width = [4]
norm = "pre"

[[model]]
kind = "mlp-sumformer"
hidden = 4
layers = 1

[data]
training = 64
validation = 64
batch = 16

[budget]
epochs = 3
"#;

fn trained(dir: &Path) -> Folder {
    let folder = Folder::<Experiment>::create(dir, EXPERIMENT).expect("a folder");
    assert!(go(&folder, 2, usize::MAX), "all have ended");
    folder
}

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-5 * expected.abs()
}

/// The fields of a line of the table, which has no comma inside of quotes but after `latent` sizes.
fn lines(table: &str, target: &str, network: &str, size: &str) -> Vec<Vec<String>> {
    let start = format!("\"{target}\",1,\"{network}\",\"{size}\",");
    let fields = |line: &str| line.strip_prefix(&start).map(|rest| rest.split(',').map(str::to_owned).collect());
    table.lines().filter_map(fields).collect()
}

/// Errors in another way: sequence by sequence, the function in exact arithmetic.
fn recomputed(run: &Run, asked: Asked) -> (usize, Errors) {
    let asked = Asked { tokens: Some(run.tokens), dims: Some(run.dims), ..asked };
    let source = source(&run.target).expect("a source");
    let model = compile(&asked.request(source).expect("a request")).expect("a model");
    let engine = Engine::new(model.float().expect("floats")).expect("an engine");
    let samples = Samples::fresh(run, SAMPLES).expect("samples");
    let (mut sup, mut squares, mut count) = (0.0_f64, 0.0, 0.0);
    for x in samples.x.chunks_exact(run.tokens) {
        let exact: Vec<Vec<Rat>> = x.iter().map(|x| vec![Rat::from_f64(f64::from(*x)).expect("a number")]).collect();
        let wanted = model.target.evaluate(&exact).expect("values");
        let mut found = vec![0.0; run.tokens];
        let flat: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        engine.run_flat(run.tokens, &flat, &mut found).expect("outputs");
        for (found, wanted) in found.iter().zip(wanted.concat()) {
            let off = (found - wanted.to_f64()).abs();
            sup = sup.max(off);
            squares += off * off;
            count += 1.0;
        }
    }
    (model.size().parameters.to_usize().expect("a size"), Errors { sup, l2: f64::sqrt(squares / count) })
}

#[test]
fn a_comparison_is_what_one_computes_by_other_ways() {
    let dir = tempfile::tempdir().expect("a place");
    let folder = trained(&dir.path().join("tiny"));
    let comparisons = compare::compare(&folder, |_| {}).expect("a comparison");
    let files = compare::write(&folder, &comparisons).expect("files");
    assert_eq!(files, ["compare.md", "compare.csv", "compare-1.svg", "compare-2.svg"]);
    let read = |file: &str| std::fs::read_to_string(folder.path().join(file)).expect(file);
    let table = read("compare.csv");
    let runs = folder.experiment.runs().expect("runs");

    let cells = |construction: &str| Asked {
        construction: Some(construction.to_owned()),
        resolution: Some(4),
        norm: Some("l2".to_owned()),
        precision: Some("f64".to_owned()),
        ..Asked::default()
    };
    let gates = Asked {
        construction: Some("circuit".to_owned()),
        own: [("trade".to_owned(), "depth".to_owned())].into(),
        eps: Some("1/64".to_owned()),
        ..Asked::default()
    };
    let (pack, positional) = (true, true);
    for (run, network, size, asked) in [
        (&runs[0], "yun --pack", "4 cells a side", Asked { pack, ..cells("yun") }),
        (&runs[0], "sum-code", "4 cells a side", cells("sum-code")),
        (&runs[0], "circuit --trade depth", "within 1/64", gates),
        (&runs[6], "yun --pack --positional", "4 cells a side", Asked { pack, positional, ..cells("yun") }),
        (&runs[6], "sum-code --positional", "4 cells a side", Asked { positional, ..cells("sum-code") }),
    ] {
        let (parameters, errors) = recomputed(run, asked);
        let found = lines(&table, &run.target, network, size);
        let [line] = found.as_slice() else { panic!("{network}, {size}: {found:?}") };
        let number = |place: usize| line[place].parse::<f64>().expect("a number");
        assert_eq!((line[0].as_str(), line[1].as_str()), ("", parameters.to_string().as_str()), "{network}");
        assert!(is_near(number(2), errors.sup) && is_near(number(3), errors.l2), "{network}: {line:?}, {errors:?}");
    }

    for comparison in &comparisons {
        let (trained, constructed): (Vec<_>, Vec<_>) =
            comparison.networks.iter().partition(|network| !network.is_constructed());
        assert_eq!((trained.len(), comparison.unfinished), (3, 0));
        assert!(trained.iter().all(|network| network.tries.len() == 2), "a try for each seed");
        assert_eq!(comparison.layer_norms().len(), 1);
        for network in constructed {
            let Origin::Constructed(Certified { sup, l2 }) = network.origin else { continue };
            let [Try { seed: None, errors, .. }] = network.tries.as_slice() else {
                panic!("a construction has no seed")
            };
            let what = format!("{}: {} {}", comparison.target, network.family, network.size);
            assert!(l2.is_some_and(|bound| errors.l2 <= bound), "{what}: {errors:?}, {l2:?}");
            assert!(sup.is_none_or(|bound| errors.sup <= bound), "{what}: {errors:?}, {sup:?}");
        }
    }
    let families = |comparison: &Comparison| {
        let mut names: Vec<String> = comparison.networks.iter().map(|network| network.family.clone()).collect();
        names.dedup();
        names.split_off(3)
    };
    let all = ["yun --pack", "sum-code", "sumformer", "circuit --trade width", "circuit --trade depth"];
    assert_eq!(families(&comparisons[0]), all);
    // What the compiler declines is said, and no failure.
    assert_eq!(families(&comparisons[1]), ["yun --pack --positional", "sum-code --positional"]);
    for family in ["sumformer", "circuit --trade width", "circuit --trade depth"] {
        let said = comparisons[1].left_out.iter().find(|left_out| left_out.family == family).expect(family);
        let page = read("compare.md").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains(&format!("- `{family}`, {}: {}", said.sizes.join(", "), said.why)), "{said:?}");
    }
}

#[test]
fn constructions_do_not_depend_on_the_seed_and_the_ladder_is_bounded_by_values() {
    let folder = tempfile::tempdir().expect("a place");
    let folder = Folder::<Experiment>::create(&folder.path().join("tiny"), EXPERIMENT).expect("a folder");
    let run = folder.experiment.runs().expect("runs").swap_remove(0);
    let ladder = |run: &Run| {
        let ladder = constructions(run, &|_| {}).expect("a ladder");
        let built: Vec<_> = ladder
            .built
            .iter()
            .map(|one| (one.family.clone(), one.size.clone(), one.certified, one.model.size()))
            .collect();
        (built, ladder.left_out)
    };
    assert_eq!(ladder(&run), ladder(&Run { seed: 99, ..run.clone() }));
    // Pairs out of D columns, with repetition, are D (D + 1) / 2: 2080 for 8², and for those below more than are stored.
    let plane = Run { target: "[x.0 * mean(x.1), x.1]".to_owned(), dims: 2, ..run };
    let (_, left_out) = ladder(&plane);
    let too_many: Vec<_> = left_out.iter().filter(|left_out| left_out.why.contains("4096")).collect();
    let sizes = [(12, 10_440), (16, 32_896), (24, 166_176), (32, 524_800)]
        .map(|(cells, values)| format!("{cells} cells a side ({values} values)"));
    assert_eq!(too_many.len(), 2, "yun and sum-code: {left_out:?}");
    assert!(too_many.iter().all(|left_out| left_out.sizes == sizes), "{too_many:?}");
}

#[test]
fn the_best_weights_of_a_run_have_its_best_validation_loss() {
    let dir = tempfile::tempdir().expect("a place");
    let folder = trained(&dir.path().join("tiny"));
    let device = burn::tensor::Device::<Flex>::default();
    for (index, (run, known)) in folder.runs().expect("runs").into_iter().enumerate() {
        let model = execute::best::<Autodiff<Flex>>(&folder.of(&run, index), &run, &device).expect("weights");
        let found = judge(&model, &Samples::validation(&run).expect("samples"), &device);
        let (_, progress) = known.expect("a run");
        let best = &progress.best().expect("an epoch").validation;
        assert!(
            is_near(found.loss, best.loss) && is_near(found.score(), best.score()),
            "{}: {found:?}, {best:?}",
            run.model
        );
    }
}

fn spread(least: f64, middle: f64, most: f64) -> Spread {
    Spread { least, middle, most }
}

#[test]
fn a_gap_smaller_than_the_spread_is_undecided() {
    let one = |x: f64| spread(x, x, x);
    let seeds = spread(1.0, 2.0, 3.0);
    let count =
        Count::of([(seeds, one(4.0)), (seeds, one(0.5)), (seeds, one(2.5)), (seeds, one(3.0)), (one(1.0), one(1.0))]);
    assert_eq!(count, Count { first: 1, second: 1, undecided: 3 });
    let none = Count::of([(spread(1.0, 2.0, f64::NAN), one(4.0))]);
    assert_eq!(none, Count { undecided: 1, ..Count::default() }, "what diverged decides nothing");
}

#[test]
fn errors_are_the_largest_and_the_root_of_the_mean_square() {
    let errors = Errors::of(&[1.0, 2.0, -1.0], &[1.0, 1.0, 1.0]);
    assert_eq!((errors.sup, errors.l2), (2.0, (5.0_f64 / 3.0).sqrt()));
    let lost = Errors::of(&[f64::NAN, 2.0], &[1.0, 1.0]);
    assert!(lost.sup.is_nan() && lost.l2.is_nan(), "{lost:?}");
}

/// A comparison by hand: two trained networks of two seeds each, four constructions.
fn by_hand() -> Comparison {
    let network = |family: &str, parameters: usize, origin: Origin, errors: &[f64]| Network {
        family: family.to_owned(),
        size: format!("size {parameters}"),
        parameters,
        origin,
        tries: errors
            .iter()
            .map(|&sup| Try { seed: None, errors: Errors { sup, l2: sup / 2.0 }, seconds: 1.0 })
            .collect(),
    };
    let transformer = |norm| {
        Origin::Trained(Architecture::Transformer { blocks: 1, width: 4, heads: 2, hidden: 16, norm, positions: false })
    };
    let proved = |sup: f64| Origin::Constructed(Certified { sup: Some(sup), l2: Some(sup) });
    Comparison {
        target: "by hand".to_owned(),
        dims: 1,
        best_constant: Errors { sup: 1.0, l2: 0.5 },
        networks: vec![
            network("trained Transformer", 100, transformer(Norm::None), &[0.2, 0.4]),
            network("trained Transformer, layer norm before", 120, transformer(Norm::Pre), &[0.04, 0.08]),
            network("circuit", 50, proved(0.6), &[0.5]),
            network("circuit", 110, proved(0.3), &[0.01]),
            network("circuit", 1000, proved(0.001), &[0.0005]),
            network("yun", 130, Origin::Constructed(Certified::default()), &[0.06]),
        ],
        left_out: Vec::new(),
        unfinished: 0,
    }
}

#[test]
fn what_is_said_follows_from_the_numbers() {
    let comparison = by_hand();
    // Beside 50 and 110 parameters stands the network of 100, beside 130 and 1000 that of 120.
    let beside: Vec<usize> = comparison.networks[2..]
        .iter()
        .filter_map(|network| Some(comparison.beside(network, NORMS[0].1)?.parameters))
        .collect();
    assert_eq!(beside, [100, 100, 120, 120]);
    let json = to_json(&comparison);
    let sentence = |place: usize| json["sentences"][place].as_str().expect("a sentence").to_owned();
    // 0.2 to 0.4 is below 0.5 and above 0.01; 0.04 to 0.08 is above 0.0005 and around 0.06.
    let size = "`circuit` (50 to 1000 parameters) sup: training 1, construction 2; L²: training 1, construction 2";
    assert!(sentence(0).contains(size), "{}", sentence(0));
    assert!(sentence(0).contains("`yun` (130 parameters) sup: undecided 1"), "{}", sentence(0));
    // The better seed reaches 0.04, the middle of two is the lower.
    assert!(
        sentence(1).contains(
            "in sup, 4.0e-2 (4.0e-2 – 8.0e-2) by trained Transformer, layer norm before size 120 with 120 parameters"
        ),
        "{}",
        sentence(1)
    );
    assert!(
        sentence(1).contains("`circuit` 110 measured, 1000 certified, `yun` does not get there, 6.0e-2 at best"),
        "{}",
        sentence(1)
    );
    assert!(sentence(2).contains("of one size, 1 in all: sup: with 1; L²: with 1"), "{}", sentence(2));
}

fn lab(arguments: &[&str], dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_formwright-lab")).args(arguments).current_dir(dir).output().expect("the lab runs")
}

#[test]
fn bad_input_is_refused_and_earlier_results_stay() {
    let place = tempfile::tempdir().expect("a place");
    let refused = |arguments: &[&str], expected: &str| {
        let output = lab(arguments, place.path());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(expected), "{said}");
    };
    refused(&["compare", "nowhere"], "try      a folder that formwright lab run has made");
    Folder::<Experiment>::create(&place.path().join("begun"), EXPERIMENT).expect("a folder");
    refused(&["compare", "begun"], "no run of begun has ended\n  try      formwright lab resume begun");

    let folder = trained(&place.path().join("tiny"));
    let earlier = folder.path().join("compare.md").join("earlier");
    std::fs::create_dir(folder.path().join("compare.md")).expect("what is in the way");
    std::fs::write(&earlier, "earlier").expect("a page");
    refused(&["compare", "tiny"], "cannot write tiny/compare.md: it is a folder");
    assert_eq!(std::fs::read_to_string(&earlier).expect("a page"), "earlier");
    assert!(!folder.path().join("compare.csv").exists());
}
