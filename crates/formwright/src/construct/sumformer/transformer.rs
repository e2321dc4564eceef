//! Theorem 4.3: a Sumformer is a Transformer with one attention layer.
//!
//! The residual stream of a token is `[x, bank, φ(x), Σ, ψ(x, Σ)]`. A token-wise network with hidden layers
//! `h_1, …, h_{L-1}` takes one block per layer; the bank holds the last hidden layer, which is not negative, so that
//! the same ReLUs read it and empty it:
//!
//! ```text
//! first    bank += R(W_1 x + b_1)
//! inner    bank += R(W_l bank + b_l) - R(bank)
//! last     out  += W_L R(bank) + b_L,   bank -= R(bank)
//! sum      Σ    += (1/n) Σ_k n φ(x_k)                        W_Q = 0: all scores are 0, all weights 1/n
//! ```
//!
//! A network of one affine map reads its inputs as `R(x) - R(-x)`. ψ reads `x` and Σ, which φ left as they were.
//!
//! *Size*: `L_φ + L_ψ` blocks, the attention layer in the first block of ψ; width `d + w + 2d' + d_out`, `w` the widest
//! hidden layer.
//!
//! *Departures*: the paper adds a channel that is 1 and lets `W_Q` and `W_K` read it, so that all scores are 1; with
//! `W_Q = 0` they are all 0, and the channel is not needed. The paper's φ and ψ are networks by an existence theorem;
//! here they are given.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::network::{
    Activation, Affine, Attention, Coordinate, FeedForward, FloatNetwork, Generator, Head, Layer, LayerKind, Matrix,
    Network, Sequence, Stage, StageSize, Sumformer, TokenNetwork, add,
};

/// The registers of the parts of a token in the residual stream.
#[derive(Clone, Copy, Debug)]
struct Places {
    dims: usize,
    bank: usize,
    latent: usize,
    outputs: usize,
}

impl Places {
    /// The registers for networks of these sizes ([`TokenNetwork::sizes`]).
    fn of(phi: &[usize], psi: &[usize]) -> Self {
        let hidden = |sizes: &[usize]| sizes[1..sizes.len() - 1].iter().copied().max().unwrap_or(0);
        let bank = hidden(phi).max(hidden(psi));
        Self { dims: phi[0], bank, latent: phi[phi.len() - 1], outputs: psi[psi.len() - 1] }
    }

    /// The registers that φ reads.
    fn token(self) -> Vec<usize> {
        (0..self.dims).collect()
    }

    /// The registers that ψ reads.
    fn token_and_sum(self) -> Vec<usize> {
        (0..self.dims).chain(self.sum()..self.out()).collect()
    }

    fn phi(self) -> usize {
        self.dims + self.bank
    }

    fn sum(self) -> usize {
        self.phi() + self.latent
    }

    fn out(self) -> usize {
        self.sum() + self.latent
    }

    fn width(self) -> usize {
        self.out() + self.outputs
    }

    fn coordinates(self) -> Vec<Coordinate> {
        let named = |name: &str, count: usize, meaning: &str| -> Vec<Coordinate> {
            let one = |k| Coordinate { name: format!("{name}{k}"), meaning: meaning.to_owned() };
            (0..count).map(one).collect()
        };
        [
            named("x", self.dims, "the token"),
            named("h", self.bank, "a hidden layer of φ, then of ψ; empty in between"),
            named("phi", self.latent, "φ(x)"),
            named("sum", self.latent, "Σ, the sum of φ over all tokens, once they have been added up"),
            named("y", self.outputs, "ψ(x, Σ)"),
        ]
        .concat()
    }
}

/// The places of φ and ψ among the stages; the sum stands between them.
const PHI: usize = 0;
const PSI: usize = 2;

/// The Transformer of a Sumformer, for `tokens` tokens.
pub(crate) fn transformer(sumformer: &Sumformer, tokens: usize) -> Result<Network> {
    if tokens == 0 {
        return Err(Error::input("a Transformer of no tokens").note("try", "⟨tokens=3⟩"));
    }
    let sumformer = Arc::new(sumformer.clone());
    let places = Places::of(&sumformer.phi().sizes(), &sumformer.psi().sizes());
    let (width, dims) = (places.width(), places.dims);
    let stage = |name, meaning: &str, generator: Box<dyn Generator>| Stage {
        name,
        statement: "theorem4.3",
        meaning: meaning.to_owned(),
        generator,
    };
    let wise = |of: fn(&Sumformer) -> &TokenNetwork, read: Vec<usize>, write: usize| {
        Box::new(TokenWise { of, sumformer: Arc::clone(&sumformer), places, read, write })
    };
    let stages = vec![
        stage("phi", "φ of every token", wise(Sumformer::phi, places.token(), places.phi())),
        stage("sum", "every token sees the sum of φ over all tokens", Box::new(Sum { tokens, places })),
        stage("psi", "ψ of every token and the sum", wise(Sumformer::psi, places.token_and_sum(), places.out())),
    ];
    let pick = |rows: usize, columns: usize, first: (usize, usize), count: usize| {
        let mut matrix = vec![vec![Rat::ZERO; columns]; rows];
        (0..count).for_each(|k| matrix[first.0 + k][first.1 + k] = Rat::ONE);
        matrix
    };
    Ok(Network {
        tokens,
        coordinates: places.coordinates(),
        embed: Affine { weight: pick(width, dims, (0, 0), dims), bias: vec![Rat::ZERO; width] },
        positions: None,
        stages,
        read_out: Affine {
            weight: pick(places.outputs, width, (0, places.out()), places.outputs),
            bias: vec![Rat::ZERO; places.outputs],
        },
    })
}

/// The Sumformer whose φ and ψ, of these sizes, a float network holds: every weight is read where [`transformer`] puts
/// it. `None` if the network has no such layers. The rest of the network is ignored; to check it, build the network
/// anew and compare.
pub(crate) fn recover(network: &FloatNetwork, phi: &[usize], psi: &[usize]) -> Option<Sumformer> {
    let width = network.width();
    let plausible = |sizes: &[usize]| sizes.len() > 1 && sizes.iter().all(|size| (1..=width).contains(size));
    if !plausible(phi) || !plausible(psi) {
        return None;
    }
    let places = Places::of(phi, psi);
    let token_network = |stage: usize, sizes: &[usize], read: &[usize], write: usize| {
        let layers = network.layers().filter(|layer| layer.stage == stage);
        let layers: Vec<Vec<&[f64]>> =
            layers.map(|layer| layer.tensors.iter().map(|(_, _, entries)| *entries).collect()).collect();
        if layers.len() != sizes.len() - 1 || read.len() != sizes[0] {
            return None;
        }
        let affine = |(place, layer): (usize, &Vec<&[f64]>)| {
            let [w1, b1, w2, b2] = layer[..] else { return None };
            let (inputs, outputs, hidden) = (sizes[place], sizes[place + 1], b1.len());
            let last = place + 2 == sizes.len();
            let weight = |row: usize, k: usize| match (last, place) {
                (false, 0) => w1.get(row * width + read[k]),
                (false, _) => w1.get(row * width + places.dims + k),
                // Of R(-x) and R(x), take the second.
                (true, 0) => w2.get((write + row) * hidden + 2 * k + 1),
                (true, _) => w2.get((write + row) * hidden + k),
            };
            let bias = |row: usize| if last { b2.get(write + row) } else { b1.get(row) };
            let exact = |entry: Option<&f64>| Rat::from_f64(*entry?);
            let rows = |row: usize| (0..inputs).map(|k| exact(weight(row, k))).collect::<Option<Vec<Rat>>>();
            let weight = (0..outputs).map(rows).collect::<Option<Matrix>>()?;
            Some(Affine { weight, bias: (0..outputs).map(|row| exact(bias(row))).collect::<Option<_>>()? })
        };
        TokenNetwork::new(layers.iter().enumerate().map(affine).collect::<Option<_>>()?).ok()
    };
    let phi = token_network(PHI, phi, &places.token(), places.phi())?;
    Sumformer::new(phi, token_network(PSI, psi, &places.token_and_sum(), places.out())?).ok()
}

/// A hidden unit: the weights that it reads with, its bias, and its outputs.
type Unit = (Vec<Rat>, Rat, Vec<(usize, Rat)>);

/// The blocks of φ or ψ.
#[derive(Debug)]
struct TokenWise {
    of: fn(&Sumformer) -> &TokenNetwork,
    sumformer: Arc<Sumformer>,
    places: Places,
    /// The coordinates that the network reads.
    read: Vec<usize>,
    /// The first of the coordinates that it writes.
    write: usize,
}

impl TokenWise {
    fn network(&self) -> &TokenNetwork {
        (self.of)(&self.sumformer)
    }

    /// One block: units `R(W z + b)`, of which some are written to the bank, and `R(bank)`.
    fn layer(&self, place: usize) -> FeedForward {
        let (layers, width, bank) = (self.network().layers(), self.places.width(), self.places.dims);
        let Affine { weight, bias } = &layers[place];
        let mut units: Vec<Unit> = Vec::new();
        let mut b2 = vec![Rat::ZERO; width];
        let one = |place: usize, sign: Rat| {
            let mut row = vec![Rat::ZERO; width];
            row[place] = sign;
            row
        };
        // The layer reads the inputs themselves, or the bank.
        let read: Vec<usize> =
            if place == 0 { self.read.clone() } else { (0..weight[0].len()).map(|k| bank + k).collect() };
        let column = |k: usize, sign: &Rat| -> Vec<(usize, Rat)> {
            weight.iter().enumerate().map(|(row, entries)| (self.write + row, sign * &entries[k])).collect()
        };
        if place + 1 < layers.len() {
            for (row, (entries, bias)) in weight.iter().zip(bias).enumerate() {
                let mut reads = vec![Rat::ZERO; width];
                read.iter().zip(entries).for_each(|(place, entry)| reads[*place] = entry.clone());
                units.push((reads, bias.clone(), vec![(bank + row, Rat::ONE)]));
            }
            if place > 0 {
                let empty = |k: &usize| (one(*k, Rat::ONE), Rat::ZERO, vec![(*k, -Rat::ONE)]);
                units.extend(read.iter().map(empty));
            }
        } else {
            for (k, place_read) in read.iter().enumerate() {
                let mut writes = column(k, &Rat::ONE);
                if place > 0 {
                    writes.push((*place_read, -Rat::ONE));
                } else {
                    units.push((one(*place_read, -Rat::ONE), Rat::ZERO, column(k, &-Rat::ONE)));
                }
                units.push((one(*place_read, Rat::ONE), Rat::ZERO, writes));
            }
            bias.iter().enumerate().for_each(|(row, bias)| b2[self.write + row] = bias.clone());
        }
        let mut w2 = vec![vec![Rat::ZERO; units.len()]; width];
        for (unit, (_, _, writes)) in units.iter().enumerate() {
            for (row, entry) in writes {
                w2[*row][unit] = entry.clone();
            }
        }
        let activations = vec![Activation::Relu; units.len()];
        let (w1, b1) = units.into_iter().map(|(reads, bias, _)| (reads, bias)).unzip();
        FeedForward { w1, b1, activations, w2, b2 }
    }
}

impl Generator for TokenWise {
    fn width(&self) -> usize {
        self.places.width()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::FeedForward
    }

    fn size(&self) -> StageSize {
        let layers = self.network().layers();
        let rows = |layer: &Affine| layer.weight.len();
        let units: Vec<usize> = (0..layers.len())
            .map(|place| match (place, place + 1 == layers.len()) {
                (0, true) => 2 * self.read.len(),
                (0, false) => rows(&layers[0]),
                (_, false) => rows(&layers[place]) + rows(&layers[place - 1]),
                (_, true) => rows(&layers[place - 1]),
            })
            .collect();
        // Every entry of a weight and a bias counts once, but twice where a single map splits its inputs; a unit that
        // empties has two ends, a unit that writes to the bank or reads from it has one.
        let nonzeros: usize = layers
            .iter()
            .enumerate()
            .map(|(place, layer)| {
                let (r, c) = (rows(layer), layer.weight[0].len());
                match (place, place + 1 == layers.len()) {
                    (0, true) => 2 * c + 2 * r * c + r,
                    (0, false) => r * c + 2 * r,
                    (_, false) => r * c + 2 * r + 2 * c,
                    (_, true) => r * c + r + 2 * c,
                }
            })
            .sum();
        StageSize {
            layers: Int::from(layers.len()),
            heads: 0,
            head_size: 0,
            hidden: units.iter().copied().max().unwrap_or(0),
            units: Int::from(units.iter().sum::<usize>()),
            nonzeros: Int::from(nonzeros),
        }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        Box::new((0..self.network().layers().len()).map(|place| Ok(Layer::FeedForward(self.layer(place)))))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        for token in &mut state {
            let read: Vec<Rat> = self.read.iter().map(|place| token[*place].clone()).collect();
            let outputs = self.network().apply(&read);
            add(&mut token[self.write..self.write + outputs.len()], &outputs);
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        let affine = |map: &Affine| json!({"weight": map.weight, "bias": map.bias});
        json!({"read": self.read, "write": self.write, "layers": self.network().layers().iter().map(affine).collect::<Vec<_>>()})
    }
}

/// The attention layer.
#[derive(Debug)]
struct Sum {
    tokens: usize,
    places: Places,
}

impl Generator for Sum {
    fn width(&self) -> usize {
        self.places.width()
    }

    fn kind(&self) -> LayerKind {
        LayerKind::Attention
    }

    fn size(&self) -> StageSize {
        let latent = self.places.latent;
        let (layers, nonzeros) = (Int::ONE, Int::from(2 * latent));
        StageSize { layers, heads: 1, head_size: latent, hidden: 0, units: Int::ZERO, nonzeros }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        let (latent, width) = (self.places.latent, self.places.width());
        let zero = || -> Matrix { vec![vec![Rat::ZERO; width]; latent] };
        let (mut v, mut o) = (zero(), vec![vec![Rat::ZERO; latent]; width]);
        for k in 0..latent {
            v[k][self.places.phi() + k] = Rat::from(self.tokens);
            o[self.places.sum() + k][k] = Rat::ONE;
        }
        let head = Head { q: zero(), q_bias: vec![Rat::ZERO; latent], k: zero(), v, o };
        // Equal scores share the weight equally: hardmax, softmax and the average are one.
        let layer = Attention::hardmax(vec![head], None);
        Box::new(std::iter::once(Ok(Layer::Attention(layer))))
    }

    fn closed_form(&self, mut state: Sequence) -> Result<Sequence> {
        let (phi, sum, latent) = (self.places.phi(), self.places.sum(), self.places.latent);
        let mut total = vec![Rat::ZERO; latent];
        for token in &state {
            add(&mut total, &token[phi..phi + latent]);
        }
        for token in &mut state {
            add(&mut token[sum..sum + latent], &total);
        }
        Ok(state)
    }

    fn parameters(&self) -> Value {
        json!({"tokens": self.tokens, "latent": self.places.latent})
    }
}
