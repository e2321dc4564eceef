//! A circuit behind norms: what a stock Transformer adds to what a circuit loses.
//!
//! A register `z` is kept twice, as `z` and `-z`, beside a pin `±C`, and `½(v_p - v_{-p})` is what is read
//! (`host/norm.rs` derives the numbers). A constant `c` is read from the pin, with the weight `c/C`, so that all that is
//! read of a token has one common factor `ρ`, constants included, and its own small error. All else is the analysis of
//! the circuit by itself, with these changes:
//!
//! ```text
//! reading     h = ρ(v - m) + e, |ρ - 1| ≤ r for all of a token, m cancels: |½(h_p - h_{-p}) - ρz| ≤ γ₂(1 + r)|z| + 2γ₂ M
//! summing     over k registers there are 2k products, each pair up to (1 + r)(|z| + M): γ (r |z| + (1 + r) M) more
//! gates       max(ρx, 0) = ρ max(x, 0): no kink moves, and a gate is ρ times what it is: r|value|, whatever its slopes
//! heads       values of other tokens have factors of their own; scores and outputs are read once: r times what is read
//! gated       what is activated is multiplied by a 1 that is read from the pin, which is ρ as well
//! activation  |act(s t)/s - max(t, 0)| ≤ α for every unit; what is not active is tiny, and an addition is off by no
//!             more than its smaller operand: 3α Σ|slope|
//! clearing    z - R(z̃) + R(-z̃) leaves twice what the reading is off by; so does a pair with a bias, which is read from the pin
//! stream      where the norm is behind the layer, the stream itself is what was normed. In units of the pin it is
//!             off by d|z| + a after each norm, and what is added is off by r/(1 - r) of it; what is common to
//!             pin and data does not matter. Then ρ is the pin's own factor, which a layer of units gives back to the
//!             stream: no r for gates
//! hiding      a head that sees fewer tokens than its class shows has scores of -T for the others, and for its own those of
//!             the network up to `off`: its mean moves by at most off/2 of what its values span (head.rs), and by the
//!             weight of the others, n exp(2(own + off) - gap)
//! exactness   there is none
//! ```
//!
//! What registers lose is known twice: in absolute terms (`lost`), and as `times · u` of what the register holds and
//! something fixed.

use super::{Analyst, Machine};
use crate::interval::{Interval, Up};
use crate::network::Mask;
use crate::rounding::compound;

/// The errors that a host adds to the numbers of a circuit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Housing {
    /// `r`: how far the factor of a token may be from 1.
    pub factor: Up,
    /// `M`: how far the middle of a pair may be from 0.
    pub middle: Up,
    /// `γ₂`
    pub elementwise: Up,
    /// `α`: how far a unit may be from its ReLU.
    pub activation: Up,
    /// True if the activated number is multiplied by 1.
    pub gated: bool,
    /// `C`
    pub pin: f64,
    /// The stream's loss, where it is normed itself.
    pub stream: Option<Stream>,
    /// How tokens are hidden.
    pub hiding: Hiding,
}

/// How a head sees fewer tokens than its class shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hiding {
    /// The tokens that the class shows.
    pub shown: Mask,
    /// How far the scores of tokens that are seen may be from 0.
    pub off: Up,
    /// How far those of the others are below 0, at least, beside that.
    pub gap: f64,
    /// How many terms a score has.
    pub terms: usize,
}

/// A norm, as it acts on the stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    /// `d`
    pub relative: Up,
    /// `a`
    pub absolute: Up,
    /// True if it is normed behind the embedding and at the end only, false if behind every layer.
    pub ends: bool,
}

/// The loss of reading a register in a host.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Housed {
    /// Relative to what the register holds: for all who read it alike.
    pub relative: Up,
    /// In absolute terms: for all who read it alike.
    pub absolute: Up,
    /// The loss by adding up, for each reader.
    pub summed: Up,
}

impl Housing {
    /// The loss of a sum over so many registers, for one of a size that has lost something.
    fn read(&self, machine: Machine, registers: usize, (size, lost): (Up, Up)) -> Housed {
        let grown = Up::ONE + self.factor;
        let more = self.factor * size + grown * (lost + self.middle);
        Housed {
            relative: self.elementwise * grown,
            absolute: self.factor * lost + 2.0 * (self.elementwise * self.middle),
            summed: machine.gamma(2 * registers + 6) * more,
        }
    }

    /// The loss of reading a constant, relative to it, in a sum over so many registers.
    fn constant(&self, machine: Machine, registers: usize) -> Up {
        let Housed { relative, absolute, summed } = self.read(machine, registers + 1, (self.pin.into(), Up::ZERO));
        relative + (absolute + summed) / self.pin
    }

    /// How far all units of a gate may be from what they are, relatively, and alike.
    fn gate(&self) -> Up {
        let own = if self.stream.is_some_and(|stream| !stream.ends) { Up::ZERO } else { self.factor };
        if self.gated { compound(own, self.factor) } else { own }
    }

    /// How far each unit may be from that, relatively, because of what it is multiplied by.
    fn unit(&self, machine: Machine) -> Up {
        if self.gated { compound(self.constant(machine, 0), machine.gamma(10)) } else { Up::ZERO }
    }

    /// `r/(1 - r) ≤ r (1 + 2r)` for `r ≤ ½`, where the stream is in units of the pin.
    fn unscale(&self) -> Up {
        let r = if self.factor <= 0.5 { self.factor } else { Up::INFINITY };
        if self.stream.is_some() { r * (Up::ONE + 2.0 * r) } else { Up::ZERO }
    }
}

impl Analyst<'_> {
    /// The loss of reading a register in a slot because of the host, if there is one.
    pub(super) fn housed(&self, slot: usize, register: usize, registers: usize) -> Housed {
        let known = (self.held(slot, register), self.lost[slot][register]);
        self.machine.housing.map_or_else(Housed::default, |housing| housing.read(self.machine, registers, known))
    }

    /// True if a head hides tokens that its class shows.
    pub(super) fn hides(&self, mask: &Mask) -> bool {
        self.machine.housing.is_some_and(|housing| !mask.shows(&housing.hiding.shown))
    }

    /// How far the mean of a head's values, which span so much, moves because tokens are hidden by scores beside its own.
    pub(super) fn hidden(&self, mask: &Mask, own: Up, span: Up) -> Up {
        let Some(Housing { hiding, .. }) = self.machine.housing.filter(|_| self.hides(mask)) else { return Up::ZERO };
        let off = hiding.off + self.machine.gamma(hiding.terms) * (2.0 * own + hiding.off);
        let apart = Interval::point_or_entire((2.0 * (own + off)).get()) - Interval::point_or_entire(hiding.gap);
        let exps = self.machine.precision.exp_quotient_error();
        let leak = Up::from(self.machine.tokens) * Up::from(apart.exp()) * (Up::ONE + compound(exps, exps));
        (0.5 * off + leak) * span
    }

    /// The host's share in the loss of reading a constant, relative to it.
    pub(super) fn housed_constant(&self, registers: usize) -> Up {
        self.machine.housing.map_or(Up::ZERO, |housing| housing.constant(self.machine, registers))
    }

    /// `r`
    pub(super) fn factor(&self) -> Up {
        self.machine.housing.map_or(Up::ZERO, |housing| housing.factor)
    }

    /// The loss of a gate because it is `ρ` times what it is, relative to what it adds to the stream.
    pub(super) fn gate_factor(&self) -> Up {
        self.machine.housing.map_or(Up::ZERO, |housing| housing.gate())
    }

    /// How far units may be from what they are, relatively, each by itself.
    pub(super) fn unit_factor(&self) -> Up {
        self.machine.housing.map_or(Up::ZERO, |housing| housing.unit(self.machine))
    }

    /// The rest in a register that is cleared by units with a bias: twice what the reading is off by, both units, and
    /// the sum's rounding.
    pub(super) fn left_behind(&self, slot: usize, register: usize, bias: Up) -> Up {
        let Some(housing) = self.machine.housing else { return Up::ZERO };
        let (size, lost) = (self.held(slot, register) + bias, self.lost[slot][register]);
        let Housed { relative, absolute, summed } = housing.read(self.machine, 1, (size, lost));
        let summed = summed + housing.constant(self.machine, 1) * bias;
        let units = compound(housing.gate(), housing.unit(self.machine));
        let off = (relative + self.machine.gamma(6)) * size + absolute + summed;
        let sum = (self.machine.gamma(8) + units) * (size + lost);
        (2.0 * (off + sum) + 6.0 * (housing.activation * (Up::ONE + units)) + self.machine.tiny())
            * (Up::ONE + 2.0 * housing.unscale())
    }

    /// The further loss of a register when something of a size is added to it in a slot, and relative to that.
    pub(super) fn housed_write(&self, slot: usize, rounding: Up, garbage: Up) -> (Up, Up) {
        let Some(housing) = self.machine.housing else { return (Up::ZERO, Up::ZERO) };
        let unscale = housing.unscale();
        // The embedding comes with the pin as it is; and what units add has the factor of the pin, if they read the
        // stream itself.
        let alike = slot == 0 || slot.is_multiple_of(2) && housing.stream.is_some_and(|stream| !stream.ends);
        // Rounding is that of the stream, which is up to 1 + r times as large as in units of the pin, and divided by
        // the pin.
        (2.0 * garbage + rounding * (4.0 * unscale), if alike { Up::ZERO } else { unscale })
    }

    /// The norms of the stream behind a slot.
    pub(super) fn normed(&self, slot: usize, held: &[Up], (lost, times, fixed): (&mut [Up], &mut [Up], &mut [Up])) {
        let Some(Stream { relative, absolute, ends }) = self.machine.housing.and_then(|housing| housing.stream) else {
            return;
        };
        let norms = match (slot == self.layout.last(), ends) {
            (false, true) => usize::from(slot == 0),
            // Where attention is last, its block has a feed-forward layer of zeros, with a norm behind it.
            (true, false) => 1 + slot % 2,
            _ => 1,
        };
        for (register, held) in held.iter().enumerate() {
            for _ in 0..norms {
                let stretched = |x: Up| x * (Up::ONE + relative) + absolute;
                lost[register] = stretched(lost[register]) + relative * *held;
                fixed[register] = stretched(fixed[register]);
                times[register] = self.more_often(times[register], relative);
            }
        }
    }

    /// `times`, if what a register holds is off by so much more, relative to it.
    pub(super) fn more_often(&self, times: Up, relative: Up) -> Up {
        compound(times * self.machine.unit(), relative) / self.machine.precision.unit()
    }
}
