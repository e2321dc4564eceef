//! Yun et al. 2020b: the contextual map of `construct/yun/context/sparse.rs`, under a pattern that satisfies Assumption 1. It
//! has positions, by the pattern's chain.

use super::mixer::Map;
use super::set::Set;
use crate::construct::yun::sparse::Sparse;
use crate::construct::yun::{Options, context_map};
use crate::error::{Error, Result};
use crate::pattern::Pattern;

/// The map under a pattern; a pattern that does not satisfy Assumption 1 is declined.
pub(super) fn map(set: &Set, name: &str) -> Result<Map> {
    let grid = set.grid.clone();
    let pattern = Pattern::named(name, grid.tokens())?;
    let (found, tokens) = (pattern.tokens(), grid.tokens());
    if found != tokens {
        return Err(Error::input(format!("the pattern {name} is for {found} tokens, and the sequences have {tokens}"))
            .note("try", format!("⟨tokens={found}⟩")));
    }
    let options = Options { positional: true, sparse: Some(Sparse::new(pattern)?), ..Options::default() };
    let map = context_map(&grid, &options);
    Ok(Box::new(move |point| map.context(point.iter().map(|column| grid.id(column)).collect()).ids))
}
