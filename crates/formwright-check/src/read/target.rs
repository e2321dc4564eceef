//! Reads `target.json`: the function, and the range of its values on a box of inputs.

mod filter;
mod normal;
mod unrolled;

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::read::json::Json;

/// An expression. Its words are those of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expr {
    Number(Number),
    /// `token`, `index`, `running` or `length`.
    Word(String),
    Gather(Option<usize>, Box<Expr>),
    Bound(usize),
    Coordinate(Box<Expr>, usize),
    Power(Box<Expr>, u32),
    Table(Box<Expr>, Vec<Number>),
    Sort(Box<Expr>),
    /// An operator, a comparison or a function.
    Apply(String, Vec<Expr>),
    Aggregate(String, Box<Expr>, Option<Box<Expr>>),
}

/// The set of possible inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domain {
    /// The interval between two numbers.
    Interval(Ratio, Ratio),
    /// The integers from the first on, before the second.
    Integers(i64, i64),
}

impl Domain {
    /// The interval around it.
    pub fn range(&self) -> Range {
        let whole = |k: i64| Dyadic::new(k.into(), 0);
        match self {
            Self::Interval(low, high) => low.range().hull(&high.range()),
            Self::Integers(from, to) => Range { lo: whole(*from), hi: whole(to.saturating_sub(1)) },
        }
    }

    /// Its ends, if it is an interval.
    pub fn interval(&self) -> Option<(&Ratio, &Ratio)> {
        if let Self::Interval(low, high) = self { Some((low, high)) } else { None }
    }

    /// An interval inside of it.
    pub fn inside(&self) -> Range {
        match self {
            Self::Interval(low, high) => Range { lo: low.range().hi, hi: high.range().lo },
            Self::Integers(..) => self.range(),
        }
    }

    /// The least and the largest integer, if it is one of integers.
    pub fn integers(&self) -> Option<(i64, i64)> {
        match self {
            Self::Interval(..) => None,
            Self::Integers(from, to) => Some((*from, to.saturating_sub(1))),
        }
    }
}

#[derive(Clone, Debug)]
enum Definition {
    Table { resolution: usize, values: Vec<Range>, exact: Vec<Ratio> },
    Expression { lets: Vec<Expr>, whole: Vec<bool>, each: bool, body: Vec<Expr> },
}

/// A target, for tokens of so many coordinates.
#[derive(Clone, Debug)]
pub struct Target {
    /// The set of possible inputs.
    pub domain: Domain,
    /// The number of tokens, if it is fixed.
    pub tokens: Option<usize>,
    /// The coordinates of an input token.
    pub dims: usize,
    /// The coordinates of an output token.
    pub output_dims: usize,
    definition: Definition,
}

/// A value: exact if possible, otherwise between two numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Number {
    /// This number.
    Exact(Ratio),
    /// Some number of a range with more than one.
    Within(Range),
}

/// The reason why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is none for any of the inputs.
    Undefined(String),
    /// Enclosures do not decide whether there is one, or they are too large.
    Unclear(String),
}

type Outcome<T> = Result<T, Fault>;

fn undefined<T>(what: impl Into<String>) -> Outcome<T> {
    Err(Fault::Undefined(what.into()))
}

fn unclear<T>(what: impl Into<String>) -> Outcome<T> {
    Err(Fault::Unclear(what.into()))
}

impl Number {
    /// Some number of a range.
    pub fn of(range: Range) -> Self {
        if range.is_point() { Self::Exact(Ratio::of(&range.lo)) } else { Self::Within(range) }
    }

    fn whole(x: usize) -> Self {
        Self::Exact(Ratio::whole(x))
    }

    /// The same value, rounded outwards if it is long.
    fn kept(self) -> Option<Self> {
        match self {
            Self::Exact(ratio) if ratio.is_short() => Some(Self::Exact(ratio)),
            long => long.range().kept().map(Self::of),
        }
    }

    /// The interval in which it lies.
    pub fn range(&self) -> Range {
        match self {
            Self::Exact(ratio) => ratio.range(),
            Self::Within(range) => range.clone(),
        }
    }

    fn exact(&self) -> Option<&Ratio> {
        if let Self::Exact(ratio) = self { Some(ratio) } else { None }
    }

    /// True if it is exactly this number.
    fn is(&self, wanted: &Ratio) -> bool {
        self.exact() == Some(wanted)
    }

    /// Either of two values; exact if they are equal.
    fn hull(&self, other: &Self) -> Self {
        if self == other { self.clone() } else { Self::of(self.range().hull(&other.range())) }
    }

    /// Applies a function to one number, exactly or by ranges.
    fn map(&self, exact: impl Fn(&Ratio) -> Ratio, range: impl Fn(&Range) -> Range) -> Self {
        match self {
            Self::Exact(a) => Self::Exact(exact(a)),
            Self::Within(a) => Self::of(range(a)),
        }
    }

    /// Applies a function to two numbers.
    fn with(
        &self,
        other: &Self,
        exact: impl Fn(&Ratio, &Ratio) -> Ratio,
        range: impl Fn(&Range, &Range) -> Range,
    ) -> Self {
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) => Self::Exact(exact(a, b)),
            _ => Self::of(range(&self.range(), &other.range())),
        }
    }

    fn plus(&self, other: &Self) -> Self {
        self.with(other, Ratio::plus, |a, b| a + b)
    }

    fn minus(&self, other: &Self) -> Self {
        self.with(other, Ratio::minus, |a, b| a - b)
    }

    fn times(&self, other: &Self) -> Self {
        self.with(other, Ratio::times, |a, b| a * b)
    }

    fn over(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) => a.over(b).map(Self::Exact),
            _ => self.range().over(&other.range()).map(Self::of),
        }
    }

    fn power(&self, k: u32) -> Option<Self> {
        let exact = self.exact().and_then(|ratio| ratio.power(k)).map(Self::Exact);
        exact.or_else(|| self.range().power(k).map(Self::of))
    }

    fn max(&self, other: &Self) -> Self {
        self.with(other, |a, b| a.max(b).clone(), Range::max)
    }

    fn min(&self, other: &Self) -> Self {
        self.with(other, |a, b| a.min(b).clone(), Range::min)
    }

    fn floor(&self) -> Self {
        self.map(Ratio::floor, Range::floor)
    }

    /// True if all its numbers are at most 0; `strictly`, below 0.
    fn at_most_zero(&self, strictly: bool) -> bool {
        let range = self.range();
        range.hi.is_negative() || (!strictly && range.hi.is_zero())
    }

    /// A function that is exact at one place, `f(at) = value`, and enclosed elsewhere.
    fn function(&self, at: &Ratio, value: Ratio, f: impl Fn(&Range) -> Option<Range>) -> Option<Self> {
        if self.is(at) { Some(Self::Exact(value)) } else { f(&self.range()).map(Self::of) }
    }
}

const OPERATORS: [&str; 5] = ["add", "sub", "mul", "div", "mod"];
const COMPARISONS: [&str; 6] = ["less", "less-equal", "greater", "greater-equal", "equal", "not-equal"];
const FUNCTIONS: [(usize, &[&str]); 3] =
    [(1, &["exp", "log", "sqrt", "tanh", "sin", "cos", "abs", "relu", "floor"]), (2, &["min", "max"]), (3, &["clamp"])];
const AGGREGATES: [&str; 6] = ["sum", "mean", "var", "max", "min", "count"];

fn wrong<T>(what: &str, found: &Json<'_>) -> Result<T, String> {
    Err(format!("expected {what}, found {}", found.brief()))
}

/// The number in a text.
fn ratio(value: &Json<'_>) -> Result<Ratio, String> {
    let number = value.text().and_then(Ratio::number);
    number.map_or_else(|| wrong("a text with a rational in lowest terms, or a decimal", value), Ok)
}

/// The number in a text, ready to compute with: a long one lies between two others.
fn number(value: &Json<'_>) -> Result<Number, String> {
    let ratio = ratio(value)?;
    Ok(if ratio.is_short() { Number::Exact(ratio) } else { Number::of(ratio.range()) })
}

/// Checks an argument of `sort`: the token, a let, or a coordinate of one.
fn sortable(value: &Json<'_>) -> Result<(), String> {
    let of = match (value.object(), value.get("coordinate").and_then(Json::list)) {
        (Some([_]), Some([of, _])) => of,
        _ => value,
    };
    let bound = matches!(of.object(), Some([(kind, _)]) if kind == "bound");
    let fine = bound || of.text() == Some("token");
    if fine { Ok(()) } else { wrong("the token, a let or a coordinate of one, to be sorted", value) }
}

/// The names that expressions can use.
struct Scope {
    /// The lets so far.
    names: BTreeMap<String, usize>,
    dims: usize,
}

impl Scope {
    fn boxed(&self, value: &Json<'_>, inside: bool) -> Result<Box<Expr>, String> {
        self.number(value, inside).map(Box::new)
    }

    fn name(&self, value: &Json<'_>) -> Result<usize, String> {
        let place = value.text().and_then(|name| self.names.get(name).copied());
        place.map_or_else(|| wrong("the name of a let before", value), Ok)
    }

    fn coordinate(&self, value: &Json<'_>) -> Result<usize, String> {
        let k = value.count().map_or_else(|| wrong("a coordinate", value), Ok)?;
        if k < self.dims { Ok(k) } else { Err(format!("coordinate {k}, and tokens have {}", self.dims)) }
    }

    /// An expression for a number, inside an aggregate or not.
    fn number(&self, value: &Json<'_>, inside: bool) -> Result<Expr, String> {
        match value.text() {
            Some("running") if !inside => return Err("a running token outside of an aggregate".to_owned()),
            Some(word @ ("token" | "index" | "running" | "length")) => return Ok(Expr::Word(word.to_owned())),
            _ => {}
        }
        let Some([(kind, inner)]) = value.object() else { return wrong("an expression", value) };
        let of = |value: &Json<'_>| self.number(value, inside);
        match (kind.as_ref(), inner.list().unwrap_or(&[])) {
            ("number", _) => number(inner).map(Expr::Number),
            ("gather", _) => Ok(Expr::Gather(None, self.boxed(inner, inside)?)),
            ("gather-bound", [bound, index]) => Ok(Expr::Gather(Some(self.name(bound)?), self.boxed(index, inside)?)),
            ("bound", _) => self.name(inner).map(Expr::Bound),
            ("coordinate", [of, k]) => {
                let k = self.coordinate(k)?;
                Ok(Expr::Coordinate(self.boxed(of, inside)?, k))
            }
            ("power", [base, k]) => {
                let k = k.count().and_then(|k| u32::try_from(k).ok()).filter(|k| *k <= 4096);
                let k = k.map_or_else(|| wrong("an exponent up to 4096", inner), Ok)?;
                Ok(Expr::Power(self.boxed(base, inside)?, k))
            }
            ("table", [index, entries]) => {
                let entries = entries.list().map_or_else(|| wrong("a list", entries), Ok)?;
                let entries = entries.iter().map(number).collect::<Result<_, _>>()?;
                Ok(Expr::Table(self.boxed(index, inside)?, entries))
            }
            // It is taken at every token, and no running token exists there.
            ("sort", _) => {
                sortable(inner)?;
                Ok(Expr::Sort(self.boxed(inner, false)?))
            }
            ("negate", _) => Ok(Expr::Apply("negate".to_owned(), vec![of(inner)?])),
            ("if", [condition, a, b]) => {
                Ok(Expr::Apply("if".to_owned(), vec![self.condition(condition, inside)?, of(a)?, of(b)?]))
            }
            ("binary", [op, a, b]) => {
                let op = op.text().filter(|op| OPERATORS.contains(op)).map_or_else(|| wrong("an operator", op), Ok)?;
                Ok(Expr::Apply(op.to_owned(), vec![of(a)?, of(b)?]))
            }
            ("call", [f, arguments]) => {
                let arguments = arguments.list().map_or_else(|| wrong("arguments", arguments), Ok)?;
                let takes =
                    |f: &str| FUNCTIONS.iter().any(|(count, names)| *count == arguments.len() && names.contains(&f));
                let known = f.text().filter(|f| takes(f));
                let f = known.map_or_else(|| wrong("a function with its arguments", f), Ok)?;
                Ok(Expr::Apply(f.to_owned(), arguments.iter().map(of).collect::<Result<_, _>>()?))
            }
            ("aggregate", [f, of, filter]) => {
                let f = f.text().filter(|f| AGGREGATES.contains(f)).map_or_else(|| wrong("an aggregate", f), Ok)?;
                let of = if f == "count" { self.condition(of, true) } else { self.number(of, true) };
                let filter = match filter {
                    Json::Word("null") => None,
                    filter => Some(Box::new(self.condition(filter, true)?)),
                };
                Ok(Expr::Aggregate(f.to_owned(), Box::new(of?), filter))
            }
            _ => wrong("an expression that is a number", value),
        }
    }

    /// An expression that is true or false.
    fn condition(&self, value: &Json<'_>, inside: bool) -> Result<Expr, String> {
        let Some([(kind, inner)]) = value.object() else { return wrong("a condition", value) };
        let parts = match (kind.as_ref(), inner.list().unwrap_or(&[])) {
            ("not", _) => vec![self.condition(inner, inside)?],
            ("and" | "or", [a, b]) => vec![self.condition(a, inside)?, self.condition(b, inside)?],
            ("compare", [op, a, b]) => {
                let op = op.text().filter(|op| COMPARISONS.contains(op));
                let op = op.map_or_else(|| wrong("a comparison", inner), Ok)?;
                return Ok(Expr::Apply(op.to_owned(), vec![self.number(a, inside)?, self.number(b, inside)?]));
            }
            _ => return wrong("a condition", value),
        };
        Ok(Expr::Apply(kind.clone().into_owned(), parts))
    }
}

impl Expr {
    fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Number(_) | Self::Word(_) | Self::Bound(_) => Vec::new(),
            Self::Gather(_, e) | Self::Coordinate(e, _) | Self::Power(e, _) | Self::Table(e, _) | Self::Sort(e) => {
                vec![e]
            }
            Self::Apply(_, parts) => parts.iter().collect(),
            Self::Aggregate(_, e, filter) => std::iter::once(e).chain(filter).map(AsRef::as_ref).collect(),
        }
    }

    /// The number of operations, counted as if none could be skipped.
    fn work(&self, tokens: usize) -> usize {
        let inner = self.parts().into_iter().map(|part| part.work(tokens)).fold(1, usize::saturating_add);
        match self {
            Self::Sort(_) | Self::Aggregate(..) => inner.saturating_mul(tokens),
            Self::Gather(..) => inner.saturating_add(tokens),
            Self::Table(_, entries) => inner.saturating_add(entries.len()),
            _ => inner,
        }
    }

    fn any(&self, test: &impl Fn(&Self) -> bool) -> bool {
        test(self) || self.parts().into_iter().any(|part| part.any(test))
    }

    fn is_index(&self) -> bool {
        matches!(self, Self::Word(word) if word == "index")
    }

    /// True if its value may depend on the order of the other tokens.
    fn sees_order(&self) -> bool {
        self.any(&|e| match e {
            Self::Gather(_, index) => !index.is_index(),
            Self::Word(word) => word == "running",
            // It is taken at all tokens.
            Self::Sort(of) => of.sees_place(),
            Self::Aggregate(_, of, filter) => filter.is_some() || of.any(&|e| matches!(e, Self::Sort(_))),
            _ => false,
        })
    }

    /// True if its value is a whole number for all inputs, given which lets are.
    fn is_whole(&self, lets: &[bool]) -> bool {
        let whole = |number: &Number| number.exact().is_some_and(Ratio::is_whole);
        match self {
            Self::Number(number) => whole(number),
            Self::Word(word) => word != "token",
            Self::Bound(of) | Self::Gather(Some(of), _) => lets.get(*of).copied().unwrap_or(false),
            Self::Gather(None, _) => false,
            Self::Coordinate(e, _) | Self::Power(e, _) | Self::Sort(e) => e.is_whole(lets),
            Self::Table(_, entries) => entries.iter().all(whole),
            Self::Apply(name, parts) => match name.as_str() {
                "floor" => true,
                "if" => parts.iter().skip(1).all(|part| part.is_whole(lets)),
                "div" | "exp" | "log" | "sqrt" | "tanh" | "sin" | "cos" => false,
                _ => parts.iter().all(|part| part.is_whole(lets)),
            },
            Self::Aggregate(f, of, _) => match f.as_str() {
                "count" => true,
                "mean" | "var" => false,
                _ => of.is_whole(lets),
            },
        }
    }

    /// The number of operations for all outputs of a sequence together, and for each output, where what is the same at
    /// every output is worked out once.
    fn shared_work(&self, tokens: usize) -> [usize; 2] {
        if self.is_shared() {
            return [self.work(tokens), 1];
        }
        let each = |f: &Self| f.shared_work(tokens);
        let add = |[a, b]: [usize; 2], [c, d]: [usize; 2]| [a.saturating_add(c), b.saturating_add(d)];
        let [once, inner] = self.parts().into_iter().map(each).fold([0, 1], add);
        match self {
            Self::Aggregate(..) => [once, inner.saturating_mul(tokens)],
            Self::Gather(..) => [once, inner.saturating_add(tokens)],
            Self::Table(_, entries) => [once, inner.saturating_add(entries.len())],
            _ => [once, inner],
        }
    }

    /// True if all that depends on the output token is the choice of an entry of a list: then the list is made once.
    fn is_shared(&self) -> bool {
        match self {
            Self::Sort(_) => true,
            // Inside, the output token is seen through its index, and what is gathered there.
            Self::Aggregate(_, of, filter) => {
                let sees = |e: &Self| e.any(&|e| e.is_index() || matches!(e, Self::Gather(..) | Self::Sort(_)));
                !sees(of) && !filter.as_ref().is_some_and(|filter| sees(filter))
            }
            _ => false,
        }
    }

    /// True if its value may depend on the output token itself, and not only on its place.
    fn sees_own(&self) -> bool {
        match self {
            Self::Word(word) => word == "token",
            Self::Bound(_) | Self::Gather(..) => true,
            Self::Sort(_) => false,
            Self::Aggregate(..) => self.any(&|e| matches!(e, Self::Gather(..))),
            _ => self.parts().into_iter().any(Self::sees_own),
        }
    }

    /// True if its value may depend on the place of its token.
    fn sees_place(&self) -> bool {
        match self {
            Self::Gather(_, index) => !index.is_index(),
            Self::Sort(_) => true,
            _ => self.is_index() || self.parts().into_iter().any(Self::sees_place),
        }
    }
}

fn fields(value: &Json<'_>, known: &[&str]) -> Result<(), String> {
    let object = value.object().map_or_else(|| wrong("an object", value), Ok)?;
    match object.iter().find(|(name, _)| !known.contains(&name.as_ref())) {
        Some((name, _)) => {
            let name: String = name.chars().take(60).collect();
            Err(format!("the field {name:?} is none that is known: {known:?}"))
        }
        None => Ok(()),
    }
}

fn field<'j, 't>(of: &'j Json<'t>, name: &str) -> Result<&'j Json<'t>, String> {
    of.get(name).ok_or_else(|| format!("the field {name:?} is missing"))
}

impl Target {
    /// Reads a target for tokens of so many coordinates.
    pub fn read(bytes: &[u8], dims: usize) -> Result<Self, String> {
        let file = Json::parse(bytes)?;
        let kind = field(&file, "kind")?;
        if kind.text() == Some("table") {
            return Self::table(&file);
        }
        fields(&file, &["kind", "name", "text", "ast"])?;
        if kind.text() != Some("expression") {
            return wrong("the kind expression or table", kind);
        }
        let ast = field(&file, "ast")?;
        fields(ast, &["lets", "body", "domain"])?;
        let mut scope = Scope { names: BTreeMap::new(), dims };
        let (mut lets, mut whole) = (Vec::new(), Vec::new());
        let bindings = ast.get("lets").map_or(Some([].as_slice()), Json::list);
        for binding in bindings.ok_or("the lets are no list")? {
            fields(binding, &["name", "value"])?;
            let value = scope.number(field(binding, "value")?, false)?;
            let name = field(binding, "name")?.text().map(str::to_owned).ok_or("a let without a name")?;
            if scope.names.insert(name, lets.len()).is_some() {
                return wrong("the name of a let only once", field(binding, "name")?);
            }
            whole.push(value.is_whole(&whole));
            lets.push(value);
        }
        let body = field(ast, "body")?;
        let (each, body) = match body.object() {
            Some([(kind, e)]) if kind == "each" => (true, vec![scope.number(e, false)?]),
            Some([(kind, Json::List(list))]) if kind == "coordinates" => {
                (false, list.iter().map(|e| scope.number(e, false)).collect::<Result<_, _>>()?)
            }
            _ => return wrong("a body", body),
        };
        let domain = field(ast, "domain")?;
        let Some([(kind, ends)]) = domain.object() else { return wrong("a domain", domain) };
        let domain = match (kind.as_ref(), ends.list()) {
            ("interval", Some([low, high])) => Domain::Interval(ratio(low)?, ratio(high)?),
            ("integers", Some([from, to])) => match (from.integer(), to.integer()) {
                (Some(from), Some(to)) if from < to => Domain::Integers(from, to),
                _ => return wrong("two integers, the second above the first", ends),
            },
            _ => return wrong("a domain", domain),
        };
        let output_dims = if each { dims } else { body.len() };
        let definition = Definition::Expression { lets, whole, each, body };
        Ok(Self { domain, tokens: None, dims, output_dims, definition })
    }

    fn table(file: &Json<'_>) -> Result<Self, String> {
        fields(file, &["kind", "name", "text", "tokens", "dims", "output_dims", "resolution", "symmetry", "values"])?;
        let count =
            |name: &str| file.get(name).and_then(Json::count).ok_or_else(|| format!("the field {name:?} is no count"));
        let (tokens, dims, output_dims, resolution) =
            (count("tokens")?, count("dims")?, count("output_dims")?, count("resolution")?);
        // A table without cells is no function.
        if [tokens, dims, output_dims, resolution].contains(&0) {
            return Err("a table without tokens, coordinates, outputs or cells".to_owned());
        }
        let sides = u32::try_from(tokens.saturating_mul(dims)).unwrap_or(u32::MAX);
        let entries = file.get("values").and_then(Json::list).ok_or("the field \"values\" is no list")?;
        if resolution.checked_pow(sides) != Some(entries.len()) {
            return Err(format!("{} entries for {resolution}^{sides} cells", entries.len()));
        }
        let mut exact = Vec::new();
        for entry in entries {
            let rows = entry.list().filter(|rows| rows.len() == tokens).ok_or("an entry has not one list a token")?;
            for row in rows {
                let row =
                    row.list().filter(|row| row.len() == output_dims).ok_or("an entry lacks a coordinate, or more")?;
                row.iter().try_for_each(|value| ratio(value).map(|value| exact.push(value)))?;
            }
        }
        let domain = Domain::Interval(Ratio::ZERO, Ratio::ONE);
        let values = exact.iter().map(Ratio::range).collect();
        let definition = Definition::Table { resolution, values, exact };
        Ok(Self { domain, tokens: Some(tokens), dims, output_dims, definition })
    }

    /// The number of operations per output token.
    pub fn work(&self, tokens: usize) -> usize {
        let all = |list: &[Expr]| list.iter().map(|e| e.work(tokens)).fold(1, usize::saturating_add);
        match &self.definition {
            Definition::Table { .. } => self.output_dims,
            Definition::Expression { lets, body, each, .. } => {
                let lets = all(lets).saturating_mul(tokens).saturating_mul(self.dims);
                all(body).saturating_mul(if *each { self.dims } else { 1 }).saturating_add(lets)
            }
        }
    }

    /// The number of values of lets that are kept per output token.
    pub fn kept(&self, tokens: usize) -> usize {
        match &self.definition {
            Definition::Table { .. } => 0,
            Definition::Expression { lets, .. } => lets.len().saturating_mul(tokens).saturating_mul(self.dims),
        }
    }

    /// True if an output depends only on the multiset of tokens, its own token and its place.
    pub fn is_order_free(&self) -> bool {
        match &self.definition {
            Definition::Table { .. } => false,
            Definition::Expression { lets, body, .. } => {
                !lets.iter().chain(body).any(Expr::sees_order) && !lets.iter().any(Expr::sees_place)
            }
        }
    }

    /// True if, in addition, it does not depend on its place.
    pub fn is_equivariant(&self) -> bool {
        match &self.definition {
            Definition::Table { .. } => false,
            Definition::Expression { body, .. } => self.is_order_free() && !body.iter().any(Expr::sees_place),
        }
    }

    /// The number of cells per side of a table; its values are constant on cells.
    pub fn resolution(&self) -> Option<usize> {
        if let Definition::Table { resolution, .. } = self.definition { Some(resolution) } else { None }
    }

    /// An output of a table at a cell.
    pub fn entry(&self, cell: &[&[usize]], token: usize) -> Option<Vec<Range>> {
        let Definition::Table { values, .. } = &self.definition else { return None };
        values.get(self.place(cell, token)?).map(<[Range]>::to_vec)
    }

    /// The same, exactly.
    pub fn exact_entry(&self, cell: &[&[usize]], token: usize) -> Option<&[Ratio]> {
        let Definition::Table { exact, .. } = &self.definition else { return None };
        exact.get(self.place(cell, token)?)
    }

    /// Where an output of a table stands among its values.
    fn place(&self, cell: &[&[usize]], token: usize) -> Option<std::ops::Range<usize>> {
        let resolution = self.resolution()?;
        let digit = |rank: usize, k: &usize| rank.checked_mul(resolution)?.checked_add(*k);
        let rank = cell.iter().copied().flatten().try_fold(0, digit)?;
        let from = rank.checked_mul(cell.len())?.checked_add(token)?.checked_mul(self.output_dims)?;
        Some(from..from.checked_add(self.output_dims)?)
    }

    /// The number of operations for all outputs of a sequence together, and for each output.
    pub fn shared_work(&self, tokens: usize) -> [usize; 2] {
        let Definition::Expression { lets, body, each, .. } = &self.definition else { return [0, self.output_dims] };
        let add = |[a, b]: [usize; 2], [c, d]: [usize; 2]| [a.saturating_add(c), b.saturating_add(d)];
        let bodies = body.iter().map(|e| e.shared_work(tokens)).fold([1, 1], add);
        let [once, every] = bodies.map(|work| work.saturating_mul(if *each { self.dims } else { 1 }));
        let lets = lets.iter().map(|e| e.work(tokens)).fold(tokens, usize::saturating_add);
        [once.saturating_add(lets.saturating_mul(tokens).saturating_mul(self.dims)), every]
    }

    /// True where an output may depend: on its own token, on its place.
    pub fn sees(&self) -> [bool; 2] {
        match &self.definition {
            Definition::Table { .. } => [true; 2],
            Definition::Expression { body, .. } => [body.iter().any(Expr::sees_own), !self.is_equivariant()],
        }
    }

    /// The output token for inputs in a box, or the reason why it may have no value.
    pub fn output(&self, inputs: &[Vec<Range>], token: usize) -> Outcome<Vec<Number>> {
        let inputs: Vec<Vec<Number>> =
            inputs.iter().map(|token| token.iter().cloned().map(Number::of).collect()).collect();
        self.on(&inputs)?.output(token, token)
    }

    /// The target on a sequence: what all outputs have in common.
    pub fn on<'x>(&'x self, inputs: &'x [Vec<Number>]) -> Outcome<Evaluation<'x>> {
        let Definition::Expression { lets, whole, .. } = &self.definition else { return unclear("a table") };
        let mut evaluation =
            Evaluation { target: self, inputs, whole, bound: Vec::new(), known: RefCell::new(BTreeMap::new()) };
        for value in lets {
            let mut sequence = Vec::new();
            for t in 0..inputs.len() {
                let at = |c| At { i: t, own: t, j: None, c };
                sequence.push((0..self.dims).map(|c| evaluation.number(value, at(c))).collect::<Outcome<Vec<_>>>()?);
            }
            evaluation.bound.push(sequence);
        }
        Ok(evaluation)
    }
}

/// The point of evaluation of an expression: place of the output token, the token itself, running token, coordinate.
#[derive(Clone, Copy)]
struct At {
    i: usize,
    own: usize,
    j: Option<usize>,
    c: usize,
}

/// A target on a sequence.
pub struct Evaluation<'x> {
    target: &'x Target,
    inputs: &'x [Vec<Number>],
    /// For each let, whether it is a whole number.
    whole: &'x [bool],
    bound: Vec<Vec<Vec<Number>>>,
    /// Values that are the same at every output, by expression and coordinate: aggregates, and sorted lists.
    known: RefCell<Known>,
}

/// Values by expression and coordinate. Expressions are told apart by where they are: they stay there.
type Known = BTreeMap<(*const Expr, usize), Vec<Number>>;

/// A result that is not too large.
fn kept(number: Option<Number>, what: &str) -> Outcome<Number> {
    let kept = number.and_then(Number::kept);
    kept.map_or_else(|| unclear(format!("{what} is not shown to be defined, and below 2^16384 in size")), Ok)
}

impl Evaluation<'_> {
    /// The output of a token, as if it stood at a place. If the target depends on the order of the tokens, that has to
    /// be its own place.
    pub fn output(&self, token: usize, place: usize) -> Outcome<Vec<Number>> {
        let Definition::Expression { each, body, .. } = &self.target.definition else { return unclear("a table") };
        let coordinate = |c: usize| {
            let (e, c) = if *each { (body.first(), c) } else { (body.get(c), 0) };
            let Some(e) = e else { return undefined("a body without expressions") };
            self.number(e, At { i: place, own: token, j: None, c })
        };
        (0..self.target.output_dims).map(coordinate).collect()
    }

    /// An entry of a list that is made once for an expression and a coordinate.
    fn once(&self, e: &Expr, at: At, entry: usize, make: impl Fn() -> Outcome<Vec<Number>>) -> Outcome<Number> {
        let key = (std::ptr::from_ref(e), at.c);
        if !self.known.borrow().contains_key(&key) {
            let made = make()?;
            self.known.borrow_mut().insert(key, made);
        }
        let found = self.known.borrow().get(&key).and_then(|list| list.get(entry).cloned());
        found.map_or_else(|| undefined("a token beyond the sequence"), Ok)
    }

    /// Coordinate `c` of token `t` of the input, or of a let.
    fn token(&self, of: Option<usize>, t: usize, c: usize) -> Outcome<Number> {
        let sequence = of.map_or(Some(self.inputs), |of| self.bound.get(of).map(Vec::as_slice));
        let value = sequence.and_then(|sequence| sequence.get(t)?.get(c));
        value.cloned().map_or_else(|| undefined(format!("there is no coordinate {c} of token {t}")), Ok)
    }

    /// The places below `size` that a number may name: from the first to the last.
    fn places(&self, index: &Expr, at: At, size: usize) -> Outcome<std::ops::RangeInclusive<usize>> {
        let (number, outside) = (self.number(index, at)?, format!("an index is not in 0..{size}"));
        if let Number::Exact(ratio) = &number {
            return match ratio.place() {
                Some(place) if place < size => Ok(place..=place),
                _ => undefined(if ratio.is_whole() { outside } else { format!("the index {ratio} is not whole") }),
            };
        }
        let (range, end) = (number.range(), Range::whole(size).lo);
        if range.lo >= end || range.hi.is_negative() {
            return undefined(outside);
        }
        if !index.is_whole(self.whole) {
            return unclear("an index is not shown to be a whole number");
        }
        let (first, last) = (Ratio::of(&range.lo.up(0)).place(), Ratio::of(&range.hi.down(0)).place());
        match first.zip(last) {
            Some((first, last)) if first <= last && last < size => Ok(first..=last),
            _ => unclear(format!("an index is not shown to be in 0..{size}")),
        }
    }

    /// One of several values.
    fn one_of(values: impl Iterator<Item = Outcome<Number>>) -> Outcome<Number> {
        let hull = |a: Outcome<Number>, b: Outcome<Number>| Ok(a?.hull(&b?));
        values.reduce(hull).unwrap_or_else(|| undefined("nothing to choose from"))
    }

    fn number(&self, e: &Expr, at: At) -> Outcome<Number> {
        let t = at.j.unwrap_or(at.own);
        match e {
            Expr::Number(number) => Ok(number.clone()),
            Expr::Word(word) => match word.as_str() {
                "token" => self.token(None, t, at.c),
                "index" => Ok(Number::whole(at.i)),
                "length" => Ok(Number::whole(self.inputs.len())),
                _ => Ok(Number::whole(t)),
            },
            Expr::Bound(of) => self.token(Some(*of), t, at.c),
            Expr::Gather(of, index) if index.is_index() => self.token(*of, at.own, at.c),
            Expr::Gather(of, index) => {
                let places = self.places(index, at, self.inputs.len())?;
                Self::one_of(places.map(|place| self.token(*of, place, at.c)))
            }
            Expr::Coordinate(of, k) => self.number(of, At { c: *k, ..at }),
            Expr::Power(base, k) => kept(self.number(base, at)?.power(*k), "a power"),
            Expr::Table(index, entries) => {
                let places = self.places(index, at, entries.len())?;
                Self::one_of(places.filter_map(|place| entries.get(place).cloned().map(Ok)))
            }
            Expr::Sort(of) => self.once(e, at, at.j.unwrap_or(at.i), || self.sorted(of, at.c)),
            Expr::Aggregate(f, of, filter) => {
                let value = || self.aggregate(f, of, filter.as_deref(), at);
                if e.is_shared() { self.once(e, at, 0, || Ok(vec![value()?])) } else { value() }
            }
            Expr::Apply(name, parts) => self.apply(name, parts, at),
        }
    }

    /// The values of an expression at all tokens, in order. The i-th smallest lies between the i-th smallest of the lower
    /// and of the upper ends.
    fn sorted(&self, of: &Expr, c: usize) -> Outcome<Vec<Number>> {
        let values = (0..self.inputs.len()).map(|t| self.number(of, At { i: t, own: t, j: None, c }));
        let mut values = values.collect::<Outcome<Vec<_>>>()?;
        let exact = values.iter().all(|value| value.exact().is_some());
        if exact {
            values.sort_by(|a, b| a.exact().cmp(&b.exact()));
            return Ok(values);
        }
        let (mut lows, mut highs): (Vec<_>, Vec<_>) =
            values.iter().map(Number::range).map(|range| (range.lo, range.hi)).unzip();
        lows.sort();
        highs.sort();
        Ok(lows.into_iter().zip(highs).map(|(lo, hi)| Number::of(Range { lo, hi })).collect())
    }

    fn condition(&self, e: &Expr, at: At) -> Outcome<Option<bool>> {
        let Expr::Apply(name, parts) = e else { return undefined("a condition that is none") };
        match (name.as_str(), parts.as_slice()) {
            ("not", [a]) => Ok(self.condition(a, at)?.map(|known| !known)),
            ("and" | "or", [a, b]) => {
                // One side may decide it alone; otherwise both must be known.
                let (first, second, decided) = (self.condition(a, at)?, self.condition(b, at)?, name == "or");
                let neither = first.and(second).map(|_| !decided);
                Ok(if [first, second].contains(&Some(decided)) { Some(decided) } else { neither })
            }
            (op, [a, b]) => Ok(compared(op, &self.number(a, at)?, &self.number(b, at)?)),
            _ => undefined("a condition that is none"),
        }
    }

    /// Only the branch that is taken needs a value. Where the condition is not decided and a branch has no value,
    /// nothing is said.
    fn choice(&self, condition: &Expr, a: &Expr, b: &Expr, at: At) -> Outcome<Number> {
        match self.condition(condition, at)? {
            Some(true) => self.number(a, at),
            Some(false) => self.number(b, at),
            None => Self::one_of([a, b].into_iter().map(|e| {
                self.number(e, at).map_err(|fault| match fault {
                    Fault::Undefined(what) | Fault::Unclear(what) => Fault::Unclear(what),
                })
            })),
        }
    }

    fn apply(&self, name: &str, parts: &[Expr], at: At) -> Outcome<Number> {
        if let ("if", [condition, a, b]) = (name, parts) {
            return self.choice(condition, a, b, at);
        }
        let values = parts.iter().map(|part| self.number(part, at)).collect::<Outcome<Vec<_>>>()?;
        let (zero, one) = (Ratio::ZERO, Ratio::ONE);
        let never = match (name, values.as_slice()) {
            ("div" | "mod", [_, b]) => b.is(&zero),
            ("log", [a]) => a.at_most_zero(false),
            ("sqrt", [a]) => a.at_most_zero(true),
            _ => false,
        };
        if never {
            return undefined(format!("{name} of {}", values.last().map_or(Range::ZERO, Number::range)));
        }
        let result = match (name, values.as_slice()) {
            ("negate", [a]) => Some(a.map(Ratio::negative, |a| -a)),
            ("add", [a, b]) => Some(a.plus(b)),
            ("sub", [a, b]) => Some(a.minus(b)),
            ("mul", [a, b]) => Some(a.times(b)),
            ("div", [a, b]) => a.over(b),
            ("mod", [a, b]) => modulo(a, b),
            ("exp", [a]) => a.function(&zero, one, Range::exp),
            ("log", [a]) => a.function(&one, zero, Range::log),
            ("tanh", [a]) => a.function(&zero, Ratio::ZERO, Range::tanh),
            ("sin", [a]) => a.function(&zero, Ratio::ZERO, |a| a.wave(0)),
            ("cos", [a]) => a.function(&zero, one, |a| a.wave(1)),
            ("sqrt", [a]) => {
                let exact = a.exact().and_then(Ratio::root).map(Number::Exact);
                exact.or_else(|| a.range().sqrt().map(Number::of))
            }
            ("abs", [a]) => Some(a.map(Ratio::absolute, Range::absolute)),
            ("relu", [a]) => Some(a.max(&Number::Exact(zero))),
            ("floor", [a]) => Some(a.floor()),
            ("min", [a, b]) => Some(a.min(b)),
            ("max", [a, b]) => Some(a.max(b)),
            ("clamp", [a, low, high]) => Some(a.max(low).min(high)),
            _ => None,
        };
        kept(result, name)
    }

    fn aggregate(&self, f: &str, of: &Expr, filter: Option<&Expr>, at: At) -> Outcome<Number> {
        let (mut count, mut values) = (Number::whole(0), Vec::new());
        for j in 0..self.inputs.len() {
            let at = At { j: Some(j), ..at };
            match filter.map_or(Ok(Some(true)), |filter| self.condition(filter, at))? {
                Some(false) => continue,
                Some(true) => {}
                None => return unclear("a filter is not decided"),
            }
            if f == "count" {
                count = count.plus(&match self.condition(of, at)? {
                    Some(known) => Number::whole(usize::from(known)),
                    None => Number::Within(Range::ZERO.hull(&Range::whole(1))),
                });
            } else {
                values.push(self.number(of, at)?);
            }
        }
        if values.is_empty() && !matches!(f, "count" | "sum") {
            return undefined(format!("{f} of no tokens"));
        }
        let sum = |values: &[Number]| {
            values.iter().try_fold(Number::whole(0), |sum, value| kept(Some(sum.plus(value)), "a sum"))
        };
        let mean = |values: &[Number]| kept(sum(values)?.over(&Number::whole(values.len())), "a mean");
        let result = match f {
            "count" => Some(count),
            "sum" => Some(sum(&values)?),
            "mean" => Some(mean(&values)?),
            "max" => values.into_iter().reduce(|a, b| a.max(&b)),
            "min" => values.into_iter().reduce(|a, b| a.min(&b)),
            _ => {
                let centre = mean(&values)?;
                let square = |value: &Number| kept(value.minus(&centre).power(2), "a square");
                Some(mean(&values.iter().map(square).collect::<Outcome<Vec<_>>>()?)?)
            }
        };
        kept(result, f)
    }
}

/// `a mod b`; below `|b|` if they are not known.
fn modulo(a: &Number, b: &Number) -> Option<Number> {
    if let (Number::Exact(a), Number::Exact(b)) = (a, b) {
        return a.modulo(b).map(Number::Exact);
    }
    let size = b.range().absolute();
    (!size.lo.is_zero()).then(|| Number::of(Range { lo: Dyadic::ZERO, hi: size.hi }))
}

fn compared(op: &str, a: &Number, b: &Number) -> Option<bool> {
    if let (Number::Exact(a), Number::Exact(b)) = (a, b) {
        return match op {
            "less" => Some(a < b),
            "less-equal" => Some(a <= b),
            "greater" => Some(a > b),
            "greater-equal" => Some(a >= b),
            "equal" => Some(a == b),
            "not-equal" => Some(a != b),
            _ => None,
        };
    }
    let (a, b) = (a.range(), b.range());
    // One of them is more than a single number.
    let (always, never) = match op {
        "less" => (a.hi < b.lo, a.lo >= b.hi),
        "less-equal" => (a.hi <= b.lo, a.lo > b.hi),
        "greater" => (a.lo > b.hi, a.hi <= b.lo),
        "greater-equal" => (a.lo >= b.hi, a.hi < b.lo),
        "equal" => (false, a.hi < b.lo || a.lo > b.hi),
        "not-equal" => (a.hi < b.lo || a.lo > b.hi, false),
        _ => (false, false),
    };
    if always { Some(true) } else { never.then_some(false) }
}

#[cfg(test)]
mod tests;
