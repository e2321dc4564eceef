//! The keys that a tile of queries sees. Where its lanes are tokens, a mask may show a different interval to each of
//! them: the keys that all of them see, which are the most, stand in one interval, and those at its ends, which only
//! some see, in others. With connections a token sees a list of intervals.

use std::ops::Range;

use crate::network::Keys;
use crate::pattern::Connections;

/// Consecutive keys, and the lanes that they are shown to.
pub(crate) type Interval = (Range<usize>, Shown);

/// The connections of a layer: for every token the intervals of keys that it sees.
#[derive(Clone, Debug)]
pub(crate) struct Lists(Vec<Vec<Interval>>);

impl Lists {
    pub fn new(connections: &Connections) -> Self {
        let intervals = |token: usize| {
            let behind_each_other = |a: &usize, b: &usize| a + 1 == *b;
            let runs = connections.keys(token).chunk_by(behind_each_other);
            runs.map(|run| (run[0]..run[0] + run.len(), Shown::All)).collect()
        };
        Self((0..connections.tokens()).map(intervals).collect())
    }

    /// The keys that a token sees.
    pub fn of(&self, token: usize) -> &[Interval] {
        &self.0[token]
    }
}

/// The keys that the lanes of a tile see: a few intervals, one after the other.
pub(crate) struct Seen<'l, const S: usize> {
    /// The list of a token; empty where there are no connections.
    listed: &'l [Interval],
    intervals: [Interval; 4],
    /// The number of these intervals.
    count: usize,
    /// The differences of the lanes: for each, true if position 0 stands apart, and the interval.
    lanes: Option<([bool; S], [Range<usize>; S])>,
}

/// The lanes that the keys of an interval are shown to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shown {
    /// All lanes.
    All,
    /// Those for which position 0 stands apart.
    First,
    /// Those whose interval holds the key.
    Within,
}

impl<'l, const S: usize> Seen<'l, S> {
    /// All lanes see the keys that one token sees by its connections.
    pub fn by_list(listed: &'l [Interval]) -> Self {
        Self { listed, ..Self::new([], None) }
    }

    /// All lanes see the keys that one token sees.
    pub fn by_one(Keys { first, range }: Keys) -> Self {
        Self::new([(0..usize::from(first), Shown::All), (range, Shown::All)], None)
    }

    /// Each lane sees the keys that its token sees.
    pub fn by_each(keys: impl Fn(usize) -> Keys) -> Self {
        let (first, ranges): ([bool; S], [Range<usize>; S]) =
            (std::array::from_fn(|lane| keys(lane).first), std::array::from_fn(|lane| keys(lane).range));
        let ends = |end: fn(&Range<usize>) -> usize| {
            ranges.iter().map(end).fold((usize::MAX, 0), |(least, most), end| (least.min(end), most.max(end)))
        };
        let ((low, all_low), (all_high, high)) = (ends(|range| range.start), ends(|range| range.end));
        let sink = (0..usize::from(first.contains(&true)), Shown::First);
        let lanes = Some((first, ranges));
        if all_low < all_high {
            let all = (all_low..all_high, Shown::All);
            Self::new([sink, (low..all_low, Shown::Within), all, (all_high..high, Shown::Within)], lanes)
        } else {
            Self::new([sink, (low..high, Shown::Within)], lanes)
        }
    }

    fn new<const N: usize>(intervals: [Interval; N], lanes: Option<([bool; S], [Range<usize>; S])>) -> Self {
        let mut seen = Self { listed: &[], intervals: [const { (0..0, Shown::All) }; 4], count: 0, lanes };
        for interval in intervals.into_iter().filter(|(keys, _)| !keys.is_empty()) {
            seen.intervals[seen.count] = interval;
            seen.count += 1;
        }
        seen
    }

    /// The intervals, none of them empty.
    pub fn intervals(&self) -> &[Interval] {
        if self.listed.is_empty() { &self.intervals[..self.count] } else { self.listed }
    }

    /// For each lane, true if it sees a key of an interval.
    pub fn lanes(&self, shown: Shown, j: usize) -> [bool; S] {
        match (shown, &self.lanes) {
            (Shown::First, Some((first, _))) => *first,
            (Shown::Within, Some((_, ranges))) => ranges.each_ref().map(|range| range.contains(&j)),
            _ => [true; S],
        }
    }
}
