//! The errors of a text that does not follow the grammar.
//!
//! The parser knows which token it found and which ones it expected. Here this becomes a sentence, a place and, for the
//! usual slips, one suggestion.

use chumsky::error::{Rich, RichPattern, RichReason};
use chumsky::span::SimpleSpan;

use super::catalogue;
use super::expr::{Aggregate, CompareOp, Function, Span};
use super::token::Token;
use crate::error::{Error, nearest};

/// The start of an expression, as errors call it.
pub(crate) const EXPRESSION: &str = "an expression";
/// Everything that can follow an operand, as errors call it.
pub(crate) const OPERATOR: &str = "an operator";

/// Words that can start an expression, other than functions and aggregates.
const NAMES: [&str; 9] = ["x", "i", "j", "n", "sort", "attend", "table", "if", "not"];
/// Words that cannot start an expression.
const KEYWORDS: [&str; 8] = ["then", "else", "and", "or", "mod", "on", "integers", "let"];

/// All words of the language.
fn names() -> impl Iterator<Item = &'static str> {
    let functions = Function::ALL.iter().map(|function| function.name());
    let aggregates = Aggregate::ALL.iter().map(|aggregate| aggregate.name());
    functions.chain(aggregates).chain(NAMES).chain(KEYWORDS)
}

/// The parser's kind of error.
pub(crate) type Failure<'t> = Rich<'t, Token<'t>, SimpleSpan, Complaint>;

/// An error in full: headline, label of the place, one suggestion.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Complaint {
    headline: String,
    label: &'static str,
    attempt: Option<String>,
}

impl Complaint {
    pub fn new(headline: impl Into<String>, label: &'static str) -> Self {
        Self { headline: headline.into(), label, attempt: None }
    }

    pub fn attempt(self, text: impl Into<String>) -> Self {
        Self { attempt: Some(text.into()), ..self }
    }

    pub fn at<'t>(self, span: SimpleSpan) -> Failure<'t> {
        Rich::custom(span, self)
    }
}

/// Turns the parser's first failure into an error that points into the text.
pub(crate) fn explain(text: &str, tokens: &[(Token<'_>, Span)], failures: Vec<Failure<'_>>) -> Error {
    let Some(failure) = failures.into_iter().next() else {
        return Error::input("the target cannot be read");
    };
    let span = failure.span().into_range();
    let before: Vec<_> = tokens.iter().take_while(|(_, place)| place.end <= span.start).collect();
    let mut places = Vec::new();
    let complaint = match failure.into_reason() {
        RichReason::Custom(complaint) => complaint,
        RichReason::ExpectedFound { expected, found } => {
            let expected: Vec<String> = expected.iter().map(describe).collect();
            if expected.iter().any(|expected| ["`)`", "`]`"].contains(&expected.as_str())) {
                places.extend(open_bracket(&before).map(|open| (open, "opened here")));
            }
            let names = tokens.windows(2).filter_map(|pair| match (&pair[0].0, &pair[1].0) {
                (Token::Word("let"), Token::Word(name)) => Some(*name),
                _ => None,
            });
            let place = Place {
                before: before.last().map(|(token, _)| token),
                after: tokens.iter().find(|(_, place)| place.start >= span.end).map(|(token, _)| token),
                names: names.collect(),
                open: open_bracket(&before).is_some(),
                closed: places.is_empty(),
            };
            unexpected(&place, found.as_deref(), &expected)
        }
    };
    places.insert(0, (&span, complaint.label));
    let error = Error::input(complaint.headline).places(text, &places);
    if let Some(attempt) = complaint.attempt { error.note("try", attempt) } else { error }
}

fn describe(pattern: &RichPattern<'_, Token<'_>>) -> String {
    match pattern {
        RichPattern::Token(token) => token.to_string(),
        RichPattern::Label(label) => label.to_string(),
        RichPattern::Identifier(name) => format!("`{name}`"),
        RichPattern::EndOfInput => "the end of the text".into(),
        _ => "something else".into(),
    }
}

/// The last bracket that these tokens leave open.
fn open_bracket<'t>(tokens: &[&'t (Token<'_>, Span)]) -> Option<&'t Span> {
    let mut open = Vec::new();
    for (token, span) in tokens {
        match token {
            Token::Symbol("(" | "[") => open.push(span),
            Token::Symbol(")" | "]") => drop(open.pop()),
            _ => {}
        }
    }
    open.pop()
}

/// The context of the place at which a text stops being a target.
struct Place<'t> {
    /// The token before it.
    before: Option<&'t Token<'t>>,
    /// The token after the unexpected one.
    after: Option<&'t Token<'t>>,
    /// The names that are bound somewhere.
    names: Vec<&'t str>,
    /// True if some bracket is still open.
    open: bool,
    /// True if no closing bracket is expected here.
    closed: bool,
}

/// The complaint that `found` (or the end) stands where one of `expected` should.
fn unexpected(place: &Place<'_>, found: Option<&Token<'_>>, expected: &[String]) -> Complaint {
    let before = place.before;
    let expects = |what: &str| expected.iter().any(|expected| expected == what);
    let operand = before.is_some_and(ends_operand);
    let comparison = |text: &str| CompareOp::from_name(text).is_some();
    match (before, found) {
        (_, Some(Token::Word(name))) if !is_of_the_language(name) && (expects(EXPRESSION) || expects(OPERATOR)) => {
            if place.names.contains(name) {
                let complaint = Complaint::new(format!("`{name}` is used before it is bound"), "not bound yet");
                return complaint.attempt("a name after the semicolon that ends its `let`, not before");
            }
            let complaint = Complaint::new(format!("unknown name `{name}`"), "not a name of the language");
            if place.after == Some(&Token::Symbol("=")) {
                return complaint.attempt(format!("`let {name} = e;` to bind it"));
            }
            if let Some(meant) = meant(name) {
                return complaint.attempt(meant);
            }
            let mut known: Vec<&str> = names().collect();
            known.extend(&place.names);
            return match nearest(name, known) {
                Some(known) => complaint.attempt(format!("did you mean `{known}`?")),
                None => complaint,
            };
        }
        (_, Some(Token::Symbol("="))) => {
            return Complaint::new("`=` has no meaning here", "this symbol").attempt("`==` to compare");
        }
        (_, Some(Token::Word("let"))) => {
            return Complaint::new("`let` has no meaning here", "this word").attempt("all bindings before the target");
        }
        (_, Some(Token::Symbol("**"))) => {
            return Complaint::new("`**` has no meaning here", "this symbol").attempt("`^` for a power");
        }
        (_, Some(Token::Symbol("^"))) if operand => {
            return Complaint::new("powers do not chain", "a second power").attempt("brackets, as in `(x^2)^3`");
        }
        (_, Some(Token::Symbol(text))) if operand && comparison(text) => {
            let complaint = Complaint::new("comparisons do not chain", "a second comparison");
            return complaint.attempt("`and`, as in `a < b and b < c`");
        }
        (Some(before), Some(found))
            if expects(OPERATOR) && starts_operand(found) && !matches!(before, Token::Word(_)) =>
        {
            let headline = format!("an operator is missing before {found}");
            return Complaint::new(headline, "a second operand").attempt("`*` between factors");
        }
        _ => {}
    }
    let found_text = found.map_or("the end of the text".into(), ToString::to_string);
    let complaint = Complaint::new(format!("expected {}, found {found_text}", list(expected)), "here");
    let attempt = match (before, found) {
        (Some(Token::Symbol("^")), Some(Token::Symbol("-"))) => "`1 / x^2` for a negative power",
        (Some(Token::Symbol("^")), _) => "`exp(e * log(x))` for a power that is not a whole number",
        (Some(Token::Word("i" | "j" | "n")), Some(Token::Symbol("["))) => {
            "`x[i]` for a token; an index is only a number"
        }
        (Some(Token::Word(name)), _) if expects("`(`") => {
            let example = if *name == "table" { "`table(i; 1, 2)`".into() } else { format!("`{name}(x)`") };
            return complaint.attempt(example);
        }
        (_, Some(Token::Symbol(")" | "]"))) if place.closed && operand => {
            "without it, or with a bracket that opens before"
        }
        _ if expects("`then`") || expects("`else`") => "`if c then a else b`",
        _ if expects("`=`") || expects("`;`") && !place.open => "`let b = e;`, with a semicolon after the definition",
        _ if expects("`;`") => "`table(e; v0, v1)`, with a semicolon after the index",
        _ if expects("`integers`") || expects("`..`") => "`on [0, 1]` or `on integers 0..8`",
        (_, Some(Token::Word(name))) if expects("the number of a coordinate") && is_of_the_language(name) => {
            return complaint.attempt(format!("`{name}(x)`: a function stands before what it is of"));
        }
        _ if expects("the number of a coordinate") => "`x.0` for the first coordinate",
        (_, Some(Token::Symbol("/"))) => "whole numbers, as in `on integers 0..8`",
        _ if expected.len() == 1 && expects("the end of the text") => "the domain at the very end",
        _ => return complaint,
    };
    complaint.attempt(attempt)
}

/// The spelling in this language of a name from elsewhere, or the built-in target of this name.
fn meant(name: &str) -> Option<String> {
    let said = match name.to_lowercase().as_str() {
        "avg" | "average" => "`mean(x)`",
        "variance" => "`var(x)`",
        "std" | "stdev" | "stddev" => "`sqrt(var(x))`",
        "softmax" => "`exp(x) / sum(exp(x))`",
        "attention" => "`attend(x * x[i], x)`",
        "logsumexp" => "`log(sum(exp(x)))`",
        "sigmoid" => "`1 / (1 + exp(-x))`",
        "ln" => "`log(x)`",
        "pow" => "`x^2`",
        "ceil" => "`-floor(-x)`",
        "round" => "`floor(x + 1/2)`",
        "sign" => "`if x > 0 then 1 else if x < 0 then -1 else 0`",
        "maximum" => "`max(x)`",
        "minimum" => "`min(x)`",
        "total" => "`sum(x)`",
        "len" | "length" => "`n`",
        "rank" | "argsort" => "`count(x < x[i])`",
        "reverse" => "`x[n-1-i]`",
        "np" | "numpy" | "math" | "torch" => "`mean(x)`, without the name of a module",
        _ => "",
    };
    let built_in = catalogue::names().find(|known| *known == name);
    let built_in = built_in.map(|name| format!("formwright build {name}, a built-in target"));
    let said = Some(said).filter(|said| !said.is_empty()).map(str::to_owned);
    match (said, built_in) {
        (Some(said), Some(built_in)) => Some(format!("{said}; by itself: {built_in}")),
        (said, built_in) => said.or(built_in),
    }
}

/// True if the word has a meaning of its own, and so cannot be bound.
pub(crate) fn is_of_the_language(word: &str) -> bool {
    names().any(|known| known == word)
}

/// True if an operand can end with this token.
fn ends_operand(token: &Token<'_>) -> bool {
    match token {
        Token::Symbol(symbol) => matches!(*symbol, ")" | "]"),
        Token::Word(word) => !KEYWORDS.contains(word),
        Token::Number(..) | Token::Name(..) => true,
    }
}

/// True if an operand can start with this token, and nothing else can.
fn starts_operand(token: &Token<'_>) -> bool {
    match token {
        Token::Symbol(symbol) => *symbol == "(",
        Token::Word(word) => !KEYWORDS.contains(word) && *word != "not",
        Token::Number(..) | Token::Name(..) => true,
    }
}

/// `a, b or c`
fn list(expected: &[String]) -> String {
    let mut expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    expected.sort_unstable();
    expected.dedup();
    match expected.as_slice() {
        [] => "something else".into(),
        [one] => (*one).into(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}
