//! The network's own outputs and the target's values at many points: as many as a second allows.

use crate::compile::Model;
use crate::construct::yun::centres::value_at_centre;
use crate::error::{Error, Result};
use crate::eval::float::Engine;
use crate::eval::indexed;
use crate::exact::Rat;
use crate::network::Sequence;

/// About how many operations of a float network all pictures may take.
const OPERATIONS: usize = 400_000_000;

/// About how many binary digits of ids a closed form may go through.
const DIGITS: usize = 1_000_000;

/// Both functions at one point, entry by entry, token by token.
pub(crate) struct Sample {
    /// The point.
    pub x: Sequence,
    /// The target.
    pub f: Vec<f64>,
    /// The network.
    pub g: Vec<f64>,
}

/// Why the network does not give the target's value at the centre of a cell there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    /// Two tokens lie in one cell.
    Duplicates,
    /// The point lies between two cells, where floats go from one value to the next.
    Ramp,
}

/// A network that is ready to be looked at.
pub(crate) struct Sampler<'a> {
    model: &'a Model,
    engine: Option<Engine>,
    /// The number of points.
    pub most: usize,
}

impl<'a> Sampler<'a> {
    /// The sampler of a model.
    pub fn new(model: &'a Model) -> Result<Self> {
        let engine = model.float().map(Engine::new).transpose()?;
        let most = match model.float() {
            Some(network) => OPERATIONS / model.work(network),
            None => DIGITS / (model.grid.tokens() * model.id_bits().unwrap_or(1)).max(1),
        };
        Ok(Self { model, engine, most })
    }

    /// Both functions at these points.
    pub fn at(&self, points: Vec<Sequence>) -> Result<Vec<Sample>> {
        let floats: Vec<Vec<Vec<f64>>> =
            points.iter().map(|x| x.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect()).collect();
        let outputs: Vec<Vec<f64>> = match (&self.engine, self.model.exact()) {
            (Some(engine), _) => engine.run(&floats)?.into_iter().map(|y| y.concat()).collect(),
            (None, Some(network)) => {
                let run = |x: &Sequence| Ok(indexed::run(network, x)?.concat().iter().map(Rat::to_f64).collect());
                points.iter().map(run).collect::<Result<_>>()?
            }
            (None, None) => return Err(Error::declined("a circuit has no exact network")),
        };
        let target = floats.iter().map(|x| self.model.target.evaluate_f64(x)).collect::<Result<Vec<_>>>()?;
        let samples = points.into_iter().zip(target).zip(outputs);
        Ok(samples.map(|((x, f), g)| Sample { x, f, g }).collect())
    }

    /// So many points along a side of the box, each in the middle of its stretch; on integers, integers.
    pub fn along(&self, count: u64) -> Vec<Rat> {
        let grid = &self.model.grid;
        let (low, side) = (grid.low(), grid.high() - grid.low());
        let middle = |k: u64| low + &side * Rat::new(2 * k + 1, 2 * count);
        let snapped =
            |x: Rat| if self.model.target.is_discrete() { Rat::from((x + Rat::new(1, 2)).floor()) } else { x };
        (0..count).map(middle).map(snapped).collect()
    }

    /// How many points along a side serve, at most so many: as many for every cell, where there are cells.
    pub fn count(&self, most: u64) -> u64 {
        let (cells, discrete) = (self.model.grid.resolution(), self.model.target.is_discrete());
        match (cells <= most, discrete) {
            (true, true) => cells,
            (true, false) if self.model.has_cells() => most / cells * cells,
            _ => most,
        }
    }

    /// The reason why a network by cells does not give the target's value at the centre of the point's cell; `None` if
    /// it does.
    pub fn bad(&self, sample: &Sample) -> Result<Option<Bad>> {
        let Model { grid, target, .. } = self.model;
        let Some(cell) = grid.cell(&sample.x) else { return Ok(None) };
        let wanted = value_at_centre(target, grid, &cell, self.engine.is_some())?.concat();
        let allowed = self.model.rounding().unwrap_or(0.0);
        let off = |(g, wanted): (&f64, &Rat)| {
            let wanted = wanted.to_f64();
            (g - wanted).abs() > allowed + wanted.abs() * f64::EPSILON
        };
        if !sample.g.iter().zip(&wanted).any(off) {
            return Ok(None);
        }
        Ok(Some(if self.model.built.serves(&cell) { Bad::Ramp } else { Bad::Duplicates }))
    }
}
