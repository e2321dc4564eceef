//! The networks that the compiler writes down for a function, family by family, at a ladder of sizes.
//!
//! | family | ladder | proved |
//! |---|---|---|
//! | `yun --pack`, `sum-code` | cells a side `N` | `L^2` |
//! | `sumformer`, `circuit` (both trades) | tolerances | sup, hence `L^2` |
//!
//! A lattice network stores a value for each multiset of columns, `C(N^d + n - 1, n)` of them, or with positions for
//! each sequence, `N^{dn}`. The count is known before anything is built, and bounds the ladder. The floats are `f64`,
//! which lose least. A network that cannot be built is listed with the compiler's reason.

use std::time::Instant;

use formwright::bound::Norm;
use formwright::compile::{Asked, Model, Over, compile};
use formwright::error::{Error, Result};
use formwright::exact::{Int, Rat};
use formwright::interval::Interval;
use formwright::lattice::Grid;
use formwright::option::Front;

use crate::config::{Run, source};

/// Cells a side.
const CELLS: [u64; 9] = [2, 3, 4, 6, 8, 12, 16, 24, 32];

/// The most values that a lattice network stores here: a second or two each.
const MOST_VALUES: u64 = 4096;

/// Tolerances in the supremum norm, each a quarter of the one before.
const TOLERANCES: [&str; 6] = ["1/4", "1/16", "1/64", "1/256", "1/1024", "1/4096"];

/// The bases of a Sumformer's ψ: the compiler's own choice, else fits of these degrees.
const BASES: [Option<&str>; 3] = [None, Some("fit:2"), Some("fit:4")];

/// Proved errors, in the units of the measured ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Certified {
    /// At every point of the box.
    pub sup: Option<f64>,
    /// The root of the mean square over the box, tokens and coordinates.
    pub l2: Option<f64>,
}

/// A network that was written down.
pub struct Constructed {
    /// The construction, as it is written after `--construction`.
    pub family: String,
    /// Its place on the ladder.
    pub size: String,
    /// The network.
    pub model: Model,
    /// The errors that are proved.
    pub certified: Certified,
    /// Seconds to build it, with its proof.
    pub seconds: f64,
}

/// Networks that could not be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The construction.
    pub family: String,
    /// Places on the ladder.
    pub sizes: Vec<String>,
    /// The reason.
    pub why: String,
}

/// The networks that were built, and those that could not be.
#[derive(Default)]
pub struct Ladder {
    /// The networks.
    pub built: Vec<Constructed>,
    /// The rest.
    pub left_out: Vec<LeftOut>,
}

impl Ladder {
    fn leave_out(&mut self, family: &str, size: String, why: &str) {
        match self.left_out.last_mut() {
            Some(last) if last.family == family && last.why == why => last.sizes.push(size),
            _ => self.left_out.push(LeftOut { family: family.to_owned(), sizes: vec![size], why: why.to_owned() }),
        }
    }

    /// Builds a rung, or records why it cannot be built.
    fn build(&mut self, run: &Run, family: &str, size: String, asked: Asked) -> Result<()> {
        let start = Instant::now();
        let asked = Asked { tokens: Some(run.tokens), dims: Some(run.dims), ..asked };
        let model = compile(&asked.request(source(&run.target)?)?)?;
        let certified = certified(&model)?;
        let seconds = start.elapsed().as_secs_f64();
        self.built.push(Constructed { family: family.to_owned(), size, model, certified, seconds });
        Ok(())
    }

    fn build_or_leave_out(&mut self, run: &Run, family: &str, size: String, asked: Asked) {
        if let Err(error) = self.build(run, family, size.clone(), asked) {
            self.leave_out(family, size, error.told(Front::CommandLine).headline());
        }
    }
}

/// Builds every family at every possible size; `doing` is told which one is next.
pub fn constructions(run: &Run, doing: &impl Fn(&str)) -> Result<Ladder> {
    let mut ladder = Ladder::default();
    // The compiler takes no single token: then every family says so.
    let (low, high) = source(&run.target)?.cube();
    let has_grid = Grid::new(run.tokens, run.dims, CELLS[0], low, high).is_ok();
    let positional = has_grid && !run.target()?.is_equivariant();
    for (construction, pack) in [("yun", true), ("sum-code", false)] {
        let family = [construction, if pack { " --pack" } else { "" }, if positional { " --positional" } else { "" }];
        let family = family.concat();
        doing(&family);
        for cells in CELLS {
            let size = format!("{cells} cells a side");
            let values = values(run, cells, positional);
            if values > Int::from(MOST_VALUES) {
                let size = format!("{size} ({values} values)");
                ladder.leave_out(
                    &family,
                    size,
                    &format!("more values than the {MOST_VALUES} that are stored here at most"),
                );
                continue;
            }
            let asked = Asked {
                construction: Some(construction.to_owned()),
                resolution: Some(cells),
                norm: Some("l2".to_owned()),
                precision: Some("f64".to_owned()),
                pack,
                positional,
                ..Asked::default()
            };
            ladder.build_or_leave_out(run, &family, size, asked);
        }
    }
    sumformers(run, &mut ladder, doing);
    for trade in ["width", "depth"] {
        let family = format!("circuit --trade {trade}");
        doing(&family);
        for eps in TOLERANCES {
            let own = [("trade".to_owned(), trade.to_owned())].into();
            let asked = Asked { own, ..within("circuit", eps) };
            ladder.build_or_leave_out(run, &family, format!("within {eps}"), asked);
        }
    }
    Ok(ladder)
}

/// The request for a network of gates.
fn within(construction: &str, eps: &str) -> Asked {
    Asked {
        construction: Some(construction.to_owned()),
        eps: Some(eps.to_owned()),
        norm: Some("sup".to_owned()),
        ..Asked::default()
    }
}

/// Builds each tolerance with the first basis that serves. A basis that fails at a tolerance fails at smaller ones too.
fn sumformers(run: &Run, ladder: &mut Ladder, doing: &impl Fn(&str)) {
    const FAMILY: &str = "sumformer";
    doing(FAMILY);
    let mut rest = TOLERANCES.as_slice();
    for basis in BASES {
        let behind = basis.map_or_else(String::new, |basis| format!(" --basis {basis}"));
        while let [eps, smaller @ ..] = rest {
            let mut asked = within(FAMILY, eps);
            asked.own.extend(basis.map(|basis| ("basis".to_owned(), basis.to_owned())));
            if let Err(error) = ladder.build(run, FAMILY, format!("within {eps}{behind}"), asked) {
                ladder.leave_out(&format!("{FAMILY}{behind}"), format!("within {eps} and less"), error.headline());
                break;
            }
            rest = smaller;
        }
    }
}

/// The number of values that a lattice network stores.
fn values(run: &Run, cells: u64, positional: bool) -> Int {
    let columns = Int::from(cells).pow(run.dims);
    if positional { columns.pow(run.tokens) } else { (columns + Int::from(run.tokens - 1)).choose(run.tokens) }
}

/// The errors that are proved of a model on the box, with nothing assumed. An `L^2` norm, `(∫ Σ |·|²)^{1/2}`, over the
/// root of volume times entries is the root of the mean square; a supremum is no less than that.
fn certified(model: &Model) -> Result<Certified> {
    let proved = |stated: &formwright::compile::Stated| {
        stated.badge == "certified" && stated.over == Over::Box && stated.assumptions.is_empty()
    };
    let Some(stated) = model.stated()?.filter(proved) else { return Ok(Certified::default()) };
    Ok(match stated.norm {
        Norm::Sup => Certified { sup: Some(stated.bound), l2: Some(stated.bound) },
        Norm::Lp(p) if p == Rat::from(2) => {
            let (grid, entries) = (&model.grid, model.grid.tokens() * model.target.output_dims());
            let volume = (grid.high() - grid.low()).pow(grid.tokens() * grid.dims());
            let l2 = Interval::from(&(volume * Rat::from(entries)))
                .sqrt()
                .and_then(|root| Interval::point(stated.bound).checked_div(root))
                .map_err(|refusal| Error::declined(refusal.to_string()))?;
            Certified { sup: None, l2: Some(l2.hi()) }
        }
        Norm::Lp(_) => Certified::default(),
    })
}
