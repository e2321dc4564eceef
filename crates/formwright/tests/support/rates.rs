//! How fast the measured error falls as the grid gets finer.

#![allow(dead_code)]

use formwright::bound::Norm;
use formwright::bound::measured::measure;
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::lattice::has_distinct_columns;
use formwright::lower::Format;
use formwright::network::Precision;

use super::built::{Built, exactly};
use super::{Options, Triple, expression};

/// The part of the box that an error is measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Everywhere,
    /// On cells with equal columns only: the loss of Proposition 4.
    Duplicates,
}

/// A float network whose error is measured.
pub struct Subject {
    built: Built,
    engine: Engine,
}

impl Subject {
    /// `None` where the grid does not fit double precision.
    pub fn new(text: &str, triple: Triple, positional: bool) -> Option<Self> {
        let options = Options { positional, ..Options::default() };
        let built = Built::new(&expression(text), triple, &options, Format::literal(Precision::F64)).ok()?;
        let engine = Engine::new(&built.network).expect("an engine");
        Some(Self { built, engine })
    }

    /// The measured error in `L^p`.
    pub fn error(&self, p: u32, part: Part, points: usize) -> f64 {
        let Built { grid, target, .. } = &self.built;
        let counts = |x: &Vec<Vec<f64>>| {
            let cell = grid.cell(&exactly(x));
            part == Part::Everywhere || cell.is_some_and(|point| !has_distinct_columns(&point))
        };
        let run = |batch: &[Vec<Vec<f64>>]| {
            let run: Vec<Vec<Vec<f64>>> = batch.iter().filter(|x| counts(x)).cloned().collect();
            let mut outputs = self.engine.run(&run)?.into_iter();
            // Elsewhere the target itself, which is off by 0.
            let itself = |x: &Vec<Vec<f64>>| -> formwright::error::Result<Vec<Vec<f64>>> {
                Ok(target.evaluate_f64(x)?.chunks(target.output_dims()).map(<[f64]>::to_vec).collect())
            };
            batch.iter().map(|x| if counts(x) { Ok(outputs.next().expect("an output")) } else { itself(x) }).collect()
        };
        let norm = Norm::Lp(Rat::from(p));
        measure(|batch| target.evaluate_batch(batch), grid, &norm, points, run)
            .expect("a run")
            .expect("an L^p norm")
            .value
    }
}

/// The slope of the line of least squares through `(ln 1/N, ln error)`: the rate `r` of an error like `N^-r`.
pub fn rate(errors: &[(u64, f64)]) -> f64 {
    let float = |n: usize| f64::from(u32::try_from(n).expect("a few grids"));
    let side = |n: u64| f64::from(u32::try_from(n).expect("a grid"));
    let points: Vec<(f64, f64)> = errors.iter().map(|(n, error)| (-side(*n).ln(), error.ln())).collect();
    let mean = |pick: fn(&(f64, f64)) -> f64| points.iter().map(pick).sum::<f64>() / float(points.len());
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    covariance / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>()
}
