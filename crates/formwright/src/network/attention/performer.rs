//! Performers: positive random features instead of scores, `Σ_a a_a(Q_i) Σ_j a_a(K_j) V_j` with
//! `a_a(x) = k^{-1/2} exp(w_aᵀx − ‖x‖²/2)`, and no normaliser.
//!
//! ```text
//! uniform     q = k = 0, w drawn                 v/n: ‖a_0‖ = 1 for every draw
//! loss        2η ⊕ γ(n + k + 5) ⊕ rest           n in Σ_j, k in Σ_a; twice k^{-1/2}, rounded, and its product, or one
//!                                                division by k; 1 for v/n
//! constant    q = k = e_1, a channel that is 1   v/n, into registers of their own; one more feed-forward layer adds
//!                                                (o/λ)(R(t) − R(−t)) and empties them,
//!                                                λ = ‖a_0‖² = (1/k) Σ_a exp(2 w_a − 1)
//! loss        2η ⊕ γ(n + k + 9) ⊕ rest           the exponents w_a − ½ are exact; o/λ, its product, R(t) − R(−t), and
//!                                                the way through a register
//! integers    divided by k, or twice by √k: exact for a power of four k
//! ```

#[cfg(test)]
use super::Realisation;
use super::widen::{add_coordinate, most_sums, wide_layer, widen_ends, widened};
use super::{
    AttentionKind, Choice, Detour, Formula, Gaussians, Integers, KEYS, Kind, Look, Loss, Roundings, Rows, Sizes, Step,
    VALUES, uniform,
};
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::network::{AttentionRun, FeedForwardRun, FloatNetwork, Normaliser, Precision, Run};

/// Features instead of scores; `w` are their directions.
pub(crate) const FORMULA: Formula = Formula {
    name: "performer",
    steps: &[Step::Features { of: KEYS, by: "w" }, Step::Products { features: Rows(2), of: VALUES }],
    look: Look::Features { by: "w", values: Rows(3) },
};

/// Positive random features of queries and keys. They are 0; in the variant, a constant channel of the residual
/// stream, as in the paper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Performer;

impl Performer {
    #[cfg(test)]
    /// Whose queries and keys are 0.
    pub fn of(size: usize, seed: u64) -> Realisation {
        Realisation { kind: &Self, choice: Choice { size, variant: false, at: seed } }
    }

    #[cfg(test)]
    /// Whose queries and keys are a constant channel.
    pub fn constant(size: usize, seed: u64) -> Realisation {
        Realisation { kind: &Self, choice: Choice { size, variant: true, at: seed } }
    }
}

impl Kind for Performer {
    fn name(&self) -> &'static str {
        FORMULA.name
    }

    fn formula(&self) -> &'static Formula {
        &FORMULA
    }

    fn variant(&self) -> Option<&'static str> {
        Some("constant")
    }

    fn gives_sum(&self) -> bool {
        true
    }

    /// `1/‖a_0‖²` of a constant row is not rational.
    fn normaliser(&self, choice: &Choice) -> Option<Normaliser> {
        (!choice.variant).then_some(Normaliser::Sum)
    }

    fn loss(&self, choice: &Choice, tokens: usize, roundings: &Roundings) -> Loss {
        if !choice.variant {
            return roundings.loss(roundings.both(tokens + choice.size + 11), tokens);
        }
        // What a constant row loses is divided by λ/(1/k)Σ_a exp(w_a − ½) ≥ √λ ≥ exp(-7/2) > 2^-6.
        let Loss { relative, absolute } = roundings.loss(roundings.both(tokens + choice.size + 15), tokens);
        Loss { relative, absolute: 64.0 * absolute }
    }

    /// The sums of the heads of a constant row are `‖a_0‖² ≤ e^5` times as large, until it is divided.
    fn growth(&self, choice: &Choice) -> f64 {
        if choice.variant { 256.0 } else { 1.0 }
    }

    fn sums_of_integers(&self, choice: &Choice, _: usize) -> Integers {
        let size = choice.size;
        if choice.variant {
            return Integers::Divided { divisor: size, exact: false, wanted: "performer:k, without :constant" };
        }
        let exact = size.is_power_of_two() && size.trailing_zeros().is_multiple_of(2);
        Integers::Divided { divisor: size, exact, wanted: "performer:k with a power of four k" }
    }

    fn drawn(&self, _: usize) -> Option<(usize, &'static str)> {
        Some((1, "features"))
    }

    fn tensors(&self, choice: &Choice, sizes: &Sizes, draws: &mut Gaussians) -> Vec<Vec<f64>> {
        vec![draws.draw(sizes.heads * choice.size * sizes.head_size)]
    }

    fn more_blocks(&self, choice: &Choice) -> (usize, bool) {
        (0, choice.variant)
    }

    fn realise(&self, choice: &Choice, network: FloatNetwork) -> Result<FloatNetwork> {
        let tensors = |sizes: &Sizes, draws: &mut Gaussians| self.tensors(choice, sizes, draws);
        let network = uniform::realise(network, &FORMULA, true, tensors, choice)?;
        Ok(if choice.variant { with_constant_row(network) } else { network })
    }

    fn detour(&self, choice: &Choice, network: &FloatNetwork) -> Option<Detour> {
        if !choice.variant {
            return Some(Detour::default());
        }
        let heads = || network.runs.iter().filter_map(|run| run.attention.as_ref());
        // All queries read the channel.
        let one = heads().next()?.q.iter().position(|q| *q != 0.0)?;
        let near = |w: &[f64]| Rat::from_f64(lambda(w).to_f64());
        let of_layer = |run: &AttentionRun| run.kind.tensors[0].chunks_exact(run.kind.size).map(near).collect();
        let divided = heads().map(of_layer).collect::<Option<_>>()?;
        Some(Detour { held: vec![(one, Rat::ONE)], first: one + 1, divided, hub: None })
    }

    fn theorem(&self) -> &'static str {
        "Theorem 4.5"
    }

    fn mixer(&self) -> Option<&'static str> {
        Some("[:k]")
    }
}

/// The paper's form: a channel that is 1 for queries and keys, the heads' sums in registers of their own, and a layer
/// that divides them by `λ`.
fn with_constant_row(mut network: FloatNetwork) -> FloatNetwork {
    let width = network.width();
    let sums = most_sums(&network);
    if sums == 0 {
        return network;
    }
    add_coordinate(&mut network, "one".to_owned(), "1, what queries and keys see");
    for sum in 0..sums {
        let meaning = "‖a_0‖² times what a head adds up, until the layer behind has divided it";
        add_coordinate(&mut network, format!("sum{sum}"), meaning);
    }
    let wide = network.width();
    widen_ends(&mut network, width, wide);
    network.embed.bias[width] = 1.0;
    let precision = network.precision;
    let mut runs = Vec::new();
    for run in std::mem::take(&mut network.runs) {
        for block in 0..run.blocks {
            let feed_forward = run.feed_forward.as_ref().map(|layer| wide_layer(layer, block, width, wide));
            match &run.attention {
                None => runs.push(Run { blocks: 1, attention: None, feed_forward }),
                Some(attention) => {
                    let (attention, correction) =
                        with_correction(attention, (block, run.blocks), (width, wide), precision);
                    runs.push(Run { blocks: 1, attention: Some(attention), feed_forward: Some(correction) });
                    if feed_forward.is_some() {
                        runs.push(Run { blocks: 1, attention: None, feed_forward });
                    }
                }
            }
        }
    }
    network.runs = runs;
    network
}

/// The attention of one block in the wider stream, and the layer behind it.
fn with_correction(
    attention: &AttentionRun,
    (block, blocks): (usize, usize),
    (width, wide): (usize, usize),
    precision: Precision,
) -> (AttentionRun, FeedForwardRun) {
    let (heads, mv) = (attention.heads, attention.value_size);
    let part = |tensor: &[f64]| tensor[block * (tensor.len() / blocks)..][..tensor.len() / blocks].to_vec();
    let size = attention.kind.size;
    let w = part(&attention.kind.tensors[0]);
    let one: Vec<f64> = (0..heads * wide).map(|place| if place % wide == width { 1.0 } else { 0.0 }).collect();
    let sums = heads * mv;
    // Head h writes its value c to the register behind the channel.
    let register = |head: usize, c: usize| width + 1 + head * mv + c;
    let mut o = vec![0.0; heads * wide * mv];
    let mut w1 = vec![0.0; 2 * sums * wide];
    let mut w2 = vec![0.0; wide * 2 * sums];
    let written = part(&attention.o);
    for head in 0..heads {
        let lambda = lambda(&w[head * size..][..size]);
        for c in 0..mv {
            let (own, sum) = (register(head, c), head * mv + c);
            o[(head * wide + own) * mv + c] = 1.0;
            for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
                let unit = 2 * sum + side;
                w1[unit * wide + own] = sign;
                w2[own * 2 * sums + unit] = -sign;
                for i in 0..width {
                    let written = Rat::from_f64(written[(head * width + i) * mv + c]).unwrap_or_default();
                    let divided = precision.round((written / &lambda).to_f64());
                    w2[i * 2 * sums + unit] = sign * divided + 0.0;
                }
            }
        }
    }
    let realised = AttentionRun {
        stage: attention.stage,
        kind: AttentionKind { tensors: vec![w], ..attention.kind.clone() },
        heads,
        head_size: 1,
        value_size: mv,
        masks: attention.masks.clone(),
        connections: Vec::new(),
        q: one.clone(),
        q_bias: vec![0.0; heads],
        k: one,
        v: widened(&part(&attention.v), width, wide),
        o,
    };
    let stage = attention.stage;
    let correction = FeedForwardRun { stage, hidden: 2 * sums, w1, b1: vec![0.0; 2 * sums], w2, b2: vec![0.0; wide] };
    (realised, correction)
}

/// `(1/k) Σ_a exp(2 w_a − 1)`, to within far less than a rounding.
fn lambda(w: &[f64]) -> Rat {
    const PLACES: usize = 160;
    let exp = |w: &f64| {
        let exponent = Rat::from_f64(2.0 * w - 1.0).unwrap_or_default() * Rat::from(Int::ONE << PLACES);
        exponent.floor().exp_between(PLACES).0
    };
    let sum = w.iter().map(exp).fold(Int::ZERO, |sum, exp| sum + exp);
    Rat::new(sum, Int::from(w.len()) << PLACES)
}

#[cfg(test)]
mod tests {
    use super::super::loss::float;
    use super::*;

    #[test]
    fn exponentials_of_any_number_are_enclosed() {
        let places = 80;
        for x in [-700.0, -3.25, 0.0, 0.75, 1.0, 1.0 + f64::EPSILON, 2.5, 5.0, 31.75, 200.0] {
            let scaled = Rat::from_f64(x).expect("finite") * Rat::from(Int::ONE << places);
            let (below, above) = scaled.floor().exp_between(places);
            let near = |end: &Int| Rat::new(end.clone(), Int::ONE << places).to_f64();
            assert!(below <= above && near(&below) <= x.exp() * (1.0 + 4.0 * f64::EPSILON), "{x}");
            assert!(near(&above) >= x.exp() * (1.0 - 4.0 * f64::EPSILON), "{x}");
            assert!(above - below <= Int::from(8), "{x}");
        }
    }

    #[test]
    fn lambda_is_what_the_formula_says() {
        for w in [vec![0.5], vec![3.0, -3.0], vec![0.25, 1.5, -0.75]] {
            let wanted = w.iter().map(|w| (2.0 * w - 1.0_f64).exp()).sum::<f64>() / float(w.len());
            assert!((lambda(&w).to_f64() - wanted).abs() <= 8.0 * f64::EPSILON * wanted, "{w:?}");
        }
        assert_eq!(lambda(&[0.5]), Rat::ONE);
    }
}
