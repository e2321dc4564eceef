//! The pin `C` and the scale `s` of activations, derived, and the bound in the host.
//!
//! `norm.rs` needs to know how large registers and numbers get *in the host*, and how large they get is found with what
//! it gives. So it is assumed, and confirmed: what registers hold before a norm follows from the norms before it, and
//! where the analysis ends with no more than was assumed, it was right, norm by norm.
//!
//! The pin costs least where `E/2C²` (small pins) and the mean's rounding (large ones) are both small; `s` is the
//! smallest power of two at which activations are no more than 1/64 of the host term.

use super::norm::{Known, Norms, gain};
use super::pass::Sides;
use super::{Class, activation};
use crate::construct::circuit::Made;
use crate::construct::circuit::analysis::{Analysis, Housing};
use crate::error::{Error, Result};
use crate::interval::Up;
use crate::model::Model;
use crate::network::FloatNetwork;

/// A network that fits into a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fitted {
    /// `C`
    pub pin: f64,
    /// `σ₀`
    pub gain: f64,
    /// `s`
    pub scale: f64,
    /// The bound of every output of the network by itself.
    pub plain: f64,
    /// The bound of every output in the host, in the supremum norm.
    pub bound: f64,
    /// What a coordinate of the stream may be, at most.
    pub largest: f64,
}

impl Fitted {
    /// What the host adds to the bound.
    pub fn host_term(&self) -> f64 {
        (self.bound - self.plain).max(0.0).next_up()
    }
}

/// The scales to choose from; the largest are those for f64.
const SCALES: std::ops::RangeInclusive<i32> = 2..=56;

struct Search<'a> {
    made: &'a Made,
    known: Known,
}

impl Search<'_> {
    /// The analysis in the host, if it confirms what was assumed.
    fn analyse(&self, norms: &Norms, scale: f64) -> Result<Option<Analysis>> {
        let Norms { middle, relative, elementwise, stream } = *norms;
        let activation = activation::distance(scale);
        let found = self.made.analyse(Some(Housing { relative, middle, elementwise, activation, stream }))?;
        let confirmed = found.squares <= self.known.squares && found.largest <= self.known.largest;
        Ok(confirmed.then_some(found))
    }
}

/// Fits a network into a host of some sides.
pub(super) fn fit(model: &Model, network: &FloatNetwork, class: &dyn Class, sides: &Sides) -> Result<Fitted> {
    let proof = model.circuit().and_then(|circuit| circuit.proof());
    let proof = proof.filter(|proof| !proof.is_measured()).ok_or_else(|| {
        Error::declined("nothing is proved of this network by itself, and so nothing in a host")
            .note("reason", "it was edited, or a part of its bound is measured")
            .note("try", "export a folder as `formwright build` wrote it")
    })?;
    let made = &proof.made;
    let plain = made.analyse(None)?;
    let known = |more: f64| Known {
        precision: network.precision,
        order: class.order(),
        eps: class.eps(),
        width: sides.width,
        norms: 2 * sides.blocks + 1,
        terms: sides.hidden + sides.width + 8,
        squares: more * plain.squares,
        largest: more * plain.largest,
    };
    let lost = || {
        Error::declined(format!("no pin keeps this network in {} in {}", class.name(), network.precision))
            .note("reason", "what norms lose is more than what it can lose")
            .note("try", "build it with --precision f64")
    };
    for more in [1.125, 2.0, 16.0, 4096.0] {
        let search = Search { made, known: known(more) };
        let Some((pin, norms)) = search.known.pin() else { continue };
        let at = |k: i32| search.analyse(&norms, 2_f64.powi(k));
        let fits = |k: &i32| 2_f64.powi(*k) * search.known.largest.get() <= activation::LARGEST;
        let largest = SCALES.rev().find(fits);
        let Some(Ok(Some(best))) = largest.map(at) else { continue };
        let enough = best.output.get() + (best.output.get() - plain.output.get()).max(0.0) / 64.0;
        for k in SCALES.filter(fits) {
            let Some(found) = at(k).ok().flatten().filter(|found| found.output <= enough) else { continue };
            let scale = 2_f64.powi(k);
            let beyond = proof.form.as_ref().map_or(Up::ZERO, |form| Up::from(form.distance));
            return Ok(Fitted {
                pin,
                gain: gain(pin, sides.width),
                scale,
                plain: proof.sup.bound,
                bound: (found.output + beyond).get(),
                largest: (found.squares.sqrt() + norms.middle).get(),
            });
        }
    }
    Err(lost())
}
