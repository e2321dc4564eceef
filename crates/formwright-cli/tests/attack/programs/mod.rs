//! Random programs of every construct of the language, compiled as circuits by default options and checked: true claims that nobody chose.

#[path = "../../../../formwright/tests/support/texts.rs"]
mod texts;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use formwright::artifact::Contents;
use formwright::compile::{Asked, compile};
use formwright::target::Source;
use formwright_check::Verdict;

use super::artifacts::{Artifact, F32, F64};
use texts::random_program;

/// A generator of numbers for programs.
pub struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// So many programs that something was said of, and the shortest of them.
#[derive(Clone, Debug, Default)]
pub struct Said {
    pub count: usize,
    pub seed: u64,
    pub tokens: usize,
    pub text: String,
}

/// What was said of programs: by the compiler, or by the checker, and why.
#[derive(Debug, Default)]
pub struct Programs {
    pub tried: usize,
    pub said: BTreeMap<(&'static str, String), Said>,
    /// Panics, and claims that are rejected, with their files.
    pub failures: Vec<(String, Artifact)>,
}

/// A reason without its numbers.
fn reason(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let bare =
        |word: &str| if word.contains(|c: char| c.is_ascii_digit()) { "…".to_owned() } else { word.to_owned() };
    line.split(' ').map(bare).collect::<Vec<_>>().join(" ")
}

/// The circuit of a program, in single precision if the tolerance is met there, else in double; or why there is none.
fn circuit(text: &str, tokens: usize, dims: usize) -> Result<Artifact, String> {
    let asked = |precision: &str| Asked {
        construction: Some("circuit".to_owned()),
        tokens: Some(tokens),
        dims: Some(dims),
        eps: Some("1/100".to_owned()),
        norm: Some("sup".to_owned()),
        precision: Some(precision.to_owned()),
        ..Asked::default()
    };
    let source = Source::expression(text, text).map_err(|error| error.headline().to_owned())?;
    let of = |precision| asked(precision).request(source.clone()).and_then(|request| compile(&request));
    let model = of(F32).or_else(|_| of(F64)).map_err(|error| error.headline().to_owned())?;
    let contents = Contents::of(&model).map_err(|error| error.headline().to_owned())?;
    let (Some(weights), Some(certificate)) = (contents.weights, contents.certificate) else {
        return Err("no certificate".to_owned());
    };
    Ok(Artifact { name: text.to_owned(), certificate, target: contents.target, weights })
}

impl Programs {
    /// Compiles and checks the program of a seed.
    pub fn try_one(&mut self, seed: u64) {
        let program = random_program(seed);
        let tokens = 2 + usize::try_from(seed % 7).expect("small");
        let made = catch_unwind(|| circuit(&program.text, tokens, program.dims));
        let (group, why) = match made {
            Err(_) => ("not compiled", "a panic".to_owned()),
            Ok(Err(why)) => ("not compiled", reason(&why)),
            Ok(Ok(artifact)) => match catch_unwind(AssertUnwindSafe(|| artifact.verdict())) {
                Ok(Verdict::Accepted(_)) => ("accepted", String::new()),
                Ok(Verdict::Declined(why)) => ("declined", reason(&why.what)),
                Ok(Verdict::Rejected(why)) => {
                    self.failures.push((format!("seed {seed}: {}: {}", why.obligation, why.what), artifact));
                    ("rejected", why.obligation.to_owned())
                }
                Err(_) => {
                    self.failures.push((format!("seed {seed}: a panic of the checker"), artifact));
                    ("rejected", "a panic".to_owned())
                }
            },
        };
        self.tried += 1;
        let known = self.said.entry((group, why)).or_default();
        known.count += 1;
        if known.count == 1 || program.text.len() < known.text.len() {
            *known = Said { count: known.count, seed, tokens, text: program.text };
        }
    }
}
