//! From a request to a [`Model`]: the one way in for every front end.

mod asked;

use crate::error::{Error, Result};
pub(crate) use crate::model::Certified;
pub use crate::model::Own;
#[cfg(test)]
pub(crate) use crate::model::{Arithmetic, Construction, Tolerance};
pub use crate::model::{Asked, Check, Model, Request};
pub use crate::model::{Over, Stated};

/// Compiles a target by the construction that the request names, or by the first if it leaves the choice open.
pub fn compile(request: &Request) -> Result<Model> {
    let first = request.constructions.first().ok_or_else(|| Error::input("no construction may be taken"))?;
    first.compile(request)
}
