//! The constructions, a folder each, and their registry.
//!
//! | folder | whose | families |
//! |---|---|---|
//! | `yun` | Yun et al. 2020 and 2020b | `yun` |
//! | `circuit` | ours | `circuit` |
//! | `sumcode` | ours | `sum-code` |
//! | `median` | ours | `median` |
//! | `sumformer` | Alberti et al. 2023 | `sumformer-discrete`, `sumformer`, `learned` |
//!
//! `normal_form` has the targets that circuits of Sumformers are made of, and no network.
//!
//! Whoever adds a family from outside of this crate calls [`register`] before anything else.

mod cells;
pub mod circuit;
pub(crate) mod median;
pub(crate) mod normal_form;
pub(crate) mod sumcode;
pub mod sumformer;
pub(crate) mod yun;

#[cfg(test)]
use std::sync::Arc;
use std::sync::{PoisonError, RwLock};

use crate::error::{Error, Result};
use crate::model::Family;
#[cfg(test)]
use crate::model::{Asked, Construction};

/// The families of this crate. The first is taken where a grid is fixed and nothing else is said.
static BUILT_IN: [&dyn Family; 7] = [
    &yun::family::Yun,
    &circuit::family::Circuits,
    &sumcode::family::Coded(&sumcode::SUM_CODE),
    &median::family::Medians,
    &sumcode::family::Coded(&sumformer::discrete::SUMFORMER_DISCRETE),
    &sumformer::family::Sumformers,
    &sumformer::family::Trained,
];

/// Those that were added.
static ADDED: RwLock<Vec<&'static dyn Family>> = RwLock::new(Vec::new());

/// Every family, those of this crate first.
pub fn families() -> Vec<&'static dyn Family> {
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    BUILT_IN.iter().chain(added.iter()).copied().collect()
}

/// Adds a family. A name that is taken is refused.
pub fn register(family: &'static dyn Family) -> Result<()> {
    let name = family.name();
    if families().iter().any(|known| known.name() == name) {
        return Err(Error::input(format!("there is a construction {name} already")).note("try", "another name"));
    }
    ADDED.write().unwrap_or_else(PoisonError::into_inner).push(family);
    Ok(())
}

/// The names that an option may have.
pub(crate) fn names() -> Vec<&'static str> {
    families().into_iter().filter(|family| family.is_offered()).map(Family::name).collect()
}

#[cfg(test)]
/// This construction and no other, for a request.
pub(crate) fn only(construction: impl Construction) -> Vec<Arc<dyn Construction>> {
    vec![Arc::new(construction)]
}

#[cfg(test)]
/// Every construction that is offered, with its usual options: the plan decides.
pub(crate) fn all() -> Result<Vec<Arc<dyn Construction>>> {
    let offered = families().into_iter().filter(|family| family.is_offered());
    offered.map(|family| family.construction(&Asked::default(), None, false)).collect()
}
