//! Rule *read-out, token by token*: with positions or masks, the normal forms of the outputs and of the target are
//! compared for every number of tokens and every token. A wire at a token is a polynomial over the inputs of all
//! tokens: a mean over a mask is the sum over what the token sees, a gather the form at the place that is named.

use super::comparators::Networks;
use super::distance::Apart;
use super::normal::{Polynomial, Things};
use super::{Form, Outcome, Stop, declined, line};
use crate::kernel::function::{Binary, Call};
use crate::kernel::number::Ratio;
use crate::read::certificate::{Mask, Meanings, Pooled, Wire};
use crate::read::target::Target;

/// The most pairs of tokens, of all numbers of tokens together.
const MOST_PAIRS: usize = 1 << 21;

/// The most terms of all wires at all tokens.
const MOST_TERMS: usize = 1 << 22;

/// The normal forms of wires, token by token.
pub type Unrolled = Vec<Vec<Polynomial>>;

/// True if a wire means something else at other positions.
pub fn is_placed(wire: &Wire) -> bool {
    match wire {
        Wire::Position(_) | Wire::Gather { .. } | Wire::Exchange { .. } => true,
        Wire::Seen { mask, pooled, .. } => mask.hides() || *pooled == Pooled::Sum,
        Wire::Attend { mask, .. } => mask.hides(),
        _ => false,
    }
}

/// True if a wire has no meaning but token by token.
pub fn is_of_places(wire: &Wire) -> bool {
    matches!(
        wire,
        Wire::Position(_) | Wire::Gather { .. } | Wire::Exchange { .. } | Wire::Seen { pooled: Pooled::Sum, .. }
    )
}

/// True if a wire is the same function of a token and the multiset of all others at every token.
fn is_symmetric(wire: &Wire) -> bool {
    matches!(wire, Wire::Input(_) | Wire::Curve { .. } | Wire::Product(..) | Wire::Mean { .. } | Wire::Teeth { .. })
}

/// Proves that the outputs' forms are the target's expression for so many tokens, or what they are apart from it; the
/// normal forms of the wires for the largest number.
pub fn same_by_token(
    hints: &Meanings,
    target: &Target,
    (least, most): (usize, usize),
    bounds: &mut super::points::Bounds,
) -> Result<(Unrolled, Vec<Apart>), Stop> {
    let pairs = (least..=most).map(|n| n.saturating_mul(n)).fold(0, usize::saturating_add);
    if pairs > MOST_PAIRS {
        return Err(declined(format!("{pairs} pairs of tokens, the limit is {MOST_PAIRS}")));
    }
    let (mut last, mut apart) = (Vec::new(), Vec::new());
    // One token stands for all.
    let alike = target.is_equivariant() && hints.wires.iter().all(is_symmetric);
    for tokens in least..=most {
        let mut things = Things::over(target.domain.integers(), Some(tokens));
        let wanted = target.unrolled(&mut things, tokens).map_err(declined)?;
        let wires = unroll(hints, &mut things, tokens)?;
        for wires in &wires {
            super::cases::one_at_most(hints, &things, wires)?;
            if target.domain.integers().is_some() {
                bounds.add(hints, &things, wires)?;
            }
        }
        if wanted.len() != wires.len() {
            return Err(line("not as many tokens as the target has"));
        }
        for (t, (wires, wanted)) in wires.iter().zip(&wanted).enumerate() {
            if hints.outputs.len() != wanted.len() {
                return Err(line(format!("{} outputs, the target has {}", hints.outputs.len(), wanted.len())));
            }
            for (c, (form, wanted)) in hints.outputs.iter().zip(wanted).enumerate() {
                let found = Things::form(form, wires).map_err(declined)?;
                if found == *wanted || (alike && t > 0) {
                    continue;
                }
                let differs = format!("output {c} of token {t} of {tokens} is not shown to be the target");
                let differs = move |why: &str| declined(format!("{differs}: their normal forms differ{why}"));
                if target.domain.integers().is_some() {
                    return Err(differs(""));
                }
                let difference = Apart::new(&things, [&found, wanted], [c, t, tokens]);
                apart.push(difference.map_err(|why| differs(&format!("; {why}")))?);
            }
        }
        last = wires;
    }
    Ok((last, apart))
}

fn unroll(hints: &Meanings, things: &mut Things, tokens: usize) -> Result<Unrolled, Stop> {
    let mut at: Unrolled = vec![Vec::new(); tokens];
    let (mut terms, mut networks) = (0_usize, Networks::default());
    for (number, wire) in hints.wires.iter().enumerate() {
        let found = match wire {
            Wire::Input(c) => (0..tokens).map(|t| things.token(t, *c)).collect(),
            Wire::Position(values) => {
                if values.len() != tokens {
                    return Err(line(format!("wire {number}: {} positions of {tokens} tokens", values.len())));
                }
                values.iter().cloned().map(Things::constant).collect()
            }
            Wire::Mean { scale, of } => seen(things, &at, &everything(), (Pooled::Mean, scale, of))?,
            // At the hub the mean, elsewhere what is averaged.
            Wire::Hub { token, scale, of } => {
                let mut found = seen(things, &at, &everything(), (Pooled::Mean, scale, of))?;
                for (_, (normal, wires)) in found.iter_mut().zip(&at).enumerate().filter(|(t, _)| t != token) {
                    let own = Things::form(of, wires);
                    *normal = own.and_then(|of| Things::plus(&Polynomial::new(), scale, &of)).map_err(declined)?;
                }
                found
            }
            Wire::Seen { mask, pooled, scale, of } => seen(things, &at, mask, (*pooled, scale, of))?,
            Wire::Attend { mask, of, rows } => {
                let found = (0..tokens).map(|t| attended(things, &at, t, (mask, of, rows)));
                found.collect::<Outcome<Vec<_>>>().map_err(|what| declined(format!("wire {number}: {what}")))?
            }
            Wire::Gather { index, of } => {
                let mut found = Vec::new();
                for wires in &at {
                    let index = Things::form(index, wires).map_err(declined)?;
                    let gathered = gathered(things, &at, &index, of);
                    found.push(gathered.map_err(|what| declined(format!("wire {number}: {what}")))?);
                }
                found
            }
            Wire::Exchange { side, own, other } => {
                networks.exchange((things, hints), &at, number, [side, own, other])?
            }
            Wire::Curve { .. }
            | Wire::Product(..)
            | Wire::Teeth { .. }
            | Wire::Select { .. }
            | Wire::Points { .. }
            | Wire::Cases(_) => {
                let found: Outcome<Vec<_>> = at.iter().map(|wires| things.wire(wire, wires)).collect();
                found.map_err(declined)?
            }
        };
        terms = found.iter().map(Polynomial::len).fold(terms, usize::saturating_add);
        if terms > MOST_TERMS {
            return Err(declined(format!("more than {MOST_TERMS} terms of normal forms")));
        }
        for (wires, normal) in at.iter_mut().zip(found) {
            wires.push(normal);
        }
    }
    Ok(at)
}

/// The mean of a form over what a token sees, weighted by the softmax of its scores.
fn attended(
    things: &mut Things,
    at: &Unrolled,
    t: usize,
    (mask, of, rows): (&Mask, &Form, &[[Form; 2]]),
) -> Outcome<Polynomial> {
    let own = at.get(t).ok_or_else(|| "a token that does not exist".to_owned())?;
    let (mut above, mut below) = (Vec::new(), Vec::new());
    for (_, wires) in at.iter().enumerate().filter(|(k, _)| mask.sees(t, *k)) {
        let mut score = Polynomial::new();
        for [query, key] in rows {
            let product = things.product(&Things::form(query, own)?, &Things::form(key, wires)?)?;
            score = Things::plus(&score, &Ratio::ONE, &product)?;
        }
        let power = things.call(Call::Exp, &score)?;
        above.push(things.product(&power, &Things::form(of, wires)?)?);
        below.push(power);
    }
    let sum = |all: &[Polynomial]| Things::sum(&all.iter().collect::<Vec<_>>());
    things.binary(Binary::Div, &sum(&above)?, &sum(&below)?)
}

/// A form at the token that a whole number names: at one place, or the sum over all places of what is there, where it is that place.
fn gathered(things: &mut Things, at: &Unrolled, index: &Polynomial, of: &Form) -> Outcome<Polynomial> {
    let none = || "an index that is no place".to_owned();
    if let Some(place) = Things::as_number(index) {
        let there = place.place().and_then(|place| at.get(place));
        return Things::form(of, there.ok_or_else(none)?);
    }
    let mut sum = Polynomial::new();
    for (place, wires) in at.iter().enumerate() {
        let is_there = |x: &Ratio| {
            let found = x.place().filter(|found| *found < at.len())?;
            Some(if found == place { Ratio::ONE } else { Ratio::ZERO })
        };
        let is_there = things.points(index, is_there)?.ok_or_else(none)?;
        let there = Things::form(of, wires)?;
        sum = Things::plus(&sum, &Ratio::ONE, &things.product(&is_there, &there)?)?;
    }
    Ok(sum)
}

fn everything() -> Mask {
    Mask { limits: [None; 4], first: false, connections: None }
}

/// Applies a form to what each token sees.
fn seen(
    things: &mut Things,
    at: &Unrolled,
    mask: &Mask,
    (pooled, scale, of): (Pooled, &Ratio, &Form),
) -> Result<Vec<Polynomial>, Stop> {
    let forms: Outcome<Vec<Polynomial>> = at.iter().map(|wires| Things::form(of, wires)).collect();
    let forms = forms.map_err(declined)?;
    let mut before: Option<(Vec<usize>, Polynomial)> = None;
    let mut found = Vec::new();
    for t in 0..at.len() {
        let visible: Vec<usize> = (0..at.len()).filter(|k| mask.sees(t, *k)).collect();
        if let Some((places, normal)) = &before
            && *places == visible
        {
            found.push(normal.clone());
            continue;
        }
        let all: Vec<&Polynomial> = visible.iter().filter_map(|k| forms.get(*k)).collect();
        let count = Ratio::whole(all.len());
        let of_all = match pooled {
            Pooled::Largest => things.largest(&all),
            Pooled::Sum | Pooled::Mean => Things::sum(&all),
        };
        let share = if pooled == Pooled::Mean { Ratio::ONE.over(&count) } else { Some(Ratio::ONE) };
        let share = share.ok_or_else(|| declined(format!("token {t} sees nothing")))?;
        let normal = of_all.and_then(|p| Things::plus(&Polynomial::new(), &scale.times(&share), &p));
        let normal = normal.map_err(declined)?;
        before = Some((visible, normal.clone()));
        found.push(normal);
    }
    Ok(found)
}
