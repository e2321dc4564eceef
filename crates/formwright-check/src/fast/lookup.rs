//! Layers of many units that read one number: where it is known and all sums are exact, what they add is one sum over the
//! units that are active, of which those before are known. What is not exact is left to rule *layers*.

use crate::kernel::format::Format;
use crate::kernel::number::Dyadic;
use crate::kernel::sum::{Part, Row, Value};
use crate::read::weights::Layer;

/// With fewer units nothing is gained.
const MANY: usize = 32;

/// Sums over the first units of a row, of positive and of negative weights: `Σ |w|`, `Σ |w| b`; and the quantum of all.
#[derive(Clone)]
struct Sums {
    above: [Dyadic; 2],
    below: [Dyadic; 2],
    quantum: i64,
}

/// A register to which the layer adds.
struct Gain {
    register: usize,
    bias: Dyadic,
    /// By number of active units.
    sums: Vec<Sums>,
}

/// The layer.
pub struct Lookup {
    reads: Vec<(usize, Dyadic)>,
    /// The biases, the largest first: units become active in this order.
    biases: Vec<Dyadic>,
    /// The finest quantum of biases.
    quantum: i64,
    gains: Vec<Gain>,
}

fn quantum(x: &Dyadic) -> i64 {
    x.quantum().unwrap_or(i64::MAX)
}

impl Lookup {
    /// The index of a layer, if all its units read the same.
    pub fn new(layer: &Layer) -> Option<Self> {
        let Layer::FeedForward { units, gains } = layer else { return None };
        let reads = units.first()?.weights.clone();
        if units.len() < MANY || reads.is_empty() || units.iter().any(|row| row.weights != reads) {
            return None;
        }
        let mut order: Vec<usize> = (0..units.len()).collect();
        let bias = |unit: &usize| units.get(*unit).map_or(Dyadic::ZERO, |row| row.bias.clone());
        order.sort_by_cached_key(|unit| -&bias(unit));
        let biases: Vec<Dyadic> = order.iter().map(bias).collect();
        let busy = gains.iter().enumerate().filter(|(_, row)| !row.is_zero());
        let gains = busy.map(|(register, row)| Gain::new(register, row, &order, &biases)).collect();
        let quantum = biases.iter().map(quantum).min().unwrap_or(i64::MAX);
        Some(Self { reads, biases, quantum, gains })
    }

    /// Applies the layer to a token; false, and nothing is changed, where that needs more than exact sums.
    pub fn apply(&self, z: &mut [Value], format: Format) -> bool {
        let Some(new) = self.outputs(z, format) else { return false };
        for (gain, value) in self.gains.iter().zip(new) {
            z.get_mut(gain.register).into_iter().for_each(|place| *place = Value::point(value.clone()));
        }
        true
    }

    fn outputs(&self, z: &[Value], format: Format) -> Option<Vec<Dyadic>> {
        let known = |place: usize| z.get(place).filter(|value| value.range.is_point()).map(|value| &value.range.lo);
        let (mut t, mut part) = (Dyadic::ZERO, Part::EMPTY);
        for (place, weight) in &self.reads {
            let term = weight * known(*place)?;
            part.add(&term, &term, quantum(&term));
            t = &t + &term;
        }
        // Any of the biases beside them.
        let (first, last) = self.biases.first().zip(self.biases.last())?;
        for end in [first, last] {
            part.add(end, end, self.quantum);
        }
        if !part.is_exact(format) {
            return None;
        }
        let own = quantum(&t).min(self.quantum);
        let active = self.biases.partition_point(|bias| -bias < t);
        let gained = |gain: &Gain| {
            let (z, Sums { above, below, quantum: weights }) = (known(gain.register)?, gain.sums.get(active)?);
            let sum = |[weights, biases]: &[Dyadic; 2]| &(weights * &t) + biases;
            let (above, below) = (sum(above), sum(below));
            let mut part = Part::EMPTY;
            part.add(z, z, quantum(z));
            part.add(&gain.bias, &gain.bias, quantum(&gain.bias));
            part.add(&above, &above, weights.saturating_add(own));
            part.add(&-&below, &-&below, weights.saturating_add(own));
            part.is_exact(format).then(|| &(&(z + &gain.bias) + &above) - &below)
        };
        self.gains.iter().map(gained).collect()
    }
}

impl Gain {
    fn new(register: usize, row: &Row, order: &[usize], biases: &[Dyadic]) -> Self {
        let mut weights = vec![Dyadic::ZERO; order.len()];
        for (unit, weight) in &row.weights {
            weights.get_mut(*unit).into_iter().for_each(|place| *place = weight.clone());
        }
        let none = || [Dyadic::ZERO, Dyadic::ZERO];
        let mut last = Sums { above: none(), below: none(), quantum: i64::MAX };
        let mut sums = vec![last.clone()];
        for (unit, bias) in order.iter().zip(biases) {
            let weight = weights.get(*unit).cloned().unwrap_or(Dyadic::ZERO);
            let side = if weight.is_negative() { &mut last.below } else { &mut last.above };
            let [sum, moment] = side;
            (*sum, *moment) = (&*sum + &weight.abs(), &*moment + &(&weight.abs() * bias));
            last.quantum = last.quantum.min(quantum(&weight));
            sums.push(last.clone());
        }
        Self { register, bias: row.bias.clone(), sums }
    }
}
