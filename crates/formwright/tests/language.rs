//! Every line of the blocks in LANGUAGE.md does what the page says.

use formwright::error::Result;
use formwright::exact::Rat;
use formwright::target::{Checked, Expression, Source};

const PAGE: &str = include_str!("../../../LANGUAGE.md");

/// The lines of the blocks of one kind, each with what its comment says.
fn lines(kind: &str) -> Vec<(&'static str, &'static str)> {
    let blocks = PAGE.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix(kind));
    blocks.flat_map(str::lines).filter_map(|line| line.split_once('#')).collect()
}

fn sequence(text: &str) -> Vec<Vec<Rat>> {
    let token = |token: &str| token.split_whitespace().map(|value| value.parse().expect("a number")).collect();
    text.split(';').map(token).collect()
}

fn checked(text: &str, dims: usize) -> Result<Checked> {
    Expression::parse(text)?.check(dims)
}

#[test]
fn every_example_gives_what_the_page_says() {
    let examples = lines("target\n");
    assert!(examples.len() >= 50, "only {} examples", examples.len());
    for (text, comment) in examples {
        let (x, exact, y) = match (comment.split_once('→'), comment.split_once('≈')) {
            (Some((x, y)), None) => (x, true, y),
            (None, Some((x, y))) => (x, false, y),
            _ => panic!("{text}: the comment needs an arrow"),
        };
        let (x, y) = (sequence(x), sequence(y));
        let target = checked(text, x[0].len()).unwrap_or_else(|error| panic!("{text}\n{error}"));
        if exact {
            assert_eq!(target.evaluate_exact(&x), Ok(y.clone()), "{text}");
        }
        let doubles = |tokens: &[Vec<Rat>]| -> Vec<Vec<f64>> {
            tokens.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect()
        };
        let found = target.evaluate_f64(&doubles(&x));
        assert_eq!(found.len(), y.len(), "{text}");
        for (found, said) in found.into_iter().flatten().zip(doubles(&y).into_iter().flatten()) {
            assert!((found - said).abs() < 1e-12, "{text}: {found} and {said}");
        }
        let printed = target.expression().to_string();
        assert_eq!(Expression::parse(&printed).as_ref(), Ok(target.expression()), "{text} and {printed}");
        let file = Source::expression("example", text).expect("a target").to_json();
        let again = Source::from_json("target.json", &file).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!(again.text(), Some(printed), "{text}");
    }
}

#[test]
fn every_refusal_uses_the_words_of_the_page() {
    let refusals = lines("refused\n");
    assert!(refusals.len() >= 20, "only {} refusals", refusals.len());
    for (text, headline) in refusals {
        let error = checked(text, 2).expect_err(text);
        assert_eq!(error.headline(), headline.trim(), "{text}");
    }
}

#[test]
fn every_name_of_the_language_has_an_example() {
    use formwright::target::expr::{Aggregate, BinaryOp, CompareOp, Function};
    let examples = lines("target\n").into_iter().map(|(text, _)| text).collect::<Vec<_>>().join("\n");
    let operators = BinaryOp::ALL.iter().map(|op| op.name()).chain(CompareOp::ALL.iter().map(|op| op.name()));
    let calls = Function::ALL.iter().map(|name| name.name()).chain(Aggregate::ALL.iter().map(|name| name.name()));
    let calls = calls.chain(["sort", "attend", "table"]).map(|name| format!("{name}("));
    let words =
        ["if", "and", "or", "not", "on [", "on integers", "x[", "x.", "i", "j", "n", "^", "let"].map(String::from);
    for name in operators.map(|op| format!(" {op} ")).chain(calls).chain(words) {
        assert!(examples.contains(&name), "no example of `{name}`");
    }
}
