//! Meanings over whole numbers (CERTIFICATE.md, section 7): points, selections by what tokens hold, products, cases, sorts, exact sums.
//! Each rule with what violates it.

#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::float_arithmetic, clippy::expect_used)]

use formwright_check::{About, Effort, Files, check_with, proved_lines};

use super::support::{Artifact, Head, Unit, declined, on_integers, rejected};

/// Returns the error that the lines prove, or why they prove none.
fn proved(artifact: &Artifact) -> Result<f64, String> {
    let (target, weights) = (artifact.target.as_bytes(), artifact.weights());
    let certificate = artifact.certificate(target, &weights);
    let lines = proved_lines(&Files { certificate: certificate.as_bytes(), target, weights: &weights });
    let lines = lines.map_err(|verdict| verdict.to_string())?;
    let outputs = lines.iter().filter(|line| matches!(line.about, About::Output(_)));
    outputs
        .map(|line| line.error.parse::<f64>().map_err(|_| line.error.clone()))
        .try_fold(0.0, |a: f64, b| Ok(a.max(b?)))
}

/// Panics unless the outputs are shown to be exact.
#[track_caller]
fn exact(artifact: &Artifact) {
    assert_eq!(proved(artifact), Ok(0.0));
}

/// Panics unless what is shown of the outputs is no better than this.
#[track_caller]
fn off(artifact: &Artifact, least: f64) {
    let found = proved(artifact).expect("the lines are proved");
    assert!(found >= least, "{found} is shown");
}

/// Panics unless the lines are not proved, for this reason.
#[track_caller]
fn fails(artifact: &Artifact, reason: &str) {
    let found = proved(artifact).expect_err("no proof");
    assert!(found.contains(reason), "{found}");
}

fn lines(artifact: Artifact, lines: &[&str]) -> Artifact {
    artifact.meaning(lines).with("over", "integers")
}

const MOD: &str = r#"{"binary":["mod","token",{"number":"2"}]}"#;

/// `x mod 2` on 0, 1, 2, 3: units of the token at some knots, with their slopes.
fn parity(units: &[(f64, f64)], wire: &str) -> Artifact {
    parity_of(on_integers(MOD, 0, 4), units, wire)
}

fn parity_of(target: String, units: &[(f64, f64)], wire: &str) -> Artifact {
    let rows: Vec<(f64, [f64; 2])> = units.iter().map(|(knot, slope)| (-knot, [0.0, *slope])).collect();
    let units: Vec<Unit<'_>> = rows.iter().map(|(bias, writes)| (&[1.0, 0.0][..], *bias, &writes[..])).collect();
    let artifact = Artifact::new(target, 1, "0", &[(1.0, 0.0), (0.0, 0.0)], &[0.0, 1.0]).forward(&units);
    let layer = ["layers 2", "layer 0 1", "holds 0 0 1 0 1", "layer 1 1"];
    let gate = ["gate 1 0 1 1 1 1 0 0 1 0 1", "holds 1 0 1 1 1", "outputs 1", "output 0 1 1 1"];
    lines(artifact, &[&["meanings 2", "wire input 0", wire][..], &layer[..], &gate[..]].concat())
}

const SAW: [(f64, f64); 3] = [(0.0, 1.0), (1.0, -2.0), (2.0, 2.0)];
const POINTS: &str = "wire points 0 1 0 1 0 0 1 0 1";

#[test]
fn a_gate_is_what_it_is_at_whole_numbers() {
    exact(&parity(&SAW, POINTS));
    // Between whole numbers it may be anything: a tent from 2 to 3.
    exact(&parity(&[SAW[0], SAW[1], SAW[2], (2.25, 8.0), (2.5, -16.0), (2.75, 8.0)], POINTS));
    // One that reaches 3.
    off(&parity(&[SAW[0], SAW[1], SAW[2], (2.25, 8.0), (2.75, -16.0), (3.25, 8.0)], POINTS), 1.0);
    // Another slope, another knot.
    off(&parity(&[SAW[0], SAW[1], (2.0, 2.5)], POINTS), 0.5);
    off(&parity(&[SAW[0], SAW[1], (2.5, 2.0)], POINTS), 1.0);
    // Values that are not the target's.
    fails(&parity(&SAW, "wire points 0 1 0 1 0 0 1 0 0"), "their normal forms differ");
    // A value is missing, at either end.
    fails(&parity(&SAW, "wire points 0 1 0 1 0 0 1 0"), "there is no value at 3");
    fails(&parity(&SAW, "wire points 0 1 0 1 1 1 0 1"), "there is no value at 0");
    // More values than there are points are none of the wire's.
    exact(&parity(&SAW, "wire points 0 1 0 1 -1 1 0 1 0 1 7"));
}

/// Four sequences are told one by one; the lines must fit the network all the same.
#[test]
fn lines_name_what_is_there_even_if_nothing_is_proved_from_them() {
    let artifact = parity(&SAW, POINTS);
    assert!(artifact.verdict().to_string().starts_with("accepted"), "{}", artifact.verdict());
    for (at, line) in [
        (1, "wire input 1"),
        (5, "holds 2 0 1 0 1"),
        (7, "gate 1 0 1 1 1 1 3 0 1 0 1"),
        (7, "head 1 0 1 1 1 0 0"),
        (8, "holds 2 0 1 1 1"),
    ] {
        let mut other = artifact.clone();
        other.meanings[at] = line.into();
        rejected(&other, "format");
    }
    let mut fewer = artifact.clone();
    fewer.meanings[3] = "layers 1".into();
    fewer.meanings.drain(6..9);
    rejected(&fewer, "format");
    let mut more = artifact;
    more.meanings[9] = "outputs 2".into();
    more.meanings.push("output 0 1 1 1".into());
    rejected(&more, "format");
}

#[test]
fn a_gate_at_points_reads_what_is_whole() {
    // Half of the token is not.
    fails(&parity(&SAW, "wire points 0 1 0 1/2 0 0 1 0 1"), "");
    fails(&parity(&SAW, "wire points 1/2 1 0 1 0 0 1 0 1"), "");
    // Tokens of an interval are not; the target is the same at whole ones.
    let interval = r#"{"kind":"expression","ast":{"body":{"each":"token"},"domain":{"interval":["0","3"]}}}"#;
    let artifact = parity_of(interval.into(), &[(0.0, 1.0)], "wire points 0 1 0 1 0 0 1 2 3").with("over", "box");
    fails(&artifact, "values at points of what is not whole");
    // The line says that the units read something else.
    let mut other = parity(&SAW, POINTS);
    other.meanings[7] = "gate 1 0 1 1 1 1 0 1 1 0 1".into();
    fails(&other, "line: wire 1: values are added with a number, and read their argument");
}

/// The sum of the tokens of one to three, or of three, modulo 2: by a head, and units of what it writes.
fn summed(tokens: &str, wire: [&str; 2], units: &[(f64, f64)]) -> Artifact {
    let sum = r#"{"binary":["mod",{"aggregate":["sum","token",null]},{"number":"2"}]}"#;
    let head = Head {
        mask: "* * * * no",
        q: vec![0.0; 3],
        q_bias: 0.0,
        k: vec![0.0; 3],
        v: vec![3.0, 0.0, 0.0],
        o: vec![0.0, 1.0, 0.0],
    };
    let rows: Vec<(f64, [f64; 3])> = units.iter().map(|(knot, slope)| (-knot, [0.0, 0.0, *slope])).collect();
    let units: Vec<Unit<'_>> = rows.iter().map(|(bias, writes)| (&[0.0, 1.0, 0.0][..], *bias, &writes[..])).collect();
    let embed = [(1.0, 0.0), (0.0, 0.0), (0.0, 0.0)];
    let artifact = Artifact::new(on_integers(sum, 0, 2), 3, "1/1000", &embed, &[0.0, 0.0, 1.0]);
    let artifact = artifact.with("tokens", tokens).attention(&[head]).forward(&units);
    let layers = ["layers 3", "layer 0 1", "holds 0 0 1 0 1", "layer 1 1", "head 1 0 1 1 1 0 0", "holds 1 0 1 1 1"];
    let gate = ["layer 1 1", "gate 2 0 1 2 1 1 0 0 1 1 1", "holds 2 0 1 2 1", "outputs 1", "output 0 1 2 1"];
    lines(artifact, &[&["meanings 3", "wire input 0", wire[0], wire[1]][..], &layers[..], &gate[..]].concat())
}

const SUM: [&str; 2] = ["wire mean 3 0 1 0 1", "wire points 0 1 1 1 0 0 1 0 1"];

#[test]
fn an_argument_that_is_nearly_whole_is_charged() {
    let plain = proved(&summed("3 3", SUM, &SAW)).expect("proved");
    assert!(plain > 0.0 && plain < 1e-13, "{plain}");
    // Steep beside 2: by what the sum may be off, and no more.
    let steep =
        [SAW[0], SAW[1], (2.0, 2.0 + 1e9), (2.0 + 2_f64.powi(-20), -1e9), (3.0 - 2_f64.powi(-20), -1e9), (3.0, 1e9)];
    off(&summed("3 3", SUM, &steep), 1e-7);
}

#[test]
fn a_mean_is_whole_times_the_number_of_tokens() {
    // A mean of three, or a sum that is three means of any number of tokens, is not.
    fails(&summed("3 3", ["wire mean 1 0 1 0 1", SUM[1]], &SAW), "");
    fails(&summed("1 3", SUM, &SAW), "");
}

/// Registers of the token, of two conditions on it, and of what is selected by them.
fn selected(target: &str, values: [&str; 2], cases: &[(f64, &str)], last: &[&str]) -> Artifact {
    // At 1, and at 2.
    let tent = |at: f64, write: [f64; 4]| {
        let times = |by: f64| write.map(|w| w * by);
        [(1.0 - at, times(1.0)), (-at, times(-2.0)), (-1.0 - at, times(1.0))]
    };
    let rows = [tent(1.0, [0.0, 1.0, 0.0, 0.0]), tent(2.0, [0.0, 0.0, 1.0, 0.0])].concat();
    let units: Vec<Unit<'_>> =
        rows.iter().map(|(bias, write)| (&[1.0, 0.0, 0.0, 0.0][..], *bias, &write[..])).collect();
    // The token where the first holds, 3 less the token where the second does.
    let reads = [vec![1.0, cases[0].0, 0.0, 0.0], vec![-1.0, 0.0, cases[1].0, 0.0]];
    let write = [0.0, 0.0, 0.0, 1.0];
    let choose: Vec<Unit<'_>> = vec![(&reads[0], -cases[0].0, &write), (&reads[1], 3.0 - cases[1].0, &write)];
    let embed = [(1.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)];
    let artifact = Artifact::new(on_integers(target, 0, 4), 1, "0", &embed, &write).forward(&units).forward(&choose);
    let conditions = values.map(|values| format!("wire points 0 1 0 1 0 {values}"));
    let arguments = [&cases[0], &cases[1]].map(|(reach, _)| *reach);
    let gates = [
        format!("gate 3 0 1 3 1 1 0 -{0} 2 0 1 1 {0}", arguments[0]),
        format!("gate 4 0 1 4 1 1 1 {1} 2 0 -1 2 {0}", arguments[1], 3.0 - arguments[1]),
    ];
    let all = [
        &[
            "meanings 6",
            "wire input 0",
            &conditions[0],
            &conditions[1],
            cases[0].1,
            cases[1].1,
            "wire cases 0 2 3 1 4 1",
        ][..],
        &["layers 3", "layer 0 1", "holds 0 0 1 0 1", "layer 2 2", "gate 1 0 1 1 1 1 0 0 1 0 1"],
        &["gate 2 0 1 2 1 1 3 0 1 0 1", "holds 1 0 1 1 1", "holds 2 0 1 2 1"],
        &["layer 2 1", &gates[0], &gates[1], "holds 3 0 2 3 1 4 1", "outputs 1"],
        last,
    ];
    lines(artifact, &all.concat())
}

const CHOSEN: &str = r#"{"if":[{"compare":["equal","token",{"number":"1"}]},"token",
    {"if":[{"compare":["equal","token",{"number":"2"}]},{"binary":["sub",{"number":"3"},"token"]},{"number":"0"}]}]}"#;
const AT: [&str; 2] = ["0 1 0 0", "0 0 1 0"];
const SELECT: [(f64, &str); 2] = [(4.0, "wire select 0 1 1 1 0 1 0 1"), (4.0, "wire select 0 1 2 1 3 1 0 -1")];

#[test]
fn a_selection_is_by_a_condition() {
    exact(&selected(CHOSEN, AT, &SELECT, &["output 0 1 5 1"]));
    // The sum of both selections is the same without a name.
    exact(&selected(CHOSEN, AT, &SELECT, &["output 0 2 3 1 4 1"]));
    // A reach that is too small: 3 stays where the condition does not hold.
    off(&selected(CHOSEN, AT, &[(2.0, SELECT[0].1), SELECT[1]], &["output 0 1 5 1"]), 1.0);
    // What is said to be selected is something else.
    let other = [(4.0, "wire select 0 1 1 1 1 1 0 1"), SELECT[1]];
    fails(&selected(CHOSEN, AT, &other, &["output 0 1 5 1"]), "their normal forms differ");
    // By the other condition.
    let turned = [(4.0, "wire select 0 1 2 1 0 1 0 1"), SELECT[1]];
    fails(&selected(CHOSEN, AT, &turned, &["output 0 1 5 1"]), "");
    // What is 0, 1 or 2 is no condition.
    fails(&selected(CHOSEN, ["0 1 0 2", AT[1]], &SELECT, &["output 0 1 5 1"]), "");
}

#[test]
fn no_more_than_one_case_is_on() {
    let both = r#"{"if":[{"compare":["less-equal","token",{"number":"1"}]},"token",{"number":"0"}]}"#;
    // At 1 both conditions hold.
    fails(&selected(both, [AT[0], "0 1 1 0"], &SELECT, &["output 0 1 5 1"]), "line");
    let artifact = selected(CHOSEN, AT, &SELECT, &["output 0 1 5 1"]);
    let mut half = artifact.clone();
    half.meanings[6] = "wire cases 0 2 0 1 4 1".into();
    fails(&half, "line: wire 5: a case that is neither 0 nor 1");
    let mut twice = artifact;
    twice.meanings[4] = "wire select 1 1 1 -1 0 1 0 1".into();
    fails(&twice, "");
}

/// `x · (x mod 2)` by quarters of squares of the sum and of the difference.
fn product(kink: f64) -> Artifact {
    let target = format!(r#"{{"binary":["mul","token",{MOD}]}}"#);
    let saw: Vec<(f64, [f64; 3])> = SAW.iter().map(|(knot, slope)| (-knot, [0.0, *slope, 0.0])).collect();
    let first: Vec<Unit<'_>> = saw.iter().map(|(bias, writes)| (&[1.0, 0.0, 0.0][..], *bias, &writes[..])).collect();
    let of_sum =
        [(0.0, 0.25), (-1.0, 0.5), (-2.0, kink), (-3.0, 0.5)].map(|(bias, w)| ([1.0, 1.0, 0.0], bias, [0.0, 0.0, w]));
    let of_difference =
        [(1.0, 0.25), (0.0, -0.5), (-1.0, -0.5), (-2.0, -0.5)].map(|(bias, w)| ([1.0, -1.0, 0.0], bias, [0.0, 0.0, w]));
    let second: Vec<Unit<'_>> =
        of_sum.iter().chain(&of_difference).map(|(reads, bias, writes)| (&reads[..], *bias, &writes[..])).collect();
    let embed = [(1.0, 0.0), (0.0, 0.0), (0.0, 0.0)];
    let mut artifact =
        Artifact::new(on_integers(&target, 0, 4), 1, "0", &embed, &[0.0, 0.0, 1.0]).forward(&first).forward(&second);
    artifact.numbers("read_out.bias")[0] = -0.25;
    lines(
        artifact,
        &[
            "meanings 3",
            "wire input 0",
            POINTS,
            "wire product 0 1 0 1 0 1 1 1",
            "layers 3",
            "layer 0 1",
            "holds 0 0 1 0 1",
            "layer 1 1",
            "gate 1 0 1 1 1 1 0 0 1 0 1",
            "holds 1 0 1 1 1",
            "layer 1 1",
            "gate 2 1/4 1 2 1 2 0 0 2 0 1 1 1 4 0 2 0 1 1 -1",
            "holds 2 1/4 1 2 1",
            "outputs 1",
            "output 0 1 2 1",
        ],
    )
}

#[test]
fn a_product_of_whole_numbers_is_two_quarters_of_squares() {
    exact(&product(0.5));
    off(&product(0.75), 0.25);
    // The difference of the squares of other numbers is no product.
    let mut other = product(0.5);
    other.meanings[11] = "gate 2 1/4 1 2 1 2 0 0 2 0 1 1 1 4 0 2 0 1 1 1".into();
    fails(&other, "");
    // Another factor.
    let mut third = product(0.5);
    third.meanings[3] = "wire product 0 1 0 1 0 1 0 1".into();
    fails(&third, "");
}

/// The target in which 0 and 1 are sorted: how many zeros there are is compared with the position.
fn sorted(target: &str, knots: [f64; 2], values: &str) -> Artifact {
    let head = Head {
        mask: "* * * * no",
        q: vec![0.0; 4],
        q_bias: 0.0,
        k: vec![0.0; 4],
        v: vec![3.0, 0.0, 0.0, 0.0],
        o: vec![0.0, 0.0, 1.0, 0.0],
    };
    let reads = [0.0, 1.0, 1.0, 0.0];
    let writes = [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, -1.0]];
    let units: Vec<Unit<'_>> = vec![(&reads, -knots[0], &writes[0]), (&reads, -knots[1], &writes[1])];
    let embed = [(1.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)];
    let artifact = Artifact::new(on_integers(target, 0, 2), 3, "1/1000", &embed, &[0.0, 0.0, 0.0, 1.0]);
    let at = |t: f64| [0.0, t, 0.0, 0.0];
    let artifact = artifact.positions(&[&at(0.0), &at(1.0), &at(2.0)]).attention(&[head]).forward(&units);
    let points = format!("wire points 3 2 1 -1 2 -1 -2 {values}");
    lines(
        artifact,
        &[
            "meanings 4",
            "wire input 0",
            "wire position 0 1 2",
            "wire mean 3 0 1 0 1",
            &points,
            "layers 3",
            "layer 0 2",
            "holds 0 0 1 0 1",
            "holds 1 0 1 1 1",
            "layer 1 1",
            "head 2 0 1 2 1 0 0",
            "holds 2 0 1 2 1",
            "layer 1 1",
            "gate 3 0 1 3 1 1 0 3 2 1 -1 2 -1",
            "holds 3 0 1 3 1",
            "outputs 1",
            "output 0 1 3 1",
        ],
    )
}

#[test]
fn a_sort_is_made_of_counts() {
    let sort = r#"{"sort":"token"}"#;
    let good = proved(&sorted(sort, [2.0, 3.0], "1 1 1 0 0 0")).expect("proved");
    assert!(good < 1e-13, "{good}");
    // One zero more, in the lines, in the weights, or in both.
    fails(&sorted(sort, [2.0, 3.0], "1 1 1 1 0 0"), "their normal forms differ");
    off(&sorted(sort, [1.0, 2.0], "1 1 1 0 0 0"), 1.0);
    fails(&sorted(sort, [1.0, 2.0], "1 1 1 1 0 0"), "their normal forms differ");
    // The largest of all is not what is sorted.
    fails(&sorted(r#"{"aggregate":["max","token",null]}"#, [2.0, 3.0], "1 1 1 0 0 0"), "their normal forms differ");
}

/// Two functions of the token in one register: whether it is odd, and ten where it is above 1.
fn together(slope: f64, holds: &str, output: &str) -> Artifact {
    let above = r#"{"compare":["greater","token",{"number":"1"}]}"#;
    let target = format!(r#"{{"binary":["add",{MOD},{{"if":[{above},{{"number":"10"}},{{"number":"0"}}]}}]}}"#);
    let mut artifact = parity_of(on_integers(&target, 0, 4), &[(0.0, 1.0), (1.0, 8.0), (2.0, slope)], POINTS);
    artifact.meanings = [
        "meanings 3",
        "wire input 0",
        POINTS,
        "wire points 0 1 0 1 0 0 0 1 1",
        "layers 2",
        "layer 0 1",
        "holds 0 0 1 0 1",
        "layer 2 1",
        "gate 1 0 1 1 1 1 0 0 1 0 1",
        "gate 2 0 1 2 1 1 0 0 1 0 1",
        holds,
        "outputs 1",
        output,
    ]
    .map(str::to_owned)
    .into();
    artifact
}

#[test]
fn gates_of_one_argument_may_share_their_units() {
    let (holds, output) = ("holds 1 0 2 1 1 2 10", "output 0 2 1 1 2 10");
    exact(&together(-8.0, holds, output));
    off(&together(-8.5, holds, output), 0.5);
    // Another share of one of them is what the register is off by.
    off(&together(-8.0, "holds 1 0 2 1 1 2 9", output), 1.0);
}

#[test]
fn sums_are_exact_if_all_their_parts_are() {
    // 2^53 x + x - 2^53 x may be 0, and 2^52 x + x - 2^52 x is x.
    let split = |huge: f64| {
        let artifact = parity_of(
            on_integers(r#""token""#, 0, 4),
            &[(0.0, huge), (0.0, 1.0), (0.0, -huge)],
            "wire points 0 1 0 1 0 0 1 2 3",
        );
        proved(&artifact)
    };
    assert_eq!(split(2_f64.powi(48)), Ok(0.0));
    assert!(split(2_f64.powi(53)).expect("proved") >= 1.0);
}

/// `x mod 2` on 0 to 7 for so many tokens, by units of these slopes, the last of them times a factor.
fn many(tokens: &str, last: f64, wire: &str) -> Artifact {
    let slopes = [1.0, -2.0, 2.0, -2.0, 2.0, -2.0, 2.0 * last];
    let knots = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let units: Vec<(f64, f64)> = (0..7).map(|k| (knots[k], slopes[k])).collect();
    parity_of(on_integers(MOD, 0, 8), &units, wire).with("tokens", tokens)
}

const EIGHT: &str = "wire points 0 1 0 1 0 0 1 0 1 0 1 0 1";

#[test]
fn sequences_are_told_one_by_one_where_lines_prove_nothing_and_they_are_few() {
    let said = |artifact: &Artifact| artifact.verdict().to_string();
    // By lines where sequences are many, however many they are; one by one where they are few.
    assert!(said(&many("10 10", 1.0, EIGHT)).contains("line by line"));
    assert!(said(&many("1 64", 1.0, EIGHT)).contains("line by line"));
    assert!(said(&many("2 2", 1.0, EIGHT)).contains("point by point"));
    // Lines that say something else prove nothing: the sequences do.
    let other = EIGHT.replace("0 1 0 1 0 0", "0 1 0 1 0 1");
    assert!(said(&many("10 10", 1.0, &other)).contains("point by point"));
    declined(&many("64 64", 1.0, &other));
    // A false claim is rejected where it can be told one by one, and not accepted elsewhere.
    rejected(&many("10 10", 1.5, EIGHT), "point");
    declined(&many("64 64", 1.5, EIGHT));
    // Lines that contradict each other.
    let mut twice = many("64 64", 1.0, EIGHT);
    twice.meanings[8] = "holds 1 0 1 1 2".into();
    assert_ne!(twice.verdict().name(), "accepted");
}

#[test]
fn shortcuts_and_threads_change_no_verdict_by_lines() {
    for artifact in [many("10 10", 1.0, EIGHT), many("10 10", 1.5, EIGHT), many("64 64", 1.5, EIGHT)] {
        let (target, weights) = (artifact.target.as_bytes(), artifact.weights());
        let certificate = artifact.certificate(target, &weights);
        let files = Files { certificate: certificate.as_bytes(), target, weights: &weights };
        let said = |effort: Effort<'_>| check_with(&files, &effort).to_string();
        let plain = said(Effort { plain: true, ..Effort::default() });
        assert_eq!(said(Effort::default()), plain);
        assert_eq!(said(Effort { threads: Some(1), ..Effort::default() }), plain);
    }
}
