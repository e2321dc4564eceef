//! A bound by term, and what it is to be read beside.

use maud::{Markup, html};

use super::plot::{Scale, px};
use crate::bound::Term;
use crate::bound::norm::upward;
use crate::compile::{Certified, Model};
use crate::error::Result;
use crate::exact::Rat;
use crate::show::plural;

/// A bound, rounded up for people; the whole of it is in its `value`.
pub(crate) fn number(name: &str, value: f64, digits: usize) -> Markup {
    html! { data class=(name) value=(value) { (upward(value, digits)) } }
}

/// The most terms that have a bar of their own.
const MOST_TERMS: usize = 12;

/// The terms of the bound: as parts of one bar, and by themselves.
pub(crate) fn terms(model: &Model) -> Result<Markup> {
    let Some(Certified { budget, .. }) = model.certified()? else {
        if model.built.is_measured() {
            return Ok(
                html! { p { "From training, and nothing but a measurement tells how large it is. Rounding adds no more than what is certified above." } },
            );
        }
        return Ok(
            html! { p { "No norm was asked for: what is claimed is claimed point by point, and nothing is added up." } },
        );
    };
    let mut terms: Vec<&Term> = budget.terms.iter().filter(|term| term.bound > 0.0).collect();
    terms.sort_by(|a, b| b.bound.total_cmp(&a.bound));
    let (largest, rest) = terms.split_at(terms.len().min(MOST_TERMS));
    let mut bars: Vec<(String, f64)> = largest.iter().map(|term| (term.name.to_string(), term.bound)).collect();
    if !rest.is_empty() {
        bars.push((plural(rest.len(), "smaller one"), rest.iter().map(|term| term.bound).sum()));
    }
    let sum: f64 = bars.iter().map(|(_, bound)| bound).sum();
    let most = bars.iter().map(|(_, bound)| *bound).fold(0.0, f64::max);
    let part = |bound: f64, whole: f64| if whole > 0.0 { 1000.0 * bound / whole } else { 0.0 };
    let mut left = 0.0;
    let stacked: Vec<(f64, f64)> = bars
        .iter()
        .map(|(_, bound)| {
            let start = left;
            left += part(*bound, sum);
            (start, part(*bound, sum))
        })
        .collect();
    Ok(html! {
        p {
            (budget.norm) " error at most " (number("bound", budget.bound, 4)) ", " (budget.method.name()) ", term by term; the sum of the terms is at least that."
        }
        @if bars.is_empty() { p { "Every term is 0." } }
        @else {
            svg.stack viewBox="0 0 1000 24" preserveAspectRatio="none" role="img" aria-label="the terms as parts of one bar" {
                @for (index, (x, width)) in stacked.iter().enumerate() {
                    rect class={ "part" (index % 6) } x=(px(*x)) y="0" width=(px(*width)) height="24" {}
                }
            }
            table.bars { tbody { @for (index, (name, bound)) in bars.iter().enumerate() { tr {
                th scope="row" { span class={ "key part" (index % 6) } {} (name) }
                td.number { (number("term", *bound, 3)) }
                td.bar { svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" {
                    rect class={ "part" (index % 6) } x="0" y="0" width=(px(part(*bound, most))) height="10" {}
                } }
            } } } }
        }
    })
}

/// Room for names on the left and numbers on the right, the height of a row.
const LEFT: f64 = 130.0;
const RIGHT: f64 = 560.0;
const ROW: f64 = 26.0;

/// The bound, what was measured, the tolerance and the best constant on one logarithmic scale.
pub(crate) fn compared(model: &Model) -> Result<Markup> {
    let Some(Certified { budget, baseline }) = model.certified()? else { return Ok(html! {}) };
    let measured = model.measured()?.map(|measured| measured.value);
    let eps = model.tolerance.eps.as_ref().map(Rat::to_f64);
    let rows = [
        ("measured", measured, measured.map(|value| format!("{value:.3e}"))),
        (model.badge(), Some(budget.bound), Some(upward(budget.bound, 3))),
        ("tolerance", eps, model.tolerance.eps.as_ref().map(ToString::to_string)),
        (
            "best constant",
            baseline.map(|known| known.best_constant),
            baseline.map(|known| format!("{:.3e}", known.best_constant)),
        ),
    ];
    let rows: Vec<(&str, f64, String)> =
        rows.into_iter().filter_map(|(name, value, text)| Some((name, value.filter(|x| *x > 0.0)?, text?))).collect();
    let ends = rows.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), row| (low.min(row.1), high.max(row.1)));
    if rows.len() < 2 {
        return Ok(html! {});
    }
    let (low, high) = (ends.0.log10().floor(), ends.1.log10().ceil().max(ends.0.log10().floor() + 1.0));
    let scale = Scale::new((low, high), (LEFT, RIGHT));
    #[expect(clippy::cast_precision_loss, reason = "four rows")]
    let y = |row: usize| ROW * (row as f64 + 0.5);
    let bottom = y(rows.len()) - ROW / 2.0;
    let decades =
        std::iter::successors(Some(low), |x| Some(x + ((high - low) / 6.0).ceil())).take_while(|x| *x <= high);
    Ok(html! {
        figure {
            div.scroll { svg.chart viewBox=(format!("0 0 660 {}", bottom + 24.0)) width="660" role="img" aria-label="error, bound and baseline on one scale" {
                @for decade in decades {
                    line.grid x1=(px(scale.at(decade))) x2=(px(scale.at(decade))) y1="0" y2=(px(bottom)) {}
                    text.tick x=(px(scale.at(decade))) y=(px(bottom + 16.0)) text-anchor="middle" { "1e" (decade) }
                }
                @for (row, (name, value, text)) in rows.iter().enumerate() {
                    @let x = scale.at(value.log10());
                    text x=(px(LEFT - 12.0)) y=(px(y(row) + 4.0)) text-anchor="end" { (name) }
                    line class={ "lead " (name.replace(' ', "-")) } x1=(px(LEFT)) x2=(px(x)) y1=(px(y(row))) y2=(px(y(row))) {}
                    circle class={ "mark " (name.replace(' ', "-")) } cx=(px(x)) cy=(px(y(row))) r="5" {}
                    text.value x=(px(x + 11.0)) y=(px(y(row) + 4.0)) { (text) }
                }
            }
            }
            figcaption { (budget.norm) " errors on a logarithmic scale. A bound that is not below the best constant would say nothing." }
        }
    })
}
