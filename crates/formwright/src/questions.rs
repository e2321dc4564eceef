//! Questions that readers of Yun et al. 2020 ask, answered with numbers that are computed on the spot.
//!
//! A review of the paper asks them, in this order. The third, about training, is not of the kind that a construction
//! answers: the lab's experiments do (`results/README.md`).
//!
//! - *1.* Why do shared parameters make universal approximation hard? `sharing`: whatever the weights are, permuted
//!   tokens give permuted outputs.
//! - *2.* What about layer normalisation? `norms`: networks of gates, those of a theorem of Alberti et al. 2023 among
//!   them, inside of BERT and GPT-2, with their norms; lattice networks are not.
//! - *4.* Why may layers of one kind be stacked, and what do skip connections do? `skips`: without them the same
//!   layers forget the input.
//! - *5.* Do larger blocks save blocks? `width`: feed-forward blocks yes, at the price of digits; attention no, with
//!   a counterexample.
//!
//! And one about Alberti et al. 2023:
//!
//! - *6.* Is one number for each token enough, in the supremum norm? `one_number`: not for a continuous code of three
//!   tokens.

mod answers;

use std::sync::Arc;

use serde::Serialize;

use crate::compile::compile;
use crate::construct::yun::context::{GlobalShift, selective_shift};
use crate::construct::yun::lower::Lowering;
use crate::construct::yun::{self, Options};
use crate::error::{Error, Result};
use crate::eval::{exact, indexed};
use crate::exact::{Int, Rat};
use crate::host::{Matrices, named};
use crate::lattice::Grid;
use crate::lattice::codes::Code;
use crate::lower::{Format, Hidden, Temperature};
use crate::model::Asked;
use crate::network::{Generator as _, Layer, Network, Precision, Sequence};
use crate::target::{Source, Target};

pub use answers::{Answer, Part, answers};

/// The function, the shape and the grid of an example.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Example {
    /// The target.
    pub expression: &'static str,
    /// `n`.
    pub tokens: usize,
    /// `d`.
    pub dims: usize,
    /// `N`.
    pub resolution: u64,
    /// True if it has positions, as in Theorem 3.
    pub positional: bool,
}

impl Example {
    fn parts(&self) -> Result<(Grid, Arc<Target>, Options)> {
        let grid = Grid::unit(self.tokens, self.dims, self.resolution)?;
        let target = Source::expression(self.expression, self.expression)?.target(self.dims)?;
        Ok((grid, Arc::new(target), Options { positional: self.positional, ..Options::default() }))
    }

    fn network(&self) -> Result<Network> {
        let (grid, target, options) = self.parts()?;
        yun::build(&grid, &target, &options)
    }
}

/// A network beside what it is behind norms.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Normed {
    /// Its construction.
    pub construction: &'static str,
    /// Its target.
    pub expression: &'static str,
    /// Its tokens.
    pub tokens: usize,
    /// The stock class.
    pub host: &'static str,
    /// The format.
    pub precision: &'static str,
    /// The norms that a token goes through.
    pub norms: usize,
    /// The bound of the network by itself.
    pub plain: f64,
    /// Its bound behind the norms.
    pub bound: f64,
    /// The part of that which is the host's.
    pub term: f64,
}

/// The networks of the second answer.
const NORMED: [(&str, &str, usize, &str, &str); 5] = [
    ("sumformer", "x * mean(x)", 3, "bert", "f32"),
    ("sumformer", "x * mean(x)", 3, "bert", "f64"),
    ("circuit", "(x - mean(x)) / sqrt(var(x) + 1/100)", 3, "bert", "f32"),
    ("circuit", "sort(x) on integers 0..4", 4, "bert", "f32"),
    ("circuit", "max(x, j <= i)", 4, "gpt2", "f32"),
];

/// Question 2: networks that are made for a class with layer normalisation, and meet their tolerance there.
pub(crate) fn norms() -> Result<Vec<Normed>> {
    let normed = |(construction, expression, tokens, class, precision): (_, _, _, _, &'static str)| {
        let asked = Asked {
            construction: Some(str::to_owned(construction)),
            tokens: Some(tokens),
            precision: Some(precision.to_owned()),
            host: Some(str::to_owned(class)),
            ..Asked::default()
        };
        let model = compile(&asked.request(Source::expression(expression, expression)?)?)?;
        let Matrices { sides, fitted, .. } = Matrices::new(&model, named(class)?, &[])?;
        Ok(Normed {
            construction,
            expression,
            tokens,
            host: class,
            precision,
            norms: 2 * sides.blocks + 1,
            plain: fitted.plain,
            bound: fitted.bound,
            term: fitted.host_term(),
        })
    };
    NORMED.into_iter().map(normed).collect()
}

/// The example of the first two answers, which is the one of the demonstration.
const CENTRING: Example = Example { expression: "x - mean(x)", tokens: 3, dims: 1, resolution: 4, positional: false };

/// Centres of three different cells.
fn centres() -> Sequence {
    [1, 7, 3].map(|eighths| vec![Rat::new(eighths, 8)]).to_vec()
}

/// The cost of shared parameters, and the savings.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Sharing {
    /// The network.
    pub example: Example,
    /// Entries of all attention layers.
    pub attention: Int,
    /// Entries of all feed-forward layers.
    pub feed_forward: Int,
    /// Entries of all attention layers if every pair of tokens had its own weights.
    pub attention_unshared: Int,
    /// Entries of all feed-forward layers if every token had its own weights.
    pub feed_forward_unshared: Int,
    /// A sequence.
    pub input: Sequence,
    /// The output for it.
    pub output: Sequence,
    /// The place from which each token of the permuted sequence comes.
    pub permutation: Vec<usize>,
    /// The output for the permuted sequence.
    pub output_of_permuted: Sequence,
    /// True if that is the permuted output.
    pub equivariant: bool,
    /// The number of contexts that shared weights have to tell apart by the contents of tokens, which is the number of
    /// values to store.
    pub values: Int,
    /// The same number with positions, where every sequence is a context of its own.
    pub values_with_positions: Int,
    /// The numbers that positions add.
    pub positions: usize,
}

/// Question 1: every layer of a network of Theorem 2 treats all tokens alike.
pub(crate) fn sharing() -> Result<Sharing> {
    let network = CENTRING.network()?;
    let (mut attention, mut feed_forward) = (0, 0);
    let entries = |rows: &[Vec<Rat>]| rows.iter().map(Vec::len).sum::<usize>();
    for (_, layer) in network.layers() {
        match layer? {
            Layer::Attention(layer) => {
                for head in &layer.heads {
                    attention += [&head.q, &head.k, &head.v, &head.o].map(|rows| entries(rows)).iter().sum::<usize>();
                    attention += head.q_bias.len();
                }
            }
            Layer::FeedForward(layer) => {
                feed_forward += entries(&layer.w1) + layer.b1.len() + entries(&layer.w2) + layer.b2.len();
            }
        }
    }
    let permutation = vec![2, 0, 1];
    let permuted = |x: &Sequence| -> Sequence { permutation.iter().map(|place| x[*place].clone()).collect() };
    let input = centres();
    let output = exact::run(&network, &input)?;
    let output_of_permuted = exact::run(&network, &permuted(&input))?;
    let n = CENTRING.tokens;
    let windows = |positional: bool| -> Result<Int> {
        let (grid, _, options) = Example { positional, ..CENTRING }.parts()?;
        Ok(Int::from(n) * yun::context_map(&grid, &options).count())
    };
    Ok(Sharing {
        attention: Int::from(attention),
        feed_forward: Int::from(feed_forward),
        attention_unshared: Int::from(n * n * attention),
        feed_forward_unshared: Int::from(n * feed_forward),
        equivariant: output_of_permuted == permuted(&output),
        input,
        output,
        permutation,
        output_of_permuted,
        values: windows(false)?,
        values_with_positions: windows(true)?,
        positions: n * network.width(),
        example: CENTRING,
    })
}

/// The state after a stage, with skip connections and without.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Compared {
    /// The stage, or `output`.
    pub after: &'static str,
    /// The state of the network as it is.
    pub with: Sequence,
    /// The state when a layer outputs only the term that it would have added.
    pub without: Sequence,
}

/// The effect of skip connections.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Skips {
    /// The network.
    pub example: Example,
    /// The input.
    pub input: Sequence,
    /// The states after each stage.
    pub states: Vec<Compared>,
    /// Sequences of cell centres with distinct columns.
    pub sequences: usize,
    /// The number of these whose output is right with skip connections.
    pub right_with: usize,
    /// The number of these whose output is right without.
    pub right_without: usize,
    /// The number of different outputs without.
    pub outputs_without: usize,
}

/// Question 4: the same layers with their skip connections and without.
pub(crate) fn skips() -> Result<Skips> {
    let (grid, target, _) = CENTRING.parts()?;
    let network = CENTRING.network()?;
    let input = centres();
    let (with, (states, bare)) = (exact::trace(&network, &input)?, exact::without_skips(&network, &input)?);
    let mut states: Vec<Compared> =
        with.into_iter().zip(states).map(|((after, with), (_, without))| Compared { after, with, without }).collect();
    states.push(Compared { after: "output", with: exact::run(&network, &input)?, without: bare });
    let (mut sequences, mut right_with, mut right_without) = (0, 0, 0);
    let mut outputs: Vec<Sequence> = Vec::new();
    for point in grid.all_points().filter(|point| crate::lattice::has_distinct_columns(point)) {
        let (centre, value) = (grid.centre(&point), yun::centres::value_at_centre(&target, &grid, &point, false)?);
        let (_, bare) = exact::without_skips(&network, &centre)?;
        sequences += 1;
        right_with += usize::from(indexed::run(&network, &centre)? == value);
        right_without += usize::from(bare == value);
        if !outputs.contains(&bare) {
            outputs.push(bare);
        }
    }
    let outputs_without = outputs.len();
    Ok(Skips { example: CENTRING, input, states, sequences, right_with, right_without, outputs_without })
}

/// One width of feed-forward blocks.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// The option.
    pub option: String,
    /// Blocks.
    pub blocks: Int,
    /// Attention layers among them.
    pub attention_layers: Int,
    /// The widest feed-forward layer.
    pub hidden: usize,
    /// All entries.
    pub parameters: Int,
    /// A proved bound on the effect of rounding on an output entry.
    pub rounding: f64,
}

/// Two sets of tokens whose contexts a wide attention window does not tell apart.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Collision {
    /// The ids of one sequence.
    pub first: Vec<Int>,
    /// The ids of another sequence.
    pub second: Vec<Int>,
    /// The final ids of the first if each layer has one window, as in the paper.
    pub first_apart: Vec<Int>,
    /// The final ids of the second; all six are different.
    pub second_apart: Vec<Int>,
    /// The final ids of the first if each layer has a window for two ids.
    pub first_packed: Vec<Int>,
    /// The final ids of the second; not all six are different.
    pub second_packed: Vec<Int>,
    /// The ids that both share then.
    pub shared: Vec<Int>,
}

/// The savings of wider blocks, and their cost.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Width {
    /// The network.
    pub example: Example,
    /// Its format.
    pub precision: &'static str,
    /// One row per width.
    pub rows: Vec<Row>,
    /// The reason why the number of attention layers stays the same.
    pub collision: Collision,
}

/// Question 5: the same network with feed-forward blocks of several widths.
pub(crate) fn width() -> Result<Width> {
    let example = Example { expression: "x * max(x)", tokens: 3, dims: 1, resolution: 6, positional: true };
    let (grid, target, options) = example.parts()?;
    let precision = Precision::F64;
    let units = [4, 16, 64, 256].map(|units| (format!("⟨hidden={units}⟩"), Hidden::Units(units)));
    let mut widths = vec![("literal".to_owned(), Hidden::Literal)];
    widths.extend(units);
    widths.push(("⟨pack⟩".to_owned(), Hidden::All));
    let row = |(option, hidden): (String, Hidden)| {
        let format = Format { precision, temperature: Temperature::Derived, hidden };
        let lowering = Lowering::derive(&grid, &target, &options, format)?;
        let (network, losses) = lowering.finish(&lowering.exact(&grid, &target)?)?;
        let size = network.size();
        Ok(Row {
            option,
            blocks: size.blocks,
            attention_layers: size.attention_layers,
            hidden: size.hidden,
            parameters: size.parameters,
            rounding: losses.rounding,
        })
    };
    let rows = widths.into_iter().map(row).collect::<Result<Vec<Row>>>()?;
    Ok(Width { example, precision: precision.name(), rows, collision: collision()? })
}

/// `n = 3`, `d = 1`, `N = 4`: the contexts of `{0, 1, 3}` and `{0, 2, 3}`.
fn collision() -> Result<Collision> {
    let columns = 4_u64;
    let last = GlobalShift { u: vec![Rat::ONE], threshold: Rat::ZERO, scale: Int::from(columns).pow(4), sparse: None };
    let sweep = |ids: &[u64], together: u64| -> Result<Vec<Int>> {
        let mut state: Sequence = ids.iter().map(|id| vec![Rat::from(*id)]).collect();
        for first in (0..columns).step_by(usize::try_from(together).unwrap_or(1)) {
            let ends = [first, first + together].map(|edge| Rat::from(edge) - Rat::new(1, 2));
            exact::apply(&selective_shift(&last.u, &ends, Rat::from(columns)), &mut state);
        }
        for layer in last.layers() {
            exact::apply(&layer?, &mut state);
        }
        Ok(state.iter().flatten().map(Rat::floor).collect())
    };
    let (first, second) = ([0, 1, 3], [0, 2, 3]);
    let (first_packed, second_packed) = (sweep(&first, 2)?, sweep(&second, 2)?);
    Ok(Collision {
        first: first.map(Int::from).to_vec(),
        second: second.map(Int::from).to_vec(),
        first_apart: sweep(&first, 1)?,
        second_apart: sweep(&second, 1)?,
        shared: first_packed.iter().filter(|id| second_packed.contains(id)).cloned().collect(),
        first_packed,
        second_packed,
    })
}

/// Two contexts that a continuous code of one number does not tell apart.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OneNumber {
    /// `φ` on `[0, 1]`, continuous and piecewise linear: its knots and its values there.
    pub phi: Vec<(Rat, Rat)>,
    /// A `t` with `2φ(t) = φ(0) + φ(1)`.
    pub t: Rat,
    /// Two sequences with the same first token.
    pub sequences: [Sequence; 2],
    /// The sums of `φ` over them, which are equal.
    pub sums: [Rat; 2],
    /// The values of `f(X)_i = |x_j - x_k|`, of the other two, at their first tokens.
    pub targets: [Rat; 2],
    /// The least error of every `ψ(x_1, Σ)` at one of them.
    pub error: Rat,
}

/// Question 6: for any continuous piecewise linear `φ` on `[0, 1]`, given by its knots.
///
/// The mean of `φ(0)` and `φ(1)` is a value of `φ` somewhere: on the first segment whose ends enclose it.
pub(crate) fn one_number(phi: &[(Rat, Rat)]) -> Result<OneNumber> {
    let increasing = phi.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let (Some((first, low)), Some((last, high)), true) = (phi.first(), phi.last(), increasing && phi.len() >= 2) else {
        return Err(Error::input("a piecewise linear function has at least two knots, and they increase")
            .note("try", "knots such as (0, 0) and (1, 1)"));
    };
    if !first.is_zero() || *last != Rat::ONE {
        return Err(Error::input(format!("φ is given on [{first}, {last}], and the question is about [0, 1]"))
            .note("try", "a first knot at 0 and a last one at 1"));
    }
    let middle = (low + high) / Rat::from(2);
    let between = |pair: &&[(Rat, Rat)]| {
        let (a, b) = (&pair[0].1, &pair[1].1);
        (a <= &middle && middle <= *b) || (b <= &middle && middle <= *a)
    };
    let Some([(left, a), (right, b)]) = phi.windows(2).find(between) else {
        return Err(Error::declined("no segment holds the mean").note("try", "a continuous φ"));
    };
    let rise = b - a;
    let t = if rise.is_zero() { left.clone() } else { left + (right - left) * ((&middle - a) / rise) };
    let value = a + (b - a) * ((&t - left) / (right - left));
    let token = Rat::new(1, 2);
    let at_token = evaluate(phi, &token);
    let sequences =
        [[token.clone(), Rat::ZERO, Rat::ONE], [token, t.clone(), t.clone()]].map(|x| x.map(|x| vec![x]).to_vec());
    let targets = sequences.clone().map(|x| (&x[1][0] - &x[2][0]).abs());
    let error = (&targets[0] - &targets[1]).abs() / Rat::from(2);
    Ok(OneNumber {
        phi: phi.to_vec(),
        sums: [&at_token + low + high, &at_token + &value + &value],
        t,
        sequences,
        targets,
        error,
    })
}

/// A piecewise linear function at a point between its first and its last knot.
fn evaluate(knots: &[(Rat, Rat)], x: &Rat) -> Rat {
    let place = knots.partition_point(|(knot, _)| knot <= x).clamp(1, knots.len() - 1);
    let ((left, a), (right, b)) = (&knots[place - 1], &knots[place]);
    a + (b - a) * ((x - left) / (right - left))
}

/// The `φ` of `sumformer-discrete` as ReLUs compute it: a histogram of three tokens on four cells, with ramps of an
/// eighth of a cell.
pub(crate) fn stepped_code() -> Result<Vec<(Rat, Rat)>> {
    let (cells, ramp) = (4_u64, Rat::new(1, 8));
    let codes = Code::Histogram.codes(3, &Int::from(cells))?;
    let mut knots = Vec::new();
    for (cell, code) in (0..cells).zip(&codes.values) {
        let end = if cell + 1 < cells { Rat::from(cell + 1) - &ramp } else { Rat::from(cells) };
        for at in [Rat::from(cell), end] {
            knots.push((at / Rat::from(cells), Rat::from(code)));
        }
    }
    Ok(knots)
}
