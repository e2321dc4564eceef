//! `x^p` for `x ≥ 0`: of whole `p` exactly, else `e^(p log x)`; both grow with `x`.

use crate::kernel::number::{Dyadic, Range};

/// The largest exponent.
const MOST: usize = 64;

/// An exponent of at least 1.
pub struct Exponent {
    p: Range,
    whole: Option<u32>,
}

impl Exponent {
    /// The power; `None` if it is too large.
    pub fn new(p: &Range) -> Option<Self> {
        let whole = (1..=MOST).find(|k| *p == Range::whole(*k)).and_then(|k| u32::try_from(k).ok());
        let fits = Dyadic::ONE <= p.lo && p.hi <= Range::whole(MOST).lo;
        fits.then(|| Self { p: p.clone(), whole })
    }

    /// `x^p`; what is below 0 counts as 0.
    pub fn of(&self, x: &Range) -> Option<Range> {
        if let Some(k) = self.whole {
            return x.power(k);
        }
        let end = |end: &Dyadic| {
            if *end <= Dyadic::ZERO {
                return Some(Range::ZERO);
            }
            (&self.p * &Range::point(end.clone()).log()?).exp()
        };
        Some(Range { lo: end(&x.lo)?.lo, hi: end(&x.hi)?.hi })
    }
}
