//! A float network as a safetensors file, and back.
//!
//! ```text
//! length     8 bytes, little-endian: how long the header is
//! header     JSON: {"0.ff.w1": {"dtype": "F32", "shape": [50, 4, 1], "data_offsets": [0, 800]}, …}
//! data       the entries of every tensor, little-endian, one tensor behind the other
//! ```
//!
//! Names and shapes are those of [`FloatNetwork::tensors`]. The file holds numbers and nothing else; which numbers there have to be is
//! the [`Skeleton`]'s to say, and it stands in `model.json`. Reading believes neither: the skeleton must describe a network, the tensors
//! must fill the data without gap or overlap, every tensor that the skeleton demands must be there with its type and shape, no other
//! may be, and every entry must be a finite number. Nothing is allocated that the file is too short to fill.
//!
//! What is read is what was written, bit for bit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use safetensors::tensor::{Metadata, TensorInfo, TensorView, serialize};
use safetensors::{Dtype, SafeTensorError};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};
use crate::network::attention::{self, AttentionKind, Formula, Kind};
use crate::network::{
    AttentionRun, Coordinate, FeedForwardRun, FloatAffine, FloatNetwork, FloatStage, Mask, Precision, Run, mask,
};
use crate::pattern::Connections;

/// Everything of a float network but its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skeleton {
    #[serde(with = "precision")]
    precision: Precision,
    tokens: usize,
    /// The numbers of tokens that it accepts; `tokens` alone where nothing is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lengths: Option<(usize, usize)>,
    dims: usize,
    output_dims: usize,
    positions: bool,
    coordinates: Vec<CoordinateShape>,
    stages: Vec<StageShape>,
    runs: Vec<RunShape>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CoordinateShape {
    name: String,
    meaning: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StageShape {
    name: String,
    statement: String,
    meaning: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunShape {
    blocks: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attention: Option<AttentionShape>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    feed_forward: Option<FeedForwardShape>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AttentionShape {
    stage: usize,
    /// Softmax where nothing is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<KindShape>,
    heads: usize,
    /// Nothing is written where there are no queries and keys.
    #[serde(default, skip_serializing_if = "is_zero")]
    head_size: usize,
    value_size: usize,
    /// One for each head; every head sees every key where nothing is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    masks: Option<Vec<Mask>>,
    /// A cycle, of every layer and token the keys that it sees; the masks decide where nothing is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    connections: Option<Vec<Connections>>,
}

impl AttentionShape {
    /// The run without a single number, and without masks where none are written.
    fn empty(&self) -> AttentionRun {
        AttentionRun {
            stage: self.stage,
            kind: self.kind.map_or_else(AttentionKind::softmax, KindShape::empty),
            heads: self.heads,
            head_size: self.head_size,
            value_size: self.value_size,
            masks: self.masks.clone().unwrap_or_default(),
            connections: self.connections.clone().unwrap_or_default(),
            q: Vec::new(),
            q_bias: Vec::new(),
            k: Vec::new(),
            v: Vec::new(),
            o: Vec::new(),
        }
    }
}

/// A kind of attention other than softmax: its name, and how many mixtures or features it has if it has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KindShape {
    formula: &'static Formula,
    size: usize,
}

/// How many mixtures or features there are.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SizeShape {
    size: usize,
}

impl KindShape {
    fn of(kind: &AttentionKind) -> Option<Self> {
        (!kind.is_softmax()).then_some(Self { formula: kind.formula, size: kind.size })
    }

    /// Without a single number.
    fn empty(self) -> AttentionKind {
        let Self { formula, size } = self;
        AttentionKind { formula, size, tensors: vec![Vec::new(); formula.tensors().len()] }
    }

    /// The formula of that name, of a kind that has a size or has none.
    fn named<E: de::Error>(name: &str, sized: bool) -> std::result::Result<&'static Formula, E> {
        let known: Vec<&Formula> = attention::kinds().into_iter().map(Kind::formula).collect();
        let mut others = known.into_iter().filter(|formula| !formula.sees_tokens());
        match others.clone().find(|formula| formula.name == name) {
            Some(formula) if formula.is_sized() == sized => Ok(formula),
            Some(_) => Err(E::custom(format!("{name} has {} size", if sized { "no" } else { "a" }))),
            None => {
                let first = others.next().map_or(String::new(), |formula| format!("`{}`", formula.name));
                let names = others.fold(first, |names, formula| format!("{names}, `{}`", formula.name));
                Err(E::custom(format!("unknown variant `{name}`, expected one of {names}")))
            }
        }
    }
}

impl Serialize for KindShape {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let Self { formula, size } = *self;
        if !formula.is_sized() {
            return to.serialize_str(formula.name);
        }
        to.collect_map([(formula.name, SizeShape { size })])
    }
}

impl<'de> Deserialize<'de> for KindShape {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        from.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = KindShape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a kind of attention, or an object with its name and its size")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> std::result::Result<KindShape, E> {
        Ok(KindShape { formula: KindShape::named(name, false)?, size: 0 })
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> std::result::Result<KindShape, M::Error> {
        let name = map.next_key::<String>()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
        let formula = KindShape::named(&name, true)?;
        let SizeShape { size } = map.next_value()?;
        match map.next_key::<String>()? {
            None => Ok(KindShape { formula, size }),
            Some(_) => Err(de::Error::invalid_length(2, &self)),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(size: &usize) -> bool {
    *size == 0
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FeedForwardShape {
    stage: usize,
    hidden: usize,
}

/// A precision by its name.
mod precision {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::network::Precision;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
    pub fn serialize<S: Serializer>(precision: &Precision, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(precision.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Precision, D::Error> {
        let name = String::deserialize(from)?;
        name.parse().map_err(|_| D::Error::unknown_variant(&name, &["f32", "f64"]))
    }
}

impl Skeleton {
    /// The skeleton of a network.
    pub fn of(network: &FloatNetwork) -> Self {
        let run = |run: &Run| RunShape {
            blocks: run.blocks,
            attention: run.attention.as_ref().map(|a| AttentionShape {
                stage: a.stage,
                kind: KindShape::of(&a.kind),
                heads: a.heads,
                head_size: a.head_size,
                value_size: a.value_size,
                masks: (!(a.masks.len() == a.heads && a.masks.iter().all(|mask| *mask == Mask::ALL)))
                    .then(|| a.masks.clone()),
                connections: (!a.connections.is_empty()).then(|| a.connections.clone()),
            }),
            feed_forward: run.feed_forward.as_ref().map(|f| FeedForwardShape { stage: f.stage, hidden: f.hidden }),
        };
        let coordinate = |c: &Coordinate| CoordinateShape { name: c.name.clone(), meaning: c.meaning.clone() };
        let stage = |s: &FloatStage| StageShape {
            name: s.name.clone(),
            statement: s.statement.clone(),
            meaning: s.meaning.clone(),
        };
        Self {
            precision: network.precision,
            tokens: network.tokens,
            lengths: (network.lengths != (network.tokens, network.tokens)).then_some(network.lengths),
            dims: network.dims(),
            output_dims: network.output_dims(),
            positions: network.positions.is_some(),
            coordinates: network.coordinates.iter().map(coordinate).collect(),
            stages: network.stages.iter().map(stage).collect(),
            runs: network.runs.iter().map(run).collect(),
        }
    }

    /// Checks that this describes a network: nothing is empty, names are unique, the layers belong to their
    /// stages in order.
    fn check(&self) -> std::result::Result<(), String> {
        let wrong = |what: String| Err(what);
        let counts = [
            ("tokens", self.tokens),
            ("coordinates", self.coordinates.len()),
            ("dims", self.dims),
            ("output_dims", self.output_dims),
        ];
        if let Some((name, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return wrong(format!("{name} is 0, expected 1 or more"));
        }
        if isize::try_from(self.tokens).is_err() {
            return wrong(format!("{} tokens are more than any memory holds", self.tokens));
        }
        let lengths = self.lengths.unwrap_or((self.tokens, self.tokens));
        FloatNetwork::check_lengths(self.tokens, lengths, self.positions)?;
        if let Some(name) = repeated(self.coordinates.iter().map(|c| c.name.as_str())) {
            return wrong(format!("two coordinates are called '{name}'"));
        }
        if let Some(name) = repeated(self.stages.iter().map(|s| s.name.as_str())) {
            return wrong(format!("two stages are called '{name}'"));
        }
        let (mut blocks, mut stage) = (0usize, 0);
        for (i, run) in self.runs.iter().enumerate() {
            let mut counts = vec![("blocks", run.blocks)];
            if let Some(a) = &run.attention {
                counts.extend([("heads", a.heads), ("value_size", a.value_size)]);
                let kind = a.empty().kind;
                counts.extend(kind.formula.has_scores().then_some(("head_size", a.head_size)));
                counts.extend(kind.size().map(|size| ("size", size)));
            }
            counts.extend(run.feed_forward.as_ref().map(|f| ("hidden", f.hidden)));
            if let Some((name, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
                return wrong(format!("{name} of run {i} is 0, expected 1 or more"));
            }
            let stages: Vec<usize> =
                [run.attention.as_ref().map(|a| a.stage), run.feed_forward.as_ref().map(|f| f.stage)]
                    .into_iter()
                    .flatten()
                    .collect();
            let (Some(first), Some(last)) = (stages.first(), stages.last()) else {
                return wrong(format!("run {i} has neither attention nor a feed-forward layer"));
            };
            if first != last && run.blocks > 1 {
                return wrong(format!("run {i} has {} blocks across two stages, expected 1", run.blocks));
            }
            for next in stages {
                if next >= self.stages.len() {
                    return wrong(format!("run {i} belongs to stage {next}, and there are {}", self.stages.len()));
                }
                if next < stage {
                    return wrong(format!("run {i} belongs to stage {next}, behind one of stage {stage}"));
                }
                stage = next;
            }
            if let Some(a) = &run.attention {
                if a.connections.as_ref().is_some_and(Vec::is_empty) {
                    return wrong(format!("the cycle of connections of run {i} is empty, expected 1 layer or more"));
                }
                a.empty().check_kind(blocks, lengths)?;
                a.masks.as_ref().map_or(Ok(()), |masks| mask::check(masks, a.heads, blocks, lengths))?;
            }
            blocks = match blocks.checked_add(run.blocks) {
                Some(sum) => sum,
                None => return wrong(format!("its blocks are too many to count, {} in run {i}", run.blocks)),
            };
        }
        Ok(())
    }

    /// The network without a single number, and without masks where none are written.
    fn empty(&self) -> FloatNetwork {
        let affine = |inputs, outputs| FloatAffine { inputs, outputs, weight: Vec::new(), bias: Vec::new() };
        let feed_forward = |f: &FeedForwardShape| FeedForwardRun {
            stage: f.stage,
            hidden: f.hidden,
            w1: Vec::new(),
            b1: Vec::new(),
            w2: Vec::new(),
            b2: Vec::new(),
        };
        let run = |run: &RunShape| Run {
            blocks: run.blocks,
            attention: run.attention.as_ref().map(AttentionShape::empty),
            feed_forward: run.feed_forward.as_ref().map(feed_forward),
        };
        let coordinate = |c: &CoordinateShape| Coordinate { name: c.name.clone(), meaning: c.meaning.clone() };
        let stage = |s: &StageShape| FloatStage {
            name: s.name.clone(),
            statement: s.statement.clone(),
            meaning: s.meaning.clone(),
        };
        let width = self.coordinates.len();
        FloatNetwork {
            precision: self.precision,
            tokens: self.tokens,
            lengths: self.lengths.unwrap_or((self.tokens, self.tokens)),
            coordinates: self.coordinates.iter().map(coordinate).collect(),
            embed: affine(self.dims, width),
            positions: self.positions.then(Vec::new),
            stages: self.stages.iter().map(stage).collect(),
            runs: self.runs.iter().map(run).collect(),
            read_out: affine(width, self.output_dims),
        }
    }
}

fn repeated<'n>(names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let mut seen = BTreeSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

/// The tensors to be filled in, in the order of [`FloatNetwork::tensors`].
fn entries(network: &mut FloatNetwork) -> Vec<&mut Vec<f64>> {
    let mut entries = vec![&mut network.embed.weight, &mut network.embed.bias];
    entries.extend(network.positions.as_mut());
    for run in &mut network.runs {
        if let Some(a) = &mut run.attention {
            entries.extend(a.entries());
        }
        if let Some(f) = &mut run.feed_forward {
            entries.extend([&mut f.w1, &mut f.b1, &mut f.w2, &mut f.b2]);
        }
    }
    entries.extend([&mut network.read_out.weight, &mut network.read_out.bias]);
    entries
}

/// Refuses a network whose tensors have not the sizes of their shapes, or entries that its format does not have.
pub(crate) fn check(network: &FloatNetwork) -> Result<()> {
    let wrong = |what: String| Error::input(format!("this is no network: {what}"));
    Skeleton::of(network).check().map_err(wrong)?;
    let (width, inputs, outputs) = (network.width(), network.read_out.inputs, network.embed.outputs);
    if (outputs, inputs) != (width, width) {
        return Err(wrong(format!("it embeds into {outputs} coordinates and reads out {inputs}, expected {width}")));
    }
    for (name, shape, entries) in network.tensors() {
        let expected = shape.iter().try_fold(1, |product: usize, side| product.checked_mul(*side));
        if expected != Some(entries.len()) {
            return Err(wrong(format!("tensor '{name}' has {} entries, and its shape is {shape:?}", entries.len())));
        }
        let stored = |x: f64| x.is_finite() && network.precision.round(x).to_bits() == x.to_bits();
        if let Some(place) = entries.iter().position(|x| !stored(*x)) {
            return Err(wrong(format!(
                "tensor '{name}' holds {:?} at {:?}, expected a finite {} number",
                entries[place],
                index(place, &shape),
                network.precision
            )));
        }
    }
    Ok(())
}

/// The index of an entry, counted along the shape.
fn index(mut place: usize, shape: &[usize]) -> Vec<usize> {
    let mut index: Vec<usize> = Vec::new();
    for side in shape.iter().rev() {
        index.push(place % side);
        place /= side;
    }
    index.reverse();
    index
}

/// Entries as they stand in a file: little-endian, in the format of the network.
#[expect(clippy::cast_possible_truncation, reason = "entries of an f32 network are single-precision numbers")]
pub(crate) fn to_little_endian(precision: Precision, entries: &[f64]) -> Vec<u8> {
    match precision {
        Precision::F32 => entries.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect(),
        Precision::F64 => entries.iter().flat_map(|x| x.to_le_bytes()).collect(),
    }
}

fn from_little_endian(precision: Precision, bytes: &[u8]) -> Vec<f64> {
    match precision {
        Precision::F32 => bytes.as_chunks().0.iter().map(|x| f64::from(f32::from_le_bytes(*x))).collect(),
        Precision::F64 => bytes.as_chunks().0.iter().map(|x| f64::from_le_bytes(*x)).collect(),
    }
}

fn dtype(precision: Precision) -> Dtype {
    match precision {
        Precision::F32 => Dtype::F32,
        Precision::F64 => Dtype::F64,
    }
}

/// A network's numbers as a safetensors file. The same network gives the same bytes.
pub(crate) fn to_bytes(network: &FloatNetwork) -> Result<Vec<u8>> {
    check(network)?;
    named_to_bytes(network.precision, &network.tensors())
}

/// Named numbers as a safetensors file.
pub(crate) fn named_to_bytes<E: AsRef<[f64]>>(
    precision: Precision,
    tensors: &[(String, Vec<usize>, E)],
) -> Result<Vec<u8>> {
    let unwritten = |error: SafeTensorError| Error::input(format!("the tensors cannot be written: {error}"));
    let bytes: Vec<Vec<u8>> =
        tensors.iter().map(|(_, _, entries)| to_little_endian(precision, entries.as_ref())).collect();
    let views = tensors
        .iter()
        .zip(&bytes)
        .map(|((name, shape, _), bytes)| Ok((name, TensorView::new(dtype(precision), shape.clone(), bytes)?)))
        .collect::<std::result::Result<Vec<_>, SafeTensorError>>()
        .map_err(unwritten)?;
    // No metadata: it would be written in hash order.
    serialize(views, None).map_err(unwritten)
}

impl Skeleton {
    /// The network that it describes, with its numbers from the bytes of `file`.
    pub fn read(&self, bytes: &[u8], file: &str) -> Result<FloatNetwork> {
        let remedy = |error: Error| error.note("try", crate::model::ANEW);
        self.check().map_err(|what| {
            let error = Error::input(format!("what {file} should hold is no network: {what}"));
            remedy(error.note("where", "the shapes in model.json"))
        })?;
        let wrong = |what: String| remedy(Error::input(format!("{file} does not hold the network's weights: {what}")));
        let (header, data) = split(bytes).map_err(wrong)?;
        let mut network = self.empty();
        let demanded: Vec<(String, Vec<usize>)> =
            network.tensors().into_iter().map(|(name, shape, _)| (name, shape)).collect();
        let precision = self.precision;
        for ((name, shape), entries) in demanded.iter().zip(entries(&mut network)) {
            let Some(found) = header.get(name) else {
                return Err(wrong(format!("tensor '{name}' is missing")));
            };
            if found.dtype != dtype(precision) {
                return Err(wrong(format!(
                    "tensor '{name}' is of type {}, expected {}",
                    found.dtype,
                    dtype(precision)
                )));
            }
            if found.shape != *shape {
                return Err(wrong(format!("tensor '{name}' has shape {:?}, expected {shape:?}", found.shape)));
            }
            let (start, end) = found.data_offsets;
            *entries = from_little_endian(precision, &data[start..end]);
            if let Some(place) = entries.iter().position(|x| !x.is_finite()) {
                return Err(wrong(format!("tensor '{name}' holds {} at {:?}", entries[place], index(place, shape))));
            }
        }
        let known: BTreeSet<&str> = demanded.iter().map(|(name, _)| name.as_str()).collect();
        if let Some(name) = header.keys().find(|name| !known.contains(name.as_str())) {
            return Err(wrong(format!("tensor '{name}' is none of its tensors")));
        }
        for attention in network.runs.iter_mut().filter_map(|run| run.attention.as_mut()) {
            if attention.masks.is_empty() {
                attention.masks = vec![Mask::ALL; attention.heads];
            }
        }
        Ok(network)
    }
}

/// The header and the data behind it, which the tensors of the header fill without gap or overlap; or what is wrong.
fn split(bytes: &[u8]) -> std::result::Result<(BTreeMap<String, TensorInfo>, &[u8]), String> {
    let Some((length, rest)) = bytes.split_first_chunk() else {
        return Err(format!("it is cut off, {} bytes of the 8 that tell the length of the header", bytes.len()));
    };
    let length = u64::from_le_bytes(*length);
    let header = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
    let Some((header, data)) = header else {
        return Err(format!("it is cut off, {} bytes of a header of {length}", rest.len()));
    };
    let Header(tensors) =
        serde_json::from_slice(header).map_err(|error| format!("its header cannot be read: {error}"))?;
    let mut sorted: Vec<(String, TensorInfo)> =
        tensors.iter().map(|(name, info)| (name.clone(), info.clone())).collect();
    sorted.sort_by_key(|(_, info)| info.data_offsets);
    let layout = Metadata::new(None, sorted).map_err(|error| format!("its header contradicts itself: {error}"))?;
    match (data.len(), layout.data_len()) {
        (found, expected) if found < expected => Err(format!("it is cut off, {found} bytes of data of {expected}")),
        (found, expected) if found > expected => Err(format!("{found} bytes of data, expected {expected}")),
        _ => Ok((tensors, data)),
    }
}

/// The tensors of a header. A name that comes twice is an error: which of the two counts would depend on the reader.
struct Header(BTreeMap<String, TensorInfo>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        from.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the tensors")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> std::result::Result<Header, M::Error> {
        let mut tensors = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                map.next_value::<BTreeMap<String, String>>()?;
            } else if tensors.insert(name.clone(), map.next_value()?).is_some() {
                return Err(de::Error::custom(format!("tensor '{name}' comes twice")));
            }
        }
        Ok(Header(tensors))
    }
}
