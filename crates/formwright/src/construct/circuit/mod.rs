//! The circuit construction: any expression, any length, certified in the supremum norm.
//!
//! | file | idea |
//! |---|---|
//! | `form` | affine forms: what costs nothing |
//! | `graph` | wires: what costs; the same wire once, functions of one argument fused |
//! | `translate` | from expressions to wires; aggregates that mix two tokens are separated |
//! | `hinges` | curves as sums of ReLUs, with proved deviations |
//! | `layout` | slots, atoms, registers |
//! | `profile`, `analysis` | errors as functions of the value; approximation and rounding together |
//! | `alike` | wires that play the same part, coordinate by coordinate |
//! | `tune` | the tolerance split over the gates |
//! | `deepen` | squares and products by sawtooth gates: depth for width |
//! | `assemble` | tensors |
//! | `names` | what people call it all |
//! | `lines` | the same for a checker |
//! | `meaning` | what each register holds, stage by stage, exactly |
//! | [`built`], `family` | circuits as models, and as a construction |

pub(crate) mod alike;
pub(crate) mod analysis;
pub(crate) mod assemble;
pub mod built;
pub(crate) mod deepen;
pub(crate) mod family;
pub(crate) mod form;
pub(crate) mod graph;
pub(crate) mod hinges;
pub(crate) mod layout;
pub(crate) mod lines;
pub(crate) mod meaning;
pub(crate) mod names;
pub(crate) mod profile;
pub(crate) mod translate;
pub(crate) mod tune;

use std::borrow::Cow;

use analysis::{Analysis, Choice, Housing, Machine, analyse};
use deepen::{deepen, is_deep, reach};
use form::Form;
use graph::{Graph, Kind};
use hinges::Anchor;
use layout::{Layout, is_head};
use meaning::Circuit;
use names::Names;
use translate::{Translated, translate};
use tune::{Style, Tuned, tune};

use crate::bound::{Budget, Method, Norm, Term};
use crate::construct::normal_form::continuous::{Basis, Continuous};
use crate::error::{Error, Result};
use crate::exact::{Int, Rat};
use crate::interval::Up;
use crate::lower::realise::{check_size, realise};
use crate::meaning::Meanings;
use crate::network::{FloatNetwork, Precision, Realisation};
use crate::target::Checked;
use crate::target::expr::Domain;

/// The resource that hidden units are traded for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trade {
    /// Wide feed-forward blocks, as few as possible: squares and products by piecewise-linear functions.
    #[default]
    Width,
    /// Narrow blocks, many of them: squares and products by sawtooth gates.
    Depth,
}

impl Trade {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Width => "width",
            Self::Depth => "depth",
        }
    }
}

/// The demands on a circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    /// The number of tokens.
    pub tokens: usize,
    /// The largest error, in the supremum norm.
    pub eps: Rat,
    /// The format of the weights and of the execution.
    pub precision: Precision,
    /// The resource that hidden units are traded for.
    pub trade: Trade,
    /// How sums and means over all tokens are realised.
    pub attention: Realisation,
}

impl Wish {
    fn machine(&self) -> Machine {
        let Self { tokens, precision, attention, .. } = *self;
        Machine { precision, tokens, attention, housing: None }
    }
}

/// One gate or aggregation of a circuit, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// A short name, unique in the circuit.
    pub name: String,
    /// Its formula in the language, over the names of other gates.
    pub formula: String,
    /// `unary`, `product`, `attention`, …
    pub kind: &'static str,
    /// The block that computes it (its last one), counted from 0.
    pub block: usize,
    /// Its hidden units.
    pub units: usize,
    /// Its heads.
    pub heads: usize,
    /// The heads of its block, or its hidden units; a unit may serve several gates.
    pub places: Vec<usize>,
    /// The smallest and the largest value.
    pub range: (f64, f64),
    /// The most that its own approximation adds to the error of the output.
    pub share: f64,
    /// The names that it reads: inputs, numbers of the positions and other gates, by name.
    pub reads: Vec<String>,
    /// The registers that it is added to.
    pub registers: Vec<usize>,
}

/// The origin of a circuit, to analyse it again on another machine.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    graph: Graph,
    outputs: Vec<Form>,
    choice: Choice,
    /// True if registers are cleared.
    clear: bool,
    machine: Machine,
}

impl Made {
    /// The circuit inside of a stock Transformer, or by itself.
    pub fn analyse(&self, housing: Option<Housing>) -> Result<Analysis> {
        let layout = Layout::new(&self.graph, &self.outputs, self.clear)?;
        analyse(&self.graph, &layout, &self.outputs, &self.choice, Machine { housing, ..self.machine })
    }
}

/// A compiled circuit.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    /// The network.
    pub network: FloatNetwork,
    /// The proved error, in the supremum norm, with a term for each gate and one for rounding.
    pub budget: Budget,
    /// The circuit, in the order of execution.
    pub gates: Vec<Gate>,
    /// The meaning of each register, stage by stage.
    pub meanings: Meanings,
    /// The same for a checker, where it has rules for all of it.
    pub lines: Option<Vec<String>>,
    /// The inputs and gates that the outputs are made of, by name.
    pub outputs: Vec<String>,
    /// The numbers of tokens for which the bound holds.
    pub lengths: (usize, usize),
    /// The least distance of a computed value from the nearest wrong answer, on integers, where every output is one.
    pub margin: Option<f64>,
    /// Its origin.
    pub made: Made,
}

/// Compiles a target into a circuit, or says why not.
pub(crate) fn compile(target: &Checked, wish: &Wish) -> Result<Compiled> {
    let translated = translate(target, wish.tokens, &wish.attention)?;
    match wish.trade {
        Trade::Width => wide(target, &translated, wish),
        Trade::Depth => deep(target, &translated, wish),
    }
}

/// How many gates and heads a wide circuit has: known before anything is approximated.
pub(crate) fn gate_count(target: &Checked, tokens: usize) -> Result<usize> {
    let Translated { graph, outputs, .. } = translate(target, tokens, &Realisation::SOFTMAX)?;
    let layout = Layout::new(&graph, &outputs, true)?;
    let free = |kind: &Kind| matches!(kind, Kind::Input(_) | Kind::Position(_) | Kind::Cases(_) | Kind::Alias { .. });
    Ok(layout.atoms.iter().filter(|atom| !free(&graph.wires[atom.wire].kind)).count())
}

/// As few blocks as possible.
fn wide(target: &Checked, translated: &Translated, wish: &Wish) -> Result<Compiled> {
    let machine = wish.machine();
    let eps = below(&wish.eps);
    let names = Names::new(&translated.graph, target.dims());
    let mut best: Option<Compiled> = None;
    let mut failure = None;
    for (robust, clear) in [(false, true), (false, false), (true, true), (true, false)] {
        if robust && best.is_some() {
            break;
        }
        let style = Style { anchor: Anchor::Best, shaped: true, robust };
        let layout = Layout::new(&translated.graph, &translated.outputs, clear)?;
        check_heads(&translated.graph, &layout, &names, &wish.attention)?;
        let tuned = match tune(&translated.graph, &layout, &translated.outputs, eps, machine, style) {
            Ok(tuned) => tuned,
            Err(error) => {
                failure.get_or_insert(error);
                continue;
            }
        };
        let compiled = finish(target, translated, (&layout, clear), &tuned, machine, &names)?;
        let parameters = |compiled: &Compiled| compiled.network.size().parameters;
        if best.as_ref().is_none_or(|best| parameters(&compiled) < parameters(best)) {
            best = Some(compiled);
        }
    }
    match (best, failure) {
        (Some(best), _) => Ok(best),
        (None, Some(error)) => Err(error),
        (None, None) => Err(Error::declined("no circuit was made")),
    }
}

/// Levels of a sawtooth gate, at most.
const LEVELS: usize = 24;

/// Squares and products by sawtooth gates, as deep as the split of the wide circuit asks for; deeper if that is not enough.
fn deep(target: &Checked, translated: &Translated, wish: &Wish) -> Result<Compiled> {
    let graph = &translated.graph;
    if !(0..graph.wires.len()).any(|wire| is_deep(graph, wire)) {
        return Err(
            Error::declined("there is nothing to make deep: no product, no square").note("try", "⟨trade=width⟩")
        );
    }
    // The split is one of approximations: it is found in double precision, where rounding does not interfere.
    let machine = Machine { precision: Precision::F64, ..wish.machine() };
    let layout = Layout::new(graph, &translated.outputs, true)?;
    check_heads(graph, &layout, &Names::new(graph, target.dims()), &wish.attention)?;
    let style = Style { anchor: Anchor::Best, shaped: true, robust: false };
    let split = tune(graph, &layout, &translated.outputs, 0.5 * below(&wish.eps), machine, style)?;
    let mut depths = vec![0; graph.wires.len()];
    for (atom, gates) in layout.atoms.iter().zip(&split.analysis.gates) {
        if is_deep(graph, atom.wire) {
            let deviations = gates.iter().flat_map(|(hinges, _)| &hinges.deviations);
            let allowed = deviations.copied().fold(Up::INFINITY, Up::min);
            let square = reach(graph, atom.wire).powi(2);
            depths[atom.wire] = (1..LEVELS)
                .find(|m| square * 0.25_f64.powi(i32::try_from(*m).unwrap_or(i32::MAX)) <= allowed.get())
                .unwrap_or(LEVELS);
        }
    }
    let mut failure = None;
    for _ in 0..4 {
        let (graph, outputs) = deepen(graph, &translated.outputs, &depths);
        let deeper = Translated { graph, outputs, fixed: translated.fixed };
        match wide(target, &deeper, wish) {
            Ok(compiled) => return Ok(compiled),
            Err(error) => failure = Some(error),
        }
        for depth in depths.iter_mut().filter(|depth| **depth > 0) {
            *depth += 1;
        }
    }
    Err(failure.unwrap_or_else(|| Error::declined("no circuit was made")))
}

/// Declines a circuit with a head that is no uniform sum, where attention has no scores to say so; and attention that gives no sum.
fn check_heads(graph: &Graph, layout: &Layout, names: &Names, attention: &Realisation) -> Result<()> {
    if attention.is_softmax() {
        return Ok(());
    }
    if let Some(declined) = attention.kind.no_sum(&attention.choice) {
        return Err(declined);
    }
    let kind = attention.kind();
    for (number, wire) in graph.wires.iter().enumerate().filter(|(number, _)| layout.wires[*number].is_some()) {
        let reason = match &wire.kind {
            Kind::Mean { mask, .. } if mask.is_all() => continue,
            Kind::Mean { .. } | Kind::Sink { .. } => "it does not see all tokens alike",
            Kind::Largest { .. } => "a maximum weighs the tokens by their values",
            Kind::Attend { .. } => "a softmax weighs the tokens by their scores",
            Kind::Gather { .. } => "it looks at one place",
            _ => continue,
        };
        return Err(Error::declined(format!("{kind} attention has no weights for {}", names.definition(number)))
            .place(&graph.text, &wire.span, "this")
            .note("reason", format!("{reason}; {kind} attention gives sums and means over all tokens"))
            .note("try", "⟨attention=softmax⟩"));
    }
    // Before it is asked what so many numbers lose by rounding.
    let heads = graph.wires.iter().zip(&layout.wires).filter(|(wire, form)| form.is_some() && is_head(&wire.kind));
    check_size(heads.count(), graph.tokens, attention)
}

/// The largest double that is not above a tolerance.
fn below(eps: &Rat) -> f64 {
    let near = eps.to_f64();
    if Rat::from_f64(near).is_some_and(|near| near > *eps) { near.next_down() } else { near }
}

fn finish(
    target: &Checked,
    translated: &Translated,
    (layout, clear): (&Layout, bool),
    tuned: &Tuned,
    machine: Machine,
    names: &Names,
) -> Result<Compiled> {
    let graph = &translated.graph;
    let lengths = lengths(translated, layout);
    let how = (machine.precision, &machine.attention);
    let (network, numbers, slots) = assemble::assemble(graph, layout, tuned, how, (target.dims(), lengths), names);
    let mut network = realise(&network, &machine.attention)?;
    let circuit = Circuit { graph, layout, analysis: &tuned.analysis, names };
    // With heads of another kind sequences of integers are told one by one.
    let told = machine.attention.is_softmax() || matches!(target.expression().domain, Domain::Interval(..));
    let detour = machine.attention.kind.detour(&machine.attention.choice, &network);
    let lines = detour.filter(|_| told).map(|detour| {
        let parts = assemble::sources(graph, layout, tuned, machine.precision);
        circuit.lines((network.width(), &detour), &slots, &translated.outputs, &parts)
    });
    let slots: Vec<(usize, usize)> = slots.iter().map(|slot| (*slot, numbers[*slot])).collect();
    let meanings = circuit.meanings(&network, &slots);
    for (register, coordinate) in network.coordinates.iter_mut().enumerate() {
        // What another kind of attention has added says itself what it is for.
        if coordinate.meaning.is_empty() {
            coordinate.meaning = meanings.in_words(register);
        }
    }
    let lengths = network.lengths;
    let bound = tuned.analysis.output.get();
    let mut terms: Vec<Term> = tuned
        .shares
        .iter()
        .filter(|(_, share)| *share > 0.0)
        .map(|(wire, share)| Term { name: Cow::Owned(names.definition(*wire)), bound: *share })
        .collect();
    terms.push(Term { name: Cow::Borrowed("rounding"), bound: tuned.rounding });
    let sum: f64 = terms.iter().map(|term| term.bound).sum();
    if sum < bound {
        terms.push(Term { name: Cow::Borrowed("errors of errors"), bound: bound - sum });
    }
    let budget = Budget { norm: Norm::Sup, bound, terms, method: Method::GateWise, assumptions: Vec::new() };
    let whole = translated.outputs.iter().all(|form| graph.is_integer(form));
    let margin = (whole && bound < 0.5).then_some(1.0 - bound);
    let outputs = names.read(layout, &layout.outputs.iter().collect::<Vec<_>>());
    Ok(Compiled {
        network,
        budget,
        gates: gates(graph, layout, tuned, (machine.precision, &numbers), names),
        meanings,
        lines: lines.flatten(),
        outputs,
        lengths,
        margin,
        made: Made {
            graph: graph.clone(),
            outputs: translated.outputs.clone(),
            choice: tuned.choice.clone(),
            clear,
            machine,
        },
    })
}

/// The circuit for people.
fn gates(
    graph: &Graph,
    layout: &Layout,
    tuned: &Tuned,
    (precision, numbers): (Precision, &[usize]),
    names: &Names,
) -> Vec<Gate> {
    let mut gates = Vec::new();
    let mut places = assemble::places(graph, layout, tuned, precision);
    for (index, atom) in layout.atoms.iter().enumerate() {
        let wire = &graph.wires[atom.wire];
        let kind = match &wire.kind {
            Kind::Input(_) | Kind::Position(_) | Kind::Cases(_) | Kind::Alias { .. } => continue,
            Kind::Curve { .. } => "curve",
            Kind::Product(..) => "product",
            Kind::Select { .. } => "selection",
            Kind::Exchange { .. } => "comparator",
            Kind::Mean { scale, .. } if *scale == Rat::ONE => "mean",
            Kind::Mean { .. } | Kind::Sink { .. } => "sum",
            Kind::Largest { .. } => "maximum",
            Kind::Attend { .. } => "softmax",
            Kind::Gather { .. } => "gather",
        };
        let share = tuned.shares.iter().find(|(wire, _)| *wire == atom.wire).map_or(0.0, |(_, share)| *share);
        gates.push(Gate {
            name: names.name(atom.wire).to_owned(),
            formula: names.formula(atom.wire).to_owned(),
            kind,
            block: numbers[atom.slot],
            units: tuned.analysis.gates[index].iter().map(|(hinges, _)| hinges.units.len()).sum(),
            heads: usize::from(is_head(&wire.kind)),
            places: std::mem::take(&mut places[index]),
            range: (wire.range.lo(), wire.range.hi()),
            share,
            reads: names.read(layout, &atom.source.forms()),
            registers: layout.registers(index),
        });
    }
    gates
}

/// The numbers of tokens for which the bound holds with these weights.
fn lengths(translated: &Translated, layout: &Layout) -> (usize, usize) {
    let graph = &translated.graph;
    let tokens = graph.tokens;
    let wires = || graph.wires.iter().zip(&layout.wires).filter(|(_, form)| form.is_some()).map(|(wire, _)| &wire.kind);
    let fixed = translated.fixed
        || wires().any(|kind| match kind {
            Kind::Mean { scale, mask, .. } => *scale != Rat::ONE || mask.blind((1, tokens)).is_some(),
            Kind::Sink { .. } | Kind::Gather { .. } | Kind::Position(_) => true,
            Kind::Largest { mask, .. } | Kind::Attend { mask, .. } => mask.blind((1, tokens)).is_some(),
            _ => false,
        });
    if fixed {
        return (tokens, tokens);
    }
    // What is lost grows with the number of tokens: shorter sequences are no worse.
    (1, tokens)
}

/// A circuit of a normal form: of `ψ`, with the rest of the tolerance.
pub(crate) fn of_form(form: &Continuous, wish: &Wish) -> Result<Compiled> {
    let left = Rat::from_f64(form.distance).map(|distance| &wish.eps - &distance).filter(|left| *left > Rat::ZERO);
    let left = left.ok_or_else(|| {
        Error::rejected(format!("the tolerance {} is not met", wish.eps))
            .note("distance", format!("ψ itself is within {:.3e} of the target, and no nearer", form.distance))
            .note("try", "a larger ⟨eps⟩, or another ⟨basis⟩")
    })?;
    let mut compiled = compile(&form.psi, &Wish { eps: left, ..wish.clone() })?;
    let layers = compiled.network.size().attention_layers;
    // A hub takes two layers for one sum.
    if layers > Int::from(1 + wish.attention.more_blocks().0) {
        return Err(Error::declined(format!("{layers} attention layers, and a Sumformer has one")));
    }
    // The coefficients hold for one number of tokens.
    compiled.network.lengths = (wish.tokens, wish.tokens);
    compiled.lengths = (wish.tokens, wish.tokens);
    if form.distance > 0.0 {
        let name = if form.basis == Basis::Hats { "interpolation" } else { "polynomial" };
        compiled.budget.add(Term::new(name, form.distance));
        compiled.budget.assumptions.extend(form.measured.clone());
        compiled.margin = None;
    }
    Ok(compiled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Expression;

    /// A circuit in its place.
    fn circuit(text: &str, tokens: usize) -> (Translated, Layout) {
        let target = Expression::parse(text).and_then(|text| text.check(1)).expect("a target");
        let translated = translate(&target, tokens, &Realisation::SOFTMAX).expect("a circuit");
        let layout = Layout::new(&translated.graph, &translated.outputs, true).expect("registers");
        (translated, layout)
    }

    fn machine(precision: Precision, tokens: usize) -> Machine {
        Machine { precision, tokens, attention: Realisation::SOFTMAX, housing: None }
    }

    /// The z-score of 512 tokens in some style, and what is found of it in single and in double precision.
    fn z_score(anchor: Anchor) -> (Graph, Choice, [Analysis; 2]) {
        let (Translated { graph, outputs, .. }, layout) = circuit("(x - mean(x)) / sqrt(var(x) + 1/100)", 512);
        let style = Style { anchor, shaped: false, robust: false };
        let tuned = tune(&graph, &layout, &outputs, 0.01, machine(Precision::F64, 512), style).expect("knots");
        let found = [Precision::F32, Precision::F64].map(|precision| {
            analyse(&graph, &layout, &outputs, &tuned.choice, machine(precision, 512)).expect("a bound")
        });
        (graph, tuned.choice, found)
    }

    /// The part of the certified error that single precision adds.
    fn rounding([single, double]: &[Analysis; 2]) -> f64 {
        single.output.get() - double.output.get()
    }

    #[test]
    fn hinges_that_do_not_face_outward_lose_more() {
        let [outward, rightward] = [Anchor::Best, Anchor::First].map(|anchor| rounding(&z_score(anchor).2));
        assert!(outward < 0.005, "{outward}");
        assert!(rightward > 1.5 * outward, "{rightward} against {outward}");
    }

    /// The curve `1/sqrt(v + 1/100)` is steep where the variance is small, and the variance is off by much where it is large: the largest slope
    /// times the largest error is more than the tolerance, and what is found is much less.
    #[test]
    fn rounding_that_does_not_depend_on_the_value_loses_more_than_the_tolerance() {
        let (graph, choice, found) = z_score(Anchor::Best);
        let of_a_mean = |kind: &Kind| match kind {
            Kind::Curve { of, .. } => {
                of.single().map(|(wire, _)| wire).filter(|wire| is_head(&graph.wires[*wire].kind))
            }
            _ => None,
        };
        let mut curves = graph.wires.iter().zip(&choice.hinges);
        let found_curve = curves.find_map(|(wire, hinges)| Some((hinges.as_ref()?, of_a_mean(&wire.kind)?)));
        let (hinges, variance) = found_curve.expect("a function of the variance");
        let slope = hinges.steepest(graph.wires[variance].range).get();
        let error = |analysis: &Analysis| analysis.errors[variance].as_ref().expect("an error").sup().get();
        // The factor x - mean(x) is up to 1.
        let uniform = slope * (error(&found[0]) - error(&found[1]));
        let subdivided = rounding(&found);
        assert!(subdivided < 0.005 && uniform > 0.01, "{uniform} against {subdivided}");
    }

    #[test]
    fn squares_reach_as_far_as_the_errors_of_the_factors() {
        let (Translated { graph, outputs, .. }, layout) = circuit("mean(x) * max(x)", 4);
        let style = Style { anchor: Anchor::Best, shaped: true, robust: false };
        let machine = machine(Precision::F32, 4);
        let tuned = tune(&graph, &layout, &outputs, 0.1, machine, style).expect("knots");
        // Two factors that are each off by δ give a product that is off by |a|δ + |b|δ + δ², and squares must reach that far.
        let mut warm = tuned.choice.clone();
        for temperature in &mut warm.temperature {
            *temperature = 1.0;
        }
        let found = analyse(&graph, &layout, &outputs, &warm, machine).expect("a bound");
        let reaches = found.gates.iter().flatten().filter_map(|(hinges, _)| Some(hinges.nodes.last()?.0));
        let reach = reaches.fold(0.0, f64::max);
        let product = (0..graph.wires.len()).find(|wire| matches!(graph.wires[*wire].kind, Kind::Product(..)));
        let (arguments, _) = layout::arguments(&graph, product.expect("a product"));
        let exact = arguments.iter().map(|form| graph.range(form).mag()).fold(0.0, f64::max);
        let average = (1.0_f64 + 3.0 / std::f64::consts::E).ln() / 2.0;
        assert!(reach >= exact + average / 4.0, "{reach} against {exact}");
    }
}
