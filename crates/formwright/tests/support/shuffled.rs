//! A second float evaluator: plain loops, every sum in an order of its own, fused or not, every softmax by quotients or by the reciprocal, what is below
//! the normal range kept or flushed. Nothing is shared with the engine.

#![expect(clippy::cast_possible_truncation, reason = "rounding to single precision is what is asked for")]

use formwright::network::{FloatAffine, FloatNetwork, Precision};

/// Chooses an order for every sum and a way for every softmax; seed 0 keeps them as they are written. One that flushes sets results below the normal
/// range to 0 every other time.
pub struct Shuffle(u64, bool);

// A test takes of it what it needs.
#[allow(dead_code)]
impl Shuffle {
    pub fn new(seed: u64) -> Self {
        Self(seed, false)
    }

    pub fn flushing(seed: u64) -> Self {
        Self(seed, true)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn order<T>(&mut self, items: &mut [T]) {
        if self.0 != 0 {
            for last in (1..items.len()).rev() {
                items.swap(last, usize::try_from(self.next() % (last as u64 + 1)).expect("an index"));
            }
        }
    }
}

/// One arithmetic: every operation rounded to the format.
struct Arithmetic<'a> {
    precision: Precision,
    shuffle: &'a mut Shuffle,
}

impl Arithmetic<'_> {
    /// `start + Σ a_k b_k`, in some order; now and then a product is fused into the sum.
    fn dot(&mut self, start: Option<f64>, pairs: impl IntoIterator<Item = (f64, f64)>) -> f64 {
        let mut terms: Vec<(f64, f64)> = pairs.into_iter().collect();
        terms.extend(start.map(|x| (x, 1.0)));
        self.shuffle.order(&mut terms);
        let mut sum = 0.0;
        for (a, b) in terms {
            let fused = self.shuffle.0 != 0 && self.shuffle.next().is_multiple_of(2);
            sum = match (self.precision, fused) {
                (Precision::F64, true) => a.mul_add(b, sum),
                (Precision::F64, false) => sum + self.flushed(a * b),
                (Precision::F32, true) => f64::from((a as f32).mul_add(b as f32, sum as f32)),
                (Precision::F32, false) => f64::from(self.flushed(f64::from(a as f32 * b as f32)) as f32 + sum as f32),
            };
            sum = self.flushed(sum);
        }
        sum
    }

    fn flushed(&mut self, x: f64) -> f64 {
        let subnormal = x != 0.0 && x.abs() < self.precision.least_normal();
        if self.shuffle.1 && subnormal && self.shuffle.next().is_multiple_of(2) { 0.0 } else { x }
    }

    fn affine(&mut self, map: &FloatAffine, x: &[f64]) -> Vec<f64> {
        (0..map.outputs)
            .map(|row| {
                let weights = &map.weight[row * map.inputs..][..map.inputs];
                self.dot(Some(map.bias[row]), weights.iter().copied().zip(x.iter().copied()))
            })
            .collect()
    }

    /// Quotients by the sum, or products with its rounded reciprocal.
    fn shares(&mut self, exps: &[f64], total: f64) -> Vec<f64> {
        let precision = self.precision;
        let by_reciprocal = self.shuffle.0 != 0 && self.shuffle.next().is_multiple_of(2);
        let reciprocal = precision.round(1.0 / total);
        let share = |e: &f64| precision.round(if by_reciprocal { e * reciprocal } else { e / total });
        exps.iter().map(|e| self.flushed(share(e))).collect()
    }

    fn exp(&self, t: f64) -> f64 {
        match self.precision {
            Precision::F64 => t.exp(),
            Precision::F32 => f64::from((t as f32).exp()),
        }
    }
}

/// The state after the embedding and after each stage, then the output.
pub fn trace(network: &FloatNetwork, x: &[Vec<f64>], shuffle: &mut Shuffle) -> Vec<(String, Vec<Vec<f64>>)> {
    let precision = network.precision;
    let width = network.width();
    let mut on = Arithmetic { precision, shuffle };
    let rounded: Vec<Vec<f64>> =
        x.iter().map(|t| t.iter().map(|v| on.flushed(precision.round(*v))).collect()).collect();
    let mut state: Vec<Vec<f64>> = rounded.iter().map(|token| on.affine(&network.embed, token)).collect();
    if let Some(positions) = &network.positions {
        for (token, row) in state.iter_mut().zip(positions.chunks(width)) {
            for (z, p) in token.iter_mut().zip(row) {
                *z = precision.round(*z + p);
            }
        }
    }
    let mut trace = vec![("embed".to_owned(), state.clone())];
    let mut at = |stage: usize, state: &Vec<Vec<f64>>| {
        let name = network.stages[stage].name.clone();
        match trace.last_mut() {
            Some((last, kept)) if *last == name => kept.clone_from(state),
            _ => trace.push((name, state.clone())),
        }
    };
    for run in &network.runs {
        for block in 0..run.blocks {
            if let Some(a) = &run.attention {
                let before = state.clone();
                let mut gained: Vec<Vec<Vec<(f64, f64)>>> = vec![vec![Vec::new(); width]; before.len()];
                for head in block * a.heads..(block + 1) * a.heads {
                    let rows =
                        |on: &mut Arithmetic<'_>, w: &[f64], bias: Option<&[f64]>, size: usize| -> Vec<Vec<f64>> {
                            let row = |on: &mut Arithmetic<'_>, z: &Vec<f64>, r: usize| {
                                let weights = &w[(head * size + r) * width..][..width];
                                let bias = bias.map(|b| b[head * size + r]);
                                on.dot(bias, weights.iter().copied().zip(z.iter().copied()))
                            };
                            before.iter().map(|z| (0..size).map(|r| row(on, z, r)).collect()).collect()
                        };
                    let q = rows(&mut on, &a.q, Some(&a.q_bias), a.head_size);
                    let k = rows(&mut on, &a.k, None, a.head_size);
                    let v = rows(&mut on, &a.v, None, a.value_size);
                    let mask = a.masks[head - block * a.heads];
                    for (j, query) in q.iter().enumerate() {
                        let shown = |key: usize| match a.connections_of(block) {
                            Some(connections) => connections.sees(j, key),
                            None => mask.sees(j, key),
                        };
                        let seen: Vec<usize> = (0..k.len()).filter(|key| shown(*key)).collect();
                        let scores: Vec<f64> = seen
                            .iter()
                            .map(|key| on.dot(None, k[*key].iter().copied().zip(query.iter().copied())))
                            .collect();
                        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                        let exps: Vec<f64> = scores
                            .iter()
                            .map(|s| {
                                let power = on.exp(precision.round(s - most));
                                on.flushed(power)
                            })
                            .collect();
                        let total = on.dot(None, exps.iter().map(|e| (*e, 1.0)));
                        let weights = on.shares(&exps, total);
                        let mixed: Vec<f64> = (0..a.value_size)
                            .map(|r| on.dot(None, weights.iter().copied().zip(seen.iter().map(|key| v[*key][r]))))
                            .collect();
                        for (row, terms) in gained[j].iter_mut().enumerate() {
                            let o = &a.o[(head * width + row) * a.value_size..][..a.value_size];
                            terms.extend(o.iter().copied().zip(mixed.iter().copied()));
                        }
                    }
                }
                for (token, gained) in state.iter_mut().zip(gained) {
                    for (z, terms) in token.iter_mut().zip(gained) {
                        *z = on.dot(Some(*z), terms);
                    }
                }
                at(a.stage, &state);
            }
            if let Some(f) = &run.feed_forward {
                for token in &mut state {
                    let hidden: Vec<f64> = (0..f.hidden)
                        .map(|unit| {
                            let place = block * f.hidden + unit;
                            let weights = &f.w1[place * width..][..width];
                            on.dot(Some(f.b1[place]), weights.iter().copied().zip(token.iter().copied())).max(0.0)
                        })
                        .collect();
                    for (row, z) in token.iter_mut().enumerate() {
                        let place = block * width + row;
                        let weights = &f.w2[place * f.hidden..][..f.hidden];
                        let terms = weights.iter().copied().zip(hidden.iter().copied()).chain([(f.b2[place], 1.0)]);
                        *z = on.dot(Some(*z), terms);
                    }
                }
                at(f.stage, &state);
            }
        }
    }
    let output = state.iter().map(|token| on.affine(&network.read_out, token)).collect();
    trace.push(("output".to_owned(), output));
    trace
}
