//! Means weighted by a softmax (CERTIFICATE.md, section 7, *Softmax head*): each hypothesis is taken away in turn.
//!
//! Where nothing else is said, such a claim is false: an execution that the claim allows is off by far more than its bound.

#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::float_arithmetic)]

use super::support::{Artifact, Head, accepted, declined, on_box, rejected};

const SMALL: &str = "1/10000000000";
const ALL: &str = "* * * * no";
/// `x · x[i]`
const BOTH: &str = r#"{"binary":["mul","token",{"gather":"index"}]}"#;
/// `2x`
const TWICE: &str = r#"{"binary":["mul",{"number":"2"},"token"]}"#;

/// `sum(exp(s) x, filter)/sum(exp(s), filter)`
fn pooled(score: &str, filter: &str) -> String {
    let power = format!(r#"{{"call":["exp",[{score}]]}}"#);
    let sum = |of: &str| format!(r#"{{"aggregate":["sum",{of},{filter}]}}"#);
    let above = sum(&format!(r#"{{"binary":["mul",{power},"token"]}}"#));
    format!(r#"{{"binary":["div",{above},{}]}}"#, sum(&power))
}

/// A head whose scores are `(q x[i] + bias) · k x`, of one to four tokens; the stream holds `x - embed`.
fn attending(each: &str, mask: &'static str, (q, bias, k): (f64, f64, f64)) -> Artifact {
    let head = Head { mask, q: vec![q, 0.0], q_bias: bias, k: vec![k, 0.0], v: vec![1.0, 0.0], o: vec![0.0, 1.0] };
    let artifact = Artifact::new(on_box(each), 4, SMALL, &[(1.0, 0.0), (0.0, 0.0)], &[0.0, 1.0]);
    artifact.with("tokens", "1 4").attention(&[head])
}

fn told(artifact: Artifact, wire: &str) -> Artifact {
    let made = ["head 1 0 1 1 1 0 0", "holds 1 0 1 1 1", "outputs 1", "output 0 1 1 1"];
    let known = ["meanings 2", "wire input 0", wire, "layers 2", "layer 0 1", "holds 0 0 1 0 1", "layer 1 1"];
    artifact.meaning(&[known.as_slice(), &made].concat())
}

const OF_TWICE: &str = "wire attend * * * * no 0 1 0 1 1 1 0 0 1 0 2";
const OF_BOTH: &str = "wire attend * * * * no 0 1 0 1 1 0 1 0 1 0 1 0 1";

#[test]
fn a_mean_by_scores_needs_its_queries_its_keys_and_its_values() {
    let twice = || attending(&pooled(TWICE, "null"), ALL, (0.0, 1.0, 2.0));
    accepted(&told(twice(), OF_TWICE));
    let both = || attending(&pooled(BOTH, "null"), ALL, (1.0, 0.0, 1.0));
    accepted(&told(both(), OF_BOTH));
    // Four tokens weigh as much as is claimed, and so do any others.
    accepted(&told(twice(), OF_TWICE).with("tokens", "1 1000").with("bound", "1/1000000"));
    for (place, tensor) in [(0, "0.attn.k"), (0, "0.attn.q_bias"), (0, "0.attn.q"), (0, "0.attn.v")] {
        let mut other = twice();
        other.numbers(tensor)[place] += 1.0 / 1024.0;
        declined(&told(other, OF_TWICE));
    }
    for tensor in ["0.attn.k", "0.attn.q", "0.attn.q_bias", "0.attn.v"] {
        let mut other = both();
        other.numbers(tensor)[0] += 1.0 / 1024.0;
        declined(&told(other, OF_BOTH));
    }
    // The sign of the scores.
    declined(&told(attending(&pooled(TWICE, "null"), ALL, (0.0, -1.0, 2.0)), OF_TWICE));
    // Scores that overflow.
    rejected(&told(attending(&pooled(TWICE, "null"), ALL, (0.0, f64::MAX, 2.0)), OF_TWICE), "finite");
    // Queries and keys that do not, and their product does.
    let large = 2.0_f64.powi(600);
    rejected(&told(attending(&pooled(BOTH, "null"), ALL, (large, 0.0, large)), OF_BOTH), "finite");
}

#[test]
fn the_line_of_a_mean_by_scores_is_what_the_target_says() {
    let twice = || attending(&pooled(TWICE, "null"), ALL, (0.0, 1.0, 2.0));
    // A number for all tokens, of the token that sees or not, changes no weight: where it stands in the line, and not in the network.
    let shifted = r#"{"binary":["add",{"binary":["mul",{"number":"2"},"token"]},{"number":"3"}]}"#;
    let line = "wire attend * * * * no 0 1 0 1 2 1 0 0 1 0 2 3 0 1 0";
    accepted(&told(attending(&pooled(shifted, "null"), ALL, (0.0, 1.0, 2.0)), line));
    let shifted = r#"{"binary":["add",{"binary":["mul",{"number":"2"},"token"]},{"gather":"index"}]}"#;
    let line = "wire attend * * * * no 0 1 0 1 2 1 0 0 1 0 2 0 1 0 1 1 0";
    accepted(&told(attending(&pooled(shifted, "null"), ALL, (0.0, 1.0, 2.0)), line));
    // Other scores, another value.
    declined(&told(twice(), "wire attend * * * * no 0 1 0 1 1 1 0 0 1 0 3"));
    declined(&told(twice(), "wire attend * * * * no 0 1 0 2 1 1 0 0 1 0 2"));
    declined(&told(twice(), "wire mean 1 0 1 0 1"));
    declined(&told(twice(), "wire seen * * * * no max 1 0 1 0 1"));
    // The lines are of the weights, and the target is another function.
    rejected(&told(attending(&pooled(BOTH, "null"), ALL, (0.0, 1.0, 2.0)), OF_TWICE), "point");
    // More products than the head has, or fewer.
    let two =
        r#"{"binary":["add",{"binary":["mul",{"number":"2"},"token"]},{"binary":["mul","token",{"gather":"index"}]}]}"#;
    let more = attending(&pooled(two, "null"), ALL, (0.0, 1.0, 2.0));
    rejected(&told(more, "wire attend * * * * no 0 1 0 1 2 1 0 0 1 0 2 0 1 0 1 0 1 0 1"), "line");
    let mut less = twice();
    less.target = on_box(r#"{"aggregate":["mean","token",null]}"#);
    rejected(&told(less, "wire attend * * * * no 0 1 0 1 0"), "line");
    // A number that the head does not add.
    let mut known = told(twice(), OF_TWICE);
    known.meanings[7] = "head 1 1/1000 1 1 1 0 0".into();
    known.meanings[8] = "holds 1 1/1000 1 1 1".into();
    declined(&known);
    // Half a line.
    rejected(&told(twice(), "wire attend * * * * no 0 1 0 1 1 1 0"), "format");
    rejected(&told(twice(), "wire attend * * * * 0 1 0 1 1 1 0 0 1 0 2"), "format");
    rejected(&told(twice(), "wire attend * * * * no 0 1 0 1 1 1 0 0 1 1 2"), "format");
}

#[test]
fn a_mean_by_scores_is_over_what_the_head_sees() {
    let before = r#"{"compare":["less-equal","running","index"]}"#;
    let line = "wire attend * 0 * * no 0 1 0 1 1 1 0 0 1 0 2";
    let of = |filter, mask| attending(&pooled(TWICE, filter), mask, (0.0, 1.0, 2.0));
    accepted(&told(of(before, "* 0 * * no"), line));
    // The head sees all tokens, or the line is about all.
    rejected(&told(of(before, ALL), line), "line");
    rejected(&told(of("null", "* 0 * * no"), OF_TWICE), "line");
    // What the head gives is what the line says, and no more.
    rejected(&told(of("null", "* 0 * * no"), line), "point");
    rejected(&told(of(before, ALL), OF_TWICE), "point");
}

/// Keys and values may be moved by a number, and the line says by how much values are.
#[test]
fn keys_may_be_moved_by_a_number_and_values_may_not() {
    let moved = |bias: f64| {
        let mut artifact = attending(&pooled(BOTH, "null"), ALL, (1.0, 0.5, 1.0));
        artifact.numbers("embed.bias")[0] = bias;
        artifact.numbers("read_out.bias")[0] = 0.5;
        let lines = ["layer 0 1", "holds 0 -1/2 1 0 1", "layer 1 1", "head 1 -1/2 1 1 1 0 0", "holds 1 -1/2 1 1 1"];
        let known = ["meanings 2", "wire input 0", OF_BOTH, "layers 2"];
        artifact.meaning(&[known.as_slice(), &lines, &["outputs 1", "output 0 1 1 1"]].concat())
    };
    // Queries are x[i] - 1/2 + 1/2, and keys are x - 1/2.
    accepted(&moved(-0.5));
    declined(&moved(-0.25));
}
