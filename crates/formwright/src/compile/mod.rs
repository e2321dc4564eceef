//! From a request to a [`Model`]: the one way in for every front end.

mod asked;

use crate::error::{Error, Result};
pub use crate::model::{
    Arithmetic, Asked, Built, Certified, Check, Construction, Model, Over, Own, Request, StageSummary, Stated,
    Tolerance,
};

/// Compiles a target by the construction that the request names, or by the first if it leaves the choice open.
pub fn compile(request: &Request) -> Result<Model> {
    let first = request.constructions.first().ok_or_else(|| Error::input("no construction may be taken"))?;
    first.compile(request)
}
