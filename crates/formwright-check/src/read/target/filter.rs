//! Filters that are masks: comparisons of `j - i`, or of `j`, with whole numbers, all of which hold.

use super::{Expr, Number};
use crate::kernel::number::Ratio;
use crate::read::certificate::Mask;

/// `running · j + index · i + number`, with whole numbers.
struct Linear {
    running: i64,
    index: i64,
    number: Ratio,
}

fn whole(number: &Number) -> Option<Ratio> {
    number.exact().cloned()
}

/// An expression as such a sum.
fn linear(e: &Expr) -> Option<Linear> {
    let one = |running, index| Some(Linear { running, index, number: Ratio::ZERO });
    match e {
        Expr::Word(word) if word == "running" => one(1, 0),
        Expr::Word(word) if word == "index" => one(0, 1),
        Expr::Number(number) => Some(Linear { running: 0, index: 0, number: whole(number)? }),
        Expr::Apply(name, parts) => match (name.as_str(), parts.as_slice()) {
            ("add", [a, b]) => sum(&linear(a)?, &linear(b)?, false),
            ("sub", [a, b]) => sum(&linear(a)?, &linear(b)?, true),
            ("negate", [a]) => sum(&Linear { running: 0, index: 0, number: Ratio::ZERO }, &linear(a)?, true),
            _ => None,
        },
        _ => None,
    }
}

fn sum(a: &Linear, b: &Linear, minus: bool) -> Option<Linear> {
    let whole = |a: i64, b: i64| if minus { a.checked_sub(b) } else { a.checked_add(b) };
    let number = if minus { a.number.minus(&b.number) } else { a.number.plus(&b.number) };
    Some(Linear { running: whole(a.running, b.running)?, index: whole(a.index, b.index)?, number })
}

/// The mask that shows what a filter lets through, if it is one.
pub(super) fn mask(filter: &Expr) -> Option<Mask> {
    let mut mask = Mask { limits: [None; 4], first: false, connections: None };
    narrow(filter, &mut mask).map(|()| mask)
}

fn narrow(filter: &Expr, mask: &mut Mask) -> Option<()> {
    let Expr::Apply(name, parts) = filter else { return None };
    let [a, b] = parts.as_slice() else { return None };
    if name == "and" {
        narrow(a, mask)?;
        return narrow(b, mask);
    }
    let apart = sum(&linear(a)?, &linear(b)?, true)?;
    // j - i, or j, or their negatives, compared with a number.
    let (sign, relative) = match (apart.running, apart.index) {
        (1, -1) => (true, true),
        (-1, 1) => (false, true),
        (1, 0) => (true, false),
        (-1, 0) => (false, false),
        _ => return None,
    };
    let (below, above, strict) = match name.as_str() {
        "less" => (true, false, true),
        "less-equal" => (true, false, false),
        "greater" => (false, true, true),
        "greater-equal" => (false, true, false),
        "equal" => (true, true, false),
        _ => return None,
    };
    let (below, above) = if sign { (below, above) } else { (above, below) };
    // apart = ±(k + c): k is at most, or at least, -c; of whole numbers, the next one where it is strict.
    let bound = if sign { apart.number.negative() } else { apart.number };
    let last = bound.floor();
    let first = bound.negative().floor().negative();
    let last = if strict && last == bound { last.minus(&Ratio::ONE) } else { last };
    let first = if strict && first == bound { first.plus(&Ratio::ONE) } else { first };
    let at = if relative { 0 } else { 2 };
    let limit = |x: &Ratio| x.text().parse::<i64>().ok().filter(|x| x.unsigned_abs() < 1 << 31);
    let [low, high, ..] = mask.limits.get_mut(at..)? else { return None };
    if above {
        let first = limit(&first)?;
        *low = Some(low.map_or(first, |low| low.max(first)));
    }
    if below {
        let last = limit(&last)?;
        *high = Some(high.map_or(last, |high| high.min(last)));
    }
    Some(())
}

#[cfg(test)]
mod tests;
