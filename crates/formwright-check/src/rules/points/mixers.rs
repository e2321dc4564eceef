//! Heads that are not softmax, where they weigh all tokens alike: section 3 of CERTIFICATE.md, step by step.
//!
//! ```text
//! average      a sum, divided by n, or times fl(1/n)
//! linformer    keys and queries are 0, a row of f is one number c_a: Σ_a fl(1/k) U_a, U_a = Σ_j c_a V_j
//! performer    keys and queries are 0, features are 1, or what 1 is divided by √k: Σ_a U_a, divided before or behind
//! ```

use std::collections::BTreeMap;

use super::attention::all_rows;
use crate::kernel::format::Format;
use crate::kernel::number::{Dyadic, Range};
use crate::kernel::sum::{Outcome, Overflow, Row, Sum, Value, rounded};
use crate::read::weights::{Mixer, Mixing};

/// True if a head weighs all of so many tokens alike, whatever they hold.
pub fn is_uniform(Mixer { head, mixing }: &Mixer, tokens: usize) -> bool {
    let silent = || head.q.iter().chain(&head.k).all(Row::is_zero);
    // A row of one number.
    let plain = |row: &Row| {
        let first = row.weights.first().map(|(_, weight)| weight);
        row.weights.is_empty()
            || (row.weights.len() == tokens && row.weights.iter().all(|(_, weight)| Some(weight) == first))
    };
    match mixing {
        Mixing::Average => true,
        Mixing::Linformer { f, .. } => silent() && f.iter().all(plain),
        Mixing::Performer { .. } => silent(),
    }
}

/// Lets tokens get what the heads find in keys. Keys are tokens too: `keys` lists them, as often as they occur.
pub(super) fn mix(mixers: &[Mixer], tokens: &mut [Vec<Value>], keys: &[usize], format: Format) -> Outcome<()> {
    let mut given: Vec<(&Mixer, Vec<Value>)> = Vec::new();
    for mixer in mixers.iter().filter(|mixer| !mixer.head.is_zero()) {
        if !is_uniform(mixer, keys.len()) {
            return Err(Overflow("a head of another kind whose weights tokens change".into()));
        }
        let mut read: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
        for key in keys {
            if let (false, Some(z)) = (read.contains_key(key), tokens.get(*key)) {
                let values = all_rows(&mixer.head.v, z, format)?;
                read.insert(*key, values.into_iter().map(|total| total.value).collect());
            }
        }
        let mut found = Vec::new();
        for row in 0..mixer.head.v.len() {
            let values: Vec<&Value> =
                keys.iter().filter_map(|key| read.get(key).and_then(|all| all.get(row))).collect();
            if values.len() != keys.len() {
                return Err(Overflow("a key that does not exist".into()));
            }
            found.push(mixed(&mixer.mixing, &values, format)?);
        }
        given.push((mixer, found));
    }
    for z in tokens {
        for (r, own) in z.iter_mut().enumerate() {
            let mut sum = Sum::new(format);
            let mut written = false;
            sum.weighted(&Dyadic::ONE, own);
            for (mixer, found) in &given {
                for (place, weight) in mixer.head.o.get(r).map_or(&[][..], |row| &row.weights) {
                    let value = found.get(*place).ok_or_else(|| Overflow("a value that does not exist".into()))?;
                    sum.weighted(weight, value);
                    written = true;
                }
            }
            if written {
                *own = sum.total(None)?.value;
            }
        }
    }
    Ok(())
}

/// The sum of some values, each times a number.
fn sum<'v>(factor: &Value, values: impl Iterator<Item = &'v Value>, format: Format) -> Outcome<Value> {
    let mut sum = Sum::new(format);
    for value in values {
        if factor.range.is_point() {
            sum.weighted(&factor.range.lo, value);
        } else {
            sum.term(factor, value);
        }
    }
    Ok(sum.total(None)?.value)
}

/// `fl(1/x)`.
fn inverse(x: &Range, format: Format) -> Outcome<Value> {
    let inverse = Range::point(Dyadic::ONE).over(x);
    Ok(rounded(&inverse.ok_or_else(|| Overflow("a quotient by 0".into()))?, format))
}

/// A number divided by a count, or multiplied by the rounded reciprocal.
fn divided(x: &Value, by: usize, format: Format) -> Outcome<Value> {
    let count = Range::whole(by);
    let quotient = x.range.over(&count).ok_or_else(|| Overflow("a quotient by 0".into()))?;
    let product = &x.range * &inverse(&count, format)?.range;
    Ok(rounded(&quotient, format).hull(&rounded(&product, format)))
}

/// Mixes values as a head does.
fn mixed(mixing: &Mixing, values: &[&Value], format: Format) -> Outcome<Value> {
    let one = Value::point(Dyadic::ONE);
    let all = || values.iter().copied();
    match mixing {
        Mixing::Average => divided(&sum(&one, all(), format)?, values.len(), format),
        Mixing::Linformer { f, .. } => {
            let mut mixtures = Vec::new();
            for row in f {
                let number = row.weights.first().map_or(Dyadic::ZERO, |(_, weight)| weight.clone());
                mixtures.push(sum(&Value::point(number), all(), format)?);
            }
            sum(&inverse(&Range::whole(f.len()), format)?, mixtures.iter(), format)
        }
        Mixing::Performer { w } => {
            let (count, total) = (Range::whole(w.len()), sum(&one, all(), format)?);
            let again = |of: &Value, factor: &Value| sum(factor, w.iter().map(|_| of), format);
            let before = again(&total, &inverse(&count, format)?)?;
            let behind = divided(&again(&total, &one)?, w.len(), format)?;
            // By the root, of queries and keys.
            let root = count.sqrt().ok_or_else(|| Overflow("no root".into()))?;
            let near = rounded(&root, format).range;
            let root = inverse(&root, format)?.hull(&inverse(&near, format)?);
            let rooted = again(&sum(&root, all(), format)?, &root)?;
            Ok(before.hull(&behind).hull(&rooted))
        }
    }
}
