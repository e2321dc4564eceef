//! How fast the evaluator of float networks is, on compiled networks of about 100, 1,000 and 10,000 blocks.
//!
//! ```sh
//! RAYON_NUM_THREADS=1 cargo run --release --example engine_speed [-- FOLDER]
//! ```
//!
//! prints microseconds a block, for batches of 1 and of 1024 sequences. With a folder, every network is written there as ONNX, with inputs
//! and our outputs, and the numbers as JSON: `tests/parity/compare.py` runs onnxruntime on the same files and puts the two side by side.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use formwright::construct::yun::Options;
use formwright::construct::yun::lower::Lowering;
use formwright::eval::float::{Engine, Sequence};
use formwright::export::onnx;
use formwright::lattice::Grid;
use formwright::lower::Format;
use formwright::network::Precision;
use formwright::target::Source;
use serde_json::{Value, json};

/// Cells a side: with two tokens of one coordinate, N of them make about N² blocks.
const SIDES: [u64; 3] = [9, 31, 99];

/// Sequences that are run together.
const BATCHES: [u32; 2] = [1, 1024];

/// For how long one thing is timed.
const LONG_ENOUGH: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1);
    let target = Arc::new(Source::expression("f", "x * max(x)")?.target(1)?);
    let mut rows: Vec<Value> = Vec::new();
    println!("{:>7} {:>9} {:>9} {:>9}    us a block for a batch", "blocks", "ready s", "of 1", "of 1024");
    for side in SIDES {
        let grid = Grid::unit(2, 1, side)?;
        let lowering = Lowering::derive(&grid, &target, &Options::default(), Format::literal(Precision::F64))?;
        let network = lowering.lower(&lowering.exact(&grid, &target)?)?;
        let size = network.size();
        let blocks: f64 = size.blocks.to_string().parse()?;
        let start = Instant::now();
        let engine = Engine::new(&network)?;
        let ready = start.elapsed().as_secs_f64();
        let mut times = Vec::new();
        for count in BATCHES {
            let batch: Vec<Sequence> = (0..count).map(sequence).collect();
            times.push(1e6 * fastest(|| engine.run(&batch).map(drop))? / blocks);
        }
        println!("{blocks:>7} {ready:>9.4} {:>9.3} {:>9.3}", times[0], times[1]);
        if let Some(folder) = &folder {
            let batch: Vec<Sequence> = (0..BATCHES[1]).map(sequence).collect();
            let place = Path::new(folder).join(side.to_string());
            fs::create_dir_all(&place)?;
            fs::write(place.join("model.onnx"), onnx::to_bytes(&network, &[], false)?)?;
            fs::write(place.join("inputs.json"), json!(batch).to_string())?;
            fs::write(place.join("outputs.json"), json!(engine.run(&batch)?).to_string())?;
            rows.push(json!({
                "name": side.to_string(),
                "blocks": blocks,
                "layers": (&size.attention_layers + &size.feed_forward_layers).to_string(),
                "ready_s": ready,
                "us_a_block": times,
                "rounding": lowering.losses.rounding,
            }));
        }
    }
    if let Some(folder) = folder {
        fs::write(Path::new(&folder).join("engine.json"), json!({"batches": BATCHES, "networks": rows}).to_string())?;
    }
    Ok(())
}

/// Two places in the unit interval, spread evenly over all of them.
fn sequence(i: u32) -> Sequence {
    [0.618_033_988_749_894_9, 0.754_877_666_246_692_8].map(|step| vec![(f64::from(i) * step + 0.3).fract()]).to_vec()
}

/// Seconds of the fastest of several runs.
fn fastest(mut run: impl FnMut() -> formwright::error::Result<()>) -> formwright::error::Result<f64> {
    let (start, mut best, mut runs) = (Instant::now(), f64::INFINITY, 0);
    while runs < 3 || start.elapsed() < LONG_ENOUGH {
        let begin = Instant::now();
        run()?;
        best = best.min(begin.elapsed().as_secs_f64());
        runs += 1;
    }
    Ok(best)
}
