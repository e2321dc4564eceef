//! From a network to the matrices of a host: mirrored, pinned, padded, scaled by powers of two; nothing is rounded.
//!
//! ```text
//! stream      z_p in coordinate p, -z_p in D/2 + p; the pin C in D/2 - 1, -C in D - 1; 0 between
//! reading     row w over registers: ½w over the first half, -½w over the second
//! writing     column w over registers: w into the first half, -w into the second
//! heads       size 4^j, √size in the queries, since scores are divided by it
//! units       s·w1, s·b1 before the activation, w2/s behind it; in gated classes each is multiplied by 1
//! constants   read from the pin, c/2C and -c/2C, and biases are 0: so constants have the factor of all that is read
//! hidden      a head that sees fewer tokens than the class shows: a register for each position, `g` there, behind the
//!             network's own; -T for every token that is not to be seen (`norm.rs`)
//! blocks      both sub-layers in each: where the network has one, the other is 0
//! ```

use super::check::{check, hides};
use super::norm::hiding_score;
use super::{Class, Fitted, fit};
use crate::error::{Error, Result};
use crate::interval::Up;
use crate::model::Model;
use crate::network::{AttentionRun, FeedForwardRun, FloatNetwork, Mask, Precision, Run};

/// The sides of a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides {
    /// `D = 2·4^k`
    pub width: usize,
    /// Heads, `width / head_size` of them.
    pub heads: usize,
    /// `4^j`
    pub head_size: usize,
    /// Hidden units.
    pub hidden: usize,
    /// Blocks.
    pub blocks: usize,
    /// The most tokens.
    pub tokens: usize,
    /// How many registers tell positions apart: one for each, or none.
    pub flags: usize,
}

/// A matrix by rows, or a vector.
pub(crate) type Entries = Vec<f64>;

/// A block: rows of weights over what is read. Biases are 0.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// `[heads·size, width]` each.
    pub q: Entries,
    pub k: Entries,
    pub v: Entries,
    /// `[width, heads·size]`
    pub o: Entries,
    /// `[hidden, width]`
    pub w1: Entries,
    /// `[hidden, width]`: what reads 1 from the pin, in gated classes.
    pub factor: Entries,
    /// `[width, hidden]`
    pub w2: Entries,
}

/// A map into the stream, or from it.
#[derive(Clone, Debug)]
pub(crate) struct Mirrored {
    /// `[out, in]`
    pub weight: Entries,
    /// `[out]`
    pub bias: Entries,
}

/// A network as the matrices of a host.
#[derive(Clone, Debug)]
pub(crate) struct Matrices {
    /// Its sides.
    pub sides: Sides,
    /// Pin, scale, bound.
    pub fitted: Fitted,
    /// The format.
    pub precision: Precision,
    /// From an input token to the stream, the pin among it.
    pub embed: Mirrored,
    /// `[tokens, width]`
    pub positions: Entries,
    /// The rows of the vocabulary: of an input by vectors one row, the pin alone.
    pub words: Vec<Entries>,
    /// The blocks.
    pub blocks: Vec<Block>,
    /// From the stream to labels: `[out, width]`.
    pub read_out: Entries,
}

impl Matrices {
    /// Puts a model into a class, or says why it does not fit; `words` are the tokens of its vocabulary, or none.
    pub fn new(model: &Model, class: &Class, words: &[Vec<i64>]) -> Result<Self> {
        let built = &*model.built;
        let network = check(built, class)?;
        let sides = sides(network, class);
        let fitted = fit::fit(built, network, class, &sides)?;
        let pass = Pass { network, class, sides, fitted };
        let embed = pass.embed();
        let words = if words.is_empty() { vec![pass.pinned(&vec![0.0; network.width()])] } else { pass.words(words) };
        let positions = pass.positions();
        let rows = network.read_out.weight.chunks(network.width()).zip(&network.read_out.bias);
        let read_out = rows.flat_map(|(row, bias)| pass.read_with(row, *bias, 1.0)).collect();
        let blocks = pass.blocks();
        let matrices = Self { sides, fitted, precision: network.precision, embed, positions, words, blocks, read_out };
        matrices.check(class)?;
        Ok(matrices)
    }

    /// Refuses numbers that scaling has put out of the format.
    fn check(&self, class: &Class) -> Result<()> {
        let precision = self.precision;
        let fits = |x: &f64| *x == 0.0 || x.abs() >= precision.least_normal() && x.abs() <= precision.largest();
        let blocks = self.blocks.iter().flat_map(|b| [&b.q, &b.k, &b.v, &b.o, &b.w1, &b.factor, &b.w2]);
        let all = blocks.chain([&self.read_out, &self.embed.weight]).flatten();
        match all.into_iter().find(|x| !fits(x)) {
            Some(x) => Err(Error::declined(format!("{x:e} is no normal number of {precision}, in {}", class.name))
                .note("reason", "weights are scaled by powers of two there")
                .note("try", "another unit for the domain or for the values, or ⟨precision=f64⟩")),
            None => Ok(()),
        }
    }

    /// Logits `2vy - v²` for each of these integers, the largest of which is that of the integer next to the output;
    /// `None` if that is not proved. The factor `ρ` of a token is that of all logits. But for that, they are sums of `2w`
    /// terms, within `γ Σ|terms|`, of which `v²` is off by as much as the pin, and the output is within its bound: the
    /// logit of `v` is `(v - v')² - 2|v - v'| bound` ahead of that of `v'`, so that `2 bound + 2 off/ρ < 1` is enough.
    pub fn classes(&self, values: &[f64]) -> Option<Entries> {
        let (width, half) = (self.sides.width, self.sides.width / 2);
        if self.read_out.len() != width {
            return None;
        }
        let round = |x: f64| self.precision.round(x) + 0.0;
        let Fitted { pin, bound, largest, factor, drift, .. } = self.fitted;
        let most = values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        let held = |at: usize| if at % half == half - 1 { pin } else { largest };
        let size: Up = self.read_out.iter().enumerate().map(|(at, w)| Up::from(*w) * Up::from(held(at))).sum();
        let square = Up::from(most * most);
        let sizes = 2.0 * (Up::from(most) * size) + square;
        let off = 2.0 * (self.precision.gamma(width + 10) * sizes) + Up::from(drift) * square;
        let apart = 2.0 * (Up::from(bound) + off * Up::from(1.0 + 2.0 * factor));
        let logit = |v: f64| {
            let mut row: Entries = self.read_out.iter().map(|w| 2.0 * v * w).collect();
            row[half - 1] -= 0.5 * v * v / pin;
            row[width - 1] = -row[half - 1];
            row.into_iter().map(round).collect::<Entries>()
        };
        (apart < 1.0).then(|| values.iter().flat_map(|v| logit(*v)).collect())
    }
}

/// The smallest powers that have room.
pub(super) fn sides(network: &FloatNetwork, class: &Class) -> Sides {
    let attention = || network.runs.iter().filter_map(|run| run.attention.as_ref());
    let size = attention().map(|a| a.head_size.max(a.value_size)).max().unwrap_or(1).max(1);
    let heads = attention().map(|a| a.heads).max().unwrap_or(1);
    let tokens = network.tokens.max(network.lengths.1);
    let flags = if hides(network, class) { tokens } else { 0 };
    let power_of_four = |least: usize| 1_usize << (2 * least.next_power_of_two().trailing_zeros().div_ceil(2));
    let head_size = power_of_four(size + flags).max(class.least_head);
    let width = 2 * power_of_four((network.width() + flags + 1).max((heads * head_size).div_ceil(2)));
    let hidden = network.runs.iter().filter_map(|run| run.feed_forward.as_ref()).map(|f| f.hidden).max();
    Sides {
        width,
        heads: width / head_size,
        head_size,
        hidden: hidden.unwrap_or(1),
        blocks: network.runs.iter().map(|run| run.blocks).sum(),
        tokens,
        flags,
    }
}

struct Pass<'a> {
    network: &'a FloatNetwork,
    class: &'a Class,
    sides: Sides,
    fitted: Fitted,
}

impl Pass<'_> {
    /// A row over registers as one over the stream: half the difference.
    fn read(&self, row: &[f64], scale: f64) -> Entries {
        let half = self.sides.width / 2;
        let mut read = vec![0.0; self.sides.width];
        for (p, w) in row.iter().enumerate() {
            read[p] = 0.5 * scale * w + 0.0;
            read[half + p] = -0.5 * scale * w + 0.0;
        }
        read
    }

    /// A row that reads a constant as well.
    fn read_with(&self, row: &[f64], constant: f64, scale: f64) -> Entries {
        let (mut read, half) = (self.read(row, scale), self.sides.width / 2);
        read[half - 1] = 0.5 * scale * constant / self.fitted.pin + 0.0;
        read[2 * half - 1] = -read[half - 1] + 0.0;
        read
    }

    /// Rows over registers, to be added to the stream: `rows` of so many entries.
    fn written(&self, rows: &[f64], inner: usize, scale: f64) -> Entries {
        let half = self.sides.width / 2;
        let mut written = vec![0.0; self.sides.width * inner];
        for (p, row) in rows.chunks(inner).enumerate() {
            for (i, w) in row.iter().enumerate() {
                written[p * inner + i] = scale * w + 0.0;
                written[(half + p) * inner + i] = -scale * w + 0.0;
            }
        }
        written
    }

    /// A token's registers, mirrored, with the pin.
    fn pinned(&self, registers: &[f64]) -> Entries {
        let (half, width) = (self.sides.width / 2, self.sides.width);
        let mut row = self.written(registers, 1, 1.0);
        (row[half - 1], row[width - 1]) = (self.fitted.pin, -self.fitted.pin);
        row
    }

    fn embed(&self) -> Mirrored {
        let embed = &self.network.embed;
        Mirrored { weight: self.written(&embed.weight, embed.inputs, 1.0), bias: self.pinned(&embed.bias) }
    }

    /// `embed.weight x + embed.bias` of every token, one fused operation after the other: an execution.
    fn words(&self, words: &[Vec<i64>]) -> Vec<Entries> {
        let (embed, precision) = (&self.network.embed, self.network.precision);
        let register = |(row, bias): (&[f64], &f64), word: &[i64]| {
            row.iter().zip(word).fold(*bias, |sum, (w, x)| precision.fused(*w, whole(*x), sum))
        };
        let registers = |word: &Vec<i64>| -> Vec<f64> {
            embed.weight.chunks(embed.inputs).zip(&embed.bias).map(|row| register(row, word)).collect()
        };
        words.iter().map(|word| self.pinned(&registers(word))).collect()
    }

    fn positions(&self) -> Entries {
        let (width, flags) = (self.network.width(), self.sides.flags);
        let row = |t: usize| {
            let known = self.network.positions.as_ref().and_then(|all| all.chunks(width).nth(t));
            let mut row = known.map_or(Vec::new(), <[f64]>::to_vec);
            row.resize(width + flags, 0.0);
            if flags > 0 {
                row[width + t] = self.fitted.flag;
            }
            self.written(&row, 1, 1.0)
        };
        (0..self.sides.tokens).flat_map(row).collect()
    }

    fn blocks(&self) -> Vec<Block> {
        let runs = self.network.runs.iter();
        runs.flat_map(|run| (0..run.blocks).map(move |block| self.block(run, block))).collect()
    }

    fn block(&self, run: &Run, number: usize) -> Block {
        let Sides { width, heads, head_size, hidden, .. } = self.sides;
        let joined = heads * head_size;
        let [q, k, v, o] = [(); 4].map(|()| vec![0.0; joined * width]);
        let [w1, factor, w2] = [(); 3].map(|()| vec![0.0; hidden * width]);
        let mut block = Block { q, k, v, o, w1, factor, w2 };
        if let Some(attention) = &run.attention {
            (0..attention.heads).for_each(|head| self.head(&mut block, attention, number, head));
        }
        if let Some(layer) = &run.feed_forward {
            self.units(&mut block, layer, number);
        }
        block
    }

    /// Puts a head into a block.
    fn head(&self, block: &mut Block, a: &AttentionRun, number: usize, head: usize) {
        let (Sides { width, heads, head_size, .. }, registers) = (self.sides, self.network.width());
        let (at, to, joined) = (number * a.heads + head, head * head_size, heads * head_size);
        let root = if self.class.scaled { f64::from(1_u32 << (head_size.trailing_zeros() / 2)) } else { 1.0 };
        let rows = |all: &[f64], count: usize| -> Vec<Entries> {
            all[at * count * registers..][..count * registers]
                .chunks(registers)
                .map(|row| self.read(row, 1.0))
                .collect()
        };
        let queries = a.q[at * a.head_size * registers..].chunks(registers);
        for (i, (row, bias)) in queries.zip(&a.q_bias[at * a.head_size..][..a.head_size]).enumerate() {
            block.q[(to + i) * width..][..width].copy_from_slice(&self.read_with(row, *bias, root));
        }
        block.k[to * width..][..a.head_size * width].copy_from_slice(&rows(&a.k, a.head_size).concat());
        if let Some(mask) = a.masks.get(head).filter(|mask| !mask.shows(&self.class.mask)) {
            self.hide(block, mask, (to + a.head_size, root));
        }
        block.v[to * width..][..a.value_size * width].copy_from_slice(&rows(&a.v, a.value_size).concat());
        let columns =
            self.written(&a.o[at * registers * a.value_size..][..registers * a.value_size], a.value_size, 1.0);
        for (row, column) in columns.chunks(a.value_size).enumerate() {
            block.o[row * joined + to..][..a.value_size].copy_from_slice(column);
        }
    }

    /// Scores of `-T` for the tokens that a mask hides, and the class does not.
    fn hide(&self, block: &mut Block, mask: &Mask, (at, root): (usize, f64)) {
        let (Sides { width, flags, .. }, registers) = (self.sides, self.network.width());
        let (score, flag) = (-hiding_score(self.network.precision), self.fitted.flag);
        for j in 0..flags {
            let (mut query, mut key) = (vec![0.0; registers + flags], vec![0.0; registers + flags]);
            for i in (0..flags).filter(|i| self.class.mask.sees(*i, j) && !mask.sees(*i, j)) {
                query[registers + i] = score / flag;
            }
            key[registers + j] = 1.0 / flag;
            block.q[(at + j) * width..][..width].copy_from_slice(&self.read(&query, root));
            block.k[(at + j) * width..][..width].copy_from_slice(&self.read(&key, 1.0));
        }
    }

    /// Puts hidden units into a block.
    fn units(&self, block: &mut Block, f: &FeedForwardRun, number: usize) {
        let (Sides { width, hidden, .. }, registers, scale) = (self.sides, self.network.width(), self.fitted.scale);
        let rows = f.w1[number * f.hidden * registers..].chunks(registers);
        for (i, (row, bias)) in rows.zip(&f.b1[number * f.hidden..][..f.hidden]).enumerate() {
            block.w1[i * width..][..width].copy_from_slice(&self.read_with(row, *bias, scale));
            if self.class.gated {
                block.factor[i * width..][..width].copy_from_slice(&self.read_with(&[], 1.0, 1.0));
            }
        }
        let columns =
            self.written(&f.w2[number * registers * f.hidden..][..registers * f.hidden], f.hidden, 1.0 / scale);
        for (row, column) in columns.chunks(f.hidden).enumerate() {
            block.w2[row * hidden..][..f.hidden].copy_from_slice(column);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "integers of a vocabulary are small")]
fn whole(x: i64) -> f64 {
    x as f64
}
