//! From characters to tokens: numbers, words and symbols, with the places they were read from.
//!
//! A number is digits with an optional fraction and exponent, exact; it has no sign (a sign is an operator) and does
//! not start with a point (`x.5` is coordinate 5). A word is letters, digits and `_`. `#` starts a comment that ends
//! with the line.

use std::fmt;

use super::expr::Span;
use super::print::{MAX_NUMBER, literal};
use crate::error::{Error, Result};
use crate::exact::Rat;

/// The longest text that is read, in bytes.
pub(crate) const MAX_TEXT: usize = 64 * 1024;
/// The deepest nesting that is read, in operators around one place: as much as a stack of 2 MiB holds without
/// optimisation.
pub(crate) const MAX_DEPTH: usize = 192;
/// The number of operators that cost the parser as much stack as a bracket or an `if`.
const BRACKET: usize = 4;

/// The smallest piece of a text that has a meaning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token<'t> {
    /// `12`, `0.5`, `1.5e-3`
    Number(Rat, &'t str),
    /// `x`, `mean`, `if`
    Word(&'t str),
    /// A bound name and the index of its binding; [`super::bind`] makes it from a word.
    Name(usize, &'t str),
    /// `+`, `<=`, `..`
    Symbol(&'static str),
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(_, text) | Self::Word(text) | Self::Name(_, text) => write!(f, "`{text}`"),
            Self::Symbol(symbol) => write!(f, "`{symbol}`"),
        }
    }
}

/// The symbols, longer ones before their prefixes.
const SYMBOLS: [&str; 21] =
    ["<=", ">=", "==", "!=", "..", "**", "=", "+", "-", "*", "/", "^", "<", ">", "(", ")", "[", "]", ",", ";", "."];

/// Characters of other notations, and the spelling to use instead.
const FOREIGN: [(char, &str); 13] = [
    ('≤', "`<=`"),
    ('≥', "`>=`"),
    ('≠', "`!=`"),
    ('!', "`not`, or `!=` for different"),
    ('&', "`and`"),
    ('|', "`or`, or `abs(e)` for an absolute value"),
    ('%', "`mod`"),
    ('−', "`-`"),
    ('×', "`*`"),
    ('·', "`*`"),
    ('÷', "`/`"),
    ('{', "`(` and `)`, or `[` and `]` around output coordinates"),
    (':', "`if c then a else b` for a choice"),
];

/// Reads the tokens of a text, and refuses a text that is too long or too deep for the parser.
pub(crate) fn tokens(text: &str) -> Result<Vec<(Token<'_>, Span)>> {
    if text.len() > MAX_TEXT {
        let headline = format!("the target is {} bytes long", text.len());
        return Err(Error::input(headline).note("limit", format!("{MAX_TEXT} bytes")));
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if first == '#' {
            rest.find('\n').unwrap_or(rest.len())
        } else {
            let (token, length) = token(text, at, first)?;
            tokens.push((token, at..at + length));
            length
        };
        at += length;
    }
    check_depth(text, &tokens, MAX_DEPTH)?;
    Ok(tokens)
}

/// The token that starts at byte `at` with the character `first`, and its length.
fn token(text: &str, at: usize, first: char) -> Result<(Token<'_>, usize)> {
    let rest = &text[at..];
    if first.is_ascii_digit() {
        let length = number_length(rest);
        let span = at..at + length;
        let number = &rest[..length];
        let short = length <= 2 * MAX_NUMBER && exponent(number) <= 2 * MAX_NUMBER;
        let value = short.then(|| number.parse().ok()).flatten().filter(|value| literal(value).is_some());
        let value: Rat = value.ok_or_else(|| {
            Error::input(format!("a number of more than {MAX_NUMBER} digits"))
                .place(text, &span, "this number")
                .note("limit", format!("{MAX_NUMBER} digits, or an exponent of {MAX_NUMBER}"))
        })?;
        return Ok((Token::Number(value, number), length));
    }
    if first.is_alphabetic() || first == '_' {
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        return Ok((Token::Word(&rest[..length]), length));
    }
    if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        return Ok((Token::Symbol(symbol), symbol.len()));
    }
    let error = Error::input(format!("`{}` has no meaning here", first.escape_debug())).place(
        text,
        &(at..at + first.len_utf8()),
        "this character",
    );
    let instead = FOREIGN.iter().find(|(foreign, _)| *foreign == first);
    Err(if let Some((_, instead)) = instead { error.note("try", *instead) } else { error })
}

/// The number of bytes at the start that belong to a number: `12`, `12.5`, `12.5e-3`; in `0..8` the number is `0`.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') && is_digit(end + 1) {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if is_digit(end + 1 + sign) {
            end = digits(end + 1 + sign);
        }
    }
    end
}

/// The size of the exponent of ten.
fn exponent(number: &str) -> usize {
    let exponent = number.split_once(['e', 'E']).map_or("0", |(_, exponent)| exponent.trim_start_matches(['+', '-']));
    exponent.parse().unwrap_or(usize::MAX)
}

/// Refuses a text whose syntax tree could be deeper than `limit`.
///
/// The tree does not exist yet, so its depth is bounded from above, bracket by bracket: the operators between two
/// commas may all stand in one line of descent (`a + b + c` leans to the left, `- - a` to the right), above the deepest
/// bracket among them.
fn check_depth(text: &str, tokens: &[(Token<'_>, Span)], limit: usize) -> Result<()> {
    let mut open: Vec<Bracket> = Vec::new();
    let mut here = Bracket::default();
    for (token, span) in tokens {
        match token {
            Token::Symbol("(" | "[") => open.push(std::mem::take(&mut here)),
            Token::Symbol(")" | "]") => {
                let inside = here.depth();
                here = open.pop().unwrap_or_default();
                here.inside = here.inside.max(inside + BRACKET);
            }
            Token::Symbol("," | ";") => here = Bracket { done: here.depth(), ..Bracket::default() },
            Token::Word("if") => here.operators += BRACKET,
            Token::Word("and" | "or" | "not" | "mod") => here.operators += 1,
            Token::Symbol("=") | Token::Word(_) | Token::Name(..) | Token::Number(..) => {}
            Token::Symbol(_) => here.operators += 1,
        }
        if here.depth().max(open.len() * BRACKET) > limit {
            return Err(Error::input("the target is nested too deeply")
                .place(text, span, "too deep from here on")
                .note("limit", format!("{limit} operators, or {} brackets, around one place", limit / BRACKET))
                .note("try", "fewer brackets, or `table` or `sum` in place of a long row of operators"));
        }
    }
    Ok(())
}

/// A bound on the depth of the tree of one bracket.
#[derive(Default)]
struct Bracket {
    /// The operators since the last comma.
    operators: usize,
    /// The deepest bracket since the last comma.
    inside: usize,
    /// The deepest part before the last comma.
    done: usize,
}

impl Bracket {
    fn depth(&self) -> usize {
        self.done.max(self.operators + self.inside)
    }
}

#[cfg(test)]
mod tests {
    use super::super::expr::{Expr, Expression};
    use super::super::random::{Random, syntax};
    use super::*;

    fn words(text: &str) -> Vec<String> {
        tokens(text).expect("tokens").iter().map(|(token, _)| token.to_string()).collect()
    }

    #[test]
    fn points_belong_to_numbers_coordinates_or_ranges() {
        assert_eq!(words("x.0+1.5"), ["`x`", "`.`", "`0`", "`+`", "`1.5`"]);
        assert_eq!(words("0..8"), ["`0`", "`..`", "`8`"]);
        assert_eq!(words("2e3 2e x2"), ["`2e3`", "`2`", "`e`", "`x2`"]);
        assert_eq!(words("x # 1 ( \n#\n<=<"), ["`x`", "`<=`", "`<`"]);
    }

    #[test]
    fn places_are_those_of_the_text() {
        let text = "  x\n<= 0.5";
        let slices: Vec<&str> = tokens(text).expect("tokens").into_iter().map(|(_, span)| &text[span]).collect();
        assert_eq!(slices, ["x", "<=", "0.5"]);
    }

    #[test]
    fn what_would_exhaust_the_stack_is_refused() {
        let deep = |text: String| tokens(&text).expect_err("too deep").headline().to_string();
        let many = 20_000;
        for text in [
            "(".repeat(many),
            "(".repeat(many) + "x" + &")".repeat(many),
            "x[".repeat(many),
            "-".repeat(many) + "x",
            "not ".repeat(many / 2) + "x",
            "x".to_string() + &"+x".repeat(many),
            "if x then ".repeat(many / 4),
            format!("(x{}){}", "+x".repeat(100), "+x".repeat(100)),
            format!("max(x{}, 1){}", "+x".repeat(100), "+x".repeat(100)),
        ] {
            assert_eq!(deep(text), "the target is nested too deeply");
        }
        assert_eq!(deep("(".repeat(100_000)), "the target is 100000 bytes long");
        assert!(tokens(&("x".to_string() + &"+x".repeat(MAX_DEPTH))).is_ok());
        assert!(tokens(&("(".repeat(MAX_DEPTH / BRACKET) + "x" + &")".repeat(MAX_DEPTH / BRACKET))).is_ok());
        assert!(tokens(&format!("table(x; 1{})", ", -1".repeat(10_000))).is_ok());
    }

    #[test]
    fn no_tree_is_deeper_than_its_tokens_say() {
        fn depth(expr: &Expr) -> usize {
            expr.parts().into_iter().map(|part| 1 + depth(part)).max().unwrap_or(0)
        }
        let bound = |text: &str| {
            let read = tokens(text).expect("tokens");
            (0..MAX_DEPTH).find(|limit| check_depth(text, &read, *limit).is_ok()).expect("a bound")
        };
        for seed in 0..500 {
            let random = &mut Random::new(seed);
            let size = random.below(7);
            let text = syntax(random, size, 0).to_string();
            let read = Expression::parse(&text).expect("a target");
            assert!(depth(&read.body.exprs()[0]) <= bound(&text), "{text}");
        }
    }
}
