//! Reads a network inside of a stock Transformer: `config.json`, the tensors of its class, and the network that half the
//! differences of mirrored coordinates are (CERTIFICATE.md, section 10).

mod bert;
mod config;
mod gpt2;

use super::certificate::{Attention, Certificate, HostCertificate, Mask, Run};
use super::weights::{Head, Layer, Network, Tensors};
use crate::kernel::format::Format;
use crate::kernel::number::{Dyadic, Ratio};
use crate::kernel::sum::Row;

pub use config::{Config, Misfit, Setting, Side};

/// A class of stock Transformers.
pub struct Class {
    /// Its name.
    pub name: &'static str,
    /// Its class in `transformers`.
    pub architecture: &'static str,
    /// True if norms stand behind layers, and behind the embedding; false if before layers, and at the end.
    pub behind: bool,
    /// True if tokens see those up to their own, and no others.
    pub causal: bool,
    /// True if the weights of a block are `[in, out]`.
    pub transposed: bool,
    /// Its settings, beside those of all classes.
    pub settings: &'static [(&'static str, Setting)],
    /// The rows of words, and of positions.
    pub words: &'static str,
    /// The rows of positions.
    pub positions: &'static str,
    /// A row of 0 that every token gets.
    pub types: Option<&'static str>,
    /// The norm behind the embedding, or at the end.
    pub norm: &'static str,
    /// The beginning of the names of a block.
    pub layer: &'static str,
    /// Queries, keys and values, or all in one.
    pub heads: &'static [&'static str],
    /// The maps behind the heads, before the activation and behind it.
    pub maps: [&'static str; 3],
    /// The norms of a block.
    pub norms: [&'static str; 2],
}

/// The classes that are known here.
static CLASSES: [&Class; 2] = [&bert::BERT, &gpt2::GPT2];

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
    /// True if norms stand behind layers.
    pub behind: bool,
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
    class: &Class,
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

impl Raw {
    fn read(tensors: &mut Tensors<'_>, class: &Class, config: &Config) -> Result<Self, Fault> {
        let Config { width, hidden, positions, words, outputs, .. } = *config;
        let places = matrix(tensors, class.positions, [positions, width]).map_err(weights)?;
        let words = matrix(tensors, class.words, [words, width]).map_err(weights)?;
        class.types.iter().try_for_each(|name| zeros(tensors, name, &[1, width]))?;
        let classifier = matrix(tensors, "classifier.weight", [outputs, width]).map_err(weights)?;
        zeros(tensors, "classifier.bias", &[outputs])?;
        let norm = |tensors: &mut Tensors<'_>, name: &str| {
            zeros(tensors, &format!("{name}.bias"), &[width])?;
            vector(tensors, &format!("{name}.weight"), width).map_err(weights)
        };
        let map = |tensors: &mut Tensors<'_>, name: &str, [inner, outer]: [usize; 2]| {
            zeros(tensors, &format!("{name}.bias"), &[outer])?;
            let name = format!("{name}.weight");
            if class.transposed {
                Ok(transposed(&matrix(tensors, &name, [inner, outer]).map_err(weights)?, outer))
            } else {
                matrix(tensors, &name, [outer, inner]).map_err(weights)
            }
        };
        let single = norm(tensors, class.norm)?;
        let (mut gains, mut blocks) = (Vec::new(), Vec::new());
        for number in 0..config.blocks {
            let name = |part: &str| format!("{}.{number}.{part}", class.layer);
            let share = width.saturating_mul(3).checked_div(class.heads.len()).unwrap_or(0);
            let mut rows = Vec::new();
            for part in class.heads {
                rows.extend(map(tensors, &name(part), [width, share])?);
            }
            let mut rows = rows.into_iter();
            let [queries, keys, values] = [(); 3].map(|()| rows.by_ref().take(width).collect());
            let [output, inner, outer] = class.maps;
            blocks.push(Block {
                queries,
                keys,
                values,
                output: map(tensors, &name(output), [width, width])?,
                inner: map(tensors, &name(inner), [width, hidden])?,
                outer: map(tensors, &name(outer), [hidden, width])?,
            });
            for part in class.norms {
                gains.push(norm(tensors, &name(part))?);
            }
        }
        gains.insert(if class.behind { 0 } else { gains.len() }, single);
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
        let starts: Vec<&Vec<Dyadic>> =
            embed.as_ref().map_or_else(|| self.words.iter().collect(), |(_, bias)| vec![bias]);
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
            None => (Vec::new(), Some(self.words.iter().map(|row| pins.registers(row)).collect())),
        };
        let run = Run { blocks: config.blocks, attention: Some(attention(class, config)), hidden: Some(config.hidden) };
        let claim = Certificate {
            width: half.saturating_sub(1),
            positions: placed.len(),
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
            behind: class.behind,
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
        let gains = self.writers(&block.outer, scale, None, "the map behind the units")?;
        Ok([Layer::Attention(heads), Layer::FeedForward { units, gains }])
    }
}
