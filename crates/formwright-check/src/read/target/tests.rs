//! Conditions and indices on ranges, against all their points; counts of work; dependence on places.

#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used)]

use dashu_int::IBig;

use super::{Fault, Number, Scope, Target, compared, modulo};
use crate::kernel::number::{Dyadic, Range};
use crate::read::json::Json;

/// From halves to halves.
fn halves(lo: i64, hi: i64) -> Range {
    Range { lo: Dyadic::new(IBig::from(lo), -1), hi: Dyadic::new(IBig::from(hi), -1) }
}

fn whole(lo: i64, hi: i64) -> Range {
    halves(2 * lo, 2 * hi)
}

fn number(lo: i64, hi: i64) -> Number {
    Number::of(whole(lo, hi))
}

#[test]
fn comparisons_of_ranges_are_known_if_all_points_agree() {
    let all: Vec<[i64; 2]> = (0..4).flat_map(|lo| (lo..4).map(move |hi| [lo, hi])).collect();
    for [a, b] in &all {
        for [c, d] in &all {
            let pairs = || (2 * a..=2 * b).flat_map(|x| (2 * c..=2 * d).map(move |y| (x, y)));
            let holds = |op: &str, (x, y): (i64, i64)| match op {
                "less" => x < y,
                "less-equal" => x <= y,
                "greater" => x > y,
                "greater-equal" => x >= y,
                "equal" => x == y,
                _ => x != y,
            };
            for op in super::COMPARISONS {
                let known = if pairs().all(|pair| holds(op, pair)) {
                    Some(true)
                } else {
                    pairs().all(|pair| !holds(op, pair)).then_some(false)
                };
                assert_eq!(compared(op, &number(*a, *b), &number(*c, *d)), known, "[{a}, {b}] {op} [{c}, {d}]");
            }
        }
    }
    assert_eq!(compared("and", &number(0, 0), &number(1, 1)), None);
}

#[test]
fn remainders_lie_below_the_divisor() {
    assert_eq!(modulo(&number(7, 7), &number(-3, -3)), Some(number(1, 1)));
    assert_eq!(modulo(&number(-7, -7), &number(3, 3)), Some(number(2, 2)));
    assert_eq!(modulo(&number(7, 8), &number(3, 3)), Some(number(0, 3)));
    assert_eq!(modulo(&number(7, 7), &number(2, 3)), Some(number(0, 3)));
    assert_eq!(modulo(&number(7, 7), &number(-3, -2)), Some(number(0, 3)));
    for divisor in [number(0, 0), number(-1, 1), number(0, 2), number(-2, 0)] {
        assert_eq!(modulo(&number(7, 7), &divisor), None, "{divisor:?}");
    }
}

#[test]
fn what_is_whole_is_whole_for_all_inputs() {
    let is_whole = |text: &str| parsed(text, &["w", "b"]).is_whole(&[true, false]);
    for text in [
        r#""index""#,
        r#""length""#,
        r#""running""#,
        r#"{"number":"3"}"#,
        r#"{"call":["floor",["token"]]}"#,
        r#"{"bound":"w"}"#,
        r#"{"gather-bound":["w","index"]}"#,
        r#"{"sort":{"bound":"w"}}"#,
        r#"{"power":["index",3]}"#,
        r#"{"coordinate":[{"bound":"w"},0]}"#,
        r#"{"table":["token",["1","2"]]}"#,
        r#"{"if":[{"compare":["less","token","index"]},"index","length"]}"#,
        r#"{"binary":["add","index","length"]}"#,
        r#"{"aggregate":["count",{"compare":["less","token","index"]},null]}"#,
        r#"{"aggregate":["sum","running",null]}"#,
    ] {
        assert!(is_whole(text), "{text}");
    }
    for text in [
        r#""token""#,
        r#"{"number":"1/2"}"#,
        r#"{"number":"1/3"}"#,
        r#"{"bound":"b"}"#,
        r#"{"gather":"index"}"#,
        r#"{"gather-bound":["b","index"]}"#,
        r#"{"sort":"token"}"#,
        r#"{"table":["index",["1","1/2"]]}"#,
        r#"{"if":[{"compare":["less","token","index"]},"token","length"]}"#,
        r#"{"if":[{"compare":["less","token","index"]},"length","token"]}"#,
        r#"{"binary":["add","index","token"]}"#,
        r#"{"binary":["div","index","length"]}"#,
        r#"{"call":["exp",["index"]]}"#,
        r#"{"aggregate":["mean","index",null]}"#,
        r#"{"aggregate":["var","index",null]}"#,
        r#"{"aggregate":["max","token",null]}"#,
    ] {
        assert!(!is_whole(text), "{text}");
    }
}

fn parsed(text: &str, names: &[&str]) -> super::Expr {
    let names = names.iter().enumerate().map(|(place, name)| ((*name).to_owned(), place)).collect();
    Scope { names, dims: 1 }.number(&Json::parse(text.as_bytes()).unwrap(), true).unwrap()
}

fn read(lets: &str, body: &str, dims: usize) -> Result<Target, String> {
    let text = format!(
        r#"{{"kind":"expression","ast":{{"lets":[{lets}],"body":{{{body}}},"domain":{{"interval":["0","1"]}}}}}}"#
    );
    Target::read(text.as_bytes(), dims)
}

fn each(e: &str) -> Target {
    read("", &format!(r#""each":{e}"#), 1).unwrap()
}

#[test]
fn an_index_names_places_that_there_are() {
    let at = |e: &str, range: &Range| {
        let output = each(e).output(&[vec![range.clone()], vec![whole(5, 5)]], 0)?;
        Ok::<_, Fault>(output.iter().map(Number::range).collect::<Vec<_>>())
    };
    let table = r#"{"table":[{"call":["floor",["token"]]},["7","9","11"]]}"#;
    assert_eq!(at(table, &whole(0, 0)), Ok(vec![whole(7, 7)]));
    assert_eq!(at(table, &halves(0, 3)), Ok(vec![whole(7, 9)]));
    assert_eq!(at(table, &whole(1, 2)), Ok(vec![whole(9, 11)]));
    for range in [whole(0, 3), whole(3, 3), whole(-1, 0), whole(-1, -1), whole(-1, 4)] {
        assert!(at(table, &range).is_err(), "{range}");
        // If no place is meant, the table has no value; if some may be, nothing is said.
        let none = range.hi.is_negative() || range.lo >= whole(3, 3).lo;
        assert_eq!(matches!(at(table, &range), Err(Fault::Undefined(_))), none, "{range}");
    }
    let gather = r#"{"gather":{"call":["floor",["token"]]}}"#;
    assert_eq!(at(gather, &halves(0, 1)), Ok(vec![halves(0, 1)]));
    assert_eq!(at(gather, &halves(0, 2)), Ok(vec![halves(0, 10)]));
    assert!(at(gather, &whole(0, 2)).is_err());
}

#[test]
fn what_is_not_decided_counts_perhaps() {
    let count = |range: &Range| {
        let e = r#"{"aggregate":["count",{"compare":["less","token",{"number":"1"}]},null]}"#;
        let output = each(e).output(&[vec![range.clone()], vec![whole(0, 0)]], 0).unwrap();
        output.iter().map(Number::range).collect::<Vec<_>>()
    };
    assert_eq!(count(&whole(0, 0)), [whole(2, 2)]);
    assert_eq!(count(&whole(1, 1)), [whole(1, 1)]);
    assert_eq!(count(&whole(0, 1)), [whole(1, 2)]);
    // A filter has to be decided.
    let filtered = each(r#"{"aggregate":["sum","token",{"compare":["less","token",{"number":"1"}]}]}"#);
    assert!(matches!(filtered.output(&[vec![whole(0, 1)]], 0), Err(Fault::Unclear(_))));
}

#[test]
fn coordinates_are_those_of_the_token() {
    let input = [vec![whole(3, 3), whole(4, 4)]];
    let output = |body: &str| {
        let output = read("", body, 2).unwrap().output(&input, 0).unwrap();
        output.iter().map(Number::range).collect::<Vec<_>>()
    };
    assert_eq!(output(r#""each":"token""#), [whole(3, 3), whole(4, 4)]);
    assert_eq!(output(r#""coordinates":["token"]"#), [whole(3, 3)]);
    assert_eq!(output(r#""coordinates":[{"coordinate":["token",1]},"token"]"#), [whole(4, 4), whole(3, 3)]);
    // One expression among others asks for a coordinate that does not exist.
    let one = r#"{"name":"b","value":"token"}"#;
    assert!(read(one, r#""each":{"coordinate":["token",1]}"#, 2).is_ok());
    assert!(read(one, r#""each":{"coordinate":["token",2]}"#, 2).is_err());
    assert!(read(r#"{"name":"b","value":{"coordinate":["token",2]}}"#, r#""each":"token""#, 2).is_err());
}

#[test]
fn objects_have_the_fields_that_are_known() {
    assert!(read(r#"{"name":"b","value":"token"}"#, r#""each":"token""#, 1).is_ok());
    assert!(read(r#"{"name":"b","value":"token","more":0}"#, r#""each":"token""#, 1).is_err());
    let table = |more: &str| {
        let text = format!(
            r#"{{"kind":"table",{more}"tokens":1,"dims":1,"output_dims":1,"resolution":2,"symmetry":"none","values":[[["0"]],[["1"]]]}}"#
        );
        Target::read(text.as_bytes(), 1)
    };
    assert!(table("").is_ok() && table(r#""name":"t","#).is_ok() && table(r#""text":1e5,"#).is_ok());
    assert!(table(r#""more":0,"#).is_err());
    assert!(!table("").unwrap().is_order_free() && !table("").unwrap().is_equivariant());
}

#[test]
fn domains_and_exponents_have_limits() {
    let integers = |from: i64, to: i64| {
        let text = format!(
            r#"{{"kind":"expression","ast":{{"body":{{"each":"token"}},"domain":{{"integers":[{from},{to}]}}}}}}"#
        );
        Target::read(text.as_bytes(), 1).is_ok()
    };
    let most = (1 << 31) - 1;
    assert!(integers(most - 1, most) && integers(-most, 1 - most) && integers(-most, most));
    assert!(!integers(most, most + 1) && !integers(-most - 1, -most) && !integers(3, 3) && !integers(3, 2));
    assert!(read("", r#""each":{"power":["token",4096]}"#, 1).is_ok());
    assert!(read("", r#""each":{"power":["token",4097]}"#, 1).is_err());
}

#[test]
fn operations_are_counted() {
    // Every node counts once, and so do the body and the lets; work for all tokens counts once per token, and entries
    // count.
    let work = |lets: &str, e: &str| read(lets, &format!(r#""each":{e}"#), 1).unwrap().work(10);
    assert_eq!(work("", r#""token""#), 2 + 10);
    assert_eq!(work("", r#"{"negate":"token"}"#), 3 + 10);
    assert_eq!(work("", r#"{"gather":"index"}"#), 3 + 10 + 10);
    assert_eq!(work("", r#"{"table":["token",["1","2","3"]]}"#), 3 + 3 + 10);
    assert_eq!(work("", r#"{"aggregate":["sum","token",null]}"#), 1 + 2 * 10 + 10);
    assert_eq!(work("", r#"{"sort":"token"}"#), 1 + 2 * 10 + 10);
    assert_eq!(work(r#"{"name":"b","value":{"negate":"token"}}"#, r#""token""#), 2 + 3 * 10);
}

#[test]
fn the_order_of_tokens_is_seen_or_not() {
    let free = |lets: &str, e: &str| {
        let target = read(lets, &format!(r#""each":{e}"#), 1).unwrap();
        (target.is_order_free(), target.is_equivariant())
    };
    let one = |e: &str| format!(r#"{{"name":"b","value":{e}}}"#);
    let token = r#""token""#;
    assert_eq!(free("", token), (true, true));
    assert_eq!(free(&one(token), r#"{"bound":"b"}"#), (true, true));
    assert_eq!(free(&one(r#"{"gather":"index"}"#), r#"{"bound":"b"}"#), (true, true));
    // The place of the token itself matters, the order of the others does not.
    assert_eq!(free("", r#""index""#), (true, false));
    assert_eq!(free("", r#"{"sort":"token"}"#), (true, false));
    let zero = r#"{"gather":{"number":"0"}}"#;
    for e in [zero, r#"{"aggregate":["sum","running",null]}"#] {
        assert_eq!(free("", e), (false, false), "{e}");
        assert_eq!(free(&one(e), token), (false, false), "{e} in a let");
        assert_eq!(free(&one(token), e), (false, false), "{e} behind a let");
    }
    assert_eq!(free(&one(r#""index""#), token), (false, false));
    // One output of two is enough.
    for body in [r#""coordinates":["token","index"]"#, r#""coordinates":["index","token"]"#] {
        let target = read("", body, 1).unwrap();
        assert!(target.is_order_free() && !target.is_equivariant(), "{body}");
    }
}

/// Tells undefined expressions from undecided ones at a point.
#[test]
fn what_has_no_value_is_told_from_what_is_not_decided() {
    let at = |e: &str, range: &Range| each(e).output(&[vec![range.clone()]], 0);
    let over = |f: &str, a: &str| format!(r#"{{"binary":["{f}",{{"number":"1"}},{a}]}}"#);
    let call = |f: &str| format!(r#"{{"call":["{f}",["token"]]}}"#);
    for (e, undefined, open, defined) in [
        (over("div", r#""token""#), whole(0, 0), whole(-1, 1), whole(1, 2)),
        (over("mod", r#""token""#), whole(0, 0), whole(0, 1), whole(-2, -1)),
        (call("log"), whole(-1, 0), whole(0, 1), halves(1, 2)),
        (call("sqrt"), whole(-2, -1), whole(-1, 0), whole(0, 1)),
        (r#"{"gather":{"call":["floor",["token"]]}}"#.to_owned(), whole(1, 2), whole(0, 1), halves(0, 1)),
    ] {
        assert!(matches!(at(&e, &undefined), Err(Fault::Undefined(_))), "{e} on {undefined}");
        assert!(matches!(at(&e, &open), Err(Fault::Unclear(_))), "{e} on {open}");
        assert!(at(&e, &defined).is_ok(), "{e} on {defined}");
    }
    // A branch that may not be taken may be undefined.
    let choice = |range: &Range| {
        let quotient = over("div", r#"{"number":"0"}"#);
        at(&format!(r#"{{"if":[{{"compare":["less","token",{{"number":"0"}}]}},{quotient},"token"]}}"#), range)
    };
    assert!(choice(&whole(0, 1)).is_ok());
    assert!(matches!(choice(&whole(-1, 1)), Err(Fault::Unclear(_))));
    assert!(matches!(choice(&whole(-2, -1)), Err(Fault::Undefined(_))));
}

/// At a point everything that is rational is exact.
#[test]
fn at_a_point_fractions_are_not_rounded() {
    let at = |e: &str| {
        let output = each(e).output(&[vec![whole(2, 2)], vec![whole(3, 3)], vec![whole(5, 5)]], 1);
        output.unwrap().first().cloned().unwrap()
    };
    let exact = |text: &str| Number::Exact(super::Ratio::number(text).unwrap());
    let third = r#"{"number":"1/3"}"#;
    let op = |f: &str, a: &str, b: &str| format!(r#"{{"binary":["{f}",{a},{b}]}}"#);
    let zero = op("sub", third, third);
    for (e, value) in [
        (op("add", third, third), "2/3"),
        (op("mul", third, third), "1/9"),
        (op("div", third, r#""token""#), "1/9"),
        (op("mod", r#""token""#, r#"{"number":"2/7"}"#), "1/7"),
        (zero.clone(), "0"),
        (format!(r#"{{"call":["sqrt",[{zero}]]}}"#), "0"),
        (format!(r#"{{"call":["sqrt",[{}]]}}"#, op("mul", third, third)), "1/3"),
        (format!(r#"{{"call":["exp",[{zero}]]}}"#), "1"),
        (format!(r#"{{"call":["cos",[{zero}]]}}"#), "1"),
        (format!(r#"{{"call":["sin",[{zero}]]}}"#), "0"),
        (format!(r#"{{"call":["tanh",[{zero}]]}}"#), "0"),
        (r#"{"call":["log",[{"number":"1"}]]}"#.to_owned(), "0"),
        (r#"{"aggregate":["mean","token",null]}"#.to_owned(), "10/3"),
        (r#"{"aggregate":["var","token",null]}"#.to_owned(), "14/9"),
        (format!(r#"{{"power":[{third},3]}}"#), "1/27"),
        (format!(r#"{{"call":["floor",[{}]]}}"#, op("mul", third, r#""token""#)), "1"),
        (format!(r#"{{"if":[{{"compare":["equal",{third},{third}]}},{third},"token"]}}"#), "1/3"),
    ] {
        assert_eq!(at(&e), exact(value), "{e}");
    }
}
