//! The median of networks side by side: rules *median* and *comparators* of CERTIFICATE.md, section 6.
//!
//! Of `K = 2m + 1` numbers `m + 1` are within an interval, whatever the others are; so is their median. It is taken by
//! layers that only clamp registers, which leaves those numbers as they are, and put the smaller or the larger of two
//! numbers in the place of one. Such a network of minima and maxima is known by what it makes of numbers that are 0 or
//! 1: its *truth table*, a bit for each choice of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::kernel::format::Format;
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::kernel::sum::Row;
use crate::read::weights::{Head, Layer, Mixer, Network};

/// The most copies: a truth table has two to that power of bits.
pub const MOST_COPIES: usize = 17;

/// Checks the grids: every number of the box is nearer than the margin to a wall of one grid at most.
///
/// Grid `j` has its walls at `k - s_j` sides, for whole `k`. Sorted, `margin ≤ s_0`, `s_j + 2 margin ≤ s_(j+1)`, and
/// `s_last ≤ 1 - margin`: then any two walls of different grids are two margins or more apart.
pub fn are_apart(shifts: &[Ratio], margin: &Ratio) -> Result<(), String> {
    let mut sorted: Vec<&Ratio> = shifts.iter().collect();
    sorted.sort();
    let told = |a: &Ratio, b: &Ratio| format!("walls at shifts {} and {} meet", a.text(), b.text());
    let twice = margin.plus(margin);
    for (a, b) in sorted.iter().zip(sorted.iter().skip(1)) {
        if a.plus(&twice) > **b {
            return Err(format!("{}: they are less than two margins of {} apart", told(a, b), margin.text()));
        }
    }
    let ends = sorted.first().zip(sorted.last());
    match ends {
        Some((first, last)) if *first >= margin && last.plus(margin) <= Ratio::ONE => Ok(()),
        _ => Err(format!("a grid begins less than a margin of {} before the box, or ends so behind it", margin.text())),
    }
}

/// The network of which some registers are read behind so many layers, and nothing that they do not depend on.
pub fn slice(network: &Network, layers: usize, registers: &[usize]) -> Network {
    let mut live: BTreeSet<usize> = registers.iter().copied().collect();
    let mut kept = Vec::new();
    for layer in network.layers.iter().take(layers).rev() {
        let (layer, reads) = sliced(layer, &live);
        kept.push(layer);
        live.extend(reads);
    }
    kept.reverse();
    let read = |register: &usize| Row { weights: vec![(*register, Dyadic::ONE)], bias: Dyadic::ZERO };
    let place = |row: &Vec<Dyadic>| {
        let own = row.iter().enumerate();
        own.map(|(r, x)| if live.contains(&r) { x.clone() } else { Dyadic::ZERO }).collect()
    };
    Network {
        format: network.format,
        embed: written(&network.embed, &live),
        positions: network.positions.iter().map(place).collect(),
        layers: kept,
        read_out: registers.iter().map(read).collect(),
    }
}

/// The rows of these registers; the others write nothing.
fn written(rows: &[Row], live: &BTreeSet<usize>) -> Vec<Row> {
    let nothing = || Row { weights: Vec::new(), bias: Dyadic::ZERO };
    rows.iter().enumerate().map(|(r, row)| if live.contains(&r) { row.clone() } else { nothing() }).collect()
}

fn places<'r>(rows: impl IntoIterator<Item = &'r Row>) -> BTreeSet<usize> {
    rows.into_iter().flat_map(|row| &row.weights).map(|(place, _)| *place).collect()
}

/// A layer that writes to some registers alone, and what it reads then.
fn sliced(layer: &Layer, live: &BTreeSet<usize>) -> (Layer, BTreeSet<usize>) {
    let heads = |head: &Head| {
        let head = Head { o: written(&head.o, live), ..head.clone() };
        let reads = places(head.q.iter().chain(&head.k).chain(&head.v));
        head.o.iter().any(|row| !row.is_zero()).then_some((head, reads))
    };
    match layer {
        Layer::FeedForward { units, gains } => {
            let gains = written(gains, live);
            let used: Vec<usize> = places(&gains).into_iter().collect();
            let renamed = |row: &Row| {
                let name = |(unit, weight): &(usize, Dyadic)| Some((used.binary_search(unit).ok()?, weight.clone()));
                Row { weights: row.weights.iter().filter_map(name).collect(), bias: row.bias.clone() }
            };
            let units: Vec<Row> = used.iter().filter_map(|unit| units.get(*unit).cloned()).collect();
            let (gains, reads) = (gains.iter().map(renamed).collect(), places(&units));
            (Layer::FeedForward { units, gains }, reads)
        }
        Layer::Attention(all) => {
            let (all, reads): (Vec<Head>, Vec<_>) = all.iter().filter_map(heads).unzip();
            (Layer::Attention(all), reads.into_iter().flatten().collect())
        }
        Layer::Mixers(all) => {
            let of = |mixer: &Mixer| {
                let (head, reads) = heads(&mixer.head)?;
                Some((Mixer { head, mixing: mixer.mixing.clone() }, reads))
            };
            let (all, reads): (Vec<Mixer>, Vec<_>) = all.iter().filter_map(of).unzip();
            (Layer::Mixers(all), reads.into_iter().flatten().collect())
        }
    }
}

/// A truth table: what a wire is, for each choice of zeros and ones for the copies.
type Truth = Vec<u64>;

/// A register in which the median of an output is on its way.
#[derive(Clone)]
struct Wire {
    output: usize,
    truth: Truth,
    /// The copy that it holds, if nothing was compared yet, and the numbers of that where it is not spoiled.
    good: Option<Range>,
    /// Not less than its size, in any execution.
    size: Dyadic,
    /// How far it is from the same minima and maxima without rounding.
    off: Dyadic,
}

/// A copy's register: its output, what it holds anywhere, and what it holds where the copy is not spoiled.
pub struct Start {
    /// The register.
    pub register: usize,
    /// The copy.
    pub copy: usize,
    /// The output.
    pub output: usize,
    /// Its numbers in any execution.
    pub anywhere: Range,
    /// Those on the good parts of the copy's cells.
    pub good: Range,
}

/// The bits of a truth table of so many copies.
fn table(copies: usize, bit: impl Fn(usize) -> bool) -> Truth {
    let bits = 1_usize.checked_shl(u32::try_from(copies).unwrap_or(0)).unwrap_or(1);
    let word = |at: usize| {
        let from = at.saturating_mul(64);
        let own = (from..from.saturating_add(64).min(bits)).rev();
        own.fold(0_u64, |word, choice| word.wrapping_shl(1) | u64::from(bit(choice)))
    };
    (0..bits.div_ceil(64)).map(word).collect()
}

/// Shows that each output is the median of the copies' numbers, up to what is returned for it.
pub fn median(
    layers: &[Layer],
    read_out: &[Row],
    starts: Vec<Start>,
    copies: usize,
    format: Format,
) -> Result<Vec<Dyadic>, String> {
    let wire = |start: Start| {
        let place = u32::try_from(start.copy).unwrap_or(u32::MAX);
        let truth = table(copies, |choice| choice.checked_shr(place).unwrap_or(0) & 1 == 1);
        let (size, off) = (start.anywhere.size(), Dyadic::ZERO);
        (start.register, Wire { output: start.output, truth, good: Some(start.good), size, off })
    };
    let count = starts.len();
    let mut wires: BTreeMap<usize, Wire> = starts.into_iter().map(wire).collect();
    if wires.len() != count {
        return Err("a register holds two outputs of copies".to_owned());
    }
    for (at, layer) in layers.iter().enumerate() {
        let Layer::FeedForward { units, gains } = layer else {
            return Err(format!("layer {at} behind the copies is attention"));
        };
        let mut new = wires.clone();
        for (register, wire) in &mut new {
            let gain = gains.get(*register).ok_or("a layer without a register")?;
            changed(wire, *register, gain, units, &wires, format)
                .map_err(|what| format!("layer {at} behind the copies, register {register}: {what}"))?;
        }
        wires = new;
    }
    let ones = |choice: usize| usize::try_from(choice.count_ones()).unwrap_or(0);
    let most = table(copies, |choice| ones(choice) > copies / 2);
    let tiny = Dyadic::power_of_two(format.least);
    let read = |(output, row): (usize, &Row)| {
        let ([(register, weight)], true) = (row.weights.as_slice(), row.bias.is_zero()) else {
            return Err(format!("output {output} reads more than one register"));
        };
        let wire = wires.get(register).filter(|wire| wire.output == output && *weight == Dyadic::ONE);
        let wire =
            wire.ok_or_else(|| format!("output {output} reads register {register}, where its copies are not"))?;
        if wire.truth != most {
            return Err(format!("register {register} does not hold the median of {copies} copies"));
        }
        Ok(&wire.off + &tiny)
    };
    read_out.iter().enumerate().map(read).collect()
}

/// A wire behind a layer.
fn changed(
    wire: &mut Wire,
    register: usize,
    gain: &Row,
    units: &[Row],
    wires: &BTreeMap<usize, Wire>,
    format: Format,
) -> Result<(), String> {
    let (unit, tiny) = (Dyadic::power_of_two(format.digits.saturating_neg()), Dyadic::power_of_two(format.least));
    if !gain.bias.is_zero() {
        return Err("a number is added to it".to_owned());
    }
    let active = |(place, weight): &(usize, Dyadic)| {
        let row = units.get(*place)?;
        (!row.is_zero()).then(|| (row, weight.clone()))
    };
    let adds: Vec<(&Row, Dyadic)> = gain.weights.iter().filter_map(active).collect();
    if adds.is_empty() {
        return Ok(());
    }
    let minus = -&Dyadic::ONE;
    let larger = |a: &Dyadic, b: &Dyadic| a.clone().max(b.clone());
    if let [(row, weight)] = adds.as_slice()
        && let [(a, first), (b, second)] = row.weights.as_slice()
    {
        // R(r - s) is taken away, or R(s - r) is added.
        let other = if *a == register { *b } else { *a };
        let own = if *a == register { first } else { second };
        let opposite = *first == -second && first.abs() == Dyadic::ONE && row.bias.is_zero();
        let known = wires.get(&other).filter(|known| known.output == wire.output && [*a, *b].contains(&register));
        let Some(known) = known.filter(|_| opposite && *own == -weight) else {
            return Err("a comparison that is none".to_owned());
        };
        let (least, most) = (*own == Dyadic::ONE, larger(&wire.size, &known.size));
        let read = &(&unit * &(&wire.size + &known.size)) + &tiny;
        let loss = &(&read + &(&unit * &read)) + &(&(&unit * &most) + &tiny);
        for (own, other) in wire.truth.iter_mut().zip(&known.truth) {
            *own = if least { *own & *other } else { *own | *other };
        }
        (wire.off, wire.size, wire.good) = (&larger(&wire.off, &known.off) + &loss, &most + &loss, None);
        return fits(&wire.size, format);
    }
    let good = wire.good.clone().ok_or("it is changed other than by a comparison")?;
    let (mut low, mut high) = (None, None);
    for (row, weight) in adds {
        let [(place, slope)] = row.weights.as_slice() else {
            return Err("a clamp that reads another register".to_owned());
        };
        let fits = *place == register && *slope == -&weight;
        if fits && *slope == Dyadic::ONE && high.is_none() {
            high = Some(-&row.bias);
        } else if fits && *slope == minus && low.is_none() {
            low = Some(row.bias.clone());
        } else {
            return Err("a clamp that is none".to_owned());
        }
    }
    let (low, high) = low.zip(high).ok_or("a clamp without one of its ends")?;
    if low > good.lo || good.hi > high {
        return Err(format!("a clamp to {low} … {high} changes numbers of good parts, {good}"));
    }
    let end = larger(&low.abs(), &high.abs());
    let read = &(&unit * &(&wire.size + &end)) + &tiny;
    let near = &end + &read;
    wire.size = &(&near + &(&unit * &near)) + &tiny;
    wire.off = &wire.off + &tiny;
    fits(&(&wire.size + &end), format)
}

/// Refuses sizes that may overflow.
fn fits(size: &Dyadic, format: Format) -> Result<(), String> {
    if size.top() < format.most.saturating_sub(2) { Ok(()) } else { Err("a number that may overflow".to_owned()) }
}

#[cfg(test)]
mod tests;
