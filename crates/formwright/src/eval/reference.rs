//! The reference for float networks: what their weights compute in real arithmetic, between two rationals.
//!
//! Weights and biases are the numbers that the floats are; no sum or product of them is rounded. The state is one of *balls*,
//! `z = mid ± rad`, both integers times `2^-bits`. A layer is applied to the middle exactly, and the result is brought back to `bits`
//! places, which may add one unit to the radius. What the layer does to the radius is read off its derivative, so that the width of an
//! answer follows the slope of the whole layer: units that cancel each other in the sum cancel in the width too.
//!
//! ```text
//! feed-forward  t = w1 z + b1;  a unit with t ≤ 0 on the ball gives exactly 0, one with t ≥ 0 gives t; with S = 1 + Σ_{t ≥ 0} w2 w1
//!               mid' = mid + b2 + Σ w2 max(t(mid), 0)
//!               rad' = |S| rad + Σ_{t of both signs} |w2| |w1| rad                      since |max(s, 0) − max(t, 0)| ≤ |s − t|
//! attention     z_i' = Σ_j M_ij z_j,   M_ij = δ_ij + Σ_heads p_ij o v,   p_ij = e_j / Σ_l e_l,   e_j = exp((k z_j − k z_m)ᵀ(q z_i + q_bias))
//! mean          p_ij = 1/n
//! mixtures      p_ij = Σ_a p'_ia f_aj,   p'_ia the softmax weights of the keys Σ_j e_aj k z_j
//! features      p_ij = (1/k) Σ_a exp(w_a y_i − ‖y_i‖²/2) exp(w_a x_j − ‖x_j‖²/2),   y_i = q z_i + q_bias, x_j = k z_j
//! ```
//!
//! where `j` and `l` run over the keys that are seen, of which `m` has the largest score. The exponentials are enclosed by [`Int::exp_bounds`]; `p_ij` grows with `e_j` and falls
//! with the others, so its ends come from their ends; the product of two balls is `ab ± (|a| s + r |b| + r s)`.
//!
//! The work starts at 512 places and is repeated with twice as many until the widths are below `2^-128` (or the places 16,384).

use rayon::prelude::*;

use super::{Part, check_network, check_tokens, stages};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::network::attention::{AttentionKind, Formula, Look, Step, VALUES};
use crate::network::{AttentionRun, FeedForwardRun, FloatAffine, FloatNetwork, Mask, Sequence};
use crate::pattern::Connections;

/// The places after the binary point of the first attempt and of the last one.
const PLACES: (usize, usize) = (512, 16_384);
/// An attempt is good enough where no width exceeds `2^-NARROW`.
const NARROW: usize = 128;

/// Two rationals and everything between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bracket {
    lo: Rat,
    hi: Rat,
}

impl Bracket {
    /// The lower end.
    pub fn lo(&self) -> &Rat {
        &self.lo
    }

    /// The upper end.
    pub fn hi(&self) -> &Rat {
        &self.hi
    }

    /// How far the ends are apart.
    pub fn width(&self) -> Rat {
        &self.hi - &self.lo
    }

    /// True if `y` lies between the ends or is one.
    pub fn contains(&self, y: &Rat) -> bool {
        self.lo <= *y && *y <= self.hi
    }

    /// A number that `|y − x|` does not exceed for any enclosed `x`; infinite where `y` is not finite.
    pub fn distance(&self, y: f64) -> f64 {
        let Some(y) = Rat::from_f64(y) else { return f64::INFINITY };
        let (distance, rest) = (&y - &self.lo).abs().max((&y - &self.hi).abs()).nearest_f64();
        if rest.is_gt() { distance.next_up() } else { distance }
    }
}

#[cfg(test)]
/// The largest [`distance`](Bracket::distance) of an entry of `y` from its enclosure.
///
/// # Panics
/// If the shapes differ.
pub(crate) fn distance(enclosures: &[Vec<Bracket>], y: &[Vec<f64>]) -> f64 {
    assert_eq!(enclosures.len(), y.len(), "as many tokens as enclosures");
    let token = |(enclosures, y): (&Vec<Bracket>, &Vec<f64>)| {
        assert_eq!(enclosures.len(), y.len(), "as many coordinates as enclosures");
        enclosures.iter().zip(y).map(|(enclosure, y)| enclosure.distance(*y)).fold(0.0, f64::max)
    };
    enclosures.iter().zip(y).map(token).fold(0.0, f64::max)
}

#[cfg(test)]
/// The network's output on exactly this input.
pub(crate) fn run(network: &FloatNetwork, x: &[Vec<Rat>]) -> Result<Vec<Vec<Bracket>>> {
    Reference::new(network)?.run(x)
}

#[cfg(test)]
/// The state after the embedding and after each stage, by name.
pub(crate) fn trace(network: &FloatNetwork, x: &[Vec<Rat>]) -> Result<Vec<(String, Vec<Vec<Bracket>>)>> {
    Reference::new(network)?.trace(x)
}

/// A float network with its numbers taken as exact ones, to be run on many inputs.
#[derive(Clone, Debug)]
pub struct Reference {
    lengths: (usize, usize),
    embed: Affine,
    positions: Option<Fixed>,
    stages: Vec<(String, Vec<Layer>)>,
    read_out: Affine,
}

impl Reference {
    /// Reads the network's tensors; refuses those that do not fit together, and entries that are not finite.
    pub fn new(network: &FloatNetwork) -> Result<Self> {
        check_network(network)?;
        let width = network.width();
        let stage = |(name, parts): (&str, Vec<Part>)| {
            (name.to_owned(), parts.iter().flat_map(|part| Layer::all(part, width)).collect())
        };
        Ok(Self {
            lengths: network.lengths,
            embed: Affine::new(&network.embed),
            positions: network.positions.as_deref().map(Fixed::new),
            stages: stages(network)?.into_iter().map(stage).collect(),
            read_out: Affine::new(&network.read_out),
        })
    }

    /// The network's output on exactly this input.
    pub fn run(&self, x: &[Vec<Rat>]) -> Result<Vec<Vec<Bracket>>> {
        check_tokens(self.lengths, self.embed.inputs, x, None)?;
        Ok(narrow(|bits| vec![self.attempt(x, bits, |_| ())]).swap_remove(0))
    }

    #[cfg(test)]
    /// The same with so many places after the binary point, however wide the enclosures become.
    pub(crate) fn run_with(&self, x: &[Vec<Rat>], places: usize) -> Result<Vec<Vec<Bracket>>> {
        check_tokens(self.lengths, self.embed.inputs, x, None)?;
        Ok(self.attempt(x, places, |_| ()))
    }

    /// The outputs of many inputs, in their order.
    pub fn run_batch(&self, batch: &[Sequence]) -> Result<Vec<Vec<Vec<Bracket>>>> {
        for (i, x) in batch.iter().enumerate() {
            check_tokens(self.lengths, self.embed.inputs, x, Some(i))?;
        }
        batch.par_iter().map(|x| self.run(x)).collect()
    }

    #[cfg(test)]
    /// The state after the embedding and after each stage, by name.
    pub(crate) fn trace(&self, x: &[Vec<Rat>]) -> Result<Vec<(String, Vec<Vec<Bracket>>)>> {
        check_tokens(self.lengths, self.embed.inputs, x, None)?;
        let states = narrow(|bits| {
            let mut states = Vec::new();
            self.attempt(x, bits, |state| states.push(enclosures(state, bits)));
            states
        });
        let names = std::iter::once("embed".to_owned()).chain(self.stages.iter().map(|(name, _)| name.clone()));
        Ok(names.zip(states).collect())
    }

    /// The output with `bits` places after the binary point; `see` is shown the state after the embedding and after each stage.
    fn attempt(&self, x: &[Vec<Rat>], bits: usize, mut see: impl FnMut(&State)) -> Vec<Vec<Bracket>> {
        let embedded = |token: &Vec<Rat>| {
            let token: Vec<Ball> = token.iter().map(|entry| Ball::around(entry, bits)).collect();
            self.embed.apply(&token, bits)
        };
        let mut state: State = x.iter().map(|token| rounded(&embedded(token), self.embed.places)).collect();
        if let Some(positions) = &self.positions {
            for (ball, position) in state.iter_mut().flatten().zip(&positions.entries) {
                let mut sum = Ball::of(position << bits);
                sum.add_scaled(&(Int::ONE << positions.places), ball);
                *ball = sum.round(positions.places);
            }
        }
        see(&state);
        for (_, layers) in &self.stages {
            for layer in layers {
                layer.apply(&mut state, bits);
            }
            see(&state);
        }
        let output: State = state.iter().map(|token| self.read_out.apply(token, bits)).collect();
        enclosures(&output, bits + self.read_out.places)
    }
}

/// The first attempt whose widths are all small.
fn narrow(attempt: impl Fn(usize) -> Vec<Vec<Vec<Bracket>>>) -> Vec<Vec<Vec<Bracket>>> {
    let mut bits = PLACES.0;
    let narrow = Rat::new(1, Int::ONE << NARROW);
    loop {
        let enclosures = attempt(bits);
        if bits >= PLACES.1 || enclosures.iter().flatten().flatten().all(|enclosure| enclosure.width() <= narrow) {
            return enclosures;
        }
        bits *= 2;
    }
}

/// A number of the state, `mid ± rad`, in units that the context knows: `2^-bits`, or smaller ones within a layer.
#[derive(Clone, Debug, Default)]
struct Ball {
    mid: Int,
    rad: Int,
}

/// `[tokens][width]`.
type State = Vec<Vec<Ball>>;

impl Ball {
    fn of(mid: Int) -> Self {
        Self { mid, rad: Int::ZERO }
    }

    /// A rational in units of `2^-bits`.
    fn around(x: &Rat, bits: usize) -> Self {
        let (mid, rest) = (x.numerator() << bits).div_rem(&x.denominator());
        Self { mid, rad: if rest == Int::ZERO { Int::ZERO } else { Int::ONE } }
    }

    /// The interval between two integers.
    fn between(lo: &Int, hi: &Int) -> Self {
        let mid = (lo + hi) >> 1;
        Self { rad: hi - &mid, mid }
    }

    fn is_exact(&self) -> bool {
        self.rad == Int::ZERO
    }

    /// `self += w x`.
    fn add_scaled(&mut self, w: &Int, x: &Ball) {
        if *w == Int::ZERO {
            return;
        }
        self.mid += &(w * &x.mid);
        if !x.is_exact() {
            self.rad += &(w.abs() * &x.rad);
        }
    }

    /// `self += x y`.
    fn add_product(&mut self, x: &Ball, y: &Ball) {
        self.mid += &(&x.mid * &y.mid);
        if !y.is_exact() {
            self.rad += &(x.mid.abs() * &y.rad);
        }
        if !x.is_exact() {
            self.rad += &(&x.rad * (y.mid.abs() + &y.rad));
        }
    }

    /// The same in units `2^places` times as large.
    fn round(&self, places: usize) -> Self {
        let mid = &self.mid >> places;
        let exact = &mid << places == self.mid;
        Self { mid, rad: ceil(&self.rad, places) + if exact { Int::ZERO } else { Int::ONE } }
    }
}

/// The smallest integer that is not below `x / 2^places`.
fn ceil(x: &Int, places: usize) -> Int {
    -(-x.clone() >> places)
}

fn rounded(balls: &[Ball], places: usize) -> Vec<Ball> {
    balls.iter().map(|ball| ball.round(places)).collect()
}

/// Balls in units of `2^-places` as enclosures.
fn enclosures(state: &State, places: usize) -> Vec<Vec<Bracket>> {
    let unit = Int::ONE << places;
    let enclosure = |ball: &Ball| Bracket {
        lo: Rat::new(&ball.mid - &ball.rad, unit.clone()),
        hi: Rat::new(&ball.mid + &ball.rad, unit.clone()),
    };
    state.iter().map(|token| token.iter().map(enclosure).collect()).collect()
}

/// Floats as what they are: integers times `2^-places`.
#[derive(Clone, Debug)]
struct Fixed {
    places: usize,
    entries: Vec<Int>,
}

impl Fixed {
    fn new(floats: &[f64]) -> Self {
        let numbers: Vec<Rat> = floats.iter().map(|x| Rat::from_f64(*x).expect("checked: finite")).collect();
        let places = numbers.iter().map(|x| x.denominator().bits() - 1).max().unwrap_or(0);
        let entry = |x: &Rat| x.numerator() << (places + 1 - x.denominator().bits());
        Self { places, entries: numbers.iter().map(entry).collect() }
    }

    /// A weight and the bias that is added to its products, with the same places.
    fn pair(weight: &[f64], bias: &[f64]) -> (Self, Vec<Int>) {
        let mut both = Self::new(&[weight, bias].concat());
        let bias = both.entries.split_off(weight.len());
        (both, bias)
    }

    fn row(&self, row: usize, width: usize) -> &[Int] {
        &self.entries[row * width..][..width]
    }
}

/// `Σ row_i z_i + bias`, where the bias comes in the units of the sum.
fn dot(row: &[Int], z: &[Ball], bias: Int) -> Ball {
    let mut sum = Ball::of(bias);
    row.iter().zip(z).for_each(|(w, z)| sum.add_scaled(w, z));
    sum
}

#[derive(Clone, Debug)]
struct Affine {
    inputs: usize,
    places: usize,
    weight: Fixed,
    bias: Vec<Int>,
}

impl Affine {
    fn new(affine: &FloatAffine) -> Self {
        let (weight, bias) = Fixed::pair(&affine.weight, &affine.bias);
        Self { inputs: affine.inputs, places: weight.places, weight, bias }
    }

    /// From units of `2^-bits` to units of `2^-(bits + places)`.
    fn apply(&self, x: &[Ball], bits: usize) -> Vec<Ball> {
        self.bias.iter().enumerate().map(|(i, bias)| dot(self.weight.row(i, self.inputs), x, bias << bits)).collect()
    }
}

#[derive(Clone, Debug)]
enum Layer {
    Attention(Vec<Head>),
    FeedForward(FeedForward),
}

impl Layer {
    /// The layers of a part, block by block, attention before feed-forward.
    fn all(part: &Part, width: usize) -> Vec<Self> {
        let block = |block: usize| {
            let attention = part.attention.map(|run| Self::Attention(Head::all(run, block, width)));
            let feed_forward = part.feed_forward.map(|run| Self::FeedForward(FeedForward::new(run, block, width)));
            [attention, feed_forward]
        };
        (0..part.blocks).flat_map(block).flatten().collect()
    }

    fn apply(&self, state: &mut State, bits: usize) {
        match self {
            Self::Attention(heads) => attend(heads, state, bits),
            Self::FeedForward(layer) => state.iter_mut().for_each(|token| layer.apply(token, bits)),
        }
    }
}

#[derive(Clone, Debug)]
struct FeedForward {
    hidden: usize,
    w1: Fixed,
    b1: Vec<Int>,
    w2: Fixed,
    b2: Vec<Int>,
}

impl FeedForward {
    fn new(run: &FeedForwardRun, block: usize, width: usize) -> Self {
        let hidden = run.hidden;
        let (w1, b1) =
            Fixed::pair(&run.w1[block * hidden * width..][..hidden * width], &run.b1[block * hidden..][..hidden]);
        let (w2, b2) =
            Fixed::pair(&run.w2[block * width * hidden..][..width * hidden], &run.b2[block * width..][..width]);
        Self { hidden, w1, b1, w2, b2 }
    }

    fn apply(&self, z: &mut [Ball], bits: usize) {
        let (width, places) = (z.len(), self.w1.places + self.w2.places);
        let exact = z.iter().all(Ball::is_exact);
        // Units of 2^-(bits + places); the derivative in units of 2^-places.
        let mut sum: Vec<Ball> = self.b2.iter().map(|b| Ball::of(b << (bits + self.w1.places))).collect();
        let mut slope = vec![Int::ZERO; width * width];
        for unit in 0..self.hidden {
            let w1 = self.w1.row(unit, width);
            let t = dot(w1, z, &self.b1[unit] << bits);
            if &t.mid + &t.rad <= Int::ZERO {
                continue;
            }
            let positive = t.mid >= t.rad;
            for (i, sum) in sum.iter_mut().enumerate() {
                let w2 = &self.w2.entries[i * self.hidden + unit];
                if t.mid > Int::ZERO {
                    sum.mid += &(w2 * &t.mid);
                }
                if !positive {
                    sum.rad += &(w2.abs() * &t.rad);
                } else if !exact {
                    slope[i * width..][..width].iter_mut().zip(w1).for_each(|(slope, w1)| *slope += &(w2 * w1));
                }
            }
        }
        for (i, sum) in sum.iter_mut().enumerate() {
            sum.mid += &(&z[i].mid << places);
            if !exact {
                let one = Int::ONE << places;
                slope[i * width + i] += &one;
                slope[i * width..][..width].iter().zip(&*z).for_each(|(s, z)| sum.rad += &(s.abs() * &z.rad));
            }
        }
        z.iter_mut().zip(sum).for_each(|(z, sum)| *z = sum.round(places));
    }
}

/// Rows that a head makes of all tokens, integers times `2^-places`: keys and features as they are, and of values what each token weighs in them.
#[derive(Clone, Debug)]
struct Made {
    rows: Vec<Vec<Ball>>,
    places: usize,
}

/// A head, with `o` and `v` multiplied.
#[derive(Clone, Debug)]
struct Head {
    size: usize,
    formula: &'static Formula,
    /// How many mixtures or features, and the tensors, `[mixtures, side]`.
    mixtures: usize,
    tensors: Vec<Fixed>,
    mask: Mask,
    /// The connections of the block, if it has them.
    connections: Option<Connections>,
    q: Fixed,
    q_bias: Vec<Int>,
    k: Fixed,
    /// `[width, width]`.
    ov: Fixed,
}

impl Head {
    /// The heads of a block; their `ov` have the same places.
    fn all(run: &AttentionRun, block: usize, width: usize) -> Vec<Self> {
        let (m, mv) = (run.head_size, run.value_size);
        let range = block * run.heads..(block + 1) * run.heads;
        let of_block = |tensor: &[f64], size: usize| Fixed::new(&tensor[range.start * size..range.end * size]);
        let (o, v) = (of_block(&run.o, width * mv), of_block(&run.v, mv * width));
        let head = |(place, head): (usize, usize)| {
            let (o_row, v_row) = (|i: usize| o.row(place * width + i, mv), |c: usize| v.row(place * mv + c, width));
            let entry = |i: usize, j: usize| (0..mv).fold(Int::ZERO, |sum, c| sum + &o_row(i)[c] * &v_row(c)[j]);
            let entries = (0..width * width).map(|place| entry(place / width, place % width)).collect();
            let (q, q_bias) = Fixed::pair(&run.q[head * m * width..][..m * width], &run.q_bias[head * m..][..m]);
            let k = Fixed::new(&run.k[head * m * width..][..m * width]);
            let AttentionKind { formula, size: mixtures, tensors } = &run.kind;
            let all = run.v.len() / (mv * width);
            let part = |tensor: &Vec<f64>| Fixed::new(&tensor[head * (tensor.len() / all)..][..tensor.len() / all]);
            let tensors = tensors.iter().map(part).collect();
            let ov = Fixed { places: o.places + v.places, entries };
            let connections = run.connections_of(block).cloned();
            Self {
                size: m,
                formula,
                mixtures: *mixtures,
                tensors,
                mask: run.masks[place],
                connections,
                q,
                q_bias,
                k,
                ov,
            }
        };
        range.clone().enumerate().map(head).collect()
    }

    /// The tokens that token `i` sees, in its order.
    fn seen(&self, i: usize, tokens: usize) -> Vec<usize> {
        match &self.connections {
            Some(connections) => connections.keys(i).to_vec(),
            None => self.mask.keys(i, tokens).positions().collect(),
        }
    }

    /// The keys of all tokens.
    fn keys(&self, state: &State) -> Vec<Vec<Ball>> {
        let key = |z: &Vec<Ball>| (0..self.size).map(|row| dot(self.k.row(row, z.len()), z, Int::ZERO)).collect();
        state.iter().map(key).collect()
    }

    /// The results of the steps on all tokens, behind the keys and the values.
    fn made(&self, state: &State, bits: usize) -> Vec<Made> {
        let tokens = state.len();
        let keys = Made { rows: self.keys(state), places: bits + self.k.places };
        // Of values, nothing is ever added up but those of the tokens, each of which weighs 1 in its own.
        let mut made = vec![keys, Made { rows: Vec::new(), places: 0 }];
        for step in self.formula.steps {
            made.push(match *step {
                Step::Mixed { of: VALUES, by } => {
                    let tensor = self.tensor(by);
                    let row = |a: usize| tensor.row(a, tokens).iter().cloned().map(Ball::of).collect();
                    Made { rows: (0..self.mixtures).map(row).collect(), places: tensor.places }
                }
                Step::Mixed { of, by } => {
                    let (tensor, Made { rows, places }) = (self.tensor(by), &made[of.0]);
                    let entry = |a: usize, r: usize| {
                        let mut sum = Ball::default();
                        tensor.row(a, tokens).iter().zip(rows).for_each(|(w, row)| sum.add_scaled(w, &row[r]));
                        sum
                    };
                    let row = |a: usize| (0..self.size).map(|r| entry(a, r)).collect();
                    Made { rows: (0..self.mixtures).map(row).collect(), places: places + tensor.places }
                }
                Step::Features { of, by } => {
                    let Made { rows, places } = &made[of.0];
                    let of_row = |row: &Vec<Ball>| self.features(by, row, *places, bits);
                    Made { rows: rows.iter().map(of_row).collect(), places: bits }
                }
                Step::Products { features, .. } => {
                    let features = &made[features.0].rows;
                    let row = |a: usize| features.iter().map(|features| features[a].clone()).collect();
                    Made { rows: (0..self.mixtures).map(row).collect(), places: bits }
                }
                Step::Mean { .. } => {
                    let (each, rest) = (Int::ONE << bits).div_rem(&Int::from(tokens));
                    let rad = if rest == Int::ZERO { Int::ZERO } else { Int::ONE };
                    Made { rows: vec![vec![Ball { mid: each, rad }; tokens]], places: bits }
                }
            });
        }
        made
    }

    fn tensor(&self, name: &str) -> &Fixed {
        &self.tensors[self.formula.tensor(name)]
    }

    /// The features of a query or a key, which comes in units of `2^-places`.
    fn features(&self, by: &str, x: &[Ball], places: usize, bits: usize) -> Vec<Ball> {
        features(self.tensor(by), &rounded(x, places - bits), self.mixtures, bits)
    }

    /// The weights of the query of token `i`, for the keys that it sees, in their order.
    fn weights(&self, z: &[Ball], i: usize, made: &[Made], bits: usize) -> Vec<Ball> {
        let query: Vec<Ball> =
            (0..self.size).map(|row| dot(self.q.row(row, z.len()), z, &self.q_bias[row] << bits)).collect();
        let places = bits + self.q.places;
        match self.formula.look {
            Look::Softmax { keys, values } => {
                let Made { rows, places: of_keys } = &made[keys.0];
                let softmax = |keys: &[&Vec<Ball>]| scores_to_weights(keys, &query, of_keys + self.q.places, bits);
                if self.formula.sees_tokens() {
                    return softmax(&self.seen(i, rows.len()).into_iter().map(|j| &rows[j]).collect::<Vec<_>>());
                }
                let weights = softmax(&rows.iter().collect::<Vec<_>>());
                combined(&weights, &made[values.0])
            }
            Look::Features { by, values } => {
                let sums = combined(&self.features(by, &query, places, bits), &made[values.0]);
                let size = Int::from(self.mixtures);
                let share =
                    |sum: Ball| Ball { mid: sum.mid.div_rem(&size).0, rad: sum.rad.div_rem(&size).0 + Int::from(2) };
                sums.into_iter().map(share).collect()
            }
            Look::Row { of } => {
                let Made { rows, places } = &made[of.0];
                let row = &rows[if self.mixtures > 1 { i } else { 0 }];
                row.iter()
                    .map(|weight| Ball { mid: &weight.mid << bits, rad: &weight.rad << bits }.round(*places))
                    .collect()
            }
        }
    }
}

/// `Σ_a x_a c_aj` for every token `j`, in the units of the `x_a`.
fn combined(x: &[Ball], values: &Made) -> Vec<Ball> {
    let tokens = values.rows.first().map_or(0, Vec::len);
    let weight = |j: usize| {
        let mut sum = Ball::default();
        x.iter().zip(&values.rows).for_each(|(x, row)| sum.add_product(x, &row[j]));
        sum.round(values.places)
    };
    (0..tokens).map(weight).collect()
}

/// `exp(w_a x − ‖x‖²/2)` for every row `w_a`. The exponent is `‖w_a‖²/2 − ‖w_a − x‖²/2`, hence at most `‖w_a‖²/2`.
fn features(w: &Fixed, x: &[Ball], size: usize, bits: usize) -> Vec<Ball> {
    let mut square = Ball::default();
    for x in x {
        square.add_product(x, x);
    }
    let half = square.round(bits + 1);
    let feature = |a: usize| {
        let row = w.row(a, x.len());
        let Ball { mid, rad } = dot(row, x, Int::ZERO).round(w.places);
        let exponent = Ball { mid: mid - &half.mid, rad: rad + &half.rad };
        let one = Int::ONE << bits;
        if exponent.rad > one {
            let most = row.iter().fold(Int::ZERO, |sum, w| sum + w * w);
            let most = ceil(&(most << bits), 2 * w.places + 1);
            return Ball::between(&Int::ZERO, &most.exp_between(bits).1);
        }
        let (lo, hi) = exponent.mid.exp_between(bits);
        let (lo, hi) = ((lo * (&one - &exponent.rad)) >> bits, ceil(&(hi * (&one + &(&exponent.rad << 1))), bits));
        Ball::between(&lo, &hi)
    };
    (0..size).map(feature).collect()
}

/// The softmax weights of keys, whose products with the query come in units of `2^-(bits + places)`.
fn scores_to_weights(keys: &[&Vec<Ball>], query: &[Ball], places: usize, bits: usize) -> Vec<Ball> {
    let score =
        |key: &Vec<Ball>| key.iter().zip(query).fold(Int::ZERO, |sum, (key, query)| sum + &key.mid * &query.mid);
    let Some(&largest) = keys.iter().max_by_key(|key| score(key)) else { return Vec::new() };
    let gap = |key: &Vec<Ball>| {
        let mut gap = Ball::default();
        for ((key, largest), query) in key.iter().zip(largest).zip(query) {
            gap.add_product(&Ball { mid: &key.mid - &largest.mid, rad: &key.rad + &largest.rad }, query);
        }
        gap.round(places)
    };
    let gaps: Vec<Ball> =
        keys.iter().map(|&key| if std::ptr::eq(key, largest) { Ball::default() } else { gap(key) }).collect();
    softmax(&gaps, bits)
}

/// Weights of scores, given by how far they are below the largest one.
fn softmax(gaps: &[Ball], bits: usize) -> Vec<Ball> {
    let one = Int::ONE << bits;
    if gaps.iter().any(|gap| &gap.mid + &gap.rad > one) {
        // Nothing is known of scores that lie in a ball this large; more places will tell.
        return vec![Ball::between(&Int::ZERO, &one); gaps.len()];
    }
    let exps: Vec<(Int, Int)> = gaps.iter().map(|gap| exp(gap, bits)).collect();
    let total = exps.iter().fold((Int::ZERO, Int::ZERO), |sum, (lo, hi)| (sum.0 + lo, sum.1 + hi));
    let weight = |(lo, hi): &(Int, Int)| {
        // With the others as large as they may be, and as small.
        let smallest = (lo << bits).div_rem(&(&total.1 - hi + lo)).0;
        let largest = -(-(hi << bits)).div_rem(&(&total.0 - lo + hi)).0;
        Ball::between(&smallest, &largest)
    };
    exps.iter().map(weight).collect()
}

/// The ends of `exp` on a ball that does not reach beyond 1: `exp(mid ± r)` lies between `(1 − r) exp(mid)` and `(1 + 2r) exp(mid)` for
/// `r ≤ 1`.
fn exp(x: &Ball, bits: usize) -> (Int, Int) {
    let one = Int::ONE << bits;
    if x.rad > one {
        return (Int::ZERO, (&x.mid + &x.rad).exp_bounds(bits).1);
    }
    let (lo, hi) = x.mid.exp_bounds(bits);
    if x.is_exact() {
        return (lo, hi);
    }
    ((lo * (&one - &x.rad)) >> bits, ceil(&(hi * (&one + &(&x.rad << 1))), bits))
}

fn attend(heads: &[Head], state: &mut State, bits: usize) {
    let Some(places) = heads.first().map(|head| head.ov.places) else { return };
    let made: Vec<Vec<Made>> = heads.iter().map(|head| head.made(state, bits)).collect();
    let token = |i: usize| -> Vec<Ball> {
        let width = state[i].len();
        // Units of 2^-(bits + places).
        let mut matrices = vec![vec![Ball::default(); width * width]; state.len()];
        (0..width).for_each(|a| matrices[i][a * width + a].mid = Int::ONE << (bits + places));
        for (head, made) in heads.iter().zip(&made) {
            let weights = head.weights(&state[i], i, made, bits);
            for (j, weight) in head.seen(i, state.len()).into_iter().zip(weights) {
                matrices[j].iter_mut().zip(&head.ov.entries).for_each(|(entry, ov)| entry.add_scaled(ov, &weight));
            }
        }
        let coordinate = |a: usize| {
            let mut sum = Ball::default();
            for (matrix, z) in matrices.iter().zip(&*state) {
                matrix[a * width..][..width].iter().zip(z).for_each(|(entry, z)| sum.add_product(entry, z));
            }
            sum.round(bits + places)
        };
        (0..width).map(coordinate).collect()
    };
    *state = (0..state.len()).map(token).collect();
}
