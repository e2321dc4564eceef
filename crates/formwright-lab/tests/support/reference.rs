//! The mixers once more, one sequence at a time, in plain loops over `f64`, from their formulas.

use formwright::pattern::Connections;
use formwright_lab::encoder::Mix;

use super::weights::Weights;

/// Rows of numbers.
pub type Matrix = Vec<Vec<f64>>;

/// A mixer's weights and what it needs to know.
pub struct Reference<'a> {
    pub mix: &'a Mix,
    pub weights: &'a Weights,
    pub heads: usize,
    /// The connections of a sparse mixer.
    pub seen: Option<Connections>,
    /// `[e, K]`, of a Performer.
    pub features: Matrix,
}

/// The parameter whose path ends so.
pub fn matrix(weights: &Weights, end: &str) -> Matrix {
    let dotted = format!(".{end}");
    let found: Vec<_> = weights.iter().filter(|(name, _)| *name == end || name.ends_with(&dotted)).collect();
    let [(_, (shape, entries))] = found[..] else {
        panic!("{end} is there {} times in {:?}", found.len(), weights.keys())
    };
    entries.chunks(shape.last().copied().unwrap_or(1)).map(<[f64]>::to_vec).collect()
}

/// `x W + b`.
pub fn dense(weights: &Weights, name: &str, x: &Matrix) -> Matrix {
    let (weight, bias) = (matrix(weights, &format!("{name}.weight")), matrix(weights, &format!("{name}.bias")));
    let entry = |row: &Vec<f64>, j: usize| bias[0][j] + (0..row.len()).map(|i| row[i] * weight[i][j]).sum::<f64>();
    x.iter().map(|row| (0..bias[0].len()).map(|j| entry(row, j)).collect()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `Σ w_j v_j / Σ w_j`; zeros where there is no weight.
fn weighted(weights: &[f64], values: &[Vec<f64>], size: usize) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    let entry = |c: usize| weights.iter().zip(values).map(|(w, v)| w * v[c]).sum::<f64>() / sum;
    if weights.is_empty() { vec![0.0; size] } else { (0..size).map(entry).collect() }
}

impl Reference<'_> {
    /// The mixed tokens of a sequence; `shown` says which of them are no padding.
    pub fn mixed(&self, x: &Matrix, shown: &[bool]) -> Matrix {
        let (n, d) = (x.len(), x[0].len());
        let keys: Vec<usize> = (0..n).filter(|j| shown[*j]).collect();
        let mixed = match self.mix {
            Mix::Average => {
                let mean = (0..d).map(|c| keys.iter().map(|j| x[*j][c]).sum::<f64>() / keys.len() as f64).collect();
                vec![mean; n]
            }
            Mix::BProj => {
                let mix = matrix(self.weights, "mix");
                let entry = |i: usize, c: usize| keys.iter().map(|j| mix[i][*j] * x[*j][c]).sum();
                (0..n).map(|i| (0..d).map(|c| entry(i, c)).collect()).collect()
            }
            Mix::SepConv { length, filters } => {
                let taps = matrix(self.weights, "filters");
                let both = dense(self.weights, "input", x);
                let gated = |j: usize, c: usize| both[j][c] / (1.0 + (-both[j][d + c]).exp());
                // Token j meets tap t of token i where j = i + t - ⌊k/2⌋.
                let entry = |i: usize, c: usize| {
                    let meets = |t: usize| (i + t).checked_sub(length / 2).filter(|j| *j < n && shown[*j]);
                    (0..*length).filter_map(|t| Some(taps[c / (d / filters)][t] * gated(meets(t)?, c))).sum()
                };
                (0..n).map(|i| (0..d).map(|c| entry(i, c)).collect()).collect()
            }
            _ => self.heads(x, &keys),
        };
        dense(self.weights, "output", &mixed)
    }

    /// The heads of the kinds of attention, side by side.
    fn heads(&self, x: &Matrix, keys: &[usize]) -> Matrix {
        let (n, e) = (x.len(), x[0].len() / self.heads);
        let qkv = dense(self.weights, "qkv", x);
        let part = |part: usize, head: usize, j: usize| {
            let from = (part * self.heads + head) * e;
            qkv[j][from..from + e].to_vec()
        };
        let root = (e as f64).sqrt();
        let mut found = vec![Vec::new(); n];
        for head in 0..self.heads {
            for (i, found) in found.iter_mut().enumerate() {
                let query = part(0, head, i);
                let sees = |j: usize| self.seen.as_ref().is_none_or(|seen| seen.sees(i, j));
                let visible: Vec<usize> = keys.iter().copied().filter(|j| sees(*j)).collect();
                let weight = |key: &Vec<f64>| match self.mix {
                    Mix::Performer { .. } => dot(&self.positive(&query), &self.positive(key)),
                    _ => (dot(&query, key) / root).exp(),
                };
                let of = |which: usize| visible.iter().map(|j| part(which, head, *j)).collect::<Matrix>();
                let (seen_keys, seen_values) = match self.mix {
                    Mix::Linformer { slots } => {
                        let mixed = |by: &str, which: usize| {
                            let by = matrix(self.weights, by);
                            let slot = |s: usize, c: usize| {
                                keys.iter().map(|j| by[s][*j] * part(which, head, *j)[c]).sum::<f64>()
                            };
                            (0..*slots).map(|s| (0..e).map(|c| slot(s, c)).collect()).collect::<Matrix>()
                        };
                        (mixed("keys", 1), mixed("values", 2))
                    }
                    _ => (of(1), of(2)),
                };
                let weights: Vec<f64> = seen_keys.iter().map(weight).collect();
                found.extend(weighted(&weights, &seen_values, e));
            }
        }
        found
    }

    /// `φ`.
    fn positive(&self, x: &[f64]) -> Vec<f64> {
        let x: Vec<f64> = x.iter().map(|entry| entry / (x.len() as f64).powf(0.25)).collect();
        let along = |r: usize| x.iter().zip(&self.features).map(|(x, w)| x * w[r]).sum::<f64>();
        (0..self.features[0].len()).map(|r| (along(r) - dot(&x, &x) / 2.0).exp()).collect()
    }
}
