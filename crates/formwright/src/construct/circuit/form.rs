//! Affine forms: `Σ_k c_k v_k + c`, exact, over numbered values.

use std::collections::BTreeMap;

use crate::exact::Rat;

/// `Σ terms[k] · v_k + constant`; no term is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Form {
    /// The coefficient of each value.
    pub terms: BTreeMap<usize, Rat>,
    /// The constant term.
    pub constant: Rat,
}

impl Form {
    /// A number.
    pub fn constant(constant: Rat) -> Self {
        Self { terms: BTreeMap::new(), constant }
    }

    /// One value.
    pub fn of(value: usize) -> Self {
        Self { terms: BTreeMap::from([(value, Rat::ONE)]), constant: Rat::ZERO }
    }

    /// The number that it is, if it depends on nothing.
    pub fn as_constant(&self) -> Option<&Rat> {
        self.terms.is_empty().then_some(&self.constant)
    }

    /// The only value, with its coefficient.
    pub fn single(&self) -> Option<(usize, &Rat)> {
        let (value, scale) = self.terms.first_key_value()?;
        (self.terms.len() == 1).then_some((*value, scale))
    }

    /// `self + scale · other`
    pub fn plus(&self, scale: &Rat, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.constant += &(scale * &other.constant);
        for (value, c) in &other.terms {
            let entry = sum.terms.entry(*value).or_default();
            *entry += &(scale * c);
            if entry.is_zero() {
                sum.terms.remove(value);
            }
        }
        sum
    }

    /// `scale · self`
    pub fn scaled(&self, scale: &Rat) -> Self {
        Self::default().plus(scale, self)
    }

    /// Without what is added.
    pub fn linear(&self) -> Self {
        Self { terms: self.terms.clone(), constant: Rat::ZERO }
    }

    /// `(normal, scale, shift)` with `self = scale · normal + shift`, the first coefficient of `normal` 1 and nothing added to it.
    pub fn normalised(&self) -> (Self, Rat, Rat) {
        let scale = self.terms.first_key_value().map_or(Rat::ONE, |(_, scale)| scale.clone());
        let normal = self.linear().scaled(&(Rat::ONE / scale.clone()));
        (normal, scale, self.constant.clone())
    }
}
