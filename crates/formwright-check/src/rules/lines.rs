//! The meaning of registers, line by line: claims in the supremum norm (CERTIFICATE.md, section 7).
//!
//! A **wire** `g` is a number that every token has, meant exactly: an input, a function of a form, a product, a mean. A
//! network computes `ĝ` instead, a number that depends on the execution; `|ĝ - g| ≤ E_g`, by the value of `g`. A
//! **line** says of a register that it holds `offset + Σ factor · ĝ`, and has *lost* at most so much to rounding. Every
//! line is proved from the weights and the lines before it:
//!
//! | file | rule |
//! |---|---|
//! | `layer.rs` | hidden units that read one form are a piecewise linear function of it |
//! | `curve.rs`, `product.rs`, `clearing.rs` | which is a curve, part of a product, or takes a register away |
//! | `shared.rs` | curves of one argument that share units |
//! | `select.rs` | or is a value where a condition holds |
//! | `exchange.rs` | the larger of two numbers at some positions, the smaller at others |
//! | `comparators.rs` | rounds of these that sort |
//! | `points.rs` | arguments that are whole: values at points, products of whole numbers, exact sums |
//! | `cases.rs` | sums of which no more than one term is on |
//! | `head.rs` | a head without scores is a mean of what it sees |
//! | `hub.rs` | one token adds up, and all others see it |
//! | `uniform.rs`, `linformer.rs`, `performer.rs` | so are heads of other kinds, times a number |
//! | `placed.rs` | scores by position: gathers, and sums with a sink |
//! | `largest.rs` | scores that are a number times the value: the largest |
//! | `attend.rs` | scores that are products of queries and keys: means weighted by their softmax |
//! | `teeth.rs` | squares and products that are sums of teeth |
//! | `normal.rs`, `unrolled.rs` | the outputs' forms are the target's expression; token by token |
//! | `distance.rs` | or are so far from it |
//! | `profile.rs` | errors by value |
//! | `host.rs` | what a stock Transformer adds to all of these |
//! | `told.rs` | what has been proved, for people |

mod attend;
mod cases;
mod clearing;
mod comparators;
mod curve;
mod distance;
mod exchange;
mod head;
mod host;
mod hub;
mod largest;
mod layer;
mod linformer;
mod normal;
mod performer;
mod placed;
mod points;
mod product;
mod profile;
mod select;
mod shared;
mod teeth;
mod told;
mod uniform;
mod unrolled;

use std::collections::BTreeMap;

use distance::Apart;
use host::Housing;
use points::{Bounds, Whole};
use profile::{Profile, up};
use unrolled::Unrolled;

use crate::kernel::format::Format;
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::kernel::sum::Row;
use crate::prove::{Stop, declined, rejected};
use crate::read::certificate::{Meanings, Wire};
use crate::read::host::Host;
use crate::read::target::Target;
use crate::read::weights::{Layer, Network};

pub use crate::kernel::form::Form;
pub use distance::Goal;
pub use normal::{Outcome, Polynomial, Things};
pub use told::{About, FormText, Line};

/// The most work: cells of curves, times the words of their functions.
const MOST_WORK: usize = 1 << 24;

/// A wire that has been made: its range and its error.
#[derive(Clone, Debug)]
struct Known {
    /// The range of the meant value.
    range: Range,
    /// How far the computed number may be from it.
    error: Profile,
    /// The largest of these errors.
    most: Dyadic,
    /// How far a tooth may be from what it would be without rounding, given what the first of its chain reads.
    tooth: Dyadic,
}

/// A line: what a register holds.
#[derive(Clone, Debug)]
struct Register {
    form: Form,
    /// The part of the error that is rounding.
    lost: Dyadic,
    /// The side of 0 on which it lies in every execution, `true` above, and how far it may be on the other one.
    sign: Option<(bool, Dyadic)>,
    /// True if it is 0 but for what flushing has left. To add such a number `r` is no rounding of its own: the sum is
    /// within `2|r|` of the other term, which is a number of the format.
    empty: bool,
    /// The very number that it holds at every position, where nothing but positions has been written; and how far norms of
    /// the stream may have moved it there.
    stored: Option<Vec<(Dyadic, Dyadic)>>,
    /// All values of its form, where they are better known than by its wires.
    values: Option<Range>,
}

/// A number that is read from registers: `Σ w z`.
struct Reading {
    form: Form,
    /// The error of the registers.
    lost: Dyadic,
    /// `Σ |w| |z|`.
    size: Dyadic,
    /// `Σ |w|` times the middles, in a host.
    middle: Dyadic,
    /// The number of registers.
    count: usize,
    /// True if it is one register, times a power of two.
    single: bool,
    /// True if all weights are powers of two.
    powers: bool,
}

struct Prover<'c> {
    hints: &'c Meanings,
    network: &'c Network,
    format: Format,
    domain: Range,
    /// The least and the largest number of tokens.
    least: usize,
    tokens: usize,
    /// True if there is no other.
    fixed: bool,
    /// The normal forms of wires, token by token, where positions or masks tell tokens apart.
    unrolled: Unrolled,
    /// The wires that are whole.
    whole: Whole,
    /// The groups of units of the layer that several gates at points share.
    shared: Vec<usize>,
    wires: Vec<Option<Known>>,
    /// Of wires that a hub adds up: what is known of them at that token.
    hubs: BTreeMap<usize, Known>,
    registers: Vec<Register>,
    /// The largest number that turns up.
    largest: Dyadic,
    work: usize,
    /// The layer that is looked at; 0 is the embedding.
    layer: usize,
    /// The lines proved so far.
    told: Vec<Line>,
    /// The host around the network, if there is one.
    housing: Option<Housing<'c>>,
}

fn line(what: impl Into<String>) -> Stop {
    rejected("line", what)
}

/// A network, with the host in which it stands, if there is one.
#[derive(Clone, Copy)]
pub struct Standing<'c> {
    pub network: &'c Network,
    pub host: Option<&'c Host>,
}

/// An upper bound for how far outputs are from the target, in every execution, for every input of the box; and what was
/// proved on the way. Where the target is not what outputs are read from, no more is shown than the goal.
pub fn prove(
    hints: &Meanings,
    Standing { network, host }: Standing<'_>,
    target: &Target,
    domain: Range,
    [least, most]: [usize; 2],
    goal: &dyn Fn() -> Goal,
) -> Result<(Dyadic, Vec<Line>), Stop> {
    if hints.layers.len() != network.layers.len().saturating_add(1) {
        return Err(line(format!(
            "meanings for {} layers, and there are {} behind the embedding",
            hints.layers.len(),
            network.layers.len()
        )));
    }
    let mut bounds = Bounds::default();
    let (unrolled, apart) = read_out_is_target(hints, target, (least, most), &mut bounds)?;
    let width = host.map_or(network.embed.len(), |host| (host.width / 2).saturating_sub(1));
    let mut prover = Prover {
        hints,
        network,
        format: network.format,
        domain,
        least,
        tokens: most,
        fixed: least == most,
        unrolled,
        whole: Whole::of(hints, target.domain.integers().is_some(), (least == most).then_some(least), bounds),
        shared: Vec::new(),
        wires: vec![None; hints.wires.len()],
        hubs: BTreeMap::new(),
        registers: vec![
            Register {
                form: Form::zero(),
                lost: Dyadic::ZERO,
                sign: None,
                empty: true,
                stored: None,
                values: None
            };
            width
        ],
        largest: Dyadic::ZERO,
        work: 0,
        layer: 0,
        told: Vec::new(),
        housing: host.map(Housing::new),
    };
    let mut layers = hints.layers.iter();
    let first = layers.next().ok_or_else(|| line("no meanings of the embedding"))?;
    prover.embedding(first)?;
    prover.cases()?;
    prover.behind_layer()?;
    for (layer, hint) in network.layers.iter().zip(layers) {
        prover.layer = prover.layer.saturating_add(1);
        prover.before_layer()?;
        match layer {
            Layer::Attention(heads) => prover.heads(heads, hint)?,
            Layer::Mixers(mixers) => prover.mixers(mixers, hint)?,
            Layer::FeedForward { units, gains } => prover.feed_forward(units, gains, hint)?,
        }
        prover.teeth()?;
        prover.cases()?;
        prover.behind_layer()?;
    }
    prover.before_outputs()?;
    if host.is_some_and(|host| !host.labels.is_empty()) {
        if !apart.is_empty() {
            return Err(declined("labels of what is near the target, and not shown to be it"));
        }
        prover.labels(target, [least, most])?;
        prover.is_finite()?;
        return Ok((Dyadic::ZERO, prover.told));
    }
    let bound = prover.read_out(target, &apart, goal)?;
    Ok((bound, prover.told))
}

/// Proves that the outputs' forms are the target's expression: at once, or token by token; the normal forms of wires, where it is the latter.
fn read_out_is_target(
    hints: &Meanings,
    target: &Target,
    (least, most): (usize, usize),
    bounds: &mut Bounds,
) -> Result<(Unrolled, Vec<Apart>), Stop> {
    // Of whole numbers more is known where tokens are told apart.
    let whole = target.domain.integers().is_some();
    let apart = if whole { unrolled::is_placed } else { unrolled::is_of_places };
    if hints.wires.iter().any(apart) {
        return unrolled::same_by_token(hints, target, (least, most), bounds);
    }
    // What has no normal form for any number of tokens may have one for each.
    match same_function(hints, target, least, most) {
        Ok(found) => {
            *bounds = found;
            Ok((Vec::new(), Vec::new()))
        }
        Err(stop @ Stop::Declined(_)) => {
            unrolled::same_by_token(hints, target, (least, most), bounds).map_err(|_| stop)
        }
        Err(stop) => Err(stop),
    }
}

/// Proves that the outputs' forms are the target's expression, and that it has a value everywhere; all values of forms, where inputs are
/// whole.
fn same_function(hints: &Meanings, target: &Target, least: usize, most: usize) -> Result<Bounds, Stop> {
    target.defined([least, most]).map_err(declined)?;
    let tokens = (least == most).then_some(least);
    let mut things = Things::over(target.domain.integers(), tokens);
    let wanted = target.normal(&mut things, (least == most).then_some(least)).map_err(declined)?;
    let mut wires: Vec<Polynomial> = Vec::new();
    for wire in &hints.wires {
        let normal = things.wire(wire, &wires).map_err(declined)?;
        wires.push(normal);
    }
    cases::one_at_most(hints, &things, &wires)?;
    let mut bounds = Bounds::default();
    if target.domain.integers().is_some() {
        bounds.add(hints, &things, &wires)?;
    }
    if hints.outputs.len() != wanted.len() {
        return Err(line(format!("{} outputs, the target has {}", hints.outputs.len(), wanted.len())));
    }
    for (c, (form, wanted)) in hints.outputs.iter().zip(&wanted).enumerate() {
        if Things::form(form, &wires).map_err(declined)? != *wanted {
            // Equal functions may have different normal forms.
            return Err(declined(format!("output {c} is not shown to be the target: their normal forms differ")));
        }
    }
    Ok(bounds)
}

impl Prover<'_> {
    /// `γ_k = ku/(1 - ku)`.
    fn gamma(&self, k: usize) -> Dyadic {
        let sum = &Range::whole(k) * &Range::point(Dyadic::power_of_two(self.format.digits.saturating_neg()));
        if sum.hi > Dyadic::power_of_two(-1) {
            // No layer has so many weights; and if one had, nothing would be proved.
            return Dyadic::power_of_two(self.format.most);
        }
        sum.over(&(&Range::whole(1) - &sum)).map_or_else(|| Dyadic::power_of_two(self.format.most), |gamma| gamma.hi)
    }

    fn unit(&self) -> Dyadic {
        Dyadic::power_of_two(self.format.digits.saturating_neg())
    }

    /// The most that flushing may lose in a sum of `k` terms.
    fn tiny(&self, k: usize) -> Dyadic {
        // In units of the pin, which is never half as large as it should be.
        let twice = i64::from(self.is_housed());
        let terms = Range::whole(k.saturating_mul(4).saturating_add(8)).hi;
        &terms * &Dyadic::power_of_two(self.format.least.saturating_add(twice))
    }

    /// Remembers how large numbers get.
    fn note(&mut self, size: &Dyadic) {
        if *size > self.largest {
            self.largest = up(size);
        }
    }

    fn spend(&mut self, work: usize) -> Result<(), Stop> {
        self.work = self.work.saturating_add(work);
        if self.work <= MOST_WORK {
            return Ok(());
        }
        Err(declined(format!("more than {MOST_WORK} steps in curves")))
    }

    fn known(&self, wire: usize) -> Result<&Known, Stop> {
        let known = self.wires.get(wire).and_then(Option::as_ref);
        known.ok_or_else(|| line(format!("wire {wire} is used before it is made")))
    }

    /// All values of a form, as it is meant.
    fn range(&self, form: &Form) -> Result<Range, Stop> {
        let (mut sum, mut placed) = (form.offset.range(), Form::zero());
        for (wire, factor) in &form.terms {
            let known = self.known(*wire)?;
            if matches!(self.hints.wires.get(*wire), Some(Wire::Position(_))) {
                placed.terms.insert(*wire, factor.clone());
            } else {
                sum = (&sum + &(&factor.range() * &known.range)).tidy();
            }
        }
        // Numbers of one position belong together.
        let together = self.by_position(&placed).filter(|_| !placed.terms.is_empty());
        let together = together.and_then(|values| values.iter().map(Ratio::range).reduce(|a, b| a.hull(&b)));
        Ok(together.map_or(sum.clone(), |together| (&sum + &together).tidy()))
    }

    /// How far a form over computed wires may be from what is meant.
    fn error(&self, form: &Form) -> Result<Dyadic, Stop> {
        let mut sum = Dyadic::ZERO;
        for (wire, factor) in &form.terms {
            sum = up(&(&sum + &(&factor.range().size() * &self.known(*wire)?.most)));
        }
        Ok(sum)
    }

    /// The same, where what is meant is one of these values.
    fn error_over(&self, form: &Form, values: &Range) -> Result<Dyadic, Stop> {
        let Some((wire, factor)) = form.single() else { return self.error(form) };
        let known = self.known(wire)?;
        let own = (values - &form.offset.range()).over(&factor.range());
        let own = own.map_or_else(|| known.range.clone(), |own| own.tidy().meet(&known.range));
        Ok(up(&(&factor.range().size() * &known.error.over(&own))))
    }

    /// The largest size of a form over computed wires.
    fn size(&self, form: &Form) -> Result<Dyadic, Stop> {
        Ok(up(&(&self.range(form)?.size() + &self.error(form)?)))
    }

    /// The largest size of a register.
    fn held(&self, register: &Register) -> Result<Dyadic, Stop> {
        let Some(values) = &register.values else { return Ok(&self.size(&register.form)? + &register.lost) };
        let meant = self.range(&register.form)?.meet(values).size();
        Ok(&up(&(&meant + &self.error(&register.form)?)) + &register.lost)
    }

    /// Reads registers with some weights.
    fn read(&mut self, weights: &[(usize, Dyadic)]) -> Result<Reading, Stop> {
        let reading = self.reading(weights)?;
        self.note(&(&reading.size + &reading.middle));
        Ok(reading)
    }

    fn reading(&self, weights: &[(usize, Dyadic)]) -> Result<Reading, Stop> {
        let (mut form, mut lost, mut size, mut middles) = (Form::zero(), Dyadic::ZERO, Dyadic::ZERO, Dyadic::ZERO);
        for (place, weight) in weights {
            let register = self.registers.get(*place).ok_or_else(|| line("a register that does not exist"))?;
            form = form.plus(&Ratio::of(weight), &register.form);
            let held = self.held(register)?;
            let (off, middle) = self.read_beside(&held);
            lost = &lost + &(&weight.abs() * &(&register.lost + &off));
            size = up(&(&size + &(&weight.abs() * &(&held + &off))));
            middles = up(&(&middles + &(&weight.abs() * &middle)));
        }
        let powers = weights.iter().all(|(_, weight)| is_power_of_two(weight));
        let single = !self.is_housed() && weights.len() == 1 && powers;
        Ok(Reading { form, lost: up(&lost), size, middle: middles, count: weights.len(), single, powers })
    }

    /// The parts of a form that is nearly another: a dyadic number that is added, and the size of the rest.
    fn apart(&self, form: &Form, wanted: &Form) -> Result<(Dyadic, Dyadic), Stop> {
        let rest = form.minus(wanted);
        let offset = rest.offset.range();
        let shift = if offset.is_point() { offset.lo.clone() } else { offset.tidy().lo };
        let linear = Form { offset: Ratio::ZERO, terms: rest.terms.clone() };
        let odd = rest.offset.minus(&Ratio::of(&shift)).range().size();
        Ok((shift, up(&(&self.size(&linear)? + &odd))))
    }

    fn make(&mut self, wire: usize, mut known: Known) -> Result<(), Stop> {
        known.range = self.whole.bounds.meet(&Form::of(wire), &known.range);
        self.note(&(&known.range.size() + &known.most));
        self.tell_wire(wire, &known.most);
        match self.wires.get_mut(wire) {
            Some(place @ None) => {
                *place = Some(known);
                Ok(())
            }
            _ => Err(line(format!("wire {wire} is made twice"))),
        }
    }

    /// The embedding: what is computed of an input is the input, rounded; a register holds a form of inputs.
    fn embedding(&mut self, hint: &crate::read::certificate::Layer) -> Result<(), Stop> {
        if !hint.made.is_empty() {
            return Err(line("the embedding makes gates"));
        }
        let u = self.unit();
        self.note(&self.domain.size());
        for (number, wire) in self.hints.wires.iter().enumerate() {
            let (range, most) = match wire {
                // Whole numbers of no more digits than the format has are numbers of it.
                Wire::Input(_) if self.exact_inputs() || (self.is_housed() && self.network.embed.is_empty()) => {
                    (self.domain.clone(), Dyadic::ZERO)
                }
                Wire::Input(_) => (self.domain.clone(), up(&(&(&u * &self.domain.size()) + &self.tiny(1)))),
                Wire::Position(values) => {
                    if values.len() != self.network.positions.len() {
                        return Err(line(format!("wire {number}: not as many positions as the network has")));
                    }
                    let hull = values.iter().map(Ratio::range).reduce(|a, b| a.hull(&b));
                    (hull.ok_or_else(|| line("no positions"))?, Dyadic::ZERO)
                }
                _ => continue,
            };
            self.make(number, Known { range, error: Profile::Constant(most.clone()), most, tooth: Dyadic::ZERO })?;
        }
        if self.embedding_of_words(hint)? {
            return Ok(());
        }
        let mut uneven = Dyadic::ZERO;
        let rows: &[Row] = &self.network.embed;
        for (place, row) in rows.iter().enumerate() {
            let mut form = Form::number(Ratio::of(&row.bias));
            for (c, weight) in &row.weights {
                let wire = self.hints.wires.iter().position(|wire| *wire == Wire::Input(*c));
                let wire = wire.ok_or_else(|| line(format!("no wire is input {c}")))?;
                form = form.plus(&Ratio::of(weight), &Form::of(wire));
            }
            let wanted = self.line_of(hint, place)?.unwrap_or_else(Form::zero);
            let (rest, position) = self.placed_apart(&form, &wanted, place)?;
            let terms = [!row.bias.is_zero(), !position.is_zero()].into_iter().filter(|there| *there).count();
            let terms = row.weights.len().saturating_add(terms);
            let plain = row.weights.is_empty() || matches!(row.weights.as_slice(), [(_, w)] if is_power_of_two(w));
            let sizes = row.weights.iter().map(|(_, weight)| &weight.abs() * &self.domain.size());
            let sizes = sizes.fold(&row.bias.abs() + &position, |sum, size| &sum + &size);
            self.note(&(&sizes + &sizes));
            let exact = self.embeds_exactly(row, place, &sizes);
            let rounded = match (terms, plain) {
                _ if exact => Dyadic::ZERO,
                (0, _) | (1, true) => Dyadic::ZERO,
                (2, true) if position.is_zero() => &u * &self.size(&form)?,
                // Inputs are rounded before they are multiplied.
                _ => &self.gamma(terms.saturating_add(1)) * &sizes,
            };
            // A bias or a position alone is a number of the format.
            let tiny = if exact || terms == 0 || (terms == 1 && row.weights.is_empty()) {
                Dyadic::ZERO
            } else {
                self.tiny(terms)
            };
            let lost = &(&rounded + &tiny) + &rest;
            uneven = uneven.max(&rounded + &tiny);
            let empty = terms == 0 && wanted == Form::zero();
            // Numbers of the format, to which nothing is added.
            let alone = row.weights.is_empty() && row.bias.is_zero() && !self.network.positions.is_empty();
            let stored = if alone { self.column(place) } else { None };
            self.hold(place, Register { form: wanted, lost, sign: None, empty, stored, values: None }, "embedding")?;
        }
        self.wrote(&uneven);
        Ok(())
    }

    /// What positions are in a register.
    fn column(&self, place: usize) -> Option<Vec<(Dyadic, Dyadic)>> {
        self.network.positions.iter().map(|row| Some((row.get(place)?.clone(), Dyadic::ZERO))).collect()
    }

    /// True if inputs are whole numbers that the format has.
    fn exact_inputs(&self) -> bool {
        let whole = |(wire, whole): (&Wire, &bool)| !matches!(wire, Wire::Input(_)) || *whole;
        self.domain.size().top() <= self.format.digits
            && self.hints.wires.len() == self.whole.wires.len()
            && self
                .hints
                .wires
                .iter()
                .enumerate()
                .all(|(at, wire)| self.whole.wires.get(at).is_some_and(|known| whole((wire, known))))
    }

    /// True if what is embedded in a register is a sum of multiples of a power of two, all partial sums of which are
    /// numbers of the format.
    fn embeds_exactly(&self, row: &Row, place: usize, size: &Dyadic) -> bool {
        let added = self.network.positions.iter().filter_map(|row| row.get(place));
        let numbers = row.weights.iter().map(|(_, weight)| weight).chain([&row.bias]).chain(added);
        let least = numbers.filter_map(Dyadic::quantum).min().unwrap_or(0);
        self.exact_inputs() && least >= self.format.least && size.top() <= least.saturating_add(self.format.digits)
    }

    /// How far what is embedded in a register may be from a form of inputs and positions, rounding apart; and the
    /// largest size of what positions add there.
    fn placed_apart(&self, form: &Form, wanted: &Form, place: usize) -> Result<(Dyadic, Dyadic), Stop> {
        let (mut inputs, mut placed) = (wanted.clone(), Form::zero());
        for (wire, factor) in &wanted.terms {
            if matches!(self.hints.wires.get(*wire), Some(Wire::Position(_))) {
                inputs.terms.remove(wire);
                placed.terms.insert(*wire, factor.clone());
            }
        }
        let rest = form.minus(&inputs);
        let linear = self.size(&Form { offset: Ratio::ZERO, terms: rest.terms.clone() })?;
        if self.network.positions.is_empty() {
            return Ok((&linear + &rest.offset.range().size(), Dyadic::ZERO));
        }
        let values = self.by_position(&placed).ok_or_else(|| line("positions of another number"))?;
        let (mut odd, mut largest) = (Dyadic::ZERO, Dyadic::ZERO);
        if values.len() != self.network.positions.len() {
            return Err(line("positions of another number"));
        }
        for (value, row) in values.iter().zip(&self.network.positions) {
            let added = row.get(place).ok_or_else(|| line("positions of another width"))?;
            largest = largest.max(added.abs());
            odd = odd.max(rest.offset.plus(&Ratio::of(added)).minus(value).range().size());
        }
        Ok((&linear + &odd, largest))
    }

    /// The form that the hints give a register behind a layer, if it changes.
    fn line_of(&self, hint: &crate::read::certificate::Layer, place: usize) -> Result<Option<Form>, Stop> {
        let found = hint.holds.iter().find(|(register, _)| *register == place);
        found.map(|(_, form)| self.lowered(form)).transpose()
    }

    fn hold(&mut self, place: usize, mut register: Register, rule: &'static str) -> Result<(), Stop> {
        register.lost = up(&register.lost);
        register.values = self.whole.bounds.of(&register.form);
        if register.sign.is_none() {
            let off = Range::around_zero(&(&self.error(&register.form)? + &register.lost));
            let range = self.range(&register.form)?;
            let all = &register.values.as_ref().map_or(range.clone(), |values| range.meet(values)) + &off;
            let above = !all.lo.is_negative();
            register.sign = (above || all.hi <= Dyadic::ZERO).then_some((above, Dyadic::ZERO));
        }
        let size = self.held(&register)?;
        self.note(&size);
        let slot = self.registers.get_mut(place).ok_or_else(|| line(format!("there is no register {place}")))?;
        let changes = slot.form != register.form || self.layer == 0;
        *slot = register;
        if changes { self.tell_register(place, rule) } else { Ok(()) }
    }

    /// Refuses lines of registers that do not exist.
    fn registers_exist(&self, hint: &crate::read::certificate::Layer) -> Result<(), Stop> {
        match hint.holds.iter().find(|(place, _)| *place >= self.registers.len()) {
            Some((place, _)) => Err(line(format!("there is no register {place}"))),
            None => Ok(()),
        }
    }

    /// Twice the largest number is still one of the format: no sum or product of what was noted overflows.
    fn is_finite(&self) -> Result<(), Stop> {
        if self.largest.top() >= self.format.most.saturating_sub(2) {
            return Err(rejected("finite", format!("numbers up to {} may overflow", self.largest)));
        }
        Ok(())
    }

    /// The outputs.
    fn read_out(&mut self, target: &Target, apart: &[Apart], goal: &dyn Fn() -> Goal) -> Result<Dyadic, Stop> {
        let mut offs = Vec::new();
        let rows: &[Row] = &self.network.read_out;
        if rows.len() != self.hints.outputs.len() {
            return Err(line("not as many outputs as the read-out has"));
        }
        let hints = self.hints;
        for (row, wanted) in rows.iter().zip(&hints.outputs) {
            let reading = self.read(&row.weights)?;
            let form = reading.form.plus(&Ratio::ONE, &Form::number(Ratio::of(&row.bias)));
            let (shift, rest) = self.apart(&form, &self.lowered(wanted)?)?;
            let terms = row.weights.len().saturating_add(usize::from(!row.bias.is_zero()));
            let exact = self.exact_row(&row.weights, &[&row.bias], &(&reading.size + &row.bias.abs())).is_some();
            let rounded = if let Some(rounded) = self.housed_row(&reading, &row.bias) {
                &rounded + &(&self.output_factor() * &(&(&reading.size + &row.bias.abs()) + &rounded))
            } else if exact || terms == 0 || (terms == 1 && reading.single) {
                Dyadic::ZERO
            } else if terms == 2 && reading.single {
                &self.unit() * &(&reading.size + &row.bias.abs())
            } else {
                &self.gamma(terms) * &(&reading.size + &row.bias.abs())
            };
            self.note(&(&(&reading.size + &reading.size) + &row.bias.abs()));
            let tiny = if exact { Dyadic::ZERO } else { self.tiny(terms) };
            let lost = &(&(&reading.lost + &rounded) + &tiny) + &(&rest + &shift.abs());
            offs.push(up(&(&self.error(wanted)? + &lost)));
        }
        self.is_finite()?;
        let distances = if apart.is_empty() { offs } else { self.distance(apart, &offs, target, &goal())? };
        for (output, (form, off)) in hints.outputs.iter().zip(&distances).enumerate() {
            let within = apart.iter().any(|apart| apart.output == output);
            self.tell_output(output, form, off, if within { "read-out within a distance" } else { "read-out" });
        }
        Ok(distances.into_iter().fold(Dyadic::ZERO, Dyadic::max))
    }
}

/// True if a number is a power of two, or the negative of one.
fn is_power_of_two(x: &Dyadic) -> bool {
    x.quantum().is_some_and(|q| x.abs() == Dyadic::power_of_two(q))
}
