//! From a network to the matrices of a host: mirrored, pinned, padded, scaled by powers of two; nothing is rounded.
//!
//! ```text
//! stream      z_p in coordinate p, -z_p in D/2 + p; the pin C in D/2 - 1, -C in D - 1; 0 between
//! reading     row w over registers: ½w over the first half, -½w over the second
//! writing     column w over registers: w into the first half, -w into the second
//! heads       size 4^j, √size in the queries, since scores are divided by it
//! units       s·w1, s·b1 before the activation, w2/s behind it
//! blocks      both sub-layers in each: where the network has one, the other is 0
//! ```

use super::{Class, Fitted, Tensor, check, fit};
use crate::error::{Error, Result};
use crate::interval::Up;
use crate::model::Model;
use crate::network::{FloatNetwork, Precision};

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
}

/// A matrix by rows, or a vector.
pub(crate) type Entries = Vec<f64>;

/// A block: rows of weights over what is read, as `weight x + bias` has them.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// `[heads·size, width]` each, and the bias of the queries.
    pub q: Entries,
    pub q_bias: Entries,
    pub k: Entries,
    pub v: Entries,
    /// `[width, heads·size]`
    pub o: Entries,
    /// `[hidden, width]`, `[hidden]`
    pub w1: Entries,
    pub b1: Entries,
    /// `[width, hidden]`, `[width]`
    pub w2: Entries,
    pub b2: Entries,
}

/// What part of a block is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// A head, with the rows of its size.
    Head { head: usize, size: usize, width: usize },
    /// A hidden unit.
    Unit(usize),
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
    /// From the stream to labels.
    pub read_out: Mirrored,
}

impl Matrices {
    /// Puts a model into a class, or says why it does not fit; `words` are the tokens of its vocabulary, or none.
    pub fn new(model: &Model, class: &dyn Class, words: &[Vec<i64>]) -> Result<Self> {
        let network = check(model, class)?;
        let sides = sides(network);
        let fitted = fit::fit(model, network, class, &sides)?;
        let pass = Pass { network, sides, fitted };
        let embed = pass.embed();
        let rows = if words.is_empty() { vec![pass.pinned(&vec![0.0; network.width()])] } else { pass.words(words) };
        let positions = pass.positions();
        let read_out = Mirrored {
            weight: network.read_out.weight.chunks(network.width()).flat_map(|row| pass.read(row, 1.0)).collect(),
            bias: network.read_out.bias.clone(),
        };
        let blocks = pass.blocks();
        let matrices =
            Self { sides, fitted, precision: network.precision, embed, positions, words: rows, blocks, read_out };
        matrices.check(class)?;
        Ok(matrices)
    }

    /// Refuses numbers that scaling has put out of the format.
    fn check(&self, class: &dyn Class) -> Result<()> {
        let precision = self.precision;
        let fits = |x: &f64| *x == 0.0 || x.abs() >= precision.least_normal() && x.abs() <= precision.largest();
        let blocks = self.blocks.iter().flat_map(|b| [&b.q, &b.q_bias, &b.k, &b.v, &b.o, &b.w1, &b.b1, &b.w2, &b.b2]);
        let all = blocks.chain([&self.read_out.weight, &self.embed.weight]).flatten();
        match all.into_iter().find(|x| !fits(x)) {
            Some(x) => Err(Error::declined(format!("{x:e} is no normal number of {precision}, in {}", class.name()))
                .note("reason", "weights are scaled by powers of two there")
                .note("try", "another unit for the domain or for the values, or --precision f64")),
            None => Ok(()),
        }
    }

    /// Logits `2vy - v²` for each of these integers, the largest of which is that of the integer next to the output;
    /// `None` if that is not proved. Of `2w + 1` terms, all within `γ Σ|terms|`, and the output within its bound:
    /// `2 bound + 2 off < 1`, since the logit of `v` is `(v - v')² - 2|v - v'| bound` ahead of that of `v'`.
    pub fn classes(&self, values: &[f64]) -> Option<Mirrored> {
        let round = |x: f64| self.precision.round(x) + 0.0;
        let [bias] = self.read_out.bias[..] else { return None };
        let row = &self.read_out.weight;
        let largest = values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        let terms = row.iter().filter(|w| **w != 0.0).count();
        let size: Up = row.iter().map(|w| Up::from(*w) * Up::from(self.fitted.largest)).sum();
        let sizes = 2.0 * (Up::from(largest) * (2.0 * size + Up::from(bias))) + Up::from(largest * largest);
        let off = self.precision.gamma(terms + 8) * sizes;
        let apart = 2.0 * (Up::from(self.fitted.bound) + off);
        (apart < 1.0).then(|| Mirrored {
            weight: values.iter().flat_map(|v| row.iter().map(move |w| round(2.0 * v * w))).collect(),
            bias: values.iter().map(|v| round(2.0 * v * bias - v * v)).collect(),
        })
    }

    /// A norm's tensors: the gain, and no bias.
    pub fn norm(&self, name: &str) -> Vec<Tensor> {
        let width = self.sides.width;
        vec![
            (format!("{name}.weight"), vec![width], vec![self.fitted.gain; width]),
            (format!("{name}.bias"), vec![width], vec![0.0; width]),
        ]
    }
}

/// The smallest powers that have room.
fn sides(network: &FloatNetwork) -> Sides {
    let attention = || network.runs.iter().filter_map(|run| run.attention.as_ref());
    let size = attention().map(|a| a.head_size.max(a.value_size)).max().unwrap_or(1).max(1);
    let heads = attention().map(|a| a.heads).max().unwrap_or(1);
    let power_of_four = |least: usize| 1_usize << (2 * least.next_power_of_two().trailing_zeros().div_ceil(2));
    let head_size = power_of_four(size);
    let width = 2 * power_of_four((network.width() + 1).max((heads * head_size).div_ceil(2)));
    let hidden = network.runs.iter().filter_map(|run| run.feed_forward.as_ref()).map(|f| f.hidden).max();
    Sides {
        width,
        heads: width / head_size,
        head_size,
        hidden: hidden.unwrap_or(1),
        blocks: network.runs.iter().map(|run| run.blocks).sum(),
        tokens: network.tokens.max(network.lengths.1),
    }
}

struct Pass<'a> {
    network: &'a FloatNetwork,
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
        let width = self.network.width();
        let mut positions: Entries = self
            .network
            .positions
            .iter()
            .flat_map(|all| all.chunks(width))
            .flat_map(|row| self.written(row, 1, 1.0))
            .collect();
        positions.resize(self.sides.tokens * self.sides.width, 0.0);
        positions
    }

    fn blocks(&self) -> Vec<Block> {
        let Sides { width, heads, head_size, hidden, .. } = self.sides;
        let joined = heads * head_size;
        let root = f64::from(1_u32 << (head_size.trailing_zeros() / 2));
        let registers = self.network.width();
        let mut blocks = Vec::new();
        for run in &self.network.runs {
            for block in 0..run.blocks {
                let mut made = Block {
                    q: vec![0.0; joined * width],
                    q_bias: vec![0.0; joined],
                    k: vec![0.0; joined * width],
                    v: vec![0.0; joined * width],
                    o: vec![0.0; width * joined],
                    w1: vec![0.0; hidden * width],
                    b1: vec![0.0; hidden],
                    w2: vec![0.0; width * hidden],
                    b2: vec![0.0; width],
                };
                if let Some(a) = &run.attention {
                    let (m, mv) = (a.head_size, a.value_size);
                    for head in 0..a.heads {
                        let (at, to) = (block * a.heads + head, head * head_size);
                        let rows = |all: &[f64], count: usize, scale: f64| -> Entries {
                            let rows = all[at * count * registers..][..count * registers].chunks(registers);
                            rows.flat_map(|row| self.read(row, scale)).collect()
                        };
                        made.q[to * width..][..m * width].copy_from_slice(&rows(&a.q, m, root));
                        made.k[to * width..][..m * width].copy_from_slice(&rows(&a.k, m, 1.0));
                        made.v[to * width..][..mv * width].copy_from_slice(&rows(&a.v, mv, 1.0));
                        for (i, bias) in a.q_bias[at * m..][..m].iter().enumerate() {
                            made.q_bias[to + i] = root * bias;
                        }
                        let columns = self.written(&a.o[at * registers * mv..][..registers * mv], mv, 1.0);
                        for (row, column) in columns.chunks(mv).enumerate() {
                            made.o[row * joined + to..][..mv].copy_from_slice(column);
                        }
                    }
                }
                if let Some(f) = &run.feed_forward {
                    let (r, s) = (f.hidden, self.fitted.scale);
                    let rows = f.w1[block * r * registers..][..r * registers].chunks(registers);
                    let rows: Entries = rows.flat_map(|row| self.read(row, s)).collect();
                    made.w1[..r * width].copy_from_slice(&rows);
                    for (i, bias) in f.b1[block * r..][..r].iter().enumerate() {
                        made.b1[i] = s * bias;
                    }
                    let columns = self.written(&f.w2[block * registers * r..][..registers * r], r, 1.0 / s);
                    for (row, column) in columns.chunks(r).enumerate() {
                        made.w2[row * hidden..][..r].copy_from_slice(column);
                    }
                    made.b2 = self.written(&f.b2[block * registers..][..registers], 1, 1.0);
                }
                blocks.push(made);
            }
        }
        blocks
    }
}

#[expect(clippy::cast_precision_loss, reason = "integers of a vocabulary are small")]
fn whole(x: i64) -> f64 {
    x as f64
}
