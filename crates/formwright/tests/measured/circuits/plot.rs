//! A plot as SVG: both axes logarithmic, tolerances falling to the right.

use std::fmt::Write;

/// One line of a plot.
pub struct Curve {
    pub name: String,
    pub dashed: bool,
    pub points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;

/// Colours that are told apart in print and by the colour-blind (Okabe and Ito).
const COLOURS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"];

/// The powers of ten around some numbers.
fn decades(values: impl Iterator<Item = f64>) -> (i32, i32) {
    let (low, high) = values.map(f64::log10).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    #[expect(clippy::cast_possible_truncation, reason = "a few decades")]
    let ends = ((low + 1e-9).floor() as i32, (high - 1e-9).ceil() as i32);
    ends
}

/// All curves of one name share a colour.
pub fn plot(title: &str, (x_name, y_name): (&str, &str), curves: &[Curve]) -> String {
    let points = || curves.iter().flat_map(|curve| curve.points.iter());
    let (x_low, x_high) = decades(points().map(|p| p.0));
    let (y_low, y_high) = decades(points().map(|p| p.1));
    let across = |log: f64| LEFT + (f64::from(x_high) - log) / f64::from(x_high - x_low) * (WIDTH - LEFT - RIGHT);
    let up =
        |log: f64| HEIGHT - BOTTOM - (log - f64::from(y_low)) / f64::from(y_high - y_low) * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    let mut line = |text: String| writeln!(svg, "{text}").expect("writing to a string");
    line(format!("<text x=\"{LEFT}\" y=\"28\" font-size=\"15\">{title}</text>"));
    let (bottom, right) = (up(f64::from(y_low)), across(f64::from(x_low)));
    for decade in x_low..=x_high {
        let x = across(f64::from(decade));
        line(format!("<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"#ddd\"/>"));
        line(format!("<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>", bottom + 18.0, ten(decade)));
    }
    for decade in y_low..=y_high {
        let y = up(f64::from(decade));
        line(format!("<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>"));
        line(format!("<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>", LEFT - 8.0, y + 4.0, ten(decade)));
    }
    let middle = f64::midpoint(LEFT, right);
    line(format!("<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{x_name}</text>", HEIGHT - 16.0));
    let middle = f64::midpoint(TOP, bottom);
    line(format!("<text transform=\"translate(22 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{y_name}</text>"));
    let mut names: Vec<&str> = Vec::new();
    for curve in curves {
        let known = names.iter().position(|name| *name == curve.name);
        let index = known.unwrap_or_else(|| {
            names.push(&curve.name);
            names.len() - 1
        });
        let colour = COLOURS[index % COLOURS.len()];
        let dash = if curve.dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let at = |(x, y): &(f64, f64)| (across(x.log10()), up(y.log10()));
        let path: Vec<String> = curve.points.iter().map(at).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let path = path.join(" ");
        line(format!("<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>"));
        for (x, y) in curve.points.iter().map(at) {
            line(format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{colour}\"/>"));
        }
    }
    let mut y = TOP + 10.0;
    let mut entry = |label: &str, colour: &str, dash: &str| {
        let (from, to, text) = (right + 16.0, right + 46.0, right + 54.0);
        line(format!(
            "<line x1=\"{from:.1}\" y1=\"{y:.1}\" x2=\"{to:.1}\" y2=\"{y:.1}\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>\n\
             <text x=\"{text:.1}\" y=\"{:.1}\">{label}</text>",
            y + 4.0
        ));
        y += 20.0;
    };
    for (index, name) in names.iter().enumerate() {
        entry(name, COLOURS[index % COLOURS.len()], "");
    }
    entry("width", "#555", "");
    entry("depth", "#555", " stroke-dasharray=\"5 4\"");
    svg.push_str("</svg>\n");
    svg
}

/// A power of ten, its exponent raised.
fn ten(exponent: i32) -> String {
    match exponent {
        0 => "1".to_owned(),
        1 => "10".to_owned(),
        _ => format!("10<tspan dy=\"-5\" font-size=\"9\">{}</tspan>", exponent.to_string().replace('-', "−")),
    }
}
