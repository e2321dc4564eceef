//! Networks inside of stock Transformers: read from the exported files by an evaluator that knows nothing of the pass
//! (`support/stock.rs`), they are within their bound of the target. Where the pin, a mirror, a gain or `eps` is wrong
//! they are not.

use super::support::Random;
use super::support::onnxruntime::{self, Batch};
use super::support::stock::{NORMS, Norm, Stock, safetensors};
use formwright::compile::Model;
use formwright::error::ErrorKind;
use formwright::export::{Files, hf};
use formwright::interval::Interval;
use formwright::network::Precision;
use serde_json::Value;

/// Classes whose heads see all tokens, those whose heads see those up to their own, and those with double precision.
const ALL: [&str; 3] = ["bert", "t5", "modernbert"];
const CAUSAL: [&str; 3] = ["gpt2", "opt", "llama"];
const DOUBLE: [&str; 2] = ["bert", "gpt2"];

struct Hosted {
    model: Model,
    files: Files,
    manifest: Value,
    stock: Stock,
}

fn model(text: &str, tokens: usize, precision: &str, trade: &str) -> Model {
    formwright::build(text)
        .tokens(tokens)
        .construction("circuit")
        .precision(precision)
        .asked(|asked| {
            asked.own.insert("trade".to_owned(), trade.to_owned());
        })
        .model()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

impl Hosted {
    fn new(text: &str, tokens: usize, host: &str) -> Self {
        Self::of(model(text, tokens, "f32", "width"), host)
    }

    fn of(model: Model, host: &str) -> Self {
        let (files, _) = hf::files(&model, host, None, |_| None).unwrap_or_else(|error| panic!("{error}"));
        let manifest = files.iter().find(|(name, _)| name == "formwright.json").expect("a manifest");
        let manifest = serde_json::from_slice(&manifest.1).expect("JSON");
        Self { stock: Stock::new(&files), model, files, manifest }
    }

    fn number(&self, key: &str) -> f64 {
        self.manifest["claim"][key].as_f64().expect(key)
    }

    /// The vectors that are given to the host: of a target on integers the rows of its vocabulary.
    fn vectors(&self, x: &[Vec<f64>]) -> Vec<Vec<f64>> {
        if let Some((_, bytes)) = self.files.iter().find(|(name, _)| name == "inputs.safetensors") {
            let map = safetensors(bytes);
            let (weight, bias) = (&map["weight"].1, &map["bias"].1);
            let precision: Precision = self.model.precision().parse().expect("a precision");
            let round = |x: f64| precision.round(x);
            let row = |x: &Vec<f64>| {
                let sum = |(row, b): (&[f64], &f64)| {
                    row.iter().zip(x).fold(0.0, |sum, (w, x)| round(sum + round(w * round(*x)))) + b
                };
                weight.chunks(x.len()).zip(bias).map(sum).map(round).collect()
            };
            return x.iter().map(row).collect();
        }
        x.iter().map(|x| self.stock.word(self.id(x))).collect()
    }

    /// The number of a token in the vocabulary.
    fn id(&self, x: &[f64]) -> usize {
        let words = self.manifest["vocabulary"].as_array().expect("words");
        let word = x.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        words.iter().position(|known| *known == word).expect("a word")
    }

    /// How far the host is from the target, at least: the distance from an enclosure of its value; of classes, whether
    /// the largest logit is another.
    fn error(&self, stock: &Stock, x: &[Vec<f64>], norm: Norm, seed: u64) -> f64 {
        self.off(x, &stock.run(&self.vectors(x), norm, seed))
    }

    /// How far logits are from the target.
    fn off(&self, x: &[Vec<f64>], logits: &[Vec<f64>]) -> f64 {
        let point: Vec<Vec<Interval>> =
            x.iter().map(|token| token.iter().map(|x| Interval::point(*x)).collect()).collect();
        let checked = self.model.target.expression().expect("an expression");
        let wanted = checked.enclose(&point).expect("values");
        if let Some(classes) = self.manifest["classes"].as_array() {
            // Of next tokens, too, there is a score for nothing else.
            assert!(logits.iter().all(|row| row.len() == classes.len()));
            let largest = |row: &Vec<f64>| (0..row.len()).max_by(|a, b| row[*a].total_cmp(&row[*b])).expect("logits");
            let found = logits.iter().map(|row| classes[largest(row)].as_f64().expect("an integer"));
            let right = found.zip(&wanted).all(|(v, wanted)| wanted[0] == Interval::point(v));
            return if right { 0.0 } else { 1.0 };
        }
        let pairs = logits.iter().flatten().zip(wanted.iter().flatten());
        pairs.map(|(y, wanted)| (wanted.lo() - y).max(y - wanted.hi())).fold(0.0, f64::max)
    }

    /// Random points of the box, and its corners.
    fn points(&self, count: usize, tokens: usize) -> Vec<Vec<Vec<f64>>> {
        let (low, high) = (self.model.grid.low().to_f64(), self.model.grid.high().to_f64());
        let mut random = Random::new(20_200_226);
        let mut number = |steps: u64| {
            let k = u32::try_from(random.below(steps + 1)).expect("small");
            low + (high - low) * f64::from(k) / f64::from(u32::try_from(steps).expect("small"))
        };
        let dims = self.model.grid.dims();
        (0..count)
            .map(|k| {
                let steps = if k % 4 == 0 { 1 } else { 1 << 20 };
                (0..tokens).map(|_| (0..dims).map(|_| number(steps)).collect()).collect()
            })
            .collect()
    }

    /// Its ONNX model with points to run it on, as it takes them and as they are meant.
    #[expect(clippy::cast_precision_loss, reason = "the number of a word")]
    fn case(&self) -> (String, Vec<u8>, Batch, Batch) {
        let host = self.manifest["host"].as_str().expect("a host");
        let (bytes, _, _) = hf::onnx(&self.model, host).unwrap_or_else(|error| panic!("{error}"));
        let (_, most) = self.model.lengths();
        let mut points = self.points(24, most);
        let mut given = points.clone();
        let words = self.manifest["vocabulary"].as_array().expect("words");
        if let Some(last) = words.len().checked_sub(1) {
            let (low, high) = (self.model.grid.low().to_f64(), self.model.grid.high().to_f64());
            let share = |x: f64| (x - low) / (high - low) * last as f64;
            let at = |x: f64| (0..last).find(|k| share(x) <= *k as f64 + 0.5).unwrap_or(last);
            given.iter_mut().flatten().flatten().for_each(|x| *x = at(*x) as f64);
            let value = |x: f64| words[at(x)].as_str().expect("a word").parse::<f64>().expect("a number");
            points.iter_mut().flatten().flatten().for_each(|x| *x = value(*x));
        }
        (format!("{} in {host}", self.model.title()), bytes, given, points)
    }

    /// The largest error in some executions.
    fn worst(&self, stock: &Stock, points: &[Vec<Vec<f64>>]) -> f64 {
        let run = |(k, x): (usize, &Vec<Vec<f64>>)| self.error(stock, x, NORMS[k % 4], (k as u64 / 4) * 7919);
        points.iter().enumerate().map(run).fold(0.0, f64::max)
    }
}

#[test]
fn hosts_are_within_their_bound_in_executions_of_all_kinds() {
    for (text, tokens, hosts) in [
        ("x - mean(x)", 5, &ALL[..]),
        ("x * mean(x)", 3, &ALL),
        ("z-score", 6, &ALL),
        ("max(x)", 4, &ALL),
        ("max(x) - x[i]", 4, &["bert"]),
        ("reverse", 4, &["bert"]),
        ("mean(x, j <= i)", 5, &CAUSAL),
        ("(x - mean(x, j <= i)) * mean(x, j <= i)", 4, &CAUSAL),
        ("mean(x, j <= i) + i / 4", 4, &["gpt2", "opt"]),
        // Tokens that the class shows are hidden by scores.
        ("mean(x, j <= i)", 5, &["bert"]),
        ("mean(x, j >= i - 1 and j <= i + 1)", 5, &["bert"]),
        ("mean(x, j >= i - 1 and j <= i)", 4, &["bert", "gpt2", "opt"]),
        ("sum(x, j <= i)", 4, &["bert", "gpt2", "opt"]),
        ("x[0] - x", 4, &["bert", "gpt2", "opt"]),
        ("mean(x) + mean(x, j <= i)", 3, &["bert"]),
    ] {
        let ways = [("f32", "width"), ("f64", "width"), ("f32", "depth")];
        for (host, (precision, trade)) in hosts.iter().flat_map(|host| ways.map(|way| (*host, way))) {
            if trade == "depth" && !text.contains('*') || precision == "f64" && !DOUBLE.contains(&host) {
                continue;
            }
            let hosted = Hosted::of(model(text, tokens, precision, trade), host);
            let (bound, plain) = (hosted.number("bound"), hosted.number("plain"));
            let (least, most) = hosted.model.lengths();
            let error = (least..=most)
                .map(|tokens| hosted.worst(&hosted.stock, &hosted.points(100, tokens)))
                .fold(0.0, f64::max);
            assert!(error <= bound, "{text} in {host} {precision}: {error:e}, bound {bound:e}");
            // The bound is not far from what is seen, and the host takes little of it.
            assert!(bound <= 0.02 && plain <= bound, "{text} in {host} {precision}: {plain:e} {bound:e}");
            if precision == "f64" {
                assert!(bound - plain <= 1e-4, "{text}: {:e}", bound - plain);
            }
        }
    }
}

#[test]
fn every_sequence_of_a_small_vocabulary_gets_the_right_labels() {
    let all = ["sum(x mod 2) mod 2 on integers 0..3", "max(x) on integers 2..6"];
    let causal = ["max(x, j <= i) on integers 0..4", "min(x, j <= i) on integers 0..3"];
    let hosts = |texts: [&'static str; 2], hosts: [&'static str; 3]| {
        texts.into_iter().flat_map(move |text| hosts.map(|host| (text, 3, host)))
    };
    let sort = [("sort(x) on integers 0..4", 4, "bert")];
    for (text, tokens, host) in hosts(all, ALL).chain(hosts(causal, CAUSAL)).chain(sort) {
        let hosted = Hosted::new(text, tokens, host);
        assert!(hosted.manifest["claim"]["argmax"] == true, "{text}");
        let words = hosted.manifest["vocabulary"].as_array().expect("words").iter();
        let values: Vec<f64> = words.map(|word| word.as_str().expect("a word").parse().expect("a number")).collect();
        let (low, high) = (values[0], values[values.len() - 1]);
        let mut x = vec![low; tokens];
        let mut count = 0_u64;
        loop {
            let sequence: Vec<Vec<f64>> = x.iter().map(|x| vec![*x]).collect();
            let (norm, seed) = (NORMS[usize::try_from(count % 4).expect("small")], count / 4);
            assert!(hosted.error(&hosted.stock, &sequence, norm, seed) == 0.0, "{text}: {x:?}");
            count += 1;
            let Some(next) = x.iter().rposition(|x| *x < high) else { break };
            x[next] += 1.0;
            x[next + 1..].fill(low);
        }
        assert!(count >= 27, "{text}: {count}");
    }
}

/// The blocks of every class in ONNX, as onnxruntime runs them: within the bound of the target, and no further from our
/// evaluator than two executions can be.
#[test]
fn onnxruntime_keeps_what_is_claimed_of_hosts() {
    let all: [(&str, usize, &[&str]); 5] = [
        ("abs(x - mean(x))", 5, &ALL),
        ("z-score", 6, &ALL),
        ("max(x) on integers 2..6", 4, &ALL),
        ("max(x, j <= i) on integers 0..4", 3, &CAUSAL),
        ("(x - mean(x, j <= i)) * mean(x, j <= i)", 4, &CAUSAL),
    ];
    let hidden: [(&str, usize, &[&str]); 3] = [
        ("mean(x, j >= i - 1 and j <= i)", 4, &["bert", "gpt2", "opt"]),
        ("sort(x) on integers 0..4", 4, &["bert"]),
        ("reverse", 4, &["bert"]),
    ];
    let every = all
        .into_iter()
        .chain(hidden)
        .flat_map(|(text, tokens, hosts)| hosts.iter().map(move |host| (text, tokens, *host)));
    let single = every.map(|(text, tokens, host)| Hosted::new(text, tokens, host));
    // onnxruntime has no erf for doubles, and so no BERT.
    let double = ["abs(x - mean(x, j <= i))", "mean(x, j <= i) * x"];
    let double = double.map(|text| Hosted::of(model(text, 4, "f64", "width"), "gpt2"));
    let hosts: Vec<Hosted> = single.chain(double).collect();
    let cases: Vec<_> = hosts.iter().map(Hosted::case).collect();
    let files: Vec<_> =
        cases.iter().map(|(name, bytes, batch, _)| (name.clone(), bytes.clone(), batch.clone())).collect();
    for ((hosted, (name, _, _, points)), outputs) in hosts.iter().zip(&cases).zip(onnxruntime::run(&files)) {
        let bound = hosted.number("bound");
        assert!(outputs.properties["claim"].starts_with("certified"), "{name}");
        for (way, found) in &outputs.runs {
            let mut worst = (0.0_f64, 0.0_f64);
            for (x, logits) in points.iter().zip(&found["logits"]) {
                let ours = hosted.stock.run(&hosted.vectors(x), Norm::TwoPasses, 0);
                let pairs = ours.iter().flatten().zip(logits.iter().flatten());
                let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                worst = (worst.0.max(hosted.off(x, logits)), worst.1.max(apart));
            }
            println!("{name}, {way}: {:e} off, bound {bound:e}; {:e} from ours", worst.0, worst.1);
            let most = if hosted.manifest["classes"].is_null() { 2.0 * bound } else { 0.5 };
            assert!(worst.0 <= bound && worst.1 <= most, "{name}, {way}: {worst:?}, bound {bound:e}");
        }
    }
}

/// Runs a host after a change: the same points, the same executions.
fn broken(hosted: &Hosted, change: impl Fn(&mut Stock)) -> f64 {
    let mut stock = hosted.stock.clone();
    change(&mut stock);
    hosted.worst(&stock, &hosted.points(24, hosted.model.lengths().1))
}

/// Rows of a tensor by its name, as a function of row and column.
fn rows(stock: &mut Stock, name: &str, transposed: bool, change: impl Fn(usize, usize, &mut f64)) {
    let columns = stock.tensors[name].0[1];
    for (at, x) in stock.change(name).iter_mut().enumerate() {
        let (row, column) = (at / columns, at % columns);
        if transposed { change(column, row, x) } else { change(row, column, x) }
    }
}

/// The tensor that writes hidden units of the first block to the stream.
fn writer(host: &str) -> &'static str {
    match host {
        "bert" => "bert.encoder.layer.0.output.dense.weight",
        "gpt2" => "transformer.h.0.mlp.c_proj.weight",
        "t5" => "transformer.encoder.block.0.layer.1.DenseReluDense.wo.weight",
        "opt" => "model.decoder.layers.0.fc2.weight",
        "llama" => "model.layers.0.mlp.down_proj.weight",
        _ => "model.layers.0.mlp.Wo.weight",
    }
}

/// A tensor that reads constants from the pin.
fn reader(host: &str) -> &'static str {
    match host {
        "bert" => "bert.encoder.layer.0.intermediate.dense.weight",
        "gpt2" => "transformer.h.0.mlp.c_fc.weight",
        "t5" => "transformer.encoder.block.0.layer.1.DenseReluDense.wi.weight",
        "llama" => "model.layers.0.mlp.up_proj.weight",
        "modernbert" => "model.layers.0.mlp.Wi.weight",
        _ => "lm_head.weight",
    }
}

#[test]
fn a_wrong_pin_mirror_gain_or_eps_breaks_the_bound() {
    let (all, causal) = ("x * mean(x)", "(x - mean(x, j <= i)) * mean(x, j <= i) + 1");
    for (text, host) in ALL.map(|host| (all, host)).into_iter().chain(CAUSAL.map(|host| (causal, host))) {
        let hosted = Hosted::new(text, 4, host);
        let bound = hosted.number("bound");
        let width = hosted.stock.word(0).len();
        let half = width / 2;
        assert!(hosted.stock.gains().len() >= 3);
        assert!(broken(&hosted, |_| ()) <= bound);
        // Gains 2^-6 too large.
        let gains = broken(&hosted, |stock| {
            for name in stock.gains() {
                stock.change(&name).iter_mut().for_each(|x| *x *= 1.0 + 1.0 / 64.0);
            }
        });
        assert!(gains > bound, "{text} in {host}: {gains:e} {bound:e}");
        // eps as large as the variance.
        if let Some(key) = hosted.stock.eps_key() {
            let gain = hosted.manifest["gain"].as_f64().expect("a gain");
            let eps = broken(&hosted, |stock| stock.config[key] = (gain * gain / 16.0).into());
            assert!(eps > bound, "{text} in {host}: {eps:e} {bound:e}");
        }
        // Nobody writes the mirror.
        let mirror = broken(&hosted, |stock| {
            let silent = |row: usize, _: usize, x: &mut f64| {
                if row >= half {
                    *x = 0.0;
                }
            };
            rows(stock, writer(host), host == "gpt2", silent);
        });
        assert!(mirror > bound, "{text} in {host}: {mirror:e} {bound:e}");
        // Nobody reads the pin.
        let silent = |_: usize, column: usize, x: &mut f64| {
            if column % half == half - 1 {
                *x = 0.0;
            }
        };
        let constants = broken(&hosted, |stock| rows(stock, reader(host), host == "gpt2", silent));
        assert!(constants > bound, "{text} in {host}: {constants:e} {bound:e}");
        // A pin of 1, with the gain that belongs to it, and the constants.
        let pin = hosted.manifest["pin"]["value"].as_f64().expect("a pin");
        let mut small = Hosted::new(text, 4, host);
        for name in small.stock.gains() {
            small.stock.change(&name).iter_mut().for_each(|x| *x /= pin);
        }
        let points = small.points(24, 4);
        let mut worst = 0.0_f64;
        for (k, x) in points.iter().enumerate() {
            let mut vectors = small.vectors(x);
            for row in &mut vectors {
                (row[half - 1], row[width - 1]) = (1.0, -1.0);
            }
            let (small_y, y) =
                (small.stock.run(&vectors, NORMS[k % 4], 0), hosted.stock.run(&hosted.vectors(x), NORMS[k % 4], 0));
            let off = small_y.iter().flatten().zip(y.iter().flatten()).map(|(a, b)| (a - b).abs());
            worst = off.fold(worst, f64::max);
        }
        assert!(worst > 2.0 * bound, "{text} in {host}: {worst:e} {bound:e}");
    }
}

/// Hidden tokens: without the registers of positions, with one of them at another place, or with a score of 1/16 of what
/// it was, a head sees what it should not.
#[test]
fn without_registers_of_positions_nothing_is_hidden() {
    for (host, positions, query, columns) in [
        (
            "bert",
            "bert.embeddings.position_embeddings.weight",
            "bert.encoder.layer.0.attention.self.query.weight",
            false,
        ),
        ("gpt2", "transformer.wpe.weight", "transformer.h.0.attn.c_attn.weight", true),
        ("opt", "model.decoder.embed_positions.weight", "model.decoder.layers.0.self_attn.q_proj.weight", false),
    ] {
        let hosted = Hosted::new("mean(x, j >= i - 1 and j <= i)", 4, host);
        let bound = hosted.number("bound");
        assert!(broken(&hosted, |_| ()) <= bound, "{host}");
        let none = broken(&hosted, |stock| stock.change(positions).fill(0.0));
        let width = hosted.stock.word(0).len();
        let before = if host == "opt" { 2 } else { 0 };
        let elsewhere = broken(&hosted, |stock| {
            let table = stock.change(positions);
            let row = table[before * width..][..width].to_vec();
            table[(before + 1) * width..][..width].copy_from_slice(&row);
        });
        // In GPT-2 queries are the first of three parts.
        let all = hosted.stock.tensors[query].0[usize::from(columns)];
        let queries = if columns { all / 3 } else { all };
        let weak = broken(&hosted, |stock| {
            rows(stock, query, columns, |row, _, x| {
                if row < queries {
                    *x /= 16.0;
                }
            });
        });
        for error in [none, elsewhere, weak] {
            assert!(error > bound, "{host}: {error:e} {bound:e}");
        }
    }
}

#[test]
fn what_has_no_place_in_a_class_is_declined_with_the_place() {
    let plain = || model("x - mean(x)", 3, "f32", "width");
    let average = formwright::build("x - mean(x)").tokens(3).attention("average").model().expect("a model");
    let lattice = formwright::build("x * mean(x)").tokens(2).resolution(4).precision("f64").construction("sum-code");
    let exact = formwright::build("x - mean(x)").tokens(2).resolution(4).model().expect("a model");
    let refused = |(model, host, kind): (Model, &str, ErrorKind)| {
        let error = hf::files(&model, host, None, |_| None).map(|_| ()).expect_err("no place");
        assert_eq!(error.kind(), kind, "{error}");
        error.to_string()
    };
    let all = vec![
        (plain(), "gpt2", ErrorKind::Declined),
        (model("mean(x, j <= i)", 3, "f32", "width"), "t5", ErrorKind::Declined),
        (model("mean(x, j >= i - 1)", 3, "f32", "width"), "llama", ErrorKind::Declined),
        (model("mean(x, j >= i - 1)", 3, "f32", "width"), "gpt2", ErrorKind::Declined),
        (model("max(x, j <= i)", 3, "f32", "width"), "bert", ErrorKind::Declined),
        (model("mean(x, j <= i)", 65, "f32", "width"), "bert", ErrorKind::Declined),
        (average, "bert", ErrorKind::Declined),
        (lattice.model().expect("a model"), "bert", ErrorKind::Declined),
        (exact, "bert", ErrorKind::Declined),
        (plain(), "brt", ErrorKind::Input),
        (plain(), "llama", ErrorKind::Declined),
        (model("reverse", 3, "f32", "width"), "t5", ErrorKind::Declined),
        (model("mean(x, j <= i) + i / 4", 3, "f32", "width"), "llama", ErrorKind::Declined),
        (model("x - mean(x)", 3, "f64", "width"), "modernbert", ErrorKind::Declined),
        (model("mean(x) + mean(x, j <= i)", 3, "f32", "width"), "gpt2", ErrorKind::Declined),
        (model("max(x) + max(x, j <= i)", 3, "f32", "width"), "bert", ErrorKind::Declined),
    ];
    insta::assert_snapshot!(all.into_iter().map(refused).collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn a_vocabulary_is_of_the_right_size_and_unambiguous() {
    let sort = model("sort(x) on integers 0..3", 3, "f32", "width");
    let refused = |model: &Model, words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        hf::files(model, "bert", Some(&words), |_| None).map(|_| ()).expect_err("a wrong vocabulary").to_string()
    };
    let all = [
        refused(&sort, &["a", "b"]),
        refused(&sort, &["a", "b", "a"]),
        refused(&sort, &["a", "b c", "d"]),
        refused(&model("x - mean(x)", 3, "f32", "width"), &["a"]),
    ];
    insta::assert_snapshot!(all.join("\n\n"));
    let words: Vec<String> = ["ace", "king", "queen"].map(str::to_owned).into();
    let (files, _) = hf::files(&sort, "bert", Some(&words), |_| None).expect("files");
    let file = |wanted: &str| -> Value {
        let (_, bytes) = files.iter().find(|(name, _)| name == wanted).expect(wanted);
        serde_json::from_slice(bytes).expect("JSON")
    };
    assert_eq!(file("tokenizer.json")["model"]["vocab"]["king"], 1);
    assert_eq!(file("config.json")["id2label"]["2"], "queen");
}

/// Scaling is by powers of two: every weight of the host is one of the network's, times one.
#[test]
fn nothing_is_rounded_on_the_way_into_a_host() {
    let hosted = Hosted::new("z-score", 4, "bert");
    let odd = |x: f64| if x == 0.0 { 0 } else { x.abs().to_bits() & ((1 << 52) - 1) };
    let network = hosted.model.float().expect("floats");
    let known: std::collections::BTreeSet<u64> =
        network.tensors().iter().flat_map(|(.., entries)| entries.iter().map(|x| odd(*x))).chain([0]).collect();
    for (name, (_, entries)) in &hosted.stock.tensors {
        assert!(entries.iter().all(|x| known.contains(&odd(*x))), "{name}");
    }
    assert!(known.len() > 20);
}
