//! Bars on a terminal, or lines where there is none.

use std::io::{self, IsTerminal as _, Write as _};

use formwright_lab::config::Run;
use formwright_lab::execute::Show;
use formwright_lab::train::{Ended, Epoch};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// A bar for each run that is under way, and one for all of them.
pub struct Bars {
    all: MultiProgress,
    runs: Vec<ProgressBar>,
    total: ProgressBar,
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
        Self { all, runs: bars, total }
    }
}

impl Show for Bars {
    fn begin(&self, place: usize, name: &str, run: &Run, epochs: u64) {
        let bar = &self.runs[place];
        bar.set_length(run.budget.epochs);
        bar.set_position(epochs);
        bar.set_prefix(name.chars().take(42).collect::<String>());
        bar.set_message(String::new());
        bar.reset_eta();
        self.total.tick();
    }

    fn epoch(&self, place: usize, epoch: &Epoch) {
        self.runs[place].set_message(format!("loss {:.2e}", epoch.validation.loss));
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

/// What is being done: in one place on a terminal, else a line each.
pub struct Doing(ProgressBar);

impl Doing {
    /// Nothing yet.
    pub fn new() -> Self {
        Self(ProgressBar::new_spinner())
    }

    /// What is next.
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
