//! Heads that weigh all tokens alike, whatever is in them.
//!
//! ```text
//! H = Σ_j α_j (1 + θ_j) V_j,   |nα_j - total| ≤ spread · |total|,   Σ_j |α_j θ_j V_j| ≤ γ_r · rough · |total| · mean|V|
//!
//! softmax      scores are 0: weights fl(1/n)           total 1, r = n + 1
//! average      (Σ_j V_j)/n, or fl(1/n) Σ_j V_j         total 1, r = n + 1: n - 1 additions, a reciprocal, a product
//! linformer    linformer.rs
//! performer    performer.rs
//! ```

use super::head::{Kind, Scored};
use super::profile::up;
use super::{Form, Prover, Reading, Stop, line};
use crate::kernel::number::{Dyadic, Range, Ratio};
use crate::kernel::sum::Row;
use crate::read::certificate::{Layer, Pooled, Wire};
use crate::read::weights::{Mixer, Mixing};

/// A head that weighs all tokens alike.
pub(super) struct Uniform {
    /// The sum of the weights of all tokens, nearly.
    pub(super) total: Ratio,
    /// How far a weight may be from its share of that, relatively.
    pub(super) spread: Dyadic,
    /// The roundings that a term goes through.
    pub(super) roundings: usize,
    /// The sum of the sizes of its terms, relative to the total: at least 1.
    pub(super) rough: Dyadic,
    /// The products in which something may be flushed, and the most by which that is multiplied afterwards.
    pub(super) products: usize,
    pub(super) grown: Dyadic,
}

impl Uniform {
    /// Weights of `fl(1/n)`; or a sum that is divided by `n`, or multiplied by `fl(1/n)`.
    pub(super) fn mean(tokens: usize) -> Self {
        let one = || Dyadic::ONE;
        // The weight of one token alone is 1, and its sum it itself.
        let roundings = if tokens == 1 { 0 } else { tokens.saturating_add(1) };
        Self { total: Ratio::ONE, spread: Dyadic::ZERO, roundings, rough: one(), products: tokens, grown: one() }
    }

    /// The most that the sizes of all weights add up to.
    pub(super) fn weight(&self) -> Dyadic {
        &(&self.total.range().size() * &(&self.rough + &self.spread)) * &self.grown
    }

    /// How the form that is read, times the total, is a multiple of the one that is meant: by how the first factors
    /// compare. Whatever is left is charged.
    pub(super) fn share(&self, read: &Form, meant: &Form) -> Ratio {
        let first = meant.terms.first_key_value();
        let ratio = first.and_then(|(wire, factor)| read.factor(*wire).times(&self.total).over(factor));
        ratio.filter(|ratio| !ratio.is_zero()).unwrap_or(Ratio::ONE)
    }
}

/// The value that a head reads, times the sum of its weights; the head is to give its mean.
pub(super) struct Taken {
    pub(super) reading: Reading,
    /// The loss in reading it, and in every product with a weight.
    pub(super) read: Dyadic,
    pub(super) flushed: Dyadic,
    /// The factor of its mean.
    pub(super) share: Ratio,
}

impl Prover<'_> {
    /// Reads the value of a head for a wire.
    pub(super) fn taken(&mut self, head: &Scored<'_>, wire: &Wire, row: &Row) -> Result<Taken, Stop> {
        let mut reading = self.read(&row.weights)?;
        let housed = match head.kind {
            Kind::Uniform(_) => self.housed_row(&reading, &Dyadic::ZERO),
            _ => self.housed_value(&reading, &self.value_factor()?),
        };
        let read = if let Some(read) = housed {
            reading.size = up(&(&reading.size + &read));
            read
        } else if reading.single {
            self.tiny(1)
        } else {
            &(&self.gamma(reading.count) * &reading.size) + &self.tiny(reading.count)
        };
        self.note(&(&reading.size * &Self::count(self.tokens)));
        // Every product of a weight and a value may be flushed.
        let flushed = &self.flushed(head.head, head.kind) + &self.tiny(reading.count);
        let mut taken = Taken { reading, read, flushed, share: Ratio::ONE };
        // What the mean that is meant is multiplied by, and a mean of what is read: both come to the same.
        let (Kind::Uniform(uniform), Some((scale, of))) = (head.kind, averaged_by(wire)) else { return Ok(taken) };
        taken.share = uniform.share(&taken.reading.form, &self.lowered(&of.scaled(scale))?);
        let by = uniform.total.over(&taken.share).unwrap_or(Ratio::ONE);
        if by != Ratio::ONE {
            let (times, less) = (by.range().size(), Ratio::ONE.over(&taken.share).unwrap_or(Ratio::ONE));
            taken.reading.form = taken.reading.form.scaled(&by);
            for size in [&mut taken.reading.lost, &mut taken.reading.size, &mut taken.read] {
                *size = up(&(&*size * &times));
            }
            taken.flushed = up(&(&taken.flushed * &less.range().size()));
        }
        Ok(taken)
    }

    /// Proves the lines behind a layer of heads that are not softmax.
    pub(super) fn mixers(&mut self, mixers: &[Mixer], hint: &Layer) -> Result<(), Stop> {
        let (mut heads, mut kinds) = (Vec::new(), Vec::new());
        for Mixer { head, mixing } in mixers {
            let kind = match mixing {
                Mixing::Average => Uniform::mean(self.tokens),
                Mixing::Linformer { e, f } => self.linformer(head, e, f)?,
                Mixing::Performer { w } => self.performer(head, w)?,
            };
            heads.push(head);
            kinds.push(Kind::Uniform(kind));
        }
        self.attention(&heads, &kinds, hint)
    }

    /// Refuses a sum over all tokens where their number is open.
    pub(super) fn one_length(&self) -> Result<(), Stop> {
        if self.fixed { Ok(()) } else { Err(line("a head that gives sums, for several numbers of tokens")) }
    }

    /// A count, as a number.
    pub(super) fn count(count: usize) -> Dyadic {
        Range::whole(count).hi
    }
}

/// The factor and the form of a wire that is a mean.
fn averaged_by(wire: &Wire) -> Option<(&Ratio, &Form)> {
    match wire {
        Wire::Mean { scale, of } | Wire::Seen { pooled: Pooled::Mean, scale, of, .. } => Some((scale, of)),
        _ => None,
    }
}
