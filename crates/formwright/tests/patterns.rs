//! Patterns of sparse attention: their connections against formulas, and Assumption 1 of Yun et al. 2020b against brute force.

use formwright::error::ErrorKind;
use formwright::pattern::{Assumptions, Chain, Connections, Family, Pattern, Reach};
use proptest::prelude::*;

fn pattern(name: &str, tokens: usize) -> Pattern {
    name.parse::<Family>().expect(name).pattern(tokens).expect(name)
}

fn of(layers: &[&[&[usize]]]) -> Pattern {
    let layer =
        |keys: &&[&[usize]]| Connections::new(keys.iter().map(|keys| keys.to_vec()).collect()).expect("a layer");
    Pattern::new("test", layers.iter().map(layer).collect()).expect("a cycle")
}

#[test]
fn connections_are_those_of_the_formulas() {
    for n in [5, 9, 16, 25, 64, 256] {
        let counts = |name: &str| pattern(name, n).cycle().iter().map(Connections::count).collect::<Vec<_>>();
        assert_eq!(counts("dense"), [n * n]);
        for w in [1, 2, 4] {
            assert_eq!(counts(&format!("window:{w}")), [n * (2 * w + 1) - w * (w + 1)], "{n} {w}");
        }
        assert_eq!(counts("star"), [5 * n - 4]);
        assert_eq!(counts("hub"), [3 * n - 2]);
        assert!(counts("bigbird:1")[0] <= 7 * n);
        assert_eq!(counts("random:3:1"), [4 * n]);
        if let Some(w) = (1..n).find(|w| w * w == n) {
            let window = n * (2 * w + 1) - w * (w + 1);
            assert_eq!(counts(&format!("strided:{w}")), [window, n * w], "{n}");
            assert_eq!(counts(&format!("fixed:{w}")), [n * w, n * n / w + n - n / w], "{n}");
            assert_eq!(counts(&format!("block:{w}")), [n * w]);
            // Causal: what is seen of oneself, and half of the rest, which is symmetric but for the summaries.
            assert_eq!(counts(&format!("strided-causal:{w}")), [usize::midpoint(window, n), usize::midpoint(n * w, n)]);
        }
    }
}

/// True if token `i` of `n` sees `j`.
type Sees = fn(usize, usize, usize) -> bool;

#[test]
fn names_are_what_their_table_says_pair_by_pair() {
    let in_ring = |i: usize, j: usize, n: usize| (i.abs_diff(j) == 1 || i.abs_diff(j) == n - 2) && i != j;
    let rules: [(&str, &[Sees]); 11] = [
        ("dense", &[|_, _, _| true]),
        ("window:1", &[|i, j, _| i.abs_diff(j) <= 1]),
        ("window:3", &[|i, j, _| i.abs_diff(j) <= 3]),
        ("window:18446744073709551615", &[|_, _, _| true]),
        ("hub", &[|i, j, _| i == j || i * j == 0]),
        ("strided:3", &[|i, j, _| i.abs_diff(j) <= 3, |i, j, _| i % 3 == j % 3]),
        ("strided-causal:2", &[|i, j, _| j <= i && i - j <= 2, |i, j, _| j <= i && (i - j) % 2 == 0]),
        ("fixed:3", &[|i, j, _| i / 3 == j / 3, |i, j, n| i == j || j % 3 == 2 || j == n - 1]),
        (
            "fixed-causal:2",
            &[|i, j, _| j <= i && i / 2 == j / 2, |i, j, n| j <= i && (i == j || j % 2 == 1 || j == n - 1)],
        ),
        ("dilated:2:3", &[|i, j, _| i.abs_diff(j) % 3 == 0 && i.abs_diff(j) <= 6]),
        ("block:4", &[|i, j, _| i / 4 == j / 4]),
    ];
    for n in 1..=13 {
        let same = |name: &str, layer: &Connections, sees: &dyn Fn(usize, usize) -> bool| {
            for i in 0..n {
                let expected: Vec<usize> = (0..n).filter(|j| sees(i, *j)).collect();
                assert_eq!(layer.keys(i), expected, "{name}, token {i} of {n}");
            }
        };
        for (name, layers) in rules {
            let pattern = pattern(name, n);
            assert_eq!(pattern.period(), layers.len());
            layers.iter().enumerate().for_each(|(l, sees)| same(name, pattern.layer(l), &|i, j| sees(i, j, n)));
        }
        same("star", pattern("star", n).layer(0), &|i, j| i == j || i * j == 0 || in_ring(i, j, n));
        for (name, most) in [("bigbird:3", 7 * n), ("random:2:3", 3 * n)] {
            if n > 2 {
                let pattern = pattern(name, n);
                assert!((0..n).all(|i| pattern.layer(0).sees(i, i)) && pattern.connections() <= most, "{name}, {n}");
            }
        }
    }
}

/// The table of the sparse theorem, for three sizes: s, and which assumption fails.
#[test]
fn named_patterns_satisfy_what_the_table_says() {
    for n in [16, 64, 256] {
        let w = (1..n).find(|w| w * w == n).expect("a square");
        let s_of = |name: &str| match Assumptions::of(&pattern(name, n)) {
            Assumptions { no_self_loop: None, chain: Chain::Found { .. }, reach: Reach::Hops { s } } => Some(s),
            _ => None,
        };
        assert_eq!(s_of("dense"), Some(1));
        for w in [1, 3, w] {
            assert_eq!(s_of(&format!("window:{w}")), Some((n - 1_usize).div_ceil(w)));
        }
        for name in ["star".to_owned(), format!("strided:{w}"), format!("fixed:{w}"), "bigbird:1".to_owned()] {
            assert_eq!(s_of(&name), Some(2), "{name}");
        }
        let hub = Assumptions::of(&pattern("hub", n));
        assert!(matches!(hub.chain, Chain::Impossible { .. }) && hub.reach == Reach::Hops { s: 2 });
        for name in [format!("strided-causal:{w}"), format!("fixed-causal:{w}")] {
            let causal = Assumptions::of(&pattern(&name, n));
            assert!(matches!(causal.chain, Chain::Found { .. }), "{name}");
            assert_eq!(causal.reach, Reach::Never { token: 0, of: 1 }, "{name}");
        }
        let block = Assumptions::of(&pattern(&format!("block:{w}"), n));
        assert!(matches!(block.chain, Chain::Impossible { .. }), "{block:?}");
        assert_eq!(block.reach, Reach::Never { token: 0, of: w });
        // Two classes of tokens that never meet.
        assert_eq!(Assumptions::of(&pattern("dilated:2:2", n)).reach, Reach::Never { token: 0, of: 1 });
    }
    // Up to three tokens the hub is a chain: leaf, hub, leaf.
    assert!(matches!(Assumptions::of(&pattern("hub", 3)).chain, Chain::Found { order, .. } if order[1] == 0));
    assert!(matches!(Assumptions::of(&pattern("hub", 4)).chain, Chain::Impossible { .. }));
}

/// The layers that serve a chain are those in which each token sees the one before.
#[test]
fn chains_go_through_the_cycle() {
    // 2 sees 0 in layer 1, 1 sees 2 in layer 0: 0, 2, 1.
    let cycle = of(&[&[&[0], &[1, 2], &[2]], &[&[0], &[1], &[0, 2]]]);
    let Assumptions { chain, reach, .. } = Assumptions::of(&cycle);
    assert_eq!(chain, Chain::Found { order: vec![0, 2, 1], served: vec![1, 0] });
    assert_eq!(reach, Reach::Never { token: 0, of: 1 });
}

#[test]
fn what_is_missing_is_named() {
    let no_loop = of(&[&[&[0, 1], &[0, 1]], &[&[0, 1], &[0]]]);
    let assumptions = Assumptions::of(&no_loop);
    assert_eq!(assumptions.no_self_loop, Some((1, 1)));
    let error = assumptions.satisfied(&no_loop).expect_err("no self-loop");
    assert_eq!(error.kind(), ErrorKind::Declined);
    assert!(error.to_string().contains("token 1 does not see itself in layer 1"), "{error}");
    let hub = pattern("hub", 5);
    let error = Assumptions::of(&hub).satisfied(&hub).expect_err("no chain").to_string();
    assert!(error.contains("without token 0 the tokens 1, 2 and 3 are in parts of their own"), "{error}");
}

#[test]
fn names_are_read_as_they_are_printed() {
    for family in Family::examples(16) {
        assert_eq!(family.to_string().parse::<Family>().expect("a name"), family);
    }
    for wrong in [
        "",
        "stars",
        "window",
        "window:0",
        "window:x",
        "star:2",
        "random:3",
        "strided:2:3",
        "dilated:0:2",
        "random:-1:1",
        "hub@x",
    ] {
        assert_eq!(wrong.parse::<Family>().expect_err(wrong).kind(), ErrorKind::Input, "{wrong}");
    }
    assert_eq!(pattern("hub@3", 5).hub(), Some(3));
    assert!("hub@5".parse::<Family>().expect("a name").pattern(5).is_err());
    assert!("dense".parse::<Family>().expect("a name").pattern(1 << 20).is_err(), "written out it would fill memory");
    assert!("random:5:1".parse::<Family>().expect("a name").pattern(5).is_err());
}

#[test]
fn files_hold_one_layer_or_a_cycle() {
    assert_eq!(Pattern::read("a", "[[0, 1], [1, 0]]").expect("a layer").period(), 1);
    assert_eq!(Pattern::read("a", "[[[0, 1], [1]], [[0], [0, 1]]]").expect("a cycle").period(), 2);
    let wrong = [
        ("[[0, 1], [1, 2]]", "token 1 sees 2, and the tokens are 0 to 1"),
        ("[[0, 1], [1, 1]]", "token 1 sees 1 twice"),
        ("[[0], []]", "token 1 sees nothing"),
        ("[]", "the cycle is empty"),
        ("[[[0]], [[0], [1]]]", "layer 1 has 2 tokens, and layer 0 has 1"),
        ("[[[0], [2]], [[0], [1]]]", "layer 0: token 1 sees 2"),
        ("[[-1]]", "layer 0, token 0 sees -1, which is no token's number"),
        ("[[[0], [1]], [[0], [1.5]]]", "layer 1, token 1 sees 1.5"),
        ("[[0], 1]", "layer 0, token 1 is 1, and no list"),
        ("7", "the file is 7, and no list"),
        ("[[0]", "EOF"),
    ];
    for (text, expected) in wrong {
        let error = Pattern::read("a", text).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn pictures_show_every_connection() {
    let star = pattern("star", 5);
    assert_eq!(star.to_text(), "■■■■■\n■■■·■\n■■■■·\n■·■■■\n■■·■■\n");
    let strided = pattern("strided:4", 16);
    assert_eq!(strided.to_text().matches('■').count(), strided.cycle().iter().map(Connections::count).sum::<usize>());
    let svg = strided.to_svg();
    assert!(
        svg.contains("layer 1 of 2: 124 connections of 256") && svg.contains("layer 2 of 2: 64 connections of 256")
    );
    // Every run of neighbours is one step "h": their lengths add up to the connections.
    let drawn = |svg: &str| {
        svg.split('M')
            .skip(1)
            .filter_map(|run| run.split('h').nth(1)?.split('v').next()?.parse::<usize>().ok())
            .sum::<usize>()
    };
    assert_eq!(drawn(&svg), 188);
}

fn any_pattern() -> impl Strategy<Value = Pattern> {
    (2_usize..6, 1_usize..3).prop_flat_map(|(n, p)| {
        proptest::collection::vec(proptest::collection::vec(proptest::bits::u8::between(0, n), n), p).prop_map(
            move |layers| {
                let keys = |i: usize, bits: u8| (0..n).filter(|j| *j == i || bits >> j & 1 == 1).collect();
                let layer = |rows: Vec<u8>| {
                    Connections::new(rows.into_iter().enumerate().map(|(i, bits)| keys(i, bits)).collect())
                        .expect("a layer")
                };
                Pattern::new("random", layers.into_iter().map(layer).collect()).expect("a cycle")
            },
        )
    })
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let insert = |shorter: Vec<usize>| (0..n).map(move |at| [&shorter[..at], &[n - 1], &shorter[at..]].concat());
    permutations(n - 1).into_iter().flat_map(insert).collect()
}

/// True if layers t-1, …, 0, read backwards from token k, lead to token j.
fn heard(pattern: &Pattern, k: usize, j: usize, t: usize) -> bool {
    if t == 0 { k == j } else { pattern.layer(t - 1).keys(k).iter().any(|next| heard(pattern, *next, j, t - 1)) }
}

proptest! {
    /// A chain is found exactly if one of all permutations is one.
    #[test]
    fn chains_are_found_where_there_are_any(pattern in any_pattern()) {
        let n = pattern.tokens();
        let is_chain = |order: &Vec<usize>| order.windows(2).all(|pair| pattern.cycle().iter().any(|layer| layer.sees(pair[1], pair[0])));
        let exists = permutations(n).iter().any(is_chain);
        match Assumptions::of(&pattern).chain {
            Chain::Found { order, served } => {
                prop_assert!(is_chain(&order) && permutations(n).contains(&order));
                for (pair, layer) in order.windows(2).zip(&served) {
                    prop_assert!(pattern.layer(*layer).sees(pair[1], pair[0]));
                }
            }
            Chain::Impossible { reason } => prop_assert!(!exists, "{reason}"),
            Chain::NotFound { .. } => prop_assert!(false, "small graphs are searched to the end"),
        }
    }

    /// The tokens that a token has heard of, by following every path; and in three times as many layers as tokens and
    /// patterns nothing new comes.
    #[test]
    fn hops_are_those_of_all_paths(pattern in any_pattern()) {
        let n = pattern.tokens();
        let all = |t: usize| (0..n).all(|k| (0..n).all(|j| heard(&pattern, k, j, t)));
        match Assumptions::of(&pattern).reach {
            Reach::Hops { s } => prop_assert!((1..s).all(|t| !all(t)) && all(s)),
            Reach::Never { token, of } => prop_assert!((0..7).all(|t| !heard(&pattern, token, of, t))),
            Reach::Forgets => prop_assert!(false, "there are self-loops"),
        }
    }
}
