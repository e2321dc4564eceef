//! A circuit behind norms: what a stock Transformer adds to what a circuit loses.
//!
//! A register `z` is kept twice, as `z` and `-z`, beside a pin `±C`, and `½(v_p - v_{-p})` is what is read
//! (`host/norm.rs` derives the numbers). All else is the analysis of the circuit by itself, with these changes:
//!
//! ```text
//! reading     h = ρ(v - m) + e, |ρ - 1| ≤ r for all of a token, m cancels: |½(h_p - h_{-p}) - z| ≤ rel |z| + 2γ₂ M
//! summing     over k registers there are 2k products, each pair up to (1 + rel)(|z| + M): γ (rel |z| + (1 + rel) M)
//!             more
//! activation  |act(s t)/s - max(t, 0)| ≤ α for every unit; what is not active is tiny, and an addition is off by no
//!             more than its smaller operand: 3α Σ|slope|
//! clearing    z - R(z̃) + R(-z̃) leaves twice what the reading is off by
//! stream      where the norm is behind the layer, the stream itself is what was normed. In units of the pin it is
//!             off by d|z| + a after each norm, and what is added is off by rel/(1 - rel) of it; what is common to
//!             pin and data does not matter
//! exactness   there is none
//! ```
//!
//! What registers lose is known twice: in absolute terms (`lost`), and as `times · u` of what the register holds and
//! something fixed.

use super::{Analyst, Machine};
use crate::construct::circuit::layout::Clear;
use crate::interval::Up;
use crate::rounding::compound;

/// The errors that a host adds to the numbers of a circuit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Housing {
    /// `rel`: the relative error of a register, as it is read.
    pub relative: Up,
    /// `M`: how far the middle of a pair may be from 0.
    pub middle: Up,
    /// `γ₂`
    pub elementwise: Up,
    /// `α`: how far a unit may be from its ReLU.
    pub activation: Up,
    /// `d` and `a`, where the stream itself is normed.
    pub stream: Option<(Up, Up)>,
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
        let rel = self.relative;
        let more = rel * size + (Up::ONE + rel) * (lost + self.middle);
        Housed {
            relative: rel,
            absolute: rel * lost + 2.0 * (self.elementwise * self.middle),
            summed: machine.gamma(2 * registers + 6) * more,
        }
    }

    /// `rel/(1 - rel) ≤ rel (1 + 2 rel)` for `rel ≤ ½`, where the stream is in units of the pin.
    fn unscale(&self) -> Up {
        let rel = if self.relative <= 0.5 { self.relative } else { Up::INFINITY };
        if self.stream.is_some() { rel * (Up::ONE + 2.0 * rel) } else { Up::ZERO }
    }
}

impl Analyst<'_> {
    /// The loss of reading a register in a slot because of the host, if there is one.
    pub(super) fn housed(&self, slot: usize, register: usize, registers: usize) -> Housed {
        let known = (self.size(&self.layout.before[slot][register]), self.lost[slot][register]);
        self.machine.housing.map_or_else(Housed::default, |housing| housing.read(self.machine, registers, known))
    }

    /// The rest in a register that is cleared: twice the error of reading it, both units, and the sum's
    /// rounding.
    pub(super) fn left_behind(&self, slot: usize, clear: &Clear) -> Up {
        let Some(housing) = self.machine.housing else { return Up::ZERO };
        let (size, lost) = (self.size(&clear.content), self.lost[slot][clear.register]);
        let Housed { relative, absolute, summed } = housing.read(self.machine, 1, (size, lost));
        let off = (relative + self.machine.gamma(6)) * size + absolute + summed;
        let sum = self.machine.gamma(8) * (size + lost);
        (2.0 * (off + sum) + 6.0 * housing.activation + self.machine.tiny()) * (Up::ONE + 2.0 * housing.unscale())
    }

    /// The further loss of a register when something of a size is added to it, and relative to that.
    pub(super) fn housed_write(&self, rounding: Up, garbage: Up) -> (Up, Up) {
        let Some(housing) = self.machine.housing else { return (Up::ZERO, Up::ZERO) };
        let unscale = housing.unscale();
        // Rounding is that of the stream, which is up to 1 + rel times as large as in units of the pin, and divided by
        // the pin.
        (2.0 * garbage + rounding * (4.0 * unscale), unscale)
    }

    /// The norm behind the layer, if it is there.
    pub(super) fn normed(&self, slot: usize, lost: &mut [Up], times: &mut [Up], fixed: &mut [Up]) {
        let Some((relative, absolute)) = self.machine.housing.and_then(|housing| housing.stream) else { return };
        // Where attention is last, its block has a feed-forward layer of zeros, with a norm behind it.
        let norms = if slot == self.layout.last() && slot % 2 == 1 { 2 } else { 1 };
        for (register, row) in self.layout.before[slot + 1].iter().enumerate() {
            for _ in 0..norms {
                let stretched = |x: Up| x * (Up::ONE + relative) + absolute;
                lost[register] = stretched(lost[register]) + relative * self.size(row);
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
