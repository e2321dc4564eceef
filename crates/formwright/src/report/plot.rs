//! Scales, ticks and colours of pictures.

use std::fmt::Write as _;

/// A length or a place in a picture.
pub(crate) fn px(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// From numbers to places.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    from: (f64, f64),
    to: (f64, f64),
}

impl Scale {
    /// The scale that takes the first pair of ends to the second; numbers that are all the same get a little room.
    pub fn new((low, high): (f64, f64), to: (f64, f64)) -> Self {
        let room = if high > low { 0.0 } else { low.abs().max(1.0) / 2.0 };
        Self { from: (low - room, high + room), to }
    }

    /// The place of a number.
    pub fn at(&self, x: f64) -> f64 {
        let part = (x - self.from.0) / (self.from.1 - self.from.0);
        self.to.0 + part * (self.to.1 - self.to.0)
    }

    /// About so many round numbers between its ends, as they are written.
    pub fn ticks(&self, count: f64) -> Vec<(f64, String)> {
        let (low, high) = self.from;
        let rough = (high - low) / count;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|k| k * power).find(|step| *step >= rough).unwrap_or(rough);
        let first = (low / step).ceil();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a digit or two")]
        let places = (-step.log10().floor()).max(0.0) as usize;
        let written = |x: f64| {
            // Without a negative zero.
            let x = x + 0.0;
            if places > 4 || x.abs() >= 1e6 { format!("{x:.1e}") } else { format!("{x:.places$}") }
        };
        let at = |k: f64| (first + k) * step;
        let ticks =
            std::iter::successors(Some(0.0), |k| Some(k + 1.0)).map(at).take_while(|x| *x <= high + step * 1e-9);
        ticks.take(32).map(|x| (x, written(x))).collect()
    }
}

/// Steps of a ramp of colours.
pub(crate) const STEPS: usize = 32;

/// The step of a number between two ends.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "0 to 31")]
pub(crate) fn step(x: f64, (low, high): (f64, f64)) -> usize {
    let part = if high > low { (x - low) / (high - low) } else { 0.5 };
    ((part * STEPS as f64) as usize).min(STEPS - 1)
}

type Colour = [f64; 3];

/// Dark to light: values, the same in both schemes.
const VALUES: [Colour; 5] =
    [[68.0, 1.0, 84.0], [59.0, 82.0, 139.0], [33.0, 145.0, 140.0], [94.0, 201.0, 98.0], [253.0, 231.0, 37.0]];

/// From the colour of the paper to a warning: errors.
const ERRORS: [Colour; 3] = [[246.0, 243.0, 237.0], [226.0, 134.0, 84.0], [120.0, 12.0, 20.0]];
const ERRORS_DARK: [Colour; 3] = [[32.0, 36.0, 42.0], [176.0, 74.0, 48.0], [255.0, 214.0, 150.0]];

/// The classes of the ramps: `v0` to `v31` for values, `e0` to `e31` for errors.
pub(crate) fn ramps() -> String {
    let mut css = String::new();
    let rules = |css: &mut String, class: char, stops: &[Colour]| {
        for step in 0..STEPS {
            let [r, g, b] = between(stops, step);
            let _ = write!(css, ".{class}{step}{{fill:rgb({r:.0},{g:.0},{b:.0})}}");
        }
    };
    rules(&mut css, 'v', &VALUES);
    rules(&mut css, 'e', &ERRORS);
    css.push_str("@media screen and (prefers-color-scheme:dark){");
    rules(&mut css, 'e', &ERRORS_DARK);
    css.push('}');
    css
}

/// The colour of a step.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "small counts"
)]
fn between(stops: &[Colour], step: usize) -> Colour {
    let place = step as f64 / (STEPS - 1) as f64 * (stops.len() - 1) as f64;
    let below = (place as usize).min(stops.len() - 2);
    let part = place - below as f64;
    std::array::from_fn(|c| stops[below][c] + part * (stops[below + 1][c] - stops[below][c]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let written = |ends, count| -> Vec<String> {
            Scale::new(ends, (0.0, 1.0)).ticks(count).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(written((0.0, 1.0), 4.0), ["0.0", "0.5", "1.0"]);
        assert_eq!(written((-0.5, 3.5), 4.0), ["0", "1", "2", "3"]);
        assert_eq!(written((0.0, 2.5e-7), 2.0), ["0.0e0", "2.0e-7"]);
        // Numbers that are all the same have a scale too.
        assert!(!written((3.0, 3.0), 2.0).is_empty());
    }

    #[test]
    fn the_ends_have_the_first_and_the_last_step() {
        assert_eq!([-1.0, 0.0, 1.0].map(|x| step(x, (-1.0, 1.0))), [0, STEPS / 2, STEPS - 1]);
        assert_eq!(step(2.0, (2.0, 2.0)), STEPS / 2);
    }
}
