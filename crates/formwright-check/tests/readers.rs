//! CERTIFICATE.md, sections 1 to 5: what is not of the format, or does not fit, is rejected by its name; what is not decided is declined.

#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::float_arithmetic, clippy::expect_used)]

use super::support::{Artifact, Head, accepted, declined, on_box, on_integers, rejected, safetensors};
use formwright_check::{Files, Verdict, check};

const TOKEN: &str = r#""token""#;

fn identity() -> Artifact {
    Artifact::new(on_integers(TOKEN, 0, 3), 2, "0", &[(1.0, 0.0)], &[1.0])
}

fn averaging(mask: &'static str) -> Artifact {
    let head = Head { mask, q: vec![0.0], q_bias: 0.0, k: vec![0.0], v: vec![1.0], o: vec![0.0] };
    identity().attention(&[head])
}

fn obligation(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Accepted(_) => "accepted",
        Verdict::Rejected(reason) | Verdict::Declined(reason) => reason.obligation,
    }
}

/// The verdict on an artifact whose certificate has been edited.
fn edited(artifact: &Artifact, from: &str, to: &str) -> String {
    let (target, weights) = (artifact.target.as_bytes(), artifact.weights());
    let text = artifact.certificate(target, &weights);
    assert!(text.contains(from), "{from:?} is not in\n{text}");
    let certificate = text.replacen(from, to, 1);
    obligation(&check(&Files { certificate: certificate.as_bytes(), target, weights: &weights })).to_owned()
}

#[test]
fn a_certificate_has_one_form() {
    let net = averaging("* * * * no");
    accepted(&net);
    let edits = [
        ("certificate 2", "certificate 3"),
        ("certificate 2\n", "certificate 2 \n"),
        ("certificate 2\n", "certificate 2\r\n"),
        ("certificate 2\n", "certificate 1\r\n"),
        ("certificate 2\n", "certificate 2\n\n"),
        ("badge certified", "badge  certified"),
        ("badge certified", "badge\tcertified"),
        ("badge certified", "badge sure"),
        ("badge certified\n", ""),
        ("badge certified", "badge certified\nbadge certified"),
        ("over integers", "over reals"),
        ("over integers", "over distinct-integers"),
        ("over integers", "over integers 1"),
        ("norm sup", "norm max"),
        ("norm sup", "norm lp"),
        ("bound 0", "bound 00"),
        ("bound 0", "bound -0"),
        ("bound 0", "bound 0/1"),
        ("bound 0", "bound 2/4"),
        ("bound 0", "bound 1/1"),
        ("bound 0", "bound 1/-2"),
        ("bound 0", "bound 1/02"),
        ("bound 0", "bound 0.5"),
        ("bound 0", "bound +1"),
        ("bound 0", "bound 1e3"),
        ("assumptions 0", "assumptions 1"),
        ("tokens 2 2", "tokens 2"),
        ("tokens 2 2", "tokens 2 2 2"),
        ("tokens 2 2", "tokens 2 02"),
        ("tokens 2 2", "tokens 2 -2"),
        ("dims 1", "dims 2147483648"),
        ("execution ieee-any-order f64", "execution ieee-any-order f16"),
        ("execution ieee-any-order f64", "execution any f64"),
        ("runs 1", "runs 0"),
        ("runs 1", "runs 2"),
        ("run 1 attention", "run 0 attention"),
        ("run 1 attention softmax 1 1 1 0", "run 1"),
        ("run 1 attention softmax 1 1 1 0", "run 1 attention hardmax 1 1 1 0"),
        ("run 1 attention softmax 1 1 1 0", "run 1 attention softmax 1 1 1 0 ff 0"),
        ("run 1 attention softmax 1 1 1 0", "run 1 attention softmax 1 1 1 0 ff 1 ff 1"),
        ("run 1 attention softmax 1 1 1 0", "run 1 ff 1 attention softmax 1 1 1 0"),
        ("run 1 attention softmax 1 1 1 0", "run 1 attention softmax 2 1 1 0"),
        ("mask * * * * no", "mask * * * no"),
        ("mask * * * * no", "mask * * * * maybe"),
        ("mask * * * * no", "mask * * * 2147483648 no"),
        ("mask * * * * no\n", ""),
        ("end\n", "end"),
        ("end\n", "end\n\n"),
        ("end\n", "end\nend\n"),
        ("end\n", "End\n"),
    ];
    for (from, to) in edits {
        assert_eq!(edited(&net, from, to), "format", "{from:?} to {to:?}");
    }
    let digits = "7".repeat(4096);
    assert_eq!(edited(&net, "bound 0", &format!("bound {digits}")), "accepted");
    assert_eq!(edited(&net, "bound 0", &format!("bound {digits}7")), "format");
    assert_eq!(edited(&net, "bound 0", &format!("bound 1/{digits}")), "accepted");
    assert_eq!(edited(&net, "bound 0", &format!("bound 1/{digits}7")), "format");
    // Counts and limits below 2^31 are of the format, whatever else they are.
    assert_eq!(edited(&net, "dims 1", "dims 2147483647"), "weights");
    assert_eq!(edited(&net, "mask * * * * no", "mask * 2147483647 * * no"), "accepted");
    assert_eq!(edited(&net, "mask * * * * no", "mask -2147483647 * * * no"), "accepted");
}

/// A certificate of an earlier release is about fewer executions, and is not judged, whatever follows its first line.
#[test]
fn a_certificate_of_version_1_is_declined() {
    let net = averaging("* * * * no");
    let (target, weights) = (net.target.as_bytes(), net.weights());
    let text = net.certificate(target, &weights).replacen("certificate 2", "certificate 1", 1);
    for certificate in [text.as_str(), &text.replace("bound 0", "bound -1"), "formwright-certificate 1\n"] {
        let verdict = check(&Files { certificate: certificate.as_bytes(), target, weights: &weights });
        assert_eq!(verdict.name(), "declined");
        let said = verdict.to_string();
        assert!(
            ["version 1", "divides once", "reciprocal", "rebuild"].iter().all(|word| said.contains(word)),
            "{said}"
        );
    }
    for certificate in ["formwright-certificate 1", "formwright-certificate 10\n", "formwright-certificate 1 \n"] {
        let verdict = check(&Files { certificate: certificate.as_bytes(), target, weights: &weights });
        assert_eq!(verdict.name(), "rejected", "{certificate:?}");
    }
}

#[test]
fn a_certificate_has_at_most_2_to_the_24_bytes() {
    let net = identity();
    let length = net.certificate(net.target.as_bytes(), &net.weights()).len() + "assume \n".len();
    let assuming = |length: usize| {
        let words = "x".repeat(length);
        edited(&net, "assumptions 0\n", &format!("assumptions 1\nassume {words}\n"))
    };
    assert_eq!(assuming((1 << 24) - length), "scope");
    assert_eq!(assuming((1 << 24) - length + 1), "format");
}

#[test]
fn a_certificate_is_about_these_bytes() {
    let net = identity();
    let (target, weights) = (net.target.as_bytes(), net.weights());
    let text = net.certificate(target, &weights);
    let said = |target: &[u8], weights: &[u8]| {
        obligation(&check(&Files { certificate: text.as_bytes(), target, weights })).to_owned()
    };
    assert_eq!(said(target, &weights), "accepted");
    assert_eq!(said(&[target, b" "].concat(), &weights), "hash");
    assert_eq!(said(target, &[&weights, b" ".as_slice()].concat()), "hash");
    assert_eq!(edited(&net, "sha256 target.json ", "sha256 target.json 0"), "format");
    let hash = formwright_check::sha256(target);
    assert_eq!(edited(&net, &hash, &"0".repeat(64)), "hash");
    for other in ["G", "g", "A", "-"] {
        assert_eq!(edited(&net, &hash, &format!("{other}{}", "0".repeat(63))), "format");
    }
}

/// The verdict on tensors with this header, for the network with one unit.
fn headed(change: impl Fn(String) -> String, data: impl Fn(Vec<u8>) -> Vec<u8>) -> String {
    let net = identity();
    let weights = net.weights();
    let length = usize::from(weights[0]) + 256 * usize::from(weights[1]);
    let header = String::from_utf8(weights[8..8 + length].to_vec()).expect("a text");
    let weights = safetensors(&change(header), &data(weights[8 + length..].to_vec()));
    let target = net.target.as_bytes();
    let certificate = net.certificate(target, &weights);
    obligation(&check(&Files { certificate: certificate.as_bytes(), target, weights: &weights })).to_owned()
}

#[test]
fn the_tensors_fill_the_file_and_are_those_of_the_network() {
    let same = |header: String| header;
    assert_eq!(headed(same, |data| data), "accepted");
    assert_eq!(headed(|header| header.replacen('{', r#"{"__metadata__":{"a":"b"},"#, 1), |data| data), "accepted");
    let edits = [
        ("[0,8]", "[8,16]"),
        ("[0,8]", "[0,16]"),
        ("[8,16]", "[0,8]"),
        ("[24,32]", "[32,40]"),
        ("[24,32]", "[24,31]"),
        ("F64", "F32"),
        ("F64", "f64"),
        ("[1, 1]", "[1]"),
        ("[1, 1]", "[1, 1, 1]"),
        ("[1, 1]", "[1.0, 1]"),
        ("embed.bias", "embed.weight"),
        ("embed.bias", "Embed.bias"),
        ("\"dtype\"", "\"more\":0,\"dtype\""),
        ("\"shape\"", "\"shapes\""),
        ("}}", "}},"),
        ("{\"embed.w", "[\"embed.w"),
    ];
    let metadata =
        |is: &str| headed(|header| header.replacen('{', &format!(r#"{{"__metadata__":{is},"#), 1), |data| data);
    assert_eq!([metadata("1"), metadata(r#"{"a":1}"#), metadata(r#"{"a":"b","c":null}"#)], ["weights"; 3]);
    // Tensors that lie in another order than they are listed: the bias is 1, and the weight 0.
    let swapped =
        |header: String| header.replacen("[0,8]", "[-]", 1).replacen("[8,16]", "[0,8]", 1).replacen("[-]", "[8,16]", 1);
    assert_eq!(headed(swapped, |data| data), "point");
    // One has the bytes of two.
    let wide = |header: String| header.replacen("[0,8]", "[0,16]", 1).replacen("[8,16]", "[16,16]", 1);
    assert_eq!(headed(wide, |data| data), "weights");
    for (from, to) in edits {
        assert_eq!(headed(|header| header.replacen(from, to, 1), |data| data), "weights", "{from} to {to}");
    }
    let more = r#","more":{"dtype":"F64","shape":[1],"data_offsets":[32,40]}}"#;
    let with_more = |header: String| header.strip_suffix('}').expect("an object").to_owned() + more;
    assert_eq!(headed(with_more, |data| [data, vec![0; 8]].concat()), "weights");
    assert_eq!(headed(same, |data| [data, vec![0; 8]].concat()), "weights");
    assert_eq!(headed(same, |data| data[..24].to_vec()), "weights");
    for bits in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(headed(same, |data| [&data[..24], &bits.to_le_bytes()].concat()), "weights");
    }
    let mut cut = identity();
    cut.tensors.truncate(3);
    rejected(&cut, "weights");
}

#[test]
fn targets_are_read_strictly() {
    let net = |target: &str| Artifact { target: target.into(), ..identity() };
    let plain = identity().target;
    let escapes = r#"{"name":"\n\t\r\/\\\"\u0041 \u00e9","kind""#;
    accepted(&net(&plain.replacen("{\"kind\"", escapes, 1)));
    rejected(&net(&plain.replacen("{\"kind\"", &escapes.replace("u0041", "u00"), 1)), "target");
    accepted(&net(&plain.replace("{\"kind\"", " {\n \"name\" : \"x\", \"text\":\"x\",\t\"kind\"")));
    let edits = [
        ("{\"kind\"", "{\"more\":0,\"kind\""),
        ("{\"kind\"", "{\"kind\":\"expression\",\"kind\""),
        ("{\"kind\"", "{\"name\":1-2,\"kind\""),
        ("{\"kind\"", "{\"name\":1.,\"kind\""),
        ("{\"kind\"", "{\"name\":.5,\"kind\""),
        ("{\"kind\"", "{\"name\":-,\"kind\""),
        ("{\"kind\"", "{\"name\":+1,\"kind\""),
        ("{\"kind\"", "{\"name\":01,\"kind\""),
        ("\"expression\"", "\"program\""),
        ("\"body\"", "\"more\":0,\"body\""),
        ("\"each\"", "\"all\""),
        ("\"token\"", "\"tokens\""),
        ("\"token\"", "{\"number\":\"1\",\"negate\":\"token\"}"),
        ("\"token\"", "{\"number\":\"1/0\"}"),
        ("\"token\"", "{\"number\":\"1/-2\"}"),
        ("\"token\"", "{\"number\":\"0x1\"}"),
        ("\"token\"", "{\"number\":1e3}"),
        ("\"token\"", "{\"number\":.5}"),
        ("\"token\"", "{\"number\":01}"),
        ("\"token\"", "{\"power\":[\"token\",4097]}"),
        ("\"token\"", "{\"power\":[\"token\",-1]}"),
        ("\"token\"", "{\"bound\":\"b\"}"),
        ("\"token\"", "{\"binary\":[\"pow\",\"token\",\"token\"]}"),
        ("\"token\"", "{\"binary\":[\"less\",\"token\",\"token\"]}"),
        ("\"token\"", "{\"call\":[\"exp\",[\"token\",\"token\"]]}"),
        ("\"token\"", "{\"call\":[\"add\",[\"token\",\"token\"]]}"),
        ("\"token\"", "{\"aggregate\":[\"sum\",\"token\"]}"),
        ("\"token\"", "{\"compare\":[\"less\",\"token\",\"token\"]}"),
        ("\"token\"", "\"running\""),
        ("\"token\"", "{\"gather\":\"length\"}"),
        ("\"token\"", "{\"gather\":{\"number\":\"-1\"}}"),
        ("\"token\"", "{\"gather\":{\"number\":\"1/2\"}}"),
        ("\"token\"", "{\"coordinate\":[\"token\",1]}"),
        ("\"token\"", "{\"table\":[\"token\",[0,1]]}"),
        ("\"token\"", "{\"binary\":[\"mod\",\"token\",{\"number\":\"0\"}]}"),
        ("\"token\"", "{\"call\":[\"log\",[\"token\"]]}"),
        ("\"token\"", "{\"call\":[\"sqrt\",[{\"number\":\"-1\"}]]}"),
        ("\"token\"", "{\"aggregate\":[\"mean\",\"token\",{\"compare\":[\"less\",\"token\",{\"number\":\"0\"}]}]}"),
        ("\"token\"", "{\"aggregate\":[\"max\",\"token\",{\"compare\":[\"less\",\"token\",{\"number\":\"0\"}]}]}"),
        ("[0,3]", "[3,3]"),
        ("[0,3]", "[0,3,4]"),
        ("[0,3]", "[0,2147483648]"),
        ("[0,3]", "[-0,3]"),
        ("[0,3]", "[0,3.0]"),
        ("[0,3]", "[0,\"3\"]"),
        // What is typed before anything is evaluated: a branch that is never taken, a filter of no tokens.
        ("\"token\"", "{\"if\":[{\"compare\":[\"equal\",\"length\",\"length\"]},\"token\",\"running\"]}"),
        ("\"token\"", "{\"if\":[{\"compare\":[\"equal\",\"length\",\"length\"]},\"token\",{\"not\":\"token\"}]}"),
        (
            "\"token\"",
            "{\"if\":[{\"compare\":[\"less\",\"length\",\"length\"]},{\"aggregate\":[\"count\",\"token\",null]},\"token\"]}",
        ),
        ("\"token\"", "{\"sort\":{\"negate\":\"token\"}}"),
        ("\"token\"", "{\"sort\":\"index\"}"),
        ("\"token\"", "{\"sort\":{\"coordinate\":[{\"coordinate\":[\"token\",0]},0]}}"),
        ("\"token\"", "{\"number\":\"1/0\"}"),
        ("\"token\"", "{\"number\":\"2/4\"}"),
        ("}}}", "}}} x"),
        ("}}}", "}}"),
    ];
    for (from, to) in edits {
        let target = plain.replacen(from, to, 1);
        assert_ne!(target, plain);
        assert_eq!(obligation(&net(&target).verdict()), "target", "{target}");
    }
}

#[test]
fn targets_are_not_too_deep() {
    let nested = |open: &str, close: &str, depth: usize| {
        let each = format!("{}{TOKEN}{}", open.repeat(depth), close.repeat(depth));
        Artifact { target: on_integers(&each, 0, 3), ..identity() }
    };
    // The expression lies inside of three values, what is negated in it inside of one more each: 256, and 257. An odd number of signs is read, but is no identity.
    accepted(&nested("{\"negate\":", "}", 252));
    rejected(&nested("{\"negate\":", "}", 253), "point");
    rejected(&nested("{\"negate\":", "}", 254), "target");
    rejected(&nested("{\"negate\":", "}", 100_000), "target");
    rejected(&nested("[", "]", 100_000), "target");
}

#[test]
fn masks_show_what_they_say() {
    let shown = |mask: &'static str, target: &str| {
        let head = Head { mask, q: vec![0.0; 2], q_bias: 0.0, k: vec![0.0; 2], v: vec![1.0, 0.0], o: vec![0.0, 1.0] };
        let embed = [(1.0, 0.0), (0.0, 0.0)];
        Artifact::new(on_integers(target, 0, 2), 3, "1/1000000000", &embed, &[0.0, 1.0]).attention(&[head])
    };
    let mean = |filter: &str| format!(r#"{{"aggregate":["mean","token",{filter}]}}"#);
    let compare = |op: &str, a: &str, b: &str| format!(r#"{{"compare":["{op}",{a},{b}]}}"#);
    let (running, index) = (r#""running""#, r#""index""#);
    let apart = r#"{"binary":["sub","running","index"]}"#;
    let number = |x: i8| format!(r#"{{"number":"{x}"}}"#);
    let own = compare("equal", running, index);
    let before = compare("less-equal", running, index);
    let behind = compare("greater-equal", running, index);
    let middle = compare("equal", running, &number(1));
    let late = compare("greater-equal", running, &number(1));
    let early = compare("less-equal", running, &number(1));
    let near =
        format!(r#"{{"or":[{},{}]}}"#, compare("equal", apart, &number(-1)), compare("equal", running, &number(0)));
    let all = [
        ("* * * * no", "null".to_owned()),
        ("0 0 * * no", own),
        ("* 0 * * no", before),
        ("0 * * * no", behind),
        ("* * 1 1 no", middle),
        ("* * 1 * no", late),
        ("* * * 1 no", early),
        ("-1 -1 * * yes", near),
    ];
    for (mask, _) in &all {
        for (other, filter) in &all {
            let claim = shown(mask, &mean(filter));
            if mask == other { accepted(&claim) } else { rejected(&claim, "point") }
        }
    }
}

#[test]
fn expressions_mean_what_the_page_says() {
    // Of the tokens 1 and 2, in this order, among all; the network is constant.
    let is = |e: &str, value: f64| {
        let here =
            |at: u8, is: u8| format!(r#"{{"compare":["equal",{{"gather":{{"number":"{at}"}}}},{{"number":"{is}"}}]}}"#);
        let first = r#"{"compare":["equal","index",{"number":"0"}]}"#;
        let when = format!(r#"{{"and":[{first},{{"and":[{},{}]}}]}}"#, here(0, 1), here(1, 2));
        let each = format!(r#"{{"if":[{when},{e},{{"number":"{value}"}}]}}"#);
        accepted(&Artifact::new(on_integers(&each, 1, 3), 2, "0", &[(0.0, value)], &[1.0]));
        rejected(&Artifact::new(on_integers(&each, 1, 3), 2, "0", &[(0.0, value + 1.0)], &[1.0]), "point");
        let other = each.replacen(&format!("\"number\":\"{value}\""), &format!("\"number\":\"{}\"", value + 1.0), 1);
        if other != each {
            rejected(&Artifact::new(on_integers(&other, 1, 3), 2, "0", &[(0.0, value + 1.0)], &[1.0]), "point");
        }
    };
    let number = |x: &str| format!(r#"{{"number":"{x}"}}"#);
    let binary = |op: &str, a: &str, b: &str| format!(r#"{{"binary":["{op}",{},{}]}}"#, number(a), number(b));
    let call = |f: &str, a: &[&str]| {
        format!(r#"{{"call":["{f}",[{}]]}}"#, a.iter().map(|a| number(a)).collect::<Vec<_>>().join(","))
    };
    let aggregate = |f: &str| format!(r#"{{"aggregate":["{f}","token",null]}}"#);
    is(TOKEN, 1.0);
    is(r#""index""#, 0.0);
    is(r#""length""#, 2.0);
    is(&number("0.5"), 0.5);
    is(&number("-1/4"), -0.25);
    is(r#"{"negate":"length"}"#, -2.0);
    is(r#"{"power":["length",3]}"#, 8.0);
    is(r#"{"power":["length",0]}"#, 1.0);
    is(&binary("add", "3", "5"), 8.0);
    is(&binary("sub", "3", "5"), -2.0);
    is(&binary("mul", "3", "5"), 15.0);
    is(&binary("div", "3", "-4"), -0.75);
    is(&binary("mod", "-7", "3"), 2.0);
    is(&binary("mod", "7", "-3"), 1.0);
    is(&call("abs", &["-3"]), 3.0);
    is(&call("relu", &["-3"]), 0.0);
    is(&call("relu", &["3"]), 3.0);
    is(&call("floor", &["-1/2"]), -1.0);
    is(&call("sqrt", &["9/4"]), 1.5);
    is(&call("exp", &["0"]), 1.0);
    is(&call("min", &["3", "5"]), 3.0);
    is(&call("max", &["3", "5"]), 5.0);
    is(&call("clamp", &["9", "3", "5"]), 5.0);
    is(&call("clamp", &["4", "5", "3"]), 3.0);
    is(&aggregate("sum"), 3.0);
    is(&aggregate("mean"), 1.5);
    is(&aggregate("var"), 0.25);
    is(&aggregate("max"), 2.0);
    is(&aggregate("min"), 1.0);
    is(r#"{"aggregate":["sum","running",null]}"#, 1.0);
    is(r#"{"aggregate":["sum","index",null]}"#, 0.0);
    is(r#"{"aggregate":["count",{"compare":["less-equal","token",{"number":"1"}]},null]}"#, 1.0);
    is(r#"{"aggregate":["sum","token",{"compare":["greater","running","index"]}]}"#, 2.0);
    is(
        r#"{"aggregate":["sum",{"gather":{"binary":["sub",{"number":"1"},"running"]}},{"not":{"compare":["equal","running",{"number":"0"}]}}]}"#,
        1.0,
    );
    is(r#"{"sort":"token"}"#, 1.0);
    is(r#"{"table":["token",["7","8","9"]]}"#, 8.0);
    is(r#"{"coordinate":["token",0]}"#, 1.0);
    for (op, value) in [
        ("less", 1.0),
        ("less-equal", 1.0),
        ("greater", 0.0),
        ("greater-equal", 0.0),
        ("equal", 0.0),
        ("not-equal", 1.0),
    ] {
        is(&format!(r#"{{"if":[{{"compare":["{op}","token","length"]}},{{"number":"1"}},{{"number":"0"}}]}}"#), value);
    }
    for (op, value) in [
        ("less", 0.0),
        ("less-equal", 1.0),
        ("greater", 0.0),
        ("greater-equal", 1.0),
        ("equal", 1.0),
        ("not-equal", 0.0),
    ] {
        is(&format!(r#"{{"if":[{{"compare":["{op}","token","token"]}},{{"number":"1"}},{{"number":"0"}}]}}"#), value);
    }
    is(
        r#"{"if":[{"or":[{"compare":["less","token","index"]},{"compare":["less","index","token"]}]},{"number":"1"},{"number":"0"}]}"#,
        1.0,
    );
}

#[test]
fn an_index_is_whole() {
    let over_box = |e: &str| Artifact::new(on_box(e), 2, "4", &[(1.0, 0.0)], &[1.0]).over_box(1, "0 0");
    accepted(&over_box(r#"{"gather":{"call":["floor",["token"]]}}"#));
    accepted(&over_box(r#"{"gather":{"binary":["sub",{"number":"1"},{"call":["floor",["token"]]}]}}"#));
    // A number between 0 and 1 may be one of them; nothing is said.
    declined(&over_box(r#"{"gather":"token"}"#));
    declined(&over_box(r#"{"table":["token",["0","1"]]}"#));
    // 1 and a little, less than the digits that are kept of what is not exact.
    let near = format!("1{}1/1{}", "0".repeat(99), "0".repeat(100));
    rejected(&over_box(&format!(r#"{{"gather":{{"number":"{near}"}}}}"#)), "target");
}

#[test]
fn functions_are_enclosed() {
    // Constants to 30 digits, and what is claimed of a network that gives the nearest double.
    let near = |e: &str, value: f64| {
        let claim = |value: f64, bound: &str| Artifact::new(on_integers(e, 0, 1), 1, bound, &[(0.0, value)], &[1.0]);
        accepted(&claim(value, "1/1000000000000000"));
        rejected(&claim(value + 4e-15, "1/1000000000000000"), "point");
        rejected(&claim(value - 4e-15, "1/1000000000000000"), "point");
    };
    let call = |f: &str, x: &str| format!(r#"{{"call":["{f}",[{{"number":"{x}"}}]]}}"#);
    near(&call("exp", "1"), std::f64::consts::E);
    near(&call("exp", "-1"), 0.367_879_441_171_442_33);
    near(&call("exp", "-60"), 8.756_510_762_696_52e-27);
    near(&call("log", "2"), std::f64::consts::LN_2);
    near(&call("log", "1/10"), -std::f64::consts::LN_10);
    near(&call("sqrt", "2"), std::f64::consts::SQRT_2);
    near(&call("sqrt", "1/2"), std::f64::consts::FRAC_1_SQRT_2);
    near(&call("tanh", "1/2"), 0.462_117_157_260_009_8);
    near(&call("tanh", "-3"), -0.995_054_753_686_730_5);
    near(&call("tanh", "2000"), 1.0);
    near(&call("sin", "1"), 0.841_470_984_807_896_5);
    near(&call("sin", "-20"), -0.912_945_250_727_627_7);
    near(&call("cos", "1"), 0.540_302_305_868_139_8);
    near(&call("cos", "20"), 0.408_082_061_813_391_96);
}

/// A function of `[0, 1]`, as the target has it and as Rust does.
type Function = (&'static str, fn(f64) -> f64);

const FUNCTIONS: [Function; 26] = [
    (r#"{"negate":"token"}"#, |x| -x),
    (r#"{"binary":["sub",{"number":"1/4"},"token"]}"#, |x| 0.25 - x),
    (r#"{"binary":["div",{"number":"1"},{"binary":["sub","token",{"number":"2"}]}]}"#, |x| 1.0 / (x - 2.0)),
    (r#"{"binary":["div","token",{"binary":["add","token",{"number":"1"}]}]}"#, |x| x / (x + 1.0)),
    (r#"{"power":[{"binary":["sub","token",{"number":"1/4"}]},2]}"#, |x| (x - 0.25).powi(2)),
    (r#"{"power":[{"binary":["sub","token",{"number":"1/4"}]},3]}"#, |x| (x - 0.25).powi(3)),
    (r#"{"call":["abs",[{"binary":["sub","token",{"number":"1/4"}]}]]}"#, |x| (x - 0.25).abs()),
    (r#"{"call":["abs",[{"binary":["sub","token",{"number":"3/4"}]}]]}"#, |x| (x - 0.75).abs()),
    (r#"{"call":["abs",[{"binary":["sub","token",{"number":"2"}]}]]}"#, |x| 2.0 - x),
    (r#"{"call":["relu",[{"binary":["sub","token",{"number":"1/4"}]}]]}"#, |x| (x - 0.25).max(0.0)),
    (r#"{"call":["max",["token",{"number":"1/2"}]]}"#, |x| x.max(0.5)),
    (r#"{"call":["max",[{"number":"1/2"},"token"]]}"#, |x| x.max(0.5)),
    (r#"{"call":["min",["token",{"number":"1/2"}]]}"#, |x| x.min(0.5)),
    (r#"{"call":["min",[{"number":"1/2"},"token"]]}"#, |x| x.min(0.5)),
    (r#"{"call":["clamp",["token",{"number":"1/4"},{"number":"3/4"}]]}"#, |x| x.clamp(0.25, 0.75)),
    (r#"{"call":["floor",[{"binary":["mul","token",{"number":"3"}]}]]}"#, |x| (x * 3.0).floor()),
    (r#"{"binary":["mod",{"call":["floor",[{"binary":["mul","token",{"number":"4"}]}]]},{"number":"2"}]}"#, |x| {
        (x * 4.0).floor() % 2.0
    }),
    (r#"{"call":["exp",["token"]]}"#, f64::exp),
    (r#"{"call":["log",[{"binary":["add","token",{"number":"1/2"}]}]]}"#, |x| (x + 0.5).ln()),
    (r#"{"call":["sqrt",["token"]]}"#, f64::sqrt),
    (r#"{"call":["tanh",[{"binary":["sub","token",{"number":"1/4"}]}]]}"#, |x| (x - 0.25).tanh()),
    (r#"{"call":["sin",[{"binary":["mul","token",{"number":"6"}]}]]}"#, |x| (6.0 * x).sin()),
    (r#"{"call":["cos",[{"binary":["mul","token",{"number":"6"}]}]]}"#, |x| (6.0 * x).cos()),
    (r#"{"table":[{"call":["floor",[{"binary":["mul","token",{"number":"3/2"}]}]]},["1","-1"]]}"#, |x| {
        if x < 2.0 / 3.0 { 1.0 } else { -1.0 }
    }),
    (r#"{"if":[{"compare":["less","token",{"number":"1/3"}]},{"number":"1"},"token"]}"#, |x| {
        if x < 1.0 / 3.0 { 1.0 } else { x }
    }),
    (
        r#"{"if":[{"or":[{"compare":["less","token",{"number":"1/3"}]},{"not":{"compare":["less-equal","token",{"number":"2/3"}]}}]},{"number":"1"},{"number":"0"}]}"#,
        |x| f64::from(u8::from(!(1.0 / 3.0..=2.0 / 3.0).contains(&x))),
    ),
];

#[test]
fn functions_are_enclosed_on_boxes() {
    for (target, f) in FUNCTIONS {
        // Networks that are constant: what is lost in the mean is known well enough, and claimed too small and large enough.
        for constant in [-1.0, 0.5, f(0.0), f(1.0)] {
            let points = (0..4096_u16).map(|k| (f((f64::from(k) + 0.5) / 4096.0) - constant).abs());
            let off = points.sum::<f64>() / 4096.0;
            let thousandths = |x: f64| format!("{:.0}/1009", (x * 1009.0).max(1.0));
            let claim = |bound: f64| {
                Artifact::new(on_box(target), 1, &thousandths(bound), &[(0.0, constant)], &[1.0]).over_box(4, "0 0")
            };
            if off > 0.02 {
                rejected(&claim(0.95 * off), "integral");
            }
            accepted(&claim(1.1 * off + 0.02));
        }
    }
}

#[test]
fn the_parts_must_fit() {
    let over_box = || Artifact::new(on_box(TOKEN), 2, "2", &[(1.0, 0.0)], &[1.0]).over_box(2, "0 0");
    accepted(&over_box());
    rejected(&over_box().with("over", "integers").with("norm", "sup"), "claim");
    rejected(&identity().over_box(2, "0 0"), "claim");
    rejected(&identity().with("tokens", "3 2"), "claim");
    rejected(&identity().with("tokens", "0 2"), "claim");
    rejected(&identity().with("bound", "-1"), "claim");
    rejected(&identity().with("positions", "3"), "claim");
    rejected(&Artifact { target: on_box(TOKEN).replace(r#""0","1""#, r#""1","1""#), ..over_box() }, "claim");
    rejected(&Artifact { target: on_box(TOKEN).replace(r#""0","1""#, r#""1","0""#), ..over_box() }, "claim");
    let two = identity().target.replace(r#"{"each":"token"}"#, r#"{"coordinates":["token","token"]}"#);
    rejected(&Artifact { target: two, ..identity() }, "claim");
    // Masks that show nothing to some token.
    for mask in ["1 * * * no", "* -1 * * no", "* * 2 * no", "* * * -1 no", "0 0 1 1 no", "1 0 * * no"] {
        rejected(&averaging(mask), "claim");
    }
    for mask in ["1 * * * yes", "0 0 * * no", "-1 0 * * no", "* * 1 1 no", "* -1 * * yes"] {
        accepted(&averaging(mask));
    }
    rejected(&averaging("* * 1 * no").with("tokens", "1 2"), "claim");
    // Only the last token of the most sees nothing; or only the first of the fewest does.
    rejected(&averaging("0 * * 0 no").with("tokens", "1 2"), "claim");
    rejected(&averaging("1 * * * no").with("tokens", "1 2"), "claim");
    rejected(&identity().positions(&[&[0.0]]), "claim");
    // Sizes that a kind of attention does not have; with those that it has, tensors that it does not have.
    for (kind, sizes) in [
        ("softmax", "1 0 1 0"),
        ("softmax", "1 1 0 0"),
        ("softmax", "1 1 1 1"),
        ("average", "1 1 1 0"),
        ("average", "1 0 0 0"),
        ("average", "1 0 1 1"),
        ("linformer", "1 1 1 0"),
        ("linformer", "1 0 1 1"),
        ("performer", "1 1 1 0"),
        ("performer", "1 1 0 1"),
    ] {
        let mut net = averaging("* * * * no");
        net.runs[0] = format!("run 1 attention {kind} {sizes}");
        rejected(&net, "claim");
    }
    for (kind, sizes) in [("average", "1 0 1 0"), ("linformer", "1 1 1 1"), ("performer", "1 1 1 1")] {
        let mut net = averaging("* * * * no");
        net.runs[0] = format!("run 1 attention {kind} {sizes}");
        rejected(&net, "weights");
    }
    let mut none = averaging("* * * * no");
    none.runs = vec!["run 1 attention softmax 0 1 1 0".into()];
    rejected(&none, "claim");
    let table = |resolution: usize| {
        format!(
            r#"{{"kind":"table","tokens":1,"dims":1,"output_dims":1,"resolution":{resolution},"symmetry":"none","values":[[["0"]],[["1"]]]}}"#
        )
    };
    let step = |resolution| Artifact::new(table(resolution), 1, "2", &[(1.0, 0.0)], &[1.0]).over_box(2, "0 0");
    accepted(&step(2));
    rejected(&step(3), "target");
    // Of no cells there is nothing that could differ.
    let nothing = table(0).replace(r#"[[["0"]],[["1"]]]"#, "[]");
    rejected(&Artifact::new(nothing, 1, "0", &[(1.0, 0.0)], &[1.0]).over_box(2, "0 0"), "target");
    rejected(&step(2).with("tokens", "2 2"), "claim");
    declined(&step(2).over_box(4, "0 0"));
}

#[test]
fn what_is_not_decided_is_declined() {
    let over_box = || Artifact::new(on_box(TOKEN), 2, "2", &[(1.0, 0.0)], &[1.0]).over_box(2, "0 0");
    declined(&identity().with("badge", "measured"));
    declined(&identity().with("badge", "exact-on-grid"));
    declined(&identity().with("assumptions", "1\nassume the sun rises"));
    declined(&identity().with("norm", "lp 2"));
    declined(&over_box().with("norm", "sup"));
    declined(&over_box().with("over", "space"));
    accepted(&over_box().with("norm", "lp 3/2"));
    declined(&over_box().with("norm", "lp 129/2"));
    accepted(&over_box().with("norm", "lp 64"));
    declined(&over_box().with("norm", "lp 65"));
    declined(&over_box().with("norm", "lp 0"));
    declined(&over_box().with("tokens", "1 2"));
    declined(&over_box().over_box(0, "0 0"));
    let zeros = || Artifact { target: on_integers(TOKEN, 0, 1), ..identity() };
    accepted(&zeros().with("tokens", "1 65"));
    declined(&zeros().with("tokens", "1 66"));
    accepted(&zeros().with("tokens", "4096 4096"));
    declined(&zeros().with("tokens", "4097 4097"));
    // More work than is done, over integers and over a box.
    declined(&identity().with("tokens", "1500 1500"));
    declined(&over_box().over_box(512, "0 0"));
    declined(&Artifact { target: on_integers(TOKEN, 0, 131_073), ..identity() }.with("tokens", "1 1"));
    let masked = averaging("-1 0 * * no");
    declined(&Artifact { target: on_box(TOKEN), ..masked }.over_box(2, "0 0"));
    let head = |mask: &'static str| Head { mask, q: vec![0.0], q_bias: 0.0, k: vec![0.0], v: vec![1.0], o: vec![0.0] };
    accepted(&over_box().attention(&[head("* * * * no"), head("* * * * no")]));
    declined(&over_box().attention(&[head("* * * * no"), head("-1 0 * * no")]));
}

/// An integer has one form: another one is another text for the same target, and the certificate is about texts.
#[test]
fn integers_have_one_form() {
    accepted(&identity());
    for text in ["[-0,3]", "[00,3]", "[0,03]", "[0.0,3]", "[0,3e0]", "[\"0\",3]", "[0,3,4]", "[3,0]", "[0,0]"] {
        let target = on_integers(TOKEN, 0, 3).replace("[0,3]", text);
        rejected(&Artifact { target, ..identity() }, "target");
    }
}

/// Numbers of a header have one form, too, and an escape stands for its character.
#[test]
fn zeros_in_front_and_escapes() {
    assert_eq!(headed(|header| header.replacen("[0,8]", "[0,08]", 1), |data| data), "weights");
    assert_eq!(headed(|header| header.replacen("[0,8]", "[00,8]", 1), |data| data), "weights");
    let named = |name: &str| Artifact { target: on_integers(name, 0, 3), ..identity() };
    accepted(&named(r#""tok\u0065n""#));
    accepted(&named(r#""t\u006fken""#));
    rejected(&named(r#""t\u006gken""#), "target");
    rejected(&named(r#""tok\u0066n""#), "target");
    rejected(&named(r#""tok\u0065en""#), "target");
}

/// A single token sees itself where token 0 is seen in any case.
#[test]
fn one_token_that_a_mask_hides() {
    accepted(&averaging("1 * * * yes").with("tokens", "1 1"));
    rejected(&averaging("1 * * * no").with("tokens", "1 1"), "claim");
}

/// Heads by layers of connections: what is read is as long as the file.
#[test]
fn a_certificate_takes_as_much_memory_as_it_has_lines() {
    let (heads, layers) = (7_000, 17_000);
    let mut net = identity();
    net.runs = vec![format!("run 1 attention softmax {heads} 1 1 0")];
    net.runs.extend(vec!["mask * * * * no".to_owned(); heads]);
    net.runs.push(format!("connections {layers}"));
    net.runs.extend(vec!["sees 0".to_owned(), "sees 1".to_owned()].into_iter().cycle().take(2 * layers));
    rejected(&net, "weights");
    // Without tokens there would be no line for a layer.
    let mut none = net.clone().with("tokens", "0 0");
    none.runs.truncate(1 + heads);
    none.runs.push("connections 2147483647".into());
    rejected(&none, "format");
}

/// Whole numbers are looked for once in every let.
#[test]
fn lets_that_use_one_twice_are_read_once() {
    let twice = |k: usize| format!(r#"{{"call":["max",[{{"bound":"a{k}"}},{{"bound":"a{k}"}}]]}}"#);
    let lets: Vec<String> = (0..64).map(|k| format!(r#",{{"name":"a{}","value":{}}}"#, k + 1, twice(k))).collect();
    let lets = lets.concat();
    let ast = format!(r#""ast":{{"lets":[{{"name":"a0","value":{{"call":["floor",["token"]]}}}}{lets}],"#);
    let target = on_integers(r#"{"gather":{"bound":"a64"}}"#, 0, 2).replacen(r#""ast":{"#, &ast, 1);
    accepted(&Artifact::new(target.clone(), 2, "1", &[(1.0, 0.0)], &[1.0]));
    let over_box = target.replace(r#"{"integers":[0,2]}"#, r#"{"interval":["0","1"]}"#);
    accepted(&Artifact::new(over_box, 2, "4", &[(1.0, 0.0)], &[1.0]).over_box(1, "0 0"));
}

/// A claim that enclosures of the target leave open is not decided; one that is false however narrow they are is
/// rejected.
#[test]
fn a_target_that_is_enclosed_loosely_rejects_nothing() {
    let claim =
        |e: &str, bound: &str, value: f64| Artifact::new(on_integers(e, 0, 2), 2, bound, &[(0.0, value)], &[1.0]);
    let far = r#"{"call":["sin",[{"number":"100000"}]]}"#;
    accepted(&claim(far, "2", 0.0));
    declined(&claim(far, "1/2", 0.0));
    rejected(&claim(far, "1/2", 2.0), "point");
    let power = r#"{"power":[{"power":[{"number":"3"},4096]},4096]}"#;
    declined(&claim(power, "1", 0.0));
    declined(&claim(&format!(r#"{{"call":["log",[{power}]]}}"#), "1", 0.0));
    // A key between two others, at a fifth: 1/5 + 4/5 is 1, and no less.
    let key = r#"{"binary":["add","token",{"binary":["div","index",{"number":"5"}]}]}"#;
    let last =
        r#"{"compare":["less-equal",{"binary":["sub","KEY",{"number":"1/5"}]},"token"]}"#.replace(r#""KEY""#, key);
    let when = format!(r#"{{"if":[{last},{{"number":"1"}},{{"number":"0"}}]}}"#);
    accepted(&claim(&when, "0", 1.0));
    // A bound is compared exactly.
    accepted(&claim(r#"{"number":"1/3"}"#, "1/3", 0.0));
    rejected(&claim(r#"{"number":"1/3"}"#, "333333333333/1000000000000", 0.0), "point");
}
