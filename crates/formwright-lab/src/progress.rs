//! Bars on a terminal, or lines where there is none.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Mutex;

use formwright_lab::execute::{Show, Start};
use formwright_lab::train::{Ended, Epoch};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// A bar for each run that is under way, and one for all of them.
pub struct Bars {
    all: MultiProgress,
    runs: Vec<ProgressBar>,
    total: ProgressBar,
    /// For each place, tokens of a step, and the step and second of the last epoch.
    pace: Vec<Mutex<Pace>>,
}

#[derive(Default)]
struct Pace {
    tokens: Option<u64>,
    step: u64,
    seconds: f64,
}

impl Bars {
    /// Bars for so many runs, so many at a time.
    pub fn new(jobs: usize, runs: usize, done: usize) -> Self {
        let all = MultiProgress::new();
        let style =
            |template: &str| ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = |_| {
            let bar = all.add(ProgressBar::new(0));
            bar.set_style(style("{prefix:42} {bar:20} {pos:>5}/{len} epochs  {msg}  {eta} left"));
            bar
        };
        let bars = (0..jobs).map(bar).collect();
        let total = all.add(ProgressBar::new(runs as u64));
        total.set_style(style("{bar:20} {pos}/{len} runs, {elapsed}"));
        total.set_position(done as u64);
        Self { all, runs: bars, total, pace: (0..jobs).map(|_| Mutex::default()).collect() }
    }
}

impl Show for Bars {
    fn begin(&self, place: usize, start: &Start<'_>) {
        let bar = &self.runs[place];
        bar.set_length(start.epochs);
        bar.set_position(start.done.map_or(0, |epoch| epoch.epoch));
        bar.set_prefix(start.name.chars().take(42).collect::<String>());
        if let Ok(mut pace) = self.pace[place].lock() {
            let (step, seconds) = start.done.map_or((0, 0.0), |epoch| (epoch.step, epoch.seconds));
            *pace = Pace { tokens: start.tokens_a_step, step, seconds };
        }
        bar.set_message(String::new());
        bar.reset_eta();
        self.total.tick();
    }

    fn epoch(&self, place: usize, epoch: &Epoch) {
        let mut message = format!("loss {:.3e}", epoch.validation.loss);
        if let Ok(mut pace) = self.pace[place].lock() {
            if let Some(tokens) = pace.tokens {
                #[expect(clippy::cast_precision_loss, reason = "a rate")]
                let rate = ((epoch.step - pace.step) * tokens) as f64 / (epoch.seconds - pace.seconds) / 1e3;
                message = format!("{message}, {:.1} %, {rate:.0} k tokens/s", 100.0 * epoch.validation.score());
                if !io::stderr().is_terminal() {
                    // Hours without a word are too long; where messages cannot be written there is nobody to tell.
                    drop(writeln!(io::stderr(), "{}: step {}, {message}", self.runs[place].prefix(), epoch.step));
                }
            }
            (pace.step, pace.seconds) = (epoch.step, epoch.seconds);
        }
        self.runs[place].set_message(message);
        self.runs[place].set_position(epoch.epoch);
    }

    fn end(&self, _: usize, name: &str, best: Option<&Epoch>, ended: Option<Ended>) {
        let how = match ended {
            Some(Ended::Budget) => "its budget is spent",
            Some(Ended::Flat) => "flat",
            Some(Ended::Diverged) => "diverged: a loss is no number",
            None => "interrupted, and saved",
        };
        let line = match best {
            Some(best) => format!("{name}: best loss {:.3e} after {} epochs; {how}", best.validation.loss, best.epoch),
            None => format!("{name}: {how}"),
        };
        if ended.is_some() {
            self.total.inc(1);
        }
        // Where messages cannot be written there is nobody to tell.
        if io::stderr().is_terminal() {
            drop(self.all.println(line));
        } else {
            drop(writeln!(io::stderr(), "{line}"));
        }
    }
}

/// The current activity: in one place on a terminal, otherwise on a line each.
pub struct Doing(ProgressBar);

impl Doing {
    /// A display before anything happens.
    pub fn new() -> Self {
        Self(ProgressBar::new_spinner())
    }

    /// Tells what is next.
    pub fn tell(&self, what: &str) {
        if io::stderr().is_terminal() {
            self.0.set_message(what.to_owned());
            self.0.tick();
        } else {
            // Where messages cannot be written there is nobody to tell.
            drop(writeln!(io::stderr(), "{what}"));
        }
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The progress of an activity: a bar on a terminal, otherwise a line when it begins.
pub struct Bar {
    bar: ProgressBar,
    doing: Mutex<String>,
}

impl Bar {
    /// A bar before anything happens.
    pub fn new() -> Self {
        let bar = ProgressBar::no_length();
        let style = ProgressStyle::with_template("{msg:15} {bar:30} {percent:>3} %  {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, doing: Mutex::default() }
    }

    /// Tells how far the activity is.
    pub fn tell(&self, what: &str, done: u64, all: u64) {
        if let Ok(mut doing) = self.doing.lock()
            && *doing != what
        {
            what.clone_into(&mut doing);
            self.bar.set_message(what.to_owned());
            self.bar.reset_eta();
            if !io::stderr().is_terminal() {
                // Where messages cannot be written there is nobody to tell.
                drop(writeln!(io::stderr(), "{what}"));
            }
        }
        self.bar.set_length(all);
        self.bar.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
