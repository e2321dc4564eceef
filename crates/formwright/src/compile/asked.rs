//! From options in words to the [`Request`] that they mean.

use std::sync::Arc;

use crate::construct::{families, names};
use crate::error::{Error, Result, nearest};
use crate::host;
use crate::lower::{Format, Hidden, Temperature};
use crate::model::{Arithmetic, Asked, Construction, Family, Own, Request, Tolerance, chosen, positive};
use crate::network::{Precision, Realisation};
use crate::pattern::Pattern;
use crate::target::Source;

/// The prefix of a pattern's name.
const SPARSE: &str = "sparse:";

/// A kind of attention that was named.
#[derive(Clone, Copy)]
enum Attention {
    Hardmax,
    Float(Realisation),
    /// A network of either arithmetic.
    Sparse,
}

/// The option of this name that a family owns.
fn takes(family: &dyn Family, name: &str) -> Option<&'static Own> {
    family.options().iter().copied().find(|own| own.name == name)
}

/// The families that own an option.
fn owners(name: &str) -> Result<Vec<&'static dyn Family>> {
    let owners: Vec<_> = families().into_iter().filter(|family| takes(*family, name).is_some()).collect();
    if !owners.is_empty() {
        return Ok(owners);
    }
    let error = Error::input(format!("there is no option '{name}'"));
    let known = families().into_iter().flat_map(|family| family.options().iter().map(|own| own.name));
    Err(match nearest(name, known) {
        Some(near) => error.note("try", near),
        None => error,
    })
}

impl Asked {
    /// The request, for this target.
    pub fn request(&self, source: Source) -> Result<Request> {
        if self.lipschitz.is_some() && self.norm.is_none() && self.eps.is_none() {
            return Err(Error::input("⟨lipschitz⟩ serves a bound, and none was asked for").note("try", "add ⟨norm=l2⟩"));
        }
        let everywhere = chosen("domain", self.domain.as_deref(), &[("box", false), ("all", true)])?;
        let named = self.family()?;
        self.check(named)?;
        // With a grid and no tolerance, nothing is asked of the error, and exact numbers are the plainest network.
        let grid = match named {
            Some(family) => family.has_cells() && self.resolution.or(source.resolution()).is_some(),
            None => self.resolution.is_some() || source.text().is_none(),
        };
        let equivariant = |name: &String| chosen("assume", Some(name), &[("equivariant", ())]);
        self.assume.iter().try_for_each(|name| equivariant(name).map(drop))?;
        let mut request = Request {
            tokens: self.tokens,
            dims: self.dims,
            resolution: self.resolution,
            attention: match self.attention()? {
                Some(Attention::Float(realisation)) => realisation,
                Some(Attention::Hardmax | Attention::Sparse) | None => Realisation::SOFTMAX,
            },
            arithmetic: self.arithmetic(self.eps.is_some() || !grid || self.host.is_some())?,
            assume_equivariant: !self.assume.is_empty(),
            everywhere: everywhere.unwrap_or(false),
            tolerance: Tolerance {
                eps: positive("eps", self.eps.as_deref())?,
                norm: self.norm.as_deref().map(str::parse).transpose()?,
                lipschitz: positive("lipschitz", self.lipschitz.as_deref())?,
            },
            ..Request::new(source, Vec::new())
        };
        let pattern = self.pattern(&request)?;
        let named = self.with_pattern(named, pattern.as_ref(), &mut request)?;
        request.constructions = match named {
            Some(family) => vec![family.construction(self, pattern.as_ref(), true)?],
            None => self.constructions(pattern.as_ref())?,
        };
        if let Some(class) = self.host.as_deref().map(host::named).transpose()? {
            if request.arithmetic == Arithmetic::Exact {
                return Err(Error::input("a host computes in floats").note("try", "⟨precision=auto⟩"));
            }
            request.constructions = request.constructions.into_iter().map(|one| host::within(one, class)).collect();
        }
        Ok(request)
    }

    /// Every construction that is offered, with the options that are common to several.
    pub fn constructions(&self, pattern: Option<&Pattern>) -> Result<Vec<Arc<dyn Construction>>> {
        let offered = families().into_iter().filter(|family| family.is_offered());
        offered.map(|family| family.construction(self, pattern, false)).collect()
    }

    /// The pattern of sparse attention, for the tokens of a request.
    fn pattern(&self, request: &Request) -> Result<Option<Pattern>> {
        let Some(name) = self.attention.as_deref().and_then(|kind| kind.strip_prefix(SPARSE)) else { return Ok(None) };
        let tokens = request.grid()?.tokens();
        let pattern = Pattern::named(name, tokens)?;
        if pattern.tokens() != tokens {
            let (name, expected) = (pattern.name(), pattern.tokens());
            return Err(Error::input(format!("the pattern {name} is for {expected} tokens, not for {tokens}"))
                .note("try", format!("⟨tokens={expected}⟩")));
        }
        Ok(Some(pattern))
    }

    /// The family that serves a pattern: one that follows it, or one that adds up by way of its hub.
    fn with_pattern(
        &self,
        named: Option<&'static dyn Family>,
        pattern: Option<&Pattern>,
        request: &mut Request,
    ) -> Result<Option<&'static dyn Family>> {
        let Some(pattern) = pattern else { return Ok(named) };
        let hub = pattern.hub().map(Realisation::hub);
        let is_open = named.is_none() && (self.eps.is_some() || request.is_open());
        match (named, hub) {
            (None, Some(hub)) if is_open => {
                request.attention = hub;
                Ok(None)
            }
            (None, _) => Ok(families().into_iter().find(|family| family.follows_patterns())),
            (Some(family), _) if family.follows_patterns() => Ok(Some(family)),
            (Some(family), Some(hub)) => {
                request.attention = hub;
                Ok(Some(family))
            }
            (Some(_), None) => Err(Error::declined(format!("the pattern {} has no hub", pattern.name()))
                .note(
                    "reason",
                    "a sum over all tokens takes a token that sees all others and that all see, in every layer",
                )
                .note("try", "sparse:star, sparse:hub or sparse:bigbird:1, or ⟨construction=yun⟩")),
        }
    }

    /// The family that is named, or that the options mean.
    fn family(&self) -> Result<Option<&'static dyn Family>> {
        let names = names();
        let known: Vec<(&str, usize)> = names.iter().enumerate().map(|(place, name)| (*name, place)).collect();
        let named = chosen("construction", self.construction.as_deref(), &known)?.map(|place| names[place]);
        Ok(families().into_iter().find(|family| match named {
            Some(name) => family.name() == name,
            None => family.is_meant(self),
        }))
    }

    /// Refuses what does not go with the construction.
    fn check(&self, named: Option<&dyn Family>) -> Result<()> {
        for name in self.own.keys() {
            let owners = owners(name)?;
            let fits = match named {
                Some(family) => takes(family, name).is_some(),
                None => owners.iter().all(|family| takes(*family, name).is_some_and(|own| own.is_shared)),
            };
            if !fits {
                let names: Vec<&str> = owners.iter().map(|family| family.name()).collect();
                let way_out = match named {
                    Some(_) => format!("leave out ⟨{name}⟩, or ⟨construction={}⟩", names[0]),
                    None => format!("add ⟨construction={}⟩, or leave out ⟨{name}⟩", names[0]),
                };
                return Err(Error::input(format!("⟨{name}⟩ is for {}", names.join(" and "))).note("try", way_out));
            }
        }
        if let Some(family) = named.filter(|family| !family.is_printed() && !self.as_printed.is_empty()) {
            return Err(Error::declined(format!("{} has no steps ⟨as-printed⟩", family.name()))
                .note("reason", "the steps that are printed are those of Yun et al. 2020")
                .note("try", "⟨construction=yun⟩"));
        }
        match named.and_then(Family::no_positions).filter(|_| self.positional) {
            Some(reason) => Err(Error::input(format!("⟨positional⟩ is for yun: {reason}"))
                .note("try", "leave out ⟨positional⟩, or ⟨construction=yun⟩")),
            None => Ok(()),
        }
    }

    /// The kind of attention that was asked for.
    fn attention(&self) -> Result<Option<Attention>> {
        match self.attention.as_deref() {
            None => Ok(None),
            Some("hardmax") => Ok(Some(Attention::Hardmax)),
            Some(kind) if kind.starts_with(SPARSE) => Ok(Some(Attention::Sparse)),
            Some(kind) => Ok(Some(Attention::Float(kind.parse()?))),
        }
    }

    /// The arithmetic that was asked for; what it is if nothing was depends on whether the grid is found by a tolerance.
    fn arithmetic(&self, by_tolerance: bool) -> Result<Arithmetic> {
        let hidden = match (self.pack, self.hidden) {
            (true, Some(_)) => {
                return Err(Error::input("⟨pack⟩ and ⟨hidden⟩ exclude each other").note("try", "one of them"));
            }
            (true, None) => Hidden::All,
            (false, Some(units)) if units < 4 => {
                return Err(Error::input(format!("⟨hidden⟩ is {units}, but a window needs 4 hidden units"))
                    .note("try", "⟨hidden=4⟩, or leave it out"));
            }
            (false, Some(units)) => Hidden::Units(units),
            (false, None) => Hidden::Literal,
        };
        let temperatures = [("derived", Temperature::Derived), ("saturate", Temperature::Saturate)];
        let temperature = chosen("temperature", self.temperature.as_deref(), &temperatures)?;
        let temperature = temperature.unwrap_or(Temperature::Derived);
        let format = |precision| Format { precision, temperature, hidden };
        let packed = hidden != Hidden::Literal || temperature != Temperature::Derived;
        let attention = self.attention()?;
        let names = ["exact", "f64", "f32", "auto"].map(|name| (name, name));
        let asked = match (chosen("precision", self.precision.as_deref(), &names)?, attention) {
            (Some(precision), _) => precision,
            (None, Some(Attention::Float(_))) => "auto",
            (None, None | Some(Attention::Sparse)) if by_tolerance || packed => "auto",
            (None, _) => "exact",
        };
        let arithmetic = match asked {
            "exact" => Arithmetic::Exact,
            "f64" => Arithmetic::Float(format(Precision::F64)),
            "f32" => Arithmetic::Float(format(Precision::F32)),
            // Who names softmax or the like, or packs, wants floats.
            _ if packed || matches!(attention, Some(Attention::Float(_))) => {
                Arithmetic::AnyFloat(format(Precision::F64))
            }
            _ => Arithmetic::Auto(format(Precision::F64)),
        };
        match (arithmetic, attention) {
            (Arithmetic::Exact, Some(Attention::Float(kind))) if kind.is_softmax() => {
                Err(Error::input("softmax is not rational: an exact network has hardmax attention")
                    .note("try", "⟨precision=f64⟩, or leave out ⟨attention⟩"))
            }
            (Arithmetic::Exact, Some(Attention::Float(kind))) => {
                Err(Error::input(format!("{} attention is for floats", kind.kind()))
                    .note("try", "⟨precision=f64⟩, or leave out ⟨precision⟩"))
            }
            (Arithmetic::Float(_) | Arithmetic::AnyFloat(_) | Arithmetic::Auto(_), Some(Attention::Hardmax)) => {
                Err(Error::input("a float network has softmax attention").note(
                    "try",
                    "⟨temperature=saturate⟩, with which softmax is hardmax on the grid; or ⟨precision=exact⟩",
                ))
            }
            (Arithmetic::Exact, _) if packed => {
                Err(Error::input("⟨pack⟩, ⟨hidden⟩ and ⟨temperature⟩ are about float networks")
                    .note("try", "add ⟨precision=f64⟩"))
            }
            _ => Ok(arithmetic),
        }
    }
}
