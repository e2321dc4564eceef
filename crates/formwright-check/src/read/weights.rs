//! Reads `model.safetensors`, and makes the network that the certificate describes from its tensors.

use std::collections::BTreeMap;

use super::certificate::{Attention, Certificate, Mask};
use super::json::Json;
use crate::kernel::format::Format;
use crate::kernel::number::Dyadic;
use crate::kernel::sum::Row;

/// A head of softmax attention.
#[derive(Clone, Debug)]
pub struct Head {
    /// The keys that it sees.
    pub mask: Mask,
    /// Queries, with their bias.
    pub q: Vec<Row>,
    /// Keys.
    pub k: Vec<Row>,
    /// Values.
    pub v: Vec<Row>,
    /// The output: a row for each coordinate of the stream, over the values.
    pub o: Vec<Row>,
}

impl Head {
    /// True if it has no weights: then it writes nothing, and nothing in it can overflow.
    pub fn is_zero(&self) -> bool {
        [&self.q, &self.k, &self.v, &self.o].into_iter().flatten().all(Row::is_zero)
    }
}

/// A head of a kind other than softmax.
#[derive(Clone, Debug)]
pub struct Mixer {
    /// Its matrices; an average has neither queries nor keys.
    pub head: Head,
    /// How it weighs the tokens.
    pub mixing: Mixing,
}

/// How a head weighs the tokens, if not by the softmax of their scores.
#[derive(Clone, Debug)]
pub enum Mixing {
    /// All alike.
    Average,
    /// By mixtures of keys, and of values: a row of weights of tokens for each mixture.
    Linformer {
        /// The mixtures of keys.
        e: Vec<Row>,
        /// The mixtures of values.
        f: Vec<Row>,
    },
    /// By positive features of queries and keys.
    Performer {
        /// A direction for each feature.
        w: Vec<Row>,
    },
}

/// A layer.
#[derive(Clone, Debug)]
pub enum Layer {
    /// Attention.
    Attention(Vec<Head>),
    /// Attention of another kind.
    Mixers(Vec<Mixer>),
    /// Hidden units, and the gain of each coordinate of the stream from them.
    FeedForward {
        /// `w1`, `b1`.
        units: Vec<Row>,
        /// `w2`, `b2`.
        gains: Vec<Row>,
    },
}

/// The number of terms of rows: their nonzero weights and a bias each.
fn terms(rows: &[Row]) -> usize {
    rows.iter().map(|row| row.weights.len().saturating_add(1)).fold(0, usize::saturating_add)
}

impl Layer {
    /// The number of multiplications, as if nothing could be skipped: for a token, and for every token that it attends
    /// to.
    pub fn work(&self, tokens: usize) -> usize {
        match self {
            Self::Attention(heads) => heads.iter().filter(|head| !head.is_zero()).fold(0_usize, |work, head| {
                let rows = [&head.q, &head.k, &head.v, &head.o].map(|rows| terms(rows));
                let key = head.k.len().saturating_add(head.v.len()).saturating_add(EXPONENTIAL);
                // Exponentials are cheap where finding the largest score takes long.
                let keys = tokens.saturating_mul(key.saturating_add(tokens / 4));
                rows.into_iter().fold(work.saturating_add(keys), usize::saturating_add)
            }),
            Self::Mixers(mixers) => mixers.iter().filter(|mixer| !mixer.head.is_zero()).fold(0_usize, |work, mixer| {
                let rows = [&mixer.head.v, &mixer.head.o].map(|rows| terms(rows));
                let mixtures = match &mixer.mixing {
                    Mixing::Average => 1,
                    Mixing::Linformer { e: rows, .. } | Mixing::Performer { w: rows } => rows.len(),
                };
                let keys = tokens.saturating_add(mixtures).saturating_mul(mixer.head.v.len());
                rows.into_iter().fold(work.saturating_add(keys), usize::saturating_add)
            }),
            Self::FeedForward { units, gains } => {
                let read = |place: &usize| units.get(*place).map_or(0, |row| row.weights.len()).saturating_add(1);
                // The gain of a coordinate is composed of everything that the units read, before intervals are put in.
                let gained = gains.iter().flat_map(|row| &row.weights).map(|(place, _)| read(place));
                let all = gained.fold(terms(units).saturating_add(terms(gains)), usize::saturating_add);
                // Layers whose units read little, and all the same, are skipped wherever they rest.
                let skipped = all <= units.len().saturating_mul(SHORT) && self.reads_one();
                if skipped { units.len() } else { all }
            }
        }
    }

    /// True if all units read one functional, up to sign.
    fn reads_one(&self) -> bool {
        let Self::FeedForward { units, .. } = self else { return false };
        let mut reading = units.iter().map(|row| row.weights.as_slice()).filter(|reads| !reads.is_empty());
        let first = reading.next().unwrap_or(&[]);
        let same = |(a, b): (&(usize, Dyadic), &(usize, Dyadic))| a.0 == b.0 && a.1.abs() == b.1.abs();
        reading.all(|reads| reads.len() == first.len() && reads.iter().zip(first).all(same))
    }
}

/// The cost of the exponential of a score, in multiplications.
const EXPONENTIAL: usize = 16;

/// The most multiplications of a unit that count as few.
const SHORT: usize = 16;

/// A network.
#[derive(Clone, Debug)]
pub struct Network {
    /// The format of the numbers and of the execution.
    pub format: Format,
    /// The embedding.
    pub embed: Vec<Row>,
    /// Positions, token by token.
    pub positions: Vec<Vec<Dyadic>>,
    /// The layers of all blocks.
    pub layers: Vec<Layer>,
    /// The read-out.
    pub read_out: Vec<Row>,
}

/// The tensors of a file.
pub struct Tensors<'b> {
    data: &'b [u8],
    entries: BTreeMap<String, (Vec<usize>, usize, usize)>,
    digits: u32,
}

impl<'b> Tensors<'b> {
    /// Reads a file, of which every number is one of the format.
    pub fn read(bytes: &'b [u8], double: bool) -> Result<Self, String> {
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or("it is shorter than the length of its header")?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok();
        let (header, data) = length.and_then(|length| rest.split_at_checked(length)).ok_or("its header is cut off")?;
        let header = Json::parse(header).map_err(|fault| format!("its header: {fault}"))?;
        let mut tensors = Self { data, entries: BTreeMap::new(), digits: if double { 53 } else { 24 } };
        let dtype = if double { "F64" } else { "F32" };
        let mut spans = Vec::new();
        for (name, entry) in header.object().ok_or("its header is no object")? {
            if name == "__metadata__" {
                let texts = entry.object().is_some_and(|object| object.iter().all(|(_, value)| value.text().is_some()));
                if !texts {
                    return Err("its metadata are not texts".to_owned());
                }
                continue;
            }
            let fields = entry.object().map_or(0, <[_]>::len);
            let shape = entry.get("shape").and_then(Json::list).map(|shape| shape.iter().map(Json::count).collect());
            let span = entry.get("data_offsets").and_then(Json::list);
            let (Some(Some(shape)), Some([from, to]), 3) = (shape, span, fields) else {
                return Err(format!("tensor {name:?} is not described as tensors are"));
            };
            let (Some(from), Some(to)) = (from.count(), to.count()) else {
                return Err(format!("tensor {name:?} has offsets that are no counts"));
            };
            if entry.get("dtype").and_then(Json::text) != Some(dtype) {
                return Err(format!("tensor {name:?} is not of type {dtype}"));
            }
            let shape: Vec<usize> = shape;
            let bytes = shape.iter().try_fold(if double { 8_usize } else { 4 }, |size, side| size.checked_mul(*side));
            if bytes.is_none() || to.checked_sub(from) != bytes {
                return Err(format!("tensor {name:?} of shape {shape:?} lies from byte {from} to {to}"));
            }
            spans.push((from, to));
            tensors.entries.insert(name.to_string(), (shape, from, to));
        }
        spans.sort_unstable();
        let end = spans.into_iter().try_fold(0, |end, (from, to)| if from == end { Ok(to) } else { Err(end) });
        match end {
            Ok(end) if end == data.len() => tensors.check_finite().map(|()| tensors),
            Ok(end) => Err(format!("its tensors end at byte {end} of {} bytes of data", data.len())),
            Err(end) => Err(format!("its tensors leave a gap, or overlap, at byte {end} of the data")),
        }
    }

    fn numbers(&self, from: usize, to: usize) -> impl Iterator<Item = Option<Dyadic>> + use<'b> {
        let (size, digits) = (if self.digits == 53 { 8 } else { 4 }, self.digits);
        self.data.get(from..to).unwrap_or(&[]).chunks(size).map(move |chunk| {
            let bits = chunk.iter().rev().fold(0_u64, |bits, byte| bits.wrapping_shl(8) | u64::from(*byte));
            Dyadic::from_bits(bits, digits)
        })
    }

    fn check_finite(&self) -> Result<(), String> {
        for (name, (_, from, to)) in &self.entries {
            if let Some(place) = self.numbers(*from, *to).position(|number| number.is_none()) {
                return Err(format!("tensor {name:?} holds NaN, an infinity or a subnormal number at entry {place}"));
            }
        }
        Ok(())
    }

    /// Takes out a tensor of a shape. The reader has made sure that every entry is a number.
    pub fn take(&mut self, name: &str, shape: &[usize]) -> Result<impl Iterator<Item = Dyadic> + use<'b>, String> {
        let (found, from, to) = self.entries.remove(name).ok_or_else(|| format!("tensor {name:?} is missing"))?;
        if found != shape {
            return Err(format!("tensor {name:?} has shape {found:?}, expected {shape:?}"));
        }
        Ok(self.numbers(from, to).map(|number| number.unwrap_or(Dyadic::ZERO)))
    }

    /// Refuses tensors that nobody has asked for.
    pub fn none_left(&self) -> Result<(), String> {
        self.entries.keys().next().map_or(Ok(()), |name| Err(format!("tensor {name:?} is none of the network's")))
    }

    /// Takes out a matrix for each of `count` things, perhaps with biases, as rows.
    fn rows(
        &mut self,
        name: &str,
        count: &[usize],
        sides: [usize; 2],
        bias: Option<&str>,
    ) -> Result<Vec<Vec<Row>>, String> {
        let [height, width] = sides;
        let mut weights = self.take(name, &[count, &sides].concat())?;
        let mut biases = bias.map(|bias| self.take(bias, &[count, &[height]].concat())).transpose()?;
        let things = count.iter().fold(1_usize, |all, side| all.saturating_mul(*side));
        let row = |_| {
            let bias = biases.as_mut().and_then(Iterator::next).unwrap_or(Dyadic::ZERO);
            Row::new(weights.by_ref().take(width), bias)
        };
        let mut rows = (0..things.saturating_mul(height)).map(row);
        Ok((0..things).map(|_| rows.by_ref().take(height).collect()).collect())
    }
}

impl Network {
    /// All heads that are not softmax.
    pub fn mixers(&self) -> impl Iterator<Item = &Mixer> {
        self.layers.iter().flat_map(|layer| if let Layer::Mixers(mixers) = layer { mixers.as_slice() } else { &[] })
    }

    /// Reads the network of a certificate, with its numbers from a file.
    pub fn read(bytes: &[u8], certificate: &Certificate) -> Result<Self, String> {
        let Certificate { dims, output_dims, width, positions, double, .. } = *certificate;
        let mut tensors = Tensors::read(bytes, double)?;
        let mut single = |name: &str, sides: [usize; 2]| -> Result<Vec<Row>, String> {
            let bias = format!("{name}.bias");
            Ok(tensors.rows(&format!("{name}.weight"), &[], sides, Some(&bias))?.into_iter().flatten().collect())
        };
        let (embed, read_out) = (single("embed", [width, dims])?, single("read_out", [output_dims, width])?);
        let mut places = if positions == 0 { None } else { Some(tensors.take("pos", &[positions, width])?) };
        let positions =
            (0..positions).map(|_| places.iter_mut().flat_map(|all| all.by_ref().take(width)).collect()).collect();
        let (mut layers, mut first) = (Vec::new(), 0_usize);
        for run in &certificate.runs {
            let name = |part: &str| format!("{first}.{part}");
            let mut attention = match &run.attention {
                Some(shape) => attention(&mut tensors, shape, [run.blocks, width, certificate.tokens[1]], &name)?,
                None => Vec::new(),
            }
            .into_iter();
            let mut forward = Vec::new().into_iter();
            if let Some(hidden) = run.hidden {
                let units = tensors.rows(&name("ff.w1"), &[run.blocks], [hidden, width], Some(&name("ff.b1")))?;
                let gains = tensors.rows(&name("ff.w2"), &[run.blocks], [width, hidden], Some(&name("ff.b2")))?;
                forward = units.into_iter().zip(gains).collect::<Vec<_>>().into_iter();
            }
            for _ in 0..run.blocks {
                layers.extend(attention.next());
                layers.extend(forward.next().map(|(units, gains)| Layer::FeedForward { units, gains }));
            }
            first = first.saturating_add(run.blocks);
        }
        tensors.none_left()?;
        let format = if double { Format::DOUBLE } else { Format::SINGLE };
        Ok(Self { format, embed, positions, layers, read_out })
    }
}

/// The attention of each block of a run.
fn attention(
    tensors: &mut Tensors<'_>,
    shape: &Attention,
    [blocks, width, tokens]: [usize; 3],
    name: &impl Fn(&str) -> String,
) -> Result<Vec<Layer>, String> {
    let layers = heads(tensors, shape, [blocks, width], name)?;
    let Attention { heads, head_size, size, .. } = *shape;
    let count = [blocks, heads];
    let mut mixings = match shape.kind.as_str() {
        "softmax" => return Ok(layers.into_iter().map(Layer::Attention).collect()),
        "average" => vec![Mixing::Average; blocks.saturating_mul(heads)],
        "linformer" => {
            let e = tensors.rows(&name("attn.e"), &count, [size, tokens], None)?;
            let f = tensors.rows(&name("attn.f"), &count, [size, tokens], None)?;
            e.into_iter().zip(f).map(|(e, f)| Mixing::Linformer { e, f }).collect()
        }
        "performer" => {
            let w = tensors.rows(&name("attn.w"), &count, [size, head_size], None)?;
            w.into_iter().map(|w| Mixing::Performer { w }).collect()
        }
        other => return Err(format!("the tensors of {other} attention are not known")),
    }
    .into_iter();
    let mut mixers = |heads: Vec<Head>| -> Result<Layer, String> {
        let mut mixers = Vec::new();
        for head in heads {
            let mixing = mixings.next().ok_or("fewer mixtures than heads")?;
            mixers.push(Mixer { head, mixing });
        }
        Ok(Layer::Mixers(mixers))
    };
    layers.into_iter().map(&mut mixers).collect()
}

/// The heads of each block of a run; an average has neither queries nor keys.
fn heads(
    tensors: &mut Tensors<'_>,
    shape: &Attention,
    [blocks, width]: [usize; 2],
    name: &impl Fn(&str) -> String,
) -> Result<Vec<Vec<Head>>, String> {
    let Attention { heads, head_size, value_size, .. } = *shape;
    let count = [blocks, heads];
    let none = || vec![Vec::new(); blocks.saturating_mul(heads)];
    let (q, k) = if head_size == 0 {
        (none(), none())
    } else {
        let q = tensors.rows(&name("attn.q"), &count, [head_size, width], Some(&name("attn.q_bias")))?;
        (q, tensors.rows(&name("attn.k"), &count, [head_size, width], None)?)
    };
    let v = tensors.rows(&name("attn.v"), &count, [value_size, width], None)?;
    let o = tensors.rows(&name("attn.o"), &count, [width, value_size], None)?;
    let mut parts = q.into_iter().zip(k).zip(v.into_iter().zip(o));
    let mut head = |block: usize, head: usize| {
        let ((q, k), (v, o)) = parts.next()?;
        Some(Head { mask: shape.mask(block, head)?, q, k, v, o })
    };
    Ok((0..blocks).map(|block| (0..heads).filter_map(|at| head(block, at)).collect()).collect())
}
