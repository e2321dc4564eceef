//! From Rust: a target and a tolerance in, a network and what is proved of it out.
//!
//! ```text
//! cargo run --release -p formwright --example from_rust
//! ```

use formwright::artifact::read_target;
use formwright::compile::{Asked, compile};
use formwright::error::Result;
use formwright::eval::float::Engine;

/// Compiles, runs and looks inside.
pub fn main() -> Result<()> {
    let asked = Asked {
        construction: Some("circuit".into()),
        tokens: Some(3),
        eps: Some("1/100".into()),
        norm: Some("sup".into()),
        ..Asked::default()
    };
    let model = compile(&asked.request(read_target("x * mean(x)")?)?)?;
    let bound = model.certified()?.map_or(f64::INFINITY, |certified| certified.budget.bound);
    println!("{}, {} parameters: off by at most {bound:.1e}", model.construction(), model.size().parameters);
    let (x, network) =
        (vec![vec![0.1], vec![0.5], vec![0.9]], model.float().expect("a circuit is a network of floats"));
    let engine = Engine::new(network)?;
    for (stage, state) in engine.trace_batch(std::slice::from_ref(&x))? {
        println!("{stage}: {:?}", state[0]);
    }
    let y = engine.run(std::slice::from_ref(&x))?.remove(0);
    for (x, y) in x.iter().zip(&y) {
        println!("{} times the mean 0.5 is about {}", x[0], y[0]);
        assert!((y[0] - x[0] * 0.5).abs() <= bound);
    }
    Ok(())
}
