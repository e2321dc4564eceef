//! How fast one Sumformer runs with each kind of attention, against the number of tokens.
//!
//! ```sh
//! cargo test --release -p formwright --lib -- --ignored --nocapture measured::realisation_speed
//! ```
//!
//! prints sequences a second, on one thread, of `x * mean(x^2)` in `f32`: φ and ψ are the same in every column and in every row (those compiled for 512
//! tokens), only the head differs. Two columns are softmax: as the network is, where the engine sees that every query is the same and
//! looks once; and with queries and keys that depend on the token, which computes something else, and takes the time that softmax takes in general.

use std::error::Error;
use std::time::{Duration, Instant};

use formwright::construct::circuit::{Trade, Wish, compile};
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::lower::realise::realise;
use formwright::network::{FloatNetwork, Precision, Realisation};
use formwright::target::Source;

const LENGTHS: [usize; 10] = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

const KINDS: [&str; 6] = ["softmax", "average", "linformer:1", "linformer:16", "performer:1", "performer:16"];

/// Tokens of a batch.
const TOKENS: usize = 8192;

/// For how long one thing is timed.
const LONG_ENOUGH: Duration = Duration::from_millis(400);

#[test]
#[ignore = "a measurement, not a test: minutes"]
fn is_printed() -> Result<(), Box<dyn Error>> {
    let network = network()?;
    println!("| n | softmax in general | {} |", KINDS.join(" | "));
    println!("|---|---|{}", "---|".repeat(KINDS.len()));
    for tokens in LENGTHS {
        let network = FloatNetwork { tokens, lengths: (tokens, tokens), ..network.clone() };
        let mut cells = vec![rate(&in_general(&network), tokens)?];
        for kind in KINDS {
            cells.push(rate(&realise(&network, &kind.parse()?)?, tokens)?);
        }
        println!("| {tokens} | {} |", cells.join(" | "));
    }
    Ok(())
}

/// `ψ(x, Σ φ)` with `φ(x) = x²` and a product for `ψ`.
fn network() -> Result<FloatNetwork, Box<dyn Error>> {
    let target = Source::expression("sumformer", "x * mean(x^2)")?.target(1)?;
    let checked = target.expression().ok_or("no expression")?;
    let wish = Wish {
        tokens: 512,
        eps: Rat::new(1, 1000),
        precision: Precision::F32,
        trade: Trade::Width,
        attention: Realisation::SOFTMAX,
    };
    Ok(compile(checked, &wish)?.network)
}

/// The same network with scores that differ.
fn in_general(network: &FloatNetwork) -> FloatNetwork {
    let mut network = network.clone();
    for attention in network.runs.iter_mut().filter_map(|run| run.attention.as_mut()) {
        attention.q.fill(0.5);
        attention.k.fill(0.5);
    }
    network
}

/// Sequences a second: those of the fastest of several runs over a batch.
fn rate(network: &FloatNetwork, tokens: usize) -> Result<String, Box<dyn Error>> {
    let engine = Engine::new(network)?.with_threads(1)?;
    let sequences = (TOKENS / tokens).max(1);
    let place = |k: usize| f64::from(u32::try_from(k).expect("not so many")) * 0.618_033_988_749_894_9;
    let x: Vec<f64> = (0..sequences * tokens).map(|k| place(k).fract()).collect();
    let mut out = vec![0.0; x.len()];
    let (start, mut best, mut runs) = (Instant::now(), f64::INFINITY, 0);
    while runs < 3 || start.elapsed() < LONG_ENOUGH {
        let begin = Instant::now();
        engine.run_flat(tokens, &x, &mut out)?;
        best = best.min(begin.elapsed().as_secs_f64());
        runs += 1;
    }
    Ok(format!("{:.0}", f64::from(u32::try_from(sequences)?) / best))
}
