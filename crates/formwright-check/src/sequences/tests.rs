//! Sequences against lists made by adding a token at a time.

use super::Sequences;

/// Against lists made by adding a token at a time.
#[test]
fn sequences_are_listed_in_their_order() {
    for (symbols, tokens, sorted) in [(1, 3, true), (3, 1, false), (4, 3, true), (3, 4, false), (5, 4, true)] {
        let mut wanted: Vec<Vec<usize>> = vec![Vec::new()];
        for _ in 0..tokens {
            let longer = |start: &Vec<usize>| {
                let least = if sorted { start.last().copied().unwrap_or(0) } else { 0 };
                (least..symbols).map(|symbol| [start.as_slice(), &[symbol]].concat()).collect::<Vec<_>>()
            };
            wanted = wanted.iter().flat_map(longer).collect();
        }
        let all = Sequences::new(symbols, tokens, sorted);
        assert_eq!(all.count, wanted.len());
        let mut walk = all.walk();
        for (at, wanted) in wanted.iter().enumerate() {
            assert_eq!((all.get(at).as_slice(), walk.to(at)), (wanted.as_slice(), wanted.as_slice()));
        }
        // Backwards, nothing is a step.
        for (at, wanted) in wanted.iter().enumerate().rev() {
            assert_eq!(walk.to(at), wanted);
        }
    }
}

#[test]
fn what_cannot_be_counted_is_too_much() {
    assert_eq!(Sequences::new(10, 10, true).count, 92_378);
    assert_eq!(Sequences::new(2, 63, false).count, 1 << 63);
    assert_eq!(Sequences::new(2, 64, false).count, usize::MAX);
    assert_eq!(Sequences::new(1 << 17, 4096, true).count, usize::MAX);
}
