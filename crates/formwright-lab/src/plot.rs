//! Pictures of an experiment: panels of curves, with the spread of the seeds.

use formwright::error::{Error, Result};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::config::{Architecture, Plot};
use crate::folder::{Folder, replace};
use crate::summary::{Group, Spread, groups};
use crate::train::Progress;

/// Colours that everyone can tell apart (Okabe and Ito; brown in place of their yellow, which is faint on white).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
    RGBColor(140, 81, 10),
];

/// The colour of a line.
pub fn colour(place: usize) -> RGBColor {
    COLOURS[place % COLOURS.len()]
}

/// A line with a spread: at each place the least, the middle and the largest.
pub struct Line {
    /// The name of the line.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, Spread)>,
    /// True if points are drawn as points, with bars.
    pub marked: bool,
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// As they are.
    Plain,
    /// By their logarithms, labelled anywhere.
    Decades,
    /// By their logarithms, labelled at powers of two.
    Doublings,
}

impl Scale {
    /// True if a number has a place.
    fn has(self, number: f64) -> bool {
        number.is_finite() && (self == Self::Plain || number > 0.0)
    }

    /// The place of a number.
    fn at(self, number: f64) -> f64 {
        match self {
            Self::Plain => number,
            Self::Decades => number.log10(),
            Self::Doublings => number.log2(),
        }
    }

    /// The label at a place, if it has one.
    fn label(self, place: f64) -> String {
        match self {
            Self::Plain => short(place),
            Self::Decades => power(place),
            Self::Doublings if (place - place.round()).abs() < 1e-9 => short(place.round().exp2()),
            Self::Doublings => String::new(),
        }
    }
}

/// A panel: lines over axes.
pub struct Panel {
    /// The title.
    pub title: String,
    /// The horizontal axis.
    pub x: String,
    /// Its scale.
    pub across: Scale,
    /// The vertical axis.
    pub y: String,
    /// Its scale.
    pub up: Scale,
    /// The lines.
    pub lines: Vec<Line>,
    /// A horizontal line to read the others beside.
    pub level: Option<(f64, String)>,
}

const PANEL: (u32, u32) = (560, 380);

fn failed(error: impl std::fmt::Display) -> Error {
    Error::input(format!("the picture cannot be drawn: {error}"))
}

/// The height of a row of names.
const ROW: u32 = 20;

/// Draws panels, two in a row. Lines that all panels have are named once, below them, where names hide nothing.
pub fn draw(panels: &[Panel]) -> Result<String> {
    let across = panels.len().clamp(1, 2);
    let down = panels.len().div_ceil(across).max(1);
    let names = |panel: &Panel| panel.lines.iter().map(|line| line.name.clone()).collect::<Vec<String>>();
    let shared = panels.first().map(names).filter(|first| panels.iter().all(|panel| names(panel) == *first));
    let apart = shared.is_none();
    let below = shared.unwrap_or_default();
    let mut svg = String::new();
    {
        #[expect(clippy::cast_possible_truncation, reason = "a few panels")]
        let (wide, high, key) =
            (PANEL.0 * across as u32, PANEL.1 * down as u32, ROW * below.len().div_ceil(across) as u32);
        let area = SVGBackend::with_string(&mut svg, (wide, high + key)).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        let (above, key) = area.split_vertically(high);
        for (panel, place) in panels.iter().zip(above.split_evenly((down, across))) {
            draw_panel(panel, &place, apart)?;
        }
        draw_names(&below, across, &key)?;
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

/// The names of lines, one below each panel of a row.
fn draw_names(names: &[String], across: usize, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<()> {
    for (place, name) in names.iter().enumerate() {
        #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "a few")]
        let (x, y) = (60 + PANEL.0 as i32 * (place % across) as i32, 6 + ROW as i32 * (place / across) as i32);
        area.draw(&PathElement::new([(x, y), (x + 16, y)], colour(place).stroke_width(2))).map_err(failed)?;
        area.draw(&Text::new(name.as_str(), (x + 24, y - 6), ("sans-serif", 13))).map_err(failed)?;
    }
    Ok(())
}

fn draw_panel(panel: &Panel, area: &DrawingArea<SVGBackend<'_>, Shift>, named: bool) -> Result<()> {
    let (across, up) = (panel.across, panel.up);
    let placed = |(_, spread): &&(f64, Spread)| up.has(spread.least) && up.has(spread.most);
    let points = || panel.lines.iter().flat_map(|line| &line.points).filter(placed);
    let ends = |numbers: Vec<f64>| -> (f64, f64) {
        let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let room = if high > low { (high - low) * 0.04 } else { 0.5 };
        if low.is_finite() { (low - room, high + room) } else { (0.0, 1.0) }
    };
    let (left, right) = ends(points().map(|(x, _)| across.at(*x)).collect());
    let level = panel.level.iter().map(|(level, _)| *level);
    let (low, high) =
        ends(points().flat_map(|(_, spread)| [spread.least, spread.most]).chain(level).map(|y| up.at(y)).collect());
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 15))
        .margin(8)
        .x_label_area_size(38)
        .y_label_area_size(56)
        .build_cartesian_2d(left..right, low..high)
        .map_err(failed)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc(&panel.x)
        .y_desc(&panel.y)
        .x_label_formatter(&|x| across.label(*x))
        .y_label_formatter(&|y| up.label(*y))
        .draw()
        .map_err(failed)?;
    if let Some((level, name)) = &panel.level {
        let line = LineSeries::new([(left, up.at(*level)), (right, up.at(*level))], BLACK.mix(0.5));
        chart
            .draw_series(line)
            .map_err(failed)?
            .label(name)
            .legend(|(x, y)| PathElement::new([(x, y), (x + 16, y)], BLACK.mix(0.5)));
    }
    for (place, line) in panel.lines.iter().enumerate() {
        let colour = colour(place);
        let shown: Vec<(f64, [f64; 3])> = line
            .points
            .iter()
            .filter(placed)
            .map(|(x, Spread { least, middle, most })| (across.at(*x), [least, middle, most].map(|y| up.at(*y))))
            .collect();
        if line.marked {
            let bars = shown.iter().map(|(x, [least, middle, most])| {
                ErrorBar::new_vertical(*x, *least, *middle, *most, colour.filled(), 6)
            });
            chart.draw_series(bars).map_err(failed)?;
        } else {
            let above = shown.iter().map(|(x, [_, _, most])| (*x, *most));
            let below = shown.iter().rev().map(|(x, [least, ..])| (*x, *least));
            let band = Polygon::new(above.chain(below).collect::<Vec<_>>(), colour.mix(0.15));
            chart.draw_series([band]).map_err(failed)?;
        }
        let middle = LineSeries::new(shown.iter().map(|(x, [_, middle, _])| (*x, *middle)), colour.stroke_width(2));
        let drawn = chart.draw_series(middle).map_err(failed)?;
        if named {
            drawn
                .label(&line.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
        }
    }
    if !named && panel.level.is_none() {
        return Ok(());
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.2))
        .draw()
        .map_err(failed)
}

/// A number in few characters.
fn short(value: f64) -> String {
    let text = if value.abs() < 100.0 { format!("{value:.3}") } else { format!("{value:.0}") };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A power of ten in few characters.
fn power(exponent: f64) -> String {
    let value = 10_f64.powf(exponent);
    if (0.01..10_000.0).contains(&value) { short(value) } else { format!("{value:.0e}") }
}

/// The picture that an experiment asks for.
pub fn figure(folder: &Folder) -> Result<String> {
    let groups = groups(folder)?;
    let mut panels: Vec<Panel> = Vec::new();
    let loss = "validation loss (mean squared error)".to_owned();
    match folder.experiment.plot {
        Plot::Epochs => {
            for group in &groups {
                let title = title(group, folder.experiment.dims.len() > 1);
                if panels.last().is_none_or(|panel| panel.title != title) {
                    panels.push(panel_of(group, title, "epoch", Scale::Plain, &loss));
                }
                if let Some(panel) = panels.last_mut() {
                    panel.lines.push(Line { name: group.model.to_string(), points: curve(&group.runs), marked: false });
                }
            }
        }
        Plot::Latent => {
            let mut lines: Vec<Line> = Vec::new();
            for group in &groups {
                let (Architecture::MlpSumformer { latent, .. }, Some(best)) = (group.model, group.best()) else {
                    continue;
                };
                let name = format!("d = {}", group.dims);
                if lines.last().is_none_or(|line| line.name != name) {
                    lines.push(Line { name, points: Vec::new(), marked: true });
                }
                if let Some(line) = lines.last_mut() {
                    #[expect(clippy::cast_precision_loss, reason = "a size")]
                    line.points.push((latent as f64, best));
                }
            }
            let title = folder.experiment.title.clone();
            panels.push(Panel {
                title,
                x: "latent dimension d'".to_owned(),
                across: Scale::Doublings,
                y: format!("best {loss}"),
                up: Scale::Decades,
                lines,
                level: None,
            });
        }
        Plot::Parameters => {
            for group in &groups {
                let title = title(group, folder.experiment.dims.len() > 1);
                if panels.last().is_none_or(|panel| panel.title != title) {
                    panels.push(panel_of(group, title, "parameters", Scale::Decades, &format!("best {loss}")));
                }
                let (Some(panel), Some(best)) = (panels.last_mut(), group.best()) else { continue };
                let name = family(&group.model);
                #[expect(clippy::cast_precision_loss, reason = "a size")]
                let point = (group.parameters as f64, best);
                match panel.lines.iter_mut().find(|line| line.name == name) {
                    Some(line) => line.points.push(point),
                    None => panel.lines.push(Line { name, points: vec![point], marked: true }),
                }
            }
            for line in panels.iter_mut().flat_map(|panel| &mut panel.lines) {
                line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
            }
        }
    }
    draw(&panels)
}

/// A model without its sizes.
pub fn family(model: &Architecture) -> String {
    let name = model.to_string();
    match model {
        Architecture::PolynomialSumformer { .. } => name,
        Architecture::MlpSumformer { .. } => "MLP Sumformer".to_owned(),
        Architecture::Transformer { blocks, width, .. } => name.replace(&format!(" {blocks}x{width}"), ""),
    }
}

/// A panel of a function, without lines yet.
fn panel_of(group: &Group, title: String, x: &str, across: Scale, y: &str) -> Panel {
    let level = Some((group.best_constant, "best constant".to_owned()));
    Panel { title, x: x.to_owned(), across, y: y.to_owned(), up: Scale::Decades, lines: Vec::new(), level }
}

fn title(group: &Group, with_dims: bool) -> String {
    if with_dims { format!("{}, d = {}", group.target, group.dims) } else { group.target.clone() }
}

/// The spread of a loss over seeds, epoch by epoch; a run that has ended stays where it was.
fn curve(runs: &[Progress]) -> Vec<(f64, Spread)> {
    let longest = runs.iter().map(|run| run.epochs.len()).max().unwrap_or_default();
    // More points than a picture has columns say nothing.
    let every = longest.div_ceil(400).max(1);
    let at = |place: usize| {
        let losses = runs.iter().filter_map(|run| run.epochs.get(place).or(run.epochs.last()));
        Spread::of(losses.map(|epoch| epoch.validation.loss))
    };
    #[expect(clippy::cast_precision_loss, reason = "an epoch")]
    (0..longest).step_by(every).filter_map(|place| Some(((place + 1) as f64, at(place)?))).collect()
}

/// Draws and writes the picture of an experiment.
pub fn write(folder: &Folder) -> Result<()> {
    replace(&folder.path().join("figure.svg"), figure(folder)?.as_bytes())
}
