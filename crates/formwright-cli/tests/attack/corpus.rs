//! Small folders with the verdict that a checker has to give: `corpus/{accept,reject,decline}/NAME`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use formwright::exact::Rat;
use serde_json::{Value, json};

use super::artifacts::{
    Artifact, F32, F64, Wanted, circuit, families, median, median_of_table, normal_form, on_box, sums, yun,
};
use super::judge::Subject;
use super::weights::{Weights, tensor, with_weights};

/// Three files and what must be said of them.
pub struct Case {
    /// `accept`, `reject` or `decline`.
    pub verdict: &'static str,
    /// The obligation that must be named, and what was done; nothing of a case that is accepted.
    pub why: Option<String>,
    pub artifact: Artifact,
}

impl Case {
    /// Its folder inside of `corpus/`.
    pub fn folder(&self) -> PathBuf {
        [self.verdict, &self.artifact.name].iter().collect()
    }

    /// Its contents.
    pub fn files(&self) -> BTreeMap<&'static str, Vec<u8>> {
        let why = self.why.iter().map(|why| ("why", format!("{why}\n").into_bytes()));
        self.artifact.files().into_iter().map(|(name, bytes)| (name, bytes.to_vec())).chain(why).collect()
    }
}

/// Every case, in a fixed order.
pub fn cases() -> Vec<Case> {
    let families: BTreeMap<String, Artifact> =
        families().into_iter().map(|artifact| (artifact.name.clone(), artifact)).collect();
    let mut cases: Vec<Case> =
        families.values().map(|artifact| Case { verdict: "accept", why: None, artifact: artifact.clone() }).collect();
    let of = |name: &str| families[name].clone();
    // Connections by which every token sees every other change nothing.
    for (name, artifact) in [
        ("connections", connected(&of("yun-positional-3"), &[DENSE])),
        ("connections-cycle", connected(&of("yun-positional-3"), &[DENSE, DENSE])),
        ("connections-box", connected(&of("yun-box-positional"), &[&[&[0, 1], &[0, 1]]])),
    ] {
        cases.push(Case { verdict: "accept", why: None, artifact: Artifact { name: name.to_owned(), ..artifact } });
    }
    let rejected = [format(&of), hashes(&of), weights(&of), targets(&of), claims(&of), mathematics(&of)].concat();
    let all =
        rejected.into_iter().map(|case| ("reject", case)).chain(declined(&of).into_iter().map(|c| ("decline", c)));
    cases.extend(all.map(|(verdict, (name, obligation, what, artifact))| Case {
        verdict,
        why: Some(format!("{obligation}: {what}")),
        artifact: Artifact { name: name.to_owned(), ..artifact },
    }));
    cases.extend(odd(&of));
    cases.extend(meant());
    cases.extend(medians());
    cases
}

fn case(verdict: &'static str, name: &str, why: Option<String>, artifact: Artifact) -> Case {
    Case { verdict, why, artifact: Artifact { name: name.to_owned(), ..artifact } }
}

/// Heads that are not softmax, and a power that is no integer.
fn others() -> [(&'static str, Artifact); 7] {
    [
        ("heads-constant", realised("x * mean(x)", "performer:3:constant")),
        ("heads-integers", realised("sum(x) on integers 0..3", "linformer:2")),
        ("heads-integers-average", realised("mean(x) on integers 0..3", "average")),
        ("heads-code-average", coded("average")),
        ("heads-code-linformer", coded("linformer:2")),
        ("heads-code-performer", coded("performer:4")),
        ("norm-fraction", Artifact::new("", &on_box(4, "lp:3/2", sums("x", "sum-code", "one-block")))),
    ]
}

/// The median of shifted grids, and what is wrong of it.
fn medians() -> Vec<Case> {
    let own = Artifact::new("", &median("x - mean(x)", 2, F32));
    let table = Artifact::new("", &median_of_table(Some("3")));
    let replaced = |of: &Artifact, old: &str, new: &str| {
        let text = of.text().replacen(old, new, 1);
        assert_ne!(text, of.text(), "there is no {old}");
        Artifact { certificate: text.into_bytes(), ..of.clone() }
    };
    // The first weights of a tensor that are not 0.
    let cleared = |name: &str, count: usize| {
        let mut weights = Weights::of(&own);
        let busy = weights.tensor(name).into_iter().enumerate().filter(|(_, weight)| *weight != 0.0);
        for place in busy.map(|(place, _)| place).take(count).collect::<Vec<_>>() {
            weights = weights.with(name, place, 0.0);
        }
        with_weights(&own, weights.bytes())
    };
    let added = |name: &str, place: usize, more: f64| {
        let weights = Weights::of(&own);
        let number = weights.tensor(name)[place] + more;
        with_weights(&own, weights.with(name, place, number).bytes())
    };
    let other = json!({"binary": ["sub", "token", {"aggregate": ["max", "token", Value::Null]}]});
    let accepted = [
        ("median", own.clone()),
        ("median-f64", Artifact::new("", &median("if x < 1/2 then x else 1 - x", 2, F64))),
        ("median-positional", Artifact::new("", &median("sort(x)", 2, F32).with(|asked| asked.positional = true))),
        ("median-table", Artifact::new("", &median_of_table(None))),
        ("median-table-constant", table.clone()),
    ];
    let rejected = [
        ("median-copy", "point", "a copy that is off everywhere", added("7.ff.b2", 3, 1.0 / 32.0)),
        ("median-garbage", "median", "a copy that is spoiled everywhere", added("7.ff.b2", 3, 8.0)),
        ("median-walls", "median", "a grid moved so that two walls meet", replaced(&own, "grid 3/10 ", "grid 1/5 ")),
        (
            "median-moved",
            "point",
            "two grids that are not where their lines say",
            replaced(&own, "1/10 3\ngrid 3/10 7\n", "1/10 7\ngrid 3/10 3\n"),
        ),
        ("median-margins", "point", "good parts that reach into ramps", own.with_line("margins", "1/20 1/20")),
        ("median-twice", "median", "a copy that is named twice", replaced(&own, "grid 3/10 7", "grid 3/10 3")),
        ("median-comparator", "median", "a comparator left out", cleared("14.ff.w1", 2)),
        ("median-clamp", "median", "half of a clamp removed", cleared("8.ff.w2", 1)),
        ("median-bound", "point", "a bound below what is shown", own.with_line("bound", "1/5")),
        (
            "median-grids",
            "median",
            "a grid less",
            replaced(&replaced(&own, "median 8 5", "median 8 4"), "grid 9/10 19\n", ""),
        ),
        ("median-blocks", "median", "copies that end before their values", own.with_line("median", "7 5")),
        ("median-target", "point", "another target", changed(&own, |file| file["ast"]["body"]["each"] = other.clone())),
        (
            "median-constant",
            "claim",
            "a constant too small for the table's own values",
            table.with_line("norm", "sup lipschitz 1"),
        ),
        (
            "median-constant-bound",
            "point",
            "a larger constant, and the same bound",
            table.with_line("norm", "sup lipschitz 4"),
        ),
        ("median-constant-expression", "claim", "a constant of no table", own.with_line("norm", "sup lipschitz 3")),
        ("median-register", "format", "a register that is not there", replaced(&own, "grid 9/10 19", "grid 9/10 20")),
    ];
    let declined = [("median-norm", "a median in another norm", own.with_line("norm", "lp 2"))];
    let told = |verdict: &'static str, obligation: &str, (name, what, artifact): (&str, &str, Artifact)| {
        case(verdict, name, Some(format!("{obligation}: {what}")), artifact)
    };
    let accepted = accepted.into_iter().map(|(name, artifact)| case("accept", name, None, artifact));
    let rejected = rejected.into_iter().map(|(name, why, what, artifact)| told("reject", why, (name, what, artifact)));
    accepted.chain(rejected).chain(declined.into_iter().map(|spoilt| told("decline", "scope", spoilt))).collect()
}

/// How the wire of a hub begins.
const HUB: &str = "wire hub 1 1 0 1 0 1";

/// The same with the variance of the positions instead of that of the tokens.
fn with_running(node: &Value) -> Value {
    let text = node.to_string().replace(r#""var","token""#, r#""var","running""#);
    serde_json::from_str(&text).expect("JSON")
}

/// Circuits on a box: what their registers mean, and what is wrong of it.
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn meant() -> Vec<Case> {
    let single = Artifact::new("", &circuit("x - mean(x)", 3, F32));
    let double = Artifact::new("", &circuit("x * mean(x)", 3, F64));
    let line = |of: &Artifact, old: &str, new: &str| {
        let text = of.text().replacen(&format!("\n{old}\n"), &format!("\n{new}\n"), 1);
        assert_ne!(text, of.text(), "there is no line {old}");
        Artifact { certificate: text.into_bytes(), ..of.clone() }
    };
    let silent = {
        let (head, _) = double.text().split_once("meanings").expect("meanings");
        Artifact { certificate: format!("{head}end\n").into_bytes(), ..double.clone() }
    };
    let heavier = with_weights(&double, Weights::of(&double).with("0.ff.w2", 0, 0.5).bytes());
    let built_for = |text: &str, tokens| Artifact::new("", &circuit(text, tokens, F64));
    let built = |text: &str, precision| Artifact::new("", &circuit(text, 3, precision));
    let largest = built("max(x)", F32);
    let prefix = built("mean(x, j <= i)", F32);
    let gathered = built("x[n - 1 - i]", F32);
    let summed = built("sum(x, j <= i)", F64);
    let sorted = built("sort(x)", F32);
    let last_round = "wire exchange 0 1 1 1 0 1 8 1 0 1 9 1";
    // A network without its last round, in the weights and in the lines.
    let a_round_less = {
        let [with, without] =
            ["layer 1 1\ngate 10 0 2 8 -1 10 1 1 0 0 3 1 9/8 8 -1 9 1\nholds 0 -1/2 1 10 1\n", "layer 0 0\n"];
        let text = sorted.text().replacen(with, without, 1).replacen("output 0 1 10 1", "output 0 1 8 1", 1);
        assert!(!text.contains("gate 10"), "there is no last round");
        let lines = Artifact { certificate: text.into_bytes(), ..sorted.clone() };
        let quiet = Weights::of(&lines).with("2.ff.w2", 0, 0.0).with("2.ff.w2", 1, 0.0).bytes();
        with_weights(&lines, quiet)
    };
    let window = built("mean(x, j >= i - 1 and j <= i + 1)", F32);
    let hub = realised("x - mean(x)", "sparse:hub@1");
    let attended = built("attend(2 * x * x[i] + x, 1 - x, j <= i)", F32);
    // Two tokens that see what the hub sees; all see another token.
    let connected = |old: &str, new: &str| {
        let text = hub.text().replacen(old, new, 1);
        Artifact { certificate: text.into_bytes(), ..hub.clone() }
    };
    let weight = |of: &Artifact, name: &str, value| with_weights(of, Weights::of(of).with(name, 0, value).bytes());
    // At the first token it has no rival: there any number does.
    let sink = with_weights(&summed, Weights::of(&summed).with("pos", 5, 0.5).bytes());
    let without_grid =
        Artifact::new("", &circuit("x * mean(x)", 3, F64).with(|asked| asked.norm = Some("l2".to_owned())));
    let [average, linformer, performer] =
        ["average", "linformer:2", "performer:3"].map(|kind| realised("x * mean(x)", kind));
    // Lines with a knot between them, beside a square, from which they are 1/16 away.
    let beside = |text: &str, bound: &str| {
        let lines = Artifact::new("", &circuit(text, 1, F64));
        changed(&lines, |file| file["ast"]["body"]["each"] = json!({"power": ["token", 2]})).with_line("bound", bound)
    };
    let (hats, enough) = ("relu(x)/2 + relu(x - 1/2)", "6250001/100000000");
    let near = |basis: &str| Artifact::new("", &normal_form("sin(x) * mean(x)", basis, "1/10", F32));
    let accepted = [
        ("meanings-distance", beside(hats, enough)),
        ("meanings-hats", near("hats")),
        ("meanings-fit", near("fit:4")),
        ("heads-average", average.clone()),
        ("heads-linformer", linformer.clone()),
        ("heads-performer", performer.clone()),
        ("norm-without-grid", without_grid.clone()),
        ("meanings-mean", single.clone()),
        ("meanings-product", double.clone()),
        ("meanings-larger", built("max(x, mean(x))", F32)),
        ("meanings-largest", largest.clone()),
        ("meanings-prefix", prefix.clone()),
        ("meanings-gather", gathered.clone()),
        ("meanings-sort", sorted.clone()),
        ("meanings-shift", built("if i < 1 then 0 else x[i - 1]", F32)),
        ("meanings-sum", summed.clone()),
        ("meanings-softmax", built("exp(x) / sum(exp(x))", F32)),
        ("meanings-window", window.clone()),
        ("meanings-hub", hub.clone()),
        ("meanings-attend", attended.clone()),
    ];
    let shifted = {
        let own = beside(hats, enough);
        let text = own.text().replacen("1/2 sub", "3/8 sub", 1);
        assert_ne!(text, own.text(), "there is no knot");
        Artifact { certificate: text.into_bytes(), ..own }
    };
    let rejected = [
        ("meanings-count", "format", "a wire more than there is", line(&single, "meanings 2", "meanings 3")),
        ("meanings-layers", "format", "a layer less than blocks ask for", line(&single, "layers 2", "layers 1")),
        ("meanings-word", "format", "a wire of no kind", line(&single, "wire mean 1 0 1 0 1", "wire median 1 0 1 0 1")),
        ("meanings-later", "format", "a wire of itself", line(&single, "wire mean 1 0 1 0 1", "wire mean 1 0 1 1 1")),
        ("meanings-output", "format", "an output that is not there", line(&single, "outputs 1", "outputs 2")),
        (
            "meanings-register",
            "line",
            "a register that holds something else",
            line(&single, "holds 0 -1/2 1 0 1", "holds 0 -1/4 1 0 1"),
        ),
        (
            "meanings-factor",
            "line",
            "half of what a head adds",
            line(&single, "holds 0 0 2 0 1 1 -1", "holds 0 0 2 0 1 1 -1/2"),
        ),
        (
            "meanings-mask",
            "line",
            "a head that sees more than the lines say",
            line(&prefix, "mask * 0 * * no", "mask * * * * no"),
        ),
        (
            "heads-length",
            "line",
            "a Performer's sum for several numbers of tokens",
            performer.with_line("tokens", "1 3"),
        ),
        ("meanings-places", "line", "a position less", line(&gathered, "wire position 2 1 0", "wire position 2 1")),
        (
            "meanings-no-places",
            "format",
            "positions without a number",
            line(&gathered, "wire position 2 1 0", "wire position"),
        ),
        (
            "meanings-target",
            "point",
            "another target",
            changed(&double, |file| file["ast"]["body"]["each"] = json!({"aggregate": ["mean", "token", Value::Null]})),
        ),
        (
            "meanings-distance-open",
            "point",
            "a target that is the same at corners, and a difference that is not enclosed between them",
            changed(&built_for("(x - mean(x)) / sqrt(var(x) + 1/2)", 2), |file| {
                file["ast"]["body"]["each"] = with_running(&file["ast"]["body"]["each"]);
            }),
        ),
        ("meanings-distance-bound", "point", "a bound below the distance", beside(hats, "6249999/100000000")),
        (
            "meanings-distance-knot",
            "point",
            "a knot that is moved, in the weights and in the line",
            beside("relu(x)/2 + relu(x - 3/8)", enough),
        ),
        (
            "meanings-distance-piece",
            "point",
            "a piece that is missing, in the weights and in the line",
            beside("relu(x)/2", enough),
        ),
        (
            "meanings-seen",
            "line",
            "a head with scores that sees more than the lines say",
            line(&attended, "mask * 0 * * no", "mask * * * * no"),
        ),
        (
            "meanings-exchange-side",
            "line",
            "an exchange with a side of 2",
            line(&sorted, last_round, &last_round.replacen("0 1 1 1", "0 1 1 2", 1)),
        ),
        (
            "meanings-exchange-adds",
            "line",
            "a gate that adds an exchange without its own number",
            line(&sorted, "gate 10 0 2 8 -1 10 1 1 0 0 3 1 9/8 8 -1 9 1", "gate 10 0 1 10 1 1 0 0 3 1 9/8 8 -1 9 1"),
        ),
        ("meanings-hub-elsewhere", "line", "a hub at another token", line(&hub, HUB, &HUB.replacen('1', "2", 1))),
        ("meanings-hub-nowhere", "format", "a hub at no token", line(&hub, HUB, &HUB.replacen('1', "3", 1))),
        (
            "meanings-hub-sees",
            "line",
            "a hub that sees two of three",
            connected("sees 0\nsees 0 1 2\n", "sees 0\nsees 0 1\n"),
        ),
        (
            "meanings-hub-seen",
            "line",
            "one token sees itself",
            connected("sees 1\nsees 1\nsees 1\n", "sees 0\nsees 1\nsees 1\n"),
        ),
    ];
    let declined = [
        ("meanings-distance-line", "a knot that is moved in the line alone", shifted),
        (
            "meanings-exchange-turned",
            "an exchange that is said to keep the other number",
            line(&sorted, last_round, &last_round.replacen("0 1 1 1", "1 1 1 -1", 1)),
        ),
        ("meanings-comparators", "a round of comparators is left out", a_round_less),
        ("meanings-temperature", "a head that is too warm", weight(&largest, "0.attn.q_bias", 16.0)),
        ("norm-without-grid-bound", "a bound below what is shown", without_grid.with_line("bound", "1/1000000")),
        ("norm-without-grid-power", "a power beyond the limit", without_grid.with_line("norm", "lp 129/2")),
        ("heads-mixture", "a mixture that weighs a token twice", weight(&linformer, "0.attn.f", 2.0)),
        ("heads-features", "a Performer's keys that read the token", weight(&performer, "0.attn.k", 0.5)),
        ("heads-value", "an average of something else", weight(&average, "0.attn.v", 0.5)),
        ("meanings-scores", "scores that are not those of the lines", weight(&attended, "0.attn.q", 0.25)),
        ("meanings-keys", "keys that read the token", weight(&gathered, "0.attn.k", 0.5)),
        ("meanings-sink", "another weight of the sink", sink),
        ("meanings-none", "nothing is said of registers", silent),
        ("meanings-bound", "a bound below what is shown", double.with_line("bound", "1/1000000000000000000")),
        ("meanings-weight", "one weight of the product is another", heavier),
    ];
    let scope = declined.map(|(name, what, artifact)| (name, "scope", what, artifact));
    let spoilt = |verdict: &'static str, cases: Vec<Spoilt>| {
        cases.into_iter().map(move |(name, obligation, what, artifact)| {
            case(verdict, name, Some(format!("{obligation}: {what}")), artifact)
        })
    };
    let accepted = accepted.into_iter().chain(others());
    let accepted = accepted.map(|(name, artifact)| case("accept", name, None, artifact));
    accepted.chain(spoilt("reject", rejected.to_vec())).chain(spoilt("decline", scope.to_vec())).collect()
}

/// The same by way of many lets, each of which uses the one before more than once.
fn doubled(plain: &Artifact) -> Artifact {
    let twice = |k: usize| {
        let b = json!({"bound": format!("a{k}")});
        json!({"binary": ["sub", {"binary": ["add", b, b]}, b]})
    };
    changed(plain, |file| {
        let body = file["ast"]["body"]["each"].clone();
        let first = json!({"name": "a0", "value": body});
        let rest = (0..40).map(|k| json!({"name": format!("a{}", k + 1), "value": twice(k)}));
        file["ast"]["lets"] = std::iter::once(first).chain(rest).collect();
        file["ast"]["body"]["each"] = json!({"bound": "a40"});
    })
}

/// Files that two readers might understand differently: the page decides.
fn odd(of: &impl Fn(&str) -> Artifact) -> Vec<Case> {
    let (plain, table) = (of("circuit-max"), of("sum-code-staircase-table"));
    let own = String::from_utf8(plain.target.clone()).expect("JSON");
    let text = |text: String| Artifact { target: text.into_bytes(), ..plain.clone() }.hashed();
    let line = own.lines().find(|line| line.contains("\"name\":")).expect("a name");
    let named = |name: &str| text(own.replacen(line, &format!("  \"name\": {name},"), 1));
    let body = target(&plain)["ast"]["body"]["each"].clone();
    let with =
        |change: &dyn Fn(Value) -> Value| changed(&plain, |file| file["ast"]["body"]["each"] = change(body.clone()));
    let number = |x: &str| json!({ "number": x });
    let always = json!({"compare": ["equal", "length", "length"]});
    let untaken = |e: Value| with(&|own| json!({"if": [always, own, e]}));
    let plus = |e: Value| with(&|own| json!({"binary": ["add", own, e]}));
    let nothing = json!({"binary": ["sub", number("1/3"), number("1/3")]});
    let sine = |x: &str| json!({"call": ["sin", [number(x)]]});
    let when =
        |e: Value, most: &str| with(&|own| json!({"if": [{"compare": ["less", e, number(most)]}, own, number("99")]}));
    let deep = |depth: usize| named(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    let bound = |one: &str, other: &str| {
        let file = changed(&plain, |file| {
            file["ast"]["lets"] = json!([{"name": "NAME", "value": body.clone()}]);
            file["ast"]["body"]["each"] = json!({"bound": "OTHER"});
        });
        let text = String::from_utf8(file.target).expect("JSON").replacen("NAME", one, 1).replacen("OTHER", other, 1);
        Artifact { target: text.into_bytes(), ..plain.clone() }.hashed()
    };
    let powers = json!({"power": [{"power": [number("3"), 4096]}, 4096]});
    let without_symmetry = changed(&table, |file| drop(file.as_object_mut().expect("an object").remove("symmetry")));
    let accepted = [
        ("odd-escapes", bound(r"\b\f\/", r"\u0008\u000c/")),
        ("odd-surrogates", bound(r"\ud83d\ude00", "\u{1f600}")),
        ("odd-name-number", named("-1.50e+7")),
        ("odd-name-minus-zero", named("-0")),
        ("odd-nested-256", deep(256)),
        ("odd-sin", when(sine("1000"), "827/1000")),
        ("odd-sin-far", when(sine("1000000"), "2")),
        ("odd-sqrt", plus(json!({"call": ["sqrt", [nothing]]}))),
        ("odd-table-no-symmetry", without_symmetry),
        ("odd-table-text", changed(&table, |file| file["text"] = json!("of whatever kind"))),
        ("odd-lets", doubled(&plain)),
    ];
    let rejected = [
        (
            "odd-running",
            "a running token outside of an aggregate, in a branch that is never taken",
            untaken(json!("running")),
        ),
        (
            "odd-ill-typed",
            "a condition that is a number, in a branch that is never taken",
            untaken(json!({"not": "token"})),
        ),
        (
            "odd-aggregate",
            "a sum of conditions, in a branch that is never taken",
            untaken(json!({"aggregate": ["sum", always, Value::Null]})),
        ),
        ("odd-name-number-twice", "a number with two points, in a field for people", named("1.2.3")),
        ("odd-name-number-zeros", "a number with a zero in front, in a field for people", named("01")),
        ("odd-name-number-cut", "a number without its exponent, in a field for people", named("1e")),
        ("odd-name-nan", "a number that JSON does not have, in a field for people", named("NaN")),
        ("odd-half-a-pair", "half of a surrogate pair", named(r#""\ud83d""#)),
        ("odd-nested-257", "a value inside of 257 others", deep(257)),
        (
            "odd-sort",
            "a sort of what is neither the token nor a let nor a coordinate of one",
            plus(json!({"sort": {"negate": "token"}})),
        ),
        ("odd-quotient", "a quotient by 0 in a number", plus(number("1/0"))),
        (
            "odd-table-number",
            "a number of JSON among the values of a table",
            changed(&table, |file| file["values"][0][0][0] = json!(0)),
        ),
        (
            "odd-entry-number",
            "a number of JSON among the entries of a table",
            plus(json!({"table": [number("0"), [0]]})),
        ),
    ];
    let declined = [
        ("odd-powers", "a number that is larger than what is computed with", when(powers, "1")),
        ("odd-sin-open", "a sine that is not followed so far", when(sine("1000000"), "1/2")),
    ];
    let mut cases: Vec<Case> =
        accepted.into_iter().map(|(name, artifact)| case("accept", name, None, artifact)).collect();
    cases
        .extend(rejected.map(|(name, what, artifact)| case("reject", name, Some(format!("target: {what}")), artifact)));
    cases
        .extend(declined.map(|(name, what, artifact)| case("decline", name, Some(format!("scope: {what}")), artifact)));
    cases
}

/// The keys that each token sees.
type Layer<'k> = &'k [&'k [usize]];

const DENSE: Layer<'_> = &[&[0, 1, 2], &[0, 1, 2], &[0, 1, 2]];

/// The same with a cycle of connections behind the masks of every run.
fn connected(artifact: &Artifact, cycle: &[Layer<'_>]) -> Artifact {
    let keys = |keys: &&[usize]| keys.iter().fold("sees".to_owned(), |line, key| format!("{line} {key}")) + "\n";
    let sees: String = cycle.iter().flat_map(|layer| layer.iter().map(keys)).collect();
    let connections = format!("mask * * * * no\nconnections {}\n{sees}", cycle.len());
    // Behind the last mask of a run comes another run, or the hints.
    let text = ["run", "cells"].iter().fold(artifact.text().to_owned(), |text, next| {
        text.replace(&format!("mask * * * * no\n{next}"), &format!("{connections}{next}"))
    });
    Artifact { certificate: text.into_bytes(), ..artifact.clone() }
}

/// Its name, the obligation, what was done, and the files.
type Spoilt = (&'static str, &'static str, &'static str, Artifact);

fn format(of: &impl Fn(&str) -> Artifact) -> Vec<Spoilt> {
    let plain = of("circuit-max");
    let text = |text: String| Artifact { certificate: text.into_bytes(), ..plain.clone() };
    let replaced = |from: &str, to: &str| text(plain.text().replacen(from, to, 1));
    let line = |word: &str, content: &str| plain.with_line(word, content);
    let lines: Vec<&str> = plain.text().lines().collect();
    let without = |word: &str| {
        let kept = lines.iter().filter(|line| line.split(' ').next() != Some(word));
        text(kept.copied().collect::<Vec<_>>().join("\n") + "\n")
    };
    let sparse = |cycle: &[Layer<'_>]| connected(&of("yun-positional-3"), cycle);
    let swapped = [&[lines[0], lines[2], lines[1]], &lines[3..]].concat().join("\n") + "\n";
    let cases = [
        ("format-version", "a version that does not exist", replaced("certificate 2", "certificate 3")),
        ("format-empty", "no bytes at all", text(String::new())),
        ("format-no-last-newline", "the last line does not end", text(plain.text().trim_end().to_owned())),
        ("format-crlf", "lines end as on Windows", text(plain.text().replace('\n', "\r\n"))),
        ("format-two-spaces", "two spaces between words", replaced("badge ", "badge  ")),
        ("format-behind-end", "a line behind the end", text(format!("{}bound 1\n", plain.text()))),
        ("format-comment", "a line that is no line of the format", replaced("badge", "# a note\nbadge")),
        ("format-not-ascii", "a letter that is not ASCII", replaced("badge certified", "badge certif\u{456}ed")),
        ("format-hashes-swapped", "the two hashes in the other order", text(swapped)),
        ("format-badge", "a badge that does not exist", line("badge", "proved")),
        ("format-over", "a domain that does not exist", line("over", "everything")),
        ("format-norm", "a norm in another notation", line("norm", "l2")),
        ("format-bound-decimal", "a bound in decimals", line("bound", "0.5")),
        ("format-bound-lowest-terms", "a bound that is not in lowest terms", line("bound", "2/4")),
        ("format-bound-minus-zero", "a bound of minus zero", line("bound", "-0")),
        ("format-bound-twice", "the bound comes twice", replaced("bound", "bound 1\nbound")),
        ("format-assumptions", "an assumption is counted and not there", line("assumptions", "1")),
        ("format-tokens", "a count with a zero in front", line("tokens", "02 02")),
        ("format-dims", "a count in letters", line("dims", "one")),
        ("format-output-dims", "a line is missing", without("output-dims")),
        ("format-execution", "an execution model that does not exist", line("execution", "ieee-left-to-right f64")),
        ("format-width", "a count of 2^31", line("width", "2147483648")),
        ("format-positions", "a negative count", line("positions", "-1")),
        ("format-runs", "a run is counted and not there", line("runs", "99")),
        ("format-run-empty", "a run without layers", line("run", "1")),
        ("format-run-blocks", "a run without blocks", line("run", "0 ff 4")),
        ("format-run-kind", "a kind of attention that does not exist", line("run", "1 attention hard 1 1 1 0")),
        ("format-mask", "a mask with a word too few", line("mask", "* 0 * *")),
        ("format-mask-word", "a mask that is neither yes nor no", line("mask", "* 0 * * maybe")),
        ("format-cells", "a count with a plus sign", line("cells", "+4")),
        ("format-margins", "one margin instead of two", line("margins", "0")),
        ("format-end", "the end is missing", without("end")),
        ("format-connections-empty", "a cycle of no layers", sparse(&[])),
        ("format-connections-token", "a token that there is not", sparse(&[&[&[0, 1, 2], &[0, 1, 3], &[0, 1, 2]]])),
        ("format-connections-nothing", "a token that sees nothing", sparse(&[&[&[0, 1, 2], &[], &[0, 1, 2]]])),
        ("format-connections-order", "tokens in another order", sparse(&[&[&[0, 1, 2], &[0, 2, 1], &[0, 1, 2]]])),
        ("format-connections-short", "a line too few", sparse(&[&[&[0, 1, 2], &[0, 1, 2]]])),
    ];
    cases.into_iter().map(|(name, what, artifact)| (name, "format", what, artifact)).collect()
}

fn hashes(of: &impl Fn(&str) -> Artifact) -> Vec<Spoilt> {
    let plain = of("circuit-max");
    let mut weights = plain.clone();
    let last = weights.weights.len() - 1;
    weights.weights[last] ^= 1;
    let target = Artifact { target: [plain.target.as_slice(), b" "].concat(), ..plain.clone() };
    let other = Artifact { weights: of("circuit-mod").weights, ..plain };
    vec![
        ("hash-weights", "hash", "one bit of the weights is another", weights),
        ("hash-target", "hash", "a space behind the target", target),
        ("hash-other-model", "hash", "the weights of another model", other),
    ]
}

fn weights(of: &impl Fn(&str) -> Artifact) -> Vec<Spoilt> {
    let plain = of("circuit-max");
    let good = || Weights::of(&plain);
    let file = |bytes: Vec<u8>| with_weights(&plain, bytes);
    let header = |change: fn(&mut serde_json::Map<String, Value>)| file(good().with_header(change).bytes());
    let number = |number: f64| file(good().with("embed.weight", 0, number).bytes());
    let end = good().data.len();
    let tail = |extra: &[u8], from: usize, to: usize| {
        let mut weights = good().with_header(|header| {
            header.insert("extra".into(), tensor("F64", &[1], from, to));
        });
        weights.data.extend_from_slice(extra);
        file(weights.bytes())
    };
    let text = good().text();
    let twice = text.replacen('{', r#"{"embed.bias":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"#, 1);
    let mut gap = good();
    gap.data.extend([0; 16]);
    let gap = gap.with_header(move |header| {
        header.insert("extra".into(), tensor("F64", &[1], end + 8, end + 16));
    });
    let whole = good().bytes();
    let cases = [
        ("weights-nan", "a weight is no number", number(f64::NAN)),
        ("weights-infinite", "a weight is infinite", number(f64::INFINITY)),
        ("weights-gap", "eight bytes belong to no tensor", file(gap.bytes())),
        ("weights-overlap", "two tensors share their bytes", tail(&[], end - 8, end)),
        ("weights-duplicate-name", "a name comes twice", file(good().bytes_with(&twice))),
        ("weights-missing", "a tensor is missing", header(|header| drop(header.shift_remove("read_out.bias")))),
        ("weights-extra", "a tensor that is none of the network's", tail(&[0; 8], end, end + 8)),
        (
            "weights-name",
            "a tensor with another name",
            file(good().bytes_with(&text.replace("embed.bias", "embed.Bias"))),
        ),
        (
            "weights-shape",
            "a tensor of another shape",
            header(|header| header["embed.bias"]["shape"] = json!([1, 1, 1])),
        ),
        ("weights-dtype", "a tensor of another type", header(|header| header["embed.bias"]["dtype"] = json!("F32"))),
        (
            "weights-field",
            "a field that a tensor does not have",
            header(|header| header["embed.bias"]["scale"] = json!(2)),
        ),
        (
            "weights-metadata",
            "metadata that is no text",
            header(|header| drop(header.insert("__metadata__".into(), json!({"x": 1})))),
        ),
        ("weights-truncated", "the last byte is cut off", file(whole[..whole.len() - 1].to_vec())),
        ("weights-cut-header", "the file ends inside of the header", file(whole[..40].to_vec())),
        ("weights-header-length", "a header of 2^63 bytes", file([&[0, 0, 0, 0, 0, 0, 0, 128], &whole[8..]].concat())),
        ("weights-behind", "bytes behind the data", file([whole.as_slice(), &[0; 8]].concat())),
        ("weights-no-json", "a header that is no JSON", file(good().bytes_with(&text.replacen('{', "[", 1)))),
    ];
    cases.into_iter().map(|(name, what, artifact)| (name, "weights", what, artifact)).collect()
}

/// The files with another target, and its hash.
pub fn with_target(artifact: &Artifact, target: &Value) -> Artifact {
    Artifact { target: format!("{target:#}\n").into_bytes(), ..artifact.clone() }.hashed()
}

/// The target, to be changed.
pub fn target(artifact: &Artifact) -> Value {
    serde_json::from_slice(&artifact.target).expect("a target")
}

fn changed(artifact: &Artifact, change: impl Fn(&mut Value)) -> Artifact {
    let mut file = target(artifact);
    change(&mut file);
    with_target(artifact, &file)
}

fn targets(of: &impl Fn(&str) -> Artifact) -> Vec<Spoilt> {
    let (plain, table) = (of("circuit-max"), of("sum-code-staircase-table"));
    let text = |text: String| Artifact { target: text.into_bytes(), ..plain.clone() }.hashed();
    let own = String::from_utf8(plain.target.clone()).expect("JSON");
    let body = |body: Value| changed(&plain, |file| file["ast"]["body"]["each"] = body.clone());
    let quotient = json!({"binary": ["div", {"number": "1"}, {"binary": ["add", "token", {"number": "3"}]}]});
    // No three tokens of {0, 1} are distinct.
    let vacuous = changed(&of("yun-3x3"), |file| {
        file["ast"]["domain"]["integers"] = json!([0, 2]);
        file["ast"]["body"]["each"] = json!({"coordinate": ["token", 1]});
    });
    let cases = [
        (
            "target-unknown-field",
            "a field that the format does not have",
            changed(&plain, |file| file["scale"] = json!(2)),
        ),
        (
            "target-duplicate-name",
            "a field comes twice",
            text(own.replacen("\"ast\"", "\"kind\": \"table\",\n  \"ast\"", 1)),
        ),
        ("target-bad-number", "a number that is none", body(json!({"number": "1//2"}))),
        ("target-number", "a number where a text is expected", body(json!({"number": 2}))),
        ("target-lets", "a text where a list is expected", changed(&plain, |file| file["ast"]["lets"] = json!("1"))),
        ("target-coordinate", "a coordinate that no token has, where nothing asks for it", vacuous),
        ("target-operator", "an operator that does not exist", body(json!({"binary": ["plus", "token", "token"]}))),
        ("target-arity", "a function with an argument too many", body(json!({"call": ["abs", ["token", "token"]]}))),
        ("target-unbound", "a name that is not bound", body(json!({"bound": "b"}))),
        ("target-running", "a running token outside of an aggregate", body(json!("running"))),
        ("target-undefined", "a quotient by 0 at a point of the domain", body(quotient)),
        ("target-index", "an index outside of the sequence", body(json!({"gather": {"number": "2"}}))),
        ("target-kind", "a kind that does not exist", changed(&plain, |file| file["kind"] = json!("program"))),
        ("target-no-json", "a bracket is missing", text(own.trim_end().trim_end_matches('}').to_owned())),
        ("target-behind", "something behind the object", text(own + "{}")),
        (
            "target-table-short",
            "a table with an entry too few",
            changed(&table, |file| drop(file["values"].as_array_mut().and_then(Vec::pop))),
        ),
    ];
    cases.into_iter().map(|(name, what, artifact)| (name, "target", what, artifact)).collect()
}

/// A sum of codes whose sums are.
fn coded(kind: &str) -> Artifact {
    let codes = sums("x * mean(x)", "sum-code", "staircase").with(|asked| asked.attention = Some(kind.to_owned()));
    Artifact::new("", &on_box(2, "l2", codes))
}

/// A circuit whose sums are realised by attention of another kind.
fn realised(text: &str, kind: &str) -> Artifact {
    Artifact::new("", &circuit(text, 3, F64).with(|asked| asked.attention = Some(kind.to_owned())))
}

fn claims(of: &impl Fn(&str) -> Artifact) -> Vec<Spoilt> {
    let (plain, positions, heads) = (of("sum-code-staircase"), of("yun-positional"), of("circuit-causal-sum"));
    let (boxed, table) = (of("sum-code-staircase-box"), of("sum-code-staircase-table"));
    let cases = [
        ("claim-no-tokens", "sequences of no tokens", plain.with_line("tokens", "0 2")),
        ("claim-tokens-order", "fewer tokens at most than at least", plain.with_line("tokens", "3 2")),
        ("claim-positions", "fewer tokens than positions", positions.with_line("tokens", "1 2")),
        ("claim-bound", "a bound below 0", plain.with_line("bound", "-1/1000000")),
        ("claim-mask", "a token that sees nothing", heads.with_line("mask", "1 1 * * no")),
        (
            "claim-connections",
            "connections, and a mask besides",
            connected(&of("yun-positional-3"), &[DENSE]).with_line("mask", "* 2 * * no"),
        ),
        (
            "claim-domain",
            "integers are claimed of a target on an interval",
            boxed.with_line("over", "integers").with_line("norm", "sup"),
        ),
        (
            "claim-box",
            "a box is claimed of a target on integers",
            plain.with_line("over", "box").with_line("norm", "lp 2"),
        ),
        (
            "claim-mask-of-average",
            "a mask of attention that looks at all tokens",
            realised("x - mean(x)", "average").with_line("mask", "* 0 * * no"),
        ),
        (
            "claim-linformer-tokens",
            "mixtures of all tokens, for several numbers of tokens",
            realised("x - mean(x)", "linformer:2").with_line("tokens", "1 3"),
        ),
        ("claim-table-tokens", "another number of tokens than the table's", table.with_line("tokens", "3 3")),
        (
            "claim-empty-interval",
            "an interval without inner points",
            changed(&boxed, |file| file["ast"]["domain"]["interval"] = json!(["0", "0"])),
        ),
    ];
    cases.into_iter().map(|(name, what, artifact)| (name, "claim", what, artifact)).collect()
}

/// The claim with a bound just below the largest error that an execution shows.
fn just_below(artifact: &Artifact) -> Artifact {
    let equal = Subject::read(&artifact.with_line("bound", "0")).expect("a network");
    let wrong = equal.wrong(1, 0).expect("executions");
    let largest = wrong.into_iter().map(|wrong| wrong.off).fold(0.0, f64::max);
    assert!(largest > 0.0, "{} is exact", artifact.name);
    artifact.with_line("bound", &Rat::from_f64(largest.next_down()).expect("finite").to_string())
}

fn mathematics(of: &impl Fn(&str) -> Artifact) -> Vec<Spoilt> {
    let (plain, single, distinct) = (of("sum-code-staircase"), of("circuit-sort"), of("yun-3x2"));
    let (boxed, table) = (of("sum-code-layered-box"), of("sum-code-layered-table"));
    let weight = |artifact: &Artifact, tensor: &str, place: usize, number: f64| {
        with_weights(artifact, Weights::of(artifact).with(tensor, place, number).bytes())
    };
    // No float is a third, so that something is lost.
    let thirds = yun("x / 3 + sum(x) on integers 0..3", 2, F32);
    let entry = |file: &mut Value| file["values"][5][0][0] = json!("99");
    let little = |file: &mut Value| {
        let entry: Rat = file["values"][6][1][0].as_str().and_then(|text| text.parse().ok()).expect("a number");
        file["values"][6][1][0] = json!((entry + Rat::new(1, 1000)).to_string());
    };
    let body = |artifact: &Artifact, body: Value| changed(artifact, |file| file["ast"]["body"]["each"] = body.clone());
    let sparse = |cycle: &[Layer<'_>]| connected(&of("yun-positional-3"), cycle);
    vec![
        (
            "point-connections",
            "point",
            "a token that does not see all others",
            sparse(&[&[&[0, 1], &[0, 1, 2], &[0, 1, 2]]]),
        ),
        ("point-connections-cycle", "point", "the same in one layer of a cycle", sparse(&[DENSE, &[&[0], &[1], &[2]]])),
        ("finite-embedding", "finite", "an embedding that overflows", weight(&plain, "embed.weight", 0, f64::MAX)),
        (
            "finite-single",
            "finite",
            "a read-out that overflows in f32",
            weight(&single, "read_out.bias", 0, f64::from(f32::MAX)),
        ),
        (
            "finite-idle-query",
            "finite",
            "a query overflows in a head of which nothing is read: 0 times NaN is NaN",
            weight(&of("yun-packed-all"), "8.attn.q", 1, 1e308),
        ),
        (
            "finite-idle-value",
            "finite",
            "a value overflows in a head of which nothing is read",
            weight(&of("yun-table-positional"), "9.attn.v", 1, 1e308),
        ),
        ("finite-box", "finite", "an embedding that overflows on a box", weight(&boxed, "embed.weight", 0, f64::MAX)),
        ("point-bias", "point", "the read-out's bias is 1 too large", weight(&plain, "read_out.bias", 0, 1.0)),
        (
            "point-ulp",
            "point",
            "the read-out's bias is the least normal number where equality is claimed",
            weight(&plain, "read_out.bias", 0, f64::from_bits(1 << 52)),
        ),
        ("point-target", "point", "the target is another function", body(&plain, json!("token"))),
        (
            "point-domain",
            "point",
            "the domain has one integer more",
            changed(&plain, |file| file["ast"]["domain"]["integers"] = json!([0, 5])),
        ),
        (
            "point-otherwise",
            "point",
            "another value where tokens are equal",
            distinct.with_line("over", "distinct-integers 7/2"),
        ),
        (
            "point-not-distinct",
            "point",
            "all sequences are claimed of a network for distinct tokens",
            distinct.with_line("over", "integers"),
        ),
        ("point-bound", "point", "a bound just below what is measured", just_below(&Artifact::new("", &thirds))),
        (
            "point-tokens",
            "point",
            "a number of tokens for which the network was not built",
            plain.with_line("tokens", "2 3"),
        ),
        (
            "integral-bound",
            "integral",
            "a bound that is less than what ramps alone may cost",
            boxed.with_line("bound", "1/1000000000"),
        ),
        ("integral-bound-table", "integral", "a bound of 0 where ramps cost something", table.with_line("bound", "0")),
        ("integral-entry", "integral", "one entry of the table is another", changed(&table, entry)),
        ("integral-bias", "integral", "the read-out's bias is 1 too large", weight(&table, "read_out.bias", 0, 1.0)),
        (
            "integral-margins",
            "integral",
            "hints that leave no margin where the network jumps",
            table.with_line("margins", "0 0"),
        ),
        ("integral-little", "integral", "one entry of one token is off by 1/1000", changed(&table, little)),
    ]
}

fn declined(of: &impl Fn(&str) -> Artifact) -> Vec<Spoilt> {
    let (plain, boxed, table) =
        (of("sum-code-staircase"), of("sum-code-staircase-box"), of("sum-code-staircase-table"));
    let average = realised("x - mean(x)", "average");
    let on_integers = realised("sum(x) on integers 0..3", "linformer:2");
    let elsewhere = average.text().replacen(" attention average ", " attention x-decaying ", 1);
    let everywhere = |wanted: Wanted| on_box(3, "l2", wanted).with(|asked| asked.domain = Some("all".to_owned()));
    let stated = |wanted: Wanted| wanted.with(|asked| asked.lipschitz = Some("3".to_owned()));
    let assumed = plain.text().replace("assumptions 0\n", "assumptions 1\nassume the weights are as they should be\n");
    let fits = yun("x - mean(x)", 2, F64);
    let released = Artifact {
        name: String::new(),
        certificate: include_bytes!("../version-1/certificate.fwc").to_vec(),
        target: include_bytes!("../version-1/target.json").to_vec(),
        weights: include_bytes!("../version-1/model.safetensors").to_vec(),
    };
    let cases = [
        ("version-1", "what the first release wrote, of fewer executions", released),
        ("badge-measured", "a badge that is not proved", plain.with_line("badge", "measured")),
        ("badge-exact-on-grid", "a badge of points only", plain.with_line("badge", "exact-on-grid")),
        ("assumption", "an assumption", Artifact { certificate: assumed.into_bytes(), ..plain.clone() }),
        (
            "lipschitz",
            "a Lipschitz constant that is stated and not proved",
            Artifact::new("", &stated(on_box(3, "l2", fits.clone()))),
        ),
        (
            "kind-from-elsewhere",
            "attention of a kind that is known elsewhere",
            Artifact { certificate: elsewhere.into_bytes(), ..average },
        ),
        (
            "kind-on-integers",
            "a Linformer on integers that weighs one token twice",
            with_weights(&on_integers, Weights::of(&on_integers).with("0.attn.f", 0, 2.0).bytes()),
        ),
        ("box-sup", "a supremum over a box that no rule shows", Artifact::new("", &circuit("var(x, j <= i)", 3, F32))),
        ("space", "all of space", Artifact::new("", &everywhere(fits))),
        ("norm-65", "a power beyond the checker's limit", boxed.with_line("norm", "lp 65")),
        ("box-lengths", "a box for several numbers of tokens", boxed.with_line("tokens", "1 2")),
        ("integers-lp", "an integral over integers", plain.with_line("norm", "lp 2")),
        ("table-other-grid", "a table on another grid than the hint's", table.with_line("cells", "3")),
    ];
    cases.into_iter().map(|(name, what, artifact)| (name, "scope", what, artifact)).collect()
}
