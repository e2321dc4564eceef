//! The obligations: from three files to a verdict.

mod host;
mod median;

use std::collections::BTreeSet;
use std::fmt;

use crate::effort::{Effort, Shard};
use crate::fast::shortcuts::{Alike, Boxes, Common, Seen};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::kernel::sum::{Overflow, Row, Value, rounded};
use crate::read::certificate::{Certificate, HostCertificate, Mask, Over, Rational};
use crate::read::target::{Domain, Fault, Number, Target};
use crate::read::weights::{Layer, Network};
use crate::rules::lines::{self, Goal, Line, Standing};
use crate::rules::points::{Program, is_uniform};
use crate::rules::power::Exponent;
use crate::rules::sweep::sweep;
use crate::sequences::Sequences;
use crate::{Files, Reason, Verdict, sha256};

pub use host::{check_host, proved_host_lines};

/// The longest `target.json`, and the longest header of the tensors.
pub(crate) const MOST_TEXT: usize = 1 << 24;

/// The most weights.
pub(crate) const MOST_WEIGHTS: usize = 1 << 23;

/// The most tokens of a sequence, and the most lengths of sequences.
const MOST_TOKENS: usize = 4096;
const MOST_LENGTHS: usize = 65;

/// The most sequences, up to symmetry, that are examined.
const MOST_CLASSES: usize = 1 << 17;

/// So few sequences are examined one by one, whatever the certificate says of registers.
const FEW: usize = 1 << 10;

/// The most tokens of all these sequences together.
const MOST_PLACES: usize = 1 << 21;

/// The most multiplications of the network, counted as if only resting layers could be skipped.
const MOST_WORK: usize = 1 << 31;

/// The most values of the target on pieces of cells.
const MOST_PIECES: usize = 1 << 21;

/// The most times that cells are halved without a gain.
const IN_VAIN: u8 = 3;

/// The most operations of the target, counted as if none could be skipped.
const MOST_STEPS: usize = 1 << 27;

/// The most numbers that are kept at a time: for tokens before the first attention, for outputs, for lets.
const MOST_KEPT: usize = 1 << 22;

/// A claim that is proved: by [`check_with`] from files, or by parts that together are all of it.
#[derive(Clone, Debug)]
pub struct Accepted {
    claim: String,
}

impl Accepted {
    /// Joins what the parts prove.
    pub(crate) fn together(claim: &str, summary: &str) -> Self {
        Self { claim: format!("{claim}; {summary}") }
    }
}

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.claim)
    }
}

/// Evidence that `finite` and `point`, or `finite` and `integral`, are discharged.
struct Proof {
    summary: String,
}

/// The reason why there is no proof.
pub enum Stop {
    /// An obligation is not met.
    Rejected(Reason),
    /// The claim is not decided.
    Declined(Reason),
}

/// A proof that failed at an obligation.
pub fn rejected(obligation: &'static str, what: impl Into<String>) -> Stop {
    Stop::Rejected(Reason { obligation, what: what.into() })
}

/// A claim that is not decided.
pub fn declined(what: impl Into<String>) -> Stop {
    Stop::Declined(Reason { obligation: "scope", what: what.into() })
}

/// Refuses more of something than is examined, and says how much there is.
fn at_most(found: usize, most: usize, of: &str) -> Result<(), Stop> {
    if found <= most {
        return Ok(());
    }
    let found = if found == usize::MAX { "more than 10^19".to_owned() } else { found.to_string() };
    Err(declined(format!("{found} {of}, the limit is {most}")))
}

/// The outcome where the target has no value at some inputs. If enclosures leave that open, nothing is decided.
fn valueless(fault: Fault, at: &str) -> Stop {
    match fault {
        Fault::Undefined(what) => rejected("target", format!("{at}: {what}")),
        Fault::Unclear(what) => declined(format!("the target's value {at} is not decided: {what}")),
    }
}

fn finite(Overflow(what): Overflow) -> Stop {
    rejected("finite", what)
}

/// The reason why certificates of earlier releases are not decided.
const VERSION_1: &str = "the certificate is of version 1, of executions whose softmax divides once; version 2 is about those as well that multiply by \
                         the rounded reciprocal of the sum, as onnxruntime does; rebuild the folder";

/// Checks the claim of a certificate.
pub fn check(files: &Files<'_>) -> Verdict {
    check_with(files, &Effort::default())
}

/// Checks the claim of a certificate.
pub fn check_with(files: &Files<'_>, effort: &Effort<'_>) -> Verdict {
    let effort = Effort { shard: Shard::WHOLE, ..*effort };
    let proved = Subject::read(files).and_then(|subject| {
        let proof = subject.prove(&effort)?;
        Ok(Accepted::together(&subject.claim(), &proof.summary))
    });
    verdict(proved)
}

fn verdict(proved: Result<Accepted, Stop>) -> Verdict {
    proved.map_or_else(Verdict::from, Verdict::Accepted)
}

impl From<Stop> for Verdict {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Rejected(reason) => Self::Rejected(reason),
            Stop::Declined(reason) => Self::Declined(reason),
        }
    }
}

/// The lines that say what registers mean, each with its rule and its error, in the order in which they are proved; or
/// the verdict, where one of them is not.
pub fn proved_lines(files: &Files<'_>) -> Result<Vec<Line>, Verdict> {
    let lines = Subject::read(files).and_then(|subject| subject.by_lines());
    lines.map(|(_, lines)| lines).map_err(Verdict::from)
}

/// Checks a shard of a claim over integers: what of the sequences was examined, of how many, and the verdict on those.
pub fn check_shard(files: &Files<'_>, effort: &Effort<'_>) -> (std::ops::Range<usize>, usize, Verdict) {
    let subject = match Subject::read(files) {
        Ok(subject) => subject,
        Err(stop) => return (0..0, 0, verdict(Err(stop))),
    };
    let none = |stop| (0..0, 0, verdict(Err(stop)));
    if subject.certificate.over == Over::Box {
        return none(declined("only claims over integers are cut into shards"));
    }
    let total = match subject.sequences() {
        Ok(sequences) => sequences.iter().map(|sequences| sequences.count).fold(0, usize::saturating_add),
        Err(stop) => return none(stop),
    };
    let proved = subject.prove(effort).map(|_| Accepted { claim: subject.claim() });
    (effort.shard.of(total), total, verdict(proved))
}

/// The content of the files. It exists only if `format`, `hash`, `weights`, `target` and `claim` are discharged.
struct Subject {
    certificate: Certificate,
    network: Network,
    target: Target,
    /// True if the outputs of network and target depend only on the multiset of tokens, the token itself and its
    /// position.
    order_free: bool,
}

impl Subject {
    fn read(files: &Files<'_>) -> Result<Self, Stop> {
        if Certificate::is_of_version_1(files.certificate) {
            return Err(declined(VERSION_1));
        }
        if HostCertificate::is_one(files.certificate) {
            return Err(declined("a network in a host, of which config.json is a part, and not among these files"));
        }
        let certificate = Certificate::read(files.certificate).map_err(|what| rejected("format", what))?;
        let found = [("target.json", files.target), ("model.safetensors", files.weights)];
        for ((name, bytes), claimed) in found.into_iter().zip(&certificate.sha256) {
            let hash = sha256(bytes);
            if hash != *claimed {
                return Err(rejected(
                    "hash",
                    format!("{name} has the SHA-256 {hash}, the certificate is about {claimed}"),
                ));
            }
        }
        shapes(&certificate)?;
        scope(&certificate)?;
        oversized(files, certificate.double)?;
        let network = Network::read(files.weights, &certificate).map_err(|what| rejected("weights", what))?;
        let target = Target::read(files.target, certificate.dims).map_err(|what| rejected("target", what))?;
        if !certificate.is_meant() && !network.mixers().all(|mixer| is_uniform(mixer, certificate.tokens[1])) {
            return Err(declined("a head of another kind than softmax whose weights tokens may change"));
        }
        let order_free = target.is_order_free() && keys_ignore_positions(&network);
        let subject = Self { certificate, network, target, order_free };
        subject.fits()?;
        Ok(subject)
    }

    /// Checks that target and certificate speak of the same function.
    fn fits(&self) -> Result<(), Stop> {
        let (certificate, target) = (&self.certificate, &self.target);
        let [least, most] = certificate.tokens;
        let wrong = |what: String| Err(rejected("claim", what));
        if (target.dims, target.output_dims) != (certificate.dims, certificate.output_dims) {
            let (dims, outputs) = (target.dims, target.output_dims);
            return wrong(format!("the target has {dims} coordinates and {outputs} outputs, the certificate others"));
        }
        if target.tokens.is_some_and(|tokens| (tokens, tokens) != (least, most)) {
            return wrong(format!("the target is not for {least} to {most} tokens"));
        }
        match (&target.domain, &certificate.over) {
            (Domain::Interval(low, high), Over::Box) if low < high => {}
            (Domain::Interval(..), Over::Box) => return wrong("an interval without inner points".to_owned()),
            (Domain::Integers(..), Over::Integers | Over::DistinctIntegers(_)) => {}
            (Domain::Interval(..), _) => {
                return wrong("a claim that is not over a box, about a target on an interval".to_owned());
            }
            (Domain::Integers(..), _) => {
                return wrong("a claim that is not over integers, about a target on integers".to_owned());
            }
        }
        for (at, run) in certificate.runs.iter().enumerate() {
            let masks = || run.attention.iter().flat_map(|part| &part.masks);
            // Every limit is hardest to meet for the first token of the shortest sequence, or the last token of the
            // longest.
            for (t, tokens) in [(0, least), (most.saturating_sub(1), most)] {
                if !masks().all(|mask| mask.sees_some(t, tokens)) {
                    return wrong(format!("run {at}: token {t} of {tokens} sees nothing"));
                }
            }
        }
        Ok(())
    }

    fn claim(&self) -> String {
        let Certificate { over, norm, bound, tokens: [least, most], dims, double, .. } = &self.certificate;
        let norm = norm.as_ref().map_or("sup".to_owned(), |p| format!("L^{p}"));
        let over = match over {
            Over::Box | Over::Space => "the box".to_owned(),
            Over::Integers => "all sequences of integers".to_owned(),
            Over::DistinctIntegers(otherwise) => format!("sequences of distinct integers ({otherwise} on others)"),
        };
        // The number shown is cut off: a little more is not less than the bound.
        let more = &Dyadic::ONE + &Dyadic::power_of_two(-16);
        let whole = bound.range.hi.to_string();
        let bound = if whole.contains('e') { (&bound.range.hi * &more).to_string() } else { whole };
        let tokens = if least == most { format!("{least} tokens") } else { format!("{least} to {most} tokens") };
        let (s, format) = (if *dims == 1 { "" } else { "s" }, if *double { "f64" } else { "f32" });
        format!("{norm} error at most {bound} over {over}, {tokens} of {dims} coordinate{s}, ieee-any-order {format}")
    }

    fn prove(&self, effort: &Effort<'_>) -> Result<Proof, Stop> {
        match (&self.certificate.over, &self.certificate.norm) {
            (Over::Box, _) if self.certificate.median.is_some() => self.by_median(effort),
            (Over::Box, _) if self.certificate.is_meant() => self.supremum(),
            (Over::Box, Some(p)) => {
                let exponent = Exponent::new(&p.range);
                self.integral(effort, &exponent.ok_or_else(|| declined(format!("p = {p} is more than 64")))?, p)
            }
            (Over::Integers, None) if effort.shard == Shard::WHOLE => self.integers(effort),
            (Over::Integers | Over::DistinctIntegers(_), None) => self.points(effort),
            _ => Err(declined("claims of this kind in this norm are not decided")),
        }
    }

    /// Checks the lines. Returns an upper bound for the error in the supremum norm, and what is proved on the way.
    fn by_lines(&self) -> Result<(Dyadic, Vec<Line>), Stop> {
        let meanings = self.certificate.meanings.as_ref().ok_or_else(|| declined("there are no meanings"))?;
        let domain = self.target.domain.range();
        let standing = Standing { network: &self.network, host: None };
        lines::prove(meanings, standing, &self.target, domain, self.certificate.tokens, &|| self.goal())
    }

    /// An error in the supremum norm that is enough, and nearly the largest one.
    fn goal(&self) -> Goal {
        let claimed = &self.certificate.bound.range.lo;
        let Some(p) = &self.certificate.norm else { return Goal { most: claimed.clone(), everywhere: true } };
        let (mut enough, mut step) = (Dyadic::ZERO, Dyadic::power_of_two(claimed.top().saturating_add(64)));
        for _ in 0..96_u8 {
            let more = &enough + &step;
            if self.is_enough(&more, p).unwrap_or(false) {
                enough = more;
            }
            step = &step * &Dyadic::power_of_two(-1);
        }
        Goal { most: enough, everywhere: false }
    }

    /// Proves `finite` and `point`: from the lines of the certificate, where sequences are many, or else one by one. What either proves is
    /// proved.
    fn integers(&self, effort: &Effort<'_>) -> Result<Proof, Stop> {
        let sequences = self.sequences()?;
        let total = sequences.iter().map(|sequences| sequences.count).fold(0, usize::saturating_add);
        if total <= FEW || self.certificate.meanings.is_none() {
            return self.points(effort);
        }
        let open = match self.supremum() {
            Ok(proof) => return Ok(proof),
            Err(stop) => stop,
        };
        match (self.points(effort), open) {
            (Err(Stop::Declined(points)), Stop::Declined(lines)) => {
                Err(declined(format!("{}; by meanings: {}", points.what, lines.what)))
            }
            (Err(Stop::Declined(_)), open @ Stop::Rejected(_)) => Err(open),
            (decided, _) => decided,
        }
    }

    /// Proves `finite`, `line` and `supremum`, from the lines of the certificate that say what registers mean.
    fn supremum(&self) -> Result<Proof, Stop> {
        let meanings = self.certificate.meanings.as_ref().ok_or_else(|| declined("there are no meanings"))?;
        let (proved, _) = self.by_lines()?;
        let claimed = &self.certificate.bound.range;
        let enough = match &self.certificate.norm {
            None => proved <= claimed.lo,
            Some(p) => self.is_enough(&proved, p)?,
        };
        if !enough {
            let told = format!("outputs are shown to be within {proved} of the target, claimed {}", claimed.lo);
            // Narrower enclosures might show it.
            return Err(declined(told));
        }
        let lines = meanings.layers.iter().map(|layer| layer.holds.len()).fold(0, usize::saturating_add);
        Ok(Proof { summary: format!("{lines} lines of {} wires, line by line", meanings.wires.len()) })
    }

    /// Proves `finite`, `median` and `point`, from copies on shifted grids.
    fn by_median(&self, effort: &Effort<'_>) -> Result<Proof, Stop> {
        match (&self.certificate.median, &self.certificate.norm) {
            (Some(median), None) => self.median(effort, median),
            _ => Err(declined("the median of copies, in another norm than the supremum")),
        }
    }

    /// True if an error of `e` everywhere is enough for the norm: `e^p · outputs · side^(dims · tokens) ≤ bound^p`.
    fn is_enough(&self, e: &Dyadic, p: &Rational) -> Result<bool, Stop> {
        let Domain::Interval(low, high) = &self.target.domain else { return Err(declined("no box")) };
        let Certificate { tokens: [tokens, most], dims, output_dims, bound, .. } = &self.certificate;
        if tokens != most {
            return Err(declined("a box claim for several numbers of tokens"));
        }
        let exponent = Exponent::new(&p.range).ok_or_else(|| declined(format!("p = {p} is more than 64")))?;
        let unbounded = || declined("the box, the bound or an error, to the power p, is not below 2^16384");
        let sides = u32::try_from(tokens.saturating_mul(*dims)).unwrap_or(u32::MAX);
        let volume = high.minus(low).range().power(sides).and_then(Range::kept).ok_or_else(unbounded)?;
        let outputs = Range::whole(tokens.saturating_mul(*output_dims));
        let power = exponent.of(&Range::point(e.clone())).ok_or_else(unbounded)?;
        let claimed = exponent.of(&bound.range).ok_or_else(unbounded)?;
        Ok((&(&power * &outputs) * &volume).hi <= claimed.lo)
    }

    /// The tokens of a claim over integers.
    fn alphabet(&self) -> Result<Vec<Vec<Range>>, Stop> {
        let Domain::Integers(from, to) = self.target.domain else { return Err(declined("no integers")) };
        let side = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
        let whole = |k: usize| {
            let k = Range::whole(k);
            let offset = Range::whole(usize::try_from(from.unsigned_abs()).unwrap_or(usize::MAX));
            if from < 0 { &k - &offset } else { &k + &offset }
        };
        let lattice = Lattice::new(side, self.certificate.dims)?;
        Ok((0..lattice.symbols).map(|symbol| lattice.digits(symbol).map(whole).collect()).collect())
    }

    /// The sequences of a claim over integers, length by length.
    fn sequences(&self) -> Result<Vec<Sequences>, Stop> {
        let (symbols, [least, most]) = (self.alphabet()?.len(), self.certificate.tokens);
        Ok((least..=most).map(|tokens| Sequences::new(symbols, tokens, self.order_free)).collect())
    }

    /// Proves `finite` and `point`.
    fn points(&self, effort: &Effort<'_>) -> Result<Proof, Stop> {
        let (alphabet, lengths, [_, most]) = (self.alphabet()?, self.sequences()?, self.certificate.tokens);
        self.can_start(alphabet.len(), most)?;
        let total = lengths.iter().map(|sequences| sequences.count).fold(0, usize::saturating_add);
        let shard = effort.shard.of(total);
        let program =
            if effort.plain { Program::plain(&self.network) } else { Program::new(&self.network).remembering() };
        let starts = self.starts(effort, &program, alphabet.len(), |symbol| alphabet.get(symbol).cloned())?;
        let (target, bound, first) = (&self.target, &self.certificate.bound, program.forward_end(0));
        let common = Common { program: &program, target, bound, alphabet: &alphabet, starts: &starts, first };
        // Shortcuts are about softmax.
        let plain = effort.plain || self.network.mixers().next().is_some();
        let alike = (self.order_free && !plain).then(|| Alike::new(&common));
        self.within_limits(alphabet.len(), most, shard.len(), alike.as_ref().map(Alike::followed))?;
        let mut before = 0_usize;
        for sequences in &lengths {
            let (from, to) = (before, before.saturating_add(sequences.count));
            let here = shard.start.clamp(from, to).saturating_sub(from)..shard.end.clamp(from, to).saturating_sub(from);
            before = to;
            let target_alone = self.certificate.over == Over::Integers;
            let boxed = !self.order_free && !plain && target_alone && !here.is_empty();
            let boxes = if boxed { Boxes::new(&common, sequences.tokens) } else { None };
            effort.of_all(here, || {
                let (mut walk, mut seen, program, starts) = (sequences.walk(), Seen::default(), &program, &starts);
                let (alphabet, alike, boxes) = (&alphabet, &alike, &boxes);
                move |at| {
                    let class = walk.to(at);
                    let otherwise = self.otherwise(class);
                    let shown = alike.as_ref().is_some_and(|alike| alike.shows(class, otherwise.as_ref()))
                        || boxes.as_ref().is_some_and(|boxes| boxes.shows(class, &mut seen));
                    if shown { Ok(()) } else { self.point(program, starts, alphabet, class) }
                }
            })?;
        }
        Ok(Proof { summary: points_summary(total) })
    }

    /// The value that is wanted of a sequence in place of the target's, if there is one.
    fn otherwise(&self, class: &[usize]) -> Option<Number> {
        let Over::DistinctIntegers(value) = &self.certificate.over else { return None };
        let distinct = class.iter().collect::<BTreeSet<_>>().len() == class.len();
        (!distinct).then(|| Number::Exact(value.exact.clone()))
    }

    /// Proves `finite` and `point` at a sequence.
    fn point(
        &self,
        program: &Program<'_>,
        starts: &[Vec<Vec<Value>>],
        alphabet: &[Vec<Range>],
        class: &[usize],
    ) -> Result<(), Stop> {
        let bound = &self.certificate.bound;
        for case in self.cases(program, starts, class)? {
            let inputs: Vec<Vec<Range>> =
                case.sequence.iter().map(|symbol| alphabet.get(*symbol).cloned().unwrap_or_default()).collect();
            let wanted = match self.otherwise(class) {
                Some(value) => vec![value; self.certificate.output_dims],
                None => self
                    .target
                    .output(&inputs, case.token)
                    .map_err(|fault| valueless(fault, &format!("at {}, token {}", shown(&inputs), case.token)))?,
            };
            for (c, (got, wanted)) in case.output.iter().zip(&wanted).enumerate() {
                if is_close(got, wanted, bound) {
                    continue;
                }
                let off = distance(got, &wanted.range());
                let (inputs, token) = (shown(&inputs), case.token);
                let known = matches!(wanted, Number::Exact(_));
                let wanted = wanted.range();
                let told = format!(
                    "at {inputs}, token {token}, coordinate {c} the network gives {got} and the target {wanted}: off by up to {off}, claimed at most {}",
                    bound.range.lo
                );
                // The claim cannot change how well the target is enclosed.
                return Err(if known || apart(got, &wanted).lo > bound.range.hi {
                    rejected("point", told)
                } else {
                    declined(format!("the target is not enclosed well enough: {told}"))
                });
            }
        }
        Ok(())
    }

    /// Proves `finite` and `integral`.
    fn integral(&self, effort: &Effort<'_>, exponent: &Exponent, p: &Rational) -> Result<Proof, Stop> {
        let Domain::Interval(low, high) = &self.target.domain else { return Err(declined("no box")) };
        let Certificate { cells, dims, tokens: [tokens, most], margins: [below, above], .. } = &self.certificate;
        if tokens != most {
            return Err(declined("a box claim for several numbers of tokens"));
        }
        if *cells == 0 {
            return Err(declined("a box claim without a grid: its cells are 0"));
        }
        if self.target.resolution().is_some_and(|resolution| resolution != *cells) {
            return Err(declined("a table on another grid than the certificate's"));
        }
        let lattice = Lattice::new(*cells, *dims)?;
        let classes = Sequences::new(lattice.symbols, *tokens, self.order_free);
        self.can_start(lattice.symbols, *tokens)?;
        self.within_limits(lattice.symbols, *tokens, classes.count, None)?;
        let (low, high) = (&low.range(), &high.range());
        self.defined_at_corners([low, high], *tokens)?;
        let unbounded =
            || declined("the box, the bound or an error, to the power p, is not between 2^-16384 and 2^16384");
        let side = (high - low).over(&Range::whole(*cells)).and_then(Range::kept).ok_or_else(unbounded)?;
        let at = |k: &Range| low + &(&side * k);
        let program = if effort.plain { Program::plain(&self.network) } else { Program::new(&self.network) };
        let one = Range::whole(1);
        // The reader has made sure that margins are not negative and add up to at most 1.
        let share_of_good = (&(&one - &below.range) - &above.range).max(&Range::ZERO);
        let good = |k: usize| {
            let k = Range::whole(k);
            at(&(&k + &below.range)).hull(&at(&(&(&k + &one) - &above.range)))
        };
        let starts =
            self.starts(effort, &program, lattice.symbols, |symbol| Some(lattice.digits(symbol).map(good).collect()))?;
        let cases: Vec<Vec<Case>> = effort.of_all(0..classes.count, || {
            let (mut walk, program, starts) = (classes.walk(), &program, &starts);
            move |class| self.cases(program, starts, walk.to(class))
        })?;
        let anywhere = self.anywhere(&program, &low.hull(high)).map_err(finite)?;
        let sides = tokens.saturating_mul(*dims);
        let power = |x: &Range, k: usize| x.power(u32::try_from(k).unwrap_or(u32::MAX)).ok_or_else(unbounded);
        let (share, volume) = (&one - &power(&share_of_good, sides)?, power(&side, sides)?);
        let all_cells = power(&Range::whole(lattice.symbols), *tokens)?;
        let claimed = exponent.of(&self.certificate.bound.range).ok_or_else(unbounded)?;
        let (mut pieces, mut least, mut in_vain): (usize, Option<Dyadic>, u8) = (1, None, 0);
        loop {
            in_vain = in_vain.saturating_add(1);
            let sums = effort.of_all(0..cases.len(), || {
                let (cases, lattice, at) = (&cases, &lattice, &at);
                move |class| self.cell(cases.get(class).map_or(&[], Vec::as_slice), lattice, pieces, exponent, at)
            });
            let failed = match sums {
                Ok(sums) => {
                    let (mut total, mut seen): (Range, Vec<Range>) = (Range::ZERO, Vec::new());
                    for (sum, ranges) in sums {
                        total = (&total + &sum).tidy();
                        let both = || seen.iter().zip(&ranges).map(|(a, b)| a.hull(b)).collect();
                        seen = if seen.is_empty() { ranges } else { both() };
                    }
                    let mut rest = Range::ZERO;
                    for (got, wanted) in anywhere.iter().zip(&seen) {
                        rest = &rest + &exponent.of(&apart(got, wanted)).ok_or_else(unbounded)?;
                    }
                    let rest = &(&(&rest * &Range::whole(*tokens)) * &all_cells) * &share;
                    let proved = (&(&total + &rest) * &volume).tidy();
                    if proved.hi <= claimed.lo {
                        let (cells, parts) = (classes.count, pieces);
                        return Ok(Proof {
                            summary: format!("{cells} cells up to symmetry, in {parts} pieces a side"),
                        });
                    }
                    let told = format!(
                        "the error to the power {p} is at most {}, of which {} beyond the good parts of cells; the claimed bound to that power is {}",
                        proved.hi,
                        (&rest * &volume).tidy().hi,
                        claimed.lo
                    );
                    if least.as_ref().is_none_or(|least| proved.hi < *least) {
                        (least, in_vain) = (Some(proved.hi), 0);
                    }
                    // More pieces would not help.
                    if proved.lo > claimed.hi {
                        return Err(rejected("integral", told));
                    }
                    told
                }
                Err(Stop::Declined(Reason { what, .. })) => what,
                Err(stop) => return Err(stop),
            };
            let next = pieces.saturating_mul(2);
            let all = next.saturating_pow(u32::try_from(sides).unwrap_or(u32::MAX)).saturating_mul(classes.count);
            let steps = all.saturating_mul(self.target.work(*tokens));
            if self.target.resolution().is_some() {
                return Err(declined(failed));
            }
            if in_vain > IN_VAIN {
                return Err(declined(format!("{failed}; smaller pieces of cells, {pieces} a side, did not help")));
            }
            let narrower = at_most(all, MOST_PIECES, "pieces of cells")
                .and_then(|()| at_most(steps, MOST_STEPS, "steps of the target"));
            if let Err(Stop::Declined(Reason { what, .. })) = narrower {
                return Err(declined(format!("{failed}; to enclose the target more narrowly takes {what}")));
            }
            pieces = next;
        }
    }

    /// Checks that the target has a value where all inputs are least, and where all are largest. That takes no cells.
    fn defined_at_corners(&self, ends: [&Range; 2], tokens: usize) -> Result<(), Stop> {
        if self.target.resolution().is_some() {
            return Ok(());
        }
        for (end, token) in ends.into_iter().flat_map(|end| (0..tokens).map(move |token| (end, token))) {
            let inputs = vec![vec![end.clone(); self.certificate.dims]; tokens];
            if let Err(fault @ Fault::Undefined(_)) = self.target.output(&inputs, token) {
                return Err(valueless(fault, &format!("at {}, token {token}", shown(&inputs))));
            }
        }
        Ok(())
    }

    /// The sum over a class of cells of the `p`-th power of the largest difference of `f` and the network, and the
    /// range of `f`.
    fn cell(
        &self,
        cases: &[Case],
        lattice: &Lattice,
        pieces: usize,
        exponent: &Exponent,
        at: &(impl Fn(&Range) -> Range + Sync),
    ) -> Result<(Range, Vec<Range>), Stop> {
        let unbounded = || declined("an error, to the power p, is not below 2^16384");
        let (mut total, mut seen) = (Range::ZERO, Vec::new());
        for case in cases {
            let cell: Vec<Vec<usize>> = case.sequence.iter().map(|symbol| lattice.digits(*symbol).collect()).collect();
            let sides = cell.iter().map(Vec::len).fold(0_usize, usize::saturating_add);
            let count = pieces.checked_pow(u32::try_from(sides).unwrap_or(u32::MAX)).unwrap_or(0);
            let fraction = |k: usize| Range::whole(k).over(&Range::whole(pieces));
            let mut sum = Range::ZERO;
            for piece in 0..count {
                let mut rank = piece;
                let mut inputs = Vec::new();
                for token in &cell {
                    let mut coordinates = Vec::new();
                    for digit in token {
                        let part = rank.checked_rem(pieces).unwrap_or(0);
                        rank = rank.checked_div(pieces).unwrap_or(0);
                        let (Some(from), Some(to)) = (fraction(part), fraction(part.saturating_add(1))) else {
                            return Err(unbounded());
                        };
                        let digit = Range::whole(*digit);
                        coordinates.push(at(&(&digit + &from)).hull(&at(&(&digit + &to))).tidy());
                    }
                    inputs.push(coordinates);
                }
                let slices: Vec<&[usize]> = cell.iter().map(Vec::as_slice).collect();
                let wanted = if let Some(entry) = self.target.entry(&slices, case.token) {
                    entry
                } else {
                    let place = || format!("on {}, token {}", shown(&inputs), case.token);
                    let output = self.target.output(&inputs, case.token);
                    output.map_err(|fault| valueless(fault, &place()))?.iter().map(Number::range).collect()
                };
                for (got, wanted) in case.output.iter().zip(&wanted) {
                    let power = exponent.of(&apart(got, wanted)).ok_or_else(unbounded)?;
                    sum = (&sum + &power).tidy();
                }
                seen =
                    if seen.is_empty() { wanted } else { seen.iter().zip(&wanted).map(|(a, b)| a.hull(b)).collect() };
            }
            let mean = sum.over(&Range::whole(count)).ok_or_else(unbounded)?;
            total = (&total + &(&mean * &Range::point(case.weight.clone()))).tidy();
        }
        Ok((total, seen))
    }

    /// The range of the outputs for any inputs of the box.
    fn anywhere(&self, program: &Program<'_>, inputs: &Range) -> Result<Vec<Range>, Overflow> {
        let (network, format) = (&self.network, self.network.format);
        if inputs.size().top() >= format.most {
            return Err(Overflow(format!("an input may reach 2^{}", inputs.size().top())));
        }
        let inputs = vec![rounded(inputs, format); self.certificate.dims];
        let one_for_all = |tokens: Vec<Vec<Value>>| {
            tokens.into_iter().reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a.hull(b)).collect()).unwrap_or_default()
        };
        let embedded = (0..network.positions.len().max(1)).map(|position| program.embed(&inputs, position));
        let mut token = one_for_all(embedded.collect::<Result<_, _>>()?);
        let [_, count] = self.certificate.tokens;
        let mut at = 0_usize;
        while let Some(rest @ [layer, ..]) = network.layers.get(at..) {
            let swept = sweep(rest, &mut token, count, format)?;
            let next =
                if swept > 0 { at.saturating_add(swept) } else { program.forward_end(at).max(at.saturating_add(1)) };
            if swept == 0 {
                // With connections, tokens see different numbers of other tokens; the one token stands for each of
                // them.
                let differ = matches!(layer, Layer::Attention(heads) if heads.iter().any(|head| head.mask.hides()));
                let mut tokens = vec![token; if differ { count } else { 1 }];
                program.run(&mut tokens, &vec![0; count], at, next)?;
                token = one_for_all(tokens);
            }
            at = next;
        }
        program.read_out(&token)
    }

    /// The stream of every symbol at every position before the first attention.
    fn starts(
        &self,
        effort: &Effort<'_>,
        program: &Program<'_>,
        symbols: usize,
        inputs: impl Fn(usize) -> Option<Vec<Range>> + Sync,
    ) -> Result<Vec<Vec<Vec<Value>>>, Stop> {
        let start = |symbol: usize| {
            let inputs = inputs(symbol).unwrap_or_default();
            let inputs: Vec<Value> = inputs.iter().map(|input| rounded(input, self.network.format)).collect();
            let at = |position: usize| {
                let mut token = [program.embed(&inputs, position)?];
                program.run(&mut token, &[], 0, program.forward_end(0))?;
                let [token] = token;
                Ok(token)
            };
            (0..self.network.positions.len().max(1)).map(at).collect::<Result<_, Overflow>>().map_err(finite)
        };
        let start = &start;
        effort.of_all(0..symbols, || move |symbol| start(symbol))
    }

    /// The multiplications before the first attention, for all tokens at all positions.
    fn start_work(&self, symbols: usize, tokens: usize) -> usize {
        let Network { layers, positions, embed, read_out, .. } = &self.network;
        let first = layers.get(..self.forward_end()).unwrap_or(layers);
        let each = work(first, tokens).saturating_add(ends(embed, read_out));
        each.saturating_mul(symbols.saturating_mul(positions.len().max(1)))
    }

    /// Checks that the streams of all tokens before the first attention are within the limits.
    fn can_start(&self, symbols: usize, tokens: usize) -> Result<(), Stop> {
        let work = self.start_work(symbols, tokens);
        at_most(work, MOST_WORK, &format!("multiplications of the network for {symbols} tokens"))?;
        let positions = self.network.positions.len().max(1);
        let kept = symbols.saturating_mul(positions).saturating_mul(self.network.embed.len());
        at_most(kept, MOST_KEPT, &format!("numbers of {symbols} tokens at {positions} positions"))?;
        at_most(self.target.kept(tokens), MOST_KEPT, &format!("values of lets at {tokens} tokens"))
    }

    /// Checks that so many sequences of at most so many tokens are within the limits of work, if so many streams are
    /// followed at a time.
    fn within_limits(&self, symbols: usize, tokens: usize, classes: usize, streams: Option<usize>) -> Result<(), Stop> {
        let alike = if self.order_free { " up to their order" } else { "" };
        let of = format!("sequences of {tokens} of {symbols} tokens{alike}");
        at_most(classes, MOST_CLASSES, &of)?;
        at_most(classes.saturating_mul(tokens), MOST_PLACES, &format!("tokens of all {of}"))?;
        let Network { layers, positions, embed, read_out, .. } = &self.network;
        // If order does not matter, only the different tokens of a sequence are followed, at every position.
        let different = symbols.min(tokens).saturating_mul(positions.len().max(1));
        let followed = if self.order_free { streams.unwrap_or(different).min(different) } else { tokens };
        let behind = layers.get(self.forward_end()..).unwrap_or(&[]);
        let each = work(behind, tokens).saturating_add(ends(embed, read_out)).saturating_mul(followed);
        let all = self.start_work(symbols, tokens).saturating_add(each.saturating_mul(classes));
        at_most(all, MOST_WORK, &format!("multiplications of the network at {classes} {of}"))?;
        let places = if self.by_place() { tokens } else { 1 };
        let cases = symbols.min(tokens).saturating_mul(places).saturating_mul(classes);
        // What outputs have in common is worked out once a sequence.
        let steps = if streams.is_some() {
            let ([once, each], [own, placed]) = (self.target.shared_work(tokens), self.target.sees());
            let outputs = if own { symbols.min(tokens) } else { 1 }.saturating_mul(if placed { tokens } else { 1 });
            each.saturating_mul(outputs).saturating_add(once).saturating_mul(classes)
        } else {
            self.target.work(tokens).saturating_mul(cases)
        };
        at_most(steps, MOST_STEPS, &format!("steps of the target at {classes} {of}"))?;
        if self.certificate.over == Over::Box {
            let kept = self.certificate.output_dims.saturating_add(tokens).saturating_mul(cases);
            at_most(kept, MOST_KEPT, &format!("inputs and outputs of {classes} {of}"))?;
        }
        Ok(())
    }

    /// The number of feed-forward layers before the first attention.
    fn forward_end(&self) -> usize {
        self.network.layers.iter().take_while(|layer| matches!(layer, Layer::FeedForward { .. })).count()
    }

    /// True if outputs are examined for every place of a token.
    fn by_place(&self) -> bool {
        self.network.positions.len() > 1 || !self.target.is_equivariant()
    }

    /// The outputs of the network at the tokens of a class, each with the number of tokens and sequences it stands for.
    fn cases(&self, program: &Program<'_>, starts: &[Vec<Vec<Value>>], class: &[usize]) -> Result<Vec<Case>, Stop> {
        let start = |symbol: usize, position: usize| {
            let places = starts.get(symbol);
            places.and_then(|places| places.get(position).or(places.first())).cloned().unwrap_or_default()
        };
        let (first, end) = (program.forward_end(0), self.network.layers.len());
        let outputs = |tokens: &mut [Vec<Value>], keys: &[usize]| -> Result<Vec<Vec<Range>>, Overflow> {
            program.run(tokens, keys, first, end)?;
            tokens.iter().map(|token| program.read_out(token)).collect()
        };
        if !self.order_free {
            let mut tokens: Vec<Vec<Value>> = class.iter().enumerate().map(|(t, symbol)| start(*symbol, t)).collect();
            let keys: Vec<usize> = (0..tokens.len()).collect();
            let outputs = outputs(&mut tokens, &keys)
                .map_err(|Overflow(what)| rejected("finite", format!("cells {class:?}: {what}")))?;
            let case = |(token, output)| Case { sequence: class.to_vec(), token, output, weight: Dyadic::ONE };
            return Ok(outputs.into_iter().enumerate().map(case).collect());
        }
        let positions = self.network.positions.len().max(1);
        let distinct: Vec<usize> = class.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let mut tokens: Vec<Vec<Value>> =
            distinct.iter().flat_map(|symbol| (0..positions).map(|position| start(*symbol, position))).collect();
        let place = |symbol: &usize| distinct.binary_search(symbol).unwrap_or(0);
        let keys: Vec<usize> = class.iter().map(|symbol| place(symbol).saturating_mul(positions)).collect();
        let outputs = outputs(&mut tokens, &keys)
            .map_err(|Overflow(what)| rejected("finite", format!("cells {class:?}: {what}")))?;
        let by_place = self.by_place();
        let mut cases = Vec::new();
        for symbol in &distinct {
            let at = class.iter().position(|known| known == symbol).unwrap_or(0);
            let mut rest = class.to_vec();
            rest.remove(at);
            let weight = arrangements(&rest);
            let output = |position: usize| {
                let position = position.min(positions.saturating_sub(1));
                outputs
                    .get(place(symbol).saturating_mul(positions).saturating_add(position))
                    .cloned()
                    .unwrap_or_default()
            };
            if by_place {
                for token in 0..class.len() {
                    let mut sequence = rest.clone();
                    sequence.insert(token, *symbol);
                    cases.push(Case { sequence, token, output: output(token), weight: weight.clone() });
                }
            } else {
                let weight = &weight * &Range::whole(class.len()).lo;
                cases.push(Case { sequence: class.to_vec(), token: at, output: output(0), weight });
            }
        }
        Ok(cases)
    }
}

/// An output token of a sequence, and the number of tokens of similar sequences that it stands for.
struct Case {
    sequence: Vec<usize>,
    token: usize,
    output: Vec<Range>,
    weight: Dyadic,
}

/// The tokens of a grid.
struct Lattice {
    side: usize,
    dims: usize,
    symbols: usize,
}

impl Lattice {
    fn new(side: usize, dims: usize) -> Result<Self, Stop> {
        let symbols =
            u32::try_from(dims).ok().and_then(|dims| side.checked_pow(dims)).filter(|symbols| *symbols <= MOST_CLASSES);
        let symbols =
            symbols.ok_or_else(|| declined(format!("{side}^{dims} different tokens, the limit is {MOST_CLASSES}")))?;
        Ok(Self { side, dims, symbols })
    }

    /// The coordinates of a token, the first one most significant.
    fn digits(&self, symbol: usize) -> impl Iterator<Item = usize> {
        let (side, mut rest) = (self.side, symbol);
        let mut digits = Vec::new();
        for _ in 0..self.dims {
            digits.push(rest.checked_rem(side).unwrap_or(0));
            rest = rest.checked_div(side).unwrap_or(0);
        }
        digits.into_iter().rev()
    }
}

/// Orders of a multiset, given sorted: `n! / Π m!`.
fn arrangements(sorted: &[usize]) -> Dyadic {
    let (mut orders, mut same, mut last) = (Range::whole(1), 0_usize, None);
    for (k, symbol) in sorted.iter().enumerate() {
        same = if last == Some(symbol) { same.saturating_add(1) } else { 1 };
        last = Some(symbol);
        let longer = &orders * &Range::whole(k.saturating_add(1));
        orders = longer.over(&Range::whole(same)).unwrap_or(longer);
    }
    orders.hi
}

/// True if no number of a range is farther than a bound from the wanted one, exactly.
fn is_within(got: &Range, wanted: &Number, bound: &Ratio) -> bool {
    let (low, high) = match wanted {
        Number::Exact(exact) => (exact.clone(), exact.clone()),
        Number::Within(range) => (Ratio::of(&range.lo), Ratio::of(&range.hi)),
    };
    Ratio::of(&got.hi).minus(&low) <= *bound && high.minus(&Ratio::of(&got.lo)) <= *bound
}

/// The same, decided at a glance where the distance between enclosures decides it.
pub(crate) fn is_close(got: &Range, wanted: &Number, bound: &Rational) -> bool {
    distance(got, &wanted.range()) <= bound.range.lo || is_within(got, wanted, &bound.exact)
}

/// The multiplications of layers at a token.
fn work(layers: &[Layer], tokens: usize) -> usize {
    layers.iter().map(|layer| layer.work(tokens)).fold(1, usize::saturating_add)
}

/// The multiplications of the embedding and the read-out.
fn ends(embed: &[Row], read_out: &[Row]) -> usize {
    [embed, read_out].into_iter().flatten().map(|row| row.weights.len()).fold(0, usize::saturating_add)
}

/// The summary of a proof point by point.
pub(crate) fn points_summary(sequences: usize) -> String {
    format!("{sequences} sequences up to symmetry, point by point")
}

/// The largest distance between numbers of these ranges.
fn distance(a: &Range, b: &Range) -> Dyadic {
    (&a.hi - &b.lo).max(&b.hi - &a.lo)
}

/// The range of the largest distance, whichever part of the second range is meant.
fn apart(a: &Range, b: &Range) -> Range {
    let half = &(&a.hi - &a.lo) * &Dyadic::power_of_two(-1);
    Range { lo: half.max(&a.hi - &b.hi).max(&b.lo - &a.lo), hi: distance(a, b) }
}

fn shown(inputs: &[Vec<Range>]) -> String {
    let token = |token: &Vec<Range>| token.iter().map(Range::to_string).collect::<Vec<_>>().join(", ");
    format!("({})", inputs.iter().map(token).collect::<Vec<_>>().join("; "))
}

/// Checks that the parts of the network have possible sizes.
fn shapes(certificate: &Certificate) -> Result<(), Stop> {
    let Certificate { tokens: [least, most], dims, output_dims, width, positions, runs, bound, margins, .. } =
        certificate;
    let wrong = |what: &str| Err(rejected("claim", what));
    if [least, dims, output_dims, width].contains(&&0) || least > most {
        return wrong("no tokens, no coordinates, or fewer tokens at most than at least");
    }
    if *positions > 0 && (positions, positions) != (least, most) {
        return wrong("positions for another number of tokens");
    }
    let [below, above] = &margins;
    let cut = below.exact.plus(&above.exact);
    if [bound, below, above].into_iter().any(|number| number.exact.is_negative()) || cut > Ratio::ONE {
        return wrong("a bound or a margin below 0, or margins above 1");
    }
    let attention = runs.iter().filter_map(|run| run.attention.as_ref());
    for part in attention {
        let scores = part.kind != "average";
        let sized = matches!(part.kind.as_str(), "linformer" | "performer");
        // What sizes another kind has is its own business.
        let fits = part.is_from_elsewhere() || ((part.head_size > 0) == scores && (part.size > 0) == sized);
        if part.heads == 0 || part.value_size == 0 || !fits {
            return wrong("attention without heads, or with sizes that its kind does not have");
        }
        let masked = |mask: &Mask| part.kind != "softmax" || least != most || mask.limits != [None; 4] || mask.first;
        let hides = |mask: &Mask| mask.limits != [None; 4] || mask.first;
        if part.kind != "softmax" && !part.is_from_elsewhere() && part.masks.iter().any(hides) {
            return wrong("a mask of attention that looks at all tokens");
        }
        if part.kind == "linformer" && least != most {
            return wrong("mixtures of all tokens, for several numbers of tokens");
        }
        if !part.cycle.is_empty() && part.masks.iter().any(masked) {
            return wrong("connections besides masks, for several numbers of tokens, or without softmax");
        }
    }
    Ok(())
}

/// Checks that the claim is of a kind that is decided here.
fn scope(certificate: &Certificate) -> Result<(), Stop> {
    let Certificate { badge, over, assumptions, runs, tokens: [least, most], .. } = certificate;
    if badge != "certified" {
        return Err(declined(format!("the badge is {badge}; only certified claims are checked")));
    }
    if let Some(assumption) = assumptions.first() {
        let assumption: String = assumption.chars().take(200).collect();
        return Err(declined(format!("the claim rests on an assumption: {assumption}")));
    }
    let mut attention = runs.iter().filter_map(|run| run.attention.as_ref());
    if let Some(part) = attention.clone().find(|part| part.is_from_elsewhere()) {
        return Err(declined(format!("nothing is known of {} attention", part.kind)));
    }
    if *over == Over::Space {
        return Err(declined("claims over all of space are not decided"));
    }
    if certificate.lipschitz.is_some() && certificate.median.is_none() {
        return Err(declined("a claim about all functions with a Lipschitz constant, without copies"));
    }
    if certificate.is_meant() {
        if certificate.meanings.is_none() {
            return Err(declined("a claim in the supremum norm over a box, without meanings"));
        }
        return at_most(*most, MOST_TOKENS, "tokens");
    }
    let hides = attention.any(|part| part.masks.iter().any(|mask| mask.limits != [None; 4]));
    if *over == Over::Box && hides {
        return Err(declined("a box claim for a network with masks is not decided"));
    }
    at_most(*most, MOST_TOKENS, "tokens")?;
    at_most(most.saturating_sub(*least).saturating_add(1), MOST_LENGTHS, "lengths of sequences")
}

/// Checks that the files are not longer than the checker reads.
fn oversized(files: &Files<'_>, double: bool) -> Result<(), Stop> {
    at_most(files.target.len(), MOST_TEXT, "bytes of target.json")?;
    let header = files.weights.first_chunk::<8>().map_or(0, |length| u64::from_le_bytes(*length));
    let header = usize::try_from(header).unwrap_or(usize::MAX);
    // A header that is longer than its file is a fault, and is reported as one.
    let data = files.weights.len().saturating_sub(8).checked_sub(header);
    let Some(data) = data else { return Ok(()) };
    at_most(header, MOST_TEXT, "bytes of the header of model.safetensors")?;
    at_most(data.checked_div(if double { 8 } else { 4 }).unwrap_or(0), MOST_WEIGHTS, "weights")
}

/// True if no head is masked, no layer has connections, and no key or value reads anything that depends on a position.
fn keys_ignore_positions(network: &Network) -> bool {
    let first = network.positions.first();
    let same = |r: usize| network.positions.iter().all(|row| row.get(r) == first.and_then(|first| first.get(r)));
    let mut placed: BTreeSet<usize> = (0..network.embed.len()).filter(|r| !same(*r)).collect();
    let reads = |row: &Row, from: &BTreeSet<usize>| row.weights.iter().any(|(place, _)| from.contains(place));
    for layer in &network.layers {
        match layer {
            Layer::Attention(heads) => {
                for head in heads {
                    if head.mask.hides() || head.k.iter().chain(&head.v).any(|row| reads(row, &placed)) {
                        return false;
                    }
                    if head.q.iter().any(|row| reads(row, &placed)) {
                        placed.extend(head.o.iter().enumerate().filter(|(_, row)| !row.is_zero()).map(|(r, _)| r));
                    }
                }
            }
            // Those of which points are decided weigh all tokens alike.
            Layer::Mixers(mixers) => {
                if mixers.iter().flat_map(|mixer| &mixer.head.v).any(|row| reads(row, &placed)) {
                    return false;
                }
            }
            Layer::FeedForward { units, gains } => {
                let units: BTreeSet<usize> =
                    units.iter().enumerate().filter(|(_, row)| reads(row, &placed)).map(|(place, _)| place).collect();
                placed.extend(
                    gains.iter().enumerate().filter(|(_, row)| reads(row, &units)).map(|(r, _)| r).collect::<Vec<_>>(),
                );
            }
        }
    }
    true
}

#[cfg(test)]
mod tests;
