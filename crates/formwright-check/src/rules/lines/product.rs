//! Rule *product*: squares of two numbers that are read, and what is affine.
//!
//! ```text
//! P_1(û) + P_2(v̂) = c (û² - v̂² + κ) up to its deviation,  û² - v̂² + rest = âb̂,  |âb̂ - ab| ≤ |a| e_b + |b| e_a + e_a e_b
//! ```

use super::curve::PARTS;
use super::layer::{Fit, Gate, Group, shared, widened};
use super::profile::{Cell, Profile, up};
use super::teeth::Quadratic;
use super::{Form, Known, Prover, Stop, line};
use crate::kernel::function::Word;
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::read::certificate::Wire;

impl Prover<'_> {
    /// A wire that is a product.
    pub(super) fn product(&mut self, groups: &[Group], gate: &Gate<'_>, [a, b]: [&Form; 2]) -> Result<Known, Stop> {
        let wire = gate.made.wire;
        let named = Self::sources(groups, gate.made)?;
        let forms: Vec<&Form> = named.iter().map(|(_, form)| *form).collect();
        let [_, _] = forms.as_slice() else { return Err(line(format!("wire {wire}: a product reads two forms"))) };
        let kappa = gate.made.adds.minus(&Form::of(wire));
        if kappa.terms.is_empty()
            && let Some(known) = self.product_on_points(groups, gate, [a, b], &kappa.offset, &forms)?
        {
            return Ok(known);
        }
        let rest = Quadratic::left([a, b], &forms);
        let rest = rest.ok_or_else(|| line(format!("wire {wire}: its factors and its arguments do not fit")))?;
        // What is added is u² - v² + κ.
        let kappa = gate.made.adds.minus(&Form::of(wire)).plus(&Ratio::ONE, &rest);
        if !kappa.terms.is_empty() {
            return Err(line(format!("wire {wire}: what is added is not its squares and a number")));
        }
        let square = [Word::Variable, Word::Power(2)];
        let zero = Range::ZERO;
        let (mut apart, mut lost) = (-&(&gate.factor.range() * &kappa.offset.range()), Dyadic::ZERO);
        for (part, sign) in gate.parts.iter().zip([true, false]) {
            let group = groups.get(part.group).ok_or_else(|| line("a group that does not exist"))?;
            let argument = group.argument.clone().ok_or_else(|| line("a product without arguments"))?;
            let error = self.error(&argument.form)?;
            let reached = widened(&self.range(&argument.form)?, &(&error + &argument.off));
            let factor = if sign { gate.factor.range() } else { -&gate.factor.range() };
            let fit = Fit { part, factor, kappa: zero.clone(), function: &square };
            let pieces = self.pieces(&fit, &reached, PARTS)?;
            let all = pieces.into_iter().map(|piece| piece.apart).reduce(|a, b| a.hull(&b));
            apart = &apart + &all.unwrap_or(Range::ZERO);
            let company = self.beside(groups, gate, part)?;
            let over = widened(&reached, &group.slack);
            let inside = self.inside(group, (&part.function, &over), company);
            lost = &(&lost + &inside) + &(&part.gate.steepest(&reached) * &argument.off);
        }
        let size = gate.factor.range().absolute().lo;
        let own = shared(&(&apart.size() + &lost), &size)?;
        let most = up(&(&self.pairs(a, b)? + &own));
        let range = (&self.range(a)? * &self.range(b)?).tidy();
        Ok(Known { range, error: Profile::Constant(most.clone()), most, tooth: Dyadic::ZERO })
    }

    /// `|a| e_b + |b| e_a + e_a e_b` at most.
    ///
    /// Lemma (deviations and variance): `d = c(M - mean M)` has `d_i² ≤ (n-1) mean(d²)`, since `d_i` is the negative sum of the others.
    /// So where one factor is a function of `mean(d²)`, the other one, a multiple of `d`, is small where that is.
    pub(super) fn pairs(&self, a: &Form, b: &Form) -> Result<Dyadic, Stop> {
        let (left, right) = (self.front(a)?, self.front(b)?);
        let pair = |(x, e): &(Dyadic, Dyadic), (y, d): &(Dyadic, Dyadic)| up(&(&(&(x * d) + &(y * e)) + &(e * d)));
        let all = left.iter().flat_map(|x| right.iter().map(move |y| (x, y)));
        let plain = all.map(|(x, y)| pair(x, y)).fold(Dyadic::ZERO, Dyadic::max);
        let mut best = plain;
        for (deviation, curve) in [(a, b), (b, a)] {
            if let Some(cells) = self.by_variance(deviation, curve)? {
                let error = self.error(deviation)?;
                let found = cells
                    .iter()
                    .map(|(size, value, off)| pair(&(size.clone(), error.clone()), &(value.clone(), off.clone())));
                best = best.min(found.fold(Dyadic::ZERO, Dyadic::max));
            }
        }
        Ok(best)
    }

    /// Sizes and errors of a form, cell by cell where they are known so; without those that others exceed in both.
    fn front(&self, form: &Form) -> Result<Vec<(Dyadic, Dyadic)>, Stop> {
        if let Some((wire, factor)) = form.single()
            && let Profile::Cells(cells) = &self.known(wire)?.error
        {
            let (factor, offset) = (factor.range(), form.offset.range());
            let size = |cell: &Cell| up(&(&(&factor * &cell.values) + &offset).size());
            let mut sizes: Vec<(Dyadic, Dyadic)> =
                cells.iter().map(|cell| (size(cell), up(&(&factor.size() * &cell.error)))).collect();
            sizes.sort_by(|(a, _), (b, _)| b.cmp(a));
            let mut front: Vec<(Dyadic, Dyadic)> = Vec::new();
            for cell in sizes {
                if front.last().is_none_or(|(_, error)| cell.1 > *error) {
                    front.push(cell);
                }
            }
            return Ok(front);
        }
        Ok(vec![(self.range(form)?.size(), self.error(form)?)])
    }

    /// If the lemma applies: by cells of the variance, the size of the deviation, the size of the curve and its error.
    fn by_variance(&self, deviation: &Form, curve: &Form) -> Result<Option<Vec<Sides>>, Stop> {
        let Some((wire, outer)) = curve.single() else { return Ok(None) };
        let Some(Wire::Curve { of, .. }) = self.hints.wires.get(wire) else { return Ok(None) };
        let Some((mean, inner)) = of.single() else { return Ok(None) };
        let Some((scale, squares)) = self.averages(mean) else { return Ok(None) };
        let Some((factor, form)) = squares.bare().and_then(|square| self.centred_square(square)) else {
            return Ok(None);
        };
        let centred = form.scaled(&factor.negative()).plus(&factor, &Form::of(self.mean_of(&form)));
        let (Some(times), true) = (deviation.multiple_of(&centred), scale == Ratio::ONE) else { return Ok(None) };
        let Profile::Cells(cells) = &self.known(wire)?.error else { return Ok(None) };
        let most = self.range(deviation)?.size();
        let others = Range::whole(self.tokens.saturating_sub(1));
        let (outer_range, offset) = (outer.range(), curve.offset.range());
        let cell = |cell: &Cell| {
            let variance = (&cell.argument - &of.offset.range()).over(&inner.range())?.max(&Range::ZERO);
            let root = (&variance * &others).sqrt()?.hi;
            let size = (&times.range().size() * &root).min(most.clone());
            let value = (&(&outer_range * &cell.values) + &offset).size();
            Some((up(&size), up(&value), up(&(&outer_range.size() * &cell.error))))
        };
        Ok(cells.iter().map(cell).collect())
    }

    /// The wire that is the mean of a form, or one that does not exist.
    fn mean_of(&self, form: &Form) -> usize {
        let wanted = |wire: &usize| self.averages(*wire).is_some_and(|(scale, of)| scale == Ratio::ONE && of == form);
        (0..self.hints.wires.len()).find(wanted).unwrap_or(usize::MAX)
    }
}

/// A cell's sides: the size of one factor, the size of the other one, and its error.
type Sides = (Dyadic, Dyadic, Dyadic);
