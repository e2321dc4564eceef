//! The error as it is searched for in the supremum norm: structured starts, then ascent.
//!
//! The largest error of an aggregate lies at inputs that random points do not come near: all tokens equal, two levels and a few outliers,
//! corners of the box. So a third of the points are starts of these kinds, and from the best of them the search climbs: in each round a few
//! random moves of every start (a token, all tokens of one value, some tokens, all of them; by a step of any size, to an end of the
//! box, to another token's value), of which the best is kept if it is better. Half of the starts are dropped again and again, until one is
//! left. On integers the same happens on integers, and where these are few, every point is looked at.
//!
//! What is found is an error that occurs. That none is larger is what bounds are for. Same seed, same points, same number.

use super::Norm;
use rayon::prelude::*;

use super::measured::Measured;
use crate::error::Result;
use crate::lattice::Grid;
use crate::random;
use crate::target::{Domain, Target};

/// A sequence, `[token][coordinate]`.
type Point = Vec<Vec<f64>>;

/// The seed.
const SEED: u64 = 20_200_226;

/// How many points are run together.
const BATCH: usize = 64;

/// How many starts are climbed from at first.
const CLIMBERS: usize = 8;

/// The largest error of what `run` computes for a batch, `[batch][token][coordinate]`, that is found with about `points` points.
pub(crate) fn ascend(
    target: &Target,
    grid: &Grid,
    points: usize,
    run: impl Fn(&[Point]) -> Result<Vec<Vec<Vec<f64>>>>,
) -> Result<Measured> {
    let mut search = Search { target, run, place: Place::new(target, grid), seen: 0, state: SEED };
    let measured = |worst: Option<(f64, Point)>, points: usize, exhaustive: bool| {
        let (value, at) = worst.map_or((0.0, None), |(value, at)| (value, Some(at)));
        Ok(Measured { norm: Norm::Sup, points, seed: SEED, value, confidence: None, exhaustive, at })
    };
    if let Some(all) = search.place.all(points) {
        let mut worst: Option<(f64, Point)> = None;
        for batch in all.chunks(BATCH) {
            for (error, x) in search.errors(batch)?.into_iter().zip(batch) {
                if worst.as_ref().is_none_or(|(most, _)| error > *most) {
                    worst = Some((error, x.clone()));
                }
            }
        }
        return measured(worst, search.seen, true);
    }
    let mut starts: Vec<(f64, Point)> = Vec::new();
    let together = BATCH.min(points.div_ceil(3));
    while search.seen < points.div_ceil(3) {
        let batch: Vec<Point> = (0..together).map(|kind| search.start(kind)).collect();
        starts.extend(search.errors(&batch)?.into_iter().zip(batch));
        // The sort is stable: of equals, the first found stays first.
        starts.sort_by(|a, b| b.0.total_cmp(&a.0));
        starts.truncate(CLIMBERS);
    }
    let mut climbing = starts.len();
    while climbing > 0 {
        let until = points - (points - search.seen.min(points)) * (climbing - 1) / climbing;
        while search.seen < until {
            search.climb(&mut starts[..climbing], together)?;
        }
        starts.sort_by(|a, b| b.0.total_cmp(&a.0));
        climbing /= 2;
    }
    measured(starts.into_iter().next(), search.seen, false)
}

/// Points of the kinds that a search starts from: where a function of many tokens is likely to be extreme.
pub(crate) fn starts(target: &Target, grid: &Grid, points: usize) -> Vec<Point> {
    let run = |_: &[Point]| Ok(Vec::new());
    let mut search = Search { target, run, place: Place::new(target, grid), seen: 0, state: SEED };
    (0..points).map(|kind| search.start(kind)).collect()
}

/// A place of points.
struct Place {
    tokens: usize,
    dims: usize,
    low: f64,
    high: f64,
    integers: bool,
}

impl Place {
    #[expect(clippy::cast_precision_loss, reason = "integers of a domain")]
    fn new(target: &Target, grid: &Grid) -> Self {
        let (tokens, dims) = (grid.tokens(), grid.dims());
        match target.expression().map(|checked| &checked.expression().domain) {
            Some(Domain::Integers(from, to)) => {
                Self { tokens, dims, low: *from as f64, high: (to - 1) as f64, integers: true }
            }
            // A table has no value at the upper end of its box.
            None => {
                Self { tokens, dims, low: grid.low().to_f64(), high: grid.high().to_f64().next_down(), integers: false }
            }
            _ => Self { tokens, dims, low: grid.low().to_f64(), high: grid.high().to_f64(), integers: false },
        }
    }

    /// The nearest number of the domain.
    fn nearest(&self, x: f64) -> f64 {
        let x = if self.integers { x.round() } else { x };
        x.clamp(self.low, self.high)
    }

    /// Every point, if there are finitely many, and at most this many.
    fn all(&self, most: usize) -> Option<Vec<Point>> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count; too large ones saturate")]
        let values = self.integers.then_some(((self.high - self.low) as usize).saturating_add(1))?;
        let inputs = u32::try_from(self.tokens * self.dims).ok()?;
        let count = values.checked_pow(inputs).filter(|count| *count <= most)?;
        #[expect(clippy::cast_precision_loss, reason = "a digit")]
        let digit =
            |place: usize, k: usize| self.low + (place / values.pow(u32::try_from(k).unwrap_or(0)) % values) as f64;
        let point = |place: usize| {
            (0..self.tokens).map(|j| (0..self.dims).map(|k| digit(place, j * self.dims + k)).collect()).collect()
        };
        Some((0..count).map(point).collect())
    }
}

/// A search under way.
struct Search<'a, R> {
    target: &'a Target,
    run: R,
    place: Place,
    seen: usize,
    state: u64,
}

impl<R: Fn(&[Point]) -> Result<Vec<Vec<Vec<f64>>>>> Search<'_, R> {
    /// The error at each point: the largest of all output entries. Where the target has no finite value it is 0.
    fn errors(&mut self, batch: &[Point]) -> Result<Vec<f64>> {
        self.seen += batch.len();
        let outputs = (self.run)(batch)?;
        let error = |(x, y): (&Point, &Vec<Vec<f64>>)| {
            let wanted = self.target.evaluate_f64(x)?;
            let entries = wanted.iter().zip(y.iter().flatten()).filter(|(f, _)| f.is_finite());
            let off = |(f, g): (&f64, &f64)| if g.is_finite() { (f - g).abs() } else { f64::INFINITY };
            Ok(entries.map(off).fold(0.0, f64::max))
        };
        batch.par_iter().zip(&outputs).map(error).collect()
    }

    /// A number in `[0, 1)`.
    fn random(&mut self) -> f64 {
        random::uniform(&mut self.state)
    }

    /// A number below `count`.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small count"
    )]
    fn below(&mut self, count: usize) -> usize {
        ((self.random() * count as f64) as usize).min(count - 1)
    }

    /// A number of the domain, one time in three an end.
    fn level(&mut self) -> f64 {
        match self.below(6) {
            0 => self.place.low,
            1 => self.place.high,
            _ => {
                let x = self.place.low + self.random() * (self.place.high - self.place.low);
                self.place.nearest(x)
            }
        }
    }

    fn token(&mut self) -> Vec<f64> {
        (0..self.place.dims).map(|_| self.level()).collect()
    }

    /// A start: random, all tokens equal, two levels and a few outliers, or a corner.
    fn start(&mut self, kind: usize) -> Point {
        let tokens = self.place.tokens;
        match kind % 4 {
            0 => (0..tokens).map(|_| self.token()).collect(),
            1 => vec![self.token(); tokens],
            2 => {
                let (a, b, share) = (self.token(), self.token(), self.random());
                let mut x: Point =
                    (0..tokens).map(|_| if self.random() < share { a.clone() } else { b.clone() }).collect();
                for _ in 0..self.below(4) {
                    let outlier = self.below(tokens);
                    x[outlier] = self.token();
                }
                x
            }
            _ => {
                let ends = [self.place.low, self.place.high];
                (0..tokens).map(|_| (0..self.place.dims).map(|_| ends[self.below(2)]).collect()).collect()
            }
        }
    }

    /// A neighbour of a point: one coordinate of one token, of all that share its value, of some, or of all, moved.
    fn neighbour(&mut self, x: &Point) -> Point {
        let (tokens, k) = (x.len(), self.below(self.place.dims));
        let chosen = self.below(tokens);
        let value = x[chosen][k];
        let group = self.below(4);
        let moved: Vec<bool> = (0..tokens)
            .map(|j| match group {
                1 => x[j][k].to_bits() == value.to_bits(),
                2 => self.random() < 0.5,
                3 => true,
                _ => false,
            } || j == chosen)
            .collect();
        let span = self.place.high - self.place.low;
        let other = self.below(tokens);
        let (to, by) = match self.below(8) {
            0 => (Some(self.place.low), 0.0),
            1 => (Some(self.place.high), 0.0),
            2 => (Some(x[other][k]), 0.0),
            3 => (Some(self.level()), 0.0),
            way => {
                let sign = if way % 2 == 0 { 1.0 } else { -1.0 };
                // Steps of any size, from a ten-thousandth of the side on; on integers at least one.
                let step = span * 10_f64.powf(-4.0 * self.random());
                (None, sign * if self.place.integers { step.max(1.0) } else { step })
            }
        };
        let place = |x: f64| to.unwrap_or_else(|| self.place.nearest(x + by));
        let mut next = x.clone();
        for (token, _) in next.iter_mut().zip(&moved).filter(|(_, moved)| **moved) {
            token[k] = place(token[k]);
        }
        next
    }

    /// One round: a few neighbours of each start, and the best of them in its place if it is better.
    fn climb(&mut self, starts: &mut [(f64, Point)], together: usize) -> Result<()> {
        let each = (together / starts.len().max(1)).max(1);
        let mut batch: Vec<Point> = Vec::with_capacity(together);
        for (_, x) in &*starts {
            for _ in 0..each {
                batch.push(self.neighbour(x));
            }
        }
        let errors = self.errors(&batch)?;
        for (start, tried) in starts.iter_mut().zip(errors.into_iter().zip(batch).collect::<Vec<_>>().chunks(each)) {
            for (error, x) in tried {
                if *error > start.0 {
                    *start = (*error, x.clone());
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Rat;
    use crate::target::Source;

    /// The measured error where `off` is added to the target's only output coordinate.
    fn found(text: &str, grid: &Grid, points: usize, off: impl Fn(&Point) -> f64) -> Measured {
        let target = Source::expression(text, text).and_then(|source| source.target(grid.dims())).expect(text);
        let run = |batch: &[Point]| {
            let output = |x: &Point| {
                let wanted = target.evaluate_f64(x).expect("a value");
                wanted.iter().enumerate().map(|(j, f)| vec![f + if j == 0 { off(x) } else { 0.0 }]).collect()
            };
            Ok(batch.iter().map(output).collect())
        };
        ascend(&target, grid, points, run).expect("a search")
    }

    fn mean(x: &Point, f: impl Fn(f64) -> f64) -> f64 {
        let count = u32::try_from(x.len()).map_or(f64::NAN, f64::from);
        x.iter().map(|token| f(token[0])).sum::<f64>() / count
    }

    fn variance(x: &Point) -> f64 {
        let middle = mean(x, |x| x);
        mean(x, |x| (x - middle).powi(2))
    }

    #[test]
    fn suprema_that_random_points_miss_are_found() {
        let grid = Grid::unit(64, 1, 2).expect("a grid");
        // Largest where half of the tokens are 0 and half are 1: 1/4.
        let spread = found("x", &grid, 4096, variance).value;
        assert!((0.2499..=0.25).contains(&spread), "{spread}");
        // Largest where all tokens are equal: 1.
        let equal = found("x", &grid, 4096, |x| (1.0 - 20.0 * variance(x)).max(0.0)).value;
        assert!(equal >= 0.999, "{equal}");
        // Largest where one token is 1 and the others are 1/3.
        let outlier =
            found("x", &grid, 16_384, |x| (x[0][0] - 3.0 * mean(x, |x| (x - 1.0 / 3.0).abs())).max(0.0)).value;
        let most = 1.0 - 3.0 * (2.0 / 3.0) / 64.0;
        assert!(outlier >= 0.95 * most && outlier <= most + 1e-12, "{outlier} of {most}");
        // Piecewise linear with many pieces, as a feed-forward block leaves them: the top of some tooth.
        let teeth = found("x", &grid, 16_384, |x| {
            let place = (37.0 * mean(x, |x| x)).fract();
            (1.0 - (2.0 * place - 1.0).abs()) * (0.5 + 0.5 * x[0][0])
        });
        assert!(teeth.value >= 0.95 && teeth.value <= 1.0, "{teeth:?}");
        assert!(!teeth.exhaustive && teeth.confidence.is_none());
    }

    #[test]
    fn the_same_search_finds_the_same() {
        let grid = Grid::unit(5, 2, 2).expect("a grid");
        let one = found("x.0", &grid, 1000, |x| x[1][1] * x[2][0]);
        assert_eq!(one, found("x.0", &grid, 1000, |x| x[1][1] * x[2][0]));
        assert!((1000..1000 + BATCH).contains(&one.points), "{}", one.points);
        assert!(one.value > 0.999, "{}", one.value);
    }

    #[test]
    fn integers_stay_integers_and_few_are_all_looked_at() {
        let grid = |tokens, dims| Grid::new(tokens, dims, 4, Rat::new(-5, 2), Rat::new(3, 2)).expect("a grid");
        let integral = |x: &Point| x.iter().flatten().all(|x| x.fract() == 0.0 && (-2.0..=1.0).contains(x));
        let needle = |x: &Point| if *x == [[-2.0], [1.0], [0.0]] { 5.0 } else { 0.0 };
        let text = "x on integers -2..2";
        let all = found(text, &grid(3, 1), 64, |x| if integral(x) { needle(x) } else { 100.0 });
        assert_eq!((all.value, all.points, all.exhaustive), (5.0, 64, true));
        let some = found(text, &grid(30, 1), 4096, |x| if integral(x) { -mean(x, |x| x) } else { 100.0 });
        assert_eq!((some.value, some.exhaustive), (2.0, false));
    }
}
