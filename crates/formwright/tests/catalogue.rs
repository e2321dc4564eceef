//! The built-in targets are what the catalogue says they are: symmetry, continuity, slopes.

use super::support::{ON_THE_UNIT_BOX, built_in};
use formwright::lattice::Grid;
use formwright::target::{Source, Symmetry, catalogue};

/// Name, equivariant, continuous: written down by hand.
const EXPECTED: [(&str, bool, bool); 40] = [
    ("identity", true, true),
    ("complement", true, true),
    ("square", true, true),
    ("mean-centring", true, true),
    ("max-broadcast", true, true),
    ("range-broadcast", true, true),
    ("pairwise-means", true, true),
    ("distance", true, true),
    ("times-mean", true, true),
    ("gap-to-max", true, true),
    ("variance", true, true),
    ("rank", true, false),
    ("z-score", true, true),
    ("softmax", true, true),
    ("log-sum-exp", true, true),
    ("attention-pooling", true, true),
    ("l2-normalise", true, true),
    ("power-mean", true, true),
    ("sort", false, true),
    ("reverse", false, true),
    ("shift", false, true),
    ("rotate", false, true),
    ("difference", false, true),
    ("prefix-sum", false, true),
    ("prefix-mean", false, true),
    ("first", false, true),
    ("previous-token", false, true),
    ("moving-average", false, true),
    ("histogram", true, true),
    ("count-less", true, true),
    ("most-frequent", true, true),
    ("pair-balance", true, true),
    ("parity", true, true),
    ("modular-sum", true, true),
    ("sort-integers", false, true),
    ("sorted-place", false, true),
    // Equivariant all the same, but written with a gather.
    ("median", false, true),
    ("fraction-of-ones", false, true),
    ("dyck-1", false, true),
    ("addition", false, true),
];

/// The cells of a target's own box: of integers each one, else four a side.
fn own_grid(source: &Source, tokens: usize, dims: usize) -> Grid {
    let (low, high) = source.cube();
    Grid::new(tokens, dims, source.resolution().unwrap_or(4), low, high).expect("a grid")
}

#[test]
fn every_built_in_target_is_classified_rightly() {
    assert_eq!(catalogue::names().collect::<Vec<_>>(), EXPECTED.map(|(name, _, _)| name));
    for (name, equivariant, continuous) in EXPECTED {
        let source = built_in(name);
        for dims in [1, 2] {
            let target = source.target(dims).expect("a target");
            let symmetry = target.symmetry(&own_grid(&source, 4, dims));
            assert_eq!(symmetry == Symmetry::Proved, equivariant, "{name}");
            assert_eq!(target.is_continuous(4), continuous, "{name}");
        }
    }
}

#[test]
fn every_built_in_target_says_what_it_is_and_has_values_on_its_whole_domain() {
    for (name, text) in catalogue::CATALOGUE {
        let about = catalogue::about(text);
        assert!(about.ends_with('.') && about.len() > 10, "{name}: {about}");
        for (tokens, dims) in [(2, 1), (3, 1), (4, 1), (7, 1), (20, 1), (3, 2)] {
            let target = built_in(name).target(dims).expect("a target");
            let (low, high) = target.range_near(tokens).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(low <= high, "{name}");
        }
    }
}

#[test]
fn every_other_target_has_a_witness_that_refutes_it() {
    for (name, _, _) in EXPECTED.into_iter().filter(|(name, equivariant, _)| !equivariant && *name != "median") {
        let source = built_in(name);
        let target = source.target(1).expect("a target");
        let Symmetry::Refuted(witness) = target.symmetry(&own_grid(&source, 4, 1)) else {
            panic!("{name} has no witness")
        };
        let (a, b) = witness.swap;
        let swap = |mut sequence: Vec<_>| {
            sequence.swap(a, b);
            sequence
        };
        let found = target.evaluate(&swap(witness.x.clone())).expect("a value");
        let expected = swap(target.evaluate(&witness.x).expect("a value"));
        assert_eq!(found, witness.found, "{name}");
        assert_eq!(expected, witness.expected, "{name}");
        assert_ne!(found, expected, "{name}");
    }
}

/// `sup |∂f_i/∂x_k|` on `[0, 1]^3`, derived by hand; `None` where the target jumps.
fn true_slope(name: &str, i: usize, k: usize) -> Option<f64> {
    let own = |own: f64, other: f64| if i == k { own } else { other };
    let at = |place: bool, value: f64| if place { value } else { 0.0 };
    Some(match name {
        "identity" | "complement" => own(1.0, 0.0),
        "square" => own(2.0, 0.0),
        // x_i - (x_0 + x_1 + x_2)/3, and (|x_j - x_i| + |x_k - x_i|)/3
        "mean-centring" | "distance" => own(2.0 / 3.0, 1.0 / 3.0),
        // The largest, the smallest and every other place can be taken by every token.
        "max-broadcast" | "range-broadcast" | "sort" => 1.0,
        // x_i/2 + mean/2
        "pairwise-means" => own(2.0 / 3.0, 1.0 / 6.0),
        // mean + x_i/3 and x_i/3
        "times-mean" => own(4.0 / 3.0, 1.0 / 3.0),
        // 2 (max - x_i), in both directions
        "gap-to-max" => 2.0,
        // 2 (x_k - mean)/3, largest at x_k = 1 and 0 elsewhere
        "variance" => 4.0 / 9.0,
        "reverse" => at(k == 2 - i, 1.0),
        "shift" => at(i > 0 && k == i - 1, 1.0),
        "rotate" => at(k == (i + 2) % 3, 1.0),
        "difference" => at(k == i || (i > 0 && k == i - 1), 1.0),
        "prefix-sum" => at(k <= i, 1.0),
        #[expect(clippy::cast_precision_loss, reason = "three tokens")]
        "prefix-mean" => at(k <= i, 1.0 / (i as f64 + 1.0)),
        "first" => at(k == 0, 1.0),
        "rank" => return None,
        _ => panic!("the slopes of {name} are not written down"),
    })
}

/// The table is recorded in measurements/lipschitz.md.
#[test]
fn lipschitz_constants_are_within_a_factor_of_two_of_the_truth() {
    let mut within = 0;
    println!("| target | largest true slope | certified | largest ratio |\n|---|---|---|---|");
    for name in ON_THE_UNIT_BOX {
        let target = built_in(name).target(1).expect("a target");
        let certified = target.lipschitz(3, 12).expect("slopes");
        let (mut truth, mut bound, mut ratio) = (0.0_f64, 0.0_f64, 1.0_f64);
        let mut jumps = false;
        for (i, row) in certified.iter().enumerate() {
            for (k, &slope) in row.iter().enumerate() {
                let Some(expected) = true_slope(name, i, k) else {
                    assert!(slope.is_infinite() || slope == 0.0, "{name} jumps, and no slope describes that");
                    jumps = true;
                    continue;
                };
                assert!(
                    slope >= expected * (1.0 - 1e-15),
                    "{name}: ∂f_{i}/∂x_{k} is {expected}, and {slope} is certified"
                );
                assert!(slope <= 2.0 * expected, "{name}: ∂f_{i}/∂x_{k} is {expected}, and {slope} is certified");
                (truth, bound) = (truth.max(expected), bound.max(slope));
                ratio = if expected > 0.0 { ratio.max(slope / expected) } else { ratio };
            }
        }
        within += usize::from(!jumps);
        if jumps {
            println!("| {name} | it jumps | none | – |");
        } else {
            println!("| {name} | {truth:.4} | {bound:.4} | {ratio:.3} |");
        }
    }
    assert!(within >= 10, "{within}");
}
