//! How fast targets are evaluated and bounded.
//!
//! ```sh
//! cargo test --release -p formwright --lib -- --ignored --nocapture measured::target
//! ```
//!
//! `measurements/benchmarks.md` holds a run with its date.

use criterion::{BenchmarkId, Criterion, Throughput};
use formwright::bound::piecewise::{Question, bound};
use formwright::exact::Rat;
use formwright::interval::dual::Order;
use formwright::lattice::Grid;
use formwright::target::modulus::subdivide;
use formwright::target::{Checked, Expression, Source};

const TOKENS: usize = 8;

const EXPRESSIONS: [(&str, &str); 5] = [
    ("centring", "x - mean(x)"),
    ("z-score", "(x - mean(x)) / sqrt(var(x) + 1/10)"),
    ("softmax", "exp(x) / sum(exp(x))"),
    ("sort", "sort(x)"),
    ("prefix-sum", "sum(x, j <= i)"),
];

fn checked(text: &str) -> Checked {
    Expression::parse(text).and_then(|expression| expression.check(1)).expect("a target")
}

/// Sequences a second, in each kind of number.
fn evaluation(c: &mut Criterion) {
    for (name, text) in EXPRESSIONS {
        let target = checked(text);
        let exact: Vec<Vec<Rat>> = (0..TOKENS).map(|k| vec![Rat::new(5 * k % 8, 9)]).collect();
        let float: Vec<Vec<f64>> = exact.iter().map(|token| token.iter().map(Rat::to_f64).collect()).collect();
        let cube = subdivide(&target.domain_box(TOKENS), 16).swap_remove(12345);
        let mut group = c.benchmark_group(format!("{name}, n={TOKENS}"));
        group.throughput(Throughput::Elements(1));
        group.bench_function("f64", |b| b.iter(|| target.evaluate_f64(&float)));
        group.bench_function("interval", |b| b.iter(|| target.enclose(&cube).expect("values")));
        group.bench_function("slopes", |b| b.iter(|| target.slopes(&cube, Order::First).expect("slopes")));
        if target.evaluate_exact(&exact).is_ok() {
            group.bench_function("exact", |b| b.iter(|| target.evaluate_exact(&exact).expect("values")));
        }
    }
}

/// Cells a second of the cell-wise bound.
fn cells(c: &mut Criterion) {
    let target = Source::expression("f", "x * max(x) + var(x)").and_then(|source| source.target(1)).expect("a target");
    for (tokens, resolution) in [(2, 128), (3, 24)] {
        let grid = Grid::unit(tokens, 1, resolution).expect("a grid");
        let cells = grid.points().to_u64().expect("few");
        let mut group = c.benchmark_group(format!("cell-wise bound, n={tokens}, {cells} cells"));
        group.throughput(Throughput::Elements(cells)).sample_size(10);
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let question = Question { target: &target, grid: &grid, positional: false, lipschitz: None };
            let norm = "l2".parse().expect("a norm");
            group.bench_function(BenchmarkId::new("threads", threads), |b| {
                b.iter(|| pool.install(|| bound(question, &norm).expect("a bound")));
            });
        }
    }
}

#[test]
#[ignore = "a measurement, not a test: minutes"]
fn is_printed() {
    let mut criterion = Criterion::default();
    evaluation(&mut criterion);
    cells(&mut criterion);
}
