//! Circuits as they are tried out: a program compiled for a length, and the largest error that is found of it.
//!
//! Errors are first taken in doubles. Where that says that a bound is violated, the target is evaluated again, exactly or enclosed: doubles may
//! step over a jump (`floor(0.333… * 3)`), and a circuit that does not is right.

#![allow(dead_code)]

use std::sync::Mutex;

use formwright::bound::ascent::ascend;
use formwright::construct::circuit::{Compiled, Trade, Wish, compile};
use formwright::error::Result;
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::interval::Interval;
use formwright::lattice::Grid;
use formwright::network::{Precision, Realisation};
use formwright::target::{Domain, Source, Target, catalogue};
use rayon::prelude::*;

/// Built-in targets that no circuit of moderate size approximates in the supremum norm: they compare real numbers, and
/// jump where these are equal.
pub const DECLINED: [&str; 2] = ["rank", "distance"];

/// The built-in targets that are meant for circuits.
pub fn programs() -> impl Iterator<Item = &'static str> {
    catalogue::names().filter(|name| !DECLINED.contains(name))
}

/// A target for sequences of one length.
pub struct Subject {
    pub source: Source,
    pub target: Target,
    pub tokens: usize,
    pub dims: usize,
}

/// The largest error that was found, and where.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub error: f64,
    pub at: Vec<Vec<f64>>,
    pub points: usize,
    /// True if these were all the points that there are.
    pub exhaustive: bool,
}

impl Subject {
    pub fn new(source: Source, tokens: usize, dims: usize) -> Self {
        let target = source.target(dims).unwrap_or_else(|error| panic!("{}: {error}", source.name));
        Self { source, target, tokens, dims }
    }

    /// A built-in name, or an expression, on tokens of one coordinate.
    pub fn of(text: &str, tokens: usize) -> Self {
        let source = catalogue::find(text).unwrap_or_else(|| Source::expression(text, text));
        Self::new(source.unwrap_or_else(|error| panic!("{text}: {error}")), tokens, 1)
    }

    /// The same target on sequences of another length.
    pub fn with_tokens(&self, tokens: usize) -> Self {
        Self::new(self.source.clone(), tokens, self.dims)
    }

    pub fn compile(&self, eps: &Rat, precision: Precision, trade: Trade) -> Result<Compiled> {
        self.compile_with(eps, precision, trade, Realisation::SOFTMAX)
    }

    /// With sums and means realised in another way.
    pub fn compile_with(
        &self,
        eps: &Rat,
        precision: Precision,
        trade: Trade,
        attention: Realisation,
    ) -> Result<Compiled> {
        let checked = self.target.expression().expect("an expression");
        compile(checked, &Wish { tokens: self.tokens, eps: eps.clone(), precision, trade, attention })
    }

    /// In single precision if the tolerance is met there, else in double.
    pub fn compile_in_either(&self, eps: &Rat, trade: Trade) -> Result<Compiled> {
        self.compile(eps, Precision::F32, trade).or_else(|_| self.compile(eps, Precision::F64, trade))
    }

    /// The deep variant; `None` if there is nothing to make deep.
    pub fn compile_deep(&self, eps: &Rat) -> Option<Result<Compiled>> {
        let deep = self.compile_in_either(eps, Trade::Depth);
        let nothing = deep.as_ref().is_err_and(|error| error.headline().starts_with("there is nothing to make deep"));
        (!nothing).then_some(deep)
    }

    pub fn grid(&self) -> Grid {
        let (low, high) = self.source.cube();
        let cells = self.source.resolution().unwrap_or(2).max(2);
        Grid::new(self.tokens, self.dims, cells, low, high).expect("a grid")
    }

    /// The integers of the domain, `from..to`.
    pub fn integers(&self) -> Option<(i64, i64)> {
        match self.target.expression()?.expression().domain {
            Domain::Integers(from, to) => Some((from, to)),
            Domain::Interval(..) => None,
        }
    }

    /// Runs a circuit at about `points` points, random ones and by ascent, or at all points if they are no more than that.
    pub fn search(&self, compiled: &Compiled, points: usize) -> Found {
        let engine = Engine::new(&compiled.network).unwrap_or_else(|error| panic!("{}: {error}", self.source.name));
        let found = Mutex::new(Found::default());
        let run = |batch: &[Vec<Vec<f64>>]| {
            let outputs = engine.run(batch)?;
            let mut found = found.lock().expect("no panic before");
            for (x, y) in batch.iter().zip(&outputs) {
                let error = self.error(x, y, compiled.budget.bound);
                if error > found.error || found.at.is_empty() {
                    (found.error, found.at) = (error, x.clone());
                }
            }
            Ok(outputs)
        };
        let measured = ascend(&self.target, &self.grid(), points, run).expect("outputs");
        let found = found.into_inner().expect("no panic before");
        Found { points: measured.points, exhaustive: measured.exhaustive, ..found }
    }

    /// Runs a circuit on every input of an integer domain.
    pub fn exhaust(&self, compiled: &Compiled) -> Found {
        let (from, to) = self.integers().expect("an integer domain");
        let engine = Engine::new(&compiled.network).and_then(|engine| engine.with_threads(1)).expect("an engine");
        let (values, inputs) = (to.abs_diff(from), self.tokens * self.dims);
        let points = usize::try_from(values.pow(u32::try_from(inputs).expect("few"))).expect("few");
        let input = |code: usize| -> Vec<Vec<f64>> {
            let digits = digits(code as u64, values).take(inputs);
            let numbers: Vec<f64> =
                digits.map(|digit| f64::from(i32::try_from(digit).expect("small")) + whole(from)).collect();
            numbers.chunks(self.dims).map(<[f64]>::to_vec).collect()
        };
        let worst = |chunk: usize| {
            let batch: Vec<_> = (chunk * CHUNK..points.min((chunk + 1) * CHUNK)).map(input).collect();
            let outputs = engine.run(&batch).expect("outputs");
            let errors = batch.into_iter().zip(outputs);
            let errors = errors.map(|(x, y)| (self.error(&x, &y, compiled.budget.bound), x));
            errors.max_by(|a, b| a.0.total_cmp(&b.0)).expect("an input")
        };
        let worst = (0..points.div_ceil(CHUNK)).into_par_iter().map(worst);
        let (error, at) = worst.max_by(|a, b| a.0.total_cmp(&b.0)).expect("an input");
        Found { error, at, points, exhaustive: true }
    }

    /// The largest error of an output: in doubles if that is no more than `bound`, else for certain.
    pub fn error(&self, x: &[Vec<f64>], y: &[Vec<f64>], bound: f64) -> f64 {
        let wanted = self.target.evaluate_f64(x).expect("values");
        assert_eq!(wanted.len(), y.iter().map(Vec::len).sum::<usize>(), "entries");
        let off = wanted.iter().zip(y.iter().flatten()).map(|(f, g)| (f - g).abs());
        // What is no number is an error without a bound.
        let in_doubles = off.fold(0.0, |most, off| if off <= most { most } else { off });
        if in_doubles <= bound { in_doubles } else { self.certain_error(x, y) }
    }

    fn certain_error(&self, x: &[Vec<f64>], y: &[Vec<f64>]) -> f64 {
        let exact = |x: &f64| Rat::from_f64(*x).expect("a finite input");
        let x: Vec<Vec<Rat>> = x.iter().map(|token| token.iter().map(exact).collect()).collect();
        let values: Vec<Interval> = if self.target.is_rational() {
            self.target.evaluate(&x).expect("values").concat().iter().map(Interval::from).collect()
        } else {
            let point = x.iter().map(|token| token.iter().map(Interval::from).collect()).collect();
            self.target.expression().expect("an expression").enclose(&point).expect("values").concat()
        };
        let off =
            |value: &Interval, y: &f64| if y.is_nan() { f64::INFINITY } else { value.lo() - y }.max(y - value.hi());
        values.iter().zip(y.iter().flatten()).map(|(value, y)| off(value, y)).fold(0.0, f64::max)
    }
}

/// Inputs of an exhaustive run that are executed together.
const CHUNK: usize = 1024;

/// The digits of a number, lowest first, without end.
pub fn digits(code: u64, base: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(code), move |rest| Some(rest / base)).map(move |rest| rest % base)
}

fn whole(x: i64) -> f64 {
    f64::from(i32::try_from(x).expect("a small integer"))
}

/// A reason without its numbers, to compare reasons.
pub fn reason(headline: &str) -> String {
    let mut reason = String::new();
    for word in headline.split_inclusive(|c: char| !c.is_alphanumeric() && c != '.' && c != '-' && c != '+') {
        let number = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        if number.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit()) {
            reason.push('…');
            reason.push_str(&word[number.len()..]);
        } else {
            reason.push_str(word);
        }
    }
    reason
}
