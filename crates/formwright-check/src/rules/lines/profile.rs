//! Errors of wires: how far the number that is computed may be from the one that is meant, by the latter's value.

use super::Known;
use crate::kernel::number::{Dyadic, Range};

/// A cell of a curve's argument.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The argument.
    pub argument: Range,
    /// All values there.
    pub values: Range,
    /// The error there.
    pub error: Dyadic,
}

/// The error of a wire as a function of its value.
#[derive(Clone, Debug)]
pub enum Profile {
    /// The same everywhere.
    Constant(Dyadic),
    /// Cell by cell of the argument of a curve.
    Cells(Vec<Cell>),
    /// A mean: `fixed + relative · |v - centre| + slope · hull(v/scale)`, where the hull is concave, and not below the
    /// error of what is averaged (Jensen).
    Mean(Box<Mean>),
}

/// The error of a mean.
#[derive(Clone, Debug)]
pub struct Mean {
    /// Corners of the hull, ascending.
    pub hull: Vec<[Dyadic; 2]>,
    /// The divisor of the values.
    pub scale: Range,
    /// The factor of the hull.
    pub slope: Dyadic,
    /// The constant part of the error.
    pub fixed: Dyadic,
    /// The factor of the value's distance from the centre.
    pub relative: Dyadic,
    /// The centre.
    pub centre: Range,
}

/// Rounds up to a number with fewer digits.
pub fn up(x: &Dyadic) -> Dyadic {
    Range::point(x.clone()).tidy().hi
}

fn meets(a: &Range, b: &Range) -> bool {
    a.lo <= b.hi && b.lo <= a.hi
}

impl Profile {
    /// The largest error.
    pub fn most(&self, range: &Range) -> Dyadic {
        self.over(range)
    }

    /// The same, and so much more.
    pub fn raised(&self, by: &Dyadic) -> Self {
        match self {
            Self::Constant(error) => Self::Constant(up(&(error + by))),
            Self::Cells(cells) => {
                let raised = |cell: &Cell| Cell { error: up(&(&cell.error + by)), ..cell.clone() };
                Self::Cells(cells.iter().map(raised).collect())
            }
            Self::Mean(mean) => Self::Mean(Box::new(Mean { fixed: up(&(&mean.fixed + by)), ..(**mean).clone() })),
        }
    }

    /// The largest error where the value is one of these.
    pub fn over(&self, values: &Range) -> Dyadic {
        match self {
            Self::Constant(error) => error.clone(),
            Self::Cells(cells) => {
                let met = cells.iter().filter(|cell| meets(&cell.values, values));
                met.map(|cell| cell.error.clone()).fold(Dyadic::ZERO, Dyadic::max)
            }
            Self::Mean(mean) => {
                let Mean { hull, scale, slope, fixed, relative, centre } = &**mean;
                let far = (values - centre).size();
                let means = values.over(scale).unwrap_or_else(|| values.clone());
                up(&(&(fixed + &(relative * &far)) + &(slope * &concave(hull, &means))))
            }
        }
    }

    /// The corners of a concave function that is not below the error.
    pub fn hull(&self, range: &Range) -> Vec<[Dyadic; 2]> {
        let mut points: Vec<[Dyadic; 2]> = match self {
            Self::Constant(error) => vec![[range.lo.clone(), error.clone()], [range.hi.clone(), error.clone()]],
            Self::Cells(cells) => cells
                .iter()
                .flat_map(|cell| [&cell.values.lo, &cell.values.hi].map(|end| [end.clone(), cell.error.clone()]))
                .collect(),
            Self::Mean(_) => {
                let most = self.most(range);
                vec![[range.lo.clone(), most.clone()], [range.hi.clone(), most]]
            }
        };
        points.sort();
        let mut hull: Vec<[Dyadic; 2]> = Vec::new();
        for point in points {
            while let [.., a, b] = hull.as_slice() {
                // b lies below, or on, the line from a to the point.
                let rise = |p: &[Dyadic; 2], q: &[Dyadic; 2]| (&q[1] - &p[1], &q[0] - &p[0]);
                let ((dy, dx), (ey, ex)) = (rise(a, b), rise(a, &point));
                if &dy * &ex <= &ey * &dx {
                    hull.pop();
                } else {
                    break;
                }
            }
            if let [last] = hull.as_slice()
                && last[0] == point[0]
            {
                hull.pop();
            }
            hull.push(point);
        }
        hull
    }
}

/// The largest value of a concave function between two numbers. Outside of its corners it is what it is at the next
/// one: what is meant lies between them.
fn concave(hull: &[[Dyadic; 2]], over: &Range) -> Dyadic {
    let at = |x: &Dyadic| {
        let next = hull.partition_point(|corner| corner[0] < *x);
        let (Some(after), Some(before)) = (hull.get(next), next.checked_sub(1).and_then(|last| hull.get(last))) else {
            let end = if next == 0 { hull.first() } else { hull.last() };
            return end.map_or(Dyadic::ZERO, |corner| corner[1].clone());
        };
        // The value of the line, rounded up.
        let (rise, run) = (&after[1] - &before[1], &after[0] - &before[0]);
        let share = Range::point(&(x - &before[0]) * &rise).over(&Range::point(run));
        share.map_or_else(
            || after[1].clone().max(before[1].clone()),
            |share| (&Range::point(before[1].clone()) + &share).hi,
        )
    };
    let inside = hull.iter().filter(|corner| over.lo <= corner[0] && corner[0] <= over.hi);
    inside.map(|corner| corner[1].clone()).fold(at(&over.lo).max(at(&over.hi)), Dyadic::max)
}

impl Known {
    /// A wire whose error is known by cells of an argument.
    pub(super) fn of_cells(cells: Vec<Cell>) -> Self {
        let most = cells.iter().map(|cell| cell.error.clone()).fold(Dyadic::ZERO, Dyadic::max);
        let range = cells.iter().map(|cell| cell.values.clone()).reduce(|a, b| a.hull(&b)).unwrap_or(Range::ZERO);
        Self { range, error: Profile::Cells(cells), most, tooth: Dyadic::ZERO }
    }
}
