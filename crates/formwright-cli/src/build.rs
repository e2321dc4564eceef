//! `formwright build`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use formwright::artifact::{self, Contents};
use formwright::compile::{Asked, Model, Own, Request, compile};
use formwright::construct::families;
use formwright::error::{Error, Result};
use formwright::eval::float::Engine;
use formwright::eval::indexed;
use formwright::exact::{Int, Rat};
use formwright::model::Family;
use formwright::network::{self, Sequence};
use formwright::plan::{Taken, take_first};
use formwright::show::{kilobytes, short_int, shown};

use serde_json::{Value, json};

use crate::Answer;
use crate::check::before_writing;
use crate::show::{Row, badge, document, example_table, gate_table, header, stage_table, working};

/// The target of the demonstration.
const DEMONSTRATION: (&str, u64) = ("mean-centring", 4);

#[derive(Args)]
pub struct Build {
    #[command(flatten)]
    wish: Wish,
    /// With a positional encoding (yun, Theorem 3; sum-code): for targets that are not equivariant, and for sequences
    /// with equal tokens. A circuit has positions where its target needs them.
    #[arg(long)]
    positional: bool,
    /// Take a step of the proof as printed instead of repaired: lemma7-order, theorem3-positions or flag-sign.
    #[arg(long, value_name = "NAME")]
    as_printed: Vec<String>,
    /// The folder to write; without it nothing is written.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Replace the folder even if it holds another model. (One with anything else in it is never replaced.)
    #[arg(long)]
    force: bool,
    /// Write a float model without asking the checker whether its certificate holds.
    #[arg(long)]
    no_check: bool,
}

/// The options that `build` and `plan` share: the target, its shape, the demands on the error.
#[derive(Args)]
pub struct Wish {
    /// A built-in name (see `formwright targets`), an expression in quotes such as "x - mean(x)", or a file with an
    /// expression or a table.
    #[arg(allow_hyphen_values = true)]
    target: Option<String>,
    /// The construction. Without it the first row of `plan` is taken; with a grid and no tolerance, or with a table, it is yun.
    #[arg(long, value_parser = constructions())]
    construction: Option<String>,
    #[command(flatten)]
    own: OwnOptions,
    /// The number of tokens; 3 unless the target fixes it.
    #[arg(long, value_name = "T", value_parser = whole::<usize>, allow_negative_numbers = true)]
    tokens: Option<usize>,
    /// The coordinates of a token; 1 unless the target fixes it.
    #[arg(long, value_name = "K", value_parser = whole::<usize>, allow_negative_numbers = true)]
    dims: Option<usize>,
    /// The number of cells a side of the grid, instead of a tolerance (all but circuits); a table and an integer domain
    /// fix it.
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_negative_numbers = true)]
    resolution: Option<u64>,
    /// The error that is allowed, an exact decimal or fraction; 1/100 unless a grid is named.
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    eps: Option<String>,
    /// The norm of the error: sup, l1, l2 or lp:P; sup unless named, which lattice networks (yun) do not have.
    #[arg(long, value_name = "NORM")]
    norm: Option<String>,
    /// State a Lipschitz constant: every output entry changes by at most L times the largest change of an input. An
    /// assumption.
    #[arg(long, value_name = "L", allow_hyphen_values = true)]
    lipschitz: Option<String>,
    /// State what is not proved; it is listed with every claim.
    #[arg(long, value_enum, value_name = "WHAT")]
    assume: Vec<Assumption>,
    /// The kind of attention: softmax for floats, hardmax for exact networks. Circuits whose tokens meet only in sums
    /// and means over all tokens may have average, linformer:k or performer:k attention as well, in time linear in the
    /// tokens. With sparse:PATTERN a token sees few others (formwright patterns): yun then has positions, and other
    /// constructions add up by way of the pattern's hub.
    #[arg(long, value_name = "KIND")]
    attention: Option<String>,
    /// The arithmetic of the network; auto is f32 or f64, whichever takes fewer bytes, and exact if neither meets the
    /// tolerance. The default is auto with a tolerance, else exact.
    #[arg(long, value_enum)]
    precision: Option<Precision>,
    /// The temperature of softmax: the smallest power of two for which its drift vanishes in rounding, or for which
    /// it is hardmax, bit by bit.
    #[arg(long, value_enum, default_value_t = TemperatureName::Derived)]
    temperature: TemperatureName,
    /// The domain of the claim: the box, or all of space, in floats every finite input, where the target is taken as 0
    /// outside of the box. Floats then need a guard.
    #[arg(long, value_enum, default_value_t = Domain::Box)]
    domain: Domain,
    /// Pack the feed-forward layers of each stage into one wide block, instead of four hidden units a block as in the
    /// paper.
    #[arg(long, conflicts_with = "hidden")]
    pack: bool,
    /// Pack feed-forward layers into blocks of at most R hidden units.
    #[arg(long, value_name = "R", value_parser = whole::<usize>, allow_negative_numbers = true)]
    hidden: Option<usize>,
    /// Meet the tolerance inside of a stock Transformer, in the supremum norm: bert, t5, modernbert (all tokens see each
    /// other), gpt2, opt or llama (causal). `formwright export --format hf` then writes it.
    #[arg(long, value_name = "CLASS")]
    host: Option<String>,
}

impl Wish {
    /// The request, in words.
    fn asked(&self, resolution: Option<u64>) -> Asked {
        Asked {
            construction: self.construction.clone(),
            own: self.own.0.clone(),
            tokens: self.tokens,
            dims: self.dims,
            resolution,
            eps: self.eps.clone(),
            norm: self.norm.clone(),
            lipschitz: self.lipschitz.clone(),
            assume: self.assume.iter().map(name).collect(),
            attention: self.attention.clone(),
            precision: self.precision.as_ref().map(name),
            temperature: Some(name(&self.temperature)),
            domain: Some(name(&self.domain)),
            pack: self.pack,
            hidden: self.hidden,
            host: self.host.clone(),
            ..Asked::default()
        }
    }

    /// The request of `plan`, which needs a target.
    pub fn planned(&self) -> Result<Request> {
        let target = self.target.as_deref().ok_or_else(|| {
            Error::input("there is nothing to plan: no target is named")
                .note("try", "formwright plan mean-centring --eps 0.1 --norm l2")
        })?;
        self.asked(self.resolution).request(artifact::read_target(target)?)
    }
}

/// The options that constructions own, by name, as far as they were given.
struct OwnOptions(BTreeMap<String, String>);

/// The options of all constructions; several may own one.
fn own_options() -> Vec<&'static Own> {
    let mut all: Vec<&'static Own> = Vec::new();
    for own in families().into_iter().flat_map(Family::options) {
        if all.iter().all(|known| known.name != own.name) {
            all.push(own);
        }
    }
    all
}

impl Args for OwnOptions {
    fn augment_args(command: Command) -> Command {
        own_options().into_iter().fold(command, |command, own| {
            let arg = Arg::new(own.name).long(own.name).value_name(own.value).help(own.help);
            let known = own.known.iter().map(|(name, help)| PossibleValue::new(*name).help(*help));
            command.arg(if own.known.is_empty() { arg } else { arg.value_parser(PossibleValuesParser::new(known)) })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OwnOptions {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let given = |own: &Own| Some((own.name.to_owned(), matches.get_one::<String>(own.name)?.clone()));
        Ok(Self(own_options().into_iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// A count.
pub fn whole<T: FromStr>(text: &str) -> std::result::Result<T, String> {
    let huge = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().map_err(|_| if huge { "too large" } else { "expected a whole number, such as 3" }.to_owned())
}

/// The name by which clap knows a value.
fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The constructions that the library offers.
fn constructions() -> PossibleValuesParser {
    let offered = families().into_iter().filter(|family| family.is_offered());
    PossibleValuesParser::new(offered.map(|family| PossibleValue::new(family.name()).help(family.summary())))
}

#[derive(Clone, Copy, ValueEnum)]
enum Precision {
    /// Rational numbers of any size.
    Exact,
    /// Double precision.
    F64,
    /// Single precision.
    F32,
    /// Single or double precision, whichever takes fewer bytes; exact if neither meets the tolerance.
    Auto,
}

#[derive(Clone, Copy, ValueEnum)]
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

#[derive(Clone, Copy, ValueEnum)]
enum Assumption {
    /// Permuting the input tokens permutes the output tokens.
    Equivariant,
}

impl Build {
    pub fn execute(&self) -> Result<Answer> {
        let demonstration = self.wish.target.is_none();
        if demonstration && self.output.is_some() {
            return Err(Error::input("there is nothing to write: no target is named")
                .note("try", "formwright build mean-centring --resolution 4 -o DIR"));
        }
        self.output.as_deref().map_or(Ok(()), |dir| artifact::check_place(dir, None))?;
        let resolution = self.wish.resolution.or(demonstration.then_some(DEMONSTRATION.1));
        let target = self.wish.target.as_deref().unwrap_or(DEMONSTRATION.0);
        let asked = self.wish.asked(resolution);
        let asked = Asked { positional: self.positional, as_printed: self.as_printed.clone(), ..asked };
        let request = asked.request(artifact::read_target(target)?)?;
        if let Some(dir) = self.output.as_deref().filter(|_| !self.force) {
            artifact::check_place(dir, Some(&request.source))?;
        }
        let _working = working("compiling, and proving a bound");
        let (model, mut text, choice) = if request.is_left_to_plan() {
            let taken = take_first(&request)?;
            let (text, choice) = (chosen(&taken), choice(&taken));
            (taken.model, text, choice)
        } else {
            (compile(&request)?, String::new(), Value::Null)
        };
        text.push_str(&describe(&model, MOST_GATES)?);
        if let Some(dir) = &self.output {
            let contents = Contents::of(&model)?;
            if !self.no_check {
                let (check, said) = before_writing(&contents)?;
                model.was_checked(check);
                if let Some(said) = said {
                    let _ = write!(text, "\nchecked: {said}");
                }
            }
            if self.force { contents.replace(&model, dir) } else { contents.write(&model, dir) }?;
            let next = if model.host().is_some() { "export --format hf" } else { "inspect" };
            let _ = write!(text, "\nwritten to {0}; try: formwright {next} {0}", dir.display());
        } else if demonstration {
            text.push_str(NEXT);
        }
        let mut json = document(&model, self.output.as_deref())?;
        json["choice"] = choice;
        Ok(Answer { text, json })
    }
}

/// The choice of a construction, for programs.
fn choice(taken: &Taken) -> Value {
    let other = taken.other.as_ref().map(|other| {
        json!({
            "construction": other.way.construction(),
            "precision": other.way.precision(),
            "parameters": other.parameters,
            "bytes": other.bytes,
        })
    });
    json!({"no_circuit": taken.no_circuit.as_ref().map(Error::written), "other": other})
}

/// The choice, the reason for it, and the way to get something else. If it is not a circuit, the reason comes first.
fn chosen(taken: &Taken) -> String {
    let model = &taken.model;
    let (chosen, other) = model.built.chosen(model);
    let mut told = format!("{chosen} in {}, the first row of formwright plan; ", model.precision());
    if let Some(other) = &taken.other {
        let (parameters, bytes) = (short_int(&other.parameters), kilobytes(&other.bytes));
        let _ = write!(told, "in {} it would have {parameters} parameters, {bytes}; ", other.way.precision());
    }
    told.push_str(&other);
    let Some(reason) = &taken.no_circuit else { return format!("chosen: {told}\n\n") };
    let blocks = model.size().blocks;
    let many = if model.float().is_none() && blocks > Int::from(MOST_BLOCKS) {
        let most = short_int(&Int::from(MOST_BLOCKS));
        format!(
            "\n  it has {} blocks, more than the {most} that are written down: it runs in closed form only",
            short_int(&blocks)
        )
    } else {
        String::new()
    };
    format!("chosen: no circuit: {}\ninstead: {told}{many}\n\n", reason.written())
}

/// The most blocks that are made explicit.
const MOST_BLOCKS: u64 = 1_000_000;

/// Suggestions for a newcomer.
const NEXT: &str = "
next: formwright targets                                                    other functions
      formwright build z-score --tokens 16                                  by tolerance: a circuit in floats, with a proved error
      formwright plan z-score --tokens 2 --eps 0.1 --norm l2                every construction's size and proved error
      formwright build sort --positional --tokens 4 --resolution 8          Theorem 3, for what depends on the order of the tokens
      formwright build mean-centring --resolution 4 -o DIR                  write it; then formwright run DIR --input FILE
      formwright theorems                                                   the statements behind it
";

/// The most gates that `build` shows; `inspect` shows them all.
const MOST_GATES: usize = 20;

/// The readable summary: stages, or so many gates, sizes, an example, the claim.
pub fn describe(model: &Model, gates: usize) -> Result<String> {
    let mut text = header(model);
    let parts = model.circuit().map_or_else(|| stage_table(model), |circuit| gate_table(circuit, gates));
    let _ = write!(text, "\n\n{parts}\n{}\n\n", model.size_line());
    let what = if model.has_cells() { "what each stage does to an example" } else { "an example" };
    let _ = write!(text, "{what}\n{}\n\n", example_table(&example(model)?));
    let _ = writeln!(text, "{}", badge(model)?);
    Ok(text)
}

/// The most steps of the target that an example takes: an exact network looks up the value of every token by itself.
const MOST_LOOKED_UP: u128 = 1 << 22;

/// An input, its state after each stage, the output, and the value of the target. Without cells there are too many
/// registers for a line, and numbers are not exact.
fn example(model: &Model) -> Result<Vec<Row>> {
    let x = model.example();
    let expected = model.expected(&x)?;
    let floats = |x: &Sequence| -> Vec<Vec<f64>> { x.iter().map(|t| t.iter().map(Rat::to_f64).collect()).collect() };
    let row = |name: &str, numbers: Vec<Vec<String>>| (name.to_owned(), numbers, String::new());
    let mut rows = vec![row("input", shown(&x))];
    let mut target = shown(&expected);
    let verdict;
    if let Some(network) = model.float() {
        let engine = Engine::new(network)?;
        let output = engine.run(&[floats(&x)])?.remove(0);
        let entries = output.iter().flatten().zip(expected.iter().flatten());
        let off = entries.map(|(y, f)| (y - f.to_f64()).abs()).fold(0.0, f64::max);
        verdict = if off == 0.0 { "equal".to_owned() } else { format!("off by {off:.1e}") };
        if model.has_cells() {
            let show = |state: &[Vec<f64>]| network.precision.shown(state);
            rows.extend(engine.trace(&floats(&x))?.iter().map(|(name, state)| row(name, show(state))));
            rows.push(row("output", show(&output)));
        } else {
            rows.push(row("output", network::Precision::shown_rounded(&output)));
            target = network::Precision::shown_rounded(&floats(&expected));
        }
    } else if model.target.steps(x.len()).saturating_mul(x.len() as u128) > MOST_LOOKED_UP {
        verdict = "not compared: each token looks up a value of many steps".to_owned();
    } else {
        let network = exact(model)?;
        if model.has_cells() {
            rows.extend(indexed::trace(network, &x)?.iter().map(|(name, state)| row(name, shown(state))));
        }
        let output = indexed::run(network, &x)?;
        rows.push(row("output", shown(&output)));
        let entries = output.iter().flatten().zip(expected.iter().flatten());
        let off = entries.map(|(y, f)| (y - f).abs()).fold(Rat::ZERO, Rat::max);
        verdict = match (off == Rat::ZERO, model.has_cells()) {
            (true, _) => "equal".to_owned(),
            (false, true) => "NOT EQUAL".to_owned(),
            (false, false) => format!("off by {:.1e}", off.to_f64()),
        };
    }
    rows.push(("target".to_owned(), target, verdict));
    Ok(rows)
}

/// The exact network of a model that has no floats.
pub fn exact(model: &Model) -> Result<&network::Network> {
    model.exact().ok_or_else(|| Error::declined("a circuit has no exact network"))
}
