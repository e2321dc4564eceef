//! A float network with everything that it came from, on the unit box.

#![allow(dead_code)]

use std::sync::Arc;

use formwright::construct::yun::Options;
use formwright::construct::yun::lower::Lowering;
use formwright::error::Result;
use formwright::exact::Rat;
use formwright::lattice::Grid;
use formwright::lower::Format;
use formwright::network::{FloatNetwork, Network, Precision, Sequence};
use formwright::target::{Source, Target};

/// An expression and the float network that it was compiled to.
#[derive(Debug)]
pub struct Built {
    pub grid: Grid,
    pub target: Arc<Target>,
    pub lowering: Lowering,
    pub exact: Network,
    pub network: FloatNetwork,
}

impl Built {
    pub fn new(source: &Source, (n, d, side): (usize, usize, u64), options: &Options, format: Format) -> Result<Self> {
        let grid = Grid::unit(n, d, side)?;
        let target = Arc::new(source.target(d)?);
        let lowering = Lowering::derive(&grid, &target, options, format)?;
        let exact = lowering.exact(&grid, &target)?;
        let network = lowering.lower(&exact)?;
        Ok(Self { grid, target, lowering, exact, network })
    }

    /// The output of the network where it serves no cell.
    pub fn offset(&self) -> f64 {
        self.lowering.options.tuning.offset.to_f64()
    }

    /// The centre of a cell, as an input of the network's format.
    pub fn centre(&self, point: &[Vec<u64>]) -> Vec<Vec<f64>> {
        let entry = |x: &Rat| self.network.precision.round(x.to_f64());
        self.grid.centre(point).iter().map(|token| token.iter().map(entry).collect()).collect()
    }
}

/// Floats as the numbers that they are.
pub fn exactly(x: &[Vec<f64>]) -> Sequence {
    let entry = |x: &f64| Rat::from_f64(*x).expect("finite");
    x.iter().map(|token| token.iter().map(entry).collect()).collect()
}

/// The two formats.
pub const PRECISIONS: [Precision; 2] = [Precision::F32, Precision::F64];
