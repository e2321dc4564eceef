//! Normal forms as programs: what is computed for numbers, or for boxes, of the inputs.

use std::collections::BTreeSet;

use super::{Monomial, Outcome, Polynomial, Thing, Things};
use crate::kernel::function::{self, CALLS, Call, Jet};
use crate::kernel::number::{Range, Ratio};

/// A sum of products of things, by their places.
#[derive(Debug)]
struct Sum(Vec<(Range, Vec<(usize, u32)>)>);

/// How a thing is computed from earlier ones.
#[derive(Debug)]
enum Step {
    /// An input, by its place among those that are used.
    Input(usize),
    Call(Call, Sum),
    Reciprocal(Sum),
    Largest(Vec<Sum>),
}

/// A polynomial over things that are functions of inputs.
#[derive(Debug)]
pub struct Program {
    steps: Vec<Step>,
    result: Sum,
    /// The inputs that it depends on: token and coordinate.
    pub inputs: Vec<(usize, usize)>,
    /// For each input numbers at which it may have a kink.
    pub kinks: Vec<Vec<Ratio>>,
    /// How many factors are multiplied, and terms added, to compute it once.
    pub cost: usize,
}

fn terms(key: &[(Monomial, String)]) -> Outcome<Polynomial> {
    let term = |(monomial, factor): &(Monomial, String)| Some((monomial.clone(), Ratio::rational(factor)?));
    key.iter().map(term).collect::<Option<_>>().ok_or_else(|| "a factor that is no number".to_owned())
}

/// The things that a thing is made of.
fn arguments(thing: &Thing) -> &[Vec<(Monomial, String)>] {
    match thing {
        Thing::Function(_, keys) | Thing::Largest(keys) => keys,
        _ => &[],
    }
}

impl Things {
    /// The program of a polynomial over things of single tokens.
    pub fn program(&self, of: &Polynomial) -> Outcome<Program> {
        let mut known: Vec<Option<&Thing>> = vec![None; self.known.len()];
        for (thing, number) in &self.numbers {
            *known.get_mut(*number).ok_or_else(|| "a thing without a number".to_owned())? = Some(thing);
        }
        let thing = |number: usize| known.get(number).copied().flatten().ok_or_else(|| "an unknown thing".to_owned());
        // Arguments have smaller numbers than what is made of them.
        let mut needed: BTreeSet<usize> = of.keys().flatten().map(|(number, _)| *number).collect();
        for number in (0..known.len()).rev() {
            if needed.contains(&number) {
                let inner = arguments(thing(number)?).iter().flatten().flat_map(|(monomial, _)| monomial);
                needed.extend(inner.map(|(number, _)| *number));
            }
        }
        let places: Vec<usize> = needed.iter().copied().collect();
        let place = |number: &usize| places.binary_search(number).map_err(|_| "a thing without a place".to_owned());
        let sum = |p: &Polynomial| -> Outcome<Sum> {
            let mut terms = Vec::new();
            for (monomial, factor) in p {
                let factors = monomial.iter().map(|(number, power)| Ok((place(number)?, *power)));
                terms.push((factor.range(), factors.collect::<Outcome<Vec<_>>>()?));
            }
            Ok(Sum(terms))
        };
        let (mut steps, mut inputs, mut kinks) = (Vec::new(), Vec::new(), Vec::new());
        for number in &places {
            let thing = thing(*number)?;
            let parts = arguments(thing).iter().map(|key| terms(key)).collect::<Outcome<Vec<_>>>()?;
            let sums = parts.iter().map(sum).collect::<Outcome<Vec<_>>>()?;
            let called = |name: &str| CALLS.iter().find(|(known, _)| *known == name).map(|(_, call)| *call);
            steps.push(match (thing, sums) {
                (Thing::Token(t, c), _) => {
                    inputs.push((*t, *c));
                    Step::Input(inputs.len().saturating_sub(1))
                }
                (Thing::Function(name, _), mut sums) => match (called(name), sums.pop(), sums.pop()) {
                    (Some(call), Some(of), None) => {
                        if let ([p], Call::Relu | Call::Abs) = (parts.as_slice(), call) {
                            kinks.extend(Self::zero(p, &known));
                        }
                        Step::Call(call, of)
                    }
                    (None, Some(of), None) if *name == "reciprocal" => Step::Reciprocal(of),
                    _ => return Err(format!("there is no rule for boxes of {name}")),
                },
                (Thing::Largest(_), sums) => Step::Largest(sums),
                _ => return Err("there is no rule for boxes of what is not of single tokens".to_owned()),
            });
        }
        let at = |input: &(usize, usize)| {
            kinks.iter().filter(|(place, _)| place == input).map(|(_, knot)| knot.clone()).collect::<Vec<_>>()
        };
        let kinks = inputs.iter().map(at).collect();
        let mut program = Program { steps, result: sum(of)?, inputs, kinks, cost: 0 };
        let all = program.steps.iter().flat_map(|step| match step {
            Step::Input(_) => &[],
            Step::Call(_, sum) | Step::Reciprocal(sum) => std::slice::from_ref(sum),
            Step::Largest(sums) => sums.as_slice(),
        });
        let cost = |Sum(terms): &Sum| terms.iter().map(|(_, factors)| factors.len().saturating_add(1)).sum::<usize>();
        program.cost = all.chain([&program.result]).map(cost).fold(program.steps.len(), usize::saturating_add);
        Ok(program)
    }

    /// The input, and its value, for which a polynomial is 0, if it is linear in one input, or in the positive part of
    /// what is.
    fn zero(p: &Polynomial, known: &[Option<&Thing>]) -> Option<((usize, usize), Ratio)> {
        let mut linear = p.iter().filter(|(monomial, _)| !monomial.is_empty());
        let ((monomial, factor), None) = (linear.next()?, linear.next()) else { return None };
        let [(number, 1)] = monomial.as_slice() else { return None };
        let value = p.get(&Vec::new()).cloned().unwrap_or(Ratio::ZERO).negative().over(factor)?;
        match known.get(*number).copied().flatten()? {
            Thing::Token(t, c) => Some(((*t, *c), value)),
            Thing::Function("relu", keys) if !value.is_negative() => {
                let [key] = keys.as_slice() else { return None };
                let inner = Self::plus(&terms(key).ok()?, &Ratio::ONE.negative(), &Self::constant(value)).ok()?;
                Self::zero(&inner, known)
            }
            _ => None,
        }
    }
}

/// A power, cheaply if it is none.
fn raised(base: &Jet, power: u32) -> Option<Jet> {
    if power == 1 { Some(base.clone()) } else { function::power(base, power) }
}

fn sum(Sum(terms): &Sum, known: &[Jet]) -> Option<Jet> {
    let mut total = function::number(&Range::ZERO);
    for (factor, factors) in terms {
        let mut product = function::number(factor);
        for (place, power) in factors {
            product = function::product(&product, &raised(known.get(*place)?, *power)?)?;
            if product.value == Range::ZERO && product.slope == Some(Range::ZERO) {
                break;
            }
        }
        total = function::both(&total, &product, |a, b| (a + b).tidy());
    }
    Some(total)
}

impl Program {
    /// All values for inputs from these ranges, and the slopes and second derivatives along one of them, if it is named;
    /// nothing if it is not shown to be defined there.
    pub fn on(&self, inputs: &[Range], along: Option<usize>) -> Option<Jet> {
        let mut known: Vec<Jet> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let next = match step {
                Step::Input(place) if along == Some(*place) => {
                    Jet { slope: Some(Range::whole(1)), ..function::number(inputs.get(*place)?) }
                }
                Step::Input(place) => function::number(inputs.get(*place)?),
                Step::Call(call, of) => function::call(*call, &sum(of, &known)?)?,
                Step::Reciprocal(of) => function::reciprocal(&sum(of, &known)?)?,
                Step::Largest(of) => {
                    let all = of.iter().map(|of| sum(of, &known)).collect::<Option<Vec<_>>>()?;
                    all.into_iter().reduce(|a, b| function::larger(&a, &b))?
                }
            };
            known.push(next);
        }
        sum(&self.result, &known)
    }
}
