//! Parts that the tests of the lab share.
#![allow(dead_code, reason = "each test uses some of it")]
#![allow(clippy::cast_precision_loss, reason = "sizes of small models")]

pub mod gradient;
pub mod quiet;
pub mod reference;
pub mod weights;
