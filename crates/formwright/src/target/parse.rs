//! From text to syntax.
//!
//! ```text
//! target    = {"let" name "=" or ";"} ( "[" or {"," or} "]" | or ) [ "on" domain ]
//! domain    = "[" rational "," rational "]" | "integers" integer ".." integer
//! or        = and {"or" and}                       weakest
//! and       = not {"and" not}
//! not       = "not" not | compare
//! compare   = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
//! sum       = product {("+" | "-") product}
//! product   = minus {("*" | "/" | "mod") minus}
//! minus     = "-" minus | power
//! power     = atom ["^" whole]                     strongest
//! atom      = number | "i" | "j" | "n" | ("x" | name) ["[" or "]"] ["." whole] | "(" or ")"
//!           | "if" or "then" or "else" or | name "(" or {"," or} ")" | "table" "(" or ";" rational {"," rational} ")"
//! rational  = ["-"] number ["/" number]
//! ```
//!
//! Whether an operand is a number or a condition is left to [`super::typing`]: the message is better there. `max` and
//! `min` are aggregates with one argument or with a condition as the second, and functions otherwise. `attend(s, v)` is
//! written out as it is read.

use chumsky::input::{Input as _, MapExtra, MappedInput};
use chumsky::pratt::{infix, left, none, prefix};
use chumsky::prelude::*;
use chumsky::primitive::select;

use super::attend::{MAX_SCORE, written_out};
use super::bind::bind;
use super::explain::{Complaint, EXPRESSION, Failure, OPERATOR, explain};
use super::expr::{
    Aggregate, BinaryOp, Binding, Body, Bound, CompareOp, Domain, Expr, Expression, Function, Node, Source, Span,
};
use super::print::{MAX_NUMBER, literal};
use super::token::{Token, tokens};
use crate::error::{Error, Result};
use crate::exact::Rat;

type Input<'t> = MappedInput<'t, Token<'t>, SimpleSpan, &'t [(Token<'t>, SimpleSpan)]>;
type Extra<'t> = extra::Err<Failure<'t>>;

impl Expression {
    /// Reads a target; the errors point into the text.
    pub fn parse(text: &str) -> Result<Self> {
        let mut tokens = tokens(text)?;
        bind(text, &mut tokens)?;
        if tokens.is_empty() {
            return Err(Error::input("the target is empty").note("try", "`x - mean(x)`, for example"));
        }
        let spanned: Vec<_> = tokens.iter().map(|(token, span)| (token.clone(), span.clone().into())).collect();
        let end = text.trim_end().len();
        let read = target().parse(spanned.as_slice().split_token_span((end..end).into())).into_result();
        let ((lets, body), domain) = read.map_err(|failures| explain(text, &tokens, failures))?;
        let (domain, place) = domain.unwrap_or((Domain::default(), end..end));
        Ok(Self { lets, body, domain, source: Source { text: text.into(), domain: place } })
    }
}

fn symbol<'t>(symbol: &'static str) -> impl Parser<'t, Input<'t>, (), Extra<'t>> + Clone {
    just(Token::Symbol(symbol)).ignored()
}

fn word<'t>(word: &'static str) -> impl Parser<'t, Input<'t>, (), Extra<'t>> + Clone {
    just(Token::Word(word)).ignored()
}

fn number<'t>() -> impl Parser<'t, Input<'t>, Rat, Extra<'t>> + Clone {
    select! { Token::Number(value, _) => value }.labelled("a number")
}

/// A number, converted by `convert`; where that fails, the error says that `what` was expected and suggests `attempt`.
fn converted<'t, N: Default + 't>(
    what: &'static str,
    attempt: &'static str,
    convert: fn(&Rat) -> Option<N>,
) -> impl Parser<'t, Input<'t>, N, Extra<'t>> + Clone {
    select! { Token::Number(value, text) => (value, text) }.labelled(what).validate(move |(value, text), e, emitter| {
        // `x.0.0` is not a coordinate, although 0.0 is a whole number.
        let digits_only = text.bytes().all(|byte| byte.is_ascii_digit());
        convert(&value).filter(|_| digits_only).unwrap_or_else(|| {
            let complaint = Complaint::new(format!("expected {what}, found `{text}`"), "this number");
            emitter.emit(complaint.attempt(attempt).at(e.span()));
            N::default()
        })
    })
}

/// A number without fraction, if it is small enough.
fn whole<N: TryFrom<u64>>(value: &Rat) -> Option<N> {
    value.to_int()?.to_u64()?.try_into().ok()
}

/// `3`, `-1/2`, `0.25`: a number in a place where no operators can be.
fn rational<'t>() -> impl Parser<'t, Input<'t>, Rat, Extra<'t>> + Clone {
    let divisor = number().validate(|divisor, e, emitter| {
        divisor.recip().unwrap_or_else(|| {
            emitter.emit(Complaint::new("a fraction with denominator 0", "this is 0").at(e.span()));
            Rat::ONE
        })
    });
    let parts = symbol("-").or_not().then(number()).then(symbol("/").ignore_then(divisor).or_not());
    let value = parts.validate(|((sign, value), reciprocal), e, emitter| {
        let value = if let Some(reciprocal) = reciprocal { value * reciprocal } else { value };
        let digits = value.numerator().to_string().len().max(value.denominator().to_string().len());
        if literal(&value).is_none() && digits > MAX_NUMBER {
            let headline = format!("a fraction of more than {MAX_NUMBER} digits");
            emitter.emit(Complaint::new(headline, "this fraction").at(e.span()));
        }
        if sign.is_some() { -value } else { value }
    });
    value.labelled("a number")
}

/// Bindings and body, and the domain with its place.
type Parsed = ((Vec<Binding>, Body), Option<(Domain, Span)>);

fn target<'t>() -> impl Parser<'t, Input<'t>, Parsed, Extra<'t>> {
    let expr = expr();
    let name = select! { Token::Word(name) => name }.labelled("a name");
    let binding = word("let").labelled(EXPRESSION).ignore_then(name).then_ignore(symbol("="));
    let binding = binding.then(expr.clone()).then_ignore(symbol(";"));
    let lets = binding.map(|(name, value)| Binding { name: name.into(), value }).repeated().collect();
    let list = expr.clone().separated_by(symbol(",")).at_least(1).collect();
    let coordinates = list.delimited_by(symbol("[").labelled(EXPRESSION), symbol("]")).map(Body::Coordinates);
    lets.then(coordinates.or(expr.map(Body::Each))).then(domain().or_not()).then_ignore(end())
}

fn domain<'t>() -> impl Parser<'t, Input<'t>, (Domain, Span), Extra<'t>> {
    let ends = rational().then_ignore(symbol(",")).then(rational());
    let interval = ends.delimited_by(symbol("["), symbol("]")).map(|(low, high)| Domain::Interval(low, high));
    let size = converted("an integer of at most 63 bits", "`on integers 0..8`", |value| {
        whole::<u64>(value).and_then(|value| i64::try_from(value).ok())
    });
    let integer = symbol("-").or_not().then(size).map(|(sign, size)| if sign.is_some() { -size } else { size });
    let integers = word("integers")
        .ignore_then(integer.clone().then_ignore(symbol("..")).then(integer))
        .map(|(from, to)| Domain::Integers(from, to));
    word("on").ignore_then(interval.or(integers).map_with(|domain, e| (domain, e.span().into_range())))
}

fn expr<'t>() -> impl Parser<'t, Input<'t>, Expr, Extra<'t>> + Clone {
    recursive(|expr| {
        let exponent = converted("a whole number as exponent", "`sqrt(x)` for a square root", whole::<u32>);
        let exponent = symbol("^").labelled(OPERATOR).ignore_then(exponent);
        let power = atom(expr).then(exponent.or_not()).map_with(|(base, exponent), e| match exponent {
            Some(exponent) => spanned(Node::Power(Box::new(base), exponent), e),
            None => base,
        });
        let is_sum = |op: &BinaryOp| matches!(op, BinaryOp::Add | BinaryOp::Sub);
        let sum = operator(move |text| BinaryOp::from_name(text).filter(is_sum));
        let product = operator(move |text| BinaryOp::from_name(text).filter(|op| !is_sum(op)));
        let connective = |word: &'static str| operator(move |text| (text == word).then_some(()));
        power.labelled(EXPRESSION).pratt((
            prefix(7, symbol("-").labelled(EXPRESSION), |(), a, e| spanned(Node::Negate(Box::new(a)), e)),
            infix(left(6), product, |a, op, b, e| spanned(Node::Binary(op, Box::new(a), Box::new(b)), e)),
            infix(left(5), sum, |a, op, b, e| spanned(Node::Binary(op, Box::new(a), Box::new(b)), e)),
            infix(none(4), operator(CompareOp::from_name), |a, op, b, e| {
                spanned(Node::Compare(op, Box::new(a), Box::new(b)), e)
            }),
            prefix(3, word("not").labelled(EXPRESSION), |(), a, e| spanned(Node::Not(Box::new(a)), e)),
            infix(left(2), connective("and"), |a, (), b, e| spanned(Node::And(Box::new(a), Box::new(b)), e)),
            infix(left(1), connective("or"), |a, (), b, e| spanned(Node::Or(Box::new(a), Box::new(b)), e)),
        ))
    })
}

/// A word or symbol that `meaning` knows.
fn operator<'t, T: 't>(
    meaning: impl Fn(&str) -> Option<T> + Clone + 't,
) -> impl Parser<'t, Input<'t>, T, Extra<'t>> + Clone {
    select(move |token: Token<'t>, _| match token {
        Token::Word(text) | Token::Symbol(text) => meaning(text),
        Token::Number(..) | Token::Name(..) => None,
    })
    .labelled(OPERATOR)
}

fn spanned<'t>(node: Node, extra: &mut MapExtra<'t, '_, Input<'t>, Extra<'t>>) -> Expr {
    Expr { node, span: extra.span().into_range() }
}

/// Everything that binds tighter than any operator; `expr` parses the contents of brackets.
fn atom<'t>(
    expr: impl Parser<'t, Input<'t>, Expr, Extra<'t>> + Clone + 't,
) -> impl Parser<'t, Input<'t>, Expr, Extra<'t>> + Clone {
    let gathered = expr.clone().delimited_by(symbol("[").labelled(OPERATOR), symbol("]"));
    let coordinate = converted("the number of a coordinate", "`x.0`", whole::<usize>);
    let bound = select! { Token::Name(index, name) => Bound { index, name: name.into() } };
    let token = word("x")
        .to(None)
        .or(bound.map(Some))
        .then(gathered.map(Box::new).or_not())
        .map_with(|sequence, e| match sequence {
            (None, None) => spanned(Node::Token, e),
            (None, Some(index)) => spanned(Node::Gather(index), e),
            (Some(bound), None) => spanned(Node::Bound(bound), e),
            (Some(bound), Some(index)) => spanned(Node::GatherBound(bound, index), e),
        })
        .then(symbol(".").labelled(OPERATOR).ignore_then(coordinate).or_not())
        .map_with(|(token, coordinate), e| match coordinate {
            Some(k) => spanned(Node::Coordinate(Box::new(token), k), e),
            None => token,
        });
    let branch = |keyword| word(keyword).ignore_then(expr.clone());
    let choice_of = branch("if").then(branch("then")).then(branch("else"));
    let entries = rational().separated_by(symbol(",")).at_least(1).collect();
    let table = expr.clone().then_ignore(symbol(";")).then(entries).delimited_by(symbol("("), symbol(")"));
    let arguments = expr.clone().separated_by(symbol(",")).collect::<Vec<_>>();
    let named = |name| Function::from_name(name).is_some() || Aggregate::from_name(name).is_some();
    let callable = move |name| matches!(name, "sort" | "attend") || named(name);
    let call = select! { Token::Word(name) if callable(name) => name }
        .then(arguments.delimited_by(symbol("("), symbol(")")))
        .validate(|(name, arguments), e, emitter| {
            call(name, arguments).unwrap_or_else(|complaint| {
                emitter.emit(complaint.at(e.span()));
                Node::Token
            })
        });
    let simple = choice((
        number().map(Node::Number),
        word("i").to(Node::Index),
        word("j").to(Node::Running),
        word("n").to(Node::Length),
        choice_of.map(|((c, a), b)| Node::If(Box::new(c), Box::new(a), Box::new(b))),
        word("table").ignore_then(table).map(|(index, entries)| Node::Table(Box::new(index), entries)),
        call,
    ));
    choice((simple.map_with(spanned), token, expr.delimited_by(symbol("("), symbol(")"))))
}

/// The meaning of `name(arguments)`.
fn call(name: &str, arguments: Vec<Expr>) -> std::result::Result<Node, Complaint> {
    let given = arguments.len();
    let wrong = |expected: &str, attempt: String| {
        let plural = if given == 1 { "argument" } else { "arguments" };
        let headline = format!("`{name}` takes {expected}, not {given} {plural}");
        Err(Complaint::new(headline, "this call").attempt(attempt))
    };
    let filtered = arguments.get(1).is_none_or(Expr::is_condition);
    let mut arguments = arguments.into_iter();
    match (Function::from_name(name), Aggregate::from_name(name)) {
        (Some(function), Some(_)) if given > 1 && !filtered => Ok(Node::Call(function, arguments.collect())),
        (_, Some(aggregate)) => {
            if let (Some(of), filter, 1 | 2) = (arguments.next(), arguments.next(), given) {
                return Ok(Node::Aggregate(aggregate, Box::new(of), filter.map(Box::new)));
            }
            let of = if aggregate == Aggregate::Count { "x > 0" } else { "x" };
            wrong("one argument and a filter if wanted", format!("`{name}({of})` or `{name}({of}, j <= i)`"))
        }
        (Some(function), None) => Ok(Node::Call(function, arguments.collect())),
        (None, None) if name == "attend" => match (arguments.next(), arguments.next(), arguments.next(), given) {
            (Some(score), Some(value), filter, 2 | 3) => written_out(score, value, filter.as_ref()).ok_or_else(|| {
                let headline = format!("a score of more than {MAX_SCORE} parts");
                Complaint::new(headline, "this call").attempt("a name for a part of it, `let s = …;`")
            }),
            _ => wrong("a score, a value and a filter if wanted", "`attend(s, x)` or `attend(s, x, j <= i)`".into()),
        },
        (None, None) => match (arguments.next(), given) {
            (Some(of), 1) => Ok(Node::Sort(Box::new(of))),
            _ => wrong("one argument", "`sort(x)` or `sort(x.0)`".into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Expr {
        match Expression::parse(text).expect("a target").body {
            Body::Each(expr) => expr,
            Body::Coordinates(_) => panic!("no brackets expected"),
        }
    }

    #[test]
    fn operators_bind_as_in_mathematics() {
        for (text, bracketed) in [
            ("x + i * n", "x + (i * n)"),
            ("x - i - n", "(x - i) - n"),
            ("x / i * n", "(x / i) * n"),
            ("x mod 2 * 3", "(x mod 2) * 3"),
            ("-x^2", "-(x^2)"),
            ("-x * 2", "(-x) * 2"),
            ("2 - -3", "2 - (-3)"),
            ("x.0^2", "(x.0)^2".replace("(x.0)", "x.0").as_str()),
            ("not x < 1 and i < 2", "(not (x < 1)) and (i < 2)"),
            ("x < 1 or i < 2 and n < 3", "(x < 1) or ((i < 2) and (n < 3))"),
            ("x + 1 < i * 2", "(x + 1) < (i * 2)"),
            ("if x < 1 then 2 else 3 + 4", "if (x < 1) then 2 else (3 + 4)"),
            ("1 + if x < 1 then 2 else 3", "1 + (if x < 1 then 2 else 3)"),
        ] {
            assert_eq!(body(text), body(bracketed), "{text}");
        }
        assert_ne!(body("(x + i) * n"), body("x + i * n"));
        assert_ne!(body("x - (i - n)"), body("x - i - n"));
        assert_ne!(body("(-x)^2"), body("-x^2"));
    }

    #[test]
    fn one_argument_or_a_filter_makes_max_an_aggregate() {
        let aggregate = |text: &str| matches!(body(text).node, Node::Aggregate(Aggregate::Max, ..));
        assert!(aggregate("max(x)"));
        assert!(aggregate("max(x, j <= i)"));
        assert!(aggregate("max(x, (j <= i and j > 2))"));
        assert!(!aggregate("max(x, 1)"));
        assert!(!aggregate("max(x, if j <= i then 1 else 2)"));
    }

    #[test]
    fn spaces_lines_and_comments_do_not_matter() {
        let plain = Expression::parse("x+mean(x)on[0,2]").expect("a target");
        let spread =
            Expression::parse("# doubled\n x +\tmean ( x ) # the mean\n\n on [ 0 , 4/2 ] #").expect("a target");
        assert_eq!(plain, spread);
    }

    #[test]
    fn a_part_knows_its_place() {
        let text = "1 + (x[i].0 - mean(x))^2";
        let Node::Binary(_, one, power) = body(text).node else { panic!("a sum") };
        assert_eq!(&text[one.span], "1");
        assert_eq!(&text[power.span.clone()], "(x[i].0 - mean(x))^2");
        let Node::Power(difference, 2) = power.node else { panic!("a square") };
        assert_eq!(&text[difference.span.clone()], "x[i].0 - mean(x)");
        let Node::Binary(_, coordinate, mean) = difference.node else { panic!("a difference") };
        assert_eq!((&text[coordinate.span], &text[mean.span]), ("x[i].0", "mean(x)"));
    }

    #[test]
    fn domains_are_exact() {
        let domain = |text: &str| Expression::parse(text).expect("a target").domain;
        assert_eq!(domain("x"), Domain::Interval(Rat::ZERO, Rat::ONE));
        assert_eq!(domain("x on [-1/3, 0.1]"), Domain::Interval(Rat::new(-1, 3), Rat::new(1, 10)));
        assert_eq!(domain("x on integers -2..3"), Domain::Integers(-2, 3));
    }

    #[test]
    fn texts_that_are_no_targets_are_refused() {
        for text in "#x | x + | + x | x x | 2x | x) | (x | x] | [x | [] | [x,] | [x] + 1 | x, | x; | x.. | x. | x.y | \
             x.0.5 | x.-1 | x[ | x[] | x[i | i[0] | i.0 | x^ | x^i | x^-1 | x^2^3 | x^0.5 | x ** 2 | x < i < n | \
             x = 1 | x ! 1 | if x | if x < 1 then 2 | if x < 1 else 2 | then | else | not | x not | and | x and | \
             mod | sum | sum x | sum() | sum(,) | sum(x,) | sum(x x) | sum(x, j < i, 2) | sort() | sort(x, x) | \
             table(x) | table(x;) | table(x; y) | table(x; 1 2) | table(x, 1) | table(x; 1/0) | table | y | \
             exq(x) | x on | x on x | x on [0] | x on [0,1 | x on [0 1] | x on (0,1) | x on [0,1/0] | \
             x on integers | x on integers 1 | x on integers 0.5..2 | x on integers 0..x | x on reals | on [0,1] | \
             x on [0,1] on [0,1] | 1e400 | 1.2.3 | $ | \0 | x\u{0} | é | x + é | “x” | x\\"
            .split(" | ")
        {
            let error = Expression::parse(text).expect_err(text);
            assert_eq!(error.kind(), crate::error::ErrorKind::Input);
        }
    }
}
