//! The error as it is measured: quasi-random points, and how far the result can be trusted.
//!
//! `∫ Σ_ij |f_ij - g_ij|^p` is estimated by a rank-one lattice rule of `M` points with generator `(1, a, a², …)` in every one of `S` random
//! shifts: each shift gives an unbiased estimate, their spread a confidence interval (Student's t with `S - 1` degrees of freedom, 95 %). The
//! random shifts come from a seeded generator, so the same request measures the same number.

use serde_json::{Value, json};

use super::Norm;
use crate::error::Result;
use crate::lattice::Grid;
use crate::random;

/// Shifts of the lattice.
const SHIFTS: usize = 16;

/// The quantile of Student's t for 15 degrees of freedom: two-sided 95 %.
const STUDENT: f64 = 2.131_449_5;

/// The seed of the shifts.
const SEED: u64 = 20_200_226;

/// A measured error.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The norm.
    pub norm: Norm,
    /// How many points.
    pub points: usize,
    /// The seed of what is random.
    pub seed: u64,
    /// The estimate; in the supremum norm the largest that was found, which the truth may exceed.
    pub value: f64,
    /// The interval of the truth, with 95 % confidence; a supremum has none.
    pub confidence: Option<(f64, f64)>,
    /// True if these were all the points that there are.
    pub exhaustive: bool,
    /// A point with this error, `[token][coordinate]`, if one was searched for.
    pub at: Option<Vec<Vec<f64>>>,
}

impl Measured {
    /// The form in files.
    pub fn to_json(&self) -> Value {
        let mut file = json!({
            "norm": self.norm.to_string(),
            "points": self.points,
            "seed": self.seed,
            "value": self.value,
            "confidence": self.confidence.map(|(low, high)| json!({"level": 0.95, "low": low, "high": high})),
        });
        if self.exhaustive {
            file["exhaustive"] = json!(true);
        }
        file
    }
}

/// The `L^p` distance between what `run` computes for a batch, `[batch][token][coordinate]`, and what is wanted of it, the entries of each
/// sequence, with about `points` points.
pub(crate) fn measure(
    wanted: impl Fn(&[Vec<Vec<f64>>]) -> Result<Vec<Vec<f64>>>,
    grid: &Grid,
    norm: &Norm,
    points: usize,
    run: impl Fn(&[Vec<Vec<f64>>]) -> Result<Vec<Vec<Vec<f64>>>>,
) -> Result<Option<Measured>> {
    let Norm::Lp(p) = norm else { return Ok(None) };
    let (n, d) = (grid.tokens(), grid.dims());
    let each = points.div_ceil(SHIFTS).max(1);
    let (low, side) = (grid.low().to_f64(), (grid.high() - grid.low()).to_f64());
    let p = p.to_f64();
    let mut state = SEED;
    let mut means = Vec::with_capacity(SHIFTS);
    let powers = powers(n * d, each);
    for _ in 0..SHIFTS {
        let shift: Vec<f64> = (0..n * d).map(|_| random::uniform(&mut state)).collect();
        let batch: Vec<Vec<Vec<f64>>> = (0..each)
            .map(|index| {
                let flat: Vec<f64> =
                    (0..n * d).map(|k| low + side * coordinate(index, powers[k], each, shift[k])).collect();
                flat.chunks(d).map(<[f64]>::to_vec).collect()
            })
            .collect();
        let sum: f64 = wanted(&batch)?
            .iter()
            .zip(&run(&batch)?)
            .map(|(f, g)| f.iter().zip(g.iter().flatten()).map(|(f, g)| (f - g).abs().powf(p)).sum::<f64>())
            .sum();
        #[expect(clippy::cast_precision_loss, reason = "a count of points")]
        means.push(sum / each as f64);
    }
    #[expect(clippy::cast_precision_loss, reason = "sixteen")]
    let shifts = SHIFTS as f64;
    let mean = means.iter().sum::<f64>() / shifts;
    let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (shifts - 1.0);
    let reach = STUDENT * (variance / shifts).sqrt();
    #[expect(clippy::cast_precision_loss, reason = "a handful of coordinates")]
    let volume = side.powf((n * d) as f64);
    let root = |integral: f64| (integral.max(0.0) * volume).powf(1.0 / p);
    Ok(Some(Measured {
        norm: norm.clone(),
        points: each * SHIFTS,
        seed: SEED,
        value: root(mean),
        confidence: Some((root(mean - reach), root(mean + reach))),
        exhaustive: false,
        at: None,
    }))
}

/// The powers `a^k` modulo `M` of a lattice rule's generator, `a` near the golden section of `M`.
fn powers(many: usize, count: usize) -> Vec<usize> {
    let (generator, count) = ((count * 618 / 1000) | 1, count.max(1));
    std::iter::successors(Some(1 % count), |power| Some(power * generator % count)).take(many).collect()
}

/// A coordinate of point `index` of a lattice rule, shifted: `frac(index · a^k / M + shift)`.
#[expect(clippy::cast_precision_loss, reason = "fractions of a count of points")]
fn coordinate(index: usize, power: usize, count: usize, shift: f64) -> f64 {
    let place = (index * power % count.max(1)) as f64 / count.max(1) as f64;
    (place + shift).fract()
}
