//! Norms of functions, and sums of powers rounded up.
//!
//! `‖f‖_p = (∫ Σ_ij |f_ij(X)|^p dX)^{1/p}` over the box, `1 ≤ p < ∞`; `sup` is the largest `|f_ij(X)|`.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::exact::Rat;
use crate::interval::{Interval, Up};

/// A norm of functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Norm {
    /// The supremum.
    Sup,
    /// `L^p`.
    Lp(Rat),
}

impl fmt::Display for Norm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sup => f.write_str("sup"),
            Self::Lp(p) if *p == Rat::ONE => f.write_str("l1"),
            Self::Lp(p) if *p == Rat::from(2) => f.write_str("l2"),
            Self::Lp(p) => write!(f, "lp:{p}"),
        }
    }
}

impl FromStr for Norm {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let p = match text {
            "sup" => return Ok(Self::Sup),
            "l1" => Rat::ONE,
            "l2" => Rat::from(2),
            _ => {
                let unknown = || {
                    let error = Error::input(format!("'{text}' is no norm"))
                        .note("expected", "sup, l1, l2, or lp:P with a number P ≥ 1");
                    match text.to_lowercase().trim_start_matches('l') {
                        "inf" | "infinity" | "max" => error.note("try", "⟨norm=sup⟩"),
                        p if p.parse().is_ok_and(|p: Rat| p >= Rat::ONE) => error.note("try", format!("⟨norm=lp:{p}⟩")),
                        _ => error,
                    }
                };
                text.strip_prefix("lp:").ok_or_else(unknown)?.parse().map_err(|_| unknown())?
            }
        };
        if p < Rat::ONE || p > Rat::from(1000) {
            return Err(Error::input(format!("p is {p}, but L^p is a norm for p ≥ 1 only, and p ≤ 1000 here"))
                .note("try", "⟨norm=l1⟩"));
        }
        Ok(Self::Lp(p))
    }
}

/// An exponent `p ≥ 1`.
#[derive(Clone, Debug)]
pub(crate) struct Exponent {
    whole: Option<u32>,
    value: Interval,
}

impl Exponent {
    /// The exponent `p`.
    pub fn new(p: &Rat) -> Self {
        let whole = p.to_int().and_then(|p| p.to_u64()).and_then(|p| u32::try_from(p).ok());
        Self { whole, value: Interval::from(p) }
    }

    /// A bound above `x^p` for `x ≥ 0`.
    pub fn power(&self, x: Up) -> Up {
        if x == 0.0 || !x.is_finite() || self.whole == Some(1) {
            return x;
        }
        let x = Interval::point(x.get());
        match self.whole {
            Some(p) => x.powi(p).into(),
            None => x.log().map_or(Up::INFINITY, |log| (log * self.value).exp().into()),
        }
    }

    /// A bound above `x^{1/p}` for `x ≥ 0`.
    pub fn root(&self, x: Up) -> Up {
        if x == 0.0 || !x.is_finite() || self.whole == Some(1) {
            return x;
        }
        let x = Interval::point(x.get());
        let root = match self.whole {
            Some(2) => x.sqrt(),
            _ => x.log().and_then(|log| log.checked_div(self.value)).map(Interval::exp),
        };
        root.map_or(Up::INFINITY, Up::from)
    }
}

/// A number with `digits` digits behind the point, in exponential form, rounded up: what is printed is a bound too.
pub fn upward(x: f64, digits: usize) -> String {
    directed(x, digits, 1.0)
}

/// The same, rounded down.
pub(crate) fn downward(x: f64, digits: usize) -> String {
    directed(x, digits, -1.0)
}

/// The nearest number of so many digits, or the next one in a direction.
fn directed(x: f64, digits: usize, direction: f64) -> String {
    let nearest = format!("{x:.digits$e}");
    let short = nearest.parse::<f64>().is_ok_and(|read| read * direction < x * direction);
    match nearest.split_once('e').map(|(mantissa, exponent)| (mantissa.parse::<f64>(), exponent)) {
        Some((Ok(mantissa), exponent)) if short => {
            let unit = direction * 0.1_f64.powi(i32::try_from(digits).unwrap_or(i32::MAX));
            let next = format!("{}e{exponent}", mantissa + unit).parse::<f64>();
            format!("{:.digits$e}", next.unwrap_or(direction * f64::INFINITY))
        }
        _ => nearest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for name in ["sup", "l1", "l2", "lp:3", "lp:3/2"] {
            assert_eq!(name.parse::<Norm>().expect("a norm").to_string(), name);
        }
        assert_eq!("lp:1".parse::<Norm>().expect("a norm").to_string(), "l1");
        for name in ["l3", "lp", "lp:", "lp:0.5", "lp:-1", "lp:nan", "L2", ""] {
            assert!(name.parse::<Norm>().is_err(), "{name}");
        }
    }

    #[test]
    fn what_is_printed_is_not_below_what_is_meant() {
        for (x, shown) in [
            (0.235_702_26, "2.3571e-1"),
            (0.25, "2.5000e-1"),
            (9.999_99, "1.0000e1"),
            (0.921_001, "9.2101e-1"),
            (1e-300, "1.0000e-300"),
        ] {
            assert_eq!(upward(x, 4), shown);
        }
        assert_eq!(upward(f64::INFINITY, 4), "inf");
    }

    #[test]
    fn powers_and_roots_are_rounded_up_and_tight() {
        for p in [Rat::ONE, Rat::from(2), Rat::from(3), Rat::new(3, 2)] {
            let exponent = Exponent::new(&p);
            for x in [1e-9, 0.1, 0.7, 1.0, 3.0, 1e6_f64] {
                let power = exponent.power(x.into());
                let wanted = x.powf(p.to_f64());
                assert!(power >= wanted * (1.0 - 1e-15) && power <= wanted * (1.0 + 1e-12));
                let back = exponent.root(power);
                assert!(back >= x * (1.0 - 1e-15) && back <= x * (1.0 + 1e-12), "{p}: {x} {back:?}");
            }
            assert_eq!((exponent.power(Up::ZERO), exponent.root(Up::ZERO)), (Up::ZERO, Up::ZERO));
        }
    }
}
