//! The rules of hosts (CERTIFICATE.md, section 10): what a stock Transformer adds to what lines have lost.
//!
//! ```text
//! stream     z_p is half the difference of a pair, in units of the pin; middles are half the sums
//! norm       f (z_p + ε_p), |f - 1| ≤ r for all of a token, |ε_p| ≤ η (Z_p + M); behind a layer f is gone, and z_p has moved
//! reading    f (Σ w (z + ε) + c (1 + ε) + ξ), ξ each row's own rounding
//! units      f max(x, 0) up to α: a gate is f times what it is; f² times, if it is multiplied by a 1 of the pin
//! sums       what is not active is quiet: 3 α |w2| for each unit that writes
//! heads      values have the factors of their tokens
//! ```

use super::layer::{Group, shared};
use super::points::is_whole;
use super::profile::{Profile, up};
use super::{Form, Known, Prover, Reading, Register, Stop, line};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::kernel::piecewise::{Active, Piecewise};
use crate::kernel::sum::Row;
use crate::prove::{declined, rejected};
use crate::read::certificate::{Layer, Wire};
use crate::read::host::{Activation, Host, Order};
use crate::read::target::Target;
use crate::read::weights::Head;

/// The stream of a host, and how it is read.
pub(super) struct Housing<'h> {
    host: &'h Host,
    /// The norms that have acted.
    norms: usize,
    /// `r₀`: how far the pin may be from `C`, relatively.
    drift: Dyadic,
    /// `S` and `m`.
    spread: Dyadic,
    middle: Dyadic,
    reader: Reader,
    /// True if readers read the stream itself.
    bare: bool,
    /// How far what units are multiplied by may be from `f`, relatively.
    gate: Dyadic,
    /// `1 + M/C`, and `α`: how far a unit may be from its ReLU.
    pin: Dyadic,
    activation: Dyadic,
}

/// What a reader reads with.
#[derive(Clone)]
struct Reader {
    /// `r`
    factor: Dyadic,
    /// `η`, `ζ` and `M`.
    relative: Dyadic,
    constant: Dyadic,
    middle: Dyadic,
}

/// A norm, as it acts on a stream.
struct Norm {
    /// `η`, `ζ`, `δ`, `M`, `r₁`
    relative: Dyadic,
    constant: Dyadic,
    mean: Dyadic,
    middle: Dyadic,
    factor: Dyadic,
}

impl<'h> Housing<'h> {
    pub(super) fn new(host: &'h Host) -> Self {
        let zero = || Dyadic::ZERO;
        let reader = Reader { factor: zero(), relative: zero(), constant: zero(), middle: zero() };
        let pin = Dyadic::ONE;
        let gate = zero();
        Self {
            host,
            norms: 0,
            drift: zero(),
            spread: zero(),
            middle: zero(),
            reader,
            bare: false,
            gate,
            pin,
            activation: zero(),
        }
    }

    /// Reads so from now on: the stream itself, or what a norm makes of it. A 1 that is read from the pin is off by so
    /// much.
    fn read_so(&mut self, reader: Reader, bare: bool, one: &dyn Fn(&Reader, &Dyadic) -> Dyadic) -> Result<(), Stop> {
        let still = &self.host.scale * &(&Dyadic::ONE - &reader.factor);
        self.activation = up(&shared(&self.host.activation.distance().range().hi, &still)?);
        self.pin = up(&(&Dyadic::ONE + &shared(&reader.middle, &self.host.pin)?));
        if self.host.gated {
            self.gate = one(&reader, &self.pin);
            self.activation = up(&(&(&self.activation * &one_and(&reader.factor)) * &one_and(&self.gate)));
        }
        (self.reader, self.bare) = (reader, bare);
        Ok(())
    }

    /// How far what is added to the stream may be from what is read, relatively, in units of the pin.
    fn added(&self) -> Result<Dyadic, Stop> {
        let Self { reader, drift, .. } = self;
        if drift.is_zero() {
            return Ok(reader.factor.clone());
        }
        shared(&(&reader.factor + drift), &(&Dyadic::ONE - drift))
    }

    /// The largest middle of a pair.
    fn middles(&self) -> Dyadic {
        &self.spread + &self.middle
    }
}

/// The most labels, and the most tokens, to the power of three, whose values are enclosed.
const MOST_LABELS: usize = 1 << 8;
const MOST_PLACES: usize = 1 << 21;

/// The largest number that is given to an activation: its cube is a number of the format.
fn largest(digits: i64) -> Dyadic {
    Dyadic::power_of_two(if digits == 53 { 321 } else { 41 })
}

/// `K`: how often a term of a row is rounded, of which every register is two, and a bias another two; products with
/// powers of two are not rounded, but that with a pin.
fn terms(reading: &Reading, biased: bool) -> usize {
    let terms = reading.count.saturating_mul(2);
    if biased { terms.saturating_add(2) } else { terms.saturating_sub(usize::from(reading.powers)) }
}

fn quarter() -> Dyadic {
    Dyadic::power_of_two(-2)
}

fn one_and(x: &Dyadic) -> Dyadic {
    &Dyadic::ONE + x
}

fn is_power(x: &Dyadic) -> bool {
    x.quantum().is_some_and(|q| *x == Dyadic::power_of_two(q))
}

impl Prover<'_> {
    /// True in a host, where nothing is exact.
    pub(super) fn is_housed(&self) -> bool {
        self.housing.is_some()
    }

    /// The norm behind a layer, or behind the embedding, if there is one.
    pub(super) fn behind_layer(&mut self) -> Result<(), Stop> {
        match self.housing.as_ref().map(|housing| housing.host.order) {
            Some(Order::Behind) => self.norm_stream(),
            Some(Order::Ends) if self.layer == 0 => self.norm_stream(),
            _ => Ok(()),
        }
    }

    /// The norms before the outputs, if there are any.
    pub(super) fn before_outputs(&mut self) -> Result<(), Stop> {
        if self.housing.as_ref().is_some_and(|housing| housing.host.order == Order::Ends) {
            self.norm_stream()?;
        }
        self.before_layer()
    }

    /// A norm of the stream itself.
    fn norm_stream(&mut self) -> Result<(), Stop> {
        let Some(Housing { host, drift, spread, middle, .. }) = &self.housing else { return Ok(()) };
        if !host.centred {
            return Err(line("a stream that is normed without a mean"));
        }
        let (pin, drift, spread, middle) = (host.pin.clone(), drift.clone(), spread.clone(), middle.clone());
        let norm = self.norm(&drift, &spread, &middle)?;
        let rest = &Dyadic::ONE - &norm.constant;
        let mut largest = pin;
        let mut registers = self.registers.clone();
        for register in &mut registers {
            let held = self.held(register)?;
            let off = &norm.relative * &(&held + &norm.middle);
            let moved = shared(&(&off + &(&norm.constant * &held)), &rest)?;
            register.lost = up(&(&register.lost + &moved));
            if let Some((_, astray)) = &mut register.sign {
                *astray = up(&shared(&(&*astray + &off), &rest)?);
            }
            register.empty = false;
            // At every position by what it is there.
            for (number, strayed) in register.stored.iter_mut().flatten() {
                let there = &number.abs() + &*strayed;
                let off = &(&norm.relative * &(&there + &norm.middle)) + &(&norm.constant * &there);
                *strayed = up(&(&*strayed + &shared(&off, &rest)?));
            }
            largest = largest.max(held);
        }
        self.registers = registers;
        let odd = &norm.relative * &(&largest + &norm.middle);
        let factor = up(&(&(&one_and(&norm.factor) * &one_and(&norm.constant)) - &Dyadic::ONE));
        let factor = small(factor, "the pin's factor")?;
        let spread = up(&shared(&(&spread + &(&odd + &odd)), &rest)?);
        let middle = up(&shared(&(&norm.mean + &odd), &rest)?);
        let Some(housing) = &mut self.housing else { return Ok(()) };
        (housing.drift, housing.spread, housing.middle) = (factor.clone(), spread, middle);
        let middle = housing.middles();
        self.read_so(Reader { factor, relative: Dyadic::ZERO, constant: Dyadic::ZERO, middle }, true)
    }

    /// The norm before a layer, or before the outputs, if there is one.
    pub(super) fn before_layer(&mut self) -> Result<(), Stop> {
        let Some(Housing { host, drift, spread, middle, .. }) = &self.housing else { return Ok(()) };
        match host.order {
            Order::Behind => return Ok(()),
            // What is behind the embedding is normed already.
            Order::Ends if self.layer == 1 => return Ok(()),
            _ => {}
        }
        let (drift, spread, middle) = (drift.clone(), spread.clone(), middle.clone());
        let Norm { relative, constant, middle, factor, .. } = self.norm(&drift, &spread, &middle)?;
        self.read_so(Reader { factor, relative, constant, middle }, false)
    }

    /// Reads so from now on.
    fn read_so(&mut self, reader: Reader, bare: bool) -> Result<(), Stop> {
        let (gamma, tiny, unit) = (self.gamma(2), self.tiny(2), self.unit());
        // *Reading* of a constant 1, and one rounding of the product.
        let one = |reader: &Reader, pin: &Dyadic| {
            let read = &(&(&gamma * &one_and(&reader.relative)) * pin) + &(&reader.constant + &tiny);
            up(&(&read + &(&unit * &one_and(&read))))
        };
        let Some(housing) = &mut self.housing else { return Ok(()) };
        housing.read_so(reader, bare, &one)?;
        if housing.host.order == Order::Ends || housing.host.gated {
            // Beside the factors there is room for these.
            small(self.gate_factor(), "what is added to the stream")?;
            if !bare {
                small(self.value_factor()?, "what heads add to the stream")?;
            }
        }
        Ok(())
    }

    /// The next norm, of streams as they are known.
    fn norm(&mut self, drift: &Dyadic, spread: &Dyadic, middle: &Dyadic) -> Result<Norm, Stop> {
        let Some(housing) = &mut self.housing else { return Err(line("a norm outside of a host")) };
        let host = housing.host;
        let gains = host.gains.get(housing.norms).ok_or_else(|| line("a norm that is not there"))?;
        housing.norms = housing.norms.saturating_add(1);
        let (one, unit, width) = (Dyadic::ONE, self.unit(), Range::whole(host.width).hi);
        let (square, middles) = (&host.pin * &host.pin, spread + middle);
        let pins = &square + &square;
        let mut squares = Dyadic::ZERO;
        for register in &self.registers {
            let held = self.held(register)?;
            squares = up(&(&squares + &(&held * &held)));
        }
        // What all squares add up to, beside those of the pins.
        let beside = &(&squares + &squares) + &(&width * &(&middles * &middles));
        let all = &pins + &beside;
        let twice = &(&all + &all) * &width;
        let flushed = self.flushed_terms(host.width);
        let root = Range::point(all).over(&Range::point(width.clone())).and_then(|mean| mean.sqrt());
        let root = root.ok_or_else(|| line("a root of what is not positive"))?;
        let mean = up(&(&(&self.gamma(host.width.saturating_add(8)) * &root.hi) + &flushed));
        let mean = if host.centred { mean } else { Dyadic::ZERO };
        // D/2 is a power of 4.
        let half = i64::from((host.width / 2).trailing_zeros()) / 2;
        let gain = &host.pin * &Dyadic::power_of_two(half.saturating_neg());
        let tiny = &Dyadic::power_of_two(self.format.least.saturating_add(5)) * &gain.clone().max(shared(&one, &gain)?);
        let tiny = shared(&tiny, &unit)?;
        // Without a mean the middles themselves are what is left of them.
        let twice_middle = if host.centred { middle + middle } else { middle.clone() };
        let reach = up(&(&(spread + &twice_middle) + &(&mean + &tiny)));
        let apart = gains.iter().map(|own| (own - &gain).abs()).fold(Dyadic::ZERO, Dyadic::max);
        let apart = shared(&apart, &gain)?;
        let roundings = if gains.iter().all(is_power) { 2 } else { 3 };
        let relative = up(&(&apart + &(&self.gamma(roundings) * &one_and(&apart))));
        let still = &one - drift;
        let eps = host.eps.range().hi;
        let eps = shared(&(&(&eps * &one_and(&Dyadic::power_of_two(-20))) * &width), &(&still * &still))?;
        let more = up(&shared(&(&beside + &eps), &pins)?);
        let four = Dyadic::power_of_two(2);
        let roundings = host.width.saturating_add(if host.centred { 32 } else { 4 });
        let variance = &self.gamma(roundings) * &one_and(&more);
        let variance = small(up(&(&variance + &shared(&(&four * &flushed), &square)?)), "the variance")?;
        let halved = |x: &Dyadic| x * &Dyadic::power_of_two(-1);
        let root = &one_and(&halved(&variance)) + &(&variance * &variance);
        let factor = &(&one_and(&halved(&more)) * &root) * &one_and(&self.gamma(8));
        let factor = small(up(&(&factor - &one)), "a token's factor, by squares of registers beside that of the pin,")?;
        let lowest = shared(&(&four * &flushed), &square)?;
        let heard = &(&more * &one_and(&self.gamma(host.width.saturating_add(2)))) + &lowest;
        let quiet = !host.centred && drift.is_zero() && is_power(&host.pin) && heard < halved(&unit);
        let factor = if quiet { factor.min(self.gamma(4)) } else { factor };
        let constant = &relative * &one_and(&shared(&reach, &host.pin)?);
        let constant = small(up(&constant), "the pin, by gains and roundings,")?;
        self.note(&twice);
        Ok(Norm { relative, constant, mean, middle: reach, factor })
    }

    /// `φ_k`
    fn flushed_terms(&self, k: usize) -> Dyadic {
        let terms = Range::whole(k.saturating_mul(4).saturating_add(8)).hi;
        &terms * &Dyadic::power_of_two(self.format.least)
    }

    /// How far a register may be from what it holds where it is read, beside what it has lost; and the middles beside it.
    pub(super) fn read_beside(&self, held: &Dyadic) -> (Dyadic, Dyadic) {
        let Some(Housing { reader, .. }) = &self.housing else { return (Dyadic::ZERO, Dyadic::ZERO) };
        (&reader.relative * &(held + &reader.middle), reader.middle.clone())
    }

    /// `Γ (Σ|w| (Z + M) + |c| (1 + M/C)) + ζ |c| + 2φ`: what a row of so many registers and a bias rounds in a host.
    pub(super) fn housed_row(&self, reading: &Reading, bias: &Dyadic) -> Option<Dyadic> {
        let housing = self.housing.as_ref()?;
        let terms = terms(reading, !bias.is_zero());
        let gamma = &self.gamma(terms) * &one_and(&housing.reader.relative);
        let all = &(&reading.size + &reading.middle) + &(&bias.abs() * &housing.pin);
        let own = &(&gamma * &all) + &(&housing.reader.constant * &bias.abs());
        let none = reading.count == 0 && bias.is_zero();
        Some(if none { Dyadic::ZERO } else { up(&(&own + &self.tiny(terms))) })
    }

    /// All that may be computed of a row at one token, of what it reads there, its size and its middles.
    pub(super) fn housed_number(&self, row: &Row, (sum, size, middle): (Range, Dyadic, Dyadic)) -> Range {
        let powers = row.weights.iter().all(|(_, weight)| is_power(&weight.abs()));
        let count = row.weights.len();
        let reading = Reading { form: Form::zero(), lost: Dyadic::ZERO, size, middle, count, single: false, powers };
        let own = self.housed_row(&reading, &row.bias).unwrap_or(Dyadic::ZERO);
        let factor = self.output_factor();
        let factor = Range { lo: &Dyadic::ONE - &factor, hi: &Dyadic::ONE + &factor };
        (&(&sum + &Range::around_zero(&own)) * &factor).tidy()
    }

    /// The same for a unit, which reads so much, where it is multiplied by what is nearly `f`.
    pub(super) fn housed_unit(&self, reading: &Reading, bias: &Dyadic) -> Option<Dyadic> {
        let own = self.housed_row(reading, bias)?;
        let gate = self.housing.as_ref().map_or(Dyadic::ZERO, |housing| housing.gate.clone());
        let all = &(&reading.size + &bias.abs()) + &(&reading.lost + &own);
        Some(up(&(&own + &(&gate * &all))))
    }

    /// What reading another token loses, which has a factor of its own.
    pub(super) fn housed_value(&self, reading: &Reading, factor: &Dyadic) -> Option<Dyadic> {
        let own = self.housed_row(reading, &Dyadic::ZERO)?;
        Some(up(&(&own + &(factor * &(&reading.size + &own)))))
    }

    /// The least that a query may be that is a number of the biases.
    pub(super) fn housed_query(&self, number: &Dyadic) -> Result<Dyadic, Stop> {
        let nothing = Reading {
            form: Form::zero(),
            lost: Dyadic::ZERO,
            size: Dyadic::ZERO,
            middle: Dyadic::ZERO,
            count: 0,
            single: false,
            powers: false,
        };
        let Some(off) = self.housed_row(&nothing, number) else { return Ok(number.clone()) };
        let least = &(number - &off) * &(&Dyadic::ONE - &self.output_factor());
        // Much of it is left, or nothing is shown.
        if &least + &least < *number {
            return Err(declined("a query that may be half of what it is meant to be"));
        }
        let digits = least.top().saturating_sub(60);
        Ok(least.down(digits))
    }

    /// The same for units of one number, times what they write.
    pub(super) fn housed_units(&self, group: &Group, active: &Active) -> Option<Dyadic> {
        let housing = self.housing.as_ref()?;
        let terms = terms(&group.reading, !active.biases.is_zero());
        let gamma = &self.gamma(terms) * &one_and(&housing.reader.relative);
        // One register and a constant are nowhere larger than what comes out and the constant.
        let near = &active.heights + &(&active.weights * &housing.reader.middle);
        let plain = &active.weights * &(&group.reading.size + &group.reading.middle);
        let alone = group.reading.count == 1 && group.reading.powers;
        let all = &(if alone { plain.min(near) } else { plain }) + &(&active.biases * &housing.pin);
        let own = &(&gamma * &all) + &(&housing.reader.constant * &active.biases);
        let own = up(&(&own + &(&active.weights * &self.tiny(terms))));
        // What is active is as large as what comes out, with all that it is off by.
        let out = &(&active.heights + &(&active.weights * &group.reading.lost)) + &own;
        Some(up(&(&own + &(&housing.gate * &out))))
    }

    /// The cost of quiet terms, for units whose weights are so large together: `3α Σ|w2|`.
    pub(super) fn quiet(&self, weights: &Dyadic) -> Dyadic {
        self.housing.as_ref().map_or(Dyadic::ZERO, |housing| up(&(&(&Dyadic::from(3) * &housing.activation) * weights)))
    }

    /// The same for all units of a function, active or not: all that face right are active at the last knot, and all that
    /// face left before the first one.
    pub(super) fn quiet_units(&self, function: &Piecewise) -> Dyadic {
        let (Some(first), Some(last)) = (function.knots.first(), function.knots.last()) else { return Dyadic::ZERO };
        if !self.is_housed() {
            return Dyadic::ZERO;
        }
        let everywhere = Range { lo: first - &Dyadic::ONE, hi: last.clone() };
        self.quiet(&function.active(&everywhere).weights)
    }

    /// Refuses numbers that are too large for an activation.
    pub(super) fn activated(&mut self, size: &Dyadic) -> Result<(), Stop> {
        let Some(Housing { host, .. }) = &self.housing else { return Ok(()) };
        let given = &(&host.scale * size) * &one_and(&quarter());
        let relu = host.activation == Activation::Relu;
        self.note(&(&given + &given));
        if relu || given <= largest(self.format.digits) {
            return Ok(());
        }
        Err(rejected("finite", format!("{given} is given to an activation")))
    }

    /// `r_g`: how far the factor of a gate may be from 1.
    pub(super) fn gate_factor(&self) -> Dyadic {
        let Some(housing) = &self.housing else { return Dyadic::ZERO };
        let added = if housing.bare { Dyadic::ZERO } else { housing.added().unwrap_or_else(|_| quarter()) };
        if !housing.host.gated {
            return added;
        }
        up(&(&(&one_and(&added) * &one_and(&housing.reader.factor)) - &Dyadic::ONE))
    }

    /// `r`
    pub(super) fn output_factor(&self) -> Dyadic {
        self.housing.as_ref().map_or(Dyadic::ZERO, |housing| housing.reader.factor.clone())
    }

    /// `r_v`: how far the factor of another token may be from one's own, or from 1.
    pub(super) fn value_factor(&self) -> Result<Dyadic, Stop> {
        self.housing.as_ref().map_or(Ok(Dyadic::ZERO), Housing::added)
    }

    /// A wire that is `f` times what it would be, with what is added to it.
    pub(super) fn times_factor(&mut self, wire: usize, adds: &Form, known: Known) -> Result<Known, Stop> {
        let factor = self.gate_factor();
        if factor.is_zero() {
            return Ok(known);
        }
        let rest = adds.minus(&Form::of(wire));
        let (beside, apart) = (self.range(&rest)?, self.error(&rest)?);
        // What is added where the wire has such values, and is off by so much.
        let by = |values: &Range, error: &Dyadic| up(&(&factor * &(&(values + &beside).size() + &(error + &apart))));
        let most = by(&known.range, &known.most);
        let tooth = up(&(&known.tooth + &most));
        if let Some(off) = self.whole.off.get_mut(&wire) {
            *off = up(&(&*off + &most));
        }
        if let Profile::Cells(mut cells) = known.error {
            for cell in &mut cells {
                cell.error = up(&(&cell.error + &by(&cell.values, &cell.error)));
            }
            return Ok(Known { range: known.range, tooth, ..Known::of_cells(cells) });
        }
        let all = up(&(&known.most + &most));
        let error = match known.error {
            Profile::Constant(_) => Profile::Constant(all.clone()),
            other => other.raised(&most),
        };
        Ok(Known { range: known.range, error, most: all, tooth })
    }

    /// The largest middle of a pair, where something is written.
    pub(super) fn middles(&self) -> Dyadic {
        self.housing.as_ref().map_or(Dyadic::ZERO, Housing::middles)
    }

    /// What is left of a register that units clear, beside what they never see; and what the rounding of the sum counts.
    pub(super) fn left_in_host(&self, before: &Register) -> Result<(Dyadic, Dyadic), Stop> {
        let held = self.held(before)?;
        let (beside, middle) = self.read_beside(&held);
        let reading = Reading {
            form: Form::zero(),
            lost: Dyadic::ZERO,
            size: &held + &beside,
            middle,
            count: 1,
            single: false,
            powers: true,
        };
        let off = &beside + &self.housed_unit(&reading, &Dyadic::ZERO).unwrap_or(Dyadic::ZERO);
        let factor = self.gate_factor();
        let left = &(&(&factor * &held) + &(&one_and(&factor) * &off)) + &self.quiet(&Dyadic::from(2));
        let all = &held + &self.middles();
        let twice = &(&all + &all) + &(&off + &off);
        Ok((up(&left), up(&(&one_and(&factor) * &twice))))
    }

    /// The middles that units write.
    pub(super) fn units_write(&mut self, units: &[Row], gains: &[Row]) -> Result<Dyadic, Stop> {
        if !self.is_housed() {
            return Ok(Dyadic::ZERO);
        }
        let mut sizes = Vec::new();
        for unit in units {
            let reading = self.reading(&unit.weights)?;
            sizes.push(&(&reading.size + &reading.middle) + &unit.bias.abs());
        }
        let mut most = Dyadic::ZERO;
        for (row, register) in gains.iter().zip(&self.registers) {
            let (mut terms, mut weights) = (Dyadic::ZERO, Dyadic::ZERO);
            for (unit, weight) in &row.weights {
                let size = sizes.get(*unit).ok_or_else(|| line("a unit that does not exist"))?;
                terms = up(&(&terms + &(&weight.abs() * size)));
                weights = up(&(&weights + &weight.abs()));
            }
            let quiet = self.quiet(&weights);
            most = most.max(self.uneven(row.weights.len(), register, &terms, &quiet)?);
        }
        Ok(most)
    }

    /// The middles that heads write.
    pub(super) fn heads_write(&mut self, heads: &[&Head]) -> Result<Dyadic, Stop> {
        if !self.is_housed() {
            return Ok(Dyadic::ZERO);
        }
        let mut sums = vec![(0_usize, Dyadic::ZERO); self.registers.len()];
        for head in heads {
            for (place, row) in head.o.iter().enumerate() {
                let (count, terms) = sums.get_mut(place).ok_or_else(|| line("a register that does not exist"))?;
                for (value, weight) in &row.weights {
                    let values = head.v.get(*value).ok_or_else(|| line(format!("there is no value {value}")))?;
                    let reading = self.reading(&values.weights)?;
                    let size = &reading.size + &reading.middle;
                    *terms = up(&(&*terms + &(&weight.abs() * &(&size + &size))));
                    *count = count.saturating_add(1);
                }
            }
        }
        let mut most = Dyadic::ZERO;
        for ((count, terms), register) in sums.iter().zip(&self.registers) {
            most = most.max(self.uneven(*count, register, terms, &Dyadic::ZERO)?);
        }
        Ok(most)
    }

    /// How differently the two coordinates of a register may be rounded.
    fn uneven(&self, count: usize, register: &Register, terms: &Dyadic, quiet: &Dyadic) -> Result<Dyadic, Stop> {
        if count == 0 {
            return Ok(Dyadic::ZERO);
        }
        let all = &(&self.held(register)? + &self.middles()) + terms;
        let gamma = self.gamma(count.saturating_add(1));
        Ok(up(&(&(&(&(&gamma + &gamma) * &all) + quiet) + &self.tiny(count))))
    }

    /// Remembers what was written.
    pub(super) fn wrote(&mut self, most: &Dyadic) {
        if let Some(housing) = &mut self.housing {
            housing.spread = up(&(&housing.spread + &(most + most)));
            housing.middle = up(&(&housing.middle + most));
        }
    }

    /// The embedding of ids: rows of words, and of positions.
    pub(super) fn embedding_of_words(&mut self, hint: &Layer) -> Result<bool, Stop> {
        let Some(Housing { host: Host { words: Some(words), order, .. }, .. }) = &self.housing else {
            return Ok(false);
        };
        let (before, words) = (*order == Order::Before, words.clone());
        let hints = self.hints;
        let inputs = self.ids(words.len())?;
        let mut most = Dyadic::ZERO;
        for place in 0..self.registers.len() {
            let wanted = self.line_of(hint, place)?.unwrap_or_else(Form::zero);
            let (mut of_ids, mut placed) = (wanted.clone(), Form::zero());
            for (wire, factor) in &wanted.terms {
                if matches!(hints.wires.get(*wire), Some(Wire::Position(_))) {
                    of_ids.terms.remove(wire);
                    placed.terms.insert(*wire, factor.clone());
                }
            }
            let (mut odd, mut size, mut added) = (Dyadic::ZERO, Dyadic::ZERO, Dyadic::ZERO);
            if inputs.len() != words.len() {
                return Err(line("not as many words as tokens"));
            }
            for (row, coordinates) in words.iter().zip(&inputs) {
                let number = row.get(place).ok_or_else(|| line("a word of another width"))?;
                let mut meant = of_ids.offset.clone();
                for (wire, factor) in &of_ids.terms {
                    let Some(Wire::Input(c)) = hints.wires.get(*wire) else {
                        return Err(line(format!("wire {wire} is used before it is made")));
                    };
                    let value = coordinates.get(*c).ok_or_else(|| line(format!("there is no input {c}")))?;
                    meant = meant.plus(&factor.times(value));
                }
                odd = odd.max(Ratio::of(number).minus(&meant).range().size());
                size = size.max(number.abs());
            }
            if !self.network.positions.is_empty() {
                let values = self.by_position(&placed).ok_or_else(|| line("positions of another number"))?;
                if values.len() != self.network.positions.len() {
                    return Err(line("positions of another number"));
                }
                let mut moved = Dyadic::ZERO;
                for (value, row) in values.iter().zip(&self.network.positions) {
                    let number = row.get(place).ok_or_else(|| line("positions of another width"))?;
                    added = added.max(number.abs());
                    moved = moved.max(Ratio::of(number).minus(value).range().size());
                }
                odd = &odd + &moved;
            } else if !placed.terms.is_empty() {
                return Err(line("positions of a network that has none"));
            }
            // One rounding of a sum of two numbers.
            let rounded = if added.is_zero() || size.is_zero() {
                Dyadic::ZERO
            } else {
                &(&self.unit() * &(&size + &added)) + &self.tiny(2)
            };
            most = most.max(rounded.clone());
            let lost = &odd + &rounded;
            // Numbers of the format, to which nothing is added.
            let alone = size.is_zero() && !self.network.positions.is_empty();
            let stored = if alone { self.column(place) } else { None };
            let empty = before && size.is_zero() && added.is_zero() && wanted == Form::zero();
            self.hold(place, Register { form: wanted, lost, sign: None, empty, stored, values: None }, "embedding")?;
        }
        self.wrote(&most);
        Ok(true)
    }

    /// The tokens of ids, in order: the first coordinate is the most significant.
    fn ids(&self, words: usize) -> Result<Vec<Vec<Ratio>>, Stop> {
        let dims = self.housing.as_ref().map_or(1, |housing| housing.host.dims);
        let mut side: Vec<Ratio> = Vec::new();
        let mut next = self.domain.lo.clone();
        while next <= self.domain.hi && side.len() <= words {
            side.push(Ratio::of(&next));
            next = &next + &Dyadic::ONE;
        }
        let mut tokens: Vec<Vec<Ratio>> = vec![Vec::new()];
        for _ in 0..dims {
            if tokens.len().saturating_mul(side.len()) > words {
                return Err(line("more tokens than words"));
            }
            let longer = |token: &Vec<Ratio>| {
                side.iter().map(|x| token.iter().chain([x]).cloned().collect::<Vec<_>>()).collect::<Vec<_>>()
            };
            tokens = tokens.iter().flat_map(longer).collect();
        }
        Ok(tokens)
    }

    /// Rule *labels*: the largest output is that of the target's value, wherever that is a label.
    pub(super) fn labels(&mut self, target: &Target, [least, most]: [usize; 2]) -> Result<(), Stop> {
        let Some(Housing { host, reader, .. }) = &self.housing else { return Err(line("labels outside of a host")) };
        let (labels, constant) = (host.labels.clone(), reader.constant.clone());
        let rows: &[Row] = &self.network.read_out;
        let [meant] = self.hints.outputs.as_slice() else { return Err(line("labels of several outputs")) };
        if rows.len() != labels.len() {
            return Err(line("not as many labels as outputs"));
        }
        if !is_whole(meant, &self.whole.wires) {
            return Err(declined("labels, and a target that is not shown to be whole"));
        }
        let values = self.whole.bounds.meet(meant, &self.range(&self.lowered(meant)?)?);
        all_are_labels(target, &values, &labels, [least, most])?;
        let whole = |x: i64| Range::point(Dyadic::new(x.into(), 0));
        let mut roundings = Vec::new();
        for row in rows {
            let reading = self.read(&row.weights)?;
            let rounded = self.housed_row(&reading, &row.bias).ok_or_else(|| line("labels outside of a host"))?;
            // What the bias is off by is counted with the difference.
            roundings.push(&rounded - &(&constant * &row.bias.abs()));
        }
        let rows: Vec<(&Row, i64, &Dyadic)> =
            rows.iter().zip(&labels).zip(&roundings).map(|((row, label), rounding)| (row, *label, rounding)).collect();
        for (number, (row, u, own)) in rows.iter().enumerate() {
            for (other, v, others) in rows.iter().skip(number.saturating_add(1)) {
                let reading = self.reading(&difference(row, other))?;
                let apart = Ratio::of(&(&whole(*u) - &whole(*v)).lo);
                let squares = (&(&whole(*u) * &whole(*u)) - &(&whole(*v) * &whole(*v))).lo;
                let bias = &row.bias - &other.bias;
                let form = reading.form.plus(&Ratio::ONE, &Form::number(Ratio::of(&bias)));
                let twice = meant.scaled(&apart.plus(&apart));
                let wanted = twice.plus(&Ratio::ONE, &Form::number(Ratio::of(&squares).negative()));
                let (shift, rest) = self.apart(&form, &self.lowered(&wanted)?)?;
                let off = &(&self.error(&wanted)? + &reading.lost) + &(&rest + &shift.abs());
                let off = up(&(&(&off + &(&constant * &bias.abs())) + &(*own + *others)));
                let between = apart.times(&apart).range().lo;
                if off >= between {
                    return Err(rejected(
                        "labels",
                        format!(
                            "labels {u} and {v} are {between} apart, and the difference of their outputs may be off by {off}"
                        ),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Refuses integers that the target may be and that are no labels.
fn all_are_labels(target: &Target, form: &Range, labels: &[i64], [least, most]: [usize; 2]) -> Result<(), Stop> {
    if most.saturating_mul(most).saturating_mul(most) > MOST_PLACES || labels.len() > MOST_LABELS {
        return Err(declined(format!("{} labels of {most} tokens", labels.len())));
    }
    let domain = target.domain.range();
    for tokens in least..=most {
        let inputs = vec![vec![domain.clone(); target.dims]; tokens];
        for token in 0..tokens {
            let values =
                target.output(&inputs, token).map_err(|_| declined("the values of the target are not enclosed"))?;
            for value in values {
                // It is what the form means, too.
                let range = value.range().meet(form);
                let mut next = range.lo.up(0);
                while next <= range.hi {
                    if !labels.iter().any(|label| Dyadic::new((*label).into(), 0) == next) {
                        return Err(declined(format!("the target may be {next}, which is no label")));
                    }
                    next = &next + &Dyadic::ONE;
                }
            }
        }
    }
    Ok(())
}

/// The weights of a row less those of another.
fn difference(row: &Row, other: &Row) -> Vec<(usize, Dyadic)> {
    let mut sums: std::collections::BTreeMap<usize, Dyadic> = row.weights.iter().cloned().collect();
    for (place, weight) in &other.weights {
        let before = sums.remove(place).unwrap_or(Dyadic::ZERO);
        let after = &before - weight;
        if !after.is_zero() {
            sums.insert(*place, after);
        }
    }
    sums.into_iter().collect()
}

/// A number that must be at most a quarter.
fn small(x: Dyadic, what: &str) -> Result<Dyadic, Stop> {
    if x <= quarter() {
        return Ok(x);
    }
    Err(rejected("norm", format!("{what} may be off by {x}, of which a quarter is allowed")))
}
