//! A zoo: many certified models of which it is known what every head and every unit computes, as ground truth for
//! methods that look into networks.
//!
//! ```text
//! index.html, zoo.json     all models: target, sizes, change, bound, hashes
//! score.py                 scores answers to "which units matter, and which compute the same"; two examples
//! NAME/target.json, model.safetensors, certificate.fwc     what a checker reads
//! NAME/manifest.json       gates, and for every head and unit the gates that it computes; the network's shape
//! NAME/formwright.json     the same in a stock host, whose folder `from_pretrained` loads
//! ```
//!
//! The models are the circuits of the catalogue for several numbers of tokens, in both formats, in the kinds of attention
//! that realise their sums and means, with units traded for blocks or not; then variants of each, by seed (`vary.rs`):
//! registers, units and heads in another order, some cut into halves, an idle register, idle units. Over few integers
//! there is a turned basis as well. A model is only in the zoo if the checker has accepted its claim, about its own
//! weights.

mod lines;
mod list;
mod manifest;
mod page;
mod vary;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::artifact::{Contents, sha256};
use crate::error::{Error, Result};
use crate::export::{Files, hf, rotate, transformerlens};
use crate::model::{Model, Stated};
use crate::network::FloatNetwork;
use crate::random::word;
use list::Base;
use manifest::Subject;
use vary::{Change, Part};

/// The most seeds.
const MOST_SEEDS: u64 = 64;

/// The most weights of a model that is compiled.
const MOST_WEIGHTS: usize = 20_000;

/// The most sequences of integers that are told one by one, times weights: a checker takes seconds for as many, since
/// in a turned basis no weight is 0, and none has few digits.
const MOST_TOLD: u64 = 1 << 17;

/// What scores answers, and two examples.
const SCORE: &str = include_str!("score.py");

/// What a checker says of files: the verdict in words, which begins with its name; `None` if it cannot be asked.
type Checker<'a> = &'a dyn Fn(&Files) -> Option<String>;

/// Which models are in a zoo.
#[derive(Clone, Debug)]
pub struct Zoo {
    seeds: u64,
    only: Option<String>,
}

/// A model of a zoo.
struct Member {
    name: String,
    files: Files,
    about: Value,
}

impl Zoo {
    /// Variants for the seeds from 1 on, so many; with `only`, models whose names contain it.
    pub fn new(seeds: u64, only: Option<String>) -> Result<Self> {
        if seeds > MOST_SEEDS {
            return Err(
                Error::input(format!("⟨seeds={seeds}⟩ is too many")).note("expected", format!("0 to {MOST_SEEDS}"))
            );
        }
        Ok(Self { seeds, only })
    }

    /// All files, and the counts; `checker` decides what is in the zoo, and `tell` hears what is being made, of how many.
    pub fn files(
        &self,
        checker: &dyn Fn(&Files) -> Option<String>,
        tell: &mut dyn FnMut(usize, usize, &str),
    ) -> Result<(Files, Value)> {
        let bases: Vec<Base> = list::bases().into_iter().filter(|base| self.wants(base)).collect();
        let (mut members, mut seen, mut without) = (Vec::new(), BTreeSet::new(), Vec::new());
        for (place, base) in bases.iter().enumerate() {
            tell(place, bases.len(), &base.name());
            match base.model() {
                Ok(model) => self.members(base, &model, checker, (&mut seen, &mut members, &mut without))?,
                Err(error) => without.push((base.name(), error.headline().to_owned())),
            }
        }
        if members.is_empty() {
            let only = self.only.clone().unwrap_or_default();
            return Err(Error::input(format!("no model has a name with '{only}' in it"))
                .note("try", "the name of a target, such as z-score; or a part of one, such as z-score-n3"));
        }
        let about: Vec<&Value> = members.iter().map(|member| &member.about).collect();
        let left: Vec<Value> = without.iter().map(|(name, why)| json!({"name": name, "reason": why})).collect();
        let index =
            json!({"format": "formwright-zoo", "version": 1, "seeds": self.seeds, "models": about, "without": left});
        let mut files = vec![
            ("zoo.json".to_owned(), format!("{index:#}\n").into_bytes()),
            ("index.html".to_owned(), page::page(&about).into_bytes()),
            ("score.py".to_owned(), SCORE.as_bytes().to_vec()),
        ];
        for Member { name, files: own, .. } in members {
            files.extend(own.into_iter().map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        }
        Ok((files, index))
    }

    /// True if a model of this base may be asked for.
    fn wants(&self, base: &Base) -> bool {
        let name = base.name();
        self.only.as_ref().is_none_or(|only| name.contains(only.as_str()) || only.starts_with(&name))
    }

    fn wants_name(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only.as_str()))
    }

    /// The models of a base: as it is compiled, the variants, the hosts.
    fn members(
        &self,
        base: &Base,
        model: &Model,
        checker: Checker,
        (seen, members, without): (&mut BTreeSet<String>, &mut Vec<Member>, &mut Vec<(String, String)>),
    ) -> Result<()> {
        let (Some(network), Some(stated)) = (model.float(), model.stated()?) else { return Ok(()) };
        let weights: usize = network.tensors().iter().map(|(_, _, entries)| entries.len()).sum();
        if weights > MOST_WEIGHTS {
            without.push((base.name(), format!("it has {weights} weights, of at most {MOST_WEIGHTS}")));
            return Ok(());
        }
        // Some attention has nothing to realise, and some trades nothing to trade.
        if !seen.insert(sha256(&Contents::of(model)?.weights.unwrap_or_default())) {
            without.push((base.name(), "it is the same network as another one".to_owned()));
            return Ok(());
        }
        let of = Of { model, network, stated: &stated, checker };
        let base_name = base.name();
        let sequences = model.grid.points().to_u64();
        let told = sequences.and_then(|all| all.checked_mul(u64::try_from(weights).ok()?));
        let mut add = |name: String, make: &dyn Fn(&str) -> Result<Made>| -> Result<()> {
            if self.wants_name(&name) {
                match make(&name)? {
                    Ok(member) => members.push(member),
                    Err(why) => without.push((name, why)),
                }
            }
            Ok(())
        };
        add(base_name.clone(), &|name| of.plain(name))?;
        for seed in 1..=self.seeds {
            add(format!("{base_name}-s{seed}"), &|name| of.varied(name, seed))?;
            if model.target.is_discrete() && told.is_some_and(|told| told <= MOST_TOLD) {
                add(format!("{base_name}-r{seed}"), &|name| of.turned(name, seed))?;
            }
        }
        for host in base.hosts() {
            add(format!("{base_name}-{host}"), &|name| Ok(of.host(name, host)))?;
        }
        Ok(())
    }
}

/// A compiled model, of which others are made.
struct Of<'a> {
    model: &'a Model,
    network: &'a FloatNetwork,
    stated: &'a Stated,
    checker: Checker<'a>,
}

/// A model, or why there is none.
type Made = std::result::Result<Member, String>;

impl Of<'_> {
    /// The network as it is compiled.
    fn plain(&self, name: &str) -> Result<Made> {
        let change = json!({"kind": "compiled"});
        self.proved(name, (self.network, &[]), &change, None)
    }

    /// In another order, with halves and idle parts.
    fn varied(&self, name: &str, seed: u64) -> Result<Made> {
        let mut why = String::new();
        // Where the checker has no rule for a cut, the network is varied without it.
        for (units, heads) in [(true, true), (true, false), (false, true), (false, false)] {
            let change = Change { units, heads };
            let varied = self.vary(name, seed, change);
            let known: Vec<&str> = self.model.built.lines().into_iter().flatten().map(String::as_str).collect();
            let lines = lines::rewritten(&known, &varied.numbers).filter(|lines| !lines.is_empty());
            let told = json!({"kind": "varied", "seed": seed, "split_units": units, "split_heads": heads});
            match self.proved(name, (&varied.network, &varied.parts), &told, lines.as_deref())? {
                Ok(member) => return Ok(Ok(member)),
                Err(reason) => why = reason,
            }
        }
        Ok(Err(why))
    }

    fn vary(&self, name: &str, seed: u64, change: Change) -> vary::Varied {
        // Seeds of different models are far from each other.
        let mut state = name.bytes().fold(seed, |mut state, byte| {
            state ^= u64::from(byte);
            word(&mut state)
        });
        let gates = self.model.circuit().and_then(|circuit| circuit.gates()).unwrap_or_default();
        let of_gate = |block: usize, unit: usize| {
            gates.iter().any(|gate| gate.block == block && gate.heads == 0 && gate.places.contains(&unit))
        };
        vary::varied(self.network, word(&mut state), change, of_gate)
    }

    /// The same in a turned basis, in doubles; all sequences are told one by one.
    fn turned(&self, name: &str, seed: u64) -> Result<Made> {
        let varied = self.vary(name, seed, Change { units: true, heads: true });
        let basis = rotate::basis(seed, varied.network.width());
        let turned = rotate::rotated(&varied.network, &basis);
        let change = json!({"kind": "turned", "seed": seed, "split_units": true, "split_heads": true});
        let directions: Vec<Vec<f64>> = (0..turned.width()).map(|j| basis.iter().map(|row| row[j]).collect()).collect();
        let made = self.proved(name, (&turned, &varied.parts), &change, None)?;
        Ok(made.map(|mut member| {
            member.file("directions.json", format!("{}\n", json!(directions)).into_bytes());
            member
        }))
    }

    /// A network with the first bound that the checker accepts.
    fn proved(
        &self,
        name: &str,
        (network, parts): (&FloatNetwork, &[Vec<Part>]),
        change: &Value,
        lines: Option<&[String]>,
    ) -> Result<Made> {
        let mut said = String::new();
        for more in std::iter::once(0.0).chain(transformerlens::MORE) {
            let stated = Stated { bound: self.stated.bound + more, ..self.stated.clone() };
            let mut contents = Contents::of_network(self.model, Some(&stated), Some(network))?;
            if let (Some(certificate), Some(lines)) = (&mut contents.certificate, lines) {
                certificate.truncate(certificate.len() - "end\n".len());
                certificate.extend(format!("{}\nend\n", lines.join("\n")).into_bytes());
            }
            let files: Files =
                contents.files().into_iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect();
            said = (self.checker)(&files).unwrap_or_else(|| "there is no certificate".to_owned());
            if said.starts_with("accepted") {
                let bound = stated.bound;
                let subject = Subject { name, model: self.model, network, parts, change: change.clone(), bound };
                return Ok(Ok(self.member(&subject, files, &said)?));
            }
        }
        Ok(Err(said))
    }

    fn member(&self, subject: &Subject, mut files: Files, said: &str) -> Result<Member> {
        let manifest = format!("{:#}\n", subject.to_json()?).into_bytes();
        files.push(("manifest.json".to_owned(), manifest));
        let about = self.about(
            subject.name,
            &files,
            json!({
                "change": subject.change,
                "precision": subject.network.precision.name(),
                "weights": subject.network.tensors().iter().map(|(_, _, entries)| entries.len()).sum::<usize>(),
                "blocks": subject.network.runs.iter().map(|run| run.blocks).sum::<usize>(),
                "width": subject.network.width(),
                "bound": subject.bound,
                "verdict": said,
            }),
        );
        Ok(Member { name: subject.name.to_owned(), files, about })
    }

    fn about(&self, name: &str, files: &Files, mut more: Value) -> Value {
        let hashes: Value = files.iter().map(|(file, bytes)| (file.clone(), json!(sha256(bytes)))).collect();
        let gates = self.model.circuit().and_then(|circuit| circuit.gates()).map_or(0, <[_]>::len);
        let mut about = json!({
            "name": name,
            "target": self.model.source.text().unwrap_or_else(|| self.model.target.name.clone()),
            "tokens": self.model.lengths(),
            "gates": gates,
        });
        if let (Some(about), Some(more)) = (about.as_object_mut(), more.as_object_mut()) {
            about.append(more);
            about.insert("sha256".to_owned(), hashes);
        }
        about
    }

    /// In a stock Transformer, if a checker accepts it there.
    fn host(&self, name: &str, host: &str) -> Made {
        let said = std::cell::RefCell::new(String::new());
        let asked = |files: &Files| {
            let verdict = (self.checker)(files);
            said.borrow_mut().clone_from(verdict.as_ref().unwrap_or(&"declined: there is no certificate".to_owned()));
            verdict
        };
        let (files, claim) = match hf::files(self.model, host, None, asked) {
            Ok(made) => made,
            Err(error) => return Err(error.headline().to_owned()),
        };
        let said = said.into_inner();
        if !said.starts_with("accepted") {
            return Err(said);
        }
        let weights: usize =
            files.iter().filter(|(name, _)| name == "model.safetensors").map(|(_, bytes)| bytes.len()).sum();
        let about = self.about(
            name,
            &files,
            json!({
                "change": {"kind": "host", "class": host},
                "precision": self.network.precision.name(),
                "bytes": weights,
                "claim": claim,
                "verdict": said,
            }),
        );
        Ok(Member { name: name.to_owned(), files, about })
    }
}

impl Member {
    fn file(&mut self, name: &str, bytes: Vec<u8>) {
        self.about["sha256"][name] = json!(sha256(&bytes));
        self.files.push((name.to_owned(), bytes));
    }
}
