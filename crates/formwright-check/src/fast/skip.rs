//! Feed-forward layers that do nothing to a token are skipped: an index knows where they rest.

use crate::kernel::format::Format;
use crate::kernel::number::{Dyadic, Range};
use crate::kernel::sum::{Row, Value, gamma, times};
use crate::read::weights::Layer;

/// Consecutive feed-forward layers. Where the units of a layer all read one functional up to sign, and it adds no
/// constant, the index knows where all of them rest.
pub struct Index<'n> {
    pub(crate) reads: &'n [(usize, Dyadic)],
    /// For each layer, where it rests; `None` if it may do something anywhere.
    pub(crate) rests: Vec<Option<Rest>>,
    /// The same for every [`STRIDE`] layers together.
    pub(crate) strides: Vec<Option<Rest>>,
}

pub const STRIDE: usize = 64;

/// The largest bias of the units that open to the right, and of those that open to the left, if there are any.
#[derive(Clone, Default)]
pub struct Rest {
    pub(crate) sides: [Option<Dyadic>; 2],
}

impl Rest {
    fn raise(&mut self, side: usize, bias: Option<&Dyadic>) {
        if let (Some(place), Some(bias)) = (self.sides.get_mut(side), bias) {
            *place = Some(place.take().map_or(bias.clone(), |known| known.max(bias.clone())));
        }
    }

    /// The place where both rest.
    fn and(mut self, other: &Self) -> Self {
        other.sides.iter().enumerate().for_each(|(side, bias)| self.raise(side, bias.as_ref()));
        self
    }
}

/// True if two numbers of this size may add up to more than a sum may reach.
pub fn large(x: &Dyadic, format: Format) -> bool {
    x.top() >= format.most.saturating_sub(2)
}

impl<'n> Index<'n> {
    /// The index of the feed-forward layers that come first.
    pub fn new(layers: &'n [Layer], format: Format) -> Option<Self> {
        let forward = |layer: &'n Layer| match layer {
            Layer::FeedForward { units, gains } => Some((units, gains)),
            Layer::Attention(_) | Layer::Mixers(_) => None,
        };
        let run: Vec<(&Vec<Row>, &Vec<Row>)> = layers.iter().map_while(forward).collect();
        let reads =
            run.iter().flat_map(|(units, _)| units.iter()).find(|row| !row.weights.is_empty())?.weights.as_slice();
        let rest = |(units, gains): &(&Vec<Row>, &Vec<Row>)| {
            let mut rest = Rest::default();
            for row in units.iter().filter(|row| !row.is_zero()) {
                let left = row.weights.iter().zip(reads).all(|(a, b)| a.0 == b.0 && a.1 == -&b.1);
                if row.weights.len() != reads.len() || (row.weights != reads && !left) || large(&row.bias, format) {
                    return None;
                }
                // The bias, with the most that rounding can add to it.
                let slack = &row.bias.abs() * &gamma(reads.len().saturating_add(1), format);
                rest.raise(usize::from(left), Some(&(&row.bias + &slack)));
            }
            gains.iter().all(|row| row.bias.is_zero()).then_some(rest)
        };
        let rests: Vec<Option<Rest>> = run.iter().map(rest).collect();
        let together =
            |chunk: &[Option<Rest>]| chunk.iter().try_fold(Rest::default(), |all, rest| Some(all.and(rest.as_ref()?)));
        let strides = rests.chunks(STRIDE).map(together).collect();
        Some(Self { reads, rests, strides })
    }

    /// The first layer, from `from` on, that may change a token.
    pub fn next(&self, from: usize, z: &[Value], format: Format) -> usize {
        let (mut t, mut size) = (Range::ZERO, Dyadic::ZERO);
        for (place, weight) in self.reads {
            let Some(value) = z.get(*place) else { continue };
            let term = &Range::point(weight.clone()) * &value.range;
            (t, size) = (&t + &term, &size + &term.size());
        }
        if large(&size, format) {
            return from;
        }
        let k = self.reads.len().saturating_add(1);
        let slack = &(&gamma(k, format) * &size) + &times(k.saturating_mul(4), format.least);
        let (right, left) = (&t.hi + &slack, &slack - &t.lo);
        let idle = |rest: &Option<Rest>| {
            let below = |t: &Dyadic, bias: &Option<Dyadic>| bias.as_ref().is_none_or(|bias| *t <= -bias);
            rest.as_ref().is_some_and(|Rest { sides: [r, l] }| below(&right, r) && below(&left, l))
        };
        let mut at = from;
        while let Some(rest) = self.rests.get(at) {
            if at.is_multiple_of(STRIDE) && self.strides.get(at / STRIDE).is_some_and(idle) {
                at = at.saturating_add(STRIDE);
            } else if idle(rest) {
                at = at.saturating_add(1);
            } else {
                return at;
            }
        }
        self.rests.len()
    }
}
