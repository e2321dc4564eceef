//! Reads `certificate.fwc`: the claim, and the meaning of the tensors. There is one reading only: what has been read is
//! printed again and must be the same bytes.

mod host;
mod meanings;
mod median;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::kernel::number::{Range, Ratio, is_canonical};

pub use host::HostCertificate;
pub use meanings::{Layer, Made, Meanings, Pooled, Source, Wire};
pub use median::Median;

/// The inputs that a claim ranges over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// All sequences of a box.
    Box,
    /// All sequences of integers.
    Integers,
    /// The sequences of integers with pairwise distinct tokens; on the others the network gives this number.
    DistinctIntegers(Rational),
    /// All of space.
    Space,
}

/// A rational number as it is written, and an interval around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rational {
    text: String,
    /// The number.
    pub exact: Ratio,
    /// An interval around it; a point if it is dyadic.
    pub range: Range,
}

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The kinds of attention of which it is said what they compute.
const KINDS: [&str; 4] = ["softmax", "average", "linformer", "performer"];

/// Begins the name of any other kind.
const ELSEWHERE: &str = "x-";

/// The attention of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attention {
    /// One of [`KINDS`], or a name behind `x-`: a kind from elsewhere.
    pub kind: String,
    /// Heads of a block.
    pub heads: usize,
    /// Rows of `q` and `k`.
    pub head_size: usize,
    /// Rows of `v`.
    pub value_size: usize,
    /// Mixtures or features, of the kinds that have them.
    pub size: usize,
    /// The mask of each head.
    pub masks: Vec<Mask>,
    /// The cycle of connections, if there is one: block `b` uses layer `b` modulo its length.
    pub cycle: Vec<Arc<Connections>>,
}

impl Attention {
    /// True if it is of a kind from elsewhere, of which nothing is known but its name.
    pub fn is_from_elsewhere(&self) -> bool {
        self.kind.starts_with(ELSEWHERE)
    }

    /// The mask of a head of a block.
    pub fn mask(&self, block: usize, head: usize) -> Option<Mask> {
        let layer = block.checked_rem(self.cycle.len()).and_then(|layer| self.cycle.get(layer));
        Some(Mask { connections: layer.cloned(), ..self.masks.get(head)?.clone() })
    }
}

/// The pairs of a query and a key that the query sees.
pub type Connections = BTreeSet<(usize, usize)>;

/// The limits of a mask, and whether token 0 is always seen.
pub type Shown = ([Option<i64>; 4], bool);

/// The keys that a query sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// `low ≤ k - t ≤ high` and `from ≤ k ≤ to`.
    pub limits: [Option<i64>; 4],
    /// True if token 0 is always seen.
    pub first: bool,
    /// The pairs of a query and a key that it sees, if the layer has connections.
    pub connections: Option<Arc<Connections>>,
}

impl Mask {
    /// True if the query of token `t` sees the key of token `k`.
    pub fn sees(&self, t: usize, k: usize) -> bool {
        let connected = self.connections.as_ref().is_none_or(|pairs| pairs.contains(&(t, k)));
        let whole = |x: usize| i64::try_from(x).unwrap_or(i64::MAX);
        let (t, k) = (whole(t), whole(k));
        let apart = k.saturating_sub(t);
        let [low, high, from, to] = self.limits;
        let within = low.is_none_or(|low| low <= apart)
            && high.is_none_or(|high| apart <= high)
            && from.is_none_or(|from| from <= k)
            && to.is_none_or(|to| k <= to);
        connected && (within || (self.first && k == 0))
    }

    /// True if the query of token `t`, of `tokens` in all, sees any key.
    pub fn sees_some(&self, t: usize, tokens: usize) -> bool {
        if self.connections.is_some() {
            return (0..tokens).any(|k| self.sees(t, k));
        }
        let whole = |x: usize| i64::try_from(x).unwrap_or(i64::MAX);
        let [low, high, from, to] = self.limits;
        let shifted = |limit: Option<i64>| limit.map(|limit| limit.saturating_add(whole(t)));
        let first = shifted(low).into_iter().chain(from).fold(0, i64::max);
        let last = shifted(high).into_iter().chain(to).fold(whole(tokens).saturating_sub(1), i64::min);
        first <= last || (self.first && tokens > 0)
    }

    /// The limits that show something, if they are the same for all; those that hide nothing are left out.
    pub fn shown(&self) -> Option<Shown> {
        let [low, high, from, to] = self.limits;
        let from = from.filter(|from| *from > 0);
        self.connections.is_none().then_some(([low, high, from, to], self.first))
    }

    /// The most keys that any token sees, of at most so many tokens; or more.
    pub fn most_seen(&self, tokens: usize) -> usize {
        if let Some(pairs) = &self.connections {
            let count = |t: usize| pairs.range((t, 0)..=(t, usize::MAX)).count();
            return (0..tokens).map(count).fold(0, usize::max);
        }
        let [low, high, from, to] = self.limits;
        let span = |low: Option<i64>, high: Option<i64>| {
            let keys = high?.saturating_sub(low?).saturating_add(1).max(0);
            usize::try_from(keys).ok()
        };
        let within = span(low, high).into_iter().chain(span(from.or(Some(0)), to)).fold(tokens, usize::min);
        within.saturating_add(usize::from(self.first)).min(tokens)
    }

    /// True if something is hidden.
    pub fn hides(&self) -> bool {
        self.limits != [None; 4] || self.connections.is_some()
    }
}

/// Consecutive blocks of one shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The number of blocks.
    pub blocks: usize,
    /// Their attention, if they have it.
    pub attention: Option<Attention>,
    /// The hidden units of their feed-forward layer, if they have it.
    pub hidden: Option<usize>,
}

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The hashes of `target.json` and `model.safetensors`.
    pub sha256: [String; 2],
    /// `certified`, `measured` or `exact-on-grid`.
    pub badge: String,
    /// The inputs on which the claim holds.
    pub over: Over,
    /// `p` of `L^p`; none for the supremum.
    pub norm: Option<Rational>,
    /// A Lipschitz constant: the claim is about every function that has it, and the table's values at centres.
    pub lipschitz: Option<Rational>,
    /// The largest distance of the network from the target.
    pub bound: Rational,
    /// The assumptions of the claim.
    pub assumptions: Vec<String>,
    /// The least and the largest number of tokens.
    pub tokens: [usize; 2],
    /// Coordinates of an input token.
    pub dims: usize,
    /// Coordinates of an output token.
    pub output_dims: usize,
    /// True if the format is double precision.
    pub double: bool,
    /// The width of the residual stream.
    pub width: usize,
    /// The number of tokens that have a position; 0 if none has.
    pub positions: usize,
    /// The blocks.
    pub runs: Vec<Run>,
    /// Hint: cells per side.
    pub cells: usize,
    /// Hint: the parts cut off a cell below and above.
    pub margins: [Rational; 2],
    /// Hint: copies on shifted grids, of which the outputs are the median.
    pub median: Option<Median>,
    /// Hint: what registers mean.
    pub meanings: Option<Meanings>,
}

/// The longest certificate.
pub const LONGEST: usize = 1 << 24;

/// The beginning of a text that may be long.
fn cut(text: &str) -> String {
    text.chars().take(80).collect()
}

/// The words of the lines, one line after the other.
struct Lines<'t> {
    left: std::str::Split<'t, char>,
    number: usize,
    words: Vec<&'t str>,
}

impl<'t> Lines<'t> {
    /// Goes to the next line, which begins with this word.
    fn line(&mut self, first: &str) -> Result<(), String> {
        let line = self.left.next().unwrap_or("");
        self.number = self.number.saturating_add(1);
        let mut words = line.split(' ');
        if words.next() != Some(first) {
            return Err(format!("line {} is {:?}, expected `{first} …`", self.number, cut(line)));
        }
        self.words = words.collect();
        self.words.reverse();
        Ok(())
    }

    /// The next word of the line.
    fn word(&mut self) -> Result<&'t str, String> {
        self.words.pop().ok_or_else(|| format!("line {} ends too early", self.number))
    }

    /// The next word, which must be one of these.
    fn one_of(&mut self, known: &[&str]) -> Result<&'t str, String> {
        let word = self.word()?;
        if known.contains(&word) { Ok(word) } else { Err(self.fault(word, &format!("one of {known:?}"))) }
    }

    /// A kind of attention: one that is known, or the name of another.
    fn kind(&mut self) -> Result<&'t str, String> {
        let word = self.word()?;
        let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let other = word.strip_prefix(ELSEWHERE).is_some_and(|name| !name.is_empty() && name.bytes().all(letter));
        if KINDS.contains(&word) || other { Ok(word) } else { Err(self.fault(word, &format!("one of {KINDS:?}"))) }
    }

    fn fault(&self, word: &str, expected: &str) -> String {
        format!("line {} has {:?}, expected {expected}", self.number, cut(word))
    }

    fn count(&mut self) -> Result<usize, String> {
        let word = self.word()?;
        let plain = is_canonical(word) && word.bytes().all(|b| b.is_ascii_digit());
        let count = word.parse().ok().filter(|count: &usize| plain && *count < 1 << 31);
        count.ok_or_else(|| self.fault(word, "a count below 2^31"))
    }

    fn rational(&mut self) -> Result<Rational, String> {
        let word = self.word()?;
        let exact = Ratio::rational(word).ok_or_else(|| self.fault(word, "a rational in lowest terms"))?;
        Ok(Rational { text: word.to_owned(), range: exact.range(), exact })
    }

    fn limit(&mut self) -> Result<Option<i64>, String> {
        let word = self.word()?;
        if word == "*" {
            return Ok(None);
        }
        let limit = word.parse().ok().filter(|limit: &i64| is_canonical(word) && limit.unsigned_abs() < 1 << 31);
        limit.map(Some).ok_or_else(|| self.fault(word, "an integer or *"))
    }

    fn mask(&mut self) -> Result<Mask, String> {
        let limits = [self.limit()?, self.limit()?, self.limit()?, self.limit()?];
        Ok(Mask { limits, first: self.one_of(&["yes", "no"])? == "yes", connections: None })
    }

    fn of(&mut self, name: &str) -> Result<usize, String> {
        self.line(name)?;
        self.count()
    }

    /// The hash of a file.
    fn hash(&mut self, file: &str) -> Result<String, String> {
        self.line("sha256")?;
        self.one_of(&[file])?;
        let word = self.word()?;
        let digits = word.len() == 64 && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if digits { Ok(word.to_owned()) } else { Err(self.fault(word, "64 hexadecimal digits")) }
    }

    /// The claim, of files with these hashes; nothing is said of the network yet.
    fn claim(&mut self, sha256: [String; 2]) -> Result<Certificate, String> {
        self.line("badge")?;
        let badge = self.one_of(&["certified", "measured", "exact-on-grid"])?.to_owned();
        self.line("over")?;
        let over = match self.one_of(&["box", "integers", "distinct-integers", "space"])? {
            "box" => Over::Box,
            "integers" => Over::Integers,
            "space" => Over::Space,
            _ => Over::DistinctIntegers(self.rational()?),
        };
        self.line("norm")?;
        let norm = if self.one_of(&["lp", "sup"])? == "lp" { Some(self.rational()?) } else { None };
        let lipschitz = if norm.is_none() && !self.words.is_empty() {
            self.one_of(&["lipschitz"])?;
            Some(self.rational()?)
        } else {
            None
        };
        self.line("bound")?;
        let bound = self.rational()?;
        let mut assumptions = Vec::new();
        for _ in 0..self.of("assumptions")? {
            self.line("assume")?;
            self.words.reverse();
            assumptions.push(std::mem::take(&mut self.words).join(" "));
        }
        let tokens = [self.of("tokens")?, self.count()?];
        let (dims, output_dims) = (self.of("dims")?, self.of("output-dims")?);
        self.line("execution")?;
        self.one_of(&["ieee-any-order"])?;
        let double = self.one_of(&["f32", "f64"])? == "f64";
        let none = || Rational { text: "0".to_owned(), exact: Ratio::ZERO, range: Range::ZERO };
        let (width, positions, cells, margins) = (0, 0, 0, [none(), none()]);
        let (runs, median, meanings) = (Vec::new(), None, None);
        Ok(Certificate {
            sha256,
            badge,
            over,
            norm,
            lipschitz,
            bound,
            assumptions,
            tokens,
            dims,
            output_dims,
            double,
            width,
            positions,
            runs,
            cells,
            margins,
            median,
            meanings,
        })
    }

    /// One layer of connections.
    fn connections(&mut self, tokens: usize) -> Result<Connections, String> {
        let mut pairs = BTreeSet::new();
        if tokens == 0 {
            return Err(format!("line {}: connections of no tokens", self.number));
        }
        for t in 0..tokens {
            self.line("sees")?;
            pairs.insert((t, self.count()?));
            while !self.words.is_empty() {
                pairs.insert((t, self.count()?));
            }
        }
        let beyond = pairs.iter().find(|(_, k)| *k >= tokens);
        beyond.map_or(Ok(()), |(t, k)| Err(format!("token {t} sees {k}, and there are {tokens} tokens")))?;
        Ok(pairs)
    }

    fn run(&mut self, tokens: usize) -> Result<Run, String> {
        self.line("run")?;
        let mut run = Run { blocks: self.count()?, attention: None, hidden: None };
        while !self.words.is_empty() {
            if run.hidden.is_none() && self.one_of(&["attention", "ff"])? == "ff" {
                run.hidden = Some(self.count()?);
            } else if run.hidden.is_none() && run.attention.is_none() {
                run.attention = Some(Attention {
                    kind: self.kind()?.to_owned(),
                    heads: self.count()?,
                    head_size: self.count()?,
                    value_size: self.count()?,
                    size: self.count()?,
                    masks: Vec::new(),
                    cycle: Vec::new(),
                });
            } else {
                return Err(format!("line {} has more than a run has", self.number));
            }
        }
        let heads = run.attention.as_ref().map_or(0, |attention| attention.heads);
        if run.blocks == 0 || (run.attention.is_none() && run.hidden.is_none()) || run.hidden == Some(0) {
            return Err(format!("line {}: a run without blocks, or blocks without layers", self.number));
        }
        for _ in 0..heads {
            self.line("mask")?;
            let mask = self.mask()?;
            run.attention.iter_mut().for_each(|attention| attention.masks.push(mask.clone()));
        }
        let follow = self.left.clone().next().is_some_and(|line| line.starts_with("connections "));
        if let (Some(Attention { cycle, .. }), true) = (&mut run.attention, follow) {
            for _ in 0..self.of("connections")? {
                cycle.push(Arc::new(self.connections(tokens)?));
            }
        }
        Ok(run)
    }
}

impl Certificate {
    /// Prints the claim.
    fn write_claim(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "badge {}", self.badge)?;
        match &self.over {
            Over::Box => writeln!(f, "over box")?,
            Over::Integers => writeln!(f, "over integers")?,
            Over::DistinctIntegers(otherwise) => writeln!(f, "over distinct-integers {otherwise}")?,
            Over::Space => writeln!(f, "over space")?,
        }
        match (&self.norm, &self.lipschitz) {
            (Some(p), _) => writeln!(f, "norm lp {p}")?,
            (None, Some(constant)) => writeln!(f, "norm sup lipschitz {constant}")?,
            (None, None) => writeln!(f, "norm sup")?,
        }
        writeln!(f, "bound {}\nassumptions {}", self.bound, self.assumptions.len())?;
        self.assumptions.iter().try_for_each(|words| writeln!(f, "assume {words}"))?;
        let [least, most] = self.tokens;
        writeln!(f, "tokens {least} {most}\ndims {}\noutput-dims {}", self.dims, self.output_dims)?;
        writeln!(f, "execution ieee-any-order {}", if self.double { "f64" } else { "f32" })
    }

    /// True if the claim is decided by what registers mean: over a box in the supremum norm, or in another one without
    /// a grid.
    pub fn is_meant(&self) -> bool {
        let sup = self.norm.is_none() || (self.cells == 0 && self.meanings.is_some());
        self.over == Over::Box && sup && self.median.is_none()
    }

    /// The layers of so many blocks.
    pub fn layers_of(&self, blocks: usize) -> Option<usize> {
        let (mut left, mut layers) = (blocks, 0_usize);
        for run in &self.runs {
            let each = usize::from(run.attention.is_some()).saturating_add(usize::from(run.hidden.is_some()));
            let taken = left.min(run.blocks);
            layers = layers.saturating_add(taken.saturating_mul(each));
            left = left.saturating_sub(taken);
        }
        (left == 0).then_some(layers)
    }

    /// Refuses meanings that name what the network does not have.
    pub fn means_what_is_there(&self) -> Result<(), String> {
        self.meanings.iter().try_for_each(|meanings| meanings.fit(self))
    }

    /// Refuses hints of both kinds, and copies or a Lipschitz constant of a claim that is not over a box.
    fn is_of_one_kind(&self) -> Result<(), String> {
        let wide = self.median.iter().flat_map(|median| &median.copies).flat_map(|copy| &copy.registers);
        if self.over != Over::Box && (self.median.is_some() || self.lipschitz.is_some()) {
            return Err("the copies of a median, or a Lipschitz constant, and the claim is not over a box".to_owned());
        }
        if self.median.is_some() && self.meanings.is_some() {
            return Err("the copies of a median, and meanings".to_owned());
        }
        if self.lipschitz.as_ref().is_some_and(|constant| constant.exact.is_negative()) {
            return Err("a Lipschitz constant below 0".to_owned());
        }
        match wide.max() {
            Some(register) if *register >= self.width => Err(format!("there is no register {register}")),
            _ => Ok(()),
        }
    }

    /// True if these are the bytes of a certificate of version 1. Well-formed or not, it claims something other than
    /// what is decided here.
    pub fn is_of_version_1(bytes: &[u8]) -> bool {
        bytes.starts_with(b"formwright-certificate 1\n")
    }

    /// Reads a certificate, or says what is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| format!("it is no ASCII text: {error}"))?;
        if !text.is_ascii() || text.len() > LONGEST {
            return Err(format!("it is no ASCII text of at most {LONGEST} bytes"));
        }
        let mut lines = Lines { left: text.split('\n'), number: 0, words: Vec::new() };
        lines.line("formwright-certificate")?;
        lines.one_of(&["2"])?;
        let sha256 = [lines.hash("target.json")?, lines.hash("model.safetensors")?];
        let claim = lines.claim(sha256)?;
        let (width, positions) = (lines.of("width")?, lines.of("positions")?);
        let mut runs = Vec::new();
        for _ in 0..lines.of("runs")? {
            runs.push(lines.run(claim.tokens[1])?);
        }
        let cells = lines.of("cells")?;
        lines.line("margins")?;
        let margins = [lines.rational()?, lines.rational()?];
        let median = lines.median(&claim)?;
        let meanings = lines.meanings()?;
        lines.line("end")?;
        let certificate = Self { width, positions, runs, cells, margins, median, meanings, ..claim };
        let printed = certificate.to_string();
        if printed == text {
            certificate.is_of_one_kind()?;
            certificate.means_what_is_there()?;
            return Ok(certificate);
        }
        let at = printed.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
        Err(format!("it is not in the one form that it has, from byte {at} on"))
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [target, weights] = &self.sha256;
        writeln!(f, "formwright-certificate 2\nsha256 target.json {target}\nsha256 model.safetensors {weights}")?;
        self.write_claim(f)?;
        let [_, most] = self.tokens;
        writeln!(f, "width {}\npositions {}\nruns {}", self.width, self.positions, self.runs.len())?;
        for run in &self.runs {
            write!(f, "run {}", run.blocks)?;
            if let Some(Attention { kind, heads, head_size, value_size, size, .. }) = &run.attention {
                write!(f, " attention {kind} {heads} {head_size} {value_size} {size}")?;
            }
            run.hidden.iter().try_for_each(|hidden| write!(f, " ff {hidden}"))?;
            writeln!(f)?;
            let Some(Attention { masks, cycle, .. }) = &run.attention else { continue };
            for Mask { limits, first, .. } in masks {
                let limit = |limit: &Option<i64>| limit.map_or("*".to_owned(), |limit| limit.to_string());
                let limits = limits.iter().map(limit).collect::<Vec<_>>().join(" ");
                writeln!(f, "mask {limits} {}", if *first { "yes" } else { "no" })?;
            }
            if !cycle.is_empty() {
                writeln!(f, "connections {}", cycle.len())?;
            }
            for (layer, t) in cycle.iter().flat_map(|layer| (0..most).map(move |t| (layer, t))) {
                let keys = layer.range((t, 0)..=(t, usize::MAX)).map(|(_, k)| format!(" {k}"));
                writeln!(f, "sees{}", keys.collect::<String>())?;
            }
        }
        let [low, high] = &self.margins;
        writeln!(f, "cells {}\nmargins {low} {high}", self.cells)?;
        self.median.iter().try_for_each(|median| write!(f, "{median}"))?;
        self.meanings.iter().flat_map(|meanings| &meanings.text).try_for_each(|line| writeln!(f, "{line}"))?;
        writeln!(f, "end")
    }
}
