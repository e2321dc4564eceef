//! Rule *shared units* (CERTIFICATE.md, section 7): curves of one argument that several registers hold.

use super::support::{Artifact, Unit, accepted, declined, rejected};

/// `R(x) + R(x - 1/2)/2` and `R(x - 1/2)`: of two units.
const FIRST: &str = "wire curve 0 1 0 1 x relu x 1/2 sub relu 1/2 mul add";
const SECOND: &str = "wire curve 0 1 0 1 x 1/2 sub relu";

/// The number `a R(x) + b R(x - 1/2)` of a token.
fn target(a: &str, b: &str) -> String {
    let times = |factor: &str, inner: &str| {
        format!(r#"{{"binary":["mul",{{"number":"{factor}"}},{{"call":["relu",[{inner}]]}}]}}"#)
    };
    let (first, second) = (times(a, r#""token""#), times(b, r#"{"binary":["sub","token",{"number":"1/2"}]}"#));
    let each = format!(r#"{{"binary":["add",{first},{second}]}}"#);
    format!(r#"{{"kind":"expression","ast":{{"body":{{"each":{each}}},"domain":{{"interval":["0","1"]}}}}}}"#)
}

/// Two units, what they write into three registers, what these are said to hold, and the output: a register, and its form.
fn network(
    target: String,
    writes: [[f64; 3]; 2],
    curves: [&str; 2],
    holds: [&str; 3],
    (place, output): (usize, &str),
) -> Artifact {
    let rows = writes.map(|[a, b, c]| [0.0, a, b, c]);
    let [first, second] = &rows;
    let read: &[f64] = &[1.0, 0.0, 0.0, 0.0];
    let units: [Unit<'_>; 2] = [(read, 0.0, first), (read, -0.5, second)];
    let mut read_out = [0.0; 4];
    read_out.iter_mut().skip(place).take(1).for_each(|weight| *weight = 1.0);
    let said: Vec<String> = holds
        .iter()
        .zip(1..)
        .filter(|(form, _)| !form.is_empty())
        .map(|(form, at)| format!("holds {at} {form}"))
        .collect();
    let [one, other] = curves;
    let layer = format!("layer 2 {}", said.len());
    let output = format!("output {output}");
    let mut lines = vec!["meanings 3", "wire input 0", one, other, "layers 2", "layer 0 1", "holds 0 0 1 0 1"];
    lines.extend([&layer, "gate 1 0 1 1 1 1 0 0 1 0 1", "gate 2 0 1 2 1 1 1 0 1 0 1"]);
    lines.extend(said.iter().map(String::as_str));
    lines.extend(["outputs 1", &output]);
    let embed = [(1.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)];
    Artifact::new(target, 1, "1/1000000000", &embed, &read_out).forward(&units).meaning(&lines)
}

const SUM: &str = "0 2 1 1 2 1";

#[test]
fn curves_that_are_not_told_apart_are_their_sum() {
    let sum = |second: f64, curve| {
        network(target("1", "3/2"), [[1.0, 0.0, 0.0], [second, 0.0, 0.0]], [FIRST, curve], [SUM, "", ""], (1, SUM))
    };
    accepted(&sum(1.5, SECOND));
    // The units are not the sum.
    declined(&sum(1.25, SECOND));
    declined(&sum(1.0, SECOND));
    declined(&sum(1.500_001, SECOND));
    declined(&sum(1.5, "wire curve 0 1 0 1 x 3/8 sub relu"));
    // Nor is the sum the target.
    let writes = [[1.0, 0.0, 0.0], [1.5, 0.0, 0.0]];
    rejected(&network(target("1", "2"), writes, [FIRST, SECOND], [SUM, "", ""], (1, SUM)), "point");
}

#[test]
fn curves_are_told_apart_by_what_registers_hold_alone() {
    let apart =
        |writes, output| network(target("0", "1"), writes, [FIRST, SECOND], [SUM, "0 1 1 1", "0 1 2 1"], output);
    let told = [[1.0, 1.0, 0.0], [1.5, 0.5, 1.0]];
    accepted(&apart(told, (3, "0 1 2 1")));
    // The last register holds both curves, and is said to hold the second alone.
    declined(&apart([[1.0, 1.0, 1.0], [1.5, 0.5, 1.5]], (3, "0 1 2 1")));
    // It holds the first one.
    declined(&apart([[1.0, 1.0, 1.0], [1.5, 0.5, 0.5]], (3, "0 1 2 1")));
    // It holds nothing, or a little more.
    declined(&apart([[1.0, 1.0, 0.0], [1.5, 0.5, 0.0]], (3, "0 1 2 1")));
    declined(&apart([[1.0, 1.0, 0.0], [1.5, 0.5, 1.000_001]], (3, "0 1 2 1")));
    // What is read is another register than the line says.
    declined(&apart(told, (1, "0 1 2 1")));
}

#[test]
fn a_curve_is_what_is_left_of_a_register_that_holds_another_one_too() {
    // The second curve stands nowhere alone: it is the sum less the first.
    let left = |writes, holds, output| network(target("1", "3/2"), writes, [FIRST, SECOND], holds, output);
    let told = [[1.0, 1.0, 2.0], [1.5, 0.5, 2.0]];
    let holds = [SUM, "0 1 1 1", "0 2 1 2 2 1"];
    accepted(&left(told, holds, (1, SUM)));
    let doubled = network(target("2", "2"), told, [FIRST, SECOND], holds, (3, "0 2 1 2 2 1"));
    accepted(&doubled);
    // Another multiple of the first, or of the second.
    let other = |writes| network(target("2", "2"), writes, [FIRST, SECOND], holds, (3, "0 2 1 2 2 1"));
    declined(&other([[1.0, 1.0, 1.0], [1.5, 0.5, 1.5]]));
    declined(&other([[1.0, 1.0, 2.0], [1.5, 0.5, 2.001]]));
    declined(&other([[1.0, 1.0, 1.999], [1.5, 0.5, 2.0]]));
}

#[test]
fn curves_that_share_units_read_one_thing_and_are_added_with_numbers() {
    let writes = [[1.0, 0.0, 0.0], [1.5, 0.0, 0.0]];
    let sum = || network(target("1", "3/2"), writes, [FIRST, SECOND], [SUM, "", ""], (1, SUM));
    let with = |old: &str, new: &str| {
        let mut artifact = sum();
        artifact.meanings.iter_mut().filter(|line| *line == old).for_each(|line| *line = new.to_owned());
        artifact
    };
    accepted(&sum());
    rejected(&with("gate 2 0 1 2 1 1 1 0 1 0 1", "gate 2 0 1 2 1 1 1 0 1 0 2"), "line");
    rejected(&with("gate 2 0 1 2 1 1 1 0 1 0 1", "gate 2 0 2 0 1 2 1 1 1 0 1 0 1"), "line");
    rejected(&with("gate 2 0 1 2 1 1 1 0 1 0 1", "gate 2 0 1 2 1 1 7 0 1 0 1"), "format");
    // A number besides that no register has.
    rejected(&with("gate 2 0 1 2 1 1 1 0 1 0 1", "gate 2 1 1 2 1 1 1 0 1 0 1"), "line");
    // A curve that no register holds.
    rejected(&with("holds 1 0 2 1 1 2 1", "holds 1 0 1 1 1"), "line");
}
