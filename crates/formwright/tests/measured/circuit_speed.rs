//! How fast the z-score circuit runs, and how near that is to what this machine can do.
//!
//! ```sh
//! cargo test --release -p formwright --lib -- --ignored --nocapture measured::circuit_speed
//! ```
//!
//! prints tokens and operations a second against the length, on one thread and on two. With `MEASURE=FOLDER` in front, the circuit is written there as ONNX
//! with inputs, our outputs and our times: `tests/parity/circuit_speed.py` lets onnxruntime run the same file and puts the two side by side.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::tests::support::report::arguments;
use formwright::construct::circuit::{Trade, Wish, compile};
use formwright::eval::float::Engine;
use formwright::exact::Rat;
use formwright::export::onnx;
use formwright::network::{FloatNetwork, Precision, Realisation};
use formwright::target::catalogue;
use serde_json::{Value, json};

const LENGTHS: [usize; 5] = [16, 64, 256, 1024, 4096];

/// Tokens of a batch.
const TOKENS: usize = 16_384;

/// For how long one thing is timed.
const LONG_ENOUGH: Duration = Duration::from_millis(700);

#[test]
#[ignore = "a measurement, not a test: minutes"]
fn is_printed() -> Result<(), Box<dyn Error>> {
    let folder = arguments().next();
    let (network, made_for) = network()?;
    let peak = [1, 2].map(multiply_and_add);
    let copy = [1, 2].map(copies);
    println!("z-score made for {made_for} tokens: {} parameters", network.size().parameters);
    println!("multiply and add: {:.1} and {:.1} Gop/s; copy: {:.1} and {:.1} GB/s", peak[0], peak[1], copy[0], copy[1]);
    println!(
        "{:>6} {:>9} {:>8} {:>12} {:>9} {:>9} {:>7}",
        "n", "sequences", "threads", "tokens/s", "op/token", "Gop/s", "share"
    );
    let mut rows: Vec<Value> = Vec::new();
    for tokens in LENGTHS {
        let operations = operations(&network, tokens);
        for sequences in [1, TOKENS / tokens] {
            let x = inputs(sequences * tokens);
            let mut out = vec![0.0; x.len()];
            let mut times = Vec::new();
            for threads in [1, 2] {
                let engine = Engine::new(&network)?.with_threads(threads)?;
                let seconds = fastest(|| engine.run_flat(tokens, &x, &mut out).expect("outputs"));
                let rate = count(sequences * tokens) / seconds;
                let giga = rate * operations.0 / 1e9;
                let share = giga / peak[threads - 1];
                let needed = operations.0;
                println!("{tokens:>6} {sequences:>9} {threads:>8} {rate:>12.0} {needed:>9.0} {giga:>9.2} {share:>7.2}");
                times.push(seconds);
            }
            rows.push(json!({"tokens": tokens, "sequences": sequences, "seconds": times,
                "operations": [operations.0, operations.1]}));
            if let Some(folder) = &folder {
                let name = format!("{tokens}-{sequences}.json");
                fs::write(Path::new(folder).join(name), json!({"inputs": x, "outputs": out}).to_string())?;
            }
        }
    }
    if let Some(folder) = folder {
        let folder = Path::new(&folder);
        fs::write(folder.join("model.onnx"), onnx::to_bytes(&network, &[], false)?)?;
        let size = network.size();
        let engine = json!({"made_for": made_for, "parameters": size.parameters.to_string(), "blocks": size.blocks.to_string(),
            "hidden": size.hidden, "width": network.width(), "multiply_and_add": peak, "copy": copy, "runs": rows});
        fs::write(folder.join("engine.json"), engine.to_string())?;
    }
    Ok(())
}

/// The circuit of the longest sequences that f32 serves at 1/100, and their length. It is let run on longer ones: the time is the same.
fn network() -> Result<(FloatNetwork, usize), Box<dyn Error>> {
    let target = catalogue::find("z-score").ok_or("no z-score")??.target(1)?;
    let checked = target.expression().ok_or("no expression")?;
    for tokens in [4096, 1024, 512, 256] {
        let wish = Wish {
            tokens,
            eps: Rat::new(1, 100),
            precision: Precision::F32,
            trade: Trade::Width,
            attention: Realisation::SOFTMAX,
        };
        if let Ok(compiled) = compile(checked, &wish) {
            return Ok((FloatNetwork { lengths: (1, LENGTHS[4]), ..compiled.network }, tokens));
        }
    }
    Err("no circuit in f32".into())
}

/// Multiplications, additions, comparisons, exponentials and divisions of a token: what is needed, and what the plain formulas have.
///
/// A head whose query is the same for every token sees the same for every token: what is needed is to look once a sequence.
fn operations(network: &FloatNetwork, tokens: usize) -> (f64, f64) {
    let (w, n) = (network.width(), count(tokens));
    let mut each = 2 * w * (network.dims() + network.output_dims());
    let (mut once, mut always) = (0, 0);
    for run in &network.runs {
        if let Some(a) = &run.attention {
            each += run.blocks * a.heads * 2 * w * (2 * a.head_size + 2 * a.value_size);
            let keys = run.blocks * a.heads * (2 * a.head_size + 2 * a.value_size + 5);
            let constant = a.q.iter().all(|q| *q == 0.0) && a.masks.iter().all(|mask| mask.relative == (None, None));
            *(if constant { &mut once } else { &mut always }) += keys;
        }
        if let Some(f) = &run.feed_forward {
            each += run.blocks * (f.hidden * (4 * w + 1) + 2 * w);
        }
    }
    let (each, once, always) = (count(each), count(once), count(always));
    (each + once + n * always, each + n * (once + always))
}

fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).expect("not so many"))
}

/// Numbers in [0, 1), spread evenly.
fn inputs(count: usize) -> Vec<f64> {
    let place = |k: usize| f64::from(u32::try_from(k).expect("not so many")) * 0.618_033_988_749_894_9;
    (0..count).map(|k| place(k).fract()).collect()
}

/// Seconds of the fastest of several runs.
fn fastest(mut run: impl FnMut()) -> f64 {
    let (start, mut best, mut runs) = (Instant::now(), f64::INFINITY, 0);
    while runs < 3 || start.elapsed() < LONG_ENOUGH {
        let begin = Instant::now();
        run();
        best = best.min(begin.elapsed().as_secs_f64());
        runs += 1;
    }
    best
}

/// The same on so many threads at once; the slowest counts.
fn on_threads(threads: usize, run: impl Fn() -> f64 + Sync) -> f64 {
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(&run)).collect();
        handles.into_iter().map(|handle| handle.join().expect("a time")).fold(0.0, f64::max)
    })
}

/// Billions of operations a second of a loop that only multiplies and adds in f32, in as many registers as there are, as this program is built.
fn multiply_and_add(threads: usize) -> f64 {
    const LANES: usize = 48;
    const TIMES: usize = 1 << 16;
    let run = || {
        let (mut x, a, b) = (black_box([1.0_f32; LANES]), black_box(0.999_f32), black_box(0.001_f32));
        let seconds = fastest(|| {
            for _ in 0..TIMES {
                for x in &mut x {
                    *x = *x * a + b;
                }
            }
            black_box(&x);
        });
        black_box(x);
        seconds
    };
    2.0 * count(LANES * TIMES) * count(threads) / on_threads(threads, run) / 1e9
}

/// Billions of bytes a second, read and written, of a copy that no cache holds.
fn copies(threads: usize) -> f64 {
    const SIZE: usize = 1 << 26;
    let run = || {
        let (from, mut to) = (vec![1_u8; SIZE], vec![0_u8; SIZE]);
        fastest(|| {
            to.copy_from_slice(black_box(&from));
            black_box(&to);
        })
    };
    2.0 * count(SIZE) * count(threads) / on_threads(threads, run) / 1e9
}
