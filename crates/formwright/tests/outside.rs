//! A kind of attention that the library does not know, in this one file: it is planned, built, run, enclosed,
//! referred to, exported and read as any other, and nothing is certified of it by a checker. A program of its own,
//! since what is registered is known everywhere in a program.

use formwright::artifact::{self, Contents, read_target};
use formwright::compile::{Asked, Model, compile};
use formwright::error::{Error, ErrorKind};
use formwright::eval::enclosure::Executions;
use formwright::eval::float::Engine;
use formwright::eval::reference::Reference;
use formwright::exact::Rat;
use formwright::export::onnx;
use formwright::interval::Up;
use formwright::network::attention::{
    self, AttentionKind, Choice, Formula, Gaussians, Integers, Kind, Look, Loss, Realisation, Roundings, Rows, Sizes,
    Step, VALUES,
};
use formwright::network::{
    AttentionRun, Coordinate, FloatAffine, FloatNetwork, FloatStage, Mask, Normaliser, Precision, Run,
};
use formwright::plan::{Rows as Wanted, sized_up};
use formwright::report;

/// Weights that depend on places alone: `Σ_j g_ij V_j`, `g` stored, a row for each token or one for all. There are
/// neither queries nor keys.
///
/// ```text
/// uniform     g = 1, one row       v/n
/// loss        γ(n + 1) ⊕ rest      n in the sum, 1 for v/n
/// ```
#[derive(Debug)]
struct Placed;

const FORMULA: Formula =
    Formula { name: "placed", steps: &[Step::Mixed { of: VALUES, by: "g" }], look: Look::Row { of: Rows(2) } };

impl Kind for Placed {
    fn name(&self) -> &'static str {
        FORMULA.name
    }

    fn formula(&self) -> &'static Formula {
        &FORMULA
    }

    fn gives_sum(&self) -> bool {
        true
    }

    fn loss(&self, _: &Choice, tokens: usize, roundings: &Roundings) -> Loss {
        roundings.loss(roundings.gamma(tokens + 7), tokens)
    }

    fn sums_of_integers(&self, _: &Choice, _: usize) -> Integers {
        Integers::Divided { divisor: 1, exact: true, wanted: "placed" }
    }

    fn tensors(&self, choice: &Choice, sizes: &Sizes, _: &mut Gaussians) -> Vec<Vec<f64>> {
        vec![vec![1.0; sizes.heads * choice.size * sizes.tokens]]
    }
}

/// Every test of this program may be the first.
fn known() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| attention::register(&Placed).expect("a new kind"));
}

fn asked(text: &str, options: &[&str]) -> Result<Model, Error> {
    known();
    let mut asked = Asked { tokens: Some(4), attention: Some("placed".into()), ..Asked::default() };
    if let [construction, resolution @ ..] = options {
        asked.construction = Some((*construction).to_owned());
        asked.precision = Some("f64".into());
        asked.resolution = resolution.first().map(|n| n.parse().expect("a number"));
    }
    compile(&asked.request(read_target(text)?)?)
}

/// Tokens `0, 1/16, 2/16, …`.
fn inputs(tokens: usize) -> Vec<Vec<f64>> {
    (0_u32..).take(tokens).map(|k| vec![f64::from(k) / 16.0]).collect()
}

fn exactly(x: &[Vec<f64>]) -> Vec<Vec<Rat>> {
    x.iter().map(|token| token.iter().map(|x| Rat::from_f64(*x).expect("finite")).collect()).collect()
}

#[test]
fn it_has_its_name_in_options_and_files() {
    known();
    let placed: Realisation = "placed".parse().expect("a kind");
    assert_eq!((placed.to_string().as_str(), placed.normaliser()), ("placed:1", Some(Normaliser::Sum)));
    let unknown = "place".parse::<Realisation>().expect_err("no kind").to_string();
    assert!(unknown.contains("performer[:k], sparse:PATTERN, placed[:k]; hardmax"), "{unknown}");
    let again = attention::register(&Placed).expect_err("twice").to_string();
    assert!(again.contains("there is a kind of attention called 'placed' already"), "{again}");
}

#[test]
fn a_circuit_with_it_is_planned_built_written_read_and_looked_at() {
    let model = asked("x - mean(x)", &["circuit"]).expect("a circuit");
    let request = Asked { tokens: Some(4), attention: Some("placed".into()), ..Asked::default() };
    let request = request.request(read_target("x - mean(x)").expect("a target")).expect("a request");
    let plan = sized_up(&request, Wanted::All, &mut |_| {});
    let chosen = plan.expect("a plan").chosen().expect("a row that serves").name();
    assert!(chosen.contains("--attention placed:1"), "{chosen}");

    let bound = model.certified().expect("a bound").expect("a claim").budget.bound;
    let network = model.float().expect("floats");
    let run = network.runs.iter().find_map(|run| run.attention.as_ref()).expect("attention");
    assert_eq!((run.kind.name(), run.head_size, run.kind.size), ("placed", 0, 1));
    let x = inputs(4);
    let y = Engine::new(network).expect("an engine").run(std::slice::from_ref(&x)).expect("outputs").remove(0);
    let enclosed = Executions::new(network).expect("a network").enclose(&x).expect("an enclosure").output;
    let exact = Reference::new(network).expect("a network").run(&exactly(&x)).expect("an enclosure");
    for (i, x) in x.iter().enumerate() {
        let wanted = x[0] - 1.5 / 16.0;
        assert!((y[i][0] - wanted).abs() <= bound, "{y:?}");
        assert!(enclosed[i][0].contains(y[i][0]) && enclosed[i][0].width() < 1e-4, "{enclosed:?}");
        assert!(exact[i][0].distance(wanted) <= bound, "{exact:?}");
    }

    let place = tempfile::tempdir().expect("a place");
    let folder = place.path().join("model");
    artifact::write(&model, &folder).expect("written");
    let read = formwright::open(&folder).expect("read");
    assert_eq!(read.float().expect("floats"), network);
    assert_eq!(read.stated().expect("a claim").map(|stated| stated.bound), Some(bound));
    assert!(read.made().contains("placed:1 attention"), "{}", read.made());
    assert!(report::page(&read).expect("a page").contains("placed:1"));

    // A checker is told that it does not know this kind.
    let contents = Contents::of(&model).expect("files");
    let text = String::from_utf8(contents.certificate.expect("a certificate")).expect("ASCII");
    assert!(text.contains("\nrun 1 attention x-placed 1 0 1 1"), "{text}");
}

#[test]
fn sums_of_codes_have_it_too_and_lattices_decline_it() {
    let model = asked("x * mean(x)", &["sum-code", "2"]).expect("a sum of codes");
    let engine = Engine::new(model.float().expect("floats")).expect("an engine");
    let softmax = Asked {
        tokens: Some(4),
        construction: Some("sum-code".into()),
        precision: Some("f64".into()),
        resolution: Some(2),
        ..Asked::default()
    };
    let softmax = compile(&softmax.request(read_target("x * mean(x)").expect("a target")).expect("a request"));
    let softmax = softmax.expect("a sum of codes");
    let of_softmax = Engine::new(softmax.float().expect("floats")).expect("an engine");
    // Codes are added up exactly, so that the values that they name are the same numbers.
    let centre = |cell: u32| vec![f64::from(2 * cell + 1) / 4.0];
    let every: Vec<Vec<Vec<f64>>> = (0..16).map(|k| (0..4).map(|t| centre(k >> t & 1)).collect()).collect();
    assert_eq!(engine.run(&every).expect("outputs"), of_softmax.run(&every).expect("outputs"));
    let declined = asked("mean(x)", &["yun", "2"]).expect_err("no scores");
    assert_eq!(declined.kind(), ErrorKind::Declined);
    assert!(declined.to_string().contains("has no placed attention"), "{declined}");
}

/// `x_i ↦ Σ_j 2^-|i-j| x_j`.
fn decaying(tokens: usize, precision: Precision) -> FloatNetwork {
    let weight = |place: usize| 2_f64.powi(-i32::try_from((place / tokens).abs_diff(place % tokens)).expect("few"));
    let g = (0..tokens * tokens).map(weight).collect();
    let attention = AttentionRun {
        stage: 0,
        kind: AttentionKind { formula: &FORMULA, size: tokens, tensors: vec![g] },
        heads: 1,
        head_size: 0,
        value_size: 1,
        masks: vec![Mask::ALL],
        connections: Vec::new(),
        q: Vec::new(),
        q_bias: Vec::new(),
        k: Vec::new(),
        v: vec![1.0, 0.0],
        o: vec![0.0, 1.0],
    };
    let coordinate = |name: &str| Coordinate { name: name.to_owned(), meaning: String::new() };
    let stage = FloatStage { name: "decay".into(), statement: String::new(), meaning: String::new() };
    FloatNetwork {
        precision,
        tokens,
        lengths: (tokens, tokens),
        coordinates: vec![coordinate("x"), coordinate("y")],
        embed: FloatAffine { inputs: 1, outputs: 2, weight: vec![1.0, 0.0], bias: vec![0.0; 2] },
        positions: None,
        stages: vec![stage],
        runs: vec![Run { blocks: 1, attention: Some(attention), feed_forward: None }],
        read_out: FloatAffine { inputs: 2, outputs: 1, weight: vec![0.0, 1.0], bias: vec![0.0] },
    }
}

#[test]
fn every_interpreter_follows_its_formula() {
    known();
    for (tokens, copies) in [(1, 1), (3, 40), (7, 1), (40, 1), (70, 3)] {
        let x = inputs(tokens);
        let wanted = |i: usize| -> Rat {
            let power = |j: usize| Rat::new(1, 1_i64 << i.abs_diff(j).min(60));
            (0..tokens).filter(|j| i.abs_diff(*j) <= 60).map(|j| exactly(&x)[j][0].clone() * power(j)).sum()
        };
        for precision in [Precision::F32, Precision::F64] {
            let network = decaying(tokens, precision);
            let outputs = Engine::new(&network).expect("an engine").run(&vec![x.clone(); copies]).expect("outputs");
            let enclosed = Executions::new(&network).expect("a network").enclose(&x).expect("an enclosure").output;
            let exact = Reference::new(&network).expect("a network").run(&exactly(&x)).expect("an enclosure");
            for i in 0..tokens {
                let near = wanted(i).to_f64();
                for y in &outputs {
                    assert!((y[i][0] - near).abs() <= 1e-4 * (1.0 + near), "{tokens}, {i}: {y:?}, expected {near}");
                    assert!(enclosed[i][0].contains(y[i][0]), "{tokens}, {i}: {}", y[i][0]);
                }
                assert!(tokens > 60 || exact[i][0].contains(&wanted(i)), "{tokens}, {i}");
            }
            let file = onnx::to_bytes(&network, &[], false).expect("an ONNX file");
            let named = |name: &str| file.windows(name.len()).any(|part| part == name.as_bytes());
            assert!(named("0.attn.g") && named("0.attn.values.mixed") && !named("0.attn.keys"));
        }
    }
    let mut network = decaying(4, Precision::F64);
    network.lengths = (2, 4);
    let several = Engine::new(&network).expect_err("one number of tokens").to_string();
    assert!(several.contains("block 0: placed is for one number of tokens"), "{several}");
}

#[test]
fn what_cannot_be_followed_is_not_registered() {
    #[derive(Debug)]
    struct Wrong(&'static str, Formula);
    impl Kind for Wrong {
        fn name(&self) -> &'static str {
            self.0
        }
        fn formula(&self) -> &'static Formula {
            Box::leak(Box::new(self.1))
        }
        fn gives_sum(&self) -> bool {
            false
        }
        fn loss(&self, _: &Choice, tokens: usize, roundings: &Roundings) -> Loss {
            roundings.loss(Up::INFINITY, tokens)
        }
        fn sums_of_integers(&self, _: &Choice, _: usize) -> Integers {
            Integers::Shares
        }
    }
    let refused = |name: &'static str, formula: Formula| -> String {
        attention::register(Box::leak(Box::new(Wrong(name, formula)))).expect_err("no kind").to_string()
    };
    let row = |of: usize, steps: &'static [Step]| Formula { name: "wrong", steps, look: Look::Row { of: Rows(of) } };
    let mean = &[Step::Mean { of: VALUES }];
    assert!(refused("hardmax", row(2, mean)).contains("'hardmax' cannot be the name"));
    assert!(refused("two words", row(2, mean)).contains("'two words' cannot be the name"));
    assert!(refused("softmax", row(2, mean)).contains("called 'softmax' already"));
    assert!(refused("wrong", row(1, mean)).contains("looks at rows that cannot be looked at"));
    assert!(refused("wrong", row(7, mean)).contains("looks at rows that cannot be looked at"));
    assert!(refused("wrong", row(2, &[Step::Mean { of: Rows(5) }])).contains("step 0 of wrong is of rows"));
    let unused = &[Step::Mean { of: VALUES }, Step::Mixed { of: VALUES, by: "g" }];
    assert!(refused("wrong", row(2, unused)).contains("nothing looks at what step 1"));
    let own = &[Step::Mixed { of: VALUES, by: "v" }];
    assert!(refused("wrong", row(2, own)).contains("uses the tensor 'v' as two things"));
}
