//! The pin `C` and the scale `s` of activations, derived, and the bound in the host.
//!
//! `norm.rs` needs to know how large registers and numbers get *in the host*, and how large they get is found with what
//! it gives. So it is assumed, and confirmed: what registers hold before a norm follows from the norms before it, and
//! where the analysis ends with no more than was assumed, it was right, norm by norm.
//!
//! The pin costs least where `E/2C²` (small pins) and the mean's rounding (large ones) are both small: a rough sum of the
//! two finds the place, and the analysis decides there. `s` is the smallest power of two at which activations are no more
//! than 1/64 of the host term.

use super::check::{place, proof};
use super::norm::{Known, Norms, gain, largest_pin};
use super::pass::{Sides, sides};
use super::{Class, activation};
use crate::construct::circuit::Made;
use crate::construct::circuit::analysis::{Analysis, Housing};
use crate::error::{Error, Result};
use crate::interval::Up;
use crate::model::Built;
use crate::network::{FloatNetwork, Precision};

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
    /// The largest that a coordinate of the stream may be.
    pub largest: f64,
    /// What a register that tells a position apart holds there.
    pub flag: f64,
    /// How far the factor of a token may be from 1, and how far the pin from that, relatively.
    pub factor: f64,
    pub drift: f64,
}

impl Fitted {
    /// What a network is in a class; or why it has no place there, without advice.
    pub fn of(built: &dyn Built, class: &Class) -> Result<Self> {
        let network = place(built, class)?;
        fit(built, network, class, &sides(network, class))
    }

    /// The host's part of the bound.
    pub fn host_term(&self) -> f64 {
        (self.bound - self.plain).max(0.0).next_up()
    }
}

struct Search<'a> {
    made: &'a Made,
    class: &'a Class,
    sides: &'a Sides,
    flag: f64,
    known: Known,
}

impl Search<'_> {
    /// The analysis in the host, if it confirms what was assumed.
    fn analyse(&self, (pin, norms): (f64, &Norms), scale: f64) -> Result<Option<Analysis>> {
        let Norms { middle, relative: factor, elementwise, stream } = *norms;
        let (activation, gated) = (self.class.activation.off(scale), self.class.gated);
        let hiding =
            self.known.hiding(norms, (self.class.mask, self.flag), self.sides.tokens, self.sides.head_size + 12);
        let housing = Housing { factor, middle, elementwise, activation, gated, pin, stream, hiding };
        let found = self.made.analyse(Some(housing))?;
        let confirmed = found.squares + Up::from(self.flag * self.flag) <= self.known.squares
            && found.largest <= self.known.largest;
        Ok(confirmed.then_some(found))
    }

    fn scales(&self) -> impl DoubleEndedIterator<Item = i32> {
        let (activation, largest) = (self.class.activation, activation::largest(self.known.precision));
        let fits = move |k: &i32| activation.is_relu() || 2_f64.powi(*k) * self.known.largest.get() <= largest;
        activation.scales().filter(fits)
    }

    fn analysed(&self, pin: (f64, &Norms), k: i32) -> Option<Analysis> {
        self.analyse(pin, 2_f64.powi(k)).ok().flatten()
    }

    /// The pin that costs least, of those next to where a rough sum has its least; with the bound for the largest scale.
    fn pin(&self) -> Option<(f64, Norms, Up)> {
        let (near, _) = self.known.pin()?;
        let largest = self.scales().next_back()?;
        let pins = (-6..=3).rev().map(|k| near * 2_f64.powi(k));
        let tried = pins.filter_map(|pin| {
            let norms = self.known.norms(pin)?;
            let found = self.analysed((pin, &norms), largest)?;
            Some((pin, norms, found.output))
        });
        tried.min_by(|(.., a), (.., b)| a.get().total_cmp(&b.get()))
    }

    /// The smallest scale at which activations are no more than 1/64 of the host term, with what is found then.
    fn scale(&self, plain: Up, (pin, norms, best): (f64, &Norms, Up)) -> Option<(f64, Analysis)> {
        let enough = best.get() + (best.get() - plain.get()).max(0.0) / 64.0;
        let analysed =
            |k| Some((2_f64.powi(k), self.analysed((pin, norms), k).filter(|found| found.output <= enough)?));
        self.scales().find_map(analysed)
    }
}

/// Fits a network into a host of some sides.
pub(super) fn fit(built: &dyn Built, network: &FloatNetwork, class: &Class, sides: &Sides) -> Result<Fitted> {
    let proof = proof(built)?;
    let made = &proof.made;
    let plain = made.analyse(None)?;
    // As large as all else together: it is read as well as that, and the pin is not much larger for it.
    let flag = (-40..40).map(|k| 2_f64.powi(k)).find(|flag| Up::from(flag * flag) >= plain.squares);
    let flag = if sides.flags > 0 { flag.unwrap_or(2_f64.powi(40)) } else { 0.0 };
    let known = |more: f64| Known {
        precision: network.precision,
        norm: class.norm,
        width: sides.width,
        norms: 2 * sides.blocks + 1,
        terms: sides.hidden + sides.width + 8,
        squares: more * (plain.squares + Up::from(flag * flag)),
        largest: more * plain.largest,
    };
    for more in [1.125, 2.0, 16.0, 4096.0] {
        let search = Search { made, class, sides, flag, known: known(more) };
        let Some((pin, norms, best)) = search.pin() else { continue };
        let Some((scale, found)) = search.scale(plain.output, (pin, &norms, best)) else { continue };
        let beyond = proof.form.as_ref().map_or(Up::ZERO, |form| Up::from(form.distance));
        return Ok(Fitted {
            pin,
            gain: gain(pin, sides.width),
            scale,
            flag,
            plain: proof.sup.bound,
            bound: (found.output + beyond).get(),
            largest: (found.squares.sqrt() + norms.middle).get(),
            factor: norms.relative.get(),
            drift: (2.0 * norms.elementwise * (Up::ONE + norms.middle / pin)).get(),
        });
    }
    Err(lost(class, network.precision, &plain, &known(1.125)))
}

/// Why no pin serves.
fn lost(class: &Class, precision: Precision, plain: &Analysis, known: &Known) -> Error {
    let error = Error::declined(format!("no pin keeps this network in {} in {precision}", class.name));
    let registers = plain.squares.sqrt().get();
    let error = match known.pin() {
        None => error.note("reason", format!(
            "its registers hold up to {registers:.1e}, and the pin beside them, whose square is a number of {precision}, \
             is 2^{} at most",
            largest_pin(precision)
        )),
        Some(_) => error.note("reason", "what norms and activations lose is more than what it can lose"),
    };
    error.note(
        "try",
        match precision {
            Precision::F32 if class.single.is_none() => "build it with ⟨precision=f64⟩",
            _ => "another unit for the domain or for the values, so that numbers are smaller",
        },
    )
}
