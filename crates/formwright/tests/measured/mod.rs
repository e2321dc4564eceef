//! Measurements: each prints its tables, or writes its page of `measurements/`. They look inside, so they are part of
//! the library's test program; they take minutes, so a test run leaves them out.
//!
//! ```sh
//! cargo test --release -p formwright --lib -- --ignored --nocapture measured::rates
//! ```

mod build_cost;
mod certified;
mod circuit_speed;
mod circuits;
mod engine_speed;
mod random_programs;
mod rates;
mod realisation_speed;
mod sum_code;
mod sumformer;
mod target;
mod value_order;
