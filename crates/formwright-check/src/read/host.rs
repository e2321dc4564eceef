//! Reads a network inside of a stock Transformer: `config.json`, the tensors of its class, and the network that half the
//! differences of mirrored coordinates are (CERTIFICATE.md, section 10).

mod bert;
mod config;
mod gpt2;
mod llama;
mod modernbert;
mod opt;
mod t5;

use super::certificate::{Attention, Certificate, HostCertificate, Mask, Run};
use super::weights::{Head, Layer, Network, Tensors};
use crate::kernel::format::Format;
use crate::kernel::number::{Dyadic, Ratio};
use crate::kernel::sum::Row;

pub use config::{Config, Misfit, Setting, Side};

/// Where norms stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Before layers, and before the outputs.
    Before,
    /// Behind layers, and behind the embedding.
    Behind,
    /// Behind the embedding, before layers but the first, and two before the outputs.
    Ends,
}

/// What is done to the number that a unit reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// By erf, or by tanh.
    Gelu,
    Silu,
    Relu,
}

impl Activation {
    /// How far it may be from `max(x, 0)`, as it is computed.
    pub fn distance(self) -> Ratio {
        let [of, parts] = match self {
            Self::Gelu => [43, 250],
            Self::Silu => [1393, 5000],
            Self::Relu => [0, 1],
        };
        Ratio::whole(of).over(&Ratio::whole(parts)).unwrap_or(Ratio::ONE)
    }
}

/// What the activated number of a unit is multiplied by.
#[derive(Clone, Copy, Debug)]
pub enum Factor {
    /// Nothing.
    None,
    /// A map of its own.
    Map(&'static str),
    /// The second half of the map before the activation.
    Half,
}

/// A class of stock Transformers.
#[expect(clippy::struct_excessive_bools, reason = "yes-or-no facts about a class of somebody else's, each by itself")]
pub struct Class {
    /// Its name.
    pub name: &'static str,
    /// Its class in `transformers`.
    pub architecture: &'static str,
    /// Where norms stand.
    pub order: Order,
    /// True if norms take the mean away.
    pub centred: bool,
    /// The number that is added to a variance, if no setting says it: 10 to the power of less so much.
    pub eps: Option<u32>,
    /// Its activation.
    pub activation: Activation,
    /// True if tokens see those up to their own, and no others.
    pub causal: bool,
    /// True if scores are divided by the root of the heads' size.
    pub scaled: bool,
    /// True if queries and keys are rotated, two coordinates together: by nothing here.
    pub rotated: bool,
    /// True if all of it can be computed in double precision.
    pub double: bool,
    /// True if maps and norms have biases.
    pub biased: bool,
    /// True if the weights of a block are `[in, out]`.
    pub transposed: bool,
    /// Its settings, beside those of all classes.
    pub settings: &'static [(&'static str, Setting)],
    /// The rows of words.
    pub words: &'static str,
    /// The rows of positions, if there are any, and how many stand before the first one.
    pub positions: Option<(&'static str, usize)>,
    /// Numbers that are 0: a name, and the shape.
    pub zeros: Option<(&'static str, [Extent; 2])>,
    /// The norms behind the embedding, and at the end.
    pub ends: [&'static [&'static str]; 2],
    /// The beginning of the names of a block.
    pub layer: &'static str,
    /// Queries, keys and values, or all in one.
    pub heads: &'static [&'static str],
    /// The maps behind the heads, before the activation and behind it.
    pub maps: [&'static str; 3],
    /// What activated numbers are multiplied by.
    pub factor: Factor,
    /// The norms of a block.
    pub norms: [&'static str; 2],
    /// A map before the last norm, which is the identity.
    pub identity: Option<&'static str>,
    /// The map to the outputs, and whether it has a row for each word, and no bias.
    pub outputs: (&'static str, bool),
}

/// A side of numbers that are 0.
#[derive(Clone, Copy, Debug)]
pub enum Extent {
    Whole(usize),
    Heads,
    Width,
}

/// The classes that are known here.
static CLASSES: [&Class; 6] = [&bert::BERT, &gpt2::GPT2, &t5::T5, &opt::OPT, &llama::LLAMA, &modernbert::MODERNBERT];

/// The class of a name.
pub fn class(name: &str) -> Option<&'static Class> {
    CLASSES.iter().find(|class| class.name == name).copied()
}

/// A matrix by rows.
type Matrix = Vec<Vec<Dyadic>>;

/// A host: what is not in the network that stands in it.
#[derive(Clone, Debug)]
pub struct Host {
    /// `D`
    pub width: usize,
    /// The coordinates of a token.
    pub dims: usize,
    /// `C`
    pub pin: Dyadic,
    /// `s`
    pub scale: Dyadic,
    /// The number that is added to a variance.
    pub eps: Ratio,
    /// The gains of all norms, in the order in which they act.
    pub gains: Vec<Vec<Dyadic>>,
    /// Where norms stand.
    pub order: Order,
    /// True if norms take the mean away.
    pub centred: bool,
    /// What units do.
    pub activation: Activation,
    /// True if what they do is multiplied by a 1 that is read from the pin.
    pub gated: bool,
    /// The registers of every word; none over a box.
    pub words: Option<Matrix>,
    /// The integers that outputs stand for.
    pub labels: Vec<i64>,
}

/// A reason why files are no host, with the obligation.
pub type Fault = (&'static str, String);

/// A host, and the network that stands in it, with the certificate as one of that network.
pub struct Hosted {
    /// The norms, and what is around the network.
    pub host: Host,
    /// The network.
    pub network: Network,
    /// The claim, with the parts of the network.
    pub claim: Certificate,
}

/// Reads a host. The certificate has been read, and the hashes are those of these files.
pub fn read(
    certificate: &HostCertificate,
    class: &'static Class,
    config: &Config,
    [model, inputs]: [&[u8]; 2],
) -> Result<Hosted, Fault> {
    let double = certificate.claim.double;
    let mut tensors = Tensors::read(model, double).map_err(weights)?;
    let raw = Raw::read(&mut tensors, class, config)?;
    tensors.none_left().map_err(weights)?;
    let embed = if certificate.inputs.is_some() {
        let mut tensors =
            Tensors::read(inputs, double).map_err(|what| weights(format!("inputs.safetensors: {what}")))?;
        let matrix = matrix(&mut tensors, "weight", [config.width, certificate.claim.dims]).map_err(weights)?;
        let bias = vector(&mut tensors, "bias", config.width).map_err(weights)?;
        tensors.none_left().map_err(weights)?;
        Some((matrix, bias))
    } else {
        None
    };
    raw.hosted(certificate, class, config, embed)
}

/// The tensors of a host, as rows `[out][in]`.
struct Raw {
    words: Matrix,
    positions: Matrix,
    gains: Matrix,
    blocks: Vec<Block>,
    classifier: Matrix,
}

struct Block {
    queries: Matrix,
    keys: Matrix,
    values: Matrix,
    output: Matrix,
    inner: Matrix,
    factors: Option<Matrix>,
    outer: Matrix,
}

fn weights(what: String) -> Fault {
    ("weights", what)
}

fn matrix(tensors: &mut Tensors<'_>, name: &str, [rows, columns]: [usize; 2]) -> Result<Matrix, String> {
    let mut numbers = tensors.take(name, &[rows, columns])?;
    Ok((0..rows).map(|_| numbers.by_ref().take(columns).collect()).collect())
}

fn vector(tensors: &mut Tensors<'_>, name: &str, length: usize) -> Result<Vec<Dyadic>, String> {
    Ok(tensors.take(name, &[length])?.collect())
}

/// Takes out numbers that are 0.
fn zeros(tensors: &mut Tensors<'_>, name: &str, shape: &[usize]) -> Result<(), Fault> {
    match tensors.take(name, shape).map_err(weights)?.position(|number| !number.is_zero()) {
        Some(at) => Err(("mirror", format!("tensor {name:?} is not 0 at entry {at}, and a host has no biases"))),
        None => Ok(()),
    }
}

fn transposed(matrix: &Matrix, columns: usize) -> Matrix {
    (0..columns).map(|column| matrix.iter().filter_map(|row| row.get(column).cloned()).collect()).collect()
}

/// Takes out what tensors of a class are made of.
struct Maps<'m, 't> {
    tensors: &'m mut Tensors<'t>,
    class: &'static Class,
    width: usize,
}

impl Maps<'_, '_> {
    /// A linear map by its rows; a bias is 0.
    fn map(&mut self, name: &str, [inner, outer]: [usize; 2]) -> Result<Matrix, Fault> {
        if self.class.biased {
            zeros(self.tensors, &format!("{name}.bias"), &[outer])?;
        }
        let name = format!("{name}.weight");
        if self.class.transposed {
            Ok(transposed(&matrix(self.tensors, &name, [inner, outer]).map_err(weights)?, outer))
        } else {
            matrix(self.tensors, &name, [outer, inner]).map_err(weights)
        }
    }

    /// The gains of a norm; a bias is 0.
    fn norm(&mut self, name: &str) -> Result<Vec<Dyadic>, Fault> {
        if self.class.biased {
            zeros(self.tensors, &format!("{name}.bias"), &[self.width])?;
        }
        vector(self.tensors, &format!("{name}.weight"), self.width).map_err(weights)
    }

    fn block(&mut self, number: usize, hidden: usize) -> Result<Block, Fault> {
        let (class, width) = (self.class, self.width);
        let name = |part: &str| format!("{}.{number}.{part}", class.layer);
        let share = width.saturating_mul(3).checked_div(class.heads.len()).unwrap_or(0);
        let mut rows = Vec::new();
        for part in class.heads {
            rows.extend(self.map(&name(part), [width, share])?);
        }
        let mut rows = rows.into_iter();
        let [queries, keys, values] = [(); 3].map(|()| rows.by_ref().take(width).collect());
        let [output, inner, outer] = class.maps;
        let times = if matches!(class.factor, Factor::Half) { 2 } else { 1 };
        let output = self.map(&name(output), [width, width])?;
        let mut inner = self.map(&name(inner), [width, hidden.saturating_mul(times)])?;
        let factors = match class.factor {
            Factor::None => None,
            Factor::Map(part) => Some(self.map(&name(part), [width, hidden])?),
            Factor::Half => Some(inner.split_off(hidden.min(inner.len()))),
        };
        let outer = self.map(&name(outer), [hidden, width])?;
        Ok(Block { queries, keys, values, output, inner, factors, outer })
    }
}

/// Refuses a map that changes something.
fn identity(rows: &Matrix, name: &str) -> Result<(), Fault> {
    for (number, row) in rows.iter().enumerate() {
        let one = |at: usize| if at == number { Dyadic::ONE } else { Dyadic::ZERO };
        if let Some((at, found)) = row.iter().enumerate().find(|(at, x)| **x != one(*at)) {
            return Err((
                "identity",
                format!("{name}: {found} in row {number}, column {at}, where {} should be", one(at)),
            ));
        }
    }
    Ok(())
}

impl Raw {
    fn read(tensors: &mut Tensors<'_>, class: &'static Class, config: &Config) -> Result<Self, Fault> {
        let Config { width, heads, positions, words, outputs, .. } = *config;
        let mut places = Vec::new();
        if let Some((name, before)) = class.positions {
            // Those before the first one are not used.
            let all = matrix(tensors, name, [positions.saturating_add(before), width]).map_err(weights)?;
            places = all.into_iter().skip(before).collect();
        }
        let words = matrix(tensors, class.words, [words, width]).map_err(weights)?;
        if let Some((name, shape)) = class.zeros {
            let side = |extent| match extent {
                Extent::Whole(side) => side,
                Extent::Heads => heads,
                Extent::Width => width,
            };
            zeros(tensors, name, &shape.map(side))?;
        }
        let (name, for_words) = class.outputs;
        let rows = if for_words { words.len() } else { outputs };
        let mut classifier = matrix(tensors, &format!("{name}.weight"), [rows, width]).map_err(weights)?;
        classifier.truncate(outputs);
        if !for_words {
            zeros(tensors, &format!("{name}.bias"), &[outputs])?;
        }
        let mut maps = Maps { tensors, class, width };
        let (mut gains, mut blocks) = (Vec::new(), Vec::new());
        let [first, last] = class.ends;
        for name in first {
            gains.push(maps.norm(name)?);
        }
        for number in 0..config.blocks {
            blocks.push(maps.block(number, config.hidden)?);
            let skipped = usize::from(class.order == Order::Ends && number == 0);
            for part in class.norms.iter().skip(skipped) {
                gains.push(maps.norm(&format!("{}.{number}.{part}", class.layer))?);
            }
        }
        for name in last {
            gains.push(maps.norm(name)?);
        }
        if let Some(name) = class.identity {
            identity(&maps.map(name, [width, width])?, name)?;
        }
        Ok(Self { words, positions: places, gains, blocks, classifier })
    }

    fn hosted(
        self,
        certificate: &HostCertificate,
        class: &Class,
        config: &Config,
        embed: Option<(Matrix, Vec<Dyadic>)>,
    ) -> Result<Hosted, Fault> {
        let scale = certificate.power().ok_or_else(|| ("format", "a scale that is no power of two".to_owned()))?;
        let half = config.width / 2;
        let pinned = |row: &[Dyadic]| row.get(half.saturating_sub(1)).cloned().unwrap_or(Dyadic::ZERO);
        // Rows of words that are no tokens are not used.
        let tokens = self.words.iter().take(config.tokens);
        let starts: Vec<&Vec<Dyadic>> = embed.as_ref().map_or_else(|| tokens.clone().collect(), |(_, bias)| vec![bias]);
        let pin = starts.first().map_or(Dyadic::ZERO, |row| pinned(row));
        let pins = Pinned { half, pin };
        pins.all_alike(&starts)?;
        let mut placed = Vec::new();
        for (t, row) in self.positions.iter().enumerate() {
            pins.mirrored(row, &format!("position {t}"))?;
            pins.unpinned(row, &format!("position {t}"))?;
            placed.push(pins.registers(row));
        }
        if placed.iter().flatten().all(Dyadic::is_zero) {
            placed.clear();
        }
        let mut layers = Vec::new();
        for (number, block) in self.blocks.into_iter().enumerate() {
            let [heads, forward] = pins
                .block(&block, class, config, &scale)
                .map_err(|(obligation, what)| (obligation, format!("block {number}: {what}")))?;
            layers.extend([heads, forward]);
        }
        let one = Dyadic::ONE;
        let read_out = pins.readers(&self.classifier, &one, "the classifier")?;
        let format = if certificate.claim.double { Format::DOUBLE } else { Format::SINGLE };
        let (embed, words) = match embed {
            Some((weight, bias)) => (pins.writers(&weight, &one, Some(&bias), "inputs")?, None),
            None => (Vec::new(), Some(tokens.map(|row| pins.registers(row)).collect())),
        };
        let run = Run { blocks: config.blocks, attention: Some(attention(class, config)), hidden: Some(config.hidden) };
        let claim = Certificate {
            width: half.saturating_sub(1),
            // Of several numbers of tokens none has a wire for them.
            positions: if certificate.claim.tokens[0] == certificate.claim.tokens[1] { placed.len() } else { 0 },
            runs: vec![run],
            ..certificate.claim.clone()
        };
        let network = Network { format, embed, positions: placed, layers, read_out };
        let host = Host {
            width: config.width,
            dims: certificate.claim.dims,
            pin: pins.pin,
            scale,
            eps: config.eps.clone(),
            gains: self.gains,
            order: class.order,
            centred: class.centred,
            activation: class.activation,
            gated: !matches!(class.factor, Factor::None),
            words,
            labels: certificate.labels.clone(),
        };
        Ok(Hosted { host, network, claim })
    }
}

/// The mask of all heads of a class.
fn mask(class: &Class) -> Mask {
    Mask { limits: [None, class.causal.then_some(0), None, None], first: false, connections: None }
}

fn attention(class: &Class, config: &Config) -> Attention {
    Attention {
        kind: "softmax".to_owned(),
        heads: config.heads,
        head_size: config.head_size,
        value_size: config.head_size,
        size: 0,
        masks: vec![mask(class); config.heads],
        cycle: Vec::new(),
    }
}

/// The places of mirrors and pins.
struct Pinned {
    half: usize,
    pin: Dyadic,
}

impl Pinned {
    /// Refuses a row whose second half is not the negative of the first.
    fn mirrored(&self, row: &[Dyadic], what: &str) -> Result<(), Fault> {
        let (first, second) = row.split_at_checked(self.half).unwrap_or((row, &[]));
        let apart = |p: &usize| first.get(*p).map(|x| -x) != second.get(*p).cloned();
        match (0..first.len().max(second.len())).find(apart) {
            None => Ok(()),
            Some(p) => {
                let shown = |side: &[Dyadic]| side.get(p).map_or("nothing".to_owned(), Dyadic::to_string);
                let (one, other) = (shown(first), shown(second));
                Err(("mirror", format!("{what}: {one} in coordinate {p}, and {other} in the one that mirrors it")))
            }
        }
    }

    fn at_pin<'r>(&self, row: &'r [Dyadic]) -> Option<&'r Dyadic> {
        row.get(self.half.saturating_sub(1))
    }

    /// Refuses a row that is not 0 at the pin.
    fn unpinned(&self, row: &[Dyadic], what: &str) -> Result<(), Fault> {
        match self.at_pin(row) {
            Some(x) if x.is_zero() => Ok(()),
            found => {
                let found = found.map_or("nothing".to_owned(), Dyadic::to_string);
                Err(("pin", format!("{what}: {found} at the pin, where 0 should be")))
            }
        }
    }

    /// Refuses pins of different tokens that differ, or that are not above 0.
    fn all_alike(&self, rows: &[&Vec<Dyadic>]) -> Result<(), Fault> {
        if self.pin <= Dyadic::ZERO {
            return Err(("pin", format!("a pin of {}, which is not above 0", self.pin)));
        }
        for (number, row) in rows.iter().enumerate() {
            self.mirrored(row, &format!("row {number} of the embedding"))?;
            if self.at_pin(row) != Some(&self.pin) {
                let found = self.at_pin(row).map_or("nothing".to_owned(), Dyadic::to_string);
                return Err(("pin", format!("a pin of {found} in row {number}, and of {} before", self.pin)));
            }
        }
        Ok(())
    }

    /// The registers of a row.
    fn registers(&self, row: &[Dyadic]) -> Vec<Dyadic> {
        row.iter().take(self.half.saturating_sub(1)).cloned().collect()
    }

    /// Rows that read the stream: twice the weights of the first half, with what they read from the pin.
    fn readers(&self, rows: &Matrix, times: &Dyadic, what: &str) -> Result<Vec<Row>, Fault> {
        let double = &(&Dyadic::ONE + &Dyadic::ONE) * times;
        let mut readers = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            self.mirrored(row, &format!("row {number} of {what}"))?;
            let pin = self.at_pin(row).cloned().unwrap_or(Dyadic::ZERO);
            let weights = self.registers(row).into_iter().map(|weight| &weight * &double);
            readers.push(Row::new(weights, &(&pin * &self.pin) * &double));
        }
        Ok(readers)
    }

    /// Rows that write into registers.
    fn writers(
        &self,
        rows: &Matrix,
        times: &Dyadic,
        bias: Option<&Vec<Dyadic>>,
        what: &str,
    ) -> Result<Vec<Row>, Fault> {
        let columns = rows.first().map_or(0, Vec::len);
        for (number, column) in transposed(rows, columns).iter().enumerate() {
            self.mirrored(column, &format!("column {number} of {what}"))?;
            self.unpinned(column, &format!("column {number} of {what}"))?;
        }
        let registers = self.half.saturating_sub(1);
        let row = |(p, row): (usize, &Vec<Dyadic>)| {
            let bias = bias.and_then(|bias| bias.get(p)).cloned().unwrap_or(Dyadic::ZERO);
            Row::new(row.iter().map(|weight| weight * times), bias)
        };
        Ok(rows.iter().take(registers).enumerate().map(row).collect())
    }

    /// Refuses factors that are not 1, read from the pin alone, but of units that read nothing.
    fn ones(factors: &[Row], units: &[Row]) -> Result<(), Fault> {
        for (number, (factor, unit)) in factors.iter().zip(units).enumerate() {
            if let Some((register, _)) = factor.weights.first() {
                return Err((
                    "gate",
                    format!("the factor of unit {number} reads register {register}, and not the pin alone"),
                ));
            }
            if factor.bias != Dyadic::ONE && !(unit.is_zero() && factor.bias.is_zero()) {
                return Err(("gate", format!("the factor of unit {number} is {}, where 1 should be", factor.bias)));
            }
        }
        Ok(())
    }

    /// The layers of a block.
    fn block(&self, block: &Block, class: &Class, config: &Config, scale: &Dyadic) -> Result<[Layer; 2], Fault> {
        let one = Dyadic::ONE;
        let inverse = |x: &Dyadic| Dyadic::power_of_two(x.quantum().unwrap_or(0).saturating_neg());
        let mut queries = self.readers(&block.queries, &inverse(&config.root), "the queries")?.into_iter();
        for (rows, what) in [(&block.keys, "the keys"), (&block.values, "the values")] {
            for (number, row) in rows.iter().enumerate() {
                self.unpinned(row, &format!("row {number} of {what}"))?;
            }
        }
        let mut keys = self.readers(&block.keys, &one, "the keys")?.into_iter();
        let mut values = self.readers(&block.values, &one, "the values")?.into_iter();
        let output = self.writers(&block.output, &one, None, "the map behind the heads")?;
        let size = config.head_size;
        let mut heads = Vec::new();
        for head in 0..config.heads {
            let (from, before) = (head.saturating_mul(size), head.saturating_add(1).saturating_mul(size));
            let of_head = |row: &Row| {
                let own = row.weights.iter().filter(|(at, _)| (from..before).contains(at));
                let weights = own.map(|(at, weight)| (at.saturating_sub(from), weight.clone())).collect();
                Row { weights, bias: Dyadic::ZERO }
            };
            heads.push(Head {
                mask: mask(class),
                q: queries.by_ref().take(size).collect(),
                k: keys.by_ref().take(size).collect(),
                v: values.by_ref().take(size).collect(),
                o: output.iter().map(of_head).collect(),
            });
        }
        let units = self.readers(&block.inner, &inverse(scale), "the units")?;
        if let Some(factors) = &block.factors {
            Self::ones(&self.readers(factors, &one, "the factors")?, &units)?;
        }
        let gains = self.writers(&block.outer, scale, None, "the map behind the units")?;
        Ok([Layer::Attention(heads), Layer::FeedForward { units, gains }])
    }
}
