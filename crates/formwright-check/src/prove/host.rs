//! The obligations of a network inside of a stock Transformer (CERTIFICATE.md, section 10): from four or five files to a
//! verdict.

use super::{Accepted, Stop};
use super::{MOST_TOKENS, MOST_WEIGHTS, Subject, at_most, declined, oversized, rejected, verdict};
use crate::kernel::number::Dyadic;
use crate::read::certificate::{HostCertificate, Over, Wire};
use crate::read::host::{self, Config, Host, Misfit};
use crate::read::target::Target;
use crate::rules::lines::{self, Line, Standing};
use crate::{HostFiles, Verdict, sha256};

/// The largest part of a weight file that is read of a host: many of its weights are 0, or mirrors.
const MOST_WORDS: usize = 1 << 17;

/// A host whose files are what they say.
struct Hosted {
    subject: Subject,
    host: Host,
    class: String,
}

/// Checks the claim of a host.
pub fn check_host(files: &HostFiles<'_>) -> Verdict {
    verdict(Hosted::read(files).and_then(|hosted| hosted.accepted()))
}

/// The lines that say what its registers mean, as they are proved; or the verdict, where one of them is not.
pub fn proved_host_lines(files: &HostFiles<'_>) -> Result<Vec<Line>, Verdict> {
    let lines = Hosted::read(files).and_then(|hosted| hosted.by_lines());
    lines.map(|(_, lines)| lines).map_err(Verdict::from)
}

/// Refuses files of other bytes.
fn hashes(certificate: &HostCertificate, files: &HostFiles<'_>) -> Result<(), Stop> {
    let [target, weights] = &certificate.claim.sha256;
    let mut all = vec![
        ("target.json", files.files.target, target),
        ("config.json", files.config, &certificate.config),
        ("model.safetensors", files.files.weights, weights),
    ];
    all.extend(certificate.inputs.as_ref().map(|inputs| ("inputs.safetensors", files.inputs, inputs)));
    for (name, bytes, claimed) in all {
        let hash = sha256(bytes);
        if hash != *claimed {
            return Err(rejected("hash", format!("{name} has the SHA-256 {hash}, the certificate is about {claimed}")));
        }
    }
    Ok(())
}

impl Hosted {
    fn read(files: &HostFiles<'_>) -> Result<Self, Stop> {
        let certificate = HostCertificate::read(files.files.certificate).map_err(|what| rejected("format", what))?;
        hashes(&certificate, files)?;
        let claim = &certificate.claim;
        let [least, most] = claim.tokens;
        if [least, claim.dims, claim.output_dims].contains(&0) || least > most || claim.bound.exact.is_negative() {
            return Err(rejected(
                "claim",
                "no tokens, no coordinates, fewer tokens at most than at least, or a bound below 0",
            ));
        }
        let about = claim.norm.is_some() || claim.lipschitz.is_some();
        if claim.badge != "certified" || !claim.assumptions.is_empty() || about {
            return Err(declined("a claim in a host that is not certified, in the supremum norm, without assumptions"));
        }
        if !matches!(claim.over, Over::Box | Over::Integers) {
            return Err(declined("a claim in a host that is over neither a box nor integers"));
        }
        let class = host::class(&certificate.class);
        let class = class.ok_or_else(|| declined(format!("nothing is known of the class {}", certificate.class)))?;
        at_most(most, MOST_TOKENS, "tokens")?;
        oversized(&files.files, claim.double)?;
        at_most(files.inputs.len(), MOST_WEIGHTS, "bytes of inputs.safetensors")?;
        let target = Target::read(files.files.target, claim.dims).map_err(|what| rejected("target", what))?;
        let words = words(&target)?;
        let config = Config::read(files.config, class, &certificate, words).map_err(|misfit| match misfit {
            Misfit::Wrong(what) => rejected("config", what),
            Misfit::Other(what) => declined(what),
        })?;
        let read = host::read(&certificate, class, &config, [files.files.weights, files.inputs]);
        let host::Hosted { host, network, claim } = read.map_err(|(obligation, what)| rejected(obligation, what))?;
        claim.means_what_is_there().map_err(|what| rejected("format", what))?;
        let told = |wire: &Wire| matches!(wire, Wire::Position(_));
        let told = claim.meanings.as_ref().is_some_and(|meanings| meanings.wires.iter().any(told));
        if told && least != most {
            return Err(declined("positions for several numbers of tokens"));
        }
        let subject = Subject { certificate: claim, network, target, order_free: false };
        subject.fits()?;
        Ok(Self { subject, host, class: certificate.class })
    }

    /// An upper bound for the error in the supremum norm, and what is proved on the way.
    fn by_lines(&self) -> Result<(Dyadic, Vec<Line>), Stop> {
        let Subject { certificate, network, target, .. } = &self.subject;
        let meanings = certificate.meanings.as_ref().ok_or_else(|| declined("a host without meanings"))?;
        let standing = Standing { network, host: Some(&self.host) };
        lines::prove(meanings, standing, target, target.domain.range(), certificate.tokens, &|| self.subject.goal())
    }

    fn accepted(&self) -> Result<Accepted, Stop> {
        let (proved, _) = self.by_lines()?;
        let Subject { certificate, .. } = &self.subject;
        let claimed = &certificate.bound.range.lo;
        if proved > *claimed {
            let told = format!("outputs are shown to be within {proved} of the target, claimed {claimed}");
            return Err(rejected("bound", told));
        }
        let wires = certificate.meanings.as_ref().map_or(0, |meanings| meanings.wires.len());
        let how = format!("{wires} wires in {}, by the norms and weights of the host", self.class);
        Ok(Accepted::together(&self.subject.claim(), &how))
    }
}

/// The number of words: one for each token of integers; over a box there is one, which is not used.
fn words(target: &Target) -> Result<usize, Stop> {
    let Some((low, high)) = target.domain.integers() else { return Ok(1) };
    let side = usize::try_from(high.saturating_sub(low)).unwrap_or(usize::MAX).saturating_add(1);
    let mut words = 1_usize;
    for _ in 0..target.dims {
        words = words.saturating_mul(side);
    }
    at_most(words, MOST_WORDS, "words")?;
    Ok(words)
}
