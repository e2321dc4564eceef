//! Targets: the functions that constructions compute.
//!
//! A [`Source`] is written by a user: an expression of the target language, a built-in name, a table. Once the number
//! of coordinates of a token is known it becomes a [`Target`], which can be evaluated and bounded.
//!
//! | file | idea |
//! |---|---|
//! | `expr` | the language's abstract syntax |
//! | `token`, `bind`, `parse`, `place` | from text to syntax, with errors that point into the text |
//! | `print` | from syntax to text; reading it back gives the same syntax |
//! | `typing` | scalars, vectors, conditions, integers: everything that can be refused before running |
//! | `attend` | means weighted by a softmax, and their short form |
//! | `simplify` | the variance in disguise |
//! | `number`, `evaluate` | one evaluator for every kind of number |
//! | `range` | an enclosure of all output values |
//! | `enclosure`, `slope`, `modulus` | values and derivatives enclosed on a box; oscillation, Lipschitz constants |
//! | `symmetry` | equivariance and continuity, from the syntax alone |
//! | `witness` | a sequence that refutes equivariance |
//! | [`catalogue`] | the built-in targets, as texts |
//! | `work` | the number of steps that a value takes |
//! | `table` | functions that are constant on cells, as data |

pub(crate) mod attend;
mod bind;
pub mod catalogue;
mod enclosure;
pub(crate) mod evaluate;
mod explain;
pub(crate) mod expr;
pub(crate) mod modulus;
pub(crate) mod number;
pub(crate) mod parse;
mod place;
pub(crate) mod print;
#[cfg(test)]
mod random;
pub(crate) mod range;
mod simplify;
mod slope;
pub(crate) mod symmetry;
pub(crate) mod table;
mod token;
pub(crate) mod typing;
pub(crate) mod univariate;
pub(crate) mod witness;
mod work;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::exact::Sequence;
use crate::interval::dual::Order;
use crate::interval::{Interval, Up};
use crate::lattice::Grid;

use modulus::{Cube, oscillation};

pub(crate) use expr::{Domain, Expression};
pub use table::Table;
pub(crate) use typing::Checked;
pub(crate) use witness::Symmetry;

/// A target as a user writes it.
#[derive(Clone, Debug)]
pub struct Source {
    /// A built-in name, or the text of the expression.
    pub name: String,
    definition: Definition,
}

#[derive(Clone, Debug)]
enum Definition {
    Expression(Expression),
    Table(Table),
}

/// A function on sequences.
#[derive(Clone, Debug)]
pub struct Target {
    /// A built-in name, or the text of the expression.
    pub name: String,
    function: Function,
    /// The result of [`Target::rates`] with its arguments: every grid asks for the same.
    rates: OnceLock<((usize, u32), Result<Rates>)>,
    /// Sums over the cells of grids, by what they are sums of: several formats, several rows of a plan and the claim of what
    /// is built ask for the same.
    sums: Arc<Mutex<Sums>>,
}

/// For each output entry, its rate of change when all inputs change by 1 at most, and a bound on its absolute value.
pub(crate) type Rates = Vec<(Up, Up)>;

/// Two sums over the cells of a grid, by name.
type Sums = BTreeMap<String, Result<(Up, Up)>>;

#[derive(Clone, Debug)]
enum Function {
    Expression(Box<Checked>),
    Table(Table),
}

impl Source {
    /// A source that is an expression of the target language.
    pub fn expression(name: &str, text: &str) -> Result<Self> {
        Ok(Self { name: name.to_owned(), definition: Definition::Expression(Expression::parse(text)?) })
    }

    /// A source that is a table.
    pub fn table(name: &str, table: Table) -> Self {
        Self { name: name.to_owned(), definition: Definition::Table(table) }
    }

    /// Reads the output of [`Source::to_json`], or a table file.
    pub fn from_json(name: &str, file: &Value) -> Result<Self> {
        let file = file.as_object().ok_or_else(|| Error::input(format!("{name} holds no JSON object")))?;
        let text = |field: &str| {
            file.get(field)
                .and_then(Value::as_str)
                .ok_or_else(|| Error::input(format!("{name} has no text in its field \"{field}\"")))
        };
        let own_name = file.get("name").and_then(Value::as_str).unwrap_or(name);
        match text("kind")? {
            "table" => Ok(Self::table(own_name, Table::from_json(file)?)),
            "expression" => {
                let source = Self::expression(own_name, text("text")?)?;
                let written = source.to_json();
                if file.get("ast") == written.get("ast") {
                    return Ok(source);
                }
                Err(Error::input(format!("{name} contradicts itself: its \"ast\" is not the syntax of its \"text\"")))
            }
            other => Err(Error::input(format!("{name} is of kind '{other}'")).note("expected", "table or expression")),
        }
    }

    /// The self-contained form that is written to `target.json`: built-in names are written out.
    pub fn to_json(&self) -> Value {
        match &self.definition {
            Definition::Expression(expression) => json!({
                "kind": "expression",
                "name": self.name,
                "text": expression.to_string(),
                "ast": expression,
            }),
            Definition::Table(table) => {
                let mut file = table.to_json();
                file["name"] = json!(self.name);
                file
            }
        }
    }

    /// The number of tokens, if the target fixes it.
    pub fn tokens(&self) -> Option<usize> {
        match &self.definition {
            Definition::Expression(_) => None,
            Definition::Table(table) => Some(table.grid().tokens()),
        }
    }

    /// The number of coordinates, if the target fixes it.
    pub fn dims(&self) -> Option<usize> {
        match &self.definition {
            Definition::Expression(_) => None,
            Definition::Table(table) => Some(table.grid().dims()),
        }
    }

    /// The cells per side, if the target fixes them: a table's own, and one cell for each integer of an integer domain.
    pub fn resolution(&self) -> Option<u64> {
        match &self.definition {
            Definition::Expression(expression) => match expression.domain {
                Domain::Integers(from, to) => Some(to.abs_diff(from)),
                Domain::Interval(..) => None,
            },
            Definition::Table(table) => Some(table.grid().resolution()),
        }
    }

    /// The ends of the box that the cells of the grid fill. The cells of an integer domain are centred at its integers.
    pub fn cube(&self) -> (Rat, Rat) {
        match &self.definition {
            Definition::Expression(expression) => match &expression.domain {
                Domain::Interval(low, high) => (low.clone(), high.clone()),
                Domain::Integers(from, to) => {
                    let half = Rat::new(1, 2);
                    (Rat::from(*from) - &half, Rat::from(*to) - half)
                }
            },
            Definition::Table(_) => (Rat::ZERO, Rat::ONE),
        }
    }

    /// The approximate number of steps that it takes to evaluate it at one sequence.
    pub fn steps(&self, tokens: usize, dims: usize) -> u128 {
        match &self.definition {
            Definition::Expression(expression) => expression.steps(tokens, dims),
            Definition::Table(_) => tokens as u128 * dims as u128,
        }
    }

    /// The text of the expression, without comments.
    pub fn text(&self) -> Option<String> {
        match &self.definition {
            Definition::Expression(expression) => Some(expression.to_string()),
            Definition::Table(_) => None,
        }
    }

    /// The properties that its syntax shows, for tokens of one coordinate: `equivariant` or `none`, and whether it is
    /// continuous.
    pub fn properties(&self) -> Result<(&'static str, bool)> {
        let tokens = self.tokens().unwrap_or(2);
        let target = self.target(self.dims().unwrap_or(1))?;
        let symmetry = if target.is_equivariant() { "equivariant" } else { "none" };
        Ok((symmetry, target.is_continuous(tokens)))
    }

    /// The function on tokens of `dims` coordinates.
    pub fn target(&self, dims: usize) -> Result<Target> {
        let function = match &self.definition {
            Definition::Expression(expression) => Function::Expression(Box::new(expression.check(dims)?)),
            Definition::Table(table) => Function::Table(table.clone()),
        };
        Ok(Target { name: self.name.clone(), function, rates: OnceLock::new(), sums: Arc::default() })
    }
}

impl Target {
    /// The expression, unless it is a table.
    pub(crate) fn expression(&self) -> Option<&Checked> {
        match &self.function {
            Function::Expression(checked) => Some(checked),
            Function::Table(_) => None,
        }
    }

    /// The table, unless it is an expression.
    pub(crate) fn table(&self) -> Option<&Table> {
        match &self.function {
            Function::Expression(_) => None,
            Function::Table(table) => Some(table),
        }
    }

    /// The approximate number of steps that it takes to evaluate it at one sequence.
    pub fn steps(&self, tokens: usize) -> u128 {
        match &self.function {
            Function::Expression(checked) => checked.expression().steps(tokens, checked.dims()),
            Function::Table(table) => tokens as u128 * table.grid().dims() as u128,
        }
    }

    /// The coordinates of an output token.
    pub fn output_dims(&self) -> usize {
        match &self.function {
            Function::Expression(checked) => checked.output_dims(),
            Function::Table(table) => table.output_dims(),
        }
    }

    /// The value at `x`, exactly.
    pub fn evaluate(&self, x: &[Vec<Rat>]) -> Result<Sequence> {
        match &self.function {
            Function::Expression(checked) => checked.evaluate_exact(x),
            Function::Table(table) => table.evaluate(x),
        }
    }

    /// True if its values at rational points are rational, and so can be computed exactly.
    pub fn is_rational(&self) -> bool {
        match &self.function {
            Function::Expression(checked) => checked.is_rational(),
            Function::Table(_) => true,
        }
    }

    /// The value at `x`: exact where it is rational, else some number of its enclosure, whose width is a loss that
    /// bounds add.
    pub fn evaluate_near(&self, x: &[Vec<Rat>]) -> Result<Sequence> {
        let Function::Expression(checked) = &self.function else { return self.evaluate(x) };
        if checked.is_rational() {
            return self.evaluate(x);
        }
        let point: Cube = x.iter().map(|token| token.iter().map(Interval::from).collect()).collect();
        let middle = |value: &Interval| {
            Rat::from_f64(value.mid())
                .ok_or_else(|| Error::declined("a value is not bounded").note("at", witness::show(x)))
        };
        checked.enclose(&point)?.iter().map(|token| token.iter().map(middle).collect()).collect()
    }

    /// An interval that holds every output entry, over the whole domain.
    pub fn range(&self, tokens: usize) -> Result<(Rat, Rat)> {
        match &self.function {
            Function::Expression(checked) => checked.range_exact(tokens),
            Function::Table(table) => Ok(table.range()),
        }
    }

    /// As [`Target::range`], by outward-rounded floats where no rational range can be found.
    pub fn range_near(&self, tokens: usize) -> Result<(Rat, Rat)> {
        let Function::Expression(checked) = &self.function else { return self.range(tokens) };
        if checked.is_rational() {
            return self.range(tokens);
        }
        let values = checked.enclose(&checked.domain_box(tokens))?.concat();
        let hull = values.into_iter().reduce(Interval::hull).unwrap_or(Interval::ZERO);
        let end = |x: f64| Rat::from_f64(x).ok_or_else(|| Error::declined("the target's values are not bounded"));
        Ok((end(hull.lo())?, end(hull.hi())?))
    }

    /// The value at `x` in double precision, entry by entry, token by token.
    pub fn evaluate_f64(&self, x: &[Vec<f64>]) -> Result<Vec<f64>> {
        match &self.function {
            Function::Expression(checked) => Ok(checked.evaluate_f64(x).concat()),
            Function::Table(table) => {
                let exact: Option<Sequence> =
                    x.iter().map(|token| token.iter().map(|x| Rat::from_f64(*x)).collect()).collect();
                let exact = exact.ok_or_else(|| Error::input("a table has no value at an infinite number"))?;
                Ok(table.evaluate(&exact)?.concat().iter().map(Rat::to_f64).collect())
            }
        }
    }

    /// The values at many sequences, as [`Target::evaluate_f64`] computes each.
    pub fn evaluate_batch(&self, batch: &[Vec<Vec<f64>>]) -> Result<Vec<Vec<f64>>> {
        batch.iter().map(|x| self.evaluate_f64(x)).collect()
    }

    /// Enclosures of every output entry of an expression on a box of inputs.
    pub fn enclose(&self, cube: &Cube) -> Result<Cube> {
        match &self.function {
            Function::Expression(checked) => checked.enclose(cube),
            Function::Table(_) => Err(Error::input("a table has no enclosures")),
        }
    }

    /// The interval of a coordinate of an expression's domain.
    pub fn side(&self) -> Option<Interval> {
        self.expression().map(|checked| checked.domain_box(1)[0][0])
    }

    /// For each output entry, the largest distance of its values on a box from its value at the centre, where `reach`
    /// is the distance from the centre in every input.
    pub fn oscillations(&self, cube: &Cube, centre: &Cube, reach: f64) -> Result<Vec<Up>> {
        match &self.function {
            Function::Expression(checked) => {
                let slopes = checked.slopes(cube, Order::First)?.concat();
                let middle = checked.enclose(centre)?.concat();
                let reach = vec![reach; cube.len() * checked.dims()];
                // For an irrational value, some number of its enclosure is stored.
                let stored = |middle: Interval| if checked.is_rational() { Up::ZERO } else { middle.width().into() };
                let off = |middle: Interval, slope| Up::from(oscillation(middle, slope, &reach)) + stored(middle);
                Ok(middle.into_iter().zip(&slopes).map(|(middle, slope)| off(middle, slope)).collect())
            }
            // A table is constant on its own cells, and it is only asked about those.
            Function::Table(table) => Ok(vec![Up::ZERO; table.grid().tokens() * table.output_dims()]),
        }
    }

    /// For each output entry, a bound on its distance from `offset` on a box.
    pub fn suprema(&self, cube: &Cube, offset: Interval) -> Result<Vec<Up>> {
        let distance = |value: Interval| Up::from(value - offset);
        match &self.function {
            Function::Expression(checked) => Ok(checked.enclose(cube)?.concat().into_iter().map(distance).collect()),
            Function::Table(table) => {
                let middle: Option<Sequence> =
                    cube.iter().map(|token| token.iter().map(|side| Rat::from_f64(side.mid())).collect()).collect();
                let middle = middle.ok_or_else(|| Error::declined("a table has no values on an unbounded box"))?;
                Ok(table.evaluate(&middle)?.concat().iter().map(|value| distance(Interval::from(value))).collect())
            }
        }
    }

    /// The rate of change and the size of each output entry over the whole domain, cut into `2^splits` boxes.
    pub fn rates(&self, tokens: usize, splits: u32) -> Result<Rates> {
        let compute = || match &self.function {
            Function::Expression(checked) => checked.rates(tokens, splits),
            Function::Table(table) => {
                // Inside its cells a table does not change at all.
                let (low, high) = table.range();
                let bound = Up::from(Interval::from(&low).hull(Interval::from(&high)));
                Ok(vec![(Up::ZERO, bound); tokens * table.output_dims()])
            }
        };
        let (asked, known) = self.rates.get_or_init(|| ((tokens, splits), compute()));
        if *asked == (tokens, splits) { known.clone() } else { compute() }
    }

    /// Sums over the cells of a grid, worked out once for each name; the name says all that they depend on besides the target.
    pub(crate) fn sums_once(&self, name: String, work_out: impl FnOnce() -> Result<(Up, Up)>) -> Result<(Up, Up)> {
        // Not held while they are worked out: that takes threads, which may ask as well.
        let known = || self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sums) = known().get(&name) {
            return sums.clone();
        }
        let sums = work_out();
        known().insert(name, sums.clone());
        sums
    }

    /// How many sums over cells were worked out.
    #[cfg(test)]
    pub(crate) fn known_sums(&self) -> usize {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// True if its domain consists of integers.
    pub fn is_discrete(&self) -> bool {
        match &self.function {
            Function::Expression(checked) => matches!(checked.expression().domain, Domain::Integers(..)),
            Function::Table(_) => false,
        }
    }

    /// The integers of its domain, in words, if it consists of integers.
    pub fn integers(&self) -> Option<String> {
        match self.expression().map(|checked| &checked.expression().domain) {
            Some(Domain::Integers(from, to)) => Some(format!("{{{from}, …, {}}}", to - 1)),
            _ => None,
        }
    }

    /// Bounds on `|∂f_entry/∂x_input|` over the whole domain, cut into `2^splits` boxes, `[entry][input]`. A table has
    /// none.
    pub fn lipschitz(&self, tokens: usize, splits: u32) -> Result<Vec<Vec<f64>>> {
        match &self.function {
            Function::Expression(checked) => checked.lipschitz(tokens, splits),
            Function::Table(_) => Err(Error::declined("a table jumps from cell to cell: no slope describes it")),
        }
    }

    /// The resolution that a table fixes.
    pub fn grid_resolution(&self) -> Option<u64> {
        match &self.function {
            Function::Expression(_) => None,
            Function::Table(table) => Some(table.grid().resolution()),
        }
    }

    /// True if it is proved equivariant: an expression by its syntax, a table at every entry.
    pub fn is_equivariant(&self) -> bool {
        match &self.function {
            Function::Expression(checked) => checked.equivariance().is_proved(),
            Function::Table(table) => table.symmetry() == Symmetry::Proved,
        }
    }

    /// The same, and where it is not proved, a search for a witness against it.
    pub(crate) fn symmetry(&self, grid: &Grid) -> Symmetry {
        match &self.function {
            Function::Expression(_) if self.is_equivariant() => Symmetry::Proved,
            Function::Expression(checked) => {
                let found = witness::refute(grid, self.steps(grid.tokens()), |x| checked.evaluate_exact(x));
                found.map_or(Symmetry::Unknown, Symmetry::Refuted)
            }
            Function::Table(table) => table.symmetry(),
        }
    }

    /// True if it is proved continuous. A table jumps from cell to cell.
    pub fn is_continuous(&self, tokens: usize) -> bool {
        match &self.function {
            Function::Expression(checked) => checked.continuity(tokens).is_proved(),
            Function::Table(_) => false,
        }
    }
}
