//! False claims: networks made to fool a rule that is almost a theorem. None may be accepted.

#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, clippy::panic, clippy::indexing_slicing)]

use super::{Lattice, Stop, Subject, apart, arrangements, check, keys_ignore_positions};
use crate::kernel::format::Format;
use crate::kernel::number::{Dyadic, Range};
use crate::kernel::sum::Row;
use crate::read::certificate::Mask;
use crate::read::weights::{Head, Layer, Network};
use crate::sequences::Sequences;
use crate::{Files, Verdict, sha256};

/// A claim in double precision, with the lines in which its certificate differs.
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
    /// The certificate and the tensors.
    fn files(&self) -> (String, Vec<u8>) {
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
            "formwright-certificate 2\nsha256 target.json {one}\nsha256 model.safetensors {two}\nbadge certified\nover {over}\nnorm {norm}\nbound {bound}\nassumptions 0\ntokens {tokens}\ndims 1\noutput-dims 1\nexecution ieee-any-order f64\nwidth {width}\npositions {positions}\n{runs}\n{grid}\nend\n"
        );
        (certificate, weights)
    }

    fn verdict(&self) -> Verdict {
        let (certificate, weights) = self.files();
        check(&Files { certificate: certificate.as_bytes(), target: self.target.as_bytes(), weights: &weights })
    }

    /// The content of the files, before anything is proved.
    fn subject(&self) -> Subject {
        let (certificate, weights) = self.files();
        let files = Files { certificate: certificate.as_bytes(), target: self.target.as_bytes(), weights: &weights };
        Subject::read(&files).map_err(|_| "no subject").unwrap()
    }

    /// Asserts that the verdict is a rejection for this obligation.
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
        // Only the end of the cell is good, where the bump is over; the rest is bounded by the sweep.
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
    let lost = format!(r#"{{"binary":["sub",{{"sort":{{"bound":"b"}}}},{product}]}}"#);
    let middle = r#"{"compare":["equal","index",{"number":"1"}]}"#;
    let seven = r#"{"compare":["equal",{"aggregate":["sum","token",null]},{"number":"7"}]}"#;
    let body = format!(r#"{{"if":[{{"and":[{middle},{seven}]}},{lost},{{"number":"0"}}]}}"#);
    let lets = format!(r#""ast":{{"lets":[{{"name":"b","value":{product}}}],"#);
    let target = expression(&body, r#"{"integers":[1,4]}"#).replacen(r#""ast":{"#, &lets, 1);
    let claim = Claim {
        over: "integers",
        norm: "sup",
        grid: "cells 0\nmargins 0 0",
        bound: "1/2",
        ..single(target, "3 3", [0.0, 0.0], [0.0; 4])
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
    assert_eq!(claim.verdict().name(), "declined");
}

/// Inputs beyond the format that are scaled down: they overflow before that.
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

/// A claim of so many tokens, at least one, over integers: one coordinate goes through so many hidden units that do
/// nothing.
fn sized(target: String, hidden: usize) -> Claim<'static> {
    Claim {
        target,
        over: "integers",
        norm: "sup",
        bound: "0",
        tokens: "1 1",
        shape: [1, 0],
        runs: Box::leak(format!("runs 1\nrun 1 ff {hidden}").into_boxed_str()),
        grid: "cells 0\nmargins 0 0",
        tensors: vec![
            ("embed.weight", vec![1, 1], vec![1.0]),
            ("embed.bias", vec![1], vec![0.0]),
            ("read_out.weight", vec![1, 1], vec![1.0]),
            ("read_out.bias", vec![1], vec![0.0]),
            ("0.ff.w1", vec![1, hidden, 1], vec![0.0; hidden]),
            ("0.ff.b1", vec![1, hidden], vec![0.0; hidden]),
            ("0.ff.w2", vec![1, 1, hidden], vec![0.0; hidden]),
            ("0.ff.b2", vec![1, 1], vec![0.0]),
        ],
    }
}

fn limits(subject: &Subject, symbols: usize, tokens: usize) -> Result<(), Stop> {
    let classes = Sequences::new(symbols, tokens, subject.order_free).count;
    subject.within_limits(symbols, tokens, classes, None).and_then(|()| subject.can_start(symbols, tokens))
}

/// True if so many symbols and tokens are within the limits.
fn within(subject: &Subject, symbols: usize, tokens: usize) -> bool {
    match limits(subject, symbols, tokens) {
        Ok(()) => true,
        Err(Stop::Declined(_)) => false,
        Err(Stop::Rejected(_)) => panic!("a size is no fault"),
    }
}

fn on_integers(body: &str) -> String {
    expression(body, r#"{"integers":[0,2]}"#)
}

#[test]
fn sequences_are_counted_up_to_symmetry() {
    let free = sized(on_integers(r#""token""#), 1).subject();
    assert!(free.order_free);
    // C(s + n - 1, n) multisets, at most 2^17, and 2^21 tokens together.
    assert!(within(&free, 1 << 17, 1) && !within(&free, (1 << 17) + 1, 1));
    assert!(within(&free, 511, 2) && !within(&free, 512, 2));
    assert!(within(&free, 91, 3) && !within(&free, 92, 3));
    assert!(within(&free, 2, 1447) && !within(&free, 2, 1448));
    // A running token sees the order, so there are s^n sequences.
    let ordered = sized(on_integers(r#"{"aggregate":["sum","running",null]}"#), 1).subject();
    assert!(!ordered.order_free);
    assert!(within(&ordered, 362, 2) && !within(&ordered, 363, 2));
    assert!(within(&ordered, 2, 16) && !within(&ordered, 2, 17));
}

#[test]
fn units_are_counted() {
    // 2^17 tokens through 2^14 units are 2^31; 3 of them are counted before all layers and 3 after.
    let units = |hidden: usize| within(&sized(on_integers(r#""token""#), hidden).subject(), 1 << 17, 1);
    assert!(units((1 << 14) - 6) && !units((1 << 14) - 5));
    let target = on_integers(r#""token""#);
    let headed = Claim {
        over: "integers",
        norm: "sup",
        grid: "cells 0\nmargins 0 0",
        ..single(target, "2 2", [1.0; 2], [0.0; 4])
    };
    assert!(within(&headed.subject(), 511, 2));
}

#[test]
fn steps_of_the_target_are_counted() {
    let table = |entries: usize| {
        let entries = vec![r#""0""#; entries].join(",");
        sized(on_integers(&format!(r#"{{"table":["token",[{entries}]]}}"#)), 1).subject()
    };
    // Entries and 4 steps of one token: 2^27 of 2^17 tokens are 2^10 of each.
    assert!(within(&table(1020), 1 << 17, 1) && !within(&table(1021), 1 << 17, 1));
    // Entries and 5 steps of two tokens, for each of two symbols of a sequence: 130816 of them.
    assert!(within(&table(508), 511, 2) && !within(&table(509), 511, 2));
    // By place, it is twice as many.
    let placed = |entries: usize| {
        let entries = vec![r#""0""#; entries].join(",");
        sized(on_integers(&format!(r#"{{"table":["index",[{entries}]]}}"#)), 1).subject()
    };
    assert!(within(&placed(251), 511, 2) && !within(&placed(252), 511, 2));
    // One symbol is one case, however many tokens there are.
    assert!(within(&table(1 << 16), 1, 512) && !within(&table(1 << 17), 2, 512));
}

#[test]
fn tokens_of_a_grid_are_digits() {
    let lattice = |side: usize, dims: usize| Lattice::new(side, dims).ok();
    assert_eq!(lattice(3, 2).unwrap().digits(5).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(lattice(10, 3).unwrap().digits(207).collect::<Vec<_>>(), [2, 0, 7]);
    assert!(lattice(1 << 17, 1).is_some() && lattice((1 << 17) + 1, 1).is_none());
    assert!(lattice(2, 17).is_some() && lattice(2, 18).is_none() && lattice(usize::MAX, 2).is_none());
    let all = |sorted: &[usize]| arrangements(sorted);
    assert_eq!([all(&[]), all(&[4]), all(&[1, 1, 1])], [Dyadic::ONE, Dyadic::ONE, Dyadic::ONE]);
    assert_eq!([all(&[0, 0, 1]), all(&[0, 1, 1]), all(&[0, 0, 1, 1])], [3, 3, 6].map(Dyadic::from));
    assert_eq!(all(&[0, 1, 2, 3, 3]), Dyadic::from(60));
    // 100 of 200, by Pascal's triangle: it has more digits than are kept, and is rounded up.
    let mut row = vec![Dyadic::ONE];
    for _ in 0..200 {
        let inner = row.windows(2).map(|pair| &pair[0] + &pair[1]);
        row = [Dyadic::ONE].into_iter().chain(inner).chain([Dyadic::ONE]).collect();
    }
    let half = all(&[vec![0; 100], vec![1; 100]].concat());
    assert!(row[100] <= half && half <= &row[100] * &(&Dyadic::ONE + &Dyadic::power_of_two(-80)));
}

#[test]
fn distances_of_ranges() {
    let range = |lo: u64, hi: u64| Range { lo: Dyadic::from(lo), hi: Dyadic::from(hi) };
    // Whichever number of the second range is meant, the first range has numbers that far away, and none farther.
    assert_eq!(apart(&range(0, 4), &range(1, 3)), range(2, 3));
    assert_eq!(apart(&range(0, 4), &range(1, 2)), range(2, 3));
    assert_eq!(apart(&range(0, 4), &range(5, 6)), range(5, 6));
    assert_eq!(apart(&range(5, 6), &range(0, 4)), range(2, 6));
    assert_eq!(apart(&range(3, 3), &range(0, 4)), range(0, 3));
    assert_eq!(apart(&range(3, 3), &range(1, 1)), range(2, 2));
}

/// A row that reads one coordinate.
fn reads(place: usize) -> Row {
    Row { weights: vec![(place, Dyadic::ONE)], bias: Dyadic::ZERO }
}

fn blank() -> Row {
    Row { weights: Vec::new(), bias: Dyadic::ZERO }
}

/// Three coordinates; the first depends on the position.
fn placed(layers: Vec<Layer>) -> bool {
    let positions = [0, 1].map(|x| vec![Dyadic::from(x), Dyadic::ONE, Dyadic::ZERO]).to_vec();
    let embed = vec![blank(); 3];
    keys_ignore_positions(&Network { format: Format::DOUBLE, embed, positions, layers, read_out: Vec::new() })
}

/// A head with these rows, which writes the value to a coordinate.
fn head(q: &[Row], k: &[Row], v: Row, to: usize) -> Head {
    let o = (0..3).map(|r| if r == to { reads(0) } else { blank() }).collect();
    Head {
        mask: Mask { limits: [None; 4], first: false, connections: None },
        q: q.to_vec(),
        k: k.to_vec(),
        v: vec![v],
        o,
    }
}

#[test]
fn positions_are_followed_through_the_layers() {
    let attention = |q: &[Row], k: &[Row], v: Row, to: usize| Layer::Attention(vec![head(q, k, v, to)]);
    let (one, two) = ([reads(1)], [reads(1), reads(0)]);
    let asks = |place: usize| attention(&one, &[reads(place)], reads(1), 2);
    assert!(placed(vec![asks(1)]) && placed(vec![asks(2)]) && placed(Vec::new()));
    assert!(!placed(vec![asks(0)]));
    assert!(!placed(vec![attention(&two, &two, reads(1), 2)]), "one of two rows of the keys");
    assert!(!placed(vec![attention(&one, &one, reads(0), 2)]), "values");
    let masked = |limits| {
        Layer::Attention(vec![Head {
            mask: Mask { limits, first: false, connections: None },
            ..head(&one, &one, reads(1), 2)
        }])
    };
    assert!(placed(vec![masked([None; 4])]) && !placed(vec![masked([None, Some(0), None, None])]));
    // Queries may read it; then the written coordinate depends on it, and the rest does not.
    for queries in [vec![reads(0)], two.to_vec()] {
        let by = |to: usize| attention(&queries, &queries.iter().map(|_| reads(1)).collect::<Vec<_>>(), reads(1), to);
        assert!(placed(vec![by(2)]));
        assert!(placed(vec![by(2), asks(1)]) && !placed(vec![by(2), asks(2)]));
    }
    assert!(placed(vec![attention(&one, &one, reads(1), 2), asks(2)]));
    let forward = |from: usize| Layer::FeedForward {
        units: vec![reads(1), reads(from)],
        gains: vec![blank(), blank(), reads(1)],
    };
    assert!(
        placed(vec![forward(1), asks(2)]) && !placed(vec![forward(0), asks(2)]) && placed(vec![forward(0), asks(1)])
    );
}

/// Inputs that round to infinity, though they are below the power of two where numbers end.
#[test]
fn inputs_that_round_up_overflow() {
    let (huge, scale) = (format!("1797693134862315808{}", "0".repeat(290)), 2.0_f64.powi(-1000));
    let target = expression(r#"{"number":"0"}"#, &format!(r#"{{"interval":["0","{huge}"]}}"#));
    let bound = format!("1{}", "0".repeat(400));
    Claim { bound: &bound, ..single(target, "1 1", [scale, scale], [0.0; 4]) }.is_rejected("finite");
}

/// A layer of so many units on a stream of the same width: each unit reads all of it, and every coordinate gains from
/// each.
fn dense(size: usize) -> Subject {
    let mut claim = sized(on_integers(r#""token""#), size);
    claim.shape = [size, 0];
    let some: Vec<f64> = (0..size * size).map(|k| f64::from(1 + u32::try_from(k % 7).unwrap())).collect();
    claim.tensors = vec![
        ("embed.weight", vec![size, 1], vec![1.0; size]),
        ("embed.bias", vec![size], vec![0.0; size]),
        ("read_out.weight", vec![1, size], vec![1.0; size]),
        ("read_out.bias", vec![1], vec![0.0]),
        ("0.ff.w1", vec![1, size, size], some.clone()),
        ("0.ff.b1", vec![1, size], vec![0.0; size]),
        ("0.ff.w2", vec![1, size, size], some),
        ("0.ff.b2", vec![1, size], vec![0.0; size]),
    ];
    claim.subject()
}

#[test]
fn width_counts() {
    // The gain of a coordinate is composed of everything that all units read: s³ + 3s² + 2s per token, and the ends of
    // the network.
    assert!(within(&dense(100), 2000, 1) && !within(&dense(100), 2200, 1));
    assert!(!within(&dense(400), 40, 1) && within(&dense(400), 16, 1));
}

/// A message about a limit names it, the amount found, and the amount allowed.
#[test]
fn limits_say_which_and_how_much() {
    let said = |subject: &Subject, symbols: usize, tokens: usize| match limits(subject, symbols, tokens) {
        Err(Stop::Declined(reason)) => reason.what,
        _ => "nothing".to_owned(),
    };
    let free = sized(on_integers(r#""token""#), 1).subject();
    assert_eq!(said(&free, 512, 2), "131328 sequences of 2 of 512 tokens up to their order, the limit is 131072");
    assert_eq!(
        said(&free, 2, 1448),
        "2098152 tokens of all sequences of 1448 of 2 tokens up to their order, the limit is 2097152"
    );
    assert_eq!(
        said(&free, 1000, 4096),
        "more than 10^19 sequences of 4096 of 1000 tokens up to their order, the limit is 131072"
    );
    let work = said(&dense(400), 40, 1);
    assert!(work.ends_with("multiplications of the network at 40 sequences of 1 of 40 tokens up to their order, the limit is 2147483648"), "{work}");
}
