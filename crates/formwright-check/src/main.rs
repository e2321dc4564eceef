//! `fwcheck DIR`: reads three files, prints a verdict. Exit 0 accepted, 1 rejected, 2 declined, 3 no verdict.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use formwright_check::{Effort, Folder, Part, Shard, VERSION, Verdict, merge, read_part};

const HELP: &str = "\
usage: fwcheck [--plain] [--threads n] DIR
       fwcheck --lines DIR
       fwcheck [--plain] [--threads n] --shard i/k -o PART DIR
       fwcheck merge [--of DIR] PART...

Checks certificate.fwc, target.json and model.safetensors in DIR and prints a verdict; of a network in a
stock Transformer config.json and inputs.safetensors as well.

  --plain        take no shortcuts; the verdict is the same
  --lines        print what registers mean, line by line, each with its error and the rules that prove it
  --threads n    use n threads instead of all cores
  --shard i/k    check part i of k (1/k ... k/k) of a claim over integers, and write what it says
  -o PART        the file for it
  merge PART...  the verdict of all parts together; a part that is missing, doubled, altered or of
                 other files is rejected
  --of DIR       the parts must be about the files in DIR
  --help, --version

exit  0 accepted   1 rejected   2 declined   3 no verdict: the call is wrong, or a file cannot be read
";

/// The commands.
enum Asked {
    Say(String),
    Check { dir: PathBuf, how: How },
    Lines { dir: PathBuf },
    Shard { dir: PathBuf, how: How, shard: Shard, to: PathBuf },
    Merge { of: Option<PathBuf>, parts: Vec<PathBuf> },
}

/// How it is done.
#[derive(Clone, Copy, Default, PartialEq)]
struct How {
    plain: bool,
    threads: Option<usize>,
}

fn asked(arguments: &[String]) -> Result<Asked, String> {
    let (mut how, mut shard, mut to, mut of, mut names) = (How::default(), None, None, None, Vec::new());
    let mut lines = false;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let mut value = || rest.next().cloned().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--help" | "-h" => return Ok(Asked::Say(HELP.to_owned())),
            "--version" => return Ok(Asked::Say(format!("fwcheck {VERSION}\n"))),
            "--plain" => how.plain = true,
            "--lines" => lines = true,
            "--threads" if how.threads.is_none() => how.threads = Some(threads_of(&value()?)?),
            "--shard" if shard.is_none() => shard = Some(shard_of(&value()?)?),
            "-o" if to.is_none() => to = Some(PathBuf::from(value()?)),
            "--of" if of.is_none() => of = Some(PathBuf::from(value()?)),
            "--threads" | "--shard" | "-o" | "--of" => return Err(format!("{word} is given twice")),
            other if other.starts_with('-') => return Err(format!("there is no option {other}")),
            name => names.push(name.to_owned()),
        }
    }
    match (names.as_slice(), shard, to, of) {
        ([dir], None, None, None) if lines && how == How::default() => Ok(Asked::Lines { dir: dir.into() }),
        _ if lines => Err("--lines needs a folder, and nothing else".to_owned()),
        ([merge, parts @ ..], None, None, of) if merge == "merge" && how == How::default() => match parts {
            [] => Err("merge needs parts".to_owned()),
            parts => Ok(Asked::Merge { of, parts: parts.iter().map(PathBuf::from).collect() }),
        },
        (.., Some(_)) => Err("--of belongs to merge".to_owned()),
        ([dir], None, None, None) => Ok(Asked::Check { dir: dir.into(), how }),
        ([dir], Some(shard), Some(to), None) => Ok(Asked::Shard { dir: dir.into(), how, shard, to }),
        ([_], Some(_), None, None) => Err("--shard needs -o PART, a file for what it says".to_owned()),
        ([_], None, Some(_), None) => Err("-o belongs to --shard".to_owned()),
        ([], ..) => Err("a folder is missing".to_owned()),
        _ => Err("one folder is checked at a time".to_owned()),
    }
}

fn shard_of(text: &str) -> Result<Shard, String> {
    let numbers = text.split_once('/').and_then(|(at, of)| Some((at.parse().ok()?, of.parse().ok()?)));
    numbers
        .and_then(|(at, of)| Shard::new(at, of))
        .ok_or_else(|| format!("--shard {text}: i/k is needed, with i from 1 to k, and k at most 2^20"))
}

fn threads_of(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|threads| (1..=1024).contains(threads));
    threads.ok_or_else(|| format!("--threads {text}: a number from 1 to 1024 is needed"))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let answer = asked(&arguments).map_err(|what| format!("{what}\n{HELP}")).and_then(|asked| match asked {
        Asked::Say(text) => Ok((text, 0)),
        Asked::Check { dir, how } => check_dir(&dir, how),
        Asked::Lines { dir } => lines_of(&dir),
        Asked::Shard { dir, how, shard, to } => check_shard(&dir, how, shard, &to),
        Asked::Merge { of, parts } => merge_parts(of.as_deref(), &parts),
    });
    match answer {
        Ok((text, code)) => say(&text, code),
        Err(what) => say(&format!("error: {what}\n"), 3),
    }
}

fn check_dir(dir: &Path, how: How) -> Result<(String, u8), String> {
    let (folder, progress) = (Folder::read(dir)?, Progress::new());
    let progress = |done: usize, of: usize| progress.told(done, of);
    let How { plain, threads } = how;
    let effort = Effort { plain, threads, progress: &progress, ..Effort::default() };
    Ok(said(&folder.check(&effort)))
}

fn lines_of(dir: &Path) -> Result<(String, u8), String> {
    let folder = Folder::read(dir)?;
    Ok(match folder.lines() {
        Ok(lines) => (lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect(), 0),
        Err(verdict) => said(&verdict),
    })
}

fn check_shard(dir: &Path, how: How, shard: Shard, to: &Path) -> Result<(String, u8), String> {
    let (folder, progress) = (Folder::read(dir)?, Progress::new());
    let progress = |done: usize, of: usize| progress.told(done, of);
    let files = match folder.files() {
        Ok(files) => files,
        Err(verdict) => return Ok(said(&verdict)),
    };
    let How { plain, threads } = how;
    let part = Part::check(&files, &Effort { plain, threads, shard, progress: &progress });
    // A part is there or not: others may be waiting for it.
    let mut new = to.as_os_str().to_owned();
    new.push(".new");
    let written = std::fs::write(&new, part.to_string()).and_then(|()| std::fs::rename(&new, to));
    written.map_err(|error| format!("cannot write {}: {error}", to.display()))?;
    Ok((format!("{} in {}\n", part.verdict(), to.display()), code(part.verdict())))
}

fn merge_parts(of: Option<&Path>, paths: &[PathBuf]) -> Result<(String, u8), String> {
    let folder = of.map(Folder::read).transpose()?;
    let mut parts = Vec::new();
    for path in paths {
        match read_part(path)? {
            Ok(part) => parts.push((path.display().to_string(), part)),
            Err(what) => return Ok((format!("rejected: parts: {}: {what}\n", path.display()), 1)),
        }
    }
    match folder.as_ref().map(Folder::files) {
        Some(Err(verdict)) => Ok(said(&verdict)),
        Some(Ok(files)) => Ok(said(&merge(&parts, Some(&files)))),
        None => Ok(said(&merge(&parts, None))),
    }
}

fn said(verdict: &Verdict) -> (String, u8) {
    (format!("{verdict}\n"), code(verdict.name()))
}

fn code(verdict: &str) -> u8 {
    match verdict {
        "accepted" => 0,
        "rejected" => 1,
        _ => 2,
    }
}

/// A line on the terminal for what takes long.
struct Progress {
    last: Mutex<Instant>,
}

/// A check shorter than this needs no progress line, and there is at most one in half of it.
const LONG: Duration = Duration::from_secs(2);

impl Progress {
    fn new() -> Self {
        Self { last: Mutex::new(Instant::now()) }
    }

    fn told(&self, done: usize, of: usize) {
        let Ok(mut last) = self.last.try_lock() else { return };
        if last.elapsed() < LONG {
            return;
        }
        *last = Instant::now();
        // Nothing depends on whether it can be shown.
        let _ = writeln!(std::io::stderr(), "{done} of {of}");
    }
}

/// Prints a text. A verdict that could not be printed is no verdict.
fn say(text: &str, code: u8) -> ExitCode {
    let mut out: Box<dyn std::io::Write> =
        if code == 3 { Box::new(std::io::stderr()) } else { Box::new(std::io::stdout()) };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::from(code),
        Err(_) => ExitCode::from(3),
    }
}
