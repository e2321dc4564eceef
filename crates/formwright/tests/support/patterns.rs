//! Patterns of sparse attention that tests try.

#![allow(dead_code)]

use formwright::construct::yun::Options;
use formwright::construct::yun::sparse::Sparse;
use formwright::pattern::{Connections, Family, Pattern};

/// (n, d, N)
type Triple = (usize, usize, u64);

/// A pattern by its name, for the tokens of a triple.
pub fn named(name: &str, tokens: usize) -> Pattern {
    name.parse::<Family>().expect(name).pattern(tokens).expect(name)
}

/// A path through the tokens in this order, both ways; its steps take turns with the layers of a cycle of `period`.
pub fn path(order: &[usize], period: usize) -> Pattern {
    let layer = |index: usize| {
        let mut keys: Vec<Vec<usize>> = (0..order.len()).map(|token| vec![token]).collect();
        for (step, pair) in order.windows(2).enumerate().filter(|(step, _)| step % period == index) {
            assert!(step < order.len());
            keys[pair[0]].push(pair[1]);
            keys[pair[1]].push(pair[0]);
        }
        Connections::new(keys).expect("a layer")
    };
    Pattern::new(format!("path {order:?}"), (0..period).map(layer).collect()).expect("a cycle")
}

pub fn options(pattern: Pattern) -> Options {
    let sparse = Some(Sparse::new(pattern).expect("Assumption 1"));
    Options { positional: true, sparse, ..Options::default() }
}

/// Patterns and sizes on which every sequence is tried; those of the second list have a chain that is not the tokens' own order, and cycles.
pub fn cases() -> Vec<(Pattern, Triple)> {
    let by_name: [(&str, Triple); 14] = [
        ("dense", (2, 1, 5)),
        ("dense", (3, 1, 3)),
        ("dense", (2, 2, 3)),
        ("window:1", (3, 1, 4)),
        ("window:1", (3, 2, 2)),
        ("window:1", (4, 1, 3)),
        ("window:1", (5, 1, 2)),
        ("window:2", (5, 1, 2)),
        ("star", (5, 1, 3)),
        ("star", (6, 1, 2)),
        ("strided:2", (4, 1, 3)),
        ("fixed:2", (5, 1, 2)),
        ("bigbird:1", (6, 1, 2)),
        ("random:2:3", (5, 1, 2)),
    ];
    let by_path: [(&[usize], usize, Triple); 7] = [
        (&[0, 2, 1], 2, (3, 1, 4)),
        (&[1, 0, 2], 2, (3, 2, 2)),
        (&[0, 2, 1, 3], 2, (4, 1, 3)),
        (&[2, 0, 3, 1], 3, (4, 1, 2)),
        (&[1, 3, 0, 2, 4], 2, (5, 1, 2)),
        (&[4, 1, 3, 0, 2], 4, (5, 1, 2)),
        (&[1, 0], 2, (2, 2, 2)),
    ];
    let mut cases: Vec<(Pattern, Triple)> =
        by_name.into_iter().map(|(name, triple)| (named(name, triple.0), triple)).collect();
    cases.extend(by_path.into_iter().map(|(order, period, triple)| (path(order, period), triple)));
    cases
}
