//! The claim about a model's error, and the checker's verdict on it.

use serde_json::{Value, json};

use super::{Certified, Model};
use crate::bound::Norm;
use crate::bound::baseline::baseline;
use crate::bound::measured::Measured;
use crate::error::Result;
use crate::exact::Rat;

/// The checker's verdict on a model's certificate. A model that it rejects is never written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// Nobody asked it.
    #[default]
    NotRun,
    /// It proved the claim.
    Accepted,
    /// It does not decide claims of this kind, or of this size, for this reason.
    Declined(String),
}

impl Check {
    /// The name in files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotRun => "not-run",
            Self::Accepted => "accepted",
            Self::Declined(_) => "declined",
        }
    }

    /// Why it was not decided, where that is known.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Declined(reason) if !reason.is_empty() => Some(reason),
            _ => None,
        }
    }

    /// The verdict with this name and this reason.
    pub(crate) fn named(name: &str, reason: Option<String>) -> Option<Self> {
        let known = [Self::NotRun, Self::Accepted, Self::Declined(reason.unwrap_or_default())];
        known.into_iter().find(|check| check.name() == name)
    }
}

/// The domain of a claimed error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// On the box.
    Box,
    /// At every finite number of the format; outside of the box the target is taken as 0.
    Space,
    /// At every sequence of integers of the domain.
    Integers,
    /// At those whose tokens are pairwise distinct; the others give this number.
    DistinctIntegers(Rat),
    /// At some points of a grid and nowhere else, or of numbers near the target's.
    Centres,
}

/// An error as it is claimed of a float network.
#[derive(Clone, Debug)]
pub struct Stated {
    /// `certified` or `measured`.
    pub badge: &'static str,
    /// The domain.
    pub over: Over,
    /// In which norm.
    pub norm: Norm,
    /// The largest error.
    pub bound: f64,
    /// The assumptions that it rests on.
    pub assumptions: Vec<String>,
}

impl Model {
    /// The claim about the error of a float network, if there is one.
    pub fn stated(&self) -> Result<Option<Stated>> {
        let Some(rounding) = self.rounding().filter(|_| self.is_claimed()) else { return Ok(None) };
        let certified = self.certified()?;
        let over = match certified {
            Some(_) if self.target.is_discrete() => Over::Integers,
            Some(_) if self.built.is_everywhere() => Over::Space,
            Some(_) => Over::Box,
            // Point by point, and where values are irrational only numbers near them are accounted for.
            None if !self.target.is_discrete() || self.is_near() => Over::Centres,
            None => self.built.over_points(),
        };
        let stated = |norm, bound, assumptions| Stated { badge: self.badge(), over, norm, bound, assumptions };
        Ok(Some(match certified {
            Some(Certified { budget, .. }) => {
                let assumptions = [self.assumptions.as_slice(), &budget.assumptions].concat();
                stated(budget.norm.clone(), budget.bound, assumptions)
            }
            None => stated(Norm::Sup, rounding, self.assumptions.clone()),
        }))
    }

    /// The badge of what is said against the target: `certified`, or `measured` if a part of it was not proved, or nothing.
    pub fn badge(&self) -> &'static str {
        self.built.badge()
    }

    /// How far a float network is from the target's values at the centres of the cells that it serves, or at every point if it is a circuit.
    pub(crate) fn rounding(&self) -> Option<f64> {
        self.built.rounding()
    }

    /// The claim with its badge: certified in a norm if one was asked for, else exact on the grid.
    pub(super) fn error_summary(&self) -> Result<Value> {
        if self.built.is_measured() {
            return self.measured_summary();
        }
        let claim = self.claim();
        let mut assumptions = self.assumptions.clone();
        // Nothing is known of a network that is not the one that was checked.
        let checked = claim.as_ref().map_or(Check::NotRun, |_| self.check());
        let Some(Certified { budget, baseline }) = self.certified()? else {
            // On integers, point by point.
            let badge = self.float().map_or("exact-on-grid", |_| self.badge());
            // How far the enclosures reach is not accounted for point by point.
            let proved = claim.as_ref().filter(|_| !self.is_near());
            return Ok(json!({
                "badge": proved.map(|_| badge),
                "norm": self.float().map(|_| "sup"),
                "bound": proved.map(|_| self.rounding().map_or_else(|| json!(0), |bound| json!(bound))),
                "domain": claim,
                "terms": [],
                "assumptions": assumptions,
                "baseline": {"best_constant": null},
                "measured": null,
                "checked": checked.name(),
                "checked_reason": checked.reason(),
            }));
        };
        assumptions.extend(budget.assumptions.iter().cloned());
        Ok(json!({
            "badge": self.badge(),
            "norm": budget.norm.to_string(),
            "domain": self.domain_name(),
            "bound": budget.bound,
            "method": budget.method.name(),
            "terms": budget.terms,
            "assumptions": assumptions,
            "baseline": {
                "best_constant": baseline.map(|baseline| baseline.best_constant),
                "within": baseline.map(|baseline| baseline.within),
            },
            "measured": self.measured()?.map(Measured::to_json),
            "checked": checked.name(),
            "checked_reason": checked.reason(),
        }))
    }

    /// The measured error of a trained Sumformer, and the bound of its rounding.
    fn measured_summary(&self) -> Result<Value> {
        let claimed = self.is_claimed();
        let baseline = baseline(&self.target, &self.grid, &Norm::Sup);
        let measured = if claimed { self.measured()? } else { None };
        let mean = if claimed { self.measured_mean()? } else { None };
        Ok(json!({
            "badge": claimed.then(|| self.badge()),
            "norm": Norm::Sup.to_string(),
            "domain": self.domain_name(),
            "bound": null,
            "terms": [],
            "assumptions": self.assumptions,
            "baseline": {
                "best_constant": baseline.map(|baseline| baseline.best_constant),
                "within": baseline.map(|baseline| baseline.within),
            },
            "measured": measured.map(Measured::to_json),
            "measured_mean": mean.map(Measured::to_json),
            "rounding": claimed.then(|| self.built.proved_besides(self)),
            "checked": Check::NotRun.name(),
            "checked_reason": null,
        }))
    }
}
