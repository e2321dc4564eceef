//! The messages when a target is refused: every message whole, to be judged by reading it.

use formwright::error::{Error, ErrorKind, Result};
use formwright::exact::Rat;
use formwright::target::{Checked, Expression};

/// The messages for some texts, each below its text.
fn messages<'t>(texts: impl IntoIterator<Item = &'t str>, refuse: impl Fn(&str) -> Error) -> String {
    let message = |text: &str| format!("> {}\nerror: {}\n", text.replace('\n', "\n> "), refuse(text));
    texts.into_iter().map(message).collect::<Vec<_>>().join("\n")
}

fn checked(text: &str, dims: usize) -> Result<Checked> {
    Expression::parse(text)?.check(dims)
}

#[test]
fn texts_that_cannot_be_read() {
    let texts = [
        "",
        "# only a comment",
        "x +",
        "x + * 2",
        "x + )",
        "(x - mean(x)",
        "[x.0, (x.1 + 1]",
        "x - mean(x))",
        "2x",
        "(x + 1)(x - 1)",
        "x - meen(x)",
        "softmax(x)",
        "y",
        "x = 1",
        "x ≤ 1/2",
        "x ** 2",
        "x^2^3",
        "x^-1",
        "x^i",
        "x^0.5",
        "0 < x < 1",
        "if x > 0 then 1",
        "if x > 0, 1, 2",
        "sum",
        "sum()",
        "sum(x, j <= i, 2)",
        "sort(x, x)",
        "table(x, 1, 2) on integers 0..2",
        "table(x; 1, y) on integers 0..2",
        "x.y",
        "x.0.5",
        "i[0]",
        "x on",
        "x on (0, 1)",
        "x on [0, 1/0]",
        "x on integers 0..1/2",
        "x on integers 8",
        "x on [0, 1] + 1",
        "1e999",
        "x $ 2",
        "x - mean(x)\n  # the scale\n  / sqrt(var x)",
        "let b = 2 * x",
        "let b = 2 * x b + 1",
        "let b = 2 * x, b + 1",
        "let b 2 * x; b",
        "let 3 = x; x",
        "let x = 3; x",
        "let mean = x; x",
        "let b = x; let b = 2; b",
        "let b = b + 1; b",
        "let total = sum(x); x / totl",
        "b = x; b",
        "x + (let b = x; b)",
        "let b = [x, x]; b",
        "let b = x on [0, 2]; b",
        "let b = x; b c",
        "let b = x; b(x)",
    ];
    insta::assert_snapshot!(messages(texts, |text| Expression::parse(text).expect_err(text)));
}

#[test]
fn texts_beyond_the_limits() {
    let row = "x".to_string() + &" + x".repeat(300);
    insta::assert_snapshot!(Expression::parse(&row).expect_err("too deep"));
    let brackets = "(".repeat(1000) + "x" + &")".repeat(1000);
    insta::assert_snapshot!(Expression::parse(&brackets).expect_err("too deep"));
    let long = "x".repeat(100_000);
    insta::assert_snapshot!(Expression::parse(&long).expect_err("too long"));
}

#[test]
fn targets_that_mean_nothing() {
    let texts = [
        "x > 1/2",
        "if x then 1 else 0",
        "x + (x < 1)",
        "count(x)",
        "x and i == 0",
        "[x, x.0]",
        "x.2",
        "[x.0, x[i].7]",
        "x[x.0]",
        "x[floor(x)]",
        "x[i / 2]",
        "count(x == x[i])",
        "i mod x.0",
        "table(x; 1, 2)",
        "j",
        "mean(x) + j",
        "sum(x, x > 0)",
        "mean(x, j < n)",
        "mean(x, j < i or j > i)",
        "sort(x + 1)",
        "mean(sort(x))",
        "exp(x, 2)",
        "max(x, 0, 1)",
        "clamp(x, 1)",
        "x^5000",
        "x / 0",
        "x on [1, 0]",
        "x on integers 8..8",
        "sum(\n  x.0 * x.1,\n  x.0 > x.1\n)",
        "let b = x + j; b",
        "let b = x > 0; b",
        "let b = x.0 / 2; x[b]",
        "let b = mean(x.0); b.0",
        "let b = x; b.2",
        "let b = x; [b]",
        "let b = x; sort(b + 1)",
        "let b = i; sum(x, j < b)",
    ];
    insta::assert_snapshot!(messages(texts, |text| checked(text, 2).expect_err(text)));
    insta::assert_snapshot!(checked("x", 0).expect_err("no coordinates"));
    insta::assert_snapshot!(checked("x.1", 1).expect_err("no such coordinate"));
}

#[test]
fn targets_without_a_value() {
    let texts = [
        "1 / x",
        "mean(1 / x)",
        "x[i + 1]",
        "table(x; 7, 8) on integers 0..9",
        "mean(x, j < i)",
        "i mod x on integers 0..9",
        "log(x - 1)",
        "exp(x)",
        "sqrt(x) + 1",
        "let b = 1 / x; x",
        "let b = 2 * x; mean(b[i + 1])",
    ];
    let x = [vec![Rat::from(2)], vec![Rat::ZERO]];
    insta::assert_snapshot!(messages(texts, |text| {
        checked(text, 1).and_then(|target| target.evaluate_exact(&x)).expect_err(text)
    }));
}

#[test]
fn targets_without_a_range() {
    let texts = [
        "1 / (x - mean(x))",
        "x[i - 1]",
        "table(x; 7, 8) on integers 0..3",
        "1 / exp(x)",
        "let b = x - mean(x); 1 / b",
    ];
    insta::assert_snapshot!(messages(texts, |text| {
        checked(text, 1).and_then(|target| target.range_exact(3)).expect_err(text)
    }));
}

#[test]
fn a_target_built_by_a_program_is_refused_without_a_place() {
    let mut target = Expression::parse("x[i / 2]").expect("a target");
    target.source = formwright::target::expr::Source::default();
    let error = target.check(1).expect_err("a fraction as index");
    assert_eq!(error.kind(), ErrorKind::Input);
    assert!(error.notes().iter().all(|(label, _)| *label != "at"));
}
