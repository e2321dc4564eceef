//! Random well-typed targets as texts.

#![allow(dead_code)]

use super::Random;

/// The constructs that a random target may contain.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what may occur, each by itself")]
pub struct Kind {
    /// The coordinates of a token.
    pub dims: usize,
    /// True if the domain is one of integers.
    pub integers: bool,
    /// Only what keeps rational numbers rational.
    pub rational: bool,
    /// Neither kinks nor jumps: no value is compared, rounded or sorted.
    pub smooth: bool,
    /// Only what is seen to have a value everywhere; otherwise there are some slips.
    pub total: bool,
}

impl Kind {
    pub fn random(random: &mut Random) -> Self {
        let integers = random.below(4) == 0;
        Self { dims: one_or_two(random), integers, rational: random.below(3) == 0, smooth: false, total: false }
    }
}

fn one_or_two(random: &mut Random) -> usize {
    if random.below(3) == 0 { 2 } else { 1 }
}

/// The integers of an integer domain.
const FROM: i64 = -3;
const TO: i64 = 5;

/// The text of a random target.
pub fn text(random: &mut Random, kind: Kind) -> String {
    let depth = 2 + random.below(4);
    let target = body(random, kind, depth);
    if kind.integers { format!("{target} on integers {FROM}..{TO}") } else { target }
}

/// A random target as a user could have written it, of moderate size and with values on its whole domain.
#[derive(Clone, Debug)]
pub struct Program {
    /// Bindings, body and domain.
    pub text: String,
    /// The coordinates of a token.
    pub dims: usize,
}

/// The program of a seed: every construct of the language, on intervals and on integers. One in three is smooth.
pub fn random_program(seed: u64) -> Program {
    let random = &mut Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let integers = random.below(3) == 0;
    let smooth = !integers && random.below(2) == 0;
    let rational = integers && random.below(4) > 0 || random.below(3) == 0;
    let kind = Kind { dims: one_or_two(random), integers, rational, smooth, total: true };
    let depth = 1 + random.below(3);
    let target = body(random, kind, depth);
    let domains = if integers {
        [" on integers 0..2", " on integers 0..4", " on integers 0..10", " on integers -3..5"]
    } else {
        ["", "", " on [-1, 1]", " on [-1/2, 2]"]
    };
    let domain = domains[usize::try_from(random.below(4)).expect("small")];
    Program { text: format!("{target}{domain}"), dims: kind.dims }
}

/// Bindings and body of a random target.
fn body(random: &mut Random, kind: Kind, depth: u64) -> String {
    let mut writer = Writer { random, kind, vector: true, running: false, lets: Vec::new() };
    let lets = writer.lets();
    let body = if writer.random.below(3) > 0 {
        writer.number(depth)
    } else {
        writer.vector = kind.dims == 1;
        let coordinates: Vec<String> = (0..=writer.random.below(2)).map(|_| writer.number(depth)).collect();
        format!("[{}]", coordinates.join(", "))
    };
    format!("{lets}{body}")
}

struct Writer<'r> {
    random: &'r mut Random,
    kind: Kind,
    /// True if a whole token may be used.
    vector: bool,
    /// True if this is inside of an aggregate.
    running: bool,
    /// The bindings so far.
    lets: Vec<Shape>,
}

/// The shape of a binding.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    vector: bool,
    integer: bool,
}

impl Writer<'_> {
    /// Mostly none, else a few bindings: integers, numbers and whole tokens.
    fn lets(&mut self) -> String {
        let mut text = Vec::new();
        let number = self.random.below(6).saturating_sub(2);
        for name in ["b", "c1", "d_e"].into_iter().take(usize::try_from(number).expect("small")) {
            let depth = 1 + self.random.below(2);
            let shape = match self.random.below(4) {
                0 if !self.kind.smooth => Shape { name, vector: false, integer: true },
                1 | 2 => Shape { name, vector: self.kind.dims > 1, integer: false },
                _ => Shape { name, vector: false, integer: false },
            };
            let value = match shape {
                Shape { integer: true, .. } => self.scalar(|writer| writer.integer(depth)),
                Shape { vector: true, .. } => format!("x + {}", self.number(depth)),
                _ => self.scalar(|writer| writer.number(depth)),
            };
            text.push(format!("let {name} = {value}; "));
            self.lets.push(shape);
        }
        text.concat()
    }

    /// A bound name that fits, if there is one.
    fn bound(&mut self, integer: bool) -> Option<String> {
        let at = usize::try_from(self.random.below(self.lets.len().max(1) as u64)).expect("small");
        let shape = *self.lets.get(at).filter(|shape| shape.integer || !integer)?;
        let name = match self.random.below(4) {
            0 => format!("{}[{}]", shape.name, self.scalar(Self::index)),
            1 => format!("{}[i]", shape.name),
            _ => shape.name.to_owned(),
        };
        let whole = !shape.vector || self.vector && !self.chance(3);
        Some(if whole { name } else { format!("{name}.{}", self.random.below(self.kind.dims as u64)) })
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[usize::try_from(self.random.below(from.len() as u64)).expect("small")]
    }

    fn chance(&mut self, of: u64) -> bool {
        self.random.below(of) == 0
    }

    /// Now and then, unless the target must have a value everywhere.
    fn slips(&mut self, of: u64) -> bool {
        !self.kind.total && self.chance(of)
    }

    fn inside<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let running = std::mem::replace(&mut self.running, true);
        let written = write(self);
        self.running = running;
        written
    }

    /// Writes in a place where one number is needed, and a whole token is none.
    fn scalar<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let vector = std::mem::replace(&mut self.vector, self.kind.dims == 1);
        let written = write(self);
        self.vector = vector;
        written
    }

    fn literal(&mut self) -> String {
        let literals =
            ["0", "1", "2", "3", "0.5", "0.1", "(2/3)", "(-1)", "(-5/4)", "1e-3", "12", "0.3333333333333333333333"];
        self.pick(&literals).to_owned()
    }

    /// A token, or what is bound.
    fn token(&mut self) -> String {
        if self.chance(2)
            && let Some(bound) = self.bound(false)
        {
            return bound;
        }
        self.input()
    }

    /// A token of the input.
    fn input(&mut self) -> String {
        let token = match self.random.below(4) {
            0 | 1 => "x".to_owned(),
            2 => "x[i]".to_owned(),
            _ => format!("x[{}]", self.scalar(Self::index)),
        };
        if self.vector && !self.chance(3) {
            return token;
        }
        format!("{token}.{}", self.random.below(self.kind.dims as u64))
    }

    /// An index; nearly always one that names a token.
    fn index(&mut self) -> String {
        let shift = self.random.below(3);
        match self.random.below(if self.kind.smooth { 4 } else { 7 }) {
            0 => "0".to_owned(),
            1 => "n - 1 - i".to_owned(),
            2 => format!("(i + {shift}) mod n"),
            3 => format!("clamp(i - {shift}, 0, n - 1)"),
            4 => format!("clamp({}, 0, n - 1)", self.integer(1)),
            5 => format!("{} mod n", self.integer(1)),
            _ if self.running => "j".to_owned(),
            _ if self.slips(8) => format!("i + {shift}"),
            _ => "floor(i / 2)".to_owned(),
        }
    }

    /// A filter that lets a token pass, unless `sum` or `count` do not mind.
    fn filter(&mut self, needs_one: bool) -> String {
        if self.random.below(3) > 0 {
            return String::new();
        }
        let safe = ["j <= i", "j >= i", "j == i", "j < 1", "j >= i - 1 and j <= i + 1", "i >= j", "j <= i + 2"];
        if needs_one && !self.slips(12) {
            return format!(", {}", self.pick(&safe));
        }
        let shift = self.random.below(3);
        let op = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
        match self.random.below(3) {
            0 => format!(", j {op} {shift}"),
            1 => format!(", j {op} i + {shift}"),
            _ => format!(", j {op} i - {shift} and j != 2"),
        }
    }

    fn number(&mut self, depth: u64) -> String {
        if depth == 0 {
            return match self.random.below(6) {
                0 => self.literal(),
                1 => self.pick(if self.running { &["i", "j", "n"] } else { &["i", "n"] }).to_owned(),
                _ => self.token(),
            };
        }
        // Programs on integers are about integers: they count, compare and look things up.
        if self.kind.total && self.kind.integers && self.chance(2) {
            return self.integer(depth);
        }
        let depth = depth - 1;
        match self.random.below(20) {
            0 => format!("(-{})", self.number(depth)),
            1..=4 => {
                let op = self.pick(&["+", "-", "*"]);
                format!("({} {op} {})", self.number(depth), self.number(depth))
            }
            5 | 6 => format!("({} / {})", self.number(depth), self.divisor(depth)),
            7 => format!("({}^{})", self.bracketed(depth), self.random.below(6)),
            8..=10 if !self.kind.rational => self.transcendental(depth),
            8..=11 if !self.kind.smooth => self.kinked(depth),
            12..=15 => {
                let aggregate = self.pick(if self.kind.smooth {
                    &["sum", "mean", "var"]
                } else {
                    &["sum", "mean", "var", "max", "min"]
                });
                let of = self.inside(|writer| writer.number(depth));
                format!("{aggregate}({of}{})", self.filter(aggregate != "sum"))
            }
            16 => {
                let condition = if self.kind.smooth { self.position() } else { self.condition(depth) };
                format!("(if {condition} then {} else {})", self.number(depth), self.number(depth))
            }
            17 if !self.kind.smooth && !self.running => {
                let k = self.random.below(self.kind.dims as u64);
                let bound = self.lets.iter().find(|shape| !shape.vector || self.vector).map(|shape| shape.name);
                if let Some(bound) = bound
                    && self.chance(2)
                {
                    return format!("sort({bound})");
                }
                if self.vector { "sort(x)".to_owned() } else { format!("sort(x.{k})") }
            }
            18 if !self.kind.smooth => match self.random.below(3) {
                0 => format!("table({} mod 4; 1/3, -2, 7, 0.1)", self.integer(depth)),
                _ => self.integer(depth),
            },
            _ => self.token(),
        }
    }

    fn bracketed(&mut self, depth: u64) -> String {
        format!("({})", self.number(depth))
    }

    /// A divisor; mostly one that is seen not to be 0.
    fn divisor(&mut self, depth: u64) -> String {
        match self.random.below(if self.kind.smooth { 4 } else { 6 }) {
            0 => "n".to_owned(),
            1 => "(i + 1)".to_owned(),
            2 => format!("({}^2 + 1/10)", self.bracketed(depth)),
            3 if self.kind.total => "2".to_owned(),
            3 if self.chance(3) => self.bracketed(depth).replace("(0)", "(1)"),
            3 => format!("({} + 3)", self.number(depth)),
            4 => format!("(abs({}) + 1/4)", self.number(depth)),
            _ => format!("max({}, 1/8)", self.number(depth)),
        }
    }

    fn transcendental(&mut self, depth: u64) -> String {
        let e = self.number(depth);
        match self.random.below(14) {
            // What grows like this out of something large is beyond every float.
            0 if self.kind.total && depth > 0 => format!("exp(tanh({e}))"),
            0 => format!("exp({e})"),
            1 => format!("exp(-({e})^2)"),
            2 => format!("exp({e} / 8)"),
            3 => format!("log(({e})^2 + 1/10)"),
            4 | 7 if self.kind.total => format!("sqrt(exp({e} / 8) + 1)"),
            4 => format!("log({e} + 4)"),
            5 => format!("log(exp({e}) + 1)"),
            6 => format!("sqrt(({e})^2 + 1/5)"),
            7 => format!("sqrt({e} + 3)"),
            8 if !self.kind.smooth => format!("sqrt(abs({e}))"),
            9 => format!("tanh({e})"),
            10 => format!("sin(5 * {e})"),
            11 => format!("cos({e})"),
            12 => format!("sqrt(var({}) + 1/10)", self.inside(|writer| writer.number(depth))),
            _ => format!("sin({e})"),
        }
    }

    fn kinked(&mut self, depth: u64) -> String {
        let e = self.number(depth);
        match self.random.below(8) {
            0 | 1 => format!("abs({e})"),
            2 | 3 => format!("relu({e})"),
            4 => format!("min({e}, {})", self.number(depth)),
            5 => format!("max({e}, {})", self.number(depth)),
            6 => format!("clamp({e}, {}, {})", self.number(depth.min(1)), self.number(depth.min(1))),
            _ => format!("sqrt(({e})^2)"),
        }
    }

    /// A number that is known to be an integer.
    fn integer(&mut self, depth: u64) -> String {
        if depth == 0 {
            return match self.random.below(4) {
                0 if self.kind.integers => self.input(),
                1 => self.bound(true).unwrap_or_else(|| self.random.below(5).to_string()),
                _ => self.pick(if self.running { &["i", "j", "n"] } else { &["i", "n"] }).to_owned(),
            };
        }
        let depth = depth - 1;
        match self.random.below(8) {
            0 => format!("floor({})", self.number(depth)),
            1 => format!("floor({} * 3)", self.number(depth)),
            2 => {
                let of = self.inside(|writer| writer.condition(depth));
                format!("count({of}{})", self.filter(false))
            }
            3 => format!("table({} mod 3; 5, -2, 7)", self.integer(depth)),
            4 => format!("({} mod {})", self.integer(depth), self.pick(&["3", "(-3)", "n", "(i + 1)"])),
            5 => {
                let op = self.pick(&["+", "-", "*"]);
                format!("({} {op} {})", self.integer(depth), self.integer(depth))
            }
            6 => format!("({} mod (abs({}) + 1))", self.integer(depth), self.integer(depth)),
            _ => self.integer(depth),
        }
    }

    /// A condition on positions alone.
    fn position(&mut self) -> String {
        let op = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
        let place = if self.running { self.pick(&["i", "j"]) } else { "i" };
        format!("{place} {op} {}", self.random.below(4))
    }

    fn condition(&mut self, depth: u64) -> String {
        let smaller = depth.saturating_sub(1);
        match if depth == 0 { 3 + self.random.below(4) } else { self.random.below(8) } {
            0 => format!("({} and {})", self.condition(smaller), self.condition(smaller)),
            1 => format!("({} or {})", self.condition(smaller), self.condition(smaller)),
            2 => format!("not ({})", self.condition(smaller)),
            3 => self.position(),
            4 => {
                let op = self.pick(&["==", "!="]);
                format!("{} {op} {}", self.integer(smaller), self.integer(smaller))
            }
            _ => {
                let op = self.pick(&["<", "<=", ">", ">="]);
                format!("{} {op} {}", self.number(smaller), self.number(smaller))
            }
        }
    }
}
