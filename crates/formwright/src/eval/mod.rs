//! Running a network.
//!
//! | file | what |
//! |---|---|
//! | `exact.rs` | layer by layer on rationals: what the explicit network does, the reference |
//! | `indexed.rs` | stage by stage in closed form: the same, without visiting layers that do nothing |

pub mod exact;
pub mod indexed;

use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::network::{Network, Sequence};

/// The states of a run: the embedding's and each stage's, by name.
pub type Trace = Vec<(&'static str, Sequence)>;

/// Refuses an input whose shape is not the network's.
pub fn check_shape(network: &Network, x: &[Vec<Rat>]) -> Result<()> {
    let (tokens, dims) = (network.tokens, network.dims());
    if x.len() != tokens {
        return Err(Error::input(format!("the sequence has {} tokens, the network expects {tokens}", x.len())));
    }
    match x.iter().position(|token| token.len() != dims) {
        Some(place) => {
            Err(Error::input(format!("token {place} has {} coordinates, the network expects {dims}", x[place].len())))
        }
        None => Ok(()),
    }
}
