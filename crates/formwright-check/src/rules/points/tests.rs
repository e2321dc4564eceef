//! Compares with real executions: random sums and networks in floats, in random orders, fused or not, flushed or not,
//! with inexact exponentials. Whatever such a machine computes must lie where the checker says.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_arithmetic,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Program;
use super::attention::{attention, groups};
use super::forward::feed_forward;
use crate::fast::skip::{Index, large};
use crate::kernel::format::Format;
use crate::kernel::number::{Dyadic, Range};
use crate::kernel::softmax::{excess, shares, softmax};
use crate::kernel::sum::{Row, Sum, Value, gamma, inverse_power, nearest, rounded, snap, times};
use crate::read::certificate::Mask;
use crate::read::weights::{Head, Layer, Network};
use crate::rules::sweep::sweep;

/// Random numbers, and a machine that rounds as a format does.
struct Machine {
    state: u64,
    format: Format,
}

impl Machine {
    fn new(seed: u64) -> Self {
        let format = if seed.is_multiple_of(2) { Format::DOUBLE } else { Format::SINGLE };
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), format }
    }

    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    fn between(&mut self, from: i64, to: i64) -> i64 {
        from + self.below((to - from + 1) as usize) as i64
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn is_single(&self) -> bool {
        self.format == Format::SINGLE
    }

    /// The nearest number of the format to a double.
    fn fit(&self, x: f64) -> f64 {
        if self.is_single() { f64::from(x as f32) } else { x }
    }

    fn flushed(&mut self, x: f64) -> f64 {
        if x.abs() < 2.0_f64.powi(self.format.least as i32) && self.chance(2) { 0.0 } else { x }
    }

    // Doubles have more than twice the digits of singles: rounding twice does no harm, except for the fused operation.
    fn add(&mut self, a: f64, b: f64) -> f64 {
        let sum = self.fit(a + b);
        self.flushed(sum)
    }

    fn mul(&mut self, a: f64, b: f64) -> f64 {
        let product = self.fit(a * b);
        self.flushed(product)
    }

    fn fused(&mut self, a: f64, b: f64, c: f64) -> f64 {
        let single = |x: f64| x as f32;
        let sum = if self.is_single() { f64::from(single(a).mul_add(single(b), single(c))) } else { a.mul_add(b, c) };
        self.flushed(sum)
    }

    fn exp(&mut self, x: f64) -> f64 {
        if x == 0.0 {
            return 1.0;
        }
        // The `exp` of doubles is inexact itself; singles go to the edge of θ.
        let room = 2.0_f64.powi(self.format.theta as i32) * if self.is_single() { 1.0 } else { 0.875 };
        let off = [-room, room, 0.0, room * (self.below(2001) as f64 / 1000.0 - 1.0)][self.below(4)];
        let exact = x.exp();
        let power = self.fit(exact * (1.0 + off));
        let beyond = self.is_single() && (power - exact).abs() > room * exact && power as f32 >= f32::MIN_POSITIVE;
        let power = match (beyond, power > exact) {
            (false, _) => power,
            (true, true) => f64::from((power as f32).next_down()),
            (true, false) => f64::from((power as f32).next_up()),
        };
        self.flushed(power)
    }

    /// A sum of products in a random order: by size, or as it comes.
    fn sum(&mut self, terms: &[(f64, f64)]) -> f64 {
        let mut terms: Vec<(f64, f64)> =
            terms.iter().copied().filter(|(a, b)| a * b != 0.0 || (*a != 0.0 && *b != 0.0)).collect();
        let order = self.below(4);
        if order < 2 {
            terms.sort_by(|a, b| (a.0 * a.1).abs().total_cmp(&(b.0 * b.1).abs()));
        }
        // A product that is not computed yet, or a computed number times 1.
        let mut open: Vec<(f64, f64)> = terms;
        while open.len() > 1 {
            let last = open.len() - 1;
            let first = match order {
                0 => 0,
                1 => last,
                _ => self.below(open.len()),
            };
            let (a, b) = open.remove(first);
            let other = if order == 0 {
                0
            } else if order == 1 {
                last - 1
            } else {
                self.below(open.len())
            };
            let (c, d) = open.remove(other);
            let base = self.mul(c, d);
            let sum = if self.chance(2) {
                self.fused(a, b, base)
            } else {
                let product = self.mul(a, b);
                self.add(product, base)
            };
            if order == 0 { open.insert(0, (1.0, sum)) } else { open.push((1.0, sum)) }
        }
        open.first().map_or(0.0, |(a, b)| self.mul(*a, *b))
    }

    /// A number of the format of some kind.
    fn number(&mut self, kind: usize) -> f64 {
        let digits = self.format.digits;
        let power = |e: i64| 2.0_f64.powi(e as i32);
        let x = match kind {
            0 => self.between(-4, 4) as f64,
            1 => self.between(-64, 64) as f64 * power(self.between(-12, 0)),
            2 => self.between(-1 << 40, 1 << 40) as f64 * power(-39),
            // Powers of two and their neighbours, as far apart as matters to absorption and rounding.
            3 => {
                let last = power(1 - digits);
                let near = [1.0, 1.0, 1.5, 1.0 + last, 2.0 - last, 1.0 - last / 2.0, 1.25][self.below(7)];
                near * power(self.between(-digits - 3, digits + 3)) * [1.0, -1.0][self.below(2)]
            }
            4 => self.between(-1 << 30, 1 << 30) as f64 * power(self.between(-60, 10)),
            5 => self.between(-3, 3) as f64 * power(40 * self.between(-1, 1)),
            _ => {
                let least = self.format.least;
                let e = [
                    self.between(least, least + 40),
                    self.between(-20, 20),
                    self.between(least / 2 - 20, least / 2 + 20),
                ];
                (1.0 + self.below(1 << 20) as f64 / power(20)) * power(e[self.below(3)]) * [1.0, -1.0][self.below(2)]
            }
        };
        let x = self.fit(x);
        if x.abs() < power(self.format.least) { 0.0 } else { x }
    }

    /// Numbers of some kind around one, and one of them: a point, or a box with its ends and its middle.
    fn range(&mut self, kind: usize, wide: bool) -> (Value, Vec<f64>) {
        let a = self.number(kind);
        if !wide {
            return (Value::point(exact(a)), vec![a]);
        }
        let b = if self.chance(2) { self.number(kind) } else { self.fit(a * 1.001) };
        let (lo, hi) = (a.min(b), a.max(b));
        let part = self.below(1000) as f64 / 1000.0;
        let inside = self.fit(lo + (hi - lo) * part).clamp(lo, hi);
        (rounded(&Range { lo: exact(lo), hi: exact(hi) }, self.format), vec![lo, hi, inside])
    }
}

fn exact(x: f64) -> Dyadic {
    // Numbers below the normal range are never weights, but can be results.
    let (scaled, by) = if x.abs() < 1e-290 { (x * 2.0_f64.powi(200), -200) } else { (x, 0) };
    &Dyadic::from_bits(scaled.to_bits(), 53).unwrap_or_else(|| panic!("{x} is not finite")) * &Dyadic::power_of_two(by)
}

fn holds(value: &Value, x: f64, place: &str) {
    let found = exact(x);
    let multiple = found.quantum().is_none_or(|quantum| quantum >= value.quantum);
    assert!(value.range.lo <= found && found <= value.range.hi && multiple, "{place}: {x:e} is not in {value:?}");
}

fn sums(count: u64) {
    for seed in 0..count {
        let mut machine = Machine::new(seed);
        let kinds = [machine.below(7), machine.below(7)];
        let (mut sum, mut terms) = (Sum::new(machine.format), Vec::new());
        for _ in 0..=machine.below(6) {
            let (kind, other, wide) = (kinds[machine.below(2)], kinds[machine.below(2)], machine.chance(3));
            let weight = if machine.chance(3) { 1.0 } else { machine.number(other) };
            let (value, inside) = machine.range(kind, wide);
            sum.weighted(&exact(weight), &value);
            terms.push((weight, inside));
        }
        let Ok(total) = sum.total(None) else { continue };
        for _ in 0..4 {
            let chosen: Vec<(f64, f64)> =
                terms.iter().map(|(weight, inside)| (*weight, inside[machine.below(inside.len())])).collect();
            let real = chosen.iter().fold(Dyadic::ZERO, |sum, (a, b)| &sum + &(&exact(*a) * &exact(*b)));
            let got = machine.sum(&chosen);
            let place = format!("seed {seed}, {:?}, {chosen:?}", machine.format);
            holds(&total.value, got, &place);
            let off = (&exact(got) - &real).abs();
            assert!(off <= total.error, "{place}: {got:e} is off by {off}, at most {} was said", total.error);
        }
    }
}

#[test]
fn sums_lie_where_they_are_said_to() {
    sums(100_000);
}

/// A network as floats, for the machine.
struct Floats {
    embed: Vec<Line>,
    layers: Vec<Floor>,
}

#[derive(Clone)]
struct Line {
    weights: Vec<f64>,
    bias: f64,
}

enum Floor {
    Attention(Vec<[Vec<Line>; 4]>, Vec<Mask>),
    Forward(Vec<Line>, Vec<Line>),
}

impl Line {
    fn random(machine: &mut Machine, width: usize, kinds: [usize; 2], biased: bool) -> Self {
        let mut number = |one_in: usize| {
            let kind = kinds[machine.below(2)];
            if machine.chance(one_in) { 0.0 } else { machine.number(kind) }
        };
        Self { weights: (0..width).map(|_| number(3)).collect(), bias: if biased { number(3) } else { 0.0 } }
    }

    fn negated(&self) -> Self {
        Self { weights: self.weights.iter().map(|x| -x).collect(), bias: -self.bias }
    }

    fn row(&self) -> Row {
        let weights = self.weights.iter().enumerate().filter(|(_, x)| **x != 0.0).map(|(at, x)| (at, exact(*x)));
        Row { weights: weights.collect(), bias: exact(self.bias) }
    }

    fn terms(&self, z: &[f64]) -> Vec<(f64, f64)> {
        self.weights.iter().copied().zip(z.iter().copied()).chain([(1.0, self.bias)]).collect()
    }
}

fn rows(lines: &[Line]) -> Vec<Row> {
    lines.iter().map(Line::row).collect()
}

impl Floats {
    fn random(machine: &mut Machine, tokens: usize) -> Self {
        let kinds = [machine.below(7), machine.below(7)];
        let (width, dims) = (1 + machine.below(4), 1 + machine.below(2));
        let lines = |machine: &mut Machine, count: usize, width: usize, biased: bool| -> Vec<Line> {
            (0..count).map(|_| Line::random(machine, width, kinds, biased)).collect()
        };
        let embed = lines(machine, width, dims, true);
        let mut layers = Vec::new();
        for _ in 0..=machine.below(4) {
            if machine.chance(3) {
                let (heads, size) = (1 + machine.below(2), 1 + machine.below(2));
                let mut parts: Vec<[Vec<Line>; 4]> = (0..heads)
                    .map(|_| {
                        let [q, k, v] =
                            [(size, true), (size, false), (1, false)].map(|(n, b)| lines(machine, n, width, b));
                        [q, k, v, lines(machine, width, 1, false)]
                    })
                    .collect();
                let mut masks = vec![Mask { limits: [None; 4], first: false, connections: None }; heads];
                for mask in &mut masks {
                    let last = Some(tokens as i64 - 1);
                    let limits = [[None; 4], [None; 4], [None, Some(0), None, None], [None, None, last, None]];
                    mask.limits = limits[machine.below(4)];
                }
                if heads == 2 && machine.chance(2) {
                    parts[1][2] = parts[0][2].clone();
                    parts[1][3] = parts[0][3].iter().map(Line::negated).collect();
                    masks[1] = masks[0].clone();
                    // Sometimes all but a pair.
                    match machine.below(8) {
                        0 => parts[1][2][0].weights[0] += 1.0,
                        1 => parts[1][3][0].weights[0] *= 2.0,
                        2 => parts[1][3][0].weights[0] *= -1.0,
                        3 => masks[1].limits = [Some(0), Some(0), None, None],
                        _ => {}
                    }
                }
                if masks.iter().all(|mask| mask.limits == [None; 4]) && machine.chance(2) {
                    let connections = Some(Arc::new(machine.connections(tokens)));
                    for mask in &mut masks {
                        mask.connections.clone_from(&connections);
                    }
                }
                layers.push(Floor::Attention(parts, masks));
            } else {
                let hidden = 1 + machine.below(4);
                let mut units = lines(machine, hidden, width, true);
                // Ramps: units that read one functional, up to sign.
                if machine.chance(2) {
                    let reads = units[0].weights.clone();
                    for unit in &mut units {
                        unit.weights = reads.iter().map(|x| if machine.chance(2) { -x } else { *x }).collect();
                        if machine.chance(2) {
                            unit.weights.clone_from(&reads);
                        }
                    }
                }
                let biased = machine.chance(3);
                layers.push(Floor::Forward(units, lines(machine, width, hidden, biased)));
            }
        }
        Self { embed, layers }
    }

    fn network(&self, format: Format) -> Network {
        let layer = |floor: &Floor| match floor {
            Floor::Forward(units, gains) => Layer::FeedForward { units: rows(units), gains: rows(gains) },
            Floor::Attention(heads, masks) => {
                let head = |([q, k, v, o], mask): (&[Vec<Line>; 4], &Mask)| Head {
                    mask: mask.clone(),
                    q: rows(q),
                    k: rows(k),
                    v: rows(v),
                    o: rows(o),
                };
                Layer::Attention(heads.iter().zip(masks).map(head).collect())
            }
        };
        let layers = self.layers.iter().map(layer).collect();
        Network { format, embed: rows(&self.embed), positions: Vec::new(), layers, read_out: Vec::new() }
    }
}

impl Floor {
    /// One execution of a layer.
    fn run(&self, machine: &mut Machine, tokens: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let all = |machine: &mut Machine, lines: &[Line], z: &[f64]| -> Vec<f64> {
            lines.iter().map(|line| machine.sum(&line.terms(z))).collect()
        };
        let mut new = Vec::new();
        for (t, z) in tokens.iter().enumerate() {
            let mut gains: Vec<Vec<(f64, f64)>> = z.iter().map(|own| vec![(1.0, *own)]).collect();
            match self {
                Self::Forward(units, lines) => {
                    let hidden: Vec<f64> = all(machine, units, z).into_iter().map(|x| x.max(0.0)).collect();
                    gains.iter_mut().zip(lines).for_each(|(gain, line)| gain.extend(line.terms(&hidden)));
                }
                Self::Attention(heads, masks) => {
                    for ([q, k, v, o], mask) in heads.iter().zip(masks) {
                        let query = all(machine, q, z);
                        let (mut scores, mut values) = (Vec::new(), Vec::new());
                        for (_, z) in tokens.iter().enumerate().filter(|(k, _)| mask.sees(t, *k)) {
                            let key = all(machine, k, z);
                            let terms: Vec<(f64, f64)> = key.into_iter().zip(query.iter().copied()).collect();
                            scores.push(machine.sum(&terms));
                            values.push(all(machine, v, z));
                        }
                        let given = machine.attended(&scores, &values);
                        gains.iter_mut().zip(o).for_each(|(gain, line)| gain.extend(line.terms(&given)));
                    }
                }
            }
            new.push(gains.iter().map(|terms| machine.sum(terms)).collect());
        }
        new
    }
}

impl Machine {
    /// Connections in which every token sees something.
    fn connections(&mut self, tokens: usize) -> BTreeSet<(usize, usize)> {
        let mut pairs: BTreeSet<(usize, usize)> = (0..tokens).map(|t| (t, self.below(tokens))).collect();
        pairs.extend((0..tokens * tokens).map(|pair| (pair / tokens, pair % tokens)).filter(|_| self.chance(3)));
        pairs
    }

    fn shares(&mut self, scores: &[f64]) -> Vec<f64> {
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut powers = Vec::new();
        for score in scores {
            let apart = self.add(*score, -top);
            powers.push(self.exp(apart));
        }
        let terms: Vec<(f64, f64)> = powers.iter().map(|power| (1.0, *power)).collect();
        let whole = self.sum(&terms);
        // A quotient, or the product with the rounded reciprocal.
        let reciprocal = self.chance(2).then(|| self.fit(1.0 / whole));
        let mut shares = Vec::new();
        for power in powers {
            let share = self.fit(reciprocal.map_or(power / whole, |reciprocal| power * reciprocal));
            shares.push(self.flushed(share));
        }
        shares
    }

    fn attended(&mut self, scores: &[f64], values: &[Vec<f64>]) -> Vec<f64> {
        let shares = self.shares(scores);
        (0..values[0].len())
            .map(|row| {
                let terms: Vec<(f64, f64)> =
                    shares.iter().zip(values).map(|(share, value)| (*share, value[row])).collect();
                self.sum(&terms)
            })
            .collect()
    }
}

/// Counts the networks that were executed, and the layers whose streams were compared.
fn networks(from: u64, count: u64) -> [usize; 2] {
    let mut done = [0; 2];
    for seed in from..from + count {
        let mut machine = Machine::new(seed);
        let tokens = 1 + machine.below(3);
        let floats = Floats::random(&mut machine, tokens);
        let network = floats.network(machine.format);
        let program = Program::new(&network);
        let (kind, wide) = (machine.below(6), machine.chance(2));
        let dims = floats.embed[0].weights.len();
        let inputs: Vec<Vec<(Value, Vec<f64>)>> =
            (0..tokens).map(|_| (0..dims).map(|_| machine.range(kind, wide)).collect()).collect();
        let embed = |input: &Vec<(Value, Vec<f64>)>| {
            program.embed(&input.iter().map(|(value, _)| value.clone()).collect::<Vec<_>>(), 0)
        };
        let Ok(start) = inputs.iter().map(embed).collect::<Result<Vec<_>, _>>() else { continue };
        let keys: Vec<usize> = (0..tokens).collect();
        let mut stages = vec![start.clone()];
        for at in 0..network.layers.len() {
            let mut next = stages[at].clone();
            if program.run(&mut next, &keys, at, at + 1).is_err() {
                break;
            }
            stages.push(next);
        }
        // All layers at once: some are skipped.
        let mut whole = start;
        let whole = program.run(&mut whole, &keys, 0, network.layers.len()).is_ok().then_some(whole);
        for _ in 0..3 {
            let mut stream: Vec<Vec<f64>> = Vec::new();
            for input in &inputs {
                let x: Vec<f64> = input.iter().map(|(_, inside)| inside[machine.below(inside.len())]).collect();
                stream.push(floats.embed.iter().map(|line| machine.sum(&line.terms(&x))).collect());
            }
            for (at, stage) in stages.iter().enumerate() {
                let place = format!("seed {seed}, {:?}, before layer {at}", machine.format);
                compare(stage, &stream, &place);
                done[1] += 1;
                if at == floats.layers.len() {
                    if let Some(whole) = &whole {
                        compare(whole, &stream, &format!("{place}, at once"));
                    }
                } else if at + 1 < stages.len() {
                    stream = floats.layers[at].run(&mut machine, &stream);
                }
            }
        }
        done[0] += 1;
    }
    done
}

fn compare(stage: &[Vec<Value>], stream: &[Vec<f64>], place: &str) {
    for (value, x) in stage.iter().flatten().zip(stream.iter().flatten()) {
        holds(value, *x, place);
    }
}

#[test]
fn networks_do_what_they_are_said_to() {
    let [executed, layers] = networks(0, 24_000);
    assert!(executed >= 20_000 && layers >= 150_000, "only {executed} networks, {layers} layers");
}

#[test]
fn shares_are_what_they_are_said_to_be() {
    for seed in 0..10_000 {
        let mut machine = Machine::new(seed);
        let (kind, wide) = ([0, 1, 2, 4][machine.below(4)], machine.chance(2));
        let far = 2.0_f64.powi(machine.between(-4, 6) as i32);
        let mut scores = Vec::new();
        for _ in 0..=machine.below(4) {
            let (_, inside) = machine.range(kind, wide);
            let inside: Vec<f64> = inside.into_iter().map(|x| machine.fit(x * far)).collect();
            let ends = inside.iter().map(|x| Value::point(exact(*x))).reduce(|a, b| a.hull(&b)).unwrap();
            scores.push((Value::float(ends.range, machine.format), inside));
        }
        let values: Vec<Value> = scores.iter().map(|(value, _)| value.clone()).collect();
        let Ok(shares) = softmax(&values, machine.format) else { continue };
        for _ in 0..4 {
            let chosen: Vec<f64> = scores.iter().map(|(_, inside)| inside[machine.below(inside.len())]).collect();
            let place = format!("seed {seed}, {:?}, scores {chosen:?}", machine.format);
            let got = machine.shares(&chosen);
            shares.iter().zip(&got).for_each(|(share, got)| holds(share, *got, &place));
            let sum = got.iter().fold(Dyadic::ZERO, |sum, share| &sum + &exact(*share));
            let off = (&sum - &Dyadic::ONE).abs();
            assert!(off <= excess(got.len(), machine.format), "{place}: shares add up to {sum}");
        }
    }
}

/// The weights of the scores 0 and x as onnxruntime 1.31.1 gives them in single precision, bit by bit. No quotient by
/// the sum gives both, whatever the exponential.
const RECIPROCAL: [[u32; 3]; 12] = [
    [0xbea9_52bd, 0x3f14_f97e, 0x3ed6_0d03],
    [0xbf7a_8797, 0x3f3a_11f7, 0x3e8b_dc14],
    [0xbffc_aee4, 0x3f60_c7da, 0x3df9_c138],
    [0xbe4d_7d73, 0x3f0c_ccda, 0x3ee6_664d],
    [0xc05c_e387, 0x3f78_223d, 0x3cfb_b847],
    [0xbe83_dfc2, 0x3f10_64cc, 0x3edf_366b],
    [0xbfb3_442f, 0x3f4d_6151, 0x3e4a_7ac1],
    [0xbf8d_72db, 0x3f40_4f32, 0x3e7e_c339],
    [0xbe92_c5db, 0x3f12_38d5, 0x3edb_8e57],
    [0xbf1e_be0a, 0x3f26_7606, 0x3eb3_13f3],
    [0xc002_b7e5, 0x3f62_9b7b, 0x3deb_2427],
    [0xbf18_03a2, 0x3f24_ecc5, 0x3eb6_2676],
];

#[test]
fn weights_by_the_reciprocal_are_among_all() {
    let format = Format::SINGLE;
    for bits in RECIPROCAL {
        let [x, first, second] = bits.map(f32::from_bits);
        let middle = x.exp();
        let mut powers: Vec<f32> = (0..=16).scan(middle, |e, _| Some(std::mem::replace(e, e.next_up()))).collect();
        powers.extend((0..16).scan(middle, |e, _| Some(std::mem::replace(e, e.next_down()))));
        let divides = |e: &f32| (1.0 / (1.0 + e), e / (1.0 + e)) == (first, second);
        assert!(!powers.iter().any(divides), "{x}: a quotient after all");
        let allowed = |e: &f32| {
            let shares = shares(&[1.0, *e].map(|e| Value::point(exact(e.into()))), format).unwrap();
            shares.iter().zip([first, second]).all(|(share, found)| {
                let found = exact(found.into());
                share.range.lo <= found && found <= share.range.hi
            })
        };
        assert!(powers.iter().any(allowed), "{x}: what onnxruntime does is not allowed");
    }
}

/// Known exponentials give weights that are known up to one number of the format: the rule is not merely wide.
#[test]
fn weights_are_the_two_numbers_and_what_is_between() {
    for seed in 0..2_000 {
        let mut machine = Machine::new(seed);
        let format = machine.format;
        let other = machine.bits() as f64 * 2.0_f64.powi(-64);
        let powers = [1.0, machine.fit(other)];
        // One addition: the sum is a single number.
        let whole = machine.fit(powers[0] + powers[1]);
        let values = powers.map(|power| Value::point(exact(power)));
        for (power, share) in powers.iter().zip(shares(&values, format).unwrap()) {
            let two = [machine.fit(power / whole), machine.fit(power * machine.fit(1.0 / whole))].map(exact);
            let [lo, hi] = [two.iter().min().unwrap(), two.iter().max().unwrap()];
            assert_eq!(share.range, Range { lo: lo.clone(), hi: hi.clone() }, "seed {seed}, {powers:?}");
        }
    }
    // Equal scores weigh 1/n, rounded once, either way.
    for n in 1..300_usize {
        for format in [Format::SINGLE, Format::DOUBLE] {
            let share = nearest(&Range::point(Dyadic::ONE).over(&Range::whole(n)).unwrap().lo, format);
            let found = softmax(&vec![Value::point(Dyadic::from(7)); n], format).unwrap();
            assert!(found.iter().all(|found| found.range == Range::point(share.clone())), "{n} keys");
        }
    }
}

/// Tokens go through selective shifts. Many lie exactly at a threshold, where roundings decide.
fn sweeps(count: u64) -> usize {
    let mut done = 0;
    for seed in 0..count {
        let mut machine = Machine::new(seed);
        let (tokens, dims, blocks) = (1 + machine.below(3), 1 + machine.below(3), 1 + machine.below(5));
        let lambda = 2.0_f64.powi(machine.between(0, 70) as i32);
        let step = 2.0_f64.powi(machine.between(-10, 4) as i32);
        let apart = [0.0, 1.0, 1.0, 1.0, 2.0][machine.below(5)];
        let line = |weights: Vec<f64>, bias: f64| Line { weights, bias };
        let thresholds: Vec<f64> = (0..blocks).map(|_| machine.between(-2, 6) as f64 / 2.0).collect();
        let head = |a: f64, b: f64, o: f64| {
            let o = (0..dims).map(|r| line(vec![if r == 0 { o } else { 0.0 }], 0.0)).collect();
            let read = vec![line(vec![a; dims], 0.0)];
            [vec![line(vec![a * lambda; dims], -lambda * b)], read.clone(), read, o]
        };
        let connected = machine.chance(2);
        let mut layers = Vec::new();
        for b in &thresholds {
            let connections = connected.then(|| Arc::new(machine.connections(tokens)));
            let masks = vec![Mask { limits: [None; 4], first: false, connections }; 2];
            layers.push(Floor::Attention(vec![head(1.0, *b, step), head(1.0, b + apart, -step)], masks.clone()));
            // Blocks that do nothing, in between and behind.
            if machine.chance(4) {
                layers.push(Floor::Attention(vec![head(0.0, 0.0, 0.0), head(0.0, 0.0, 0.0)], masks));
            }
        }
        let floats = Floats { embed: Vec::new(), layers };
        let start: Vec<Vec<f64>> = (0..tokens)
            .map(|_| {
                let rest: Vec<f64> = (1..dims).map(|_| machine.number(2)).collect();
                let wanted = thresholds[machine.below(blocks)] + [0.0, 0.0, 1.0, 40.0][machine.below(4)];
                [vec![machine.fit(wanted - rest.iter().sum::<f64>())], rest].concat()
            })
            .collect();
        let network = floats.network(machine.format);
        let value = |r: usize| start.iter().map(|z| Value::point(exact(z[r]))).reduce(|a, b| a.hull(&b)).unwrap();
        let mut hull: Vec<Value> = (0..dims).map(value).collect();
        let Ok(swept @ 1..) = sweep(&network.layers, &mut hull, tokens, machine.format) else { continue };
        assert_eq!(swept, floats.layers.len());
        done += 1;
        for _ in 0..4 {
            let stream = floats.layers.iter().fold(start.clone(), |stream, floor| floor.run(&mut machine, &stream));
            for z in &stream {
                compare(std::slice::from_ref(&hull), std::slice::from_ref(z), &format!("seed {seed}, a sweep"));
            }
        }
    }
    done
}

#[test]
fn sweeps_carry_tokens_no_farther_than_they_are_said_to() {
    let done = sweeps(20_000);
    assert!(done >= 10_000, "only {done} sweeps");
}

/// A layer that is skipped does nothing. Biases are as close to the edge as floats allow.
#[test]
fn skipped_layers_rest() {
    let mut skipped = 0;
    for seed in 0..100_000 {
        let mut machine = Machine::new(seed);
        let kind = [2, 4, 3][machine.below(3)];
        let width = 1 + machine.below(3);
        let z: Vec<f64> = (0..width).map(|_| machine.number(kind)).collect();
        let mut unit = Line { weights: (0..width).map(|_| machine.number(kind)).collect(), bias: 0.0 };
        let edge = machine.sum(&unit.terms(&z));
        let farther = [1.0, 1.0, 1.0 + 1e-15, 1.0 + 1e-7][machine.below(4)];
        unit.bias = machine.fit(-edge * farther);
        let gains = vec![Row { weights: vec![(0, Dyadic::ONE)], bias: Dyadic::ZERO }];
        // It opens to the right or to the left of what the first unit reads.
        let first = if machine.chance(2) { unit.clone() } else { unit.negated() };
        let units = vec![Line { bias: -machine.fit(1e37), ..first }.row(), unit.row()];
        let layers = [Layer::FeedForward { units, gains }];
        let values: Vec<Value> = z.iter().map(|x| Value::point(exact(*x))).collect();
        let Some(index) = Index::new(&layers, machine.format) else { continue };
        if index.next(0, &values, machine.format) == 0 {
            continue;
        }
        skipped += 1;
        for _ in 0..4 {
            let got = machine.sum(&unit.terms(&z));
            assert!(got <= 0.0, "seed {seed}: {got:e} of {:?} and {} at {z:?} is skipped", unit.weights, unit.bias);
        }
    }
    assert!(skipped > 1000, "only {skipped} were skipped");
}

/// `m·2^e`.
fn dyadic(m: i64, e: i64) -> Dyadic {
    Dyadic::new(m.into(), e)
}

#[test]
fn products_snap_to_the_number_that_they_are_near() {
    let single = Format::SINGLE;
    let one = |off: i64, e: i64| &Dyadic::ONE + &dyadic(off, e);
    let half = dyadic(3, -1);
    let near = |x: &Dyadic| {
        let snapped = snap(x, single);
        assert_eq!(snap(&-x, single), snapped.as_ref().map(|x| -x), "signs are alike");
        snapped
    };
    // From 1 on numbers are 2^-23 apart, below it 2^-24.
    assert_eq!(near(&one(3, -26)), Some(Dyadic::ONE));
    assert_eq!(near(&one(-1, -25)), Some(Dyadic::ONE));
    assert_eq!(near(&one(-33, -30)), Some(one(-1, -24)));
    assert_eq!(near(&(&half + &dyadic(1, -25))), Some(half.clone()));
    assert_eq!(near(&(&half - &dyadic(1, -25))), Some(half.clone()));
    // Ties: another number is just as near.
    assert_eq!(near(&(&half + &dyadic(1, -24))), None);
    assert_eq!(near(&(&half - &dyadic(1, -24))), None);
    assert_eq!(near(&one(1, -24)), None);
    // Numbers that may be flushed.
    assert_eq!(near(&dyadic(1, -126)), Some(dyadic(1, -126)));
    assert_eq!(near(&dyadic(1, -127)), None);
    assert_eq!(near(&(&dyadic(1, -126) - &dyadic(1, -200))), None);
    assert_eq!(near(&(&dyadic(1, -126) + &dyadic(1, -200))), Some(dyadic(1, -126)));
    assert_eq!(
        [inverse_power(&dyadic(1, 3)), inverse_power(&dyadic(-1, -3))],
        [Some(dyadic(1, -3)), Some(dyadic(-1, 3))]
    );
    assert_eq!([inverse_power(&dyadic(3, 0)), inverse_power(&Dyadic::ZERO)], [None, None]);
}

#[test]
fn numbers_at_the_end_of_the_normal_range() {
    for format in [Format::SINGLE, Format::DOUBLE] {
        let least = Dyadic::power_of_two(format.least);
        for x in [&least, &-&least] {
            assert_eq!(rounded(&Range::point(x.clone()), format), Value::point(x.clone()));
        }
        // A slightly smaller number may be flushed before it is rounded.
        let less = &least - &Dyadic::power_of_two(format.least - 100);
        assert_eq!(rounded(&Range::point(less.clone()), format).range, Range { lo: Dyadic::ZERO, hi: least.clone() });
        assert_eq!(rounded(&Range::point(-&less), format).range, Range { lo: -&least, hi: Dyadic::ZERO });
        assert_eq!(nearest(&less, format), least);
        // Below the normal range numbers are as far apart as at its end; ties go to the even ones.
        let last = format.least + 1 - format.digits;
        assert_eq!([1, 3, 5].map(|m| nearest(&dyadic(m, last - 1), format)), [0, 2, 2].map(|m| dyadic(m, last)));
        // However far away the other end is.
        assert_eq!(rounded(&Range { lo: less.clone(), hi: Dyadic::ONE }, format).range.lo, Dyadic::ZERO);
        assert_eq!(rounded(&Range { lo: dyadic(-1, 0), hi: -&less }, format).range.hi, Dyadic::ZERO);
        let mut sum = Sum::new(format);
        (0..3).for_each(|_| sum.known(&least));
        let total = sum.total(None).unwrap();
        assert_eq!((total.value, total.error), (Value::point(&(&least + &least) + &least), Dyadic::ZERO));
    }
}

#[test]
fn numbers_of_a_range_are_multiples_of_what_the_least_is() {
    let quantum =
        |lo: i64, hi: i64| Value::float(Range { lo: dyadic(lo, -1), hi: dyadic(hi, -1) }, Format::SINGLE).quantum;
    // From 1 on numbers are 2^-23 apart, from 2 on 2^-22, from 1/2 on 2^-24.
    assert_eq!(
        [quantum(2, 16), quantum(-16, -2), quantum(4, 16), quantum(-16, -4), quantum(1, 16)],
        [-23, -23, -22, -22, -24]
    );
    // Around 0, and from 0 upwards, the least normal number decides.
    assert_eq!([quantum(-2, 16), quantum(0, 16), quantum(-16, 0)], [-126 - 24; 3]);
}

#[test]
fn constants_are_those_of_the_page() {
    let u = Dyadic::power_of_two(-24);
    // 3u (1 + 6u), above 3u/(1 - 3u).
    assert_eq!(gamma(3, Format::SINGLE), &(&u * &dyadic(3, 0)) * &(&Dyadic::ONE + &(&u * &dyadic(6, 0))));
    assert_eq!(times(12, -3), dyadic(3, -1));
    assert_eq!(excess(2, Format::SINGLE), &gamma(3, Format::SINGLE) + &dyadic(1, -125));
    assert_eq!((Format::SINGLE.theta, Format::DOUBLE.theta), (-20, -49));
    // Two numbers below 2^(most - 2) add up to less than 2^(most - 1).
    assert!(large(&dyadic(1, 125), Format::SINGLE) && !large(&dyadic(1, 124), Format::SINGLE));
}

fn total_of(format: Format, terms: &[Range]) -> (Value, Dyadic) {
    let mut sum = Sum::new(format);
    for term in terms {
        sum.weighted(&Dyadic::ONE, &Value::float(term.clone(), format));
    }
    let total = sum.total(None).unwrap();
    (total.value, total.error)
}

#[test]
fn two_terms_are_off_by_the_smaller_one_at_most() {
    let (one, tiny) = (Range::point(Dyadic::ONE), times(8, Format::DOUBLE.least));
    let small = Range { lo: dyadic(1, -60), hi: dyadic(3, -60) };
    for terms in [[one.clone(), small.clone()], [small, one.clone()]] {
        let (value, error) = total_of(Format::DOUBLE, &terms);
        assert_eq!((value.range, error), (one.clone(), &dyadic(3, -60) + &tiny));
    }
    // Larger ones by half a unit in the last place of the sum.
    let terms = [Range { lo: dyadic(1, -2), hi: dyadic(3, -2) }, Range { lo: Dyadic::ONE, hi: dyadic(5, -2) }];
    let (_, error) = total_of(Format::DOUBLE, &terms);
    assert_eq!(error, &dyadic(2, -53) + &tiny);
}

#[test]
fn products_that_may_be_long_are_rounded() {
    // 3 (2^53 - 1) has more digits than the format; 3·2^51 has not, and a power of two only shifts.
    let error = |weight: i64, lo: i64, hi: i64| {
        let mut sum = Sum::new(Format::DOUBLE);
        let value = Value { range: Range { lo: dyadic(lo, 0), hi: dyadic(hi, 0) }, quantum: 0 };
        sum.weighted(&dyadic(weight, 0), &value);
        sum.total(None).unwrap().error
    };
    let long = (1 << 53) - 1;
    assert!([error(3, -long, 1), error(3, -1, long), error(-3, -1, long)].iter().all(|error| *error > Dyadic::ZERO));
    assert_eq!([error(3, -1 << 51, 1), error(4, -long, long), error(-4, -long, 1)], [const { Dyadic::ZERO }; 3]);
}

#[test]
fn sums_of_three_terms_are_absorbed_or_off() {
    let format = Format::DOUBLE;
    let (one, tiny) = (Range::point(Dyadic::ONE), times(12, format.least));
    let part = |size: Dyadic| Range { lo: &size * &dyadic(1, -1), hi: size };
    // Together below 2^-54, a quarter of the distance between numbers below 1… and 3/2 of it.
    let below = dyadic(1023, -65);
    let (value, error) = total_of(format, &[one.clone(), part(below.clone()), part(below.clone())]);
    let rest = &below + &below;
    assert_eq!(value, Value::point(Dyadic::ONE));
    assert_eq!(error, &(&rest * &(&Dyadic::ONE + &dyadic(6, -53))) + &tiny);
    let above = dyadic(3, -56);
    let (value, error) = total_of(format, &[one.clone(), part(above.clone()), part(above.clone())]);
    assert!(!value.range.is_point(), "{value:?}");
    let sizes = &Dyadic::ONE + &(&above + &above);
    let least = &(&gamma(3, format) * &sizes) + &tiny;
    assert!(least <= error && error <= &least * &(&Dyadic::ONE + &dyadic(1, -50)), "{error}");
    // Sizes with more digits than are kept are rounded up.
    let long = &Dyadic::ONE + &dyadic(1, -90);
    let mut sum = Sum::new(format);
    sum.known(&long);
    sum.known(&dyadic(5, -2));
    sum.weighted(&Dyadic::ONE, &Value::float(Range { lo: dyadic(1, -1), hi: dyadic(3, -2) }, format));
    let total = sum.total(None).unwrap();
    let least = &(&gamma(3, format) * &(&long + &dyadic(2, 0))) + &tiny;
    assert!(least <= total.error && total.error <= &least * &(&Dyadic::ONE + &dyadic(1, -50)));
}

#[test]
fn snapped_sums_are_off_by_what_they_snap() {
    // Three times 3·fl(1/3); each product is 1 - 2^-54.
    let mut sum = Sum::new(Format::DOUBLE);
    let third = exact(1.0 / 3.0);
    (0..3).for_each(|_| sum.known(&(&third * &dyadic(3, 0))));
    let total = sum.total(None).unwrap();
    assert_eq!((total.value, total.error), (Value::point(dyadic(3, 0)), dyadic(3, -54)));
}

#[test]
fn sums_stay_below_half_of_the_largest_power() {
    let mut fits = Sum::new(Format::SINGLE);
    fits.known(&(&dyadic(1, 126) - &dyadic(1, 102)));
    assert!(fits.total(None).is_ok());
    let mut large = Sum::new(Format::SINGLE);
    large.known(&dyadic(1, 126));
    assert!(large.total(None).is_err());
    let mut long = Sum::new(Format::DOUBLE);
    (0..1 << 20).for_each(|_| long.known(&Dyadic::ONE));
    assert!(long.total(None).is_ok());
    long.known(&Dyadic::ONE);
    assert!(long.total(None).is_err());
}

#[test]
fn groups_are_apart() {
    let range = |lo: i64, hi: i64| Range { lo: dyadic(lo, 0), hi: dyadic(hi, 0) };
    let found = |values: &[Range]| groups(&values.iter().collect::<Vec<_>>());
    let centre = |m: i64, e: i64| Range::point(dyadic(m, e));
    // Those that touch are together, in the order of their lower ends.
    let values = [range(5, 6), range(0, 3), range(10, 10), range(3, 4), range(1, 2)];
    assert_eq!(found(&values), [(vec![1, 4, 3], centre(2, 0)), (vec![0], centre(11, -1)), (vec![2], centre(10, 0))]);
    // A later one that ends before does not shorten the group.
    assert_eq!(found(&[range(0, 9), range(1, 2), range(5, 6)]), [(vec![0, 1, 2], centre(9, -1))]);
    assert_eq!(found(&[]), []);
}

/// Two heads with opposite outputs, and values in `[0, 1]` and `[1, 2]`, which touch and therefore form one group. If
/// the first sees token 0 alone and the second token 1, they add `V_0 - V_1`.
#[test]
fn pairs_hold_what_values_can_differ_by_and_no_more() {
    let read = |at: usize| vec![Row { weights: vec![(at, Dyadic::ONE)], bias: Dyadic::ZERO }];
    let blank = |bias: i64| Row { weights: Vec::new(), bias: dyadic(bias, 0) };
    let head = |score: i64, o: i64| Head {
        mask: Mask { limits: [None; 4], first: false, connections: None },
        q: vec![blank(score)],
        k: read(0),
        v: read(1),
        o: vec![blank(0), blank(0), Row { weights: vec![(0, dyadic(o, 0))], bias: Dyadic::ZERO }],
    };
    let token = |key: i64, from: i64| {
        let value = Value { range: Range { lo: dyadic(from, 0), hi: dyadic(from + 1, 0) }, quantum: -20 };
        vec![Value::point(dyadic(key, 0)), value, Value::point(Dyadic::ZERO)]
    };
    for format in [Format::SINGLE, Format::DOUBLE] {
        let made = |second: i64| {
            let mut tokens = [token(1, 0), token(-1, 1)];
            attention(&[head(1000, 1), head(second, -1)], &mut tokens, &[0, 1], format).unwrap();
            tokens.map(|z| z[2].clone())
        };
        for z in made(-1000) {
            for x in [-2.0, -1.0, 0.0] {
                holds(&z, x, "a pair");
            }
            assert!(z.range.size() <= dyadic(5, -1), "{z:?}");
        }
        // Heads that see the same add nothing, whatever the value.
        for z in made(1000) {
            holds(&z, 0.0, "a pair");
            assert!(z.range.size() <= dyadic(1, -20), "{z:?}");
        }
    }
}

/// Two heads that see the same need not round alike: neither their values, of four terms, nor their averages, over
/// eight keys or three.
#[test]
fn pairs_are_off_by_all_their_roundings() {
    let line = |weights: Vec<f64>| Line { weights, bias: 0.0 };
    for (terms, keys) in [(4, 8), (1, 3)] {
        let value: Vec<f64> = (0..5).map(|r| if r < terms { 1.0 } else { 0.0 }).collect();
        let head = |o: f64| {
            let (reads, values) = (vec![line(vec![0.0; 5])], vec![line(value.clone())]);
            [reads.clone(), reads, values, [0.0, 0.0, 0.0, 0.0, o].map(|o| line(vec![o])).to_vec()]
        };
        let masks = vec![Mask { limits: [None; 4], first: false, connections: None }; 2];
        let floats = Floats { embed: Vec::new(), layers: vec![Floor::Attention(vec![head(1.0), head(-1.0)], masks)] };
        let network = floats.network(Format::SINGLE);
        for seed in 0..100 {
            let mut machine = Machine::new(2 * seed + 1);
            let token = |machine: &mut Machine| value.iter().map(|x| x * machine.number(2).abs()).collect::<Vec<f64>>();
            let stream =
                if keys == 8 { vec![token(&mut machine); 8] } else { [(); 3].map(|()| token(&mut machine)).to_vec() };
            let mut said: Vec<Vec<Value>> =
                stream.iter().map(|z| z.iter().map(|x| Value::point(exact(*x))).collect()).collect();
            Program::new(&network).run(&mut said, &(0..keys).collect::<Vec<_>>(), 0, 1).unwrap();
            let got = floats.layers[0].run(&mut machine, &stream);
            compare(&said, &got, &format!("seed {seed}, a pair over {keys} keys"));
        }
    }
}

/// Unknown shares still add up to 1, or a little more or less: the average of 1 and 1 may be 1 and its neighbours.
#[test]
fn averages_of_equal_values_are_near_them() {
    for format in [Format::SINGLE, Format::DOUBLE] {
        let read = |at: usize| vec![Row { weights: vec![(at, Dyadic::ONE)], bias: Dyadic::ZERO }];
        let head = Head {
            mask: Mask { limits: [None; 4], first: false, connections: None },
            q: vec![Row { weights: Vec::new(), bias: Dyadic::ONE }],
            k: read(0),
            v: read(1),
            o: vec![Row { weights: Vec::new(), bias: Dyadic::ZERO }, read(0).remove(0)],
        };
        for value in [1, -1] {
            let token = |key: i64| [key, value].map(|x| Value::point(dyadic(x, 0))).to_vec();
            let mut tokens = [token(0), token(1)];
            attention(std::slice::from_ref(&head), &mut tokens, &[0, 1], format).unwrap();
            let Range { lo, hi } = &tokens[0][1].range;
            let (unit, sum) = (Dyadic::power_of_two(-format.digits), dyadic(2 * value, 0));
            let off = [lo - &sum, hi - &sum].map(|off| off.abs());
            assert!(
                off.iter().all(|off| &unit * &dyadic(2, 0) <= *off && *off <= &unit * &dyadic(64, 0)),
                "{lo} to {hi}"
            );
            assert!(*lo < sum && sum < *hi);
        }
    }
}

/// The least negative bias, in size, at which a layer is known to rest, and one just below.
fn resting(reads: &[f64], z: &[f64], format: Format) {
    let (reads, z): (Vec<Dyadic>, Vec<Dyadic>) =
        (reads.iter().map(|x| exact(*x)).collect(), z.iter().map(|x| exact(*x)).collect());
    let terms: Vec<Dyadic> = reads.iter().zip(&z).map(|(a, b)| a * b).collect();
    let t = terms.iter().fold(Dyadic::ZERO, |sum, term| &sum + term);
    let size = terms.iter().fold(Dyadic::ZERO, |sum, term| &sum + &term.abs());
    // Rounding adds at most γ_k of the terms, and of the bias, and 4k least normal numbers.
    let k = reads.len() + 1;
    let reach = &(&t + &(&gamma(k, format) * &size)) + &times(4 * k, format.least);
    let share = &Dyadic::ONE - &gamma(k, format);
    let fine = reach.top() - 80;
    let edge = Range::point(reach).over(&Range::point(share)).unwrap().hi.up(fine);
    let next = |bias: &Dyadic, sign: i64, gain: f64| {
        let weights = |sign: i64| reads.iter().map(|x| x * &dyadic(sign, 0)).enumerate().collect::<Vec<_>>();
        // The first unit opens to the left, or the right, far away.
        let units = vec![
            Row { weights: weights(1), bias: if sign == 1 { -bias } else { dyadic(-1, 40) } },
            Row { weights: weights(sign), bias: -bias },
        ];
        let gains = [gain, 0.0].map(|bias| Row { weights: vec![(0, Dyadic::ONE)], bias: exact(bias) }).to_vec();
        let layers = [Layer::FeedForward { units, gains }];
        let values: Vec<Value> = z.iter().map(|x| Value::point(x * &dyadic(sign, 0))).collect();
        Index::new(&layers, format).unwrap().next(0, &values, format)
    };
    for sign in [1, -1] {
        assert_eq!(next(&edge, sign, 0.0), 1, "at rest");
        assert_eq!(next(&(&edge - &Dyadic::power_of_two(fine + 4)), sign, 0.0), 0, "perhaps not");
        // It adds a constant.
        assert_eq!(next(&edge, sign, 1.0), 0);
    }
}

#[test]
fn layers_are_skipped_up_to_their_edge() {
    for format in [Format::SINGLE, Format::DOUBLE] {
        resting(&[1.0, 1.0], &[1.0, 2.0], format);
        resting(&[1.0, -2.0, 4.0], &[1.0, 1.0, 3.0], format);
        resting(&[1.0, 1.0], &[0.0, 0.0], format);
        resting(&[3.0], &[1.0], format);
    }
    // Units that read different functionals: none is known.
    let unit = |weights: [i64; 2]| Row {
        weights: weights.into_iter().enumerate().filter(|(_, x)| *x != 0).map(|(at, x)| (at, dyadic(x, 0))).collect(),
        bias: dyadic(-100, 0),
    };
    let next = |other: [i64; 2]| {
        let gains = vec![Row { weights: vec![(0, Dyadic::ONE)], bias: Dyadic::ZERO }];
        let layers = [Layer::FeedForward { units: vec![unit([1, 1]), unit(other)], gains }];
        let z = vec![Value::point(Dyadic::ONE); 2];
        Index::new(&layers, Format::DOUBLE).unwrap().next(0, &z, Format::DOUBLE)
    };
    assert_eq!([next([1, 1]), next([-1, -1])], [1, 1]);
    assert_eq!([next([-1, 1]), next([1, -1]), next([1, 2]), next([2, 2])], [0; 4]);
    // One that reads less of it.
    assert_eq!([next([1, 0]), next([-1, 0])], [0; 2]);
}

/// Units that bend one coordinate: their effect on it, and on another, is decided at their kinks and at the ends.
#[test]
fn bends_reach_exactly_their_extremes() {
    for seed in 0..4000 {
        let mut machine = Machine::new(2 * seed);
        let few = machine.chance(2);
        let count = if few { 1 + machine.below(8) } else { 9 + machine.below(4) };
        let mut number = |most: i64| machine.between(-most, most);
        let lo = number(8);
        let hi = lo + number(8).abs();
        // With more units, all read the coordinate alike up to sign.
        let scale = number(1);
        let units: Vec<[i64; 4]> = (0..count)
            .map(|_| {
                let sign = if number(1) < 0 { -1 } else { 1 };
                let size = if few { 1 << number(2).abs() } else { 1 << scale.abs() };
                [sign * size, size * number(9), number(3), number(3)]
            })
            .collect();
        // In quarters, where every kink is a whole number.
        let at =
            |x: i64, to: usize| units.iter().map(|unit| unit[to] * (unit[0] * x + 4 * unit[1]).max(0)).sum::<i64>();
        let row = |weights: Vec<(usize, i64)>, bias: i64| Row {
            weights: weights.into_iter().filter(|(_, x)| *x != 0).map(|(at, x)| (at, dyadic(x, 0))).collect(),
            bias: dyadic(bias, 0),
        };
        let rows: Vec<Row> = units.iter().map(|unit| row(vec![(0, unit[0])], unit[1])).collect();
        let gain = |to: usize| row(units.iter().map(|unit| unit[to]).enumerate().collect(), 0);
        let whole = Value { range: Range { lo: dyadic(lo, 0), hi: dyadic(hi, 0) }, quantum: 0 };
        let mut z = [whole, Value::point(Dyadic::ZERO)];
        feed_forward(&rows, &[gain(2), gain(3)], &mut z, Format::DOUBLE).unwrap();
        let extremes = |f: &dyn Fn(i64) -> i64| {
            let all = || (4 * lo..=4 * hi).map(f);
            Range { lo: dyadic(all().min().unwrap(), -2), hi: dyadic(all().max().unwrap(), -2) }
        };
        assert_eq!(z[0].range, extremes(&|x| x + at(x, 2)), "seed {seed}: {units:?} on [{lo}, {hi}]");
        assert_eq!(z[1].range, extremes(&|x| at(x, 3)), "seed {seed}: {units:?} on [{lo}, {hi}], beside");
    }
}

#[test]
#[ignore = "half an hour"]
fn many_networks_do_what_they_are_said_to() {
    sums(30_000_000);
    sweeps(3_000_000);
    networks(1 << 32, 2_000_000);
}
