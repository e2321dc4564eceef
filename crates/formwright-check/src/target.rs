//! `target.json`: the function, and where its values lie on a box of inputs.

use crate::json::Json;
use crate::number::{Dyadic, Range, is_canonical};

/// An expression. Its words are those of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expr {
    Number(Range),
    /// `token`, `index`, `running` or `length`.
    Word(String),
    Gather(Option<usize>, Box<Expr>),
    Bound(usize),
    Coordinate(Box<Expr>, usize),
    Power(Box<Expr>, u32),
    Table(Box<Expr>, Vec<Range>),
    Sort(Box<Expr>),
    /// An operator, a comparison or a function.
    Apply(String, Vec<Expr>),
    Aggregate(String, Box<Expr>, Option<Box<Expr>>),
}

/// Where inputs lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domain {
    /// The interval between two numbers.
    Interval(Range, Range),
    /// The integers from the first on, before the second.
    Integers(i64, i64),
}

#[derive(Clone, Debug)]
enum Definition {
    Table { resolution: usize, values: Vec<Range> },
    Expression { lets: Vec<Expr>, each: bool, body: Vec<Expr> },
}

/// A target, for tokens of so many coordinates.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where inputs lie.
    pub domain: Domain,
    /// The number of tokens, if it is fixed.
    pub tokens: Option<usize>,
    /// The coordinates of an input token.
    pub dims: usize,
    /// The coordinates of an output token.
    pub output_dims: usize,
    definition: Definition,
}

/// What an expression is: a number, or a condition that holds always, never or perhaps.
enum Meaning {
    Number(Range),
    Condition(Option<bool>),
}

const OPERATORS: [&str; 5] = ["add", "sub", "mul", "div", "mod"];
const COMPARISONS: [&str; 6] = ["less", "less-equal", "greater", "greater-equal", "equal", "not-equal"];
const FUNCTIONS: [(usize, &[&str]); 3] =
    [(1, &["exp", "log", "sqrt", "tanh", "sin", "cos", "abs", "relu", "floor"]), (2, &["min", "max"]), (3, &["clamp"])];
const AGGREGATES: [&str; 6] = ["sum", "mean", "var", "max", "min", "count"];

fn wrong<T>(what: &str, found: &Json) -> Result<T, String> {
    let shown: String = format!("{found:?}").chars().take(120).collect();
    Err(format!("expected {what}, found {shown}"))
}

fn number(value: &Json) -> Result<Range, String> {
    let (Json::Number(text) | Json::Text(text)) = value else { return wrong("a number", value) };
    let plain = text.contains('.') || is_canonical(text);
    Dyadic::parse(text).filter(|_| plain).map_or_else(|| wrong("a rational in lowest terms, or a decimal", value), Ok)
}

fn boxed(value: &Json, names: &[String]) -> Result<Box<Expr>, String> {
    expression(value, names).map(Box::new)
}

fn expression(value: &Json, names: &[String]) -> Result<Expr, String> {
    if let Some(word @ ("token" | "index" | "running" | "length")) = value.text() {
        return Ok(Expr::Word(word.to_owned()));
    }
    let Some([(kind, inner)]) = value.object() else { return wrong("an expression", value) };
    let name = |value: &Json| {
        let place = value.text().and_then(|name| names.iter().position(|known| known == name));
        place.map_or_else(|| wrong("the name of a let before", value), Ok)
    };
    let all = |list: &[Json]| list.iter().map(|value| expression(value, names)).collect::<Result<Vec<_>, _>>();
    match (kind.as_str(), inner.list().unwrap_or(&[])) {
        ("number", _) if inner.text().is_some() => number(inner).map(Expr::Number),
        ("gather", _) => Ok(Expr::Gather(None, boxed(inner, names)?)),
        ("gather-bound", [bound, index]) => Ok(Expr::Gather(Some(name(bound)?), boxed(index, names)?)),
        ("bound", _) => name(inner).map(Expr::Bound),
        ("coordinate", [of, k]) => {
            let k = k.count().map_or_else(|| wrong("a coordinate", k), Ok)?;
            Ok(Expr::Coordinate(boxed(of, names)?, k))
        }
        ("power", [base, k]) => {
            let k = k.count().and_then(|k| u32::try_from(k).ok()).filter(|k| *k <= 4096);
            Ok(Expr::Power(boxed(base, names)?, k.map_or_else(|| wrong("an exponent up to 4096", inner), Ok)?))
        }
        ("table", [index, entries]) => {
            let entries = entries.list().map_or_else(|| wrong("a list", entries), Ok)?;
            Ok(Expr::Table(boxed(index, names)?, entries.iter().map(number).collect::<Result<_, _>>()?))
        }
        ("sort", _) => Ok(Expr::Sort(boxed(inner, names)?)),
        ("negate" | "not", _) => Ok(Expr::Apply(kind.clone(), vec![expression(inner, names)?])),
        ("and" | "or", [_, _]) | ("if", [_, _, _]) => Ok(Expr::Apply(kind.clone(), all(inner.list().unwrap_or(&[]))?)),
        ("binary" | "compare", [op, a, b]) => {
            let known: &[&str] = if kind == "binary" { &OPERATORS } else { &COMPARISONS };
            let op = op.text().filter(|op| known.contains(op)).map_or_else(|| wrong("an operator", op), Ok)?;
            Ok(Expr::Apply(op.to_owned(), vec![expression(a, names)?, expression(b, names)?]))
        }
        ("call", [f, arguments]) => {
            let arguments = arguments.list().map_or_else(|| wrong("arguments", arguments), Ok)?;
            let takes =
                |f: &str| FUNCTIONS.iter().any(|(count, names)| *count == arguments.len() && names.contains(&f));
            let known = f.text().filter(|f| takes(f));
            let f = known.map_or_else(|| wrong("a function with its arguments", f), Ok)?;
            Ok(Expr::Apply(f.to_owned(), all(arguments)?))
        }
        ("aggregate", [f, of, filter]) => {
            let f = f.text().filter(|f| AGGREGATES.contains(f)).map_or_else(|| wrong("an aggregate", f), Ok)?;
            let filter = if *filter == Json::Word("null") { None } else { Some(boxed(filter, names)?) };
            Ok(Expr::Aggregate(f.to_owned(), boxed(of, names)?, filter))
        }
        _ => wrong("an expression", value),
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

    /// How many operations it takes, counted as if none could be skipped.
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

    /// Whether its value may depend on the order of the other tokens.
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

    /// Whether its value is a whole number, whatever the inputs.
    fn is_whole(&self, lets: &[Self]) -> bool {
        let whole = |range: &Range| range.is_point() && *range == range.floor();
        match self {
            Self::Number(range) => whole(range),
            Self::Word(word) => word != "token",
            Self::Bound(of) | Self::Gather(Some(of), _) => lets.get(*of).is_some_and(|value| value.is_whole(lets)),
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

    /// Whether its value may depend on where its token stands.
    fn sees_place(&self) -> bool {
        match self {
            Self::Gather(_, index) => !index.is_index(),
            Self::Sort(_) => true,
            _ => self.is_index() || self.parts().into_iter().any(Self::sees_place),
        }
    }
}

fn fields(value: &Json, known: &[&str]) -> Result<(), String> {
    let object = value.object().map_or_else(|| wrong("an object", value), Ok)?;
    match object.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        Some((name, _)) => Err(format!("the field {name:?} is none that is known: {known:?}")),
        None => Ok(()),
    }
}

impl Target {
    /// Reads a target for tokens of so many coordinates.
    pub fn read(bytes: &[u8], dims: usize) -> Result<Self, String> {
        let file = Json::parse(bytes)?;
        let field =
            |of: &Json, name: &str| of.get(name).cloned().ok_or_else(|| format!("the field {name:?} is missing"));
        if field(&file, "kind")?.text() == Some("table") {
            return Self::table(&file);
        }
        fields(&file, &["kind", "name", "text", "ast"])?;
        if field(&file, "kind")?.text() != Some("expression") {
            return wrong("the kind expression or table", &field(&file, "kind")?);
        }
        let ast = field(&file, "ast")?;
        fields(&ast, &["lets", "body", "domain"])?;
        let (mut names, mut lets) = (Vec::new(), Vec::new());
        let bindings = ast.get("lets").map_or(Some([].as_slice()), Json::list);
        for binding in bindings.ok_or("the lets are no list")? {
            fields(binding, &["name", "value"])?;
            lets.push(expression(&field(binding, "value")?, &names)?);
            let name = field(binding, "name")?.text().map(str::to_owned).ok_or("a let without a name")?;
            if names.contains(&name) {
                return Err(format!("the name {name:?} is bound twice"));
            }
            names.push(name);
        }
        let body = field(&ast, "body")?;
        let (each, body) = match body.object() {
            Some([(kind, e)]) if kind == "each" => (true, vec![expression(e, &names)?]),
            Some([(kind, Json::List(list))]) if kind == "coordinates" => {
                (false, list.iter().map(|e| expression(e, &names)).collect::<Result<_, _>>()?)
            }
            _ => return wrong("a body", &body),
        };
        let beyond = |e: &Expr| matches!(e, Expr::Coordinate(_, k) if *k >= dims);
        if lets.iter().chain(&body).any(|e: &Expr| e.any(&beyond)) {
            return Err(format!("a coordinate that tokens of {dims} do not have"));
        }
        let domain = field(&ast, "domain")?;
        let whole = |value: &Json| match value {
            Json::Number(text) if is_canonical(text) => text.parse::<i64>().ok(),
            _ => None,
        };
        let Some([(kind, ends)]) = domain.object() else { return wrong("a domain", &domain) };
        let domain = match (kind.as_str(), ends.list()) {
            ("interval", Some([low, high])) => Domain::Interval(number(low)?, number(high)?),
            ("integers", Some([from, to])) => match (whole(from), whole(to)) {
                (Some(from), Some(to)) if from < to && from.max(-(1 << 24)) == from && to <= 1 << 24 => {
                    Domain::Integers(from, to)
                }
                _ => return wrong("integers between -2^24 and 2^24", &domain),
            },
            _ => return wrong("a domain", &domain),
        };
        let output_dims = if each { dims } else { body.len() };
        Ok(Self { domain, tokens: None, dims, output_dims, definition: Definition::Expression { lets, each, body } })
    }

    fn table(file: &Json) -> Result<Self, String> {
        fields(file, &["kind", "name", "tokens", "dims", "output_dims", "resolution", "symmetry", "values"])?;
        let count =
            |name: &str| file.get(name).and_then(Json::count).ok_or_else(|| format!("the field {name:?} is no count"));
        let (tokens, dims, output_dims, resolution) =
            (count("tokens")?, count("dims")?, count("output_dims")?, count("resolution")?);
        let sides = u32::try_from(tokens.saturating_mul(dims)).unwrap_or(u32::MAX);
        let entries = file.get("values").and_then(Json::list).ok_or("the field \"values\" is no list")?;
        if resolution.checked_pow(sides) != Some(entries.len()) {
            return Err(format!("{} entries for {resolution}^{sides} cells", entries.len()));
        }
        let mut values = Vec::new();
        for entry in entries {
            let rows = entry.list().filter(|rows| rows.len() == tokens).ok_or("an entry has not one list a token")?;
            for row in rows {
                let row =
                    row.list().filter(|row| row.len() == output_dims).ok_or("an entry lacks a coordinate, or more")?;
                row.iter().try_for_each(|value| number(value).map(|value| values.push(value)))?;
            }
        }
        let domain = Domain::Interval(Range::ZERO, Range::point(Dyadic::ONE));
        let definition = Definition::Table { resolution, values };
        Ok(Self { domain, tokens: Some(tokens), dims, output_dims, definition })
    }

    /// How many operations an output token takes.
    pub fn work(&self, tokens: usize) -> usize {
        let all = |list: &[Expr]| list.iter().map(|e| e.work(tokens)).fold(1, usize::saturating_add);
        match &self.definition {
            Definition::Table { .. } => self.output_dims,
            Definition::Expression { lets, body, .. } => {
                let lets = all(lets).saturating_mul(tokens).saturating_mul(self.dims);
                all(body).saturating_mul(self.output_dims).saturating_add(lets)
            }
        }
    }

    /// Whether an output depends on the multiset of tokens, its own token and its place alone.
    pub fn is_order_free(&self) -> bool {
        match &self.definition {
            Definition::Table { .. } => false,
            Definition::Expression { lets, body, .. } => {
                !lets.iter().chain(body).any(Expr::sees_order) && !lets.iter().any(Expr::sees_place)
            }
        }
    }

    /// Whether, besides, it does not depend on its place.
    pub fn is_equivariant(&self) -> bool {
        match &self.definition {
            Definition::Table { .. } => false,
            Definition::Expression { body, .. } => self.is_order_free() && !body.iter().any(Expr::sees_place),
        }
    }

    /// The cells a side of a table; its values are constant on them.
    pub fn resolution(&self) -> Option<usize> {
        if let Definition::Table { resolution, .. } = self.definition { Some(resolution) } else { None }
    }

    /// An output of a table at a cell.
    pub fn entry(&self, cell: &[&[usize]], token: usize) -> Option<Vec<Range>> {
        let Definition::Table { resolution, values } = &self.definition else { return None };
        let digit = |rank: usize, k: &usize| rank.checked_mul(*resolution)?.checked_add(*k);
        let rank = cell.iter().copied().flatten().try_fold(0, digit)?;
        let from = rank.checked_mul(cell.len())?.checked_add(token)?.checked_mul(self.output_dims)?;
        values.get(from..from.checked_add(self.output_dims)?).map(<[Range]>::to_vec)
    }

    /// Where an output token lies for inputs in a box; or why it may have no value.
    pub fn output(&self, inputs: &[Vec<Range>], token: usize) -> Result<Vec<Range>, String> {
        let Definition::Expression { lets, each, body } = &self.definition else { return Err("a table".to_owned()) };
        let mut evaluation = Evaluation { inputs, dims: self.dims, lets, bound: Vec::new() };
        for value in lets {
            let mut sequence = Vec::new();
            for t in 0..inputs.len() {
                let at = |c| At { i: t, j: None, c };
                sequence.push((0..self.dims).map(|c| evaluation.number(value, at(c))).collect::<Result<Vec<_>, _>>()?);
            }
            evaluation.bound.push(sequence);
        }
        let coordinate = |c: usize| {
            let (e, c) = if *each { (body.first(), c) } else { (body.get(c), 0) };
            evaluation.number(e.ok_or("a body without expressions")?, At { i: token, j: None, c })
        };
        (0..self.output_dims).map(coordinate).collect()
    }
}

/// Where an expression is evaluated: output token, running token, coordinate.
#[derive(Clone, Copy)]
struct At {
    i: usize,
    j: Option<usize>,
    c: usize,
}

struct Evaluation<'x> {
    inputs: &'x [Vec<Range>],
    dims: usize,
    lets: &'x [Expr],
    bound: Vec<Vec<Vec<Range>>>,
}

fn kept(range: Option<Range>, what: &str) -> Result<Range, String> {
    range.and_then(Range::kept).ok_or_else(|| format!("{what} is not shown to be defined and bounded"))
}

impl Evaluation<'_> {
    fn number(&self, e: &Expr, at: At) -> Result<Range, String> {
        match self.meaning(e, at)? {
            Meaning::Number(range) => Ok(range),
            Meaning::Condition(_) => Err("a condition stands for a number".to_owned()),
        }
    }

    fn condition(&self, e: &Expr, at: At) -> Result<Option<bool>, String> {
        match self.meaning(e, at)? {
            Meaning::Condition(known) => Ok(known),
            Meaning::Number(_) => Err("a number stands for a condition".to_owned()),
        }
    }

    /// Coordinate `c` of token `t` of the input, or of a let.
    fn token(&self, of: Option<usize>, t: usize, c: usize) -> Result<Range, String> {
        let sequence = of.map_or(Some(self.inputs), |of| self.bound.get(of).map(Vec::as_slice));
        let value = sequence.and_then(|sequence| sequence.get(t)?.get(c));
        value.cloned().ok_or_else(|| format!("there is no coordinate {c} of token {t}"))
    }

    /// The places below `size` that a number may name.
    fn places(&self, index: &Expr, at: At, size: usize) -> Result<Vec<usize>, String> {
        let range = self.number(index, at)?;
        let last = Range::whole(size.saturating_sub(1)).hi;
        if range.lo.is_negative() || range.hi > last {
            return Err(format!("an index is not shown to be below {size}"));
        }
        let named = |place: &usize| range.lo <= Range::whole(*place).lo && Range::whole(*place).lo <= range.hi;
        let places: Vec<usize> = (0..size).filter(named).collect();
        if places.is_empty() || !(range.is_point() || index.is_whole(self.lets)) {
            Err("an index is not shown to be a whole number".to_owned())
        } else {
            Ok(places)
        }
    }

    fn meaning(&self, e: &Expr, at: At) -> Result<Meaning, String> {
        let t = at.j.unwrap_or(at.i);
        let hull = |values: Vec<Range>| {
            values.into_iter().reduce(|a, b| a.hull(&b)).ok_or("nothing to choose from".to_owned())
        };
        let number = match e {
            Expr::Number(range) => Ok(range.clone()),
            Expr::Word(word) => match (word.as_str(), at.j) {
                ("token", _) => self.token(None, t, at.c),
                ("index", _) => Ok(Range::whole(at.i)),
                ("length", _) => Ok(Range::whole(self.inputs.len())),
                (_, Some(j)) => Ok(Range::whole(j)),
                _ => Err("a running token outside of an aggregate".to_owned()),
            },
            Expr::Bound(of) => self.token(Some(*of), t, at.c),
            Expr::Gather(of, index) => {
                let places = self.places(index, at, self.inputs.len())?;
                hull(places.into_iter().map(|place| self.token(*of, place, at.c)).collect::<Result<_, _>>()?)
            }
            Expr::Coordinate(of, k) if *k < self.dims => return self.meaning(of, At { c: *k, ..at }),
            Expr::Coordinate(_, k) => Err(format!("there is no coordinate {k}")),
            Expr::Power(base, k) => kept(self.number(base, at)?.power(*k), "a power"),
            Expr::Table(index, entries) => {
                let places = self.places(index, at, entries.len())?;
                hull(places.into_iter().filter_map(|place| entries.get(place).cloned()).collect())
            }
            Expr::Sort(of) => {
                let values = (0..self.inputs.len()).map(|t| self.number(of, At { i: t, j: None, c: at.c }));
                let (mut lows, mut highs) = (Vec::new(), Vec::new());
                for value in values {
                    let Range { lo, hi } = value?;
                    lows.push(lo);
                    highs.push(hi);
                }
                // The i-th smallest lies between the i-th smallest of the lower and of the upper ends.
                lows.sort();
                highs.sort();
                let ends = lows.get(t).cloned().zip(highs.get(t).cloned());
                ends.map(|(lo, hi)| Range { lo, hi }).ok_or("a token beyond the sequence".to_owned())
            }
            Expr::Aggregate(f, of, filter) => self.aggregate(f, of, filter.as_deref(), at),
            Expr::Apply(name, parts) => return self.apply(name, parts, at),
        };
        number.map(Meaning::Number)
    }

    fn apply(&self, name: &str, parts: &[Expr], at: At) -> Result<Meaning, String> {
        if let ("and" | "or" | "not" | "if", [first, rest @ ..]) = (name, parts) {
            let first = self.condition(first, at)?;
            let second = || rest.first().map_or(Ok(None), |e| self.condition(e, at));
            return match (name, rest) {
                ("not", _) => Ok(Meaning::Condition(first.map(|known| !known))),
                ("and" | "or", _) => {
                    // One side that is so decides it; else both must be known.
                    let (decided, second) = (name == "or", second()?);
                    let either = [first, second].contains(&Some(decided));
                    let neither = first.and(second).map(|_| !decided);
                    Ok(Meaning::Condition(if either { Some(decided) } else { neither }))
                }
                (_, [a, b]) => match first {
                    Some(true) => self.number(a, at).map(Meaning::Number),
                    Some(false) => self.number(b, at).map(Meaning::Number),
                    None => Ok(Meaning::Number(self.number(a, at)?.hull(&self.number(b, at)?))),
                },
                _ => Err(format!("`{name}` without its parts")),
            };
        }
        let values = parts.iter().map(|part| self.number(part, at)).collect::<Result<Vec<_>, _>>()?;
        let number = match (name, values.as_slice()) {
            ("negate", [a]) => Some(-a),
            ("add", [a, b]) => Some(a + b),
            ("sub", [a, b]) => Some(a - b),
            ("mul", [a, b]) => Some(a * b),
            ("div", [a, b]) => a.over(b),
            ("mod", [a, b]) => modulo(a, b),
            ("exp", [a]) => a.exp(),
            ("log", [a]) => a.log(),
            ("sqrt", [a]) => a.sqrt(),
            ("tanh", [a]) => a.tanh(),
            ("sin", [a]) => a.wave(0),
            ("cos", [a]) => a.wave(1),
            ("abs", [a]) => Some(a.absolute()),
            ("relu", [a]) => Some(a.max(&Range::ZERO)),
            ("floor", [a]) => Some(a.floor()),
            ("min", [a, b]) => Some(a.min(b)),
            ("max", [a, b]) => Some(a.max(b)),
            ("clamp", [a, low, high]) => Some(a.max(low).min(high)),
            (_, [a, b]) => return Ok(Meaning::Condition(compared(name, a, b))),
            _ => None,
        };
        kept(number, name).map(Meaning::Number)
    }

    fn aggregate(&self, f: &str, of: &Expr, filter: Option<&Expr>, at: At) -> Result<Range, String> {
        let one = Range::whole(1);
        let (mut count, mut values) = (Range::ZERO, Vec::new());
        for j in 0..self.inputs.len() {
            let at = At { j: Some(j), ..at };
            match filter.map_or(Ok(Some(true)), |filter| self.condition(filter, at))? {
                Some(false) => continue,
                Some(true) => {}
                None => return Err("a filter is not decided".to_owned()),
            }
            if f == "count" {
                count = &count
                    + &match self.condition(of, at)? {
                        Some(known) => Range::whole(usize::from(known)),
                        None => Range::ZERO.hull(&one),
                    };
            } else {
                values.push(self.number(of, at)?);
            }
        }
        let sum = |values: &[Range]| values.iter().fold(Range::ZERO, |sum, value| &sum + value);
        let mean = |values: &[Range]| sum(values).over(&Range::whole(values.len()));
        let result = match f {
            "count" => Some(count),
            "sum" => Some(sum(&values)),
            "mean" => mean(&values),
            "max" => values.into_iter().reduce(|a, b| a.max(&b)),
            "min" => values.into_iter().reduce(|a, b| a.min(&b)),
            _ => mean(&values).and_then(|centre| {
                let squares = values.iter().map(|value| (value - &centre).power(2)).collect::<Option<Vec<_>>>()?;
                mean(&squares)
            }),
        };
        kept(result, f)
    }
}

/// `a mod b` of integers; below `|b|` if they are not known.
fn modulo(a: &Range, b: &Range) -> Option<Range> {
    let size = b.absolute();
    if size.lo.is_zero() {
        return None;
    }
    if a.is_point() && size.is_point() {
        let times = a.over(&size)?.floor();
        return times.is_point().then(|| a - &(&times * &size));
    }
    Some(Range { lo: Dyadic::ZERO, hi: size.hi })
}

fn compared(op: &str, a: &Range, b: &Range) -> Option<bool> {
    let (always, never) = match op {
        "less" => (a.hi < b.lo, a.lo >= b.hi),
        "less-equal" => (a.hi <= b.lo, a.lo > b.hi),
        "greater" => return compared("less", b, a),
        "greater-equal" => return compared("less-equal", b, a),
        "equal" => (a.is_point() && a == b, a.hi < b.lo || a.lo > b.hi),
        "not-equal" => return compared("equal", a, b).map(|equal| !equal),
        _ => (false, false),
    };
    if always { Some(true) } else { never.then_some(false) }
}

#[cfg(test)]
mod tests;
