//! Reads the lines of a certificate that say what registers mean (CERTIFICATE.md, section 7). They are hints: nothing
//! of them is believed.

use std::collections::BTreeMap;

use super::{Certificate, Lines, Mask, Run};
use crate::kernel::form::Form;
use crate::kernel::function::{BINARIES, CALLS, Word};
use crate::kernel::number::Ratio;

/// A number that every token has, made of earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wire {
    /// A coordinate of the input.
    Input(usize),
    /// A function of a form.
    Curve {
        /// The argument.
        of: Form,
        /// The function.
        function: Vec<Word>,
    },
    /// A product of two forms.
    Product(Form, Form),
    /// A number times the mean of a form over all tokens.
    Mean {
        /// The factor.
        scale: Ratio,
        /// The form.
        of: Form,
    },
    /// A number times a form: at one token times the mean of the form over all tokens.
    Hub {
        /// The token.
        token: usize,
        /// The factor.
        scale: Ratio,
        /// The form.
        of: Form,
    },
    /// A number for each position.
    Position(Vec<Ratio>),
    /// A number times what becomes of a form over the tokens that a mask shows.
    Seen {
        /// The mask.
        mask: Mask,
        /// Their mean, their sum, or the largest of them.
        pooled: Pooled,
        /// The factor.
        scale: Ratio,
        /// The form.
        of: Form,
    },
    /// The mean of a form over the tokens that a mask shows, weighted by the softmax of scores.
    Attend {
        /// The mask.
        mask: Mask,
        /// The form.
        of: Form,
        /// The score: a sum of products, each of a form of the token that sees and one of the token that is seen.
        rows: Vec<[Form; 2]>,
    },
    /// The value of a form at another position.
    Gather {
        /// The position, a number for each.
        index: Form,
        /// The form.
        of: Form,
    },
    /// A form where a condition holds, and 0 elsewhere.
    Select {
        /// 0 or 1, by position.
        condition: Form,
        /// The form.
        value: Form,
    },
    /// The larger of two forms where a condition on the position holds, and the smaller elsewhere.
    Exchange {
        /// 0 or 1, by position.
        side: Form,
        /// The form of the token itself.
        own: Form,
        /// The other form.
        other: Form,
    },
    /// A number for each whole number that a form may be.
    Points {
        /// The form.
        of: Form,
        /// The whole number that the first of the values belongs to.
        from: i64,
        /// The values.
        values: Vec<Ratio>,
    },
    /// A form that stands in no register: a sum of which no more than one term is on.
    Cases(Form),
    /// A square, or a product of two forms, that stands in no register: teeth add up to it.
    Teeth {
        /// The factors.
        factors: [Form; 2],
        /// The arguments whose squares add up to it, with signs `+` and `-`: one for a square, two for a product.
        arguments: Vec<Form>,
        /// The largest size of an argument.
        reach: Ratio,
        /// The teeth of every argument, the first one first.
        teeth: Vec<Vec<usize>>,
    },
}

/// How the numbers of several tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooled {
    /// Their mean.
    Mean,
    /// Their sum.
    Sum,
    /// The largest.
    Largest,
}

/// How a layer makes a wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The wire.
    pub wire: usize,
    /// The form added to registers for it, times a factor for each of them: the wire, and what is read with it.
    pub adds: Form,
    /// A gate has for each argument a unit that reads it, and the argument; a head has its number and that of the
    /// value.
    pub source: Source,
}

/// The origin of a wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Hidden units.
    Units(Vec<(usize, Form)>),
    /// A value of a head.
    Head(usize, usize),
}

/// A layer: what it makes, and what registers hold behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The wires that it makes.
    pub made: Vec<Made>,
    /// The registers that hold something else than before, ascending.
    pub holds: Vec<(usize, Form)>,
}

/// The meanings of registers, as a certificate has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meanings {
    /// The lines as they were read.
    pub text: Vec<String>,
    /// The wires.
    pub wires: Vec<Wire>,
    /// The embedding, and each sub-layer.
    pub layers: Vec<Layer>,
    /// The outputs.
    pub outputs: Vec<Form>,
}

/// The parts of a sub-layer that a line may name.
#[derive(Clone, Copy)]
enum Parts {
    /// The embedding makes nothing.
    Nothing,
    /// Heads, and the values of each.
    Heads(usize, usize),
    /// Hidden units.
    Units(usize),
}

/// The sub-layers behind the embedding, in order.
fn parts(runs: &[Run]) -> impl Iterator<Item = Parts> {
    runs.iter().flat_map(|run| {
        let heads = run.attention.as_ref().map(|part| Parts::Heads(part.heads, part.value_size));
        (0..run.blocks).flat_map(move |_| heads.into_iter().chain(run.hidden.map(Parts::Units)))
    })
}

impl Made {
    fn is_there(&self, parts: Parts) -> bool {
        match (&self.source, parts) {
            (Source::Units(named), Parts::Units(units)) => named.iter().all(|(unit, _)| *unit < units),
            (Source::Head(head, value), Parts::Heads(heads, values)) => *head < heads && *value < values,
            _ => false,
        }
    }
}

impl Meanings {
    /// Refuses lines that name what the network does not have, whether or not anything is to be proved from them.
    pub(super) fn fit(&self, certificate: &Certificate) -> Result<(), String> {
        let Certificate { dims, output_dims, width, runs, .. } = certificate;
        if let Some(c) =
            self.wires.iter().find_map(|wire| if let Wire::Input(c) = wire { (c >= dims).then_some(c) } else { None })
        {
            return Err(format!("there is no input {c}"));
        }
        let [_, most] = certificate.tokens;
        let hub =
            |wire: &Wire| if let Wire::Hub { token, .. } = wire { (*token >= most).then_some(*token) } else { None };
        if let Some(token) = self.wires.iter().find_map(hub) {
            return Err(format!("there is no token {token}"));
        }
        if self.outputs.len() != *output_dims {
            return Err(format!("{} lines `output`, and there are {output_dims} outputs", self.outputs.len()));
        }
        let mut there = std::iter::once(Parts::Nothing).chain(parts(runs));
        for (number, layer) in self.layers.iter().enumerate() {
            let parts = there.next().ok_or_else(|| format!("there is no layer {number}"))?;
            if let Some(made) = layer.made.iter().find(|made| !made.is_there(parts)) {
                return Err(format!("layer {number} makes wire {} of what is not there", made.wire));
            }
            if let Some((register, _)) = layer.holds.iter().find(|(register, _)| register >= width) {
                return Err(format!("layer {number}: there is no register {register}"));
            }
        }
        match there.next() {
            Some(_) => Err(format!("{} layers, and there are more", self.layers.len())),
            None => Ok(()),
        }
    }
}

impl Lines<'_> {
    /// The ratio of a word.
    fn ratio(&mut self) -> Result<Ratio, String> {
        Ok(self.rational()?.exact)
    }

    /// A count below a limit.
    fn below(&mut self, limit: usize, what: &str) -> Result<usize, String> {
        let count = self.count()?;
        if count < limit { Ok(count) } else { Err(self.fault(&count.to_string(), what)) }
    }

    /// A form over the first so many wires: what is added, the number of terms, and the terms, ascending.
    fn form(&mut self, wires: usize) -> Result<Form, String> {
        let offset = self.ratio()?;
        let mut terms = BTreeMap::new();
        let mut least = 0;
        for _ in 0..self.count()? {
            let wire = self.below(wires, "an earlier wire")?;
            let factor = self.ratio()?;
            if wire < least || factor.is_zero() {
                return Err(format!("line {}: terms are not in order, or 0", self.number));
            }
            least = wire.saturating_add(1);
            terms.insert(wire, factor);
        }
        Ok(Form { offset, terms })
    }

    /// A function in postfix notation, to the end of the line.
    fn function(&mut self) -> Result<Vec<Word>, String> {
        let mut words = Vec::new();
        let mut depth = 0_usize;
        while !self.words.is_empty() {
            let word = self.word()?;
            let binary = BINARIES.iter().find(|(name, _)| *name == word).map(|(_, binary)| *binary);
            let call = CALLS.iter().find(|(name, _)| *name == word).map(|(_, call)| *call);
            let (takes, read) = match (word, binary, call) {
                ("x", ..) => (0, Word::Variable),
                ("negate", ..) => (1, Word::Negate),
                ("power", ..) => {
                    let k = u32::try_from(self.below(1001, "an exponent up to 1000")?).unwrap_or(0);
                    (1, Word::Power(k))
                }
                (_, Some(binary), _) => (2, Word::Binary(binary)),
                (_, _, Some(call)) => (1, Word::Call(call)),
                _ => {
                    let number = Ratio::rational(word).filter(Ratio::is_short);
                    (0, Word::Number(number.ok_or_else(|| self.fault(word, "a word of a function"))?))
                }
            };
            depth = depth.checked_sub(takes).ok_or_else(|| self.fault(word, "arguments before it"))?;
            depth = depth.saturating_add(1);
            words.push(read);
        }
        if depth == 1 { Ok(words) } else { Err(format!("line {}: a function is one number", self.number)) }
    }

    fn wire(&mut self, known: usize) -> Result<Wire, String> {
        self.line("wire")?;
        let kinds = [
            "input", "curve", "product", "mean", "hub", "teeth", "position", "seen", "attend", "gather", "select",
            "points", "cases", "exchange",
        ];
        Ok(match self.one_of(&kinds)? {
            "input" => Wire::Input(self.count()?),
            "curve" => Wire::Curve { of: self.form(known)?, function: self.function()? },
            "product" => Wire::Product(self.form(known)?, self.form(known)?),
            "mean" => Wire::Mean { scale: self.ratio()?, of: self.form(known)? },
            "hub" => Wire::Hub { token: self.count()?, scale: self.ratio()?, of: self.form(known)? },
            "position" => {
                let mut values = vec![self.ratio()?];
                while !self.words.is_empty() {
                    values.push(self.ratio()?);
                }
                Wire::Position(values)
            }
            "seen" => {
                let mask = self.mask()?;
                let pooled = match self.one_of(&["mean", "sum", "max"])? {
                    "mean" => Pooled::Mean,
                    "sum" => Pooled::Sum,
                    _ => Pooled::Largest,
                };
                Wire::Seen { mask, pooled, scale: self.ratio()?, of: self.form(known)? }
            }
            "attend" => {
                let (mask, of) = (self.mask()?, self.form(known)?);
                let mut rows = Vec::new();
                for _ in 0..self.count()? {
                    rows.push([self.form(known)?, self.form(known)?]);
                }
                Wire::Attend { mask, of, rows }
            }
            "gather" => Wire::Gather { index: self.form(known)?, of: self.form(known)? },
            "points" => {
                let of = self.form(known)?;
                let word = self.word()?;
                let from = Ratio::rational(word).filter(Ratio::is_whole).and_then(|_| word.parse().ok());
                let from = from.ok_or_else(|| self.fault(word, "a whole number"))?;
                let mut values = vec![self.ratio()?];
                while !self.words.is_empty() {
                    values.push(self.ratio()?);
                }
                Wire::Points { of, from, values }
            }
            "cases" => Wire::Cases(self.form(known)?),
            "exchange" => Wire::Exchange { side: self.form(known)?, own: self.form(known)?, other: self.form(known)? },
            "select" => Wire::Select { condition: self.form(known)?, value: self.form(known)? },
            _ => {
                let factors = [self.form(known)?, self.form(known)?];
                let reach = self.ratio()?;
                let (mut arguments, mut teeth) = (Vec::new(), Vec::new());
                for _ in 0..self.below(3, "one argument or two")? {
                    arguments.push(self.form(known)?);
                    let mut chain = Vec::new();
                    for _ in 0..self.below(64, "less than 64 teeth")? {
                        chain.push(self.below(known, "an earlier wire")?);
                    }
                    teeth.push(chain);
                }
                Wire::Teeth { factors, arguments, reach, teeth }
            }
        })
    }

    fn made(&mut self, wires: usize) -> Result<Made, String> {
        let line = self.left.clone().next().unwrap_or("");
        let head = line.starts_with("head ");
        self.line(if head { "head" } else { "gate" })?;
        let (wire, adds) = (self.below(wires, "a wire")?, self.form(wires)?);
        let source = if head {
            Source::Head(self.count()?, self.count()?)
        } else {
            let mut units = Vec::new();
            for _ in 0..self.below(3, "up to two arguments")? {
                units.push((self.count()?, self.form(wires)?));
            }
            Source::Units(units)
        };
        Ok(Made { wire, adds, source })
    }

    /// Goes on to the end of a line, which must have been reached.
    fn ended(&self) -> Result<(), String> {
        if self.words.is_empty() { Ok(()) } else { Err(format!("line {} has more words than it should", self.number)) }
    }

    /// The lines of meanings; none if the certificate has none.
    pub(super) fn meanings(&mut self) -> Result<Option<Meanings>, String> {
        let before = self.left.clone();
        let first = self.number;
        if !before.clone().next().is_some_and(|line| line.starts_with("meanings ")) {
            return Ok(None);
        }
        let (mut wires, mut layers, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.of("meanings")? {
            wires.push(self.wire(wires.len())?);
            self.ended()?;
        }
        let count = wires.len();
        for _ in 0..self.of("layers")? {
            let (makes, changes) = (self.of("layer")?, self.count()?);
            self.ended()?;
            let mut layer = Layer { made: Vec::new(), holds: Vec::new() };
            for _ in 0..makes {
                layer.made.push(self.made(count)?);
                self.ended()?;
            }
            for _ in 0..changes {
                self.line("holds")?;
                let held = (self.count()?, self.form(count)?);
                if layer.holds.last().is_some_and(|(last, _)| *last >= held.0) {
                    return Err(format!("line {}: registers are not in order", self.number));
                }
                layer.holds.push(held);
                self.ended()?;
            }
            layers.push(layer);
        }
        for _ in 0..self.of("outputs")? {
            self.line("output")?;
            outputs.push(self.form(count)?);
            self.ended()?;
        }
        let lines = self.number.saturating_sub(first);
        let text = before.take(lines).map(str::to_owned).collect();
        Ok(Some(Meanings { text, wires, layers, outputs }))
    }
}
