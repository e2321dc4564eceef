//! Which copies of a median are spoiled where: of two inputs a map of the first cells, a stripe for each ramp.

use maud::{Markup, html};

use super::plot::{Scale, px};
use crate::construct::median::built::Median;
use crate::exact::Rat;
use crate::model::Model;

/// The cells a side that are drawn.
const CELLS: u64 = 3;

/// The side of the map, and where it begins.
const SIDE: f64 = 240.0;
const LEFT: f64 = 44.0;
const TOP: f64 = 8.0;

/// A stripe: its grid, and from where to where it goes in a coordinate.
type Stripe = (usize, f64, f64);

/// The map of a median of two inputs.
pub(super) fn spoiled(model: &Model) -> Option<Markup> {
    let median: &Median = model.built.of()?;
    let shifts = &median.shifts;
    if shifts.spoiled() != 2 {
        return None;
    }
    let low = shifts.whole.low().clone();
    let high = &low + shifts.side() * Rat::from(shifts.whole.resolution().min(CELLS));
    let ends = (low.to_f64(), high.to_f64());
    let (x, y) = (Scale::new(ends, (LEFT, LEFT + SIDE)), Scale::new(ends, (TOP + SIDE, TOP)));
    let stripes = stripes(median, &low, &high);
    let bottom = TOP + SIDE + 36.0;
    Some(html! {
        figure {
            svg.map viewBox=(format!("0 0 320 {bottom}")) width="320" role="img" aria-label="the ramps of all grids, over both inputs" {
                @for (grid, from, to) in &stripes {
                    @let class = format!("grid{grid}");
                    rect class=(class) x=(px(x.at(*from))) y=(px(TOP)) width=(px(x.at(*to) - x.at(*from))) height=(px(SIDE)) {}
                    rect class=(class) x=(px(LEFT)) y=(px(y.at(*to))) width=(px(SIDE)) height=(px(y.at(*from) - y.at(*to))) {}
                }
                rect.frame x=(px(LEFT)) y=(px(TOP)) width=(px(SIDE)) height=(px(SIDE)) {}
                @for (at, text) in x.ticks(4.0) {
                    text.tick x=(px(x.at(at))) y=(px(TOP + SIDE + 15.0)) text-anchor="middle" { (text) }
                }
                @for (at, text) in y.ticks(4.0) {
                    text.tick x=(px(LEFT - 6.0)) y=(px(y.at(at) + 4.0)) text-anchor="end" { (text) }
                }
                @for grid in 0..shifts.copies() {
                    @let at = TOP + 8.0 + 16.0 * [0.0, 1.0, 2.0, 3.0, 4.0][grid];
                    rect class=(format!("grid{grid}")) x=(px(LEFT + SIDE + 8.0)) y=(px(at - 8.0)) width="10" height="10" {}
                    text.tick x=(px(LEFT + SIDE + 21.0)) y=(px(at + 1.0)) { (grid) }
                }
            }
            figcaption {
                "The first cells, and in the colour of each grid the ramps before its walls, where its copy may be spoiled. "
                "Stripes of one direction never meet: two copies of " (shifts.copies()) " are spoiled at a crossing, and nowhere more."
            }
        }
    })
}

/// The ramps of all grids, in what is drawn of a coordinate. The ramp of an exact network has no width: a margin is drawn.
fn stripes(median: &Median, low: &Rat, high: &Rat) -> Vec<Stripe> {
    let shifts = &median.shifts;
    let ramp = median.lowered.as_ref().and_then(|(lowering, _)| lowering.copies.first());
    let ramp = shifts.side() * ramp.map_or_else(|| shifts.margin(), |copy| copy.quantiser.width());
    let mut stripes = Vec::new();
    for copy in 0..shifts.copies() {
        for cell in 0..=CELLS {
            let wall = low + shifts.side() * (Rat::from(cell) - shifts.shift(copy));
            let (from, to) = ((&wall - &ramp).max(low.clone()), wall.min(high.clone()));
            if from < to {
                stripes.push((copy, from.to_f64(), to.to_f64()));
            }
        }
    }
    stripes
}
