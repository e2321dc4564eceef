//! The machine and the date of a measurement, and numbers as tables show them.

#![allow(dead_code)]

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The words of the environment variable `MEASURE`: a measurement has no arguments of its own.
pub fn arguments() -> impl Iterator<Item = String> {
    let words = std::env::var("MEASURE").unwrap_or_default();
    words.split_whitespace().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// The date, in UTC.
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock past 1970").as_secs();
    let (year, month, day) = civil(i64::try_from(seconds / 86_400).expect("a date"));
    format!("{year:04}-{month:02}-{day:02}")
}

/// The date of a day since 1970-01-01, in years that begin in March.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let month = if march < 10 { march + 3 } else { march - 9 };
    (year + era * 400 + i64::from(month <= 2), month, of_year - (153 * march + 2) / 5 + 1)
}

/// The processor and its cores, and the version of Rust.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let name = fs::read_to_string("/proc/cpuinfo").ok().and_then(|info| {
        let line = info.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let name =
        name.map_or_else(|| std::env::consts::ARCH.to_owned(), |name| format!("{name} ({})", std::env::consts::ARCH));
    format!("{name}, {cores} cores, shared; Rust {}, release build", env!("CARGO_PKG_RUST_VERSION"))
}

/// A file of `measurements/`.
pub fn measurements(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../measurements").join(file)
}

/// Digits in groups of three.
pub fn grouped(count: impl Display) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A table in Markdown.
pub fn table(columns: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(columns.to_vec());
    text.extend(["|", &"---|".repeat(columns.len()), "\n"]);
    for row in rows {
        assert_eq!(row.len(), columns.len(), "{row:?}");
        text.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    text
}

/// Seconds, in a unit that suits them.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.3} ms", s * 1e3).replace(".000", ""),
        s => format!("{s:.1} s"),
    }
}

/// The result of a run, and the seconds of the fastest of several.
pub fn fastest<T>(times: usize, mut run: impl FnMut() -> T) -> (T, f64) {
    let mut timed = || {
        let start = Instant::now();
        let result = run();
        (result, start.elapsed().as_secs_f64())
    };
    let mut best = timed();
    for _ in 1..times {
        let next = timed();
        best = (next.0, best.1.min(next.1));
    }
    best
}
