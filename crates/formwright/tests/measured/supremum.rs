//! The tables of `measurements/supremum.md`: continuous functions that are known by values and a constant alone, in the
//! supremum norm.
//!
//!     cargo test --release -p formwright --lib -- --ignored --nocapture measured::supremum

use std::fs;

use crate::tests::support::Random;
use crate::tests::support::report::{machine, measurements, table, today};
use formwright::bound::norm::upward;
use formwright::compile::{Asked, Model, compile};
use formwright::construct::median::built::Median;
use formwright::error::Result;
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::lattice::Grid;
use formwright::plan::compile_first;
use formwright::target::{Source, Table};

/// A function of a sequence and a token, a constant for the largest change of an input, and by how much its values differ.
struct Case {
    name: &'static str,
    sizes: (usize, usize),
    cells: u64,
    constant: u64,
    spread: f64,
    value: fn(&[f64], usize) -> f64,
}

fn largest(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::MIN, f64::max)
}

fn least(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::MAX, f64::min)
}

fn sorted(x: &[f64], place: usize) -> f64 {
    let mut x = x.to_vec();
    x.sort_by(f64::total_cmp);
    x[place]
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.iter().fold(0.0, |count, _| count + 1.0)
}

const CASES: [Case; 12] = [
    Case { name: "the larger", sizes: (2, 1), cells: 42, constant: 1, spread: 1.0, value: |x, _| largest(x) },
    Case {
        name: "the distance",
        sizes: (2, 1),
        cells: 84,
        constant: 2,
        spread: 1.0,
        value: |x, _| (x[0] - x[1]).abs(),
    },
    Case { name: "sorted", sizes: (2, 1), cells: 42, constant: 1, spread: 1.0, value: sorted },
    Case { name: "the product", sizes: (2, 1), cells: 84, constant: 2, spread: 1.0, value: |x, _| x[0] * x[1] },
    Case {
        name: "a tent of the mean",
        sizes: (2, 1),
        cells: 84,
        constant: 2,
        spread: 1.0,
        value: |x, _| 2.0 * mean(x).min(1.0 - mean(x)),
    },
    Case {
        name: "a wave of the token",
        sizes: (2, 1),
        cells: 84,
        constant: 2,
        spread: 0.75,
        value: |x, i| (3.0 * x[i]).sin() / 2.0 + x[1 - i] / 4.0,
    },
    Case { name: "the middle", sizes: (3, 1), cells: 4, constant: 1, spread: 1.0, value: |x, _| sorted(x, 1) },
    Case { name: "the range", sizes: (3, 1), cells: 8, constant: 2, spread: 1.0, value: |x, _| largest(x) - least(x) },
    Case {
        name: "the mean square",
        sizes: (3, 1),
        cells: 8,
        constant: 2,
        spread: 1.0,
        value: |x, _| x.iter().map(|x| x * x).sum::<f64>() / 3.0,
    },
    Case { name: "the largest of four", sizes: (4, 1), cells: 4, constant: 1, spread: 1.0, value: |x, _| largest(x) },
    Case { name: "the mean of four", sizes: (4, 1), cells: 4, constant: 1, spread: 1.0, value: |x, _| mean(x) },
    Case {
        name: "across coordinates",
        sizes: (2, 2),
        cells: 4,
        constant: 1,
        spread: 1.0,
        value: |x, i| x[2 * i].max(x[3 - 2 * i]),
    },
];

/// Points of a search for each network.
const POINTS: usize = 20_000;

impl Case {
    fn values(&self, flat: &[f64]) -> Vec<f64> {
        (0..self.sizes.0).map(|token| (self.value)(flat, token)).collect()
    }

    /// The values at the centres of cells, as doubles.
    fn table(&self) -> Source {
        let (tokens, dims) = self.sizes;
        let grid = Grid::unit(tokens, dims, self.cells).expect("a grid");
        let entry = |x: Vec<Vec<Rat>>| {
            let flat: Vec<f64> = x.iter().flatten().map(Rat::to_f64).collect();
            self.values(&flat).into_iter().map(|y| vec![Rat::from_f64(y).expect("finite")]).collect()
        };
        let values = grid.all_points().map(|point| entry(grid.centre(&point))).collect();
        Source::table(self.name, Table::new(grid, 1, values).expect("a table"))
    }

    fn model(&self, precision: &str) -> Result<Model> {
        let options = Asked {
            norm: Some("sup".to_owned()),
            lipschitz: Some(self.constant.to_string()),
            precision: Some(precision.to_owned()),
            ..Asked::default()
        };
        compile_first(&options.request(self.table())?)
    }

    /// The largest error that is found at, and next to, walls of all grids.
    fn searched(&self, model: &Model) -> f64 {
        let built: &Median = model.built.of().expect("a median");
        let network = model.float().expect("floats");
        let (tokens, dims) = self.sizes;
        let mut all = vec![0.0, 1.0];
        for copy in 0..built.shifts.copies() {
            let grid = built.shifts.grid(copy).expect("a grid");
            for wall in 0..=grid.resolution() {
                let wall = (grid.low() + built.shifts.side() * Rat::from(wall)).to_f64();
                let margin = (built.shifts.side() * built.shifts.margin()).to_f64();
                let near = [wall, wall - margin / 2.0, wall - margin, wall + margin];
                all.extend(near.into_iter().map(|x| network.precision.round(x)));
            }
        }
        all.retain(|x| (0.0..=1.0).contains(x));
        let mut random = Random::new(26);
        let mut draw = || all[usize::try_from(random.below(all.len() as u64)).expect("an index")];
        let points: Vec<Vec<f64>> = (0..POINTS).map(|_| (0..tokens * dims).map(|_| draw()).collect()).collect();
        let shaped: Vec<Vec<Vec<f64>>> =
            points.iter().map(|flat| flat.chunks(dims).map(<[f64]>::to_vec).collect()).collect();
        let outputs = Engine::new(network).and_then(|engine| engine.run(&shaped)).expect("a run");
        let off = |(flat, output): (&Vec<f64>, Vec<Vec<f64>>)| {
            let wanted = self.values(flat);
            output.iter().flatten().zip(wanted).map(|(y, wanted)| (y - wanted).abs()).fold(0.0, f64::max)
        };
        points.iter().zip(outputs).map(off).fold(0.0, f64::max)
    }

    fn row(&self) -> Vec<String> {
        let (tokens, dims) = self.sizes;
        let best = self.spread / 2.0;
        let mut row = vec![self.name.to_owned(), tokens.to_string(), dims.to_string(), self.constant.to_string()];
        row.extend([self.cells.to_string(), best.to_string()]);
        for precision in ["f64", "f32"] {
            let model = match self.model(precision) {
                Ok(model) => model,
                Err(error) => {
                    row.extend([error.headline().to_owned(), String::new()]);
                    continue;
                }
            };
            let certified = model.stated().expect("a claim").expect("a claim").bound;
            let found = self.searched(&model);
            assert!(found <= certified, "{}: {found} above {certified}", self.name);
            if precision == "f64" {
                let asked = if tokens * dims == 2 { 0.01 } else { best / 4.0 };
                assert!(certified <= asked, "{}: {certified}, asked {asked}", self.name);
                let size = model.size();
                row.extend([size.blocks.to_string(), size.parameters.to_string()]);
            }
            row.extend([upward(certified, 3), format!("{found:.2e}")]);
        }
        let options = Asked {
            norm: Some("l2".to_owned()),
            construction: Some("sum-code".to_owned()),
            positional: self.name == "sorted",
            precision: Some("f64".to_owned()),
            ..Asked::default()
        };
        let one = options.request(self.table()).and_then(|request| compile(&request));
        row.extend(one.map_or_else(
            |error| [error.headline().to_owned(), String::new()],
            |model| [model.size().blocks.to_string(), model.size().parameters.to_string()],
        ));
        row
    }
}

#[test]
#[ignore = "a measurement, not a test: minutes"]
fn is_written() {
    let columns = [
        "function",
        "n",
        "d",
        "L",
        "cells",
        "constant",
        "blocks",
        "parameters",
        "f64",
        "found",
        "f32",
        "found",
        "blocks, one grid",
        "parameters, one grid",
    ];
    let rows: Vec<Vec<String>> = CASES.iter().map(Case::row).collect();
    let text = format!(
        "# Functions without a formula, in the supremum norm\n\n{}, {}.\n\
         `cargo test --release -p formwright --lib -- --ignored --nocapture measured::supremum` writes this page.\n\n\
         Each function is known by its values at the centres of *cells* a side, as doubles, and by a Lipschitz constant *L*:\n\
         a table with `--norm sup --lipschitz L`, or what `formwright.build(f, norm=\"sup\", lipschitz=L, trace=False)` samples.\n\
         Certified is the distance from *every* function with these values and this constant, at every point of the box.\n\
         *constant* is what the best constant is off by. *found* is the largest error against the function itself at {POINTS}\n\
         points of which every coordinate is at a wall of a grid, on its ramp, or a margin beside it. The last two columns are\n\
         those of one grid of the same cells, which is certified in L² and knows nothing of the supremum.\n\n{}",
        today(),
        machine(),
        table(&columns, &rows)
    );
    fs::write(measurements("supremum.md"), &text).expect("measurements/supremum.md is written");
    print!("{text}");
}
