//! The uniform sums of a network by other heads: the feed-forward layers stay as they are, and so do `v` and `o`, up to a factor.
//!
//! ```text
//! softmax      q = 0 or k = 0      p_j = 1/n          as it is
//! average      no q, no k                             v, o as they are
//! linformer    q = k = 0           f = 1, e drawn     v/n: the head gives the sum
//! performer    q = k = 0           w drawn            v/n: ‖a_0‖ = 1 for every draw
//! performer    q = k = e_1, a channel that is 1       v/n, into registers of their own; one more feed-forward layer adds
//!   constant                                          (o/λ)(R(t) − R(−t)) and empties them, λ = ‖a_0‖² = (1/k) Σ_a exp(2 w_a − 1)
//! hub          q = k = 0, only the hub sees all       v, into registers of their own; in a second layer all see the hub alone, o; a feed-forward
//!                                                     layer empties the registers
//! ```
//!
//! # What is lost
//!
//! In the execution model `ieee-any-order` a uniform head of each kind gives `Σ_j (1 + θ_j) v_j / n` instead of the mean, `|θ_j| ≤ θ`, apart from
//! what flushing to 0 loses. With `ε` the error of a quotient of two `exp`, and counting roundings (a sum of `m` terms: `m − 1`):
//!
//! ```text
//! softmax      ε ⊕ γ(2n + 1 + 5)               exp and Σ exp; n − 1 in the sum, a quotient, or a reciprocal and a product, n in the weighted sum
//! average      γ(n + 1) ⊕ rest                 n − 1 in the sum, 1 for 1/n, 1 for its product
//! linformer    ε ⊕ γ(n + 2k + 1) ⊕ rest        scores are 0, so that all k weights are 1/k, rounded once; n in each mixture; 1 for v/n
//! performer    ε ⊕ γ(n + k + 5) ⊕ rest         n in Σ_j, k in Σ_a; twice k^{-1/2}, rounded, and its product, or one division by k; 1 for v/n
//! hub          as softmax                      the second layer has one key, of weight exp(0)/exp(0) = 1; what registers hold is read as it is, or flushed
//! constant     ε ⊕ γ(n + k + 9) ⊕ rest         the exponents w_a − ½ are exact; o/λ, its product, R(t) − R(−t), and the way through a register
//! ```
//!
//! `a ⊕ b = a + b + ab`; `rest = γ(6)`, of which softmax needs no more than 5, are `o`, its product, the rounding of a quotient in double before it is one in single precision, and
//! sums of terms of which all but one are 0.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::interval::Up;
use crate::network::realisation::Gaussians;
use crate::network::{
    AttentionKind, AttentionRun, Coordinate, FeedForwardRun, FloatNetwork, Form, Mask, Precision, Realisation, Run,
    Values,
};
use crate::pattern::Connections;
use crate::rounding::{TERMS, compound};
use crate::words::plural;

/// What a uniform head loses by rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// `θ`: relative to the mean of the absolute values.
    pub relative: Up,
    /// What flushing to 0 adds.
    pub absolute: Up,
}

impl Loss {
    /// Of a head over so many tokens; infinite if it does not give the sum.
    pub fn of(realisation: &Realisation, tokens: usize, precision: Precision) -> Self {
        let both = |roundings: usize| compound(precision.exp_quotient_error(), precision.gamma(roundings));
        let relative = match realisation {
            Realisation::Softmax | Realisation::Hub { .. } => both(2 * tokens + 6),
            Realisation::Average => precision.gamma(tokens + 7),
            Realisation::Linformer { size, values: Values::Ones, .. } => both(tokens + 2 * size + 7),
            Realisation::Linformer { values: Values::Gaussian, .. } => Up::INFINITY,
            Realisation::Performer { size, form: Form::Zero, .. } => both(tokens + size + 11),
            Realisation::Performer { size, form: Form::ConstantRow, .. } => both(tokens + size + 15),
        };
        let flushed = precision.flushed(TERMS + tokens);
        let absolute = match realisation {
            // Divided by λ/(1/k)Σ_a exp(w_a − ½) ≥ √λ ≥ exp(-7/2) > 2^-6.
            Realisation::Performer { form: Form::ConstantRow, .. } => 64.0 * flushed,
            _ => flushed,
        };
        Self { relative, absolute }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number of tokens")]
fn float(count: usize) -> f64 {
    count as f64
}

/// The network with all its heads realised in another way; declined if one of them is not a uniform sum.
pub fn realise(network: &FloatNetwork, realisation: &Realisation) -> Result<FloatNetwork> {
    if *realisation == Realisation::Softmax {
        return Ok(network.clone());
    }
    check(network, realisation)?;
    let heads = |run: &Run| run.blocks * run.attention.as_ref().map_or(0, |attention| attention.heads);
    check_size(network.runs.iter().map(heads).sum(), network.tokens, realisation)?;
    if let Realisation::Hub { token } = realisation {
        return with_hub(network.clone(), *token);
    }
    let mut network = network.clone();
    if realisation.fixes_tokens() {
        network.lengths = (network.tokens, network.tokens);
    }
    let (tokens, precision, width) = (network.tokens, network.precision, network.width());
    let seed = match realisation {
        Realisation::Linformer { seed, .. } | Realisation::Performer { seed, .. } => *seed,
        _ => 0,
    };
    let mut draws = Gaussians::new(seed);
    for run in &mut network.runs {
        let heads = run.blocks * run.attention.as_ref().map_or(0, |attention| attention.heads);
        let Some(attention) = &mut run.attention else { continue };
        if realisation.fixes_tokens() {
            divide(&mut attention.v, tokens, precision)?;
        }
        let head_size = usize::from(*realisation != Realisation::Average);
        attention.head_size = head_size;
        attention.q = vec![0.0; heads * head_size * width];
        attention.k = attention.q.clone();
        attention.q_bias = vec![0.0; heads * head_size];
        attention.masks.fill(Mask::ALL);
        attention.kind = match realisation {
            Realisation::Softmax | Realisation::Hub { .. } => AttentionKind::Softmax,
            Realisation::Average => AttentionKind::Average,
            Realisation::Linformer { size, values, .. } => {
                let entries = heads * size * tokens;
                let e = draws.draw(entries);
                let f = match values {
                    Values::Ones => vec![1.0; entries],
                    Values::Gaussian => draws.draw(entries),
                };
                AttentionKind::Linformer { size: *size, e, f }
            }
            Realisation::Performer { size, .. } => {
                AttentionKind::Performer { size: *size, w: draws.draw(heads * size * head_size) }
            }
        };
    }
    match realisation {
        Realisation::Performer { form: Form::ConstantRow, .. } => Ok(with_constant_row(network)),
        _ => Ok(network),
    }
}

/// The most numbers that are drawn for the heads of a network.
const MOST_DRAWN: usize = 1 << 22;

/// Declines mixtures or features of more numbers than are drawn, before they are.
pub fn check_size(heads: usize, tokens: usize, realisation: &Realisation) -> Result<()> {
    let (size, each, what) = match realisation {
        Realisation::Linformer { size, .. } => (*size, 2 * tokens, "mixtures of all tokens, twice"),
        Realisation::Performer { size, .. } => (*size, 1, "features"),
        _ => return Ok(()),
    };
    let drawn = heads.saturating_mul(each).saturating_mul(size);
    if drawn <= MOST_DRAWN {
        return Ok(());
    }
    let kind = realisation.kind();
    Err(Error::declined(format!("{kind} attention of size {size} would draw {drawn} numbers"))
        .note("size", format!("{}, each with {size} {what}", plural(heads, "head")))
        .note("limit", MOST_DRAWN.to_string())
        .note("try", format!("--attention {kind}: every size gives the same sum")))
}

/// Refuses a head that is not a uniform sum.
fn check(network: &FloatNetwork, realisation: &Realisation) -> Result<()> {
    let width = network.width();
    for run in &network.runs {
        let Some(attention) = &run.attention else { continue };
        for head in 0..run.blocks * attention.heads {
            if let Some(reason) = not_uniform(attention, head, width) {
                let stage = &network.stages[attention.stage].name;
                let number = head % attention.heads;
                return Err(Error::declined(format!("head {number} of stage '{stage}' is no uniform sum"))
                    .note("reason", format!("{reason}; {} attention has nothing to say that with", realisation.kind()))
                    .note("try", "--attention softmax"));
            }
        }
    }
    Ok(())
}

/// Why one of all heads of a run is not a uniform sum.
fn not_uniform(attention: &AttentionRun, head: usize, width: usize) -> Option<&'static str> {
    let m = attention.head_size;
    let zero = |tensor: &[f64], size: usize| tensor[head * size..][..size].iter().all(|entry| *entry == 0.0);
    if attention.kind != AttentionKind::Softmax {
        return Some("it is not softmax attention");
    }
    if !attention.masks[head % attention.heads].is_all() {
        return Some("its mask hides some of the tokens");
    }
    if !attention.connections.is_empty() {
        return Some("its connections hide some of the tokens");
    }
    let no_query = zero(&attention.q, m * width) && zero(&attention.q_bias, m);
    let uniform = no_query || zero(&attention.k, m * width);
    (!uniform).then_some("its scores depend on the tokens")
}

/// `v/n`, rounded; declined where that leaves the normal range, in which rounding is relative.
fn divide(v: &mut [f64], tokens: usize, precision: Precision) -> Result<()> {
    let least = match precision {
        Precision::F32 => f64::from(f32::MIN_POSITIVE),
        Precision::F64 => f64::MIN_POSITIVE,
    };
    for entry in v {
        let divided = precision.round(*entry / float(tokens));
        if *entry != 0.0 && divided.abs() < least {
            return Err(Error::declined(format!(
                "a weight of {entry:e}, divided by {tokens} tokens, is no normal number"
            ))
            .note("try", "--attention average, which divides the sum"));
        }
        *entry = divided;
    }
    Ok(())
}

/// Each layer of uniform heads becomes two: the hub gathers, all see the hub.
fn with_hub(mut network: FloatNetwork, hub: usize) -> Result<FloatNetwork> {
    let (tokens, width) = (network.tokens, network.width());
    if hub >= tokens {
        return Err(Error::input(format!("token {hub} cannot be the hub of {tokens} tokens")));
    }
    let sums = most_sums(&network);
    if sums == 0 {
        return Ok(network);
    }
    network.lengths = (tokens, tokens);
    for sum in 0..sums {
        let meaning = "of the hub: what a head adds up, until all have seen it";
        add_coordinate(&mut network, format!("gathered{sum}"), meaning);
    }
    let wide = network.width();
    widen_ends(&mut network, width, wide);
    let connections = |keys: &dyn Fn(usize) -> Vec<usize>| Connections::new((0..tokens).map(keys).collect());
    let gather = connections(&|token| if token == hub { (0..tokens).collect() } else { vec![token] });
    let spread = connections(&|_| vec![hub]);
    let (gather, spread) = gather.and_then(|gather| Ok((gather, spread?))).map_err(Error::input)?;
    let mut runs = Vec::new();
    for run in std::mem::take(&mut network.runs) {
        let Some(attention) = &run.attention else {
            let feed_forward = run.feed_forward.as_ref().map(|layer| wide_layers(layer, run.blocks, width, wide));
            runs.push(Run { feed_forward, ..run });
            continue;
        };
        for block in 0..run.blocks {
            let feed_forward = run.feed_forward.as_ref().map(|layer| wide_layer(layer, block, width, wide));
            let part =
                |tensor: &[f64]| tensor[block * (tensor.len() / run.blocks)..][..tensor.len() / run.blocks].to_vec();
            let (heads, mv) = (attention.heads, attention.value_size);
            // Head h puts its value c into a register of its own, and takes it from there.
            let register = |head: usize, c: usize| width + head * mv + c;
            let (mut put, mut take) = (vec![0.0; heads * wide * mv], vec![0.0; heads * mv * wide]);
            for (head, c) in (0..heads).flat_map(|head| (0..mv).map(move |c| (head, c))) {
                put[(head * wide + register(head, c)) * mv + c] = 1.0;
                take[(head * mv + c) * wide + register(head, c)] = 1.0;
            }
            let written: Vec<f64> = part(&attention.o)
                .chunks_exact(width * mv)
                .flat_map(|o| o.iter().copied().chain(std::iter::repeat_n(0.0, (wide - width) * mv)))
                .collect();
            let uniform = |v: Vec<f64>, o: Vec<f64>, seen: &Connections| AttentionRun {
                stage: attention.stage,
                kind: AttentionKind::Softmax,
                heads,
                head_size: 1,
                value_size: mv,
                masks: vec![Mask::ALL; heads],
                connections: vec![seen.clone()],
                q: vec![0.0; heads * wide],
                q_bias: vec![0.0; heads],
                k: vec![0.0; heads * wide],
                v,
                o,
            };
            let gathering = uniform(widened(&part(&attention.v), width, wide), put, &gather);
            let spreading = uniform(take, written, &spread);
            let clear = emptied(attention.stage, width..width + heads * mv, wide);
            runs.push(Run { blocks: 1, attention: Some(gathering), feed_forward: None });
            runs.push(Run { blocks: 1, attention: Some(spreading), feed_forward: Some(clear) });
            if feed_forward.is_some() {
                runs.push(Run { blocks: 1, attention: None, feed_forward });
            }
        }
    }
    network.runs = runs;
    Ok(network)
}

/// The layer that empties some registers: `t - R(t) + R(-t) = 0`, in any order; of what is below the normal range something may stay, where it is kept in one
/// place and flushed in another, but never more than that.
fn emptied(stage: usize, registers: Range<usize>, wide: usize) -> FeedForwardRun {
    let hidden = 2 * registers.len();
    let (mut w1, mut w2) = (vec![0.0; hidden * wide], vec![0.0; wide * hidden]);
    for (place, register) in registers.enumerate() {
        for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
            let unit = 2 * place + side;
            w1[unit * wide + register] = sign;
            w2[register * hidden + unit] = -sign;
        }
    }
    FeedForwardRun { stage, hidden, w1, b1: vec![0.0; hidden], w2, b2: vec![0.0; wide] }
}

/// The most values that the heads of a layer find.
fn most_sums(network: &FloatNetwork) -> usize {
    let attention = network.runs.iter().filter_map(|run| run.attention.as_ref());
    attention.map(|attention| attention.heads * attention.value_size).max().unwrap_or(0)
}

/// Embedding, positions and read-out in a wider stream, which begins with zeros there.
fn widen_ends(network: &mut FloatNetwork, width: usize, wide: usize) {
    let embed = &mut network.embed;
    embed.outputs = wide;
    embed.weight.resize(wide * embed.inputs, 0.0);
    embed.bias.resize(wide, 0.0);
    network.positions = network.positions.take().map(|positions| widened(&positions, width, wide));
    network.read_out.inputs = wide;
    network.read_out.weight = widened(&network.read_out.weight, width, wide);
}

/// The paper's form: a channel that is 1 for queries and keys, the heads' sums in registers of their own, and a layer that divides them by `λ`.
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

/// One more coordinate, whose name is made unique.
fn add_coordinate(network: &mut FloatNetwork, mut name: String, meaning: &str) {
    while network.coordinates.iter().any(|known| known.name == name) {
        name.push('\'');
    }
    network.coordinates.push(Coordinate { name, meaning: meaning.to_owned() });
}

/// Rows of one length, filled up with zeros.
fn widened(rows: &[f64], width: usize, wide: usize) -> Vec<f64> {
    rows.chunks_exact(width).flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(0.0, wide - width))).collect()
}

/// The feed-forward layers of all blocks in the wider stream.
fn wide_layers(layer: &FeedForwardRun, blocks: usize, width: usize, wide: usize) -> FeedForwardRun {
    let parts: Vec<FeedForwardRun> = (0..blocks).map(|block| wide_layer(layer, block, width, wide)).collect();
    let all = |tensor: fn(&FeedForwardRun) -> &Vec<f64>| parts.iter().flat_map(tensor).copied().collect();
    let (w1, b1) = (all(|part| &part.w1), all(|part| &part.b1));
    FeedForwardRun { w1, b1, w2: all(|part| &part.w2), b2: all(|part| &part.b2), ..*layer }
}

/// A feed-forward layer of one block in the wider stream.
fn wide_layer(layer: &FeedForwardRun, block: usize, width: usize, wide: usize) -> FeedForwardRun {
    let hidden = layer.hidden;
    let part = |tensor: &[f64], size: usize| tensor[block * size..][..size].to_vec();
    let mut w2 = part(&layer.w2, width * hidden);
    w2.resize(wide * hidden, 0.0);
    let mut b2 = part(&layer.b2, width);
    b2.resize(wide, 0.0);
    let w1 = widened(&part(&layer.w1, hidden * width), width, wide);
    FeedForwardRun { stage: layer.stage, hidden, w1, b1: part(&layer.b1, hidden), w2, b2 }
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
    let AttentionKind::Performer { size, w } = &attention.kind else {
        unreachable!("only Performers have a constant row")
    };
    let w = part(w);
    let one: Vec<f64> = (0..heads * wide).map(|place| if place % wide == width { 1.0 } else { 0.0 }).collect();
    let sums = heads * mv;
    // Head h writes its value c to the register behind the channel.
    let register = |head: usize, c: usize| width + 1 + head * mv + c;
    let mut o = vec![0.0; heads * wide * mv];
    let mut w1 = vec![0.0; 2 * sums * wide];
    let mut w2 = vec![0.0; wide * 2 * sums];
    let written = part(&attention.o);
    for head in 0..heads {
        let lambda = lambda(&w[head * size..][..*size]);
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
        kind: AttentionKind::Performer { size: *size, w },
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

    #[test]
    fn losses_grow_with_tokens_and_features_and_shrink_with_the_format() {
        let of = |text: &str, tokens, precision| Loss::of(&text.parse().expect(text), tokens, precision).relative;
        for kind in ["softmax", "average", "linformer:4", "performer:4", "performer:4:constant"] {
            let single = of(kind, 64, Precision::F32);
            assert!(single < of(kind, 128, Precision::F32) && of(kind, 64, Precision::F64) < single / 1e8, "{kind}");
        }
        assert!(of("average", 64, Precision::F32) < of("performer:1", 64, Precision::F32));
        assert!(of("performer:4", 64, Precision::F32) < of("performer:4:constant", 64, Precision::F32));
        assert!(of("linformer:4:gaussian", 64, Precision::F64) == f64::INFINITY);
        // Too many tokens to say anything.
        assert!(of("average", 1 << 24, Precision::F32) == f64::INFINITY);
    }
}
