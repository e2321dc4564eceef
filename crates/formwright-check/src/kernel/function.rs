//! Functions of one variable on an interval: values, slopes and second derivatives, enclosed.

use super::number::{Range, Ratio};

/// A word of a function of one variable, in postfix notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// The variable.
    Variable,
    /// A number.
    Number(Ratio),
    /// `+`, `-`, `×` or `÷` of the last two.
    Binary(Binary),
    /// The negative of the last.
    Negate,
    /// A power of the last.
    Power(u32),
    /// A function of the last.
    Call(Call),
}

/// An operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a b`.
    Mul,
    /// `a / b`.
    Div,
    /// The larger.
    Max,
    /// The smaller.
    Min,
}

/// A function of the target language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// `|a|`.
    Abs,
    /// The cosine.
    Cos,
    /// `e^a`.
    Exp,
    /// The natural logarithm.
    Log,
    /// `max(a, 0)`.
    Relu,
    /// The sine.
    Sin,
    /// The square root.
    Sqrt,
    /// The hyperbolic tangent.
    Tanh,
}

/// The functions by name.
pub const CALLS: [(&str, Call); 8] = [
    ("exp", Call::Exp),
    ("log", Call::Log),
    ("sqrt", Call::Sqrt),
    ("tanh", Call::Tanh),
    ("sin", Call::Sin),
    ("cos", Call::Cos),
    ("abs", Call::Abs),
    ("relu", Call::Relu),
];

/// The operators by name.
pub const BINARIES: [(&str, Binary); 6] = [
    ("add", Binary::Add),
    ("sub", Binary::Sub),
    ("mul", Binary::Mul),
    ("div", Binary::Div),
    ("max", Binary::Max),
    ("min", Binary::Min),
];

/// All values of a function on an interval, and of its first two derivatives where they are bounded.
#[derive(Clone, Debug)]
pub struct Jet {
    /// The values.
    pub value: Range,
    /// The slopes: all quotients `(f(s) - f(t))/(s - t)`, so that there may be kinks.
    pub slope: Option<Range>,
    /// The second derivatives; there are none where it may have a kink.
    pub bend: Option<Range>,
}

/// How a function of one argument acts on what is known of the argument: `f(a)`, `f'(a)`, `f''(a)`.
fn chain(inner: &Jet, value: Range, derivatives: Option<[Range; 2]>) -> Option<Jet> {
    if inner.slope == Some(Range::ZERO) {
        return Some(number(&value.kept()?));
    }
    let value = value.kept()?;
    let Some(([slope, curve], first)) = derivatives.zip(inner.slope.as_ref()) else { return Some(steep(value)) };
    let bend = inner.bend.as_ref().and_then(|second| (&(&curve * &first.power(2)?) + &(&slope * second)).kept());
    Some(Jet { value, slope: (&slope * first).kept(), bend })
}

/// A function of which only the values are known.
fn steep(value: Range) -> Jet {
    Jet { value, slope: None, bend: None }
}

/// A number, which may be any of a range, but is the same for all arguments.
pub fn number(x: &Range) -> Jet {
    Jet { value: x.clone(), slope: Some(Range::ZERO), bend: Some(Range::ZERO) }
}

/// `a + b`, or another linear function of two.
pub fn both(a: &Jet, b: &Jet, f: impl Fn(&Range, &Range) -> Range) -> Jet {
    let together = |a: &Option<Range>, b: &Option<Range>| Some(f(a.as_ref()?, b.as_ref()?));
    Jet { value: f(&a.value, &b.value), slope: together(&a.slope, &b.slope), bend: together(&a.bend, &b.bend) }
}

/// `a b`.
pub fn product(a: &Jet, b: &Jet) -> Option<Jet> {
    let value = (&a.value * &b.value).kept()?;
    let Some((a1, b1)) = a.slope.as_ref().zip(b.slope.as_ref()) else { return Some(steep(value)) };
    let slope = (&(a1 * &b.value) + &(&a.value * b1)).kept();
    let twice = &Range::whole(2) * &(a1 * b1);
    let bends = a.bend.as_ref().zip(b.bend.as_ref());
    let bend = bends.and_then(|(a2, b2)| (&(&(a2 * &b.value) + &twice) + &(&a.value * b2)).kept());
    Some(Jet { value, slope, bend })
}

/// `1/a`.
pub fn reciprocal(a: &Jet) -> Option<Jet> {
    let value = Range::whole(1).over(&a.value)?;
    let square = value.power(2)?;
    let cube = (&square * &value).kept()?;
    chain(a, value, Some([-&square, &cube + &cube]))
}

/// The larger of two. Where they may cross it has a kink, and slopes between those of both.
pub fn larger(a: &Jet, b: &Jet) -> Jet {
    if a.value.lo >= b.value.hi {
        return a.clone();
    }
    if b.value.lo >= a.value.hi {
        return b.clone();
    }
    let slope = a.slope.as_ref().zip(b.slope.as_ref()).map(|(a, b)| a.hull(b));
    Jet { value: a.value.max(&b.value), slope, bend: None }
}

fn negative(a: &Jet) -> Jet {
    Jet { value: -&a.value, slope: a.slope.as_ref().map(|slope| -slope), bend: a.bend.as_ref().map(|bend| -bend) }
}

/// A function of the language.
pub fn call(f: Call, a: &Jet) -> Option<Jet> {
    let x = &a.value;
    match f {
        Call::Exp => {
            let value = x.exp()?;
            chain(a, value.clone(), Some([value.clone(), value]))
        }
        Call::Log => {
            let slope = Range::whole(1).over(x)?;
            let bend = -&slope.power(2)?;
            chain(a, x.log()?, Some([slope, bend]))
        }
        Call::Sqrt => {
            let value = x.sqrt()?;
            // Steep without bound at 0.
            let twice = &value + &value;
            let slope = if x.lo.is_zero() { None } else { Range::whole(1).over(&twice) };
            let bend = slope.and_then(|slope| {
                let bend = -&slope.over(&(x + x))?;
                Some([slope, bend])
            });
            chain(a, value, bend)
        }
        Call::Tanh => {
            let value = x.tanh()?;
            let slope = &Range::whole(1) - &value.power(2)?;
            let bend = -&(&(&value + &value) * &slope);
            chain(a, value, Some([slope, bend]))
        }
        Call::Sin => {
            let (value, slope) = (x.wave(0)?, x.wave(1)?);
            chain(a, value.clone(), Some([slope, -&value]))
        }
        Call::Cos => {
            let (value, slope) = (x.wave(1)?, -&x.wave(0)?);
            chain(a, value.clone(), Some([slope, -&value]))
        }
        Call::Abs => Some(larger(a, &negative(a))),
        Call::Relu => Some(larger(a, &number(&Range::ZERO))),
    }
}

/// A function on an interval; nothing if it is not shown to be defined there.
pub fn evaluate(function: &[Word], at: &Range) -> Option<Jet> {
    let mut stack: Vec<Jet> = Vec::new();
    for word in function {
        let next = match word {
            Word::Variable => Jet { slope: Some(Range::whole(1)), ..number(at) },
            Word::Number(ratio) => number(&ratio.range()),
            Word::Negate => negative(&stack.pop()?),
            Word::Power(k) => power(&stack.pop()?, *k)?,
            Word::Call(f) => call(*f, &stack.pop()?)?,
            Word::Binary(op) => {
                let (b, a) = (stack.pop()?, stack.pop()?);
                match op {
                    Binary::Add => both(&a, &b, |a, b| a + b),
                    Binary::Sub => both(&a, &b, |a, b| a - b),
                    Binary::Mul => product(&a, &b)?,
                    Binary::Div => product(&a, &reciprocal(&b)?)?,
                    Binary::Max => larger(&a, &b),
                    Binary::Min => negative(&larger(&negative(&a), &negative(&b))),
                }
            }
        };
        stack.push(next);
    }
    let result = stack.pop()?;
    stack.is_empty().then_some(result)
}

/// `a^k`.
pub fn power(a: &Jet, k: u32) -> Option<Jet> {
    let value = a.value.power(k)?;
    let times = |factor: u32, k: u32| Some(&Range::whole(usize::try_from(factor).ok()?) * &a.value.power(k)?);
    let bend = match k {
        0 => [Range::ZERO, Range::ZERO],
        1 => [Range::whole(1), Range::ZERO],
        _ => [times(k, k.saturating_sub(1))?, times(k.saturating_mul(k.saturating_sub(1)), k.saturating_sub(2))?],
    };
    chain(a, value, Some(bend))
}
