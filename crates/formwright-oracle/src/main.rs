//! Checks the interval type against three references that share no code with it:
//!
//! 1. `inari`, which sets the processor's rounding mode: `+ − × ÷ √` must agree bit for bit;
//! 2. exact rational numbers: members of the operands must give members of the result;
//! 3. `dashu-float` at 128 bits, rounded down and up: exp, log, tanh, sin, cos.
//!
//! Run it from its own folder, whose `.cargo/config.toml` asks for a processor with AVX and FMA: `cargo run --release`.
//! It prints tables in Markdown. The first disagreement ends the run with both answers. The first argument scales the
//! counts (default 1; 0.01 for a quick look), the second is the seed.

mod exact;
mod random;
mod rounding_mode;
mod transcendental;

use random::Random;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let scale = arguments.next().map_or(1.0, |text| text.parse::<f64>().expect("a factor for the counts"));
    let seed = arguments.next().map_or(1, |text| text.parse::<u64>().expect("a seed"));
    let million = count(1e6 * scale);
    let mut random = Random::new(seed);
    println!("seed {seed}\n");
    rounding_mode::check(&mut random, million);
    exact::check(&mut random, million);
    transcendental::check(&mut random, count(2e5 * scale));
}

/// A positive number of cases.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few million at most
fn count(cases: f64) -> usize {
    cases.max(1.0) as usize
}
