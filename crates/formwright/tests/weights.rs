//! Float networks survive being written to safetensors bit for bit, and whatever else the bytes or the skeleton may be is refused with
//! a message that says what and where.

use super::support::Random;
use super::support::floats::{self, Layers, Shape};
use formwright::artifact::tensors::{Skeleton, to_bytes};
use formwright::error::{ErrorKind, Result};
use formwright::network::{Coordinate, FeedForwardRun, FloatAffine, FloatNetwork, FloatStage, Precision, Run};
use serde_json::{Value, json};

const FILE: &str = "model.safetensors";

fn shape(precision: Precision, positions: bool) -> Shape {
    Shape { precision, tokens: 3, dims: 2, output_dims: 1, width: 3, positions }
}

/// A block across two stages, a run of whole blocks, a run of attention.
fn network(precision: Precision, positions: bool) -> FloatNetwork {
    let runs = [
        Layers { blocks: 1, attention: Some((0, 2, 2, 3)), feed_forward: Some((1, 4)) },
        Layers { blocks: 5, attention: Some((1, 2, 3, 1)), feed_forward: Some((1, 5)) },
        Layers { blocks: 4, attention: Some((2, 1, 2, 2)), feed_forward: None },
    ];
    floats::network(&mut Random::new(3), shape(precision, positions), 3, &runs)
}

/// `y = 2 · max(x, 0) - 1`, written by hand: width 1, one block.
fn by_hand() -> FloatNetwork {
    FloatNetwork {
        precision: Precision::F32,
        tokens: 1,
        lengths: (1, 1),
        coordinates: vec![Coordinate { name: "value".to_owned(), meaning: "the number".to_owned() }],
        embed: FloatAffine { inputs: 1, outputs: 1, weight: vec![1.0], bias: vec![0.0] },
        positions: None,
        stages: vec![FloatStage {
            name: "double".to_owned(),
            statement: "none".to_owned(),
            meaning: "z becomes z + |z|".to_owned(),
        }],
        runs: vec![Run {
            blocks: 1,
            attention: None,
            feed_forward: Some(FeedForwardRun {
                stage: 0,
                hidden: 2,
                w1: vec![1.0, -1.0],
                b1: vec![0.0, -0.0],
                w2: vec![1.0, 1.0],
                b2: vec![0.0],
            }),
        }],
        read_out: FloatAffine { inputs: 1, outputs: 1, weight: vec![1.0], bias: vec![-1.0] },
    }
}

/// The skeleton as it comes back from a file.
fn skeleton(network: &FloatNetwork) -> Skeleton {
    let text = serde_json::to_string_pretty(&Skeleton::of(network)).expect("JSON");
    serde_json::from_str(&text).expect("the skeleton that was written")
}

/// All entries by their bits: `-0.0 == 0.0` would hide a lost sign.
fn bits(network: &FloatNetwork) -> Vec<Vec<u64>> {
    network.tensors().iter().map(|(_, _, entries)| entries.iter().map(|x| x.to_bits()).collect()).collect()
}

fn comes_back(network: &FloatNetwork) {
    let bytes = to_bytes(network).expect("bytes");
    let read = skeleton(network).read(&bytes, FILE).expect("the network that was written");
    assert_eq!(read, *network);
    assert_eq!(bits(&read), bits(network));
    assert_eq!(to_bytes(&read).expect("bytes"), bytes, "the same network, the same bytes");
}

#[test]
fn networks_come_back_bit_for_bit() {
    comes_back(&by_hand());
    for precision in [Precision::F32, Precision::F64] {
        for positions in [false, true] {
            comes_back(&network(precision, positions));
            comes_back(&floats::network(&mut Random::new(1), shape(precision, positions), 0, &[]));
        }
    }
}

#[test]
fn every_finite_number_comes_back() {
    let single = |x: f32| f64::from(x);
    let singles = [f32::MIN_POSITIVE, f32::from_bits(1), f32::MAX, f32::MIN, -0.0, 0.1].map(single);
    let doubles = [f64::MIN_POSITIVE, f64::from_bits(1), f64::MAX, f64::MIN, -0.0, 0.1];
    for (precision, numbers) in [(Precision::F32, singles), (Precision::F64, doubles)] {
        let mut network = network(precision, true);
        network.embed.weight.copy_from_slice(&numbers);
        comes_back(&network);
    }
}

#[test]
fn the_file_is_ordinary_safetensors() {
    let network = network(Precision::F32, true);
    let bytes = to_bytes(&network).expect("bytes");
    let length = u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"));
    let header: Value = serde_json::from_slice(&bytes[8..8 + usize::try_from(length).expect("short")]).expect("JSON");
    assert_eq!(header["0.attn.o"]["shape"], json!([1, 2, 3, 3]));
    assert_eq!(header["1.ff.w1"]["dtype"], "F32");
    assert_eq!(header["pos"]["shape"], json!([3, 3]));
    assert_eq!(header.as_object().expect("an object").len(), network.tensors().len());
}

#[test]
fn the_skeleton_is_readable() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&Skeleton::of(&by_hand())).expect("JSON"));
}

/// The message of a refusal, under what was done.
fn refusal(what: &str, result: Result<FloatNetwork>) -> String {
    let error = result.expect_err(what);
    assert_eq!(error.kind(), ErrorKind::Input, "{what}");
    format!("> {what}\nerror: {error}\n")
}

/// A file from its header and data.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.extend(data);
    bytes
}

fn parts(bytes: &[u8]) -> (Value, Vec<u8>) {
    let length = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"))).expect("short");
    (serde_json::from_slice(&bytes[8..8 + length]).expect("JSON"), bytes[8 + length..].to_vec())
}

#[test]
fn files_cut_off_are_refused() {
    let network = by_hand();
    let bytes = to_bytes(&network).expect("bytes");
    let read = |bytes: &[u8]| skeleton(&network).read(bytes, FILE);
    for length in 0..bytes.len() {
        let error = read(&bytes[..length]).expect_err("a part of the file");
        assert!(error.headline().contains(FILE) && error.headline().contains("cut off"), "{length}: {error}");
    }
    let (header, data) = parts(&bytes);
    let start = bytes.len() - data.len();
    let mut more = bytes.clone();
    more.push(0);
    let mut long = bytes.clone();
    long[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    let messages = [
        refusal("nothing", read(&[])),
        refusal("inside of the length", read(&bytes[..5])),
        refusal("behind the length", read(&bytes[..8])),
        refusal("inside of the header", read(&bytes[..100])),
        refusal("behind the header", read(&bytes[..start])),
        refusal("inside of the data", read(&bytes[..start + 13])),
        refusal("a byte too many", read(&more)),
        refusal("a header of 2^64 - 1 bytes", read(&long)),
        refusal("an empty header", read(&file("{}", &[]))),
        refusal("half of a header", read(&file(&header.to_string()[..50], &data))),
        refusal("a header that is no text", read(&file("\u{0}\u{1}", &data))),
        refusal("a header that is a list", read(&file("[]", &data))),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn headers_that_lie_are_refused() {
    let network = by_hand();
    let (header, data) = parts(&to_bytes(&network).expect("bytes"));
    let changed = |what: &str, change: &dyn Fn(&mut Value)| {
        let mut header = header.clone();
        change(&mut header);
        refusal(what, skeleton(&network).read(&file(&header.to_string(), &data), FILE))
    };
    let text = header.to_string();
    let twice = text.replacen('{', r#"{"pos":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"pos":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"#, 1);
    let messages = [
        changed("overlap", &|h| h["read_out.bias"]["data_offsets"] = json!([0, 4])),
        changed("a gap", &|h| drop(h.as_object_mut().expect("an object").remove("0.ff.b1"))),
        changed("beyond the end", &|h| {
            h["read_out.weight"] = json!({"dtype": "F32", "shape": [1, 90], "data_offsets": [40, 400]});
        }),
        changed("backwards", &|h| h["read_out.weight"]["data_offsets"] = json!([40, 36])),
        changed("a negative offset", &|h| h["read_out.weight"]["data_offsets"] = json!([-4, 44])),
        changed("a shape of another size", &|h| h["0.ff.w1"]["shape"] = json!([1, 3, 1])),
        changed("a shape beyond all sizes", &|h| h["0.ff.w1"]["shape"] = json!([1u64 << 40, 1u64 << 40, 1])),
        changed("ends near 2^64", &|h| {
            let mut start = 44;
            for i in 0..16 {
                let side = (1u64 << 60) - 10 * i;
                h[format!("z{i}")] = json!({"dtype": "U8", "shape": [side], "data_offsets": [start, start + side]});
                start += side;
            }
        }),
        changed("an unknown type", &|h| h["embed.bias"]["dtype"] = json!("F33")),
        changed("another type", &|h| h["embed.bias"]["dtype"] = json!("I32")),
        changed("metadata that is no text", &|h| h["__metadata__"] = json!({"format": 1})),
        refusal("a name that comes twice", skeleton(&network).read(&file(&twice, &data), FILE)),
    ];
    insta::assert_snapshot!(messages.join("\n"));
    let mut described = header.clone();
    described["__metadata__"] = json!({"format": "pt", "written": "elsewhere"});
    let read = skeleton(&network).read(&file(&described.to_string(), &data), FILE);
    assert_eq!(read.expect("metadata is no concern of ours"), network);
}

#[test]
fn other_tensors_are_refused() {
    let network = network(Precision::F32, true);
    let against = |what: &str, change: &dyn Fn(&mut FloatNetwork)| {
        let mut other = network.clone();
        change(&mut other);
        refusal(what, skeleton(&network).read(&to_bytes(&other).expect("bytes"), FILE))
    };
    let bytes = to_bytes(&network).expect("bytes");
    let (header, data) = parts(&bytes);
    let entry = |what: &str, name: &str, place: usize, number: f32| {
        let start = usize::try_from(header[name]["data_offsets"][0].as_u64().expect("an offset")).expect("short");
        let mut data = data.clone();
        data[start + 4 * place..start + 4 * place + 4].copy_from_slice(&number.to_le_bytes());
        refusal(what, skeleton(&network).read(&file(&header.to_string(), &data), FILE))
    };
    let messages = [
        against("without positions", &|n| n.positions = None),
        against("a run less", &|n| drop(n.runs.pop())),
        against("a run more", &|n| n.runs.push(n.runs[2].clone())),
        against("in double precision", &|n| n.precision = Precision::F64),
        against("more outputs", &|n| {
            n.read_out = FloatAffine { inputs: 3, outputs: 2, weight: vec![0.0; 6], bias: vec![0.0; 2] };
        }),
        against("more tokens", &|n| {
            (n.tokens, n.lengths) = (4, (4, 4));
            n.positions = Some(vec![0.0; 12]);
        }),
        entry("NaN", "1.attn.q", 31, f32::NAN),
        entry("infinity", "1.ff.b1", 24, f32::INFINITY),
        entry("minus infinity", "embed.bias", 0, f32::NEG_INFINITY),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn skeletons_of_no_network_are_refused() {
    let network = network(Precision::F32, true);
    let bytes = to_bytes(&network).expect("bytes");
    let changed = |what: &str, change: &dyn Fn(&mut Value)| {
        let mut skeleton = serde_json::to_value(Skeleton::of(&network)).expect("JSON");
        change(&mut skeleton);
        match serde_json::from_value::<Skeleton>(skeleton) {
            Ok(skeleton) => refusal(what, skeleton.read(&bytes, FILE)),
            Err(error) => format!("> {what}\nserde: {error}\n"),
        }
    };
    let huge = 1_000_000_000_000_000_000u64;
    let messages = [
        changed("10^18 blocks", &|s| s["runs"][1]["blocks"] = json!(huge)),
        changed("10^18 hidden units", &|s| s["runs"][1]["feed_forward"]["hidden"] = json!(huge)),
        changed("10^18 tokens", &|s| s["tokens"] = json!(huge)),
        changed("2^64 - 1 tokens", &|s| s["tokens"] = json!(u64::MAX)),
        changed("10^18 coordinates of a token", &|s| s["dims"] = json!(huge)),
        changed("2^64 - 1 blocks, and more", &|s| s["runs"][1]["blocks"] = json!(u64::MAX)),
        changed("10^18 blocks without hidden units", &|s| {
            s["runs"][1]["blocks"] = json!(huge);
            s["runs"][1]["feed_forward"]["hidden"] = json!(0);
        }),
        changed("no tokens", &|s| s["tokens"] = json!(0)),
        changed("no coordinates", &|s| s["coordinates"] = json!([])),
        changed("no blocks", &|s| s["runs"][2]["blocks"] = json!(0)),
        changed("no heads", &|s| s["runs"][2]["attention"]["heads"] = json!(0)),
        changed("no layers", &|s| drop(s["runs"][2].as_object_mut().expect("an object").remove("attention"))),
        changed("a run across two stages", &|s| s["runs"][1]["feed_forward"]["stage"] = json!(2)),
        changed("stages out of order", &|s| s["runs"][2]["attention"]["stage"] = json!(0)),
        changed("a stage that is not there", &|s| s["runs"][2]["attention"]["stage"] = json!(3)),
        changed("a stage twice", &|s| s["stages"][2]["name"] = json!("stage-0")),
        changed("a coordinate twice", &|s| s["coordinates"][2]["name"] = json!("c0")),
        changed("an unknown field", &|s| s["activation"] = json!("gelu")),
        changed("an unknown field of a run", &|s| s["runs"][0]["dropout"] = json!(0)),
        changed("a field missing", &|s| drop(s.as_object_mut().expect("an object").remove("tokens"))),
        changed("an unknown precision", &|s| s["precision"] = json!("bf16")),
        changed("-1 blocks", &|s| s["runs"][1]["blocks"] = json!(-1)),
        changed("half a block", &|s| s["runs"][1]["blocks"] = json!(0.5)),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn networks_that_cannot_be_written_are_refused() {
    let changed = |what: &str, change: &dyn Fn(&mut FloatNetwork)| {
        let mut network = by_hand();
        change(&mut network);
        format!("> {what}\nerror: {}\n", to_bytes(&network).expect_err(what))
    };
    let messages = [
        changed("NaN", &|n| n.embed.weight[0] = f64::NAN),
        changed("no single-precision number", &|n| n.embed.weight[0] = 0.1),
        changed("an entry missing", &|n| n.embed.weight.clear()),
        changed("blocks without entries", &|n| n.runs[0].blocks = usize::MAX),
        changed("an embedding of another width", &|n| n.embed.outputs = 2),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}
