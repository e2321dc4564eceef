//! `formwright build`.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use formwright::artifact;
use formwright::compile::{Arithmetic, Model, Request, Tolerance, compile};
use formwright::construct::yun::{AsPrinted, Options};
use formwright::error::{Error, Result};
use formwright::eval::float::Engine;
use formwright::eval::indexed;
use formwright::exact::Rat;
use formwright::lower::{Format, Hidden, Temperature};
use formwright::network;
use formwright::plan::compile_first;

use crate::Answer;
use crate::show::{Row, badge, document, example_table, header, shown, shown_floats, size_line, stage_table, working};

/// The target of the demonstration.
const DEMONSTRATION: (&str, u64) = ("mean-centring", 4);

#[derive(Args)]
pub struct Build {
    #[command(flatten)]
    wish: Wish,
    /// The construction. Without it, and with a tolerance, the first row of `plan` is taken; else it is yun.
    #[arg(long, value_enum)]
    construction: Option<Construction>,
    /// With a positional encoding (Theorem 3): for targets that are not equivariant, and for sequences with equal tokens.
    #[arg(long)]
    positional: bool,
    /// Take a step of the proof as printed instead of repaired: lemma7-order, theorem3-positions or flag-sign.
    #[arg(long, value_name = "NAME")]
    as_printed: Vec<String>,
    /// The folder to write; without it nothing is written.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// What `build` and `plan` are both told: the target, its shape, what is asked of the error.
#[derive(Args)]
pub struct Wish {
    /// A built-in name (see `formwright targets`), an expression in quotes such as "x - mean(x)", or a file with an expression or a
    /// table.
    #[arg(allow_hyphen_values = true)]
    target: Option<String>,
    /// The number of tokens; 3 unless the target fixes it.
    #[arg(long, value_name = "T")]
    tokens: Option<usize>,
    /// The coordinates of a token; 1 unless the target fixes it.
    #[arg(long, value_name = "K")]
    dims: Option<usize>,
    /// The number of cells a side of the grid; a table and an integer domain fix it, and a tolerance finds it.
    #[arg(long, value_name = "N")]
    resolution: Option<u64>,
    /// The error that is allowed, an exact decimal or fraction.
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    eps: Option<String>,
    /// The norm of the error: sup, l1, l2 or lp:P. With a tolerance and no norm it is sup.
    #[arg(long, value_name = "NORM")]
    norm: Option<String>,
    /// State a Lipschitz constant: every output entry changes by at most L times the largest change of an input. An assumption.
    #[arg(long, value_name = "L", allow_hyphen_values = true)]
    lipschitz: Option<String>,
    /// State what is not proved; it is listed with every claim.
    #[arg(long, value_enum, value_name = "WHAT")]
    assume: Vec<Assumption>,
    /// The kind of attention: softmax for floats, hardmax for exact networks.
    #[arg(long, value_enum)]
    attention: Option<Attention>,
    /// The arithmetic of the network; auto is f32 if the tolerance is met there, else f64, else exact. The default is auto with a tolerance,
    /// else exact.
    #[arg(long, value_enum)]
    precision: Option<Precision>,
    /// Of softmax: the smallest power of two for which its drift vanishes in rounding, or for which it is hardmax, bit by bit.
    #[arg(long, value_enum, default_value_t = TemperatureName::Derived)]
    temperature: TemperatureName,
    /// What the claim is about: the box, or all of space, where the target is taken as 0 outside of the box. Floats then need a guard.
    #[arg(long, value_enum, default_value_t = Domain::Box)]
    domain: Domain,
    /// Pack the feed-forward layers of each stage into one wide block, instead of four hidden units a block as in the paper.
    #[arg(long, conflicts_with = "hidden")]
    pack: bool,
    /// Pack feed-forward layers into blocks of at most R hidden units.
    #[arg(long, value_name = "R")]
    hidden: Option<usize>,
}

impl Wish {
    /// The request, for this target text and with these construction options.
    fn request(&self, target: &str, resolution: Option<u64>, options: Options) -> Result<Request> {
        if self.lipschitz.is_some() && self.norm.is_none() && self.eps.is_none() {
            return Err(Error::input("--lipschitz serves a bound, and none was asked for").note("try", "add --norm l2"));
        }
        Ok(Request {
            options: Options { everywhere: self.domain == Domain::All, ..options },
            source: artifact::read_target(target)?,
            arithmetic: self.arithmetic(self.eps.is_some())?,
            tokens: self.tokens,
            dims: self.dims,
            resolution,
            assume_equivariant: self.assume.contains(&Assumption::Equivariant),
            tolerance: Tolerance {
                eps: positive("--eps", self.eps.as_deref())?,
                norm: self.norm.as_deref().map(str::parse).transpose()?,
                lipschitz: positive("--lipschitz", self.lipschitz.as_deref())?,
            },
        })
    }

    /// The arithmetic that was asked for; what it is if nothing was depends on whether the grid is found by a tolerance.
    fn arithmetic(&self, by_tolerance: bool) -> Result<Arithmetic> {
        let hidden = match (self.pack, self.hidden) {
            (true, _) => Hidden::All,
            (_, Some(units)) if units < 4 => {
                return Err(Error::input(format!("--hidden is {units}, but a window needs 4 hidden units"))
                    .note("try", "--hidden 4, or leave it out"));
            }
            (_, Some(units)) => Hidden::Units(units),
            _ => Hidden::Literal,
        };
        let temperature = match self.temperature {
            TemperatureName::Derived => Temperature::Derived,
            TemperatureName::Saturate => Temperature::Saturate,
        };
        let format = |precision| Format { precision, temperature, hidden };
        let packed = hidden != Hidden::Literal || temperature != Temperature::Derived;
        let asked = match (self.precision, self.attention) {
            (Some(precision), _) => precision,
            (None, Some(Attention::Softmax)) => Precision::Auto,
            (None, None) if by_tolerance || packed => Precision::Auto,
            (None, _) => Precision::Exact,
        };
        let arithmetic = match asked {
            Precision::Exact => Arithmetic::Exact,
            Precision::F64 => Arithmetic::Float(format(network::Precision::F64)),
            Precision::F32 => Arithmetic::Float(format(network::Precision::F32)),
            // Who names softmax or packs wants floats.
            Precision::Auto if packed || matches!(self.attention, Some(Attention::Softmax)) => {
                Arithmetic::AnyFloat(format(network::Precision::F64))
            }
            Precision::Auto => Arithmetic::Auto(format(network::Precision::F64)),
        };
        match (arithmetic, self.attention) {
            (Arithmetic::Exact, Some(Attention::Softmax)) => {
                Err(Error::input("softmax is not rational: an exact network has hardmax attention")
                    .note("try", "--precision f64, or leave out --attention"))
            }
            (Arithmetic::Float(_) | Arithmetic::AnyFloat(_) | Arithmetic::Auto(_), Some(Attention::Hardmax)) => {
                Err(Error::input("a float network has softmax attention").note(
                    "try",
                    "--temperature saturate, with which softmax is hardmax on the grid; or --precision exact",
                ))
            }
            (Arithmetic::Exact, _) if packed => {
                Err(Error::input("--pack, --hidden and --temperature are about float networks")
                    .note("try", "add --precision f64"))
            }
            _ => Ok(arithmetic),
        }
    }

    /// The request of `plan`, which needs a target.
    pub fn planned(&self) -> Result<Request> {
        let target = self.target.as_deref().ok_or_else(|| {
            Error::input("there is nothing to plan: no target is named")
                .note("try", "formwright plan mean-centring --eps 0.1 --norm l2")
        })?;
        let request = self.request(target, self.resolution, Options::default())?;
        // A plan has a tolerance unless the grid is fixed.
        let fixed = self.eps.is_none() && request.resolution.or(request.source.resolution()).is_some();
        Ok(Request { arithmetic: self.arithmetic(!fixed)?, ..request })
    }
}

/// A positive exact number.
fn positive(option: &str, text: Option<&str>) -> Result<Option<Rat>> {
    let Some(text) = text else { return Ok(None) };
    let value: Rat = text.parse().map_err(|error| Error::input(format!("{option} is '{text}': {error}")))?;
    if value > Rat::ZERO {
        return Ok(Some(value));
    }
    Err(Error::input(format!("{option} is {text}, but must be above 0")).note("try", format!("{option} 1/10")))
}

#[derive(Clone, Copy, ValueEnum)]
enum Construction {
    /// Yun et al. 2020, Theorem 2, and with --positional Theorem 3.
    Yun,
}

#[derive(Clone, Copy, ValueEnum)]
enum Attention {
    /// Ordinary attention.
    Softmax,
    /// All weight on the largest score.
    Hardmax,
}

#[derive(Clone, Copy, ValueEnum)]
enum Precision {
    /// Rational numbers of any size.
    Exact,
    /// Double precision.
    F64,
    /// Single precision.
    F32,
    /// Single precision if the tolerance is met there, else double, else exact.
    Auto,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Domain {
    /// The target's box.
    Box,
    /// All of space.
    All,
}

#[derive(Clone, Copy, ValueEnum)]
enum TemperatureName {
    /// The smallest that serves.
    Derived,
    /// Softmax is hardmax.
    Saturate,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Assumption {
    /// Permuting the input tokens permutes the output tokens.
    Equivariant,
}

impl Build {
    pub fn execute(&self) -> Result<Answer> {
        let as_printed = self.as_printed.iter().map(|name| name.parse()).collect::<Result<Vec<AsPrinted>>>()?;
        let options = Options { positional: self.positional, as_printed, ..Options::default() };
        let demonstration = self.wish.target.is_none();
        if demonstration && self.output.is_some() {
            return Err(Error::input("there is nothing to write: no target is named")
                .note("try", "formwright build mean-centring --resolution 4 -o DIR"));
        }
        let resolution = self.wish.resolution.or(demonstration.then_some(DEMONSTRATION.1));
        let target = self.wish.target.as_deref().unwrap_or(DEMONSTRATION.0);
        let request = self.wish.request(target, resolution, options)?;
        let _working = working("proving a bound, cell by cell; finer grids until the tolerance is met");
        let open = self.construction.is_none() && !self.positional && self.as_printed.is_empty();
        let (model, mut text) = if open && request.tolerance.eps.is_some() {
            let model = compile_first(&request)?;
            let (chosen, other) =
                if model.options.positional { ("yun --positional", "yun") } else { ("yun", "yun --positional") };
            let precision = model.precision();
            let text = format!(
                "chosen: {chosen} in {precision}, the first row of formwright plan; --construction {other} takes the other theorem\n\n"
            );
            (model, text)
        } else {
            (compile(&request)?, String::new())
        };
        text.push_str(&describe(&model)?);
        if let Some(dir) = &self.output {
            artifact::write(&model, dir)?;
            let _ = write!(text, "\nwritten to {0}; try: formwright inspect {0}", dir.display());
        } else if demonstration {
            text.push_str(NEXT);
        }
        let json = document(&model, self.output.as_deref())?;
        Ok(Answer { text, json })
    }
}

/// What a newcomer might do next.
const NEXT: &str = "
next: formwright targets                                                    other functions
      formwright build sort --positional --tokens 4 --resolution 8          one that depends on the order of the tokens
      formwright build max-broadcast --tokens 2 --eps 0.1 --norm l1         by tolerance: softmax, ReLU, floats, a proved error
      formwright plan max-broadcast --tokens 2 --eps 0.1 --norm l1          every construction's size and proved error
      formwright build mean-centring --resolution 4 -o DIR                  write it; then formwright run DIR --input FILE
      formwright theorems                                                   the statements behind it
";

/// The readable summary: stages, sizes, an example, the claim.
pub fn describe(model: &Model) -> Result<String> {
    let mut text = header(model);
    let _ = write!(text, "\n\n{}\n{}\n\n", stage_table(model), size_line(model));
    let _ = write!(text, "what each stage does to an example\n{}\n\n", example_table(&example(model)?));
    let _ = writeln!(text, "{}", badge(model)?);
    Ok(text)
}

/// An input, its state after each stage, the output, and what the target says.
fn example(model: &Model) -> Result<Vec<Row>> {
    let x = model.example();
    let expected = model.expected(&x)?;
    let mut rows = vec![("input".to_owned(), shown(&x), String::new())];
    let verdict;
    if let Some(lowered) = &model.lowered {
        let floats: Vec<Vec<f64>> = x.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect();
        let engine = Engine::new(&lowered.network)?;
        let trace = engine.trace(&floats)?;
        rows.extend(trace.iter().map(|(name, state)| (name.clone(), shown_floats(state), String::new())));
        let output = engine.run(&[floats])?.remove(0);
        let entries = output.iter().flatten().zip(expected.iter().flatten());
        let off = entries.map(|(y, f)| (y - f.to_f64()).abs()).fold(0.0, f64::max);
        rows.push(("output".to_owned(), shown_floats(&output), String::new()));
        verdict = if off == 0.0 { "equal".to_owned() } else { format!("off by {off:.1e}") };
    } else {
        let trace = indexed::trace(&model.network, &x)?;
        rows.extend(trace.iter().map(|(name, state)| ((*name).to_owned(), shown(state), String::new())));
        let output = indexed::run(&model.network, &x)?;
        rows.push(("output".to_owned(), shown(&output), String::new()));
        verdict = if output == expected { "equal" } else { "NOT EQUAL" }.to_owned();
    }
    rows.push(("target".to_owned(), shown(&expected), verdict));
    Ok(rows)
}
