//! How the work of a check is done: with or without shortcuts, in shards, on all cores. None of it changes the verdict.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::prove::{Stop, rejected};

/// The most shards of a claim.
const MOST_SHARDS: usize = 1 << 20;

/// How the work is done. Nothing of it changes the verdict.
#[derive(Clone, Copy)]
pub struct Effort<'e> {
    /// Without shortcuts.
    pub plain: bool,
    /// The number of cores; `None` takes all.
    pub threads: Option<usize>,
    /// The shard of the sequences of a claim over integers.
    pub shard: Shard,
    /// Is told again and again how much is done, of how much.
    pub progress: &'e (dyn Fn(usize, usize) + Sync),
}

impl Default for Effort<'_> {
    fn default() -> Self {
        Self { plain: false, threads: None, shard: Shard::WHOLE, progress: &|_, _| {} }
    }
}

/// One of so many equal parts, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number.
    pub at: usize,
    /// The number of shards.
    pub of: usize,
}

impl Shard {
    /// All there is.
    pub const WHOLE: Self = Self { at: 1, of: 1 };

    /// A shard, if there is one.
    pub fn new(at: usize, of: usize) -> Option<Self> {
        (1 <= at && at <= of && of <= MOST_SHARDS).then_some(Self { at, of })
    }

    /// The share of so many things: their numbers.
    pub fn of(self, total: usize) -> Range<usize> {
        // Below 2^64 times 2^20.
        let wide = |x: usize| u128::try_from(x).unwrap_or(u128::MAX);
        let end = |at: usize| {
            let all = wide(total).saturating_mul(wide(at)).checked_div(wide(self.of)).unwrap_or(0);
            usize::try_from(all).unwrap_or(usize::MAX)
        };
        end(self.at.saturating_sub(1))..end(self.at)
    }
}

/// The results of chunks of work, each with its number.
type Parts<R> = Vec<(usize, Result<Vec<R>, Stop>)>;

impl Effort<'_> {
    /// Applies what each worker makes to all items, and keeps their order; or returns the first failure in that order.
    /// Workers share the cores and keep what they have learnt.
    pub(crate) fn of_all<R: Send, F: FnMut(usize) -> Result<R, Stop>>(
        &self,
        items: Range<usize>,
        worker: impl Fn() -> F + Sync,
    ) -> Result<Vec<R>, Stop> {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.threads.unwrap_or_else(all).clamp(1, MOST_THREADS);
        let count = items.len();
        let size = count.div_ceil(threads.saturating_mul(SHARES).max(1)).max(1);
        let (next, done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
        let chunk = |at: usize| {
            let from = items.start.saturating_add(at.saturating_mul(size));
            (from < items.end).then(|| from..from.saturating_add(size).min(items.end))
        };
        let work = || {
            let (mut f, mut parts) = (worker(), Vec::new());
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                // Chunks are handed out in their order: nothing behind a failure matters.
                let Some(chunk) = chunk(at).filter(|_| at <= failed.load(Ordering::Relaxed)) else { return parts };
                let mut one = |item: usize| {
                    let result = f(item)?;
                    let known = done.fetch_add(1, Ordering::Relaxed);
                    (self.progress)(known.saturating_add(1), count);
                    Ok(result)
                };
                let part = chunk.map(&mut one).collect::<Result<Vec<R>, Stop>>();
                if part.is_err() {
                    failed.fetch_min(at, Ordering::Relaxed);
                }
                parts.push((at, part));
            }
        };
        let others = threads.min(count.div_ceil(size)).saturating_sub(1);
        let (mut parts, whole): (Parts<R>, bool) = std::thread::scope(|scope| {
            let others: Vec<_> = (0..others).map(|_| scope.spawn(work)).collect();
            let (mut parts, mut whole) = (work(), true);
            for other in others {
                match other.join() {
                    Ok(more) => parts.extend(more),
                    Err(_) => whole = false,
                }
            }
            (parts, whole)
        });
        parts.sort_by_key(|(at, _)| *at);
        let mut all = Vec::new();
        for (_, part) in parts {
            all.extend(part?);
        }
        if whole && all.len() == count { Ok(all) } else { Err(rejected("format", "the check was interrupted")) }
    }
}

/// The most threads.
const MOST_THREADS: usize = 1 << 10;

/// The shares of work that every core takes, one after the other: some take longer than others.
const SHARES: usize = 8;

#[cfg(test)]
mod tests;
