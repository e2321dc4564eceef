//! Affine forms over wires, exactly.

use std::collections::BTreeMap;

use super::number::Ratio;

/// `offset + Σ terms[k] · wire_k`; no term is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The constant term.
    pub offset: Ratio,
    /// The factor of each wire.
    pub terms: BTreeMap<usize, Ratio>,
}

impl Form {
    /// 0.
    pub fn zero() -> Self {
        Self { offset: Ratio::ZERO, terms: BTreeMap::new() }
    }

    /// A number.
    pub fn number(offset: Ratio) -> Self {
        Self { offset, terms: BTreeMap::new() }
    }

    /// One wire.
    pub fn of(wire: usize) -> Self {
        Self { offset: Ratio::ZERO, terms: BTreeMap::from([(wire, Ratio::ONE)]) }
    }

    /// `self + scale · other`.
    pub fn plus(&self, scale: &Ratio, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.offset = sum.offset.plus(&scale.times(&other.offset));
        for (wire, factor) in &other.terms {
            let before = sum.terms.remove(wire).unwrap_or(Ratio::ZERO);
            let after = before.plus(&scale.times(factor));
            if !after.is_zero() {
                sum.terms.insert(*wire, after);
            }
        }
        sum
    }

    /// `self - other`.
    pub fn minus(&self, other: &Self) -> Self {
        self.plus(&Ratio::ONE.negative(), other)
    }

    /// `scale · self`.
    pub fn scaled(&self, scale: &Ratio) -> Self {
        Self::zero().plus(scale, self)
    }

    /// The factor of a wire.
    pub fn factor(&self, wire: usize) -> Ratio {
        self.terms.get(&wire).cloned().unwrap_or(Ratio::ZERO)
    }

    /// The only wire, with its factor.
    pub fn single(&self) -> Option<(usize, &Ratio)> {
        let (wire, factor) = self.terms.first_key_value()?;
        (self.terms.len() == 1).then_some((*wire, factor))
    }

    /// The only wire, if this is nothing else.
    pub fn bare(&self) -> Option<usize> {
        let (wire, factor) = self.single()?;
        (*factor == Ratio::ONE && self.offset.is_zero()).then_some(wire)
    }

    /// The number that this is a multiple of another form by, if it is.
    pub fn multiple_of(&self, other: &Self) -> Option<Ratio> {
        let (wire, factor) = other.terms.first_key_value()?;
        let scale = self.factor(*wire).over(factor)?;
        (other.scaled(&scale) == *self).then_some(scale)
    }
}
