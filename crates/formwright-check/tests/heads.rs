//! Heads with scores, masks and positions (CERTIFICATE.md, section 7): each hypothesis of a rule is taken away in turn.
//!
//! Most of these claims are false: an execution that the claim allows is off, as the comment says.

#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::float_arithmetic)]

use super::support::{Artifact, Head, Unit, accepted, declined, on_box, rejected};

const TOKEN: &str = r#""token""#;
const MAX: &str = r#"{"aggregate":["max","token",null]}"#;
const MIN: &str = r#"{"aggregate":["min","token",null]}"#;
const OTHER: &str = r#"{"gather":{"binary":["sub",{"number":"1"},"index"]}}"#;
const BEFORE: &str = r#"{"compare":["less-equal","running","index"]}"#;
const SMALL: &str = "1/1000000";

fn lines(artifact: Artifact, lines: &[&str]) -> Artifact {
    artifact.meaning(lines)
}

/// The network that gives each of two tokens the other one: scores `λ(1 - 2t)p`.
fn other(each: &str, lambda: f64, positions: [f64; 2], mask: &'static str) -> Artifact {
    let head = Head {
        mask,
        q: vec![0.0, -2.0 * lambda, 0.0],
        q_bias: lambda,
        k: vec![0.0, 1.0, 0.0],
        v: vec![1.0, 0.0, 0.0],
        o: vec![0.0, 0.0, 1.0],
    };
    let embed = [(1.0, 0.0), (0.0, 0.0), (0.0, 0.0)];
    let rows = positions.map(|p| [0.0, p, 0.0]);
    Artifact::new(on_box(each), 2, SMALL, &embed, &[0.0, 0.0, 1.0]).positions(&[&rows[0], &rows[1]]).attention(&[head])
}

/// The lines of [`other`].
fn gathering<'l>(position: &'l str, gather: &'l str) -> [&'l str; 12] {
    [
        "meanings 3",
        "wire input 0",
        position,
        gather,
        "layers 2",
        "layer 0 2",
        "holds 0 0 1 0 1",
        "holds 1 0 1 1 1",
        "layer 1 1",
        "head 2 0 1 2 1 0 0",
        "holds 2 0 1 2 1",
        "outputs 1",
    ]
}

const PLACES: &str = "wire position 0 1";
const GATHER: &str = "wire gather 1 1 1 -1 0 1 0 1";

fn told(artifact: Artifact, known: &[&str], output: &str) -> Artifact {
    lines(artifact, &[known, &[output]].concat())
}

#[test]
fn a_gather_needs_its_temperature_its_places_and_its_keys() {
    let all = "* * * * no";
    let plain = || gathering(PLACES, GATHER);
    let claim = |artifact: Artifact| told(artifact, &plain(), "output 0 1 2 1");
    accepted(&claim(other(OTHER, 64.0, [0.0, 1.0], all)));
    // A share of e^-4 stays with the token.
    declined(&claim(other(OTHER, 4.0, [0.0, 1.0], all)));
    // Turned: each token gets itself.
    declined(&claim(other(OTHER, -64.0, [0.0, 1.0], all)));
    // Both places are the same.
    declined(&claim(other(OTHER, 64.0, [1.0, 1.0], all)));
    // One place is off by a quarter, and the score of it by half of λ, towards the middle.
    declined(&claim(other(OTHER, 16.0, [0.25, 1.0], all)));
    // The head sees the first token alone, or itself alone.
    declined(&claim(other(OTHER, 64.0, [0.0, 1.0], "* * 0 0 no")));
    declined(&claim(other(OTHER, 64.0, [0.0, 1.0], "0 0 * * no")));
    // The keys, or the queries, read the token besides.
    let mut keys = other(OTHER, 64.0, [0.0, 1.0], all);
    keys.numbers("0.attn.k")[0] = 1e-3;
    declined(&claim(keys));
    let mut queries = other(OTHER, 64.0, [0.0, 1.0], all);
    queries.numbers("0.attn.q")[0] = 1e-3;
    declined(&claim(queries));
    // The value is another one.
    let mut value = other(OTHER, 64.0, [0.0, 1.0], all);
    value.numbers("0.attn.v")[0] = 1.01;
    declined(&claim(value));
    // Something is added at one position alone.
    let mut needle = other(OTHER, 64.0, [0.0, 1.0], all);
    needle.numbers("pos")[3] = 1e-3;
    declined(&claim(needle));
}

#[test]
fn the_lines_of_a_gather_say_what_is_gathered() {
    let network = |each| other(each, 64.0, [0.0, 1.0], "* * * * no");
    let with = |each, position, gather| told(network(each), &gathering(position, gather), "output 0 1 2 1");
    // What the lines say is the target, and the head gathers the other token.
    declined(&with(TOKEN, PLACES, "wire gather 0 1 1 1 0 1 0 1"));
    // What the head gathers is not the target.
    rejected(&with(TOKEN, PLACES, GATHER), "point");
    // No places: 2 and 1, or 1 and 1/2.
    declined(&with(OTHER, PLACES, "wire gather 2 1 1 -1 0 1 0 1"));
    declined(&with(OTHER, PLACES, "wire gather 1 1 1 -1/2 0 1 0 1"));
    // An index that depends on inputs.
    declined(&with(OTHER, PLACES, "wire gather 0 1 0 1 0 1 0 1"));
    // More positions than there are, or fewer.
    rejected(&with(OTHER, "wire position 0 1 2", GATHER), "line");
    rejected(&with(OTHER, "wire position 0", GATHER), "line");
    // Positions in another order than the network has them: what the line says of the register is off, and the head reads what is there.
    accepted(&with(OTHER, "wire position 1 0", "wire gather 0 1 1 1 0 1 0 1"));
    rejected(&with(TOKEN, "wire position 1 0", "wire gather 0 1 1 1 0 1 0 1"), "point");
    // Positions of a network without.
    let bare = Artifact::new(on_box(TOKEN), 2, SMALL, &[(1.0, 0.0)], &[1.0]);
    let known = ["meanings 2", "wire input 0", PLACES, "layers 1", "layer 0 1", "holds 0 0 1 0 1", "outputs 1"];
    rejected(&told(bare, &known, "output 0 1 0 1"), "line");
}

/// The mean of what a mask shows, of one to four tokens.
fn masked(each: &str, mask: &'static str) -> Artifact {
    let head = Head { mask, q: vec![0.0; 2], q_bias: 0.0, k: vec![0.0; 2], v: vec![1.0, 0.0], o: vec![0.0, 1.0] };
    let artifact = Artifact::new(on_box(each), 4, SMALL, &[(1.0, 0.0), (0.0, 0.0)], &[0.0, 1.0]);
    artifact.with("tokens", "1 4").attention(&[head])
}

fn averaging(wire: &str) -> [&str; 10] {
    [
        "meanings 2",
        "wire input 0",
        wire,
        "layers 2",
        "layer 0 1",
        "holds 0 0 1 0 1",
        "layer 1 1",
        "head 1 0 1 1 1 0 0",
        "holds 1 0 1 1 1",
        "outputs 1",
    ]
}

#[test]
fn a_mean_is_over_what_the_head_sees() {
    let prefix = format!(r#"{{"aggregate":["mean","token",{BEFORE}]}}"#);
    let mean = r#"{"aggregate":["mean","token",null]}"#;
    let causal = "wire seen * 0 * * no mean 1 0 1 0 1";
    let claim = |each: &str, mask, wire| told(masked(each, mask), &averaging(wire), "output 0 1 1 1");
    accepted(&claim(&prefix, "* 0 * * no", causal));
    accepted(&claim(mean, "* * * * no", "wire seen * * * * no mean 1 0 1 0 1"));
    // The head sees more, or less, than the lines say.
    rejected(&claim(&prefix, "* * * * no", causal), "line");
    rejected(&claim(&prefix, "* 1 * * no", causal), "line");
    rejected(&claim(&prefix, "0 0 * * no", causal), "line");
    rejected(&claim(mean, "* 0 * * no", "wire mean 1 0 1 0 1"), "line");
    // The lines are those of the head, and not of the target.
    rejected(&claim(mean, "* 0 * * no", causal), "point");
    rejected(&claim(&prefix, "* * * * no", "wire seen * * * * no mean 1 0 1 0 1"), "point");
    let before = prefix.replace("less-equal", "less");
    // The first token sees nothing.
    declined(&claim(&before, "* 0 * * no", causal));
    // Another factor, and a maximum where there is a mean.
    declined(&claim(&prefix, "* 0 * * no", "wire seen * 0 * * no mean 2 0 1 0 1"));
    declined(&claim(MAX, "* * * * no", "wire seen * * * * no max 1 0 1 0 1"));
    // No mask in the one form that it has.
    rejected(&claim(&prefix, "* 0 * * no", "wire seen * 00 * * no mean 1 0 1 0 1"), "format");
    rejected(&claim(&prefix, "* 0 * * no", "wire seen * 0 * no mean 1 0 1 0 1"), "format");
    rejected(&claim(&prefix, "* 0 * * no", "wire seen * 0 * * no median 1 0 1 0 1"), "format");
}

/// A head whose scores are `λ` times what it averages.
fn largest(each: &str, mask: &'static str, lambda: f64) -> Artifact {
    let head = Head { mask, q: vec![0.0; 2], q_bias: lambda, k: vec![1.0, 0.0], v: vec![1.0, 0.0], o: vec![0.0, 1.0] };
    // ln(1 + 3/e)/2^17 is 0.57 of this.
    let artifact = Artifact::new(on_box(each), 4, "1/100000", &[(1.0, 0.0), (0.0, 0.0)], &[0.0, 1.0]);
    artifact.with("tokens", "1 4").attention(&[head])
}

const LARGEST: &str = "wire seen * * * * no max 1 0 1 0 1";

#[test]
fn the_largest_needs_its_temperature_and_its_keys() {
    let (all, lambda) = ("* * * * no", 131_072.0);
    let claim = |artifact| told(artifact, &averaging(LARGEST), "output 0 1 1 1");
    accepted(&claim(largest(MAX, all, lambda)));
    // Too warm; and turned, the smallest.
    declined(&claim(largest(MAX, all, 1024.0)));
    declined(&claim(largest(MAX, all, -lambda)));
    rejected(&claim(largest(MIN, all, lambda)), "point");
    // More tokens are farther below.
    declined(&claim(largest(MAX, all, lambda)).with("tokens", "1 4096"));
    // Keys that are not what is averaged: half of it, its negative, or something else besides.
    for (place, key) in [(0, 0.5), (0, -1.0), (1, 1.0)] {
        let mut artifact = largest(MAX, all, lambda);
        artifact.numbers("0.attn.k")[place] = key;
        declined(&claim(artifact));
    }
    // A query that depends on the token: 0 at the token 1.
    let mut artifact = largest(MAX, all, lambda);
    artifact.numbers("0.attn.q")[0] = -lambda;
    declined(&claim(artifact));
    // A value that is not what is asked for.
    let mut artifact = largest(MAX, all, lambda);
    artifact.numbers("0.attn.v")[0] = 2.0;
    declined(&claim(artifact));
    // The head does not see all.
    rejected(&claim(largest(MAX, "* 0 * * no", lambda)), "line");
    let causal = "wire seen * 0 * * no max 1 0 1 0 1";
    rejected(&told(largest(MAX, "* 0 * * no", lambda), &averaging(causal), "output 0 1 1 1"), "point");
    let prefix = format!(r#"{{"aggregate":["max","token",{BEFORE}]}}"#);
    accepted(&told(largest(&prefix, "* 0 * * no", lambda), &averaging(causal), "output 0 1 1 1"));
    // A negative factor turns the largest into the smallest.
    let turned = "wire seen * * * * no max -1 0 1 0 -1";
    rejected(&told(largest(MIN, all, lambda), &averaging(turned), "output 0 1 1 1"), "line");
    // A number is added that the head does not add.
    let mut known = averaging(LARGEST);
    known[7] = "head 1 1/1000 1 1 1 0 0";
    known[8] = "holds 1 1/1000 1 1 1";
    declined(&told(largest(MAX, all, lambda), &known, "output 0 1 1 1"));
    // Scores that overflow.
    rejected(&claim(largest(MAX, all, f64::MAX)), "finite");
}

#[test]
fn a_head_that_nobody_names_has_no_scores() {
    // Its scores are of size 2^2000, and its weights no numbers.
    let (all, large) = ("* * * * no", 2.0_f64.powi(1000));
    let mut artifact = masked(r#"{"aggregate":["mean","token",null]}"#, all);
    artifact.numbers("0.attn.k")[0] = large;
    artifact.numbers("0.attn.q")[0] = large;
    artifact.numbers("0.attn.o")[1] = 0.0;
    let known = ["meanings 1", "wire input 0", "layers 2", "layer 0 1", "holds 0 0 1 0 1", "layer 0 0", "outputs 1"];
    let target = on_box(r#"{"number":"0"}"#);
    declined(&told(Artifact { target, ..artifact }, &known, "output 0 0"));
}

/// `Σ_{j ≤ i} j` of two tokens: the first one, whose value is 0, weighs as many as are missing.
fn sink(values: [f64; 2], query: [f64; 2], key: [f64; 2], mask: &'static str) -> Artifact {
    let head = Head {
        mask,
        q: vec![0.0, 0.0, 1.0, 0.0],
        q_bias: 0.0,
        k: vec![0.0, 1.0, 0.0, 0.0],
        v: vec![2.0, 0.0, 0.0, 0.0],
        o: vec![0.0, 0.0, 0.0, 1.0],
    };
    let rows = [0, 1].map(|t| [values[t], key[t], query[t], 0.0]);
    let each = format!(r#"{{"aggregate":["sum","running",{BEFORE}]}}"#);
    Artifact::new(on_box(&each), 2, SMALL, &[(0.0, 0.0); 4], &[0.0, 0.0, 0.0, 1.0])
        .positions(&[&rows[0], &rows[1]])
        .attention(&[head])
}

fn summing<'l>(values: &'l str, seen: &'l str) -> [&'l str; 14] {
    [
        "meanings 4",
        values,
        "wire position 1 0",
        "wire position 6931471805599453/10000000000000000 0",
        seen,
        "layers 2",
        "layer 0 3",
        "holds 0 0 1 0 1",
        "holds 1 0 1 1 1",
        "holds 2 0 1 2 1",
        "layer 1 1",
        "head 3 0 1 3 1 0 0",
        "holds 3 0 1 3 1",
        "outputs 1",
    ]
}

#[test]
fn a_sum_needs_its_sink() {
    let (query, key, causal) = ([2.0_f64.ln(), 0.0], [1.0, 0.0], "* 0 * * yes");
    let (values, seen) = (PLACES, "wire seen * 0 * * yes sum 1 0 1 0 1");
    let claim = |artifact: Artifact| told(artifact, &summing(values, seen), "output 0 1 3 1");
    accepted(&claim(sink([0.0, 1.0], query, key, causal)));
    // The sink weighs too much at the second token.
    declined(&claim(sink([0.0, 1.0], [2.0_f64.ln(), 1e-3], key, causal)));
    // The second token sees itself alone, and counts twice.
    declined(&claim(sink([0.0, 1.0], query, key, "0 0 * * no")));
    // The sink has a value: the first sum is 2 in place of 1.
    let one = summing("wire position 1 2", seen);
    let each = format!(r#"{{"aggregate":["sum",{{"binary":["add","running",{{"number":"1"}}]}},{BEFORE}]}}"#);
    let artifact = sink([1.0, 2.0], query, key, causal);
    declined(&told(Artifact { target: on_box(&each), ..artifact }, &one, "output 0 1 3 1"));
    // Half of the sum.
    let half = summing(values, "wire seen * 0 * * yes sum 1/2 0 1 0 1");
    declined(&told(sink([0.0, 1.0], query, key, causal), &half, "output 0 1 3 2"));
}

/// The token behind the first one, and 0 there: `R(x + reach (c - 1))`.
fn selected(reach: f64, places: [f64; 2], more: &[Unit<'_>]) -> Artifact {
    let later = r#"{"if":[{"compare":["less","index",{"number":"1"}]},{"number":"0"},"token"]}"#;
    let (reads, rows) = ([1.0, reach, 0.0], places.map(|c| [0.0, c, 0.0]));
    let units: Vec<Unit<'_>> =
        std::iter::once((&reads[..], -reach, &[0.0, 0.0, 1.0][..])).chain(more.iter().copied()).collect();
    Artifact::new(on_box(later), 2, SMALL, &[(1.0, 0.0), (0.0, 0.0), (0.0, 0.0)], &[0.0, 0.0, 1.0])
        .positions(&[&rows[0], &rows[1]])
        .forward(&units)
}

fn selecting<'l>(places: &'l str, select: &'l str, gate: &'l str) -> [&'l str; 12] {
    [
        "meanings 3",
        "wire input 0",
        places,
        select,
        "layers 2",
        "layer 0 2",
        "holds 0 0 1 0 1",
        "holds 1 0 1 1 1",
        "layer 1 1",
        gate,
        "holds 2 0 1 2 1",
        "outputs 1",
    ]
}

#[test]
fn a_selection_needs_its_reach_and_a_condition() {
    let (select, gate) = ("wire select 0 1 1 1 0 1 0 1", "gate 2 0 1 2 1 1 0 -2 2 0 1 1 2");
    let claim = |artifact: Artifact| told(artifact, &selecting(PLACES, select, gate), "output 0 1 2 1");
    accepted(&claim(selected(2.0, [0.0, 1.0], &[])));
    // Where the condition is 0, half of the tokens pass.
    let half = "gate 2 0 1 2 1 1 0 -1/2 2 0 1 1 1/2";
    declined(&told(selected(0.5, [0.0, 1.0], &[]), &selecting(PLACES, select, half), "output 0 1 2 1"));
    // The weights are not those of the lines; neither are the places.
    declined(&claim(selected(0.5, [0.0, 1.0], &[])));
    declined(&claim(selected(2.0, [0.9, 1.0], &[])));
    declined(&claim(selected(2.0, [0.0, 0.99], &[])));
    // A condition between 0 and 1, and one that depends on inputs.
    let halved = r#"{"binary":["mul",{"table":["index",["1/2","1"]]},"token"]}"#;
    let artifact = Artifact { target: on_box(halved), ..selected(2.0, [0.5, 1.0], &[]) };
    rejected(&told(artifact, &selecting("wire position 1/2 1", select, gate), "output 0 1 2 1"), "line");
    declined(&told(
        selected(2.0, [0.0, 1.0], &[]),
        &selecting(PLACES, "wire select 0 1 0 1 0 1 0 1", gate),
        "output 0 1 2 1",
    ));
    // A tent of width 1e-6 and height 1e-3 over x = 1/2, where the condition is 1.
    let reads = [1.0, 2.0, 0.0];
    let writes: Vec<[f64; 3]> = [2e3, -4e3, 2e3].iter().map(|w| [0.0, 0.0, *w]).collect();
    let tent: Vec<Unit<'_>> =
        [0.0, 5e-7, 1e-6].iter().zip(&writes).map(|(at, writes)| (&reads[..], -2.5 - at, &writes[..])).collect();
    declined(&claim(selected(2.0, [0.0, 1.0], &tent)));
}

#[test]
fn a_mask_takes_the_lemma_of_variances_away() {
    // The squares of x - mean(x) have a mean of at most 1/4 over all tokens, and of up to 9/16 at the first alone.
    let knots: Vec<f64> = (-4..4_i32).map(|k| f64::from(k) / 4.0).collect();
    let mut rows: Vec<([f64; 4], f64, [f64; 4])> = vec![([-1.0, 0.0, 0.0, 0.0], -1.0, [0.0; 4])];
    let mut slope = 0.0;
    for knot in &knots {
        // Through the squares of the knots; the first piece begins at 1.
        let next = 2.0 * knot + 0.25;
        rows.push(([1.0, 0.0, 0.0, 0.0], -knot, [0.0, next - slope, 0.0, 0.0]));
        slope = next;
    }
    let squares: Vec<Unit<'_>> = rows.iter().map(|(reads, bias, writes)| (&reads[..], *bias, &writes[..])).collect();
    let head = |mask, v: [f64; 4], o: [f64; 4]| Head {
        mask,
        q: vec![0.0; 4],
        q_bias: 0.0,
        k: vec![0.0; 4],
        v: v.to_vec(),
        o: o.to_vec(),
    };
    let beyond: Unit<'_> = (&[0.0, 0.0, 1.0, 0.0], -0.3125 + 1.0, &[0.0, 0.0, 0.0, 1.0]);
    let network = |mask| {
        Artifact::new(
            on_box(r#"{"number":"0"}"#),
            4,
            "1/10",
            &[(1.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)],
            &[0.0, 0.0, 0.0, 1.0],
        )
        .attention(&[head("* * * * no", [1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0])])
        .forward(&squares)
        .attention(&[head(mask, [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0])])
        .forward(&[beyond])
    };
    let claim = |mask, wire| {
        lines(
            network(mask),
            &[
                "meanings 5",
                "wire input 0",
                "wire mean 1 0 1 0 1",
                "wire curve 0 2 0 1 1 -1 x power 2",
                wire,
                "wire curve 0 1 3 1 0",
                "layers 5",
                "layer 0 1",
                "holds 0 0 1 0 1",
                "layer 1 1",
                "head 1 0 1 1 1 0 0",
                "holds 0 0 2 0 1 1 -1",
                "layer 1 1",
                "gate 2 -1 1 2 1 1 1 0 2 0 1 1 -1",
                "holds 1 -1 1 2 1",
                "layer 1 1",
                "head 3 -1 1 3 1 0 0",
                "holds 2 -1 1 3 1",
                "layer 1 1",
                "gate 4 0 1 4 1 1 0 0 1 3 1",
                "holds 3 0 1 4 1",
                "outputs 1",
                "output 0 1 4 1",
            ],
        )
    };
    accepted(&claim("* * * * no", "wire mean 1 0 1 2 1"));
    declined(&claim("* * 0 0 no", "wire seen * * 0 0 no mean 1 0 1 2 1"));
}

#[test]
fn a_register_keeps_its_sign_beside_units_that_clear_it() {
    // The token is cleared while a gate that reads it is added; then the gate, on the side on which it is.
    let both = |clear: f64, gain: f64| {
        let rows = [([1.0], 0.0, [-clear]), ([-1.0], 0.0, [1.0]), ([1.0], 1.0, [gain])];
        let units: Vec<Unit<'_>> = rows.iter().map(|(reads, bias, writes)| (&reads[..], *bias, &writes[..])).collect();
        let target = on_box(r#"{"number":"0"}"#).replace(r#"["0","1"]"#, r#"["-1","1"]"#);
        let artifact = Artifact::new(target, 1, SMALL, &[(1.0, 0.0)], &[1.0]).forward(&units);
        artifact.forward(&[(&[1.0], 0.0, &[-1.0])])
    };
    let claim = |artifact: Artifact, gain: &str| {
        let holds = format!("holds 0 0 1 1 {gain}");
        lines(
            artifact,
            &[
                "meanings 2",
                "wire input 0",
                "wire curve 0 1 0 1 x 1 add relu",
                "layers 3",
                "layer 0 1",
                "holds 0 0 1 0 1",
                "layer 1 1",
                "gate 1 0 1 1 1 1 0 0 1 0 1",
                &holds,
                "layer 0 1",
                "holds 0 0 0",
                "outputs 1",
                "output 0 0",
            ],
        )
    };
    accepted(&claim(both(1.0, 1.0), "1"));
    // Below 0, where nothing clears it.
    declined(&claim(both(1.0, -1.0), "-1"));
    // Something of the token is left, of either sign.
    declined(&claim(both(0.999, 1.0), "1"));
}
