//! Lemma 6 and Lemma 10: the contextual map, on every point of the extended grid.

use std::collections::BTreeMap;

use super::support::{Triple, grid, triples};
use formwright::construct::yun::context::{ContextMap, Positions, interval};
use formwright::construct::yun::value::largest_entry;
use formwright::exact::{Int, Rat};
use formwright::lattice::{Extended, Grid, increasing_tuples};
use formwright::network::{Generator, Sequence, dot};

/// Twenty-six triples; the first seventeen have 20 contexts of distinct columns or more.
const TRIPLES: [Triple; 26] = [
    (2, 1, 7),
    (2, 1, 9),
    (2, 1, 16),
    (2, 2, 3),
    (2, 2, 4),
    (2, 2, 5),
    (2, 3, 2),
    (2, 3, 3),
    (3, 1, 6),
    (3, 1, 8),
    (3, 1, 16),
    (3, 2, 3),
    (3, 3, 2),
    (4, 1, 7),
    (4, 1, 9),
    (4, 2, 3),
    (5, 1, 7),
    (2, 1, 2),
    (2, 1, 4),
    (3, 1, 3),
    (3, 1, 4),
    (3, 2, 2),
    (4, 1, 4),
    (4, 2, 2),
    (5, 1, 6),
    (6, 1, 6),
];

/// The state that the quantiser makes of a point of the extended grid.
fn state(point: &[Vec<Extended>], flag: &Rat) -> Sequence {
    let entry = |entry: &Extended| match entry {
        Extended::Cell(k) => Rat::from(*k),
        Extended::Flag => -flag.clone(),
    };
    point.iter().map(|column| column.iter().map(entry).collect()).collect()
}

/// The ids of a context by the formula `l̃_j = l_j + Σ_{k<j} D^k (l_{j-k} - l_{j-k+1}) + D^j (l_n - l_1)`, before the last layer.
fn shifted(l: &[Int], columns: &Int) -> Vec<Int> {
    let n = l.len();
    (1..=n)
        .map(|j| {
            let steps = (1..j).map(|k| columns.pow(k) * (&l[j - k - 1] - &l[j - k]));
            steps.fold(&l[j - 1] + columns.pow(j) * (&l[n - 1] - &l[0]), |sum, step| sum + step)
        })
        .collect()
}

fn check_properties(grid: &Grid) {
    let (n, columns) = (grid.tokens(), grid.columns());
    let map = ContextMap::new(grid, Positions::None);
    let flag = Rat::from(grid.resolution()) * Rat::from(grid.points());
    let (low, high) = interval(grid);
    let (low, high) = (Rat::from(low), Rat::from(high));
    let most = largest_entry(grid, &flag);
    let mut owner: BTreeMap<Rat, Vec<Int>> = BTreeMap::new();
    let mut contexts = 0;
    for point in grid.all_extended_points() {
        let after = map.global.closed_form(map.sweep.closed_form(state(&point, &flag)).expect("a run")).expect("a run");
        assert!(after.iter().flatten().all(|entry| *entry <= most), "M is too small at {point:?}");
        let ids: Vec<Rat> = after.iter().map(|token| dot(&map.sweep.u, token)).collect();
        let distinct = (1..n).all(|j| !point[..j].contains(&point[j]));
        if !distinct || point.iter().flatten().any(|entry| *entry == Extended::Flag) {
            assert!(ids.iter().all(|id| *id < low || *id > high), "property 4 fails at {point:?}");
            continue;
        }
        assert!(ids.iter().all(|id| *id >= low && *id < high), "property 3 fails at {point:?}");
        let column = |column: &Vec<Extended>| {
            let cells: Vec<u64> =
                column.iter().map(|entry| if let Extended::Cell(k) = entry { *k } else { 0 }).collect();
            grid.id(&cells)
        };
        let before: Vec<Int> = point.iter().map(column).collect();
        let mut sorted = before.clone();
        sorted.sort();
        let expected = shifted(&sorted, &columns);
        let top = &expected[n - 1] * &columns.pow(n + 1);
        for (id, l) in ids.iter().zip(&before) {
            let place = sorted.iter().position(|other| other == l).expect("one of them");
            assert_eq!(*id, Rat::from(&expected[place] + &top), "closed form at {point:?}");
        }
        // Property 1, and property 2: an id belongs to one context, and inside it to one column.
        let mut unique = ids.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), n, "property 1 fails at {point:?}");
        for id in ids {
            let context = owner.entry(id).or_insert_with(|| sorted.clone());
            assert_eq!(*context, sorted, "property 2 fails at {point:?}");
        }
        contexts += usize::from(before == sorted);
    }
    assert_eq!(Int::from(contexts), grid.contexts());
    assert_eq!(Int::from(owner.len()), Int::from(n) * grid.contexts());
}

#[test]
fn properties_hold_on_every_point_of_the_extended_grid() {
    let rich = TRIPLES.iter().filter(|&&triple| grid(triple).contexts() >= Int::from(20)).count();
    assert!(TRIPLES.len() >= 20 && rich >= 12, "{} triples, {rich} of them rich", TRIPLES.len());
    for triple in TRIPLES {
        check_properties(&grid(triple));
    }
}

#[test]
fn ids_equal_the_recurrence() {
    for triple in TRIPLES {
        let grid = grid(triple);
        let (n, columns) = (grid.tokens(), grid.columns());
        let map = ContextMap::new(&grid, Positions::None);
        for l in increasing_tuples(&Int::ZERO, columns.clone(), n) {
            let mut shifted = vec![&l[0] + &columns * (&l[n - 1] - &l[0])];
            for j in 1..n {
                shifted.push(&l[j] + &columns * (&shifted[j - 1] - &l[j]));
            }
            let ids = shifted.iter().map(|id| Rat::from(id + columns.pow(n + 1) * &shifted[n - 1]));
            assert_eq!(map.context(l).ids, ids.collect::<Vec<_>>());
        }
    }
}

#[test]
fn lemma10_bounds_hold_and_the_sharper_ones_too() {
    for triple in TRIPLES {
        let grid = grid(triple);
        let (n, columns) = (grid.tokens(), grid.columns());
        let below = &columns - Int::ONE;
        let upper = columns.pow(n) * &below - below.pow(2);
        let sharp = Int::from(n - 1) * (columns.pow(n) + Int::ONE) - (columns.pow(n) - &columns).div_rem(&below).0;
        assert!(sharp >= columns.pow(n - 1) * &below);
        let tops: Vec<Int> =
            increasing_tuples(&Int::ZERO, columns.clone(), n).map(|l| shifted(&l, &columns)[n - 1].clone()).collect();
        if let (Some(least), Some(most)) = (tops.iter().min(), tops.iter().max()) {
            assert_eq!(*least, sharp, "the sharper lower bound is attained");
            assert!(*most <= upper);
            assert_eq!(*most == upper, n == 2, "the upper bound is attained only for two tokens");
        }
    }
}

#[test]
fn contexts_are_listed_by_decreasing_id() {
    for triple in triples(729) {
        let grid = grid(triple);
        for positions in [Positions::None, Positions::Repaired, Positions::Printed] {
            let map = ContextMap::new(&grid, positions.clone());
            let listed: Vec<Vec<Int>> = map.descending().map(|context| context.columns).collect();
            let mut sorted: Vec<(Option<Rat>, Vec<Int>)> =
                map.lexicographic().map(|context| (context.ids.iter().max().cloned(), context.columns)).collect();
            sorted.sort_by(|a, b| b.cmp(a));
            let sorted: Vec<Vec<Int>> = sorted.into_iter().map(|(_, columns)| columns).collect();
            assert_eq!(listed, sorted, "{triple:?}, {positions:?}");
        }
    }
}

#[test]
fn every_id_is_found_again_and_nothing_else_is() {
    for triple in [(2, 1, 5), (3, 1, 4), (2, 2, 2), (2, 1, 2), (3, 2, 2)] {
        let grid = grid(triple);
        for positions in [Positions::None, Positions::Repaired, Positions::Printed] {
            let map = ContextMap::new(&grid, positions.clone());
            let mut known: BTreeMap<Rat, (Vec<Int>, usize)> = BTreeMap::new();
            for context in map.lexicographic() {
                for (token, id) in context.ids.iter().enumerate() {
                    assert!(
                        known.insert(id.clone(), (context.columns.clone(), token)).is_none(),
                        "two tokens share {id}"
                    );
                }
            }
            // Every known id, its neighbours, and a stretch of small numbers.
            let neighbours =
                known.keys().flat_map(|id| [id - &Rat::ONE, id.clone(), id + &Rat::ONE, id + &Rat::new(1, 2)]);
            for id in neighbours.chain((-3..300).map(Rat::from)).collect::<Vec<_>>() {
                let found = map.locate(&id).map(|(context, token)| (context.columns, token));
                assert_eq!(found, known.get(&id).cloned(), "{triple:?}, {positions:?}, id {id}");
            }
        }
    }
}

#[test]
fn multiplicities_are_invisible() {
    let grid = grid((3, 1, 4));
    let map = ContextMap::new(&grid, Positions::None);
    let ids = |l: [i32; 3]| {
        let state: Sequence = l.iter().map(|&id| vec![Rat::from(id)]).collect();
        map.global.closed_form(map.sweep.closed_form(state).expect("a run")).expect("a run").concat()
    };
    assert_eq!(ids([0, 0, 1]), [3332, 3332, 3341].map(Rat::from));
    assert_eq!(ids([0, 1, 1]), [3332, 3341, 3341].map(Rat::from));
}
