//! The farthest that a sweep of selective shifts can carry any tokens: CERTIFICATE.md, section 6, *Sweep*.
//!
//! In each block a token's `t = a·z` gains `s (A - A')`. `A` and `A'` are softmax averages of the `t` that it sees, of
//! at most `n` tokens, at the queries `λ(t - b) ≥ λ(t - b')`. With `S` a bound on `Σ|a_r z_r|`, the results of the two
//! heads differ from averages over *common* keys by at most `R = (16n(d+6)u + 8θ) S`: keys and values are off by
//! `γ_{d+1}S`; scores and their differences by `3u` of the keys, which moves an average by at most `n` times as much,
//! since `Σ p_k |Q| |t_k - A| ≤ 2(n-1)/e`; exponentials are off by `θ`; sums of exponentials, shares (a quotient, or a
//! reciprocal and a product) and sums of values by `γ_{2n+4}`. With the rounding of the stream, a block moves `t` by at
//! most `ρ = (2s+1)R` from the result of exact averages.
//!
//! The queries of both heads are off by at most `λ/2`, and `b' - b ≥ 1`: whatever the roundings, the first is not below
//! the second. A token that has passed `Θ + 2 + Lρ` does not fall below `Θ + 2` again.
//!
//! So, with `L` blocks, `Θ` the largest threshold and tokens that begin in `[-f, M]`:
//!
//! ```text
//! no token falls by more than Lρ
//! T = L (s(n-1)/(2λ) + ρ)  bounds the gain of a token 2 above all thresholds, since 1/(e·3/2) < 1/2
//! M_0 = max(M, Θ + 2 + Lρ) + T + Lρ,    M_{i+1} = max(M_i, Θ + 2 + Lρ + s (M_i + f + Lρ) + ρ + T),    i < n
//! ```

use crate::kernel::format::Format;
use crate::kernel::number::{Dyadic, Range};
use crate::kernel::sum::{Overflow, Row, Value, gamma};
use crate::read::weights::{Head, Layer};

/// A block of a sweep.
struct Block<'n> {
    /// `a`.
    reads: &'n [(usize, Dyadic)],
    /// The coordinate that is written, and the factor.
    place: usize,
    writes: Dyadic,
    /// `λ`.
    lambda: Dyadic,
    /// `-λb` and `-λb'`.
    biases: [Dyadic; 2],
}

fn only(rows: &[Row]) -> Option<&Row> {
    if let [row] = rows { Some(row) } else { None }
}

impl<'n> Block<'n> {
    fn of(layer: &'n Layer) -> Option<Self> {
        let Layer::Attention(heads) = layer else { return None };
        let [first, second] = heads.as_slice() else { return None };
        let (k, q) = (only(&first.k)?, only(&first.q)?);
        let alike = |head: &Head| {
            head.mask.limits == [None; 4]
                && head.mask.connections == first.mask.connections
                && only(&head.k) == Some(k)
                && only(&head.v) == Some(k)
                && only(&head.q).is_some_and(|row| row.weights == q.weights)
        };
        let (place, weight) = k.weights.first()?;
        let lambda = Range::point(q.weights.first()?.1.clone()).over(&Range::point(weight.clone()))?;
        let scaled = q.weights.len() == k.weights.len()
            && q.weights.iter().zip(&k.weights).all(|(q, k)| q.0 == k.0 && q.1 == &k.1 * &lambda.lo);
        let written = |head: &Head| {
            let mut rows = head.o.iter().enumerate().filter(|(_, row)| !row.is_zero());
            let (Some((at, row)), None) = (rows.next(), rows.next()) else { return None };
            if let [(0, weight)] = row.weights.as_slice() { Some((at, weight.clone())) } else { None }
        };
        let ((at, writes), (other, back)) = (written(first)?, written(second)?);
        let biases = [q.bias.clone(), only(&second.q)?.bias.clone()];
        let [high, low] = &biases;
        let fits = alike(first)
            && alike(second)
            && scaled
            && lambda.is_point()
            && lambda.lo >= Dyadic::ONE
            && at == other
            && at == *place
            && back == -&writes
            && high - low >= lambda.lo
            && *weight > Dyadic::ZERO
            && weight.top() <= 64
            && writes > Dyadic::ZERO
            && k.bias.is_zero();
        fits.then_some(Self { reads: &k.weights, place: at, writes, lambda: lambda.lo, biases })
    }
}

/// Carries a token that stands for all tokens through the sweep that begins here, if one does; returns its number of
/// layers.
pub fn sweep(layers: &[Layer], z: &mut [Value], tokens: usize, format: Format) -> Result<usize, Overflow> {
    let Some(first) = layers.first().and_then(Block::of) else { return Ok(0) };
    let alike =
        |block: &Block<'_>| block.reads == first.reads && block.writes == first.writes && block.lambda == first.lambda;
    // Blocks without weights change nothing.
    let idle = |layer: &Layer| matches!(layer, Layer::Attention(heads) if heads.iter().all(Head::is_zero));
    let step = |layer| if idle(layer) { Some(None) } else { Block::of(layer).filter(alike).map(Some) };
    let steps: Vec<Option<Block<'_>>> = layers.iter().map_while(step).collect();
    let swept = steps.len();
    let blocks: Vec<Block<'_>> = steps.into_iter().flatten().collect();
    let count = Range::whole(blocks.len()).hi;
    let whole = |x: usize| Range::whole(x).hi;
    let (mut t, mut rest, mut weight) = (Range::ZERO, Dyadic::ZERO, Dyadic::ONE);
    for (place, a) in first.reads {
        let Some(value) = z.get(*place) else { continue };
        let term = &Range::point(a.clone()) * &value.range;
        t = &t + &term;
        if *place == first.place { weight = a.clone() } else { rest = &rest + &term.size() }
    }
    let up = |x: &Dyadic| x.up(x.top().saturating_sub(64));
    let over = |x: &Dyadic, by: &Dyadic| {
        Range::point(x.clone())
            .over(&Range::point(by.clone()))
            .ok_or_else(|| Overflow("a sweep without a temperature".into()))
    };
    let s = &weight * &first.writes;
    let thresholds = blocks.iter().flat_map(|block| &block.biases).map(|bias| Ok(over(&-bias, &first.lambda)?.hi));
    let theta = thresholds.collect::<Result<Vec<_>, Overflow>>()?.into_iter().max().unwrap_or(Dyadic::ZERO);
    let sizes = blocks.iter().flat_map(|block| &block.biases).map(Dyadic::abs).max().unwrap_or(Dyadic::ZERO);
    let high = &theta.positive() + &Dyadic::from(2);
    let begin = (-&t.lo).positive();
    let tail = over(&(&s * &whole(tokens.saturating_sub(1))), &(&first.lambda + &first.lambda))?.hi;
    let roundings = {
        let places = whole(tokens.saturating_mul(16).saturating_mul(first.reads.len().saturating_add(6)));
        let slip = &Dyadic::from(8) * &Dyadic::power_of_two(format.theta);
        &(&places * &Dyadic::power_of_two(format.digits.saturating_neg())) + &slip
    };
    // The bound that follows if Σ|a_r z_r| stays below a guess.
    let reached = |guess: &Dyadic| {
        let rounding = up(&(&(&(&s + &s) + &Dyadic::ONE) * &(&roundings * guess)));
        let fall = &count * &rounding;
        let (floor, high) = (&begin + &fall, &high + &fall);
        let gain = up(&(&count * &(&tail + &rounding)));
        let mut most = &(&t.hi.clone().max(high.clone()) + &gain) + &fall;
        for _ in 0..tokens {
            let landing = &(&high + &(&s * &(&most + &floor))) + &(&rounding + &gain);
            most = up(&most.max(landing));
        }
        (floor, most)
    };
    let mut guess = Dyadic::ONE;
    for _ in 0..4 {
        let (floor, most) = reached(&guess);
        let needed = &floor.clone().max(most.clone()) + &(&rest + &rest);
        if needed <= guess {
            let near =
                &gamma(first.reads.len().saturating_add(2), format) * &(&guess + &over(&sizes, &first.lambda)?.hi);
            let score = &(&guess + &Dyadic::ONE) * &(&(&first.lambda * &guess) + &sizes);
            let stream = &over(&guess, &weight)?.hi + &(&first.writes * &(&guess + &guess));
            let half = Dyadic::power_of_two(-1);
            if near > half || score.max(stream).top() >= format.most.saturating_sub(4) {
                break;
            }
            let reach = Range { lo: -&(&floor + &rest), hi: &most + &rest };
            let reach =
                reach.over(&Range::point(weight.clone())).ok_or_else(|| Overflow("a sweep of nothing".into()))?;
            z.get_mut(first.place).into_iter().for_each(|value| *value = Value::float(reach.clone(), format));
            return Ok(swept);
        }
        guess = &needed + &needed;
    }
    Err(Overflow("a sweep is not shown to stay within the format".into()))
}

#[cfg(test)]
mod tests;
