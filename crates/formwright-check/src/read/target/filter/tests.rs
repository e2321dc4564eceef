//! Masks of filters against the filters themselves, pair by pair.

#![allow(clippy::expect_used, clippy::arithmetic_side_effects)]

use super::{Expr, Number, mask};
use crate::kernel::number::Ratio;

fn word(word: &str) -> Expr {
    Expr::Word(word.to_owned())
}

fn number(twice: i64) -> Expr {
    let text = if twice % 2 == 0 { (twice / 2).to_string() } else { format!("{twice}/2") };
    Expr::Number(Number::Exact(Ratio::rational(&text).expect("a number")))
}

fn apply(name: &str, a: Expr, b: Expr) -> Expr {
    Expr::Apply(name.to_owned(), vec![a, b])
}

const OPS: [&str; 5] = ["less", "less-equal", "greater", "greater-equal", "equal"];

fn holds(op: &str, apart: i64) -> bool {
    match op {
        "less" => apart < 0,
        "less-equal" => apart <= 0,
        "greater" => apart > 0,
        "greater-equal" => apart >= 0,
        _ => apart == 0,
    }
}

/// Two forms of `twice` the difference of two sides, by `j` and `i`, and the comparison that it stands in.
fn sides(shape: usize, twice: i64) -> (Expr, Expr, fn(i64, i64) -> i64) {
    let (i, j) = (|| word("index"), || word("running"));
    match shape {
        0 => (j(), apply("add", i(), number(twice)), |i, j| 2 * (j - i)),
        1 => (apply("sub", i(), number(twice)), j(), |i, j| 2 * (i - j)),
        2 => (j(), number(twice), |_, j| 2 * j),
        _ => (number(-twice), j(), |_, j| -2 * j),
    }
}

#[test]
fn a_mask_shows_what_its_filter_lets_through() {
    for shape in 0..4 {
        for twice in -5..=5 {
            for op in OPS {
                for (other, bound) in [("less-equal", 2), ("greater", -3)] {
                    let (a, b, apart) = sides(shape, twice);
                    let (c, d, _) = sides(0, bound);
                    let both = apply("and", apply(op, a, b), apply(other, c, d));
                    let mask = mask(&both).expect("a mask");
                    for i in 0..7_usize {
                        for j in 0..7_usize {
                            let (x, y) = (i64::try_from(i).expect("small"), i64::try_from(j).expect("small"));
                            let wanted = holds(op, apart(x, y) - twice) && holds(other, 2 * (y - x) - bound);
                            assert_eq!(mask.sees(i, j), wanted, "{shape} {twice}/2 {op} {other}: {i} {j}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn other_filters_are_no_masks() {
    let (i, j) = (|| word("index"), || word("running"));
    let one = || number(2);
    for filter in [
        apply("less", word("token"), one()),
        apply("less", apply("add", j(), i()), one()),
        apply("less", i(), one()),
        apply("not-equal", j(), i()),
        apply("or", apply("less", j(), i()), apply("less", j(), one())),
        apply("less", apply("add", j(), j()), one()),
        apply("less", apply("mul", j(), one()), one()),
        j(),
    ] {
        assert!(mask(&filter).is_none(), "{filter:?}");
    }
}
