//! The formula at the head of `sweep.rs`, once more, in floats. In single precision its roundings are large enough to
//! be seen.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_arithmetic,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::sync::Arc;

use super::sweep;
use crate::kernel::format::Format;
use crate::kernel::number::{Dyadic, Range};
use crate::kernel::sum::{Row, Value};
use crate::read::certificate::Mask;
use crate::read::weights::{Head, Layer};

fn exact(x: f64) -> Dyadic {
    Dyadic::from_bits(x.to_bits(), 53).unwrap()
}

fn row(weights: &[f64], bias: f64) -> Row {
    let weights = weights.iter().enumerate().filter(|(_, x)| **x != 0.0).map(|(at, x)| (at, exact(*x))).collect();
    Row { weights, bias: exact(bias) }
}

/// Tokens `t = a·z` that are shifted at thresholds.
#[derive(Clone)]
struct Case {
    format: Format,
    tokens: usize,
    /// `a`; the first coordinate is written.
    reads: Vec<f64>,
    writes: f64,
    lambda: f64,
    /// `b` and `b'` of each block.
    thresholds: Vec<[f64; 2]>,
    /// The ranges in which the coordinates begin.
    start: Vec<[f64; 2]>,
}

impl Case {
    fn heads(&self, [first, second]: [f64; 2]) -> Vec<Head> {
        let head = |threshold: f64, o: f64| {
            let q: Vec<f64> = self.reads.iter().map(|a| a * self.lambda).collect();
            let o = (0..self.reads.len()).map(|r| row(&[if r == 0 { o } else { 0.0 }], 0.0)).collect();
            let reads = vec![row(&self.reads, 0.0)];
            let mask = Mask { limits: [None; 4], first: false, connections: None };
            Head { mask, q: vec![row(&q, -self.lambda * threshold)], k: reads.clone(), v: reads, o }
        };
        vec![head(first, self.writes), head(second, -self.writes)]
    }

    fn layers(&self) -> Vec<Layer> {
        self.thresholds.iter().map(|pair| Layer::Attention(self.heads(*pair))).collect()
    }

    fn stream(&self) -> Vec<Value> {
        let range = |[lo, hi]: &[f64; 2]| Range { lo: exact(*lo), hi: exact(*hi) };
        self.start.iter().map(|ends| Value::float(range(ends), self.format)).collect()
    }

    /// The range given for the coordinate that is written; none if it may leave the format.
    fn said(&self) -> Option<Range> {
        let mut z = self.stream();
        let swept = sweep(&self.layers(), &mut z, self.tokens, self.format).ok()?;
        assert_eq!(swept, self.thresholds.len());
        assert_eq!(z[1..], self.stream()[1..], "other coordinates stay");
        Some(z[0].range.clone())
    }

    /// The formula, and the margin of its closest decision.
    fn formula(&self) -> (Option<[f64; 2]>, f64) {
        let (n, d, l) = (self.tokens as f64, self.reads.len() as f64, self.thresholds.len() as f64);
        let (u, exp_off) = (2.0_f64.powi(-self.format.digits as i32), 2.0_f64.powi(self.format.theta as i32));
        let products =
            self.reads.iter().zip(&self.start).map(|(a, [lo, hi])| [(a * lo).min(a * hi), (a * lo).max(a * hi)]);
        let products: Vec<[f64; 2]> = products.collect();
        let [least, most] = [0, 1].map(|end| products.iter().map(|product| product[end]).sum::<f64>());
        let rest: f64 = products[1..].iter().map(|[lo, hi]| lo.abs().max(hi.abs())).sum();
        let s = self.reads[0] * self.writes;
        let all = || self.thresholds.iter().flatten();
        let theta = all().copied().fold(0.0, f64::max);
        let largest = all().map(|b| b.abs()).fold(0.0, f64::max);
        let (mut size, mut close) = (1.0, f64::INFINITY);
        for _ in 0..4 {
            let rho = (2.0 * s + 1.0) * (16.0 * n * (d + 6.0) * u + 8.0 * exp_off) * size;
            let floor = (-least).max(0.0) + l * rho;
            let high = theta + 2.0 + l * rho;
            let gain = l * (s * (n - 1.0) / (2.0 * self.lambda) + rho);
            let mut top = most.max(high) + gain + l * rho;
            for _ in 0..self.tokens {
                top = top.max(high + s * (top + floor) + rho + gain);
            }
            let needed = floor.max(top) + 2.0 * rest;
            let off = |x: f64, limit: f64| (x / limit - 1.0).abs();
            close = close.min(off(needed, size));
            if needed <= size {
                // The queries are off by at most λ/2; scores and the stream stay far below the largest number.
                let ku = (d + 2.0) * u;
                let near = ku * (1.0 + 2.0 * ku) * (size + largest);
                let score = (size + 1.0) * (self.lambda * size + self.lambda * largest);
                let stream = size / self.reads[0] + 2.0 * self.writes * size;
                let limit = 2.0_f64.powi(self.format.most as i32 - 5);
                close = close.min(off(near, 0.5)).min(off(score.max(stream), limit));
                let fits = near <= 0.5 && score.max(stream) < limit;
                return (fits.then_some([-(floor + rest) / self.reads[0], (top + rest) / self.reads[0]]), close);
            }
            size = 2.0 * needed;
        }
        (None, close)
    }
}

fn plain() -> Case {
    Case {
        format: Format::SINGLE,
        tokens: 3,
        reads: vec![1.0, 0.5],
        writes: 2.0,
        lambda: 64.0,
        thresholds: vec![[1.0, 2.0], [3.0, 4.5]],
        start: vec![[-1.0, 9.0], [-0.5, 0.25]],
    }
}

#[test]
fn a_sweep_reaches_what_its_formula_says() {
    let mut state = 1_u64;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let (mut reached, mut refused) = (0, 0);
    for _ in 0..6000 {
        let mut power =
            |from: i32, to: u64| 2.0_f64.powi(from + below(to) as i32) * [1.0, 1.25, 1.5][below(3) as usize];
        let (large, small) = (power(0, 30), power(-6, 10));
        let lambda = [2.0_f64.powi(below(8) as i32), 2.0_f64.powi(below(130) as i32)][below(2) as usize];
        let scale = if below(2) == 0 { 1.0 } else { large };
        let mut between = |scale: f64| (below(65) as f64 - 32.0) / 8.0 * scale;
        let blocks = [between(1.0), between(1.0), between(1.0)].map(|b| b * scale);
        let ends = [[between(scale), between(1.0)], [between(1.0), between(1.0)], [between(1.0), between(1.0)]];
        let dims = 1 + below(3) as usize;
        let case = Case {
            format: if below(3) == 0 { Format::DOUBLE } else { Format::SINGLE },
            tokens: 1 + below(4) as usize,
            reads: [[1.0, 2.0, 0.5][below(3) as usize], -1.0, 0.25][..dims].to_vec(),
            writes: [small, 2.0_f64.powi(below(100) as i32)][usize::from(below(8) == 0)],
            lambda,
            thresholds: blocks[..=below(3) as usize].iter().map(|b| [*b, b + 1.0]).collect(),
            start: ends[..dims].iter().map(|[a, b]| [a.min(*b), a.max(*b)]).collect(),
        };
        let (wanted, close) = case.formula();
        if close < 1e-6 {
            continue;
        }
        match (wanted, case.said()) {
            (None, None) => refused += 1,
            (Some([lo, hi]), Some(range)) => {
                let near = |end: &Dyadic, x: f64| {
                    let off = &(end - &exact(x)).abs() * &Dyadic::power_of_two(40);
                    assert!(off <= exact(x.abs()), "{end} is not {x}");
                };
                near(&range.lo, lo);
                near(&range.hi, hi);
                reached += 1;
            }
            (wanted, said) => panic!("{wanted:?}, but {said:?}: {:?}", case.layers()),
        }
    }
    assert!(reached > 500 && refused > 500, "{reached} reached, {refused} refused");
}

/// Lets each token see a single key.
fn sees(head: &mut Head, keys: &[usize]) {
    head.mask.connections = Some(Arc::new(keys.iter().enumerate().map(|(t, k)| (t, *k)).collect()));
}

/// A change of the heads of one block.
type Change = fn(&mut Vec<Head>);

#[test]
fn only_blocks_that_meet_every_hypothesis_are_swept() {
    let swept = |case: &Case, change: Change| {
        let mut heads = case.heads(case.thresholds[0]);
        change(&mut heads);
        sweep(&[Layer::Attention(heads)], &mut case.stream(), case.tokens, case.format).unwrap()
    };
    assert_eq!(swept(&plain(), |_| {}), 1);
    // The heads may see anything, as long as both see the same.
    assert_eq!(swept(&plain(), |heads| heads.iter_mut().for_each(|head| sees(head, &[1, 2, 0]))), 1);
    let broken: [Change; 19] = [
        |heads| sees(&mut heads[1], &[1, 2, 0]),
        |heads| heads.iter_mut().zip([[1, 2, 0], [1, 2, 1]]).for_each(|(head, keys)| sees(head, &keys)),
        |heads| heads[0].mask.limits[3] = Some(1),
        |heads| heads[1].mask.limits[0] = Some(0),
        |heads| heads[1].k[0].weights[1].1 = exact(0.25),
        |heads| heads[0].v[0].weights[1].1 = exact(0.25),
        |heads| heads[1].v[0].weights[1].1 = exact(0.25),
        |heads| heads.iter_mut().for_each(|head| head.q[0].weights[1].1 = exact(16.0)),
        |heads| heads.iter_mut().for_each(|head| head.q[0].weights.truncate(1)),
        |heads| heads[1].q[0].weights[1].1 = exact(16.0),
        |heads| heads[1].q[0].bias = exact(-127.0),
        |heads| heads[1].o.swap(0, 1),
        |heads| heads.iter_mut().for_each(|head| head.o.swap(0, 1)),
        |heads| heads.iter_mut().for_each(|head| head.o[1] = head.o[0].clone()),
        |heads| heads[1].o[0].weights[0].1 = exact(-1.0),
        |heads| heads.reverse(),
        |heads| heads.iter_mut().for_each(|head| (head.k[0].bias, head.v[0].bias) = (exact(1.0), exact(1.0))),
        |heads| heads.truncate(1),
        |heads| heads.push(heads[0].clone()),
    ];
    for (at, change) in broken.into_iter().enumerate() {
        assert_eq!(swept(&plain(), change), 0, "change {at}");
    }
    let scaled = |reads: f64, lambda: f64, writes: f64| {
        swept(&Case { reads: vec![reads, 0.5], lambda, writes, thresholds: vec![[1.0, 2.0]], ..plain() }, |_| {})
    };
    // λ of 1 is steep enough, and the signs and sizes of what is read and written must fit.
    assert_eq!([scaled(1.0, 1.0, 1.0), scaled(1.0, 0.5, 1.0), scaled(1.0, -64.0, 1.0)], [1, 0, 0]);
    assert_eq!([scaled(-1.0, 64.0, 1.0), scaled(1.0, 64.0, -1.0), scaled(-1.0, 64.0, -1.0)], [0; 3]);
    let large = |top: i32| {
        let (reads, writes) = (vec![2.0_f64.powi(top - 1)], 2.0_f64.powi(1 - top));
        Case { reads, writes, start: vec![[0.0, 0.0]], format: Format::DOUBLE, ..plain() }
    };
    assert_eq!([swept(&large(64), |_| {}), swept(&large(65), |_| {})], [1, 0]);
    // Thresholds that are 1 apart make a sweep, closer ones do not.
    let apart = |b: f64| swept(&Case { thresholds: vec![[1.0, b]], ..plain() }, |_| {});
    assert_eq!([apart(2.0), apart(1.984_375), apart(0.0)], [1, 0, 0]);
    assert_eq!(sweep(&[], &mut plain().stream(), 3, Format::SINGLE), Ok(0));
}

#[test]
fn a_sweep_ends_where_another_begins() {
    let first = Case { thresholds: vec![[1.0, 2.0]], ..plain() };
    let others = [
        Case { reads: vec![1.0, 0.25], ..first.clone() },
        Case { writes: 1.0, ..first.clone() },
        Case { lambda: 128.0, ..first.clone() },
    ];
    let swept = |other: &Case| {
        sweep(&[first.layers(), other.layers()].concat(), &mut first.stream(), first.tokens, first.format).unwrap()
    };
    assert_eq!(swept(&first), 2);
    for other in &others {
        assert_eq!(swept(other), 1);
    }
}

/// A block that does nothing does not end a sweep; one that could overflow, or adds something, does.
#[test]
fn idle_blocks_may_stand_between() {
    let (case, blank) = (Case { thresholds: vec![[1.0, 2.0]], ..plain() }, row(&[], 0.0));
    let head = case.heads(case.thresholds[0]).remove(0);
    let idle = |count: usize, change: fn(&mut Head)| {
        let rows = |rows: &[Row]| vec![blank.clone(); rows.len()];
        let mut idle =
            Head { mask: head.mask.clone(), q: rows(&head.q), k: rows(&head.k), v: rows(&head.v), o: rows(&head.o) };
        change(&mut idle);
        Layer::Attention(vec![idle; count])
    };
    let around = |between: Layer| {
        let mut z = case.stream();
        let layers = [case.layers(), vec![between], case.layers()].concat();
        (sweep(&layers, &mut z, case.tokens, case.format).unwrap(), z)
    };
    let mut without = case.stream();
    assert_eq!(sweep(&[case.layers(), case.layers()].concat(), &mut without, case.tokens, case.format), Ok(2));
    for count in [1, 2, 3] {
        assert_eq!(around(idle(count, |_| {})), (3, without.clone()), "{count} heads that do nothing");
    }
    let busy: [fn(&mut Head); 5] = [
        |head| head.q[0] = row(&[], 1.0),
        |head| head.q[0] = row(&[1.0], 0.0),
        |head| head.k[0] = row(&[0.0, 1.0], 0.0),
        |head| head.v[0] = row(&[1.0], 0.0),
        |head| head.o[1] = row(&[1.0], 0.0),
    ];
    for (at, change) in busy.into_iter().enumerate() {
        assert_eq!(around(idle(2, change)).0, 1, "change {at}");
    }
    let gains = vec![blank.clone(); 2];
    assert_eq!(around(Layer::FeedForward { units: Vec::new(), gains }).0, 1);
    assert_eq!(sweep(&[idle(2, |_| {})], &mut case.stream(), case.tokens, case.format), Ok(0), "none has begun");
}
