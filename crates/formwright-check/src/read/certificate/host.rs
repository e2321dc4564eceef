//! Reads the certificate of a network inside of a stock Transformer (CERTIFICATE.md, section 10).

use std::fmt;

use super::{Certificate, LONGEST, Lines, Over, Rational};
use crate::kernel::number::{Dyadic, Ratio, is_canonical};

/// A certificate of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCertificate {
    /// The class of the host.
    pub class: String,
    /// The hash of `config.json`.
    pub config: String,
    /// The hash of `inputs.safetensors`, over a box.
    pub inputs: Option<String>,
    /// Hint: what units read is divided by it.
    pub scale: Rational,
    /// The integers that outputs stand for; none where outputs are numbers.
    pub labels: Vec<i64>,
    /// The claim, and what registers mean; the parts of the network are those of `config.json`.
    pub claim: Certificate,
}

/// The first line, and how the second one begins.
const BEGINS: &[u8] = b"formwright-certificate 2\nhost ";

impl HostCertificate {
    /// True if these are the bytes of a certificate of a host, well-formed or not.
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(BEGINS)
    }

    /// The scale: a power of two.
    pub fn power(&self) -> Option<Dyadic> {
        let scale = &self.scale.range;
        let power = Dyadic::power_of_two(scale.lo.quantum()?);
        (scale.is_point() && scale.lo == power && scale.lo >= Dyadic::ONE).then_some(power)
    }

    /// Reads a certificate, or says what is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| format!("it is no ASCII text: {error}"))?;
        if !text.is_ascii() || text.len() > LONGEST {
            return Err(format!("it is no ASCII text of at most {LONGEST} bytes"));
        }
        let mut lines = Lines { left: text.split('\n'), number: 0, words: Vec::new() };
        lines.line("formwright-certificate")?;
        lines.one_of(&["2"])?;
        lines.line("host")?;
        let word = lines.word()?;
        let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if word.is_empty() || !word.bytes().all(letter) {
            return Err(lines.fault(word, "a class"));
        }
        let class = word.to_owned();
        let (target, config) = (lines.hash("target.json")?, lines.hash("config.json")?);
        let weights = lines.hash("model.safetensors")?;
        let follows = lines.left.clone().next().is_some_and(|line| line.starts_with("sha256 "));
        let inputs = if follows { Some(lines.hash("inputs.safetensors")?) } else { None };
        let mut claim = lines.claim([target, weights])?;
        lines.line("scale")?;
        let scale = lines.rational()?;
        let mut labels = Vec::new();
        if lines.left.clone().next().is_some_and(|line| line.starts_with("labels ")) {
            lines.line("labels")?;
            while !lines.words.is_empty() {
                labels.push(lines.whole()?);
            }
        }
        claim.meanings = lines.meanings()?;
        lines.line("end")?;
        let certificate = Self { class, config, inputs, scale, labels, claim };
        let printed = certificate.to_string();
        if printed != text {
            let at = printed.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
            return Err(format!("it is not in the one form that it has, from byte {at} on"));
        }
        certificate.checked()
    }

    /// Refuses lines that do not go together.
    fn checked(self) -> Result<Self, String> {
        let Self { inputs, labels, claim, .. } = &self;
        if inputs.is_some() != matches!(claim.over, Over::Box | Over::Space) {
            return Err("inputs.safetensors belongs to a claim over a box, and to no other".to_owned());
        }
        if self.power().is_none() {
            return Err(format!("a scale of {}, which is no power of two from 1 on", self.scale));
        }
        let mut sorted = labels.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() != labels.len() {
            return Err("two labels are alike".to_owned());
        }
        if !labels.is_empty() && (inputs.is_some() || claim.output_dims != 1) {
            return Err("labels belong to a claim over integers, about one output".to_owned());
        }
        Ok(self)
    }
}

impl Lines<'_> {
    /// An integer.
    fn whole(&mut self) -> Result<i64, String> {
        let word = self.word()?;
        let plain = is_canonical(word) && Ratio::rational(word).is_some_and(|number| number.is_whole());
        let whole = word.parse().ok().filter(|whole: &i64| plain && whole.unsigned_abs() < 1 << 31);
        whole.ok_or_else(|| self.fault(word, "an integer"))
    }
}

impl fmt::Display for HostCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [target, weights] = &self.claim.sha256;
        writeln!(f, "formwright-certificate 2\nhost {}\nsha256 target.json {target}", self.class)?;
        writeln!(f, "sha256 config.json {}\nsha256 model.safetensors {weights}", self.config)?;
        self.inputs.iter().try_for_each(|inputs| writeln!(f, "sha256 inputs.safetensors {inputs}"))?;
        self.claim.write_claim(f)?;
        writeln!(f, "scale {}", self.scale)?;
        if !self.labels.is_empty() {
            write!(f, "labels")?;
            self.labels.iter().try_for_each(|label| write!(f, " {label}"))?;
            writeln!(f)?;
        }
        self.claim.meanings.iter().flat_map(|meanings| &meanings.text).try_for_each(|line| writeln!(f, "{line}"))?;
        writeln!(f, "end")
    }
}
