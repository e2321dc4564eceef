//! Claims that are false: networks made to fool a rule that is almost a theorem. None may be accepted.

#![allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use super::check;
use crate::{Files, Verdict, sha256};

/// A claim in double precision, with the lines of the certificate that differ.
struct Claim<'c> {
    target: String,
    over: &'c str,
    norm: &'c str,
    bound: &'c str,
    tokens: &'c str,
    /// Width and positions.
    shape: [usize; 2],
    runs: &'c str,
    /// Cells and margins.
    grid: &'c str,
    tensors: Vec<(&'c str, Vec<usize>, Vec<f64>)>,
}

impl Claim<'_> {
    fn verdict(&self) -> Verdict {
        let (mut header, mut data) = (Vec::new(), Vec::new());
        for (name, shape, numbers) in &self.tensors {
            let from = data.len();
            data.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
            let to = data.len();
            header.push(format!(r#""{name}":{{"dtype":"F64","shape":{shape:?},"data_offsets":[{from},{to}]}}"#));
        }
        let header = format!("{{{}}}", header.join(","));
        let weights = [&u64::try_from(header.len()).unwrap().to_le_bytes(), header.as_bytes(), &data].concat();
        let Self { target, over, norm, bound, tokens, shape: [width, positions], runs, grid, .. } = self;
        let (one, two) = (sha256(target.as_bytes()), sha256(&weights));
        let certificate = format!(
            "formwright-certificate 1\nsha256 target.json {one}\nsha256 model.safetensors {two}\nbadge certified\nover {over}\nnorm {norm}\nbound {bound}\nassumptions 0\ntokens {tokens}\ndims 1\noutput-dims 1\nexecution ieee-any-order f64\nwidth {width}\npositions {positions}\n{runs}\n{grid}\nend\n"
        );
        check(&Files { certificate: certificate.as_bytes(), target: target.as_bytes(), weights: &weights })
    }

    /// That the verdict is a rejection for this obligation.
    fn is_rejected(&self, obligation: &str) {
        match self.verdict() {
            Verdict::Rejected(reason) if reason.obligation == obligation => {}
            verdict => panic!("expected a rejection, {obligation}: {verdict}"),
        }
    }
}

fn expression(body: &str, domain: &str) -> String {
    format!(r#"{{"kind":"expression","ast":{{"body":{{"each":{body}}},"domain":{domain}}}}}"#)
}

/// Two heads with equal values and opposite outputs that see different tokens: they add `x_0 - x_1`, not 0.
#[test]
fn opposite_heads_that_see_different_tokens() {
    let line = r#"{"binary":["div",{"binary":["add","token",{"number":"2"}]},{"number":"10"}]}"#;
    let claim = Claim {
        target: expression(line, r#"{"integers":[1,3]}"#),
        over: "integers",
        norm: "sup",
        bound: "1/1000",
        tokens: "2 2",
        shape: [2, 2],
        runs: "runs 1\nrun 1 attention softmax 2 1 1 0\nmask * * 0 0 no\nmask * * 1 1 no",
        grid: "cells 0\nmargins 0 0",
        tensors: vec![
            ("embed.weight", vec![2, 1], vec![1.0, 0.1]),
            ("embed.bias", vec![2], vec![0.0, 0.1]),
            ("pos", vec![2, 2], vec![0.0, 0.1, 0.0, 0.1]),
            ("read_out.weight", vec![1, 2], vec![0.0, 1.0]),
            ("read_out.bias", vec![1], vec![0.0]),
            ("0.attn.q", vec![1, 2, 1, 2], vec![0.0; 4]),
            ("0.attn.q_bias", vec![1, 2, 1], vec![0.0; 2]),
            ("0.attn.k", vec![1, 2, 1, 2], vec![0.0; 4]),
            ("0.attn.v", vec![1, 2, 1, 2], vec![1.0, 0.0, 1.0, 0.0]),
            ("0.attn.o", vec![1, 2, 2, 1], vec![0.0, 1.0, 0.0, -1.0]),
        ],
    };
    claim.is_rejected("point");
}

/// One coordinate that is the input times `scale`, one head on it, and the outcome.
fn single(target: String, tokens: &str, scale: [f64; 2], head: [f64; 4]) -> Claim<'_> {
    let [q, k, v, o] = head;
    Claim {
        target,
        over: "box",
        norm: "lp 1",
        bound: "1/1000",
        tokens,
        shape: [1, 0],
        runs: "runs 1\nrun 1 attention softmax 1 1 1 0\nmask * * * * no",
        grid: "cells 1\nmargins 0 0",
        tensors: vec![
            ("embed.weight", vec![1, 1], vec![scale[0]]),
            ("embed.bias", vec![1], vec![0.0]),
            ("read_out.weight", vec![1, 1], vec![scale[1]]),
            ("read_out.bias", vec![1], vec![0.0]),
            ("0.attn.q", vec![1, 1, 1, 1], vec![q]),
            ("0.attn.q_bias", vec![1, 1, 1], vec![0.0]),
            ("0.attn.k", vec![1, 1, 1, 1], vec![k]),
            ("0.attn.v", vec![1, 1, 1, 1], vec![v]),
            ("0.attn.o", vec![1, 1, 1, 1], vec![o]),
        ],
    }
}

/// A sweep whose steps are small: a token that begins far above its thresholds stays there, and finds a bump.
#[test]
fn a_sweep_of_small_steps_lowers_nothing() {
    let small = 1.0 / 1024.0;
    let claim = Claim {
        shape: [2, 0],
        runs: "runs 1\nrun 1 attention softmax 2 1 1 0 ff 3\nmask * * * * no\nmask * * * * no",
        // Only the cell's end is good, where the bump is over: the rest is bounded by the sweep.
        grid: "cells 1\nmargins 1 0",
        tensors: vec![
            ("embed.weight", vec![2, 1], vec![1.0, 0.0]),
            ("embed.bias", vec![2], vec![0.0; 2]),
            ("read_out.weight", vec![1, 2], vec![0.0, 1.0]),
            ("read_out.bias", vec![1], vec![0.0]),
            ("0.attn.q", vec![1, 2, 1, 2], vec![1.0, 0.0, 1.0, 0.0]),
            ("0.attn.q_bias", vec![1, 2, 1], vec![-0.5, -1.5]),
            ("0.attn.k", vec![1, 2, 1, 2], vec![1.0, 0.0, 1.0, 0.0]),
            ("0.attn.v", vec![1, 2, 1, 2], vec![1.0, 0.0, 1.0, 0.0]),
            ("0.attn.o", vec![1, 2, 2, 1], vec![small, 0.0, -small, 0.0]),
            ("0.ff.w1", vec![1, 3, 2], vec![1.0, 0.0, 1.0, 0.0, 1.0, 0.0]),
            ("0.ff.b1", vec![1, 3], vec![-1000.0, -1000.5, -1001.0]),
            ("0.ff.w2", vec![1, 2, 3], vec![0.0, 0.0, 0.0, 1.0, -2.0, 1.0]),
            ("0.ff.b2", vec![1, 2], vec![0.0; 2]),
        ],
        ..single(expression(r#"{"number":"0"}"#, r#"{"interval":["1000","1001"]}"#), "1 1", [0.0; 2], [0.0; 4])
    };
    claim.is_rejected("integral");
}

/// Sorting `x·i` sees the order of the tokens: the middle one of `(1, 3, 3)` is 3, that of `(3, 3, 1)` is 2.
#[test]
fn sorting_by_place_is_not_symmetric() {
    let product = r#"{"binary":["mul","token","index"]}"#;
    let lost = format!(r#"{{"binary":["sub",{{"sort":{product}}},{product}]}}"#);
    let middle = r#"{"compare":["equal","index",{"number":"1"}]}"#;
    let seven = r#"{"compare":["equal",{"aggregate":["sum","token",null]},{"number":"7"}]}"#;
    let body = format!(r#"{{"if":[{{"and":[{middle},{seven}]}},{lost},{{"number":"0"}}]}}"#);
    let claim = Claim {
        over: "integers",
        norm: "sup",
        grid: "cells 0\nmargins 0 0",
        bound: "1/2",
        ..single(expression(&body, r#"{"integers":[1,4]}"#), "3 3", [0.0, 0.0], [0.0; 4])
    };
    claim.is_rejected("point");
}

/// An index between two places names none.
#[test]
fn an_index_that_is_not_whole() {
    let table = r#"{"table":["token",["5","5"]]}"#;
    let claim = Claim {
        tensors: {
            let mut tensors = single(String::new(), "1 1", [0.0, 0.0], [0.0; 4]).tensors;
            tensors[3].2 = vec![5.0];
            tensors
        },
        ..single(expression(table, r#"{"interval":["0","1"]}"#), "1 1", [0.0, 0.0], [0.0; 4])
    };
    claim.is_rejected("target");
}

/// Inputs beyond the format, scaled down: they overflow before that.
#[test]
fn inputs_that_overflow() {
    let (huge, scale) = (format!("1{}", "0".repeat(320)), 2.0_f64.powi(-1000));
    let target = expression(r#"{"number":"0"}"#, &format!(r#"{{"interval":["0","{huge}"]}}"#));
    let bound = format!("1{}", "0".repeat(400));
    Claim { bound: &bound, ..single(target, "1 1", [scale, scale], [0.0; 4]) }.is_rejected("finite");
}

/// A head that writes nothing still computes its scores.
#[test]
fn scores_of_idle_heads_that_overflow() {
    let target = expression(r#""token""#, r#"{"interval":["1","2"]}"#);
    let huge = 2.0_f64.powi(600);
    Claim { bound: "2", ..single(target, "2 2", [1.0, 1.0], [huge, huge, 1.0, 0.0]) }.is_rejected("finite");
}

/// A weight below the normal range may be read as 0.
#[test]
fn weights_that_vanish() {
    let body = r#"{"binary":["mul","token",{"number":"1/1099511627776"}]}"#;
    let [low, high, bound] =
        [("1", 30), ("2", 30), ("7", 47)].map(|(first, zeros)| first.to_owned() + &"0".repeat(zeros));
    let target = expression(body, &format!(r#"{{"interval":["{low}","{high}"]}}"#));
    let scale = [2.0_f64.powi(-1060), 2.0_f64.powi(1020)];
    Claim { bound: &bound, ..single(target, "1 1", scale, [0.0; 4]) }.is_rejected("weights");
}
