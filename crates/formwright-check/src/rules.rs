//! The rules by which obligations are proved, a file a rule, each with its theorem: CERTIFICATE.md, sections 6 and 7.
//!
//! | folder | what |
//! |---|---|
//! | `points.rs`, `points/` | all executions at once, from sets of inputs |
//! | `median.rs` | the median of networks side by side |
//! | `power.rs` | powers of errors |
//! | `sweep.rs` | how far a sweep of shifts can carry tokens |
//! | `lines.rs`, `lines/` | what registers mean, line by line |

pub mod lines;
pub mod median;
pub mod points;
pub mod power;
pub mod sweep;
