//! The ground that every rule stands on, without any acceleration: to be read in one evening.
//!
//! | file | what |
//! |---|---|
//! | `number.rs` | dyadic numbers, fractions, intervals, functions on intervals |
//! | `format.rs` | floating-point formats |
//! | `sum.rs` | sums in any order, and one rounding |
//! | `softmax.rs` | exponentials and shares |
//! | `piecewise.rs` | sums of ReLUs of one number |
//! | `function.rs` | functions of one variable: values, slopes and second derivatives |
//! | `form.rs` | affine forms |

pub mod form;
pub mod format;
pub mod function;
pub mod number;
pub mod piecewise;
pub mod softmax;
pub mod sum;
