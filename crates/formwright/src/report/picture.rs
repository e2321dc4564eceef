//! Pictures of the target and the network: maps where there are two inputs, slices where there are more.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maud::{Markup, html};

use super::plot::{STEPS, Scale, px, step};
use super::sample::{Bad, Sample, Sampler};
use crate::bound::Norm;
use crate::compile::{Certified, Model};
use crate::error::Result;
use crate::exact::Rat;
use crate::show::{brief, rounded, short};

/// The most points along a side of a map, and the fewest with which there is one.
const MAP: (u64, u64) = (64, 12);

/// The same of a slice.
const SLICE: (u64, u64) = (384, 24);

/// The pictures, or why there are none.
pub(crate) fn pictures(model: &Model) -> Markup {
    let drawn = Sampler::new(model).and_then(|sampler| {
        if model.grid.tokens() * model.grid.dims() == 2 { maps(model, &sampler) } else { slices(model, &sampler) }
    });
    drawn.unwrap_or_else(|error| html! { p { "There are no pictures: " (error.headline()) "." } })
}

fn too_large() -> Markup {
    html! { p { "The network is too large to be run at enough points within a second: there are no pictures of it here." } }
}

/// The smallest and the largest of some numbers; those that are none are left out.
fn ends(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = numbers
        .filter(|x| x.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    if low <= high { (low, high) } else { (0.0, 0.0) }
}

/// Maps over both inputs.
fn maps(model: &Model, sampler: &Sampler<'_>) -> Result<Markup> {
    let affordable = sampler.most.isqrt().try_into().unwrap_or(MAP.0).min(MAP.0);
    let side = sampler.count(affordable);
    if side < MAP.1.min(model.grid.resolution()) {
        return Ok(too_large());
    }
    let along = sampler.along(side);
    let points = along.iter().flat_map(|y| along.iter().map(|x| vec![vec![x.clone()], vec![y.clone()]]));
    let samples = sampler.at(points.collect())?;
    let bad = if model.has_cells() {
        samples.iter().map(|sample| sampler.bad(sample)).collect::<Result<Vec<_>>>()?
    } else {
        Vec::new()
    };
    let mirrored = model.target.is_equivariant();
    let dims = model.target.output_dims();
    let entries = if mirrored { dims } else { 2 * dims }.min(2);
    let side = usize::try_from(side).unwrap_or(0);
    Ok(html! {
        p {
            "Token 0 to the right, token 1 upwards, "
            @if model.target.is_discrete() { "at " (side) " × " (side) " pairs of integers" }
            @else { "at the centres of " (side) " × " (side) " squares" }
            "."
            @if mirrored { " Swapping the tokens swaps the outputs: the output of token 1 is the mirror image." }
        }
        @for entry in 0..entries {
            h3 { (output(model, entry)) }
            div.maps { (maps_of(model, &samples, (entry, side))) }
        }
        @if !bad.is_empty() {
            h3 { "The bad set" }
            (bad_set(model, &bad, side))
        }
    })
}

/// An output entry in words.
fn output(model: &Model, entry: usize) -> String {
    let dims = model.target.output_dims();
    let coordinate = if dims == 1 { String::new() } else { format!(", coordinate {}", entry % dims) };
    format!("Output of token {}{coordinate}", entry / dims)
}

/// The maps of one output entry.
fn maps_of(model: &Model, samples: &[Sample], (entry, side): (usize, usize)) -> Markup {
    let values = ends(samples.iter().flat_map(|sample| [sample.f[entry], sample.g[entry]]));
    let errors: Vec<f64> = samples.iter().map(|sample| (sample.f[entry] - sample.g[entry]).abs()).collect();
    let largest = ends(errors.iter().copied()).1;
    let level = |x: f64, ends| x.is_finite().then(|| step(x, ends));
    let of = |class: char, ends, numbers: &mut dyn Iterator<Item = f64>, caption: Markup| {
        let levels: Vec<Option<usize>> = numbers.map(|x| level(x, ends)).collect();
        html! { figure {
            (map(model, &squares(&levels, side, |level| format!("{class}{level}")), side, &legend(class, ends)))
            figcaption { (caption) }
        } }
    };
    let f = &mut samples.iter().map(|sample| sample.f[entry]);
    let g = &mut samples.iter().map(|sample| sample.g[entry]);
    html! {
        (of('v', values, f, html! { "the target " i { "f" } }))
        (of('v', values, g, html! { "the network " i { "g" } ", as it computes" }))
        (of('e', (0.0, largest), &mut errors.iter().copied(), html! {
            span.badge.measured { "measured" } " |" i { "f" } " − " i { "g" } "|: at most " (rounded(largest)) " at these points"
        }))
    }
}

/// The points at which a network by cells is not as its cell says.
fn bad_set(model: &Model, bad: &[Option<Bad>], side: usize) -> Markup {
    let levels: Vec<Option<usize>> = bad.iter().map(|bad| bad.map(|bad| usize::from(bad == Bad::Ramp))).collect();
    let class = |level: usize| if level == 0 { "duplicates".to_owned() } else { "ramp".to_owned() };
    let count = |what| bad.iter().filter(|bad| **bad == Some(what)).count();
    let (duplicates, ramps) = (count(Bad::Duplicates), count(Bad::Ramp));
    let whole = bad.len();
    html! {
        p {
            span.badge.measured { "measured" } " Where the network does not give the target's value at the centre of the cell: "
            @if duplicates + ramps == 0 { "at none of these " (whole) " points." }
            @else {
                @if duplicates > 0 { span.key.duplicates {} (duplicates) " of " (whole) " points have two tokens in one cell. " }
                @if ramps > 0 { span.key.ramp {} (ramps) " of " (whole) " points lie on a ramp between cells." }
            }
        }
        @if duplicates + ramps > 0 { div.maps { (map(model, &squares(&levels, side, class), side, &html! {})) } }
    }
}

/// Squares of equal colour, as one path a colour; runs along a row are one rectangle.
fn squares(levels: &[Option<usize>], side: usize, class: impl Fn(usize) -> String) -> Vec<(String, String)> {
    let mut paths: BTreeMap<usize, String> = BTreeMap::new();
    for (row, levels) in levels.chunks(side.max(1)).enumerate() {
        let mut column = 0;
        for run in levels.chunk_by(PartialEq::eq) {
            if let Some(level) = run[0] {
                let path = paths.entry(level).or_default();
                let _ = write!(path, "M{column} {}h{}v1h-{}z", side - 1 - row, run.len(), run.len());
            }
            column += run.len();
        }
    }
    paths.into_iter().map(|(level, path)| (class(level), path)).collect()
}

/// The side of a map, and where it begins.
const SIDE: f64 = 200.0;
const LEFT: f64 = 44.0;
const TOP: f64 = 8.0;

/// Coloured squares with axes.
fn map(model: &Model, paths: &[(String, String)], side: usize, legend: &Markup) -> Markup {
    let box_ends = (model.grid.low().to_f64(), model.grid.high().to_f64());
    let (x, y) = (Scale::new(box_ends, (LEFT, LEFT + SIDE)), Scale::new(box_ends, (TOP + SIDE, TOP)));
    #[expect(clippy::cast_precision_loss, reason = "64")]
    let scale = SIDE / side as f64;
    html! {
        svg.map viewBox="0 0 320 244" width="320" role="img" aria-label="a map over both tokens" {
            g transform=(format!("translate({LEFT} {TOP}) scale({scale})")) shape-rendering="crispEdges" {
                @for (class, path) in paths { path class=(class) d=(path) {} }
            }
            rect.frame x=(px(LEFT)) y=(px(TOP)) width=(px(SIDE)) height=(px(SIDE)) {}
            @for (at, text) in x.ticks(4.0) {
                text.tick x=(px(x.at(at))) y=(px(TOP + SIDE + 15.0)) text-anchor="middle" { (text) }
            }
            @for (at, text) in y.ticks(4.0) {
                text.tick x=(px(LEFT - 6.0)) y=(px(y.at(at) + 4.0)) text-anchor="end" { (text) }
            }
            text.tick x=(px(LEFT + SIDE / 2.0)) y=(px(TOP + SIDE + 31.0)) text-anchor="middle" { "token 0" }
            text.tick transform=(format!("translate(12 {}) rotate(-90)", TOP + SIDE / 2.0)) text-anchor="middle" { "token 1" }
            (legend)
        }
    }
}

/// The ramp of a map, with its ends.
fn legend(class: char, (low, high): (f64, f64)) -> Markup {
    #[expect(clippy::cast_precision_loss, reason = "32 steps")]
    let height = SIDE / STEPS as f64;
    let x = LEFT + SIDE + 12.0;
    #[expect(clippy::cast_precision_loss, reason = "32 steps")]
    let y = |step: usize| TOP + SIDE - height * (step as f64 + 1.0);
    html! {
        g shape-rendering="crispEdges" { @for step in 0..STEPS {
            rect class=(format!("{class}{step}")) x=(px(x)) y=(px(y(step))) width="10" height=(px(height)) {}
        } }
        text.tick x=(px(x + 14.0)) y=(px(TOP + 9.0)) { (brief(high)) }
        text.tick x=(px(x + 14.0)) y=(px(TOP + SIDE)) { (brief(low)) }
    }
}

/// Curves along the first coordinate of token 0, everything else as in the example.
fn slices(model: &Model, sampler: &Sampler<'_>) -> Result<Markup> {
    let affordable = u64::try_from(sampler.most).unwrap_or(u64::MAX).min(SLICE.0);
    let count = sampler.count(affordable);
    if count < SLICE.1.min(model.grid.resolution()) {
        return Ok(too_large());
    }
    let example = model.example();
    let along = sampler.along(count);
    let moved = |x: &Rat| {
        let mut point = example.clone();
        point[0][0] = x.clone();
        point
    };
    let samples = sampler.at(along.iter().map(moved).collect())?;
    let dims = model.target.output_dims();
    let bound = match model.certified()? {
        Some(Certified { budget, .. }) if budget.norm == Norm::Sup => Some(budget.bound),
        _ => None,
    };
    let fixed: Vec<String> = example
        .iter()
        .map(|token| match token.as_slice() {
            [x] => short(x),
            token => format!("({})", token.iter().map(short).collect::<Vec<_>>().join(", ")),
        })
        .collect();
    let what = if model.grid.dims() == 1 { "Token 0" } else { "Coordinate 0 of token 0" };
    let told = fixed.len().min(9);
    Ok(html! {
        p {
            (what) " moves through its domain, " (samples.len()) " points; everything else stays as in the example, ["
            "·" @for token in &fixed[1..told] { ", " (token) }
            @if told < fixed.len() { ", …" } "]"
            @if model.grid.dims() > 1 { " with the other coordinates of token 0 as in " (fixed[0]) }
            "."
        }
        @for token in 0..model.grid.tokens().min(2) {
            h3 { (output(model, token * dims)) }
            (slice(model, &samples, token * dims, bound))
        }
    })
}

/// The width of a slice, and where its axes are.
const WIDTH: f64 = 680.0;
const AXIS: f64 = 64.0;

/// Both curves of one entry, and their distance.
fn slice(model: &Model, samples: &[Sample], entry: usize, bound: Option<f64>) -> Markup {
    let place = |sample: &Sample| sample.x[0][0].to_f64();
    let box_ends = (model.grid.low().to_f64(), model.grid.high().to_f64());
    let curve = |of: &dyn Fn(&Sample) -> f64| -> Vec<(f64, f64)> {
        samples.iter().map(|sample| (place(sample), of(sample))).collect()
    };
    let f = curve(&|sample| sample.f[entry]);
    let g = curve(&|sample| sample.g[entry]);
    let error = curve(&|sample| (sample.f[entry] - sample.g[entry]).abs());
    let largest = ends(error.iter().map(|point| point.1)).1;
    let values = ends(f.iter().chain(&g).map(|point| point.1));
    let dots = model.target.is_discrete();
    html! {
        figure {
            div.scroll { (chart(box_ends, values, 200.0, &[("f", &f), ("g", &g)], None, dots)) }
            figcaption { span.key.f {} "the target " i { "f" } " " span.key.g {} "the network " i { "g" } ", as it computes" }
        }
        figure {
            div.scroll { (chart(box_ends, (0.0, largest.max(bound.unwrap_or(0.0))), 90.0, &[("error", &error)], bound, dots)) }
            figcaption {
                span.badge.measured { "measured" } " " span.key.error {} "|" i { "f" } " − " i { "g" } "|: at most " (rounded(largest)) " at these points"
                @if bound.is_some() { " " span.key.bound {} "the bound" }
            }
        }
    }
}

/// Curves over one input; dots where there is nothing between the points.
fn chart(
    (from, to): (f64, f64),
    values: (f64, f64),
    height: f64,
    curves: &[(&str, &[(f64, f64)])],
    bound: Option<f64>,
    dots: bool,
) -> Markup {
    let (top, bottom) = (8.0, 8.0 + height);
    let (x, y) = (Scale::new((from, to), (AXIS, WIDTH - 12.0)), Scale::new(values, (bottom, top)));
    let path = |curve: &[(f64, f64)]| {
        let mut path = String::new();
        let mut pen = 'M';
        for (at, value) in curve {
            if !value.is_finite() {
                pen = 'M';
                continue;
            }
            let _ = write!(path, "{pen}{} {}", px(x.at(*at)), px(y.at(*value)));
            pen = 'L';
        }
        path
    };
    html! {
        svg.chart viewBox=(format!("0 0 {WIDTH} {}", bottom + 36.0)) width=(px(WIDTH)) role="img" aria-label="curves along one input" {
            @for (at, text) in y.ticks(height / 45.0) {
                line.grid x1=(px(AXIS)) x2=(px(WIDTH - 12.0)) y1=(px(y.at(at))) y2=(px(y.at(at))) {}
                text.tick x=(px(AXIS - 8.0)) y=(px(y.at(at) + 4.0)) text-anchor="end" { (text) }
            }
            @for (at, text) in x.ticks(8.0) {
                text.tick x=(px(x.at(at))) y=(px(bottom + 16.0)) text-anchor="middle" { (text) }
            }
            text.tick x=(px(f64::midpoint(AXIS, WIDTH))) y=(px(bottom + 32.0)) text-anchor="middle" { "token 0" }
            @if let Some(bound) = bound {
                line.bound x1=(px(AXIS)) x2=(px(WIDTH - 12.0)) y1=(px(y.at(bound))) y2=(px(y.at(bound))) {}
            }
            @for (class, curve) in curves {
                path class={ "curve " (class) } d=(path(curve)) {}
                @if dots { @for (at, value) in curve.iter().filter(|point| point.1.is_finite()) {
                    circle class={ "dot " (class) } cx=(px(x.at(*at))) cy=(px(y.at(*value))) r="2.5" {}
                } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::squares;

    #[test]
    fn squares_of_one_colour_are_one_path_with_runs_as_rectangles_from_below() {
        let levels = [Some(1), Some(1), None, Some(0)];
        let paths = squares(&levels, 2, |level| format!("v{level}"));
        let text = |class: &str, path: &str| (class.to_owned(), path.to_owned());
        assert_eq!(paths, [text("v0", "M1 0h1v1h-1z"), text("v1", "M0 1h2v1h-2z")]);
    }
}
