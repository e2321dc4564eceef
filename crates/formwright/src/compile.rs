//! From a request to a [`Model`]: the one way in for every front end.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::construct::yun::{self, AsPrinted, Options};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::lattice::Grid;
use crate::network::{Network, Sequence};
use crate::target::{Source, Symmetry, Target};

/// What a user asks for; what is left open is filled in from the target, else from the defaults.
#[derive(Clone, Debug)]
pub struct Request {
    /// The function.
    pub source: Source,
    /// The number of tokens; 3 unless the target fixes it.
    pub tokens: Option<usize>,
    /// The coordinates of a token; 1 unless the target fixes it.
    pub dims: Option<usize>,
    /// Cells a side; there is no default, but a table and an integer domain fix it.
    pub resolution: Option<u64>,
    /// Which theorem, and which steps as printed.
    pub options: Options,
    /// Take the target for equivariant, as an assumption.
    pub assume_equivariant: bool,
}

/// A compiled target: the network and everything that was decided on the way.
#[derive(Debug)]
pub struct Model {
    /// The function as it was written.
    pub source: Source,
    /// The function on tokens of this network's dimension.
    pub target: Arc<Target>,
    /// The lattice.
    pub grid: Grid,
    /// Which theorem, and which steps as printed.
    pub options: Options,
    /// What was assumed and not proved.
    pub assumptions: Vec<String>,
    /// Whether the network is not the one that the construction builds: somebody edited its file. Nothing is claimed of it.
    pub edited: bool,
    /// The network.
    pub network: Network,
}

const DEFAULT_TOKENS: usize = 3;
const DEFAULT_DIMS: usize = 1;

/// Compiles a target to the exact network of Theorem 2 or 3.
pub fn compile(request: &Request) -> Result<Model> {
    let source = &request.source;
    let tokens = fixed("--tokens", request.tokens, source.tokens(), &source.name)?.unwrap_or(DEFAULT_TOKENS);
    let dims = fixed("--dims", request.dims, source.dims(), &source.name)?.unwrap_or(DEFAULT_DIMS);
    let resolution =
        fixed("--resolution", request.resolution, source.resolution(), &source.name)?.ok_or_else(|| {
            Error::input("how fine the grid is must be said: there is no --resolution")
                .note("reason", "the exact network stores one value for each cell of a grid with N cells a side")
                .note("try", "--resolution 4")
        })?;
    let (low, high) = source.cube();
    let grid = Grid::new(tokens, dims, resolution, low, high)?;
    let target = Arc::new(source.target(dims)?);
    let mut assumptions = Vec::new();
    if !request.options.positional {
        match target.symmetry(&grid) {
            Symmetry::Proved => {}
            _ if request.assume_equivariant => assumptions.push("the target is permutation-equivariant".to_owned()),
            symmetry => return Err(not_equivariant(&symmetry)),
        }
    }
    let network = yun::build(&grid, &target, &request.options)?;
    Ok(Model {
        source: source.clone(),
        target,
        grid,
        options: request.options.clone(),
        assumptions,
        edited: false,
        network,
    })
}

/// What the user says and what the target fixes must agree.
fn fixed<T: PartialEq + std::fmt::Display>(
    option: &str,
    asked: Option<T>,
    fixed: Option<T>,
    name: &str,
) -> Result<Option<T>> {
    match (asked, fixed) {
        (Some(asked), Some(fixed)) if asked != fixed => {
            Err(Error::input(format!("{option} is {asked}, but the target {name} fixes it to {fixed}"))
                .note("try", format!("leave out {option}")))
        }
        (asked, fixed) => Ok(fixed.or(asked)),
    }
}

fn not_equivariant(symmetry: &Symmetry) -> Error {
    let theorem = "yun (Theorem 2) needs f(XP) = f(X)P for every permutation P";
    match symmetry {
        Symmetry::Refuted(witness) => witness
            .explain(Error::declined(
                "the target is not permutation-equivariant, and no positional encoding was asked for",
            ))
            .note("theorem", theorem)
            .note("try", "--positional (Theorem 3), or an equivariant target"),
        _ => Error::declined(
            "the target could not be proved permutation-equivariant, and no positional encoding was asked for",
        )
        .note("reason", "it mentions i, j, sort, a gather or a position filter; no witness against it was found either")
        .note("theorem", theorem)
        .note("try", "--positional (Theorem 3), or --assume equivariant if you know it is"),
    }
}

/// A count as a JSON number of any size.
fn json_number(count: &Int) -> Value {
    count.to_string().parse().map_or(Value::Null, Value::Number)
}

impl Model {
    /// What the network is known to do, in words; empty if nothing is claimed.
    pub fn claim(&self) -> Option<String> {
        let contexts = self.grid.contexts();
        let claim = if self.options.positional {
            format!("the centres of all {} cells", self.grid.points())
        } else {
            let permutations = (1..=self.grid.tokens()).fold(Int::ONE, |product, k| product * Int::from(k));
            let good = contexts * permutations;
            let zero = if self.options.prints(AsPrinted::FlagSign) {
                "0 on cells with equal columns; nothing is claimed outside of the box"
            } else {
                "0 on cells with equal columns and outside of the box"
            };
            format!("the centres of the {good} cells with pairwise distinct columns; {zero}")
        };
        let broken = self.options.prints(AsPrinted::Lemma7Order)
            && !yun::values_stay_below_windows(&self.grid, &self.target, &self.options).unwrap_or(false);
        (!broken && !self.edited).then_some(claim)
    }

    /// The largest number of binary digits of an id.
    pub fn id_bits(&self) -> usize {
        yun::id_bits(&self.grid, &self.options)
    }

    /// A sequence of cell centres with distinct columns (where the grid has enough of them), to show what the network does.
    pub fn example(&self) -> Sequence {
        let (n, columns) = (self.grid.tokens(), self.grid.columns());
        let rank = |token: usize| if token.is_multiple_of(2) { token / 2 } else { n - 1 - token / 2 };
        let id = |token: usize| (Int::from(rank(token)) * &columns).div_rem(&Int::from(n)).0;
        let point: Vec<Vec<u64>> = (0..n).map(|token| self.grid.column(&id(token))).collect();
        self.grid.centre(&point)
    }

    /// What the target says of a sequence: its value at the cell's centre, unless the network is to give 0 there.
    pub fn expected(&self, x: &[Vec<Rat>]) -> Result<Sequence> {
        let outputs = self.target.output_dims();
        let zero = vec![vec![Rat::ZERO; outputs]; self.grid.tokens()];
        let Some(point) = self.grid.cell(x) else { return Ok(zero) };
        let distinct = (1..point.len()).all(|j| !point[..j].contains(&point[j]));
        if distinct || self.options.positional {
            yun::centres::value_at_centre(&self.target, &self.grid, &point)
        } else {
            Ok(zero)
        }
    }

    /// `equivariant` if this is proved, else `none`.
    fn symmetry_name(&self) -> &'static str {
        if self.target.symmetry(&self.grid) == Symmetry::Proved { "equivariant" } else { "none" }
    }

    /// The summary that `build` and `inspect` print, `dir` aside.
    pub fn summary(&self) -> Value {
        let tokens = self.grid.tokens();
        let stages: Vec<Value> = self
            .network
            .stages
            .iter()
            .map(|stage| {
                json!({
                    "name": stage.name,
                    "statement": stage.statement,
                    "layers": json_number(&stage.generator.size().layers),
                    "meaning": stage.meaning,
                })
            })
            .collect();
        let claim = self.claim();
        json!({
            "construction": "yun",
            "positional": self.options.positional,
            "attention": "hardmax",
            "precision": "exact",
            "as_printed": self.options.as_printed.iter().map(|step| step.name()).collect::<Vec<_>>(),
            "tokens": tokens,
            "tokens_certified": {"min": tokens, "max": tokens},
            "dims": self.grid.dims(),
            "output_dims": self.network.output_dims(),
            "width": self.network.width(),
            "resolution": self.grid.resolution(),
            "box": [self.grid.low(), self.grid.high()],
            "size": self.network.size(),
            "id_bits": self.id_bits(),
            "stages": stages,
            "error": {
                "badge": claim.as_ref().map(|_| "exact-on-grid"),
                "norm": null,
                "domain": claim,
                "bound": 0,
                "terms": [],
                "assumptions": self.assumptions,
                "baseline": {"best_constant": null},
                "measured": null,
                "checked": "not-run",
            },
            "target": {
                "name": self.target.name,
                "symmetry": self.symmetry_name(),
                "continuous": self.target.is_continuous(tokens),
            },
        })
    }
}
