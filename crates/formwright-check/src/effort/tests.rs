//! Order, progress and shards of work.

#![allow(clippy::expect_used, clippy::arithmetic_side_effects)]

use super::{Effort, Shard};
use crate::prove::{Stop, declined};

#[test]
fn parallel_work_keeps_its_order() {
    for threads in [None, Some(0), Some(1), Some(3)] {
        let effort = Effort { threads, ..Effort::default() };
        let squares = effort.of_all(5..1000, || |x| Ok(x.saturating_mul(x)));
        assert!(squares.is_ok_and(|squares| squares == (5..1000).map(|x| x * x).collect::<Vec<_>>()));
        let fails = |x: usize| if x % 300 == 299 { Err(declined(x.to_string())) } else { Ok(()) };
        let first = effort.of_all(0..1000, || fails);
        assert!(matches!(first, Err(Stop::Declined(reason)) if reason.what == "299"));
        assert!(effort.of_all(7..7, || fails).is_ok_and(|none| none.is_empty()));
    }
}

#[test]
fn what_is_done_is_told() {
    let (most, last) = (std::sync::atomic::AtomicUsize::new(0), std::sync::atomic::AtomicUsize::new(0));
    let progress = |done: usize, of: usize| {
        most.fetch_max(done, std::sync::atomic::Ordering::Relaxed);
        last.store(of, std::sync::atomic::Ordering::Relaxed);
    };
    let effort = Effort { progress: &progress, ..Effort::default() };
    assert!(effort.of_all(0..321, || Ok).is_ok());
    assert_eq!((most.into_inner(), last.into_inner()), (321, 321));
}

#[test]
fn shards_are_all_there_is_and_do_not_overlap() {
    for (total, of) in [(0, 3), (1, 3), (10, 3), (6435, 8), (7, 7), (usize::MAX, 1 << 20)] {
        let shards: Vec<_> = (1..=of).map(|at| Shard::new(at, of).expect("a shard").of(total)).collect();
        let end = shards.iter().try_fold(0, |end, shard| (shard.start == end).then_some(shard.end));
        assert_eq!(end, Some(total), "{total} in {of}");
    }
    assert_eq!(Shard::WHOLE.of(12), 0..12);
    for (at, of) in [(0, 3), (4, 3), (0, 0), (1, 0), (1, (1 << 20) + 1)] {
        assert_eq!(Shard::new(at, of), None);
    }
}
