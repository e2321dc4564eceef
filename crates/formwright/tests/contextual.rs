//! Contextual mappings: verdicts against a comparison of all pairs, maps against layers and closed forms, the counterexamples in numbers.

use formwright::construct::yun::context::{ContextMap, Positions, selective_shift};
use formwright::contextual::{Answer, Definition, Inquiry, Mixer, Pair, Set};
use formwright::error::ErrorKind;
use formwright::eval::exact;
use formwright::exact::{Int, Rat};
use formwright::lattice::{Grid, Point};
use formwright::network::{Generator, Sequence, dot};
use formwright::pattern::{Assumptions, Family, Pattern};

/// Tokens, coordinates, cells a side.
type Shape = (usize, usize, u64);

fn asked(mixer: &str, (tokens, dims, resolution): Shape, set: &str, positional: bool) -> Inquiry {
    Inquiry {
        mixer: mixer.to_owned(),
        set: Some(set.to_owned()),
        tokens: Some(tokens),
        dims: Some(dims),
        resolution: Some(resolution),
        positional,
        ..Inquiry::default()
    }
}

fn answer(mixer: &str, shape: Shape, set: &str, positional: bool) -> Answer {
    asked(mixer, shape, set, positional).answer().expect(mixer)
}

/// The definitions that hold, the strongest first.
fn holding(answer: &Answer) -> Vec<Definition> {
    Definition::ALL.into_iter().filter(|definition| answer.holds(*definition)).collect()
}

fn values(answer: &Answer, resolution: u64) -> Vec<Vec<Rat>> {
    answer.mixer.values(&answer.set, resolution, answer.positional).expect("a map")
}

fn whole(numbers: &[i64]) -> Sequence {
    numbers.iter().map(|x| vec![Rat::from(*x)]).collect()
}

fn is_permutation(a: &Point, b: &Point) -> bool {
    let count = |of: &Point, column: &Vec<u64>| of.iter().filter(|other| *other == column).count();
    a.iter().all(|column| count(a, column) == count(b, column))
}

/// True if two tokens must have different numbers, as the definitions are written.
fn must_differ(definition: Definition, points: &[Point], (s, i): (usize, usize), (t, j): (usize, usize)) -> bool {
    match definition {
        Definition::Paper => (s, i) != (t, j),
        Definition::Permutation if s == t => i != j,
        Definition::Columns if s == t => points[s][i] != points[s][j],
        Definition::Permutation | Definition::Columns => !is_permutation(&points[s], &points[t]),
    }
}

/// The least distance over all pairs, one by one.
fn margin(definition: Definition, points: &[Point], q: &[Vec<Rat>]) -> Option<Rat> {
    let places: Vec<(usize, usize)> = (0..q.len()).flat_map(|s| (0..q[s].len()).map(move |i| (s, i))).collect();
    let mut least: Option<Rat> = None;
    for (k, a) in places.iter().enumerate() {
        for b in &places[..k] {
            if must_differ(definition, points, *a, *b) {
                let distance = (&q[a.0][a.1] - &q[b.0][b.1]).abs();
                least = Some(least.map_or_else(|| distance.clone(), |least| least.min(distance.clone())));
            }
        }
    }
    least
}

const MIXERS: [&str; 15] = [
    "attention",
    "attention:2",
    "feed-forward-only",
    "sum-code",
    "average",
    "linformer:3",
    "linformer:2:gaussian",
    "performer:2",
    "ff-average",
    "ff-linformer:2:gaussian",
    "sumformer:7",
    "bproj:3",
    "sepconv:3:2",
    "sepconv:5:2",
    "sparse:star",
];

#[test]
fn verdicts_and_margins_equal_a_comparison_of_all_pairs() {
    let mut verdicts = [0; 2];
    for shape in [(2, 1, 2), (2, 1, 5), (3, 1, 3), (3, 1, 4), (2, 2, 2), (4, 1, 2)] {
        for mixer in MIXERS {
            for set in ["grid", "distinct"] {
                for positional in [false, true] {
                    let Ok(found) = asked(mixer, shape, set, positional).answer() else { continue };
                    let q = values(&found, shape.2);
                    for (definition, pair) in &found.found {
                        let expected = margin(*definition, &found.set.points, &q);
                        assert_eq!(pair.as_ref().map(Pair::distance), expected, "{mixer} {shape:?} {set} {definition}");
                        let holds = expected.is_none_or(|margin| !margin.is_zero());
                        assert_eq!(found.holds(*definition), holds);
                        verdicts[usize::from(holds)] += 1;
                    }
                }
            }
        }
    }
    assert!(verdicts[0] > 200 && verdicts[1] > 200, "both verdicts occur: {verdicts:?}");
}

/// The ids after the layers of Lemma 6 or of Theorem 3, one by one, with so many windows a layer.
fn by_layers(grid: &Grid, positions: Positions, together: usize, point: &Point) -> Vec<Rat> {
    let map = ContextMap::new(grid, positions);
    let place = |token: usize| Rat::from(map.position(token)) * Rat::from(grid.resolution());
    let coordinate = |token: usize, x: &u64| Rat::from(*x) + place(token);
    let mut state: Sequence =
        point.iter().enumerate().map(|(token, column)| column.iter().map(|x| coordinate(token, x)).collect()).collect();
    if together == 1 {
        map.sweep.layers().for_each(|layer| exact::apply(&layer.expect("a layer"), &mut state));
    } else {
        for run in &map.sweep.windows {
            let end = &run.start + &run.count;
            for first in run.start.up_to(&end).step_by(together) {
                let last = Rat::from(&first + Int::from(together)).min(Rat::from(&end));
                let ends = [Rat::from(first), last].map(|end| end - Rat::new(1, 2));
                exact::apply(&selective_shift(&map.sweep.u, &ends, Rat::from(&map.sweep.scale)), &mut state);
            }
        }
    }
    map.global.layers().for_each(|layer| exact::apply(&layer.expect("a layer"), &mut state));
    state.iter().map(|token| dot(&map.sweep.u, token)).collect()
}

#[test]
fn the_attention_stack_is_its_layers() {
    for shape in [(2, 1, 4), (3, 1, 4), (2, 2, 3), (4, 1, 3)] {
        for together in [1, 2, 3] {
            for positional in [false, true] {
                let found = answer(&format!("attention:{together}"), shape, "grid", positional);
                let positions = if positional { Positions::Repaired } else { Positions::None };
                for (point, q) in found.set.points.iter().zip(values(&found, shape.2)) {
                    assert_eq!(
                        q,
                        by_layers(&found.set.grid, positions.clone(), together, point),
                        "{shape:?} {together} {point:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_attention_stack_is_contextual_on_distinct_columns_without_any_other_layer() {
    for shape in [(2, 1, 2), (2, 1, 16), (3, 1, 8), (2, 2, 4), (4, 1, 6), (3, 2, 3)] {
        assert_eq!(
            holding(&answer("attention-only", shape, "distinct", false)),
            [Definition::Permutation, Definition::Columns]
        );
        assert_eq!(holding(&answer("attention", shape, "grid", true)), Definition::ALL, "{shape:?}");
    }
    // Maximum and minimum cannot count: for three tokens and equal columns nothing is left.
    assert!(holding(&answer("attention", (3, 1, 4), "grid", false)).is_empty());
    assert_eq!(holding(&answer("attention", (2, 1, 4), "grid", false)), [Definition::Columns]);
}

#[test]
fn two_windows_a_layer_confuse_two_contexts_of_three_tokens_and_none_of_two() {
    let mut asked = asked("attention:2", (3, 1, 4), "distinct", false);
    asked.definition = Some("permutation".to_owned());
    let found = asked.answer().expect("an answer");
    let pair = found.counterexample().expect("a counterexample");
    assert_eq!(pair.sequences, [whole(&[0, 1, 3]), whole(&[0, 2, 3])]);
    assert_eq!((pair.tokens, &pair.values), ([0, 0], &[Rat::from(11020), Rat::from(11020)]));
    for resolution in 2..=16 {
        let wide = answer(&format!("attention:{resolution}"), (2, 1, resolution), "distinct", false);
        assert!(wide.holds(Definition::Permutation), "{resolution}");
    }
}

#[test]
fn with_positions_all_windows_of_a_token_fit_into_one_layer() {
    for (shape, columns) in [((2, 1, 8), 8), ((3, 1, 4), 4), ((4, 1, 3), 3), ((3, 2, 2), 4), ((6, 1, 2), 2)] {
        let [literal, packed] =
            [1, columns].map(|windows| values(&answer(&format!("attention:{windows}"), shape, "grid", true), shape.2));
        assert_eq!(literal, packed, "{shape:?}");
    }
}

#[test]
fn feed_forward_layers_alone_see_no_context() {
    for positional in [false, true] {
        let found = answer("feed-forward-only", (3, 1, 4), "distinct", positional);
        assert!(holding(&found).is_empty());
        let pair = found.counterexample().expect("a counterexample");
        let [a, b] = [0, 1].map(|k| &pair.sequences[k][pair.tokens[k]]);
        assert!(a == b && pair.sequences[0] != pair.sequences[1]);
    }
}

/// Compares the names that tokens' numbers stand for, for all pairs of tokens.
fn names<T: PartialEq>(found: &Answer, resolution: u64, name: impl Fn(&Point, usize) -> T) {
    let (points, q) = (&found.set.points, values(found, resolution));
    for (s, point) in points.iter().enumerate() {
        for (t, other) in points.iter().enumerate() {
            for i in 0..point.len() {
                for j in 0..other.len() {
                    let same = name(point, i) == name(other, j);
                    assert_eq!(q[s][i] == q[t][j], same, "{} {point:?} {i} {other:?} {j}", found.mixer);
                }
            }
        }
    }
}

#[test]
fn sums_name_a_token_and_the_sums_and_codes_name_the_multiset() {
    for shape in [(3, 1, 4), (2, 2, 3), (4, 1, 3)] {
        let sums = |point: &Point| -> Vec<u64> {
            (0..point[0].len()).map(|row| point.iter().map(|column| column[row]).sum()).collect()
        };
        let multiset = |point: &Point| {
            let mut sorted = point.clone();
            sorted.sort();
            sorted
        };
        for mixer in ["average", "linformer:2", "performer:3"] {
            names(&answer(mixer, shape, "grid", false), shape.2, |point, i| (point[i].clone(), sums(point)));
            names(&answer(mixer, shape, "grid", true), shape.2, |point, i| (i, point[i].clone(), sums(point)));
            let coded = format!("ff-{mixer}");
            for mixer in [coded.as_str(), "sum-code"] {
                names(&answer(mixer, shape, "grid", false), shape.2, |point, i| (point[i].clone(), multiset(point)));
                names(&answer(mixer, shape, "grid", true), shape.2, |point, i| (i, point.clone()));
            }
        }
        // Weights that depend on the place name the whole sequence, and yet they give equal tokens equal numbers.
        let found = answer("linformer:2:gaussian", shape, "grid", false);
        names(&found, shape.2, |point, i| (point[i].clone(), point.clone()));
    }
}

#[test]
fn plain_averages_fail_where_the_mean_and_a_token_agree() {
    let sequences = serde_json::json!([[[0], [1], [5]], [[0], [2], [4]]]);
    let asked =
        |mixer: &str| Inquiry { mixer: mixer.to_owned(), sequences: Some(sequences.clone()), ..Inquiry::default() };
    let found = asked("average").answer().expect("an answer");
    let pair = found.counterexample().expect("a counterexample");
    assert_eq!((&pair.sequences, pair.tokens), (&[whole(&[0, 1, 5]), whole(&[0, 2, 4])], [0, 0]));
    for mixer in ["ff-average", "ff-performer", "sum-code", "attention", "linformer:1:gaussian"] {
        assert_eq!(holding(&asked(mixer).answer().expect(mixer)), Definition::ALL, "{mixer}");
    }
}

#[test]
fn no_continuous_number_tells_three_tokens_apart() {
    let mut on_the_grid = 0;
    for seed in 1..=60 {
        let mixer = format!("sumformer:{seed}");
        for tokens in [3, 4] {
            let found = answer(&mixer, (tokens, 1, 5), "halfway", false);
            assert!(holding(&found).is_empty(), "{mixer}");
            let pair = found.counterexample().expect("a counterexample");
            let [a, b] = &pair.sequences;
            assert_eq!(*a, whole(&[0, 0, 4, 0][..tokens]));
            assert!(
                b[1] == b[2] && b[0] == a[0] && pair.sequences[0][pair.tokens[0]] == pair.sequences[1][pair.tokens[1]]
            );
        }
        on_the_grid += usize::from(answer(&mixer, (3, 1, 5), "grid", false).holds(Definition::Columns));
    }
    assert!(on_the_grid >= 50, "on a grid most codes serve: {on_the_grid}");
    let refused = asked("sumformer", (2, 1, 4), "halfway", false).answer().expect_err("two tokens");
    assert_eq!(refused.kind(), ErrorKind::Declined);
}

/// splitmix64, from its definition.
fn word(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The sum of three numbers `(2w+1)/2^64 - 1`.
fn drawn(state: &mut u64) -> Rat {
    let uniform = |w: u64| Rat::new(2 * i128::from(w) + 1, Int::ONE << 64) - Rat::ONE;
    uniform(word(state)) + uniform(word(state)) + uniform(word(state))
}

#[test]
fn projections_and_convolutions_are_the_matrices_of_their_seeds() {
    let position = |k: usize| u64::try_from(4 * k).expect("small");
    for seed in [1, 9] {
        let found = answer(&format!("bproj:{seed}"), (3, 1, 4), "grid", true);
        let mut state = seed;
        let matrix: Vec<Vec<Rat>> = (0..3).map(|_| (0..3).map(|_| drawn(&mut state)).collect()).collect();
        for (point, q) in found.set.points.iter().zip(values(&found, 4)) {
            let v: Vec<Rat> = (0..3).map(|k| Rat::from(point[k][0] + position(k))).collect();
            let column = |j: usize| &v[j] + (0..3).map(|k| &v[k] * &matrix[k][j]).sum::<Rat>();
            assert_eq!(q, (0..3).map(column).collect::<Vec<_>>());
        }
        for taps in 1..=6 {
            let found = answer(&format!("sepconv:{taps}:{seed}"), (3, 1, 4), "grid", false);
            let mut state = seed;
            let filter: Vec<Rat> = (0..taps).map(|_| drawn(&mut state)).collect();
            for (point, q) in found.set.points.iter().zip(values(&found, 4)) {
                let v = |k: i64| usize::try_from(k).ok().and_then(|k| point.get(k)).map_or(0, |column| column[0]);
                let entry = |j: i64| {
                    let tap = |(index, c): (i64, &Rat)| c * Rat::from(v(j - (index - (i64::from(taps) - 1) / 2)));
                    Rat::from(v(j)) + (0..).zip(&filter).map(tap).sum::<Rat>()
                };
                assert_eq!(q, (0..3).map(entry).collect::<Vec<_>>(), "{taps}");
            }
        }
    }
}

#[test]
fn three_uniform_numbers_are_no_denser_than_is_stated() {
    for points in 1..=40_usize {
        let mut counts = vec![0_usize; 3 * points];
        for a in 0..points {
            for b in 0..points {
                (0..points).for_each(|c| counts[a + b + c] += 1);
            }
        }
        let most = counts.into_iter().max().expect("counts");
        // At most K³ (3/(4K) + 1/(4K³)).
        assert!(4 * most <= 3 * points * points + 1, "{points}: {most}");
    }
}

#[test]
fn projections_fail_no_more_often_than_is_proved() {
    for (shape, set, positional) in
        [((3, 1, 4), "distinct", false), ((3, 1, 4), "grid", true), ((2, 2, 3), "grid", true)]
    {
        let found =
            Inquiry { seeds: Some(200), ..asked("bproj:1", shape, set, positional) }.answer().expect("an answer");
        let (draws, failure) = (found.draws.as_ref().expect("draws"), found.failure.as_ref().expect("a bound"));
        assert_eq!(draws.margins.len(), 200);
        let entries = found.set.points.len() * shape.0;
        assert_eq!(failure.pairs, Int::from(entries * (entries - 1) / 2));
        for (a, b) in [(1, 2), (1, 10), (1, 100)] {
            let margin = failure.margin(&Rat::new(a, b));
            // (4/3) κ / pairs, up to 2^-64.
            let plain = Rat::new(4 * a, 3 * b) / Rat::from(&failure.pairs);
            assert!(margin < plain && (plain - &margin) < Rat::new(1, Int::ONE << 63));
            assert!(draws.below(&margin) * b <= 200 * a, "{shape:?}: {} of 200 below {margin}", draws.below(&margin));
        }
        assert!(draws.margins.contains(&draws.range()[0]) && draws.range()[0] <= draws.range()[1]);
    }
    // The zeros stay zeros.
    let zero = Inquiry { seeds: Some(20), ..asked("bproj", (3, 1, 4), "grid", false) }.answer().expect("an answer");
    assert!(zero.failure.is_none() && !zero.holds(Definition::Permutation));
    assert!(zero.draws.expect("draws").margins.iter().all(Rat::is_zero));
}

#[test]
fn convolutions_need_positions_and_a_window_as_long_as_the_sequence() {
    for seed in [1, 2, 3] {
        // A shifted sequence has shifted numbers: [0, 1] and [1, 0] share 1 + c_0.
        let shifts = answer(&format!("sepconv:9:{seed}"), (2, 1, 2), "distinct", false);
        let pair = shifts.counterexample().expect("a counterexample");
        assert_eq!((&pair.sequences, pair.tokens), (&[whole(&[0, 1]), whole(&[1, 0])], [1, 0]));
        for tokens in [2, 3, 4] {
            for taps in 1..=2 * tokens {
                let found = answer(&format!("sepconv:{taps}:{seed}"), (tokens, 1, 3), "grid", true);
                let expected = taps >= 2 * tokens - 1;
                assert_eq!(found.holds(Definition::Paper), expected, "{tokens} tokens, {taps} taps");
                assert_eq!(found.holds(Definition::Columns), expected, "{tokens} tokens, {taps} taps");
            }
        }
    }
}

/// A chain that visits the tokens in an order of its own, every second step in one of two layers, seen in both directions.
fn zigzag(order: &[usize]) -> String {
    let mut cycle = vec![(0..order.len()).map(|k| vec![k]).collect::<Vec<_>>(); 2];
    for (step, pair) in order.windows(2).enumerate() {
        cycle[step % 2][pair[1]].push(pair[0]);
        cycle[step % 2][pair[0]].push(pair[1]);
    }
    serde_json::json!(cycle).to_string()
}

/// The final number of every token, by the closed forms: `x_k ≡ l̃_k (mod M)`, `⌊x_k / M^s⌋ = max l̃`.
fn invariants(pattern: &Pattern, found: &Answer, (n, d, resolution): Shape) {
    let assumptions = Assumptions::of(pattern);
    let (order, _, s) = assumptions.satisfied(pattern).expect("a pattern that serves");
    let big = |x: usize| Int::from(x);
    let columns = Int::from(resolution).pow(d);
    let unit = (0..d).fold(Int::ZERO, |unit, row| unit + Int::from(resolution).pow(row + 1));
    let scale = big(2 * s) * columns.pow(n - 1) * (big(n - 1) * &unit + &columns - Int::ONE);
    for (point, q) in found.set.points.iter().zip(values(found, resolution)) {
        let id = |token: usize| {
            point[token].iter().rev().fold(Int::ZERO, |id, digit| id * Int::from(resolution) + Int::from(*digit))
        };
        let mut shifted = vec![Int::ZERO; n];
        for (step, token) in order.iter().enumerate() {
            let before = id(*token) + big(if step == 0 { n - 1 } else { step - 1 }) * &unit;
            shifted[*token] =
                if step == 0 { before } else { &before + &columns * (&shifted[order[step - 1]] - &before) };
        }
        let highest = shifted.iter().max().expect("tokens");
        for (x, shifted) in q.iter().zip(&shifted) {
            let x = x.to_int().expect("whole");
            assert_eq!(x.div_rem(&scale).1, shifted.div_rem(&scale).1);
            assert_eq!(x.div_rem(&scale.pow(s)).0, *highest);
        }
    }
}

#[test]
fn sparse_attention_is_contextual_on_every_sequence_and_keeps_its_invariants() {
    let named = [
        ("dense", (3, 1, 4)),
        ("dense", (2, 2, 4)),
        ("window:1", (3, 1, 6)),
        ("window:1", (5, 1, 3)),
        ("window:2", (6, 1, 2)),
        ("star", (4, 1, 4)),
        ("star", (6, 1, 2)),
        ("strided:2", (4, 1, 3)),
        ("strided:2", (5, 1, 2)),
        ("fixed:2", (4, 1, 4)),
        ("bigbird:1", (5, 1, 3)),
        ("window:1", (3, 2, 2)),
    ];
    for (name, shape) in named {
        let found = answer(&format!("sparse:{name}"), shape, "grid", false);
        assert_eq!(holding(&found), Definition::ALL, "{name} {shape:?}");
        invariants(&name.parse::<Family>().expect(name).pattern(shape.0).expect(name), &found, shape);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let orders: [(&[usize], Shape); 6] = [
        (&[1, 0, 2], (3, 1, 5)),
        (&[2, 0, 3, 1], (4, 1, 3)),
        (&[0, 2, 1], (3, 2, 2)),
        (&[3, 1, 4, 0, 2], (5, 1, 2)),
        (&[0, 3, 1, 2], (4, 1, 4)),
        (&[5, 0, 4, 1, 3, 2], (6, 1, 2)),
    ];
    for (order, shape) in orders {
        let path = folder.path().join("pattern.json");
        std::fs::write(&path, zigzag(order)).expect("a file");
        let pattern = Pattern::read("zigzag", &zigzag(order)).expect("a pattern");
        let assumptions = Assumptions::of(&pattern);
        let (chain, served, _) = assumptions.satisfied(&pattern).expect("a pattern that serves");
        assert!(!chain.is_sorted() && served.contains(&1) && pattern.period() == 2, "{chain:?}");
        let found = answer(&format!("sparse:file:{}", path.display()), shape, "grid", false);
        assert_eq!(holding(&found), Definition::ALL, "{order:?} {shape:?}");
        invariants(&pattern, &found, shape);
    }
    let refused = asked("sparse:hub", (4, 1, 2), "grid", false).answer().expect_err("no chain");
    assert_eq!(refused.kind(), ErrorKind::Declined);
}

#[test]
fn names_are_read_back_and_others_refused() {
    for mixer in MIXERS {
        let read: Mixer = mixer.parse().expect(mixer);
        assert_eq!(read.to_string().parse::<Mixer>().expect(mixer), read);
    }
    for text in ["", "atention", "attention:0", "attention:x", "sepconv", "sepconv:0", "sparse", "sparse:", "bproj:1:2"]
    {
        assert!(text.parse::<Mixer>().is_err(), "{text}");
    }
    for text in ["sum-code:1", "average:2", "linformer:0", "ff-sumformer", "feed-forward-only:3", "sepconv:99999999"] {
        assert!(text.parse::<Mixer>().is_err(), "{text}");
    }
}

#[test]
fn listed_sequences_fix_their_grid() {
    let half = || Rat::new(1, 2);
    let sequences = [[Rat::from(-1), half()], [half(), Rat::new(1, 3)]].map(|x| x.map(|x| vec![x]).to_vec());
    let set = Set::of(&sequences, "of a test").expect("a set");
    assert_eq!((set.grid.resolution(), set.points.clone()), (10, vec![vec![vec![0], vec![9]], vec![vec![9], vec![8]]]));
    assert_eq!([set.sequence(0), set.sequence(1)], sequences);
    let fine = [[Rat::new(1, u64::MAX), Rat::new(1, u64::MAX - 1)]].map(|x| x.map(|x| vec![x]).to_vec());
    assert_eq!(Set::of(&fine, "of a test").expect_err("too fine").kind(), ErrorKind::Declined);
    let long = [vec![vec![Rat::ONE]; 1001]];
    assert_eq!(Set::of(&long, "of a test").expect_err("too long").kind(), ErrorKind::Declined);
    let twice = [sequences[0].clone(), sequences[1].clone(), sequences[0].clone()];
    assert!(
        Set::of(&twice, "of a test").expect_err("twice").headline().starts_with("sequence 2 of a test is sequence 0")
    );
}

#[test]
fn sets_are_counted_before_they_are_listed() {
    for (shape, set, said) in [
        ((9, 1, 8), "grid", "134,217,728"),
        ((8, 1, 8), "distinct", "40320"),
        ((10, 1, 9), "distinct", "there are no sequences"),
        ((1 << 40, 1, 2), "grid", "more than 2^4096"),
        ((2, 1 << 40, 2), "distinct", "more than 2^4096"),
        ((2, 1, u64::MAX), "grid", "3.4028e38"),
    ] {
        match asked("attention", shape, set, false).answer() {
            Ok(found) => assert_eq!(found.set.points.len().to_string(), said),
            Err(error) => assert!(error.kind() == ErrorKind::Declined && error.headline().contains(said), "{error}"),
        }
    }
}
