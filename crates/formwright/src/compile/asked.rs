//! What a front end is told, in the words of the command line, and the [`Request`] that it means.

use serde::Deserialize;

use super::{Arithmetic, Construction, Request, Tolerance};
use crate::artifact;
use crate::construct::circuit::Trade;
use crate::construct::sumcode::{self, Family};
use crate::construct::yun::sparse::Sparse;
use crate::construct::yun::{AsPrinted, Options};
use crate::error::{Error, Result, nearest};
use crate::exact::Rat;
use crate::lower::{Format, Hidden, Temperature};
use crate::network::{Precision, Realisation};
use crate::target::Source;

/// The options of `build` and `plan` as they are written; every field has the name of its option.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Asked {
    /// `yun`, `circuit`, `sum-code`, `sumformer-discrete` or `sumformer`.
    pub construction: Option<String>,
    /// `width` or `depth`.
    pub trade: Option<String>,
    /// The code of a sum of codes.
    pub code: Option<String>,
    /// The value map of a sum of codes.
    pub values: Option<String>,
    /// The basis of a Sumformer.
    pub basis: Option<String>,
    /// The number of tokens.
    pub tokens: Option<usize>,
    /// The coordinates of a token.
    pub dims: Option<usize>,
    /// Cells a side.
    pub resolution: Option<u64>,
    /// The tolerance.
    pub eps: Option<String>,
    /// `sup`, `l1`, `l2` or `lp:P`.
    pub norm: Option<String>,
    /// A stated Lipschitz constant.
    pub lipschitz: Option<String>,
    /// What is stated besides: `equivariant`.
    pub assume: Vec<String>,
    /// `softmax`, `hardmax`, `average`, `linformer:k`, `performer:k` or `sparse:PATTERN`.
    pub attention: Option<String>,
    /// `exact`, `f64`, `f32` or `auto`.
    pub precision: Option<String>,
    /// `derived` or `saturate`.
    pub temperature: Option<String>,
    /// `box` or `all`.
    pub domain: Option<String>,
    /// Each stage in one wide block.
    pub pack: bool,
    /// Blocks of so many hidden units.
    pub hidden: Option<usize>,
    /// With a positional encoding.
    pub positional: bool,
    /// Steps of the proof as printed.
    pub as_printed: Vec<String>,
}

/// What a pattern's name stands behind.
const SPARSE: &str = "sparse:";

/// A kind of attention that was named.
#[derive(Clone, Copy)]
enum Attention {
    Hardmax,
    Float(Realisation),
    /// Of either arithmetic.
    Sparse,
}

impl Asked {
    /// The request, for this target.
    pub fn request(&self, source: Source) -> Result<Request> {
        if self.lipschitz.is_some() && self.norm.is_none() && self.eps.is_none() {
            return Err(Error::input("--lipschitz serves a bound, and none was asked for").note("try", "add --norm l2"));
        }
        let as_printed = self.as_printed.iter().map(|name| name.parse()).collect::<Result<Vec<AsPrinted>>>()?;
        let everywhere = chosen("--domain", self.domain.as_deref(), &[("box", false), ("all", true)])?;
        let construction = self.construction(!as_printed.is_empty())?;
        let trades = [Trade::Width, Trade::Depth].map(|trade| (trade.name(), trade));
        let trade = chosen("--trade", self.trade.as_deref(), &trades)?;
        self.check(construction, trade)?;
        // With a grid and no tolerance, nothing is asked of the error, and exact numbers are the plainest network.
        let grid = match construction {
            Some(Construction::Circuit | Construction::Sumformer(_)) => false,
            Some(Construction::Yun | Construction::SumCode(_)) => self.resolution.or(source.resolution()).is_some(),
            None => self.resolution.is_some() || source.text().is_none(),
        };
        let equivariant = |name: &String| chosen("--assume", Some(name), &[("equivariant", ())]);
        self.assume.iter().try_for_each(|name| equivariant(name).map(drop))?;
        let mut request = Request {
            options: Options {
                positional: self.positional,
                as_printed,
                everywhere: everywhere.unwrap_or(false),
                ..Options::default()
            },
            source,
            construction,
            trade,
            attention: match self.attention()? {
                Some(Attention::Float(realisation)) => realisation,
                Some(Attention::Hardmax | Attention::Sparse) | None => Realisation::SOFTMAX,
            },
            arithmetic: self.arithmetic(self.eps.is_some() || !grid)?,
            tokens: self.tokens,
            dims: self.dims,
            resolution: self.resolution,
            assume_equivariant: !self.assume.is_empty(),
            tolerance: Tolerance {
                eps: positive("--eps", self.eps.as_deref())?,
                norm: self.norm.as_deref().map(str::parse).transpose()?,
                lipschitz: positive("--lipschitz", self.lipschitz.as_deref())?,
            },
        };
        self.sparse(&mut request)?;
        Ok(request)
    }

    /// What `sparse:PATTERN` means for the request: the sparse counterpart of Theorem 3, and sums over all tokens by way of a hub.
    fn sparse(&self, request: &mut Request) -> Result<()> {
        let Some(name) = self.attention.as_deref().and_then(|kind| kind.strip_prefix(SPARSE)) else { return Ok(()) };
        let pattern = artifact::read_pattern(name, request.shape()?.tokens())?;
        let tokens = request.shape()?.tokens();
        if pattern.tokens() != tokens {
            let (name, expected) = (pattern.name(), pattern.tokens());
            return Err(Error::input(format!("the pattern {name} is for {expected} tokens, not for {tokens}"))
                .note("try", format!("--tokens {expected}")));
        }
        let hub = pattern.hub().map(Realisation::hub);
        match (request.construction, hub) {
            (None, Some(hub)) if request.is_left_to_plan() => {
                request.attention = hub;
                request.options.sparse = Sparse::new(pattern).ok();
            }
            (Some(Construction::Yun) | None, _) => {
                request.construction = Some(Construction::Yun);
                request.options.positional = true;
                request.options.sparse = Some(Sparse::new(pattern)?);
            }
            (Some(_), Some(hub)) => request.attention = hub,
            (Some(_), None) => {
                return Err(Error::declined(format!("the pattern {} has no hub", pattern.name()))
                    .note(
                        "reason",
                        "a sum over all tokens takes a token that sees all others and that all see, in every layer",
                    )
                    .note("try", "sparse:star, sparse:hub or sparse:bigbird:1, or --construction yun"));
            }
        }
        Ok(())
    }

    fn construction(&self, as_printed: bool) -> Result<Option<Construction>> {
        let sum_code = |family| {
            Ok(Construction::SumCode(sumcode::Options {
                code: self.code.as_deref().map(str::parse).transpose()?,
                values: self.values.as_deref().map_or_else(|| Ok(sumcode::Values::default()), str::parse)?,
                ..sumcode::Options::of(family)
            }))
        };
        let names = artifact::CONSTRUCTIONS.map(|name| (name, name));
        match chosen("--construction", self.construction.as_deref(), &names)? {
            // Theorems and printed steps are Yun's.
            None if self.positional || as_printed => Ok(Some(Construction::Yun)),
            None => Ok(None),
            Some("yun") => Ok(Some(Construction::Yun)),
            Some("circuit") => Ok(Some(Construction::Circuit)),
            Some("sum-code") => sum_code(Family::SumCode).map(Some),
            Some("sumformer-discrete") => sum_code(Family::Sumformer).map(Some),
            Some(_) => Ok(Some(Construction::Sumformer(self.basis.as_deref().map(str::parse).transpose()?))),
        }
    }

    /// Refuses what does not go with the construction.
    fn check(&self, construction: Option<Construction>, trade: Option<Trade>) -> Result<()> {
        let coded = matches!(construction, Some(Construction::SumCode(_)));
        if (self.code.is_some() || self.values.is_some()) && !coded {
            return Err(Error::input("--code and --values are for sum-code and sumformer-discrete")
                .note("try", "add --construction sum-code, or leave them out"));
        }
        let sumformer = matches!(construction, Some(Construction::Sumformer(_)));
        if sumformer && self.positional {
            return Err(Error::input("--positional is for yun: a Sumformer is equivariant")
                .note("try", "leave out --positional, or --construction yun"));
        }
        if construction == Some(Construction::Circuit) && self.positional {
            return Err(Error::input("--positional is for yun: a circuit has positions where its target needs them")
                .note("try", "leave out --positional, or --construction yun"));
        }
        if self.basis.is_some() && !sumformer {
            return Err(Error::input("--basis is for Sumformers").note("try", "add --construction sumformer"));
        }
        if (coded || construction == Some(Construction::Yun)) && trade.is_some() {
            return Err(Error::input("--trade is for circuits: a lattice network has the paper's blocks")
                .note("try", "leave out --trade, or --construction circuit"));
        }
        Ok(())
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
                return Err(Error::input("--pack and --hidden exclude each other").note("try", "one of them"));
            }
            (true, None) => Hidden::All,
            (false, Some(units)) if units < 4 => {
                return Err(Error::input(format!("--hidden is {units}, but a window needs 4 hidden units"))
                    .note("try", "--hidden 4, or leave it out"));
            }
            (false, Some(units)) => Hidden::Units(units),
            (false, None) => Hidden::Literal,
        };
        let temperatures = [("derived", Temperature::Derived), ("saturate", Temperature::Saturate)];
        let temperature = chosen("--temperature", self.temperature.as_deref(), &temperatures)?;
        let temperature = temperature.unwrap_or(Temperature::Derived);
        let format = |precision| Format { precision, temperature, hidden };
        let packed = hidden != Hidden::Literal || temperature != Temperature::Derived;
        let attention = self.attention()?;
        let names = ["exact", "f64", "f32", "auto"].map(|name| (name, name));
        let asked = match (chosen("--precision", self.precision.as_deref(), &names)?, attention) {
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
                    .note("try", "--precision f64, or leave out --attention"))
            }
            (Arithmetic::Exact, Some(Attention::Float(kind))) => {
                Err(Error::input(format!("{} attention is for floats", kind.kind()))
                    .note("try", "--precision f64, or leave out --precision"))
            }
            (Arithmetic::Float(_) | Arithmetic::AnyFloat(_) | Arithmetic::Auto(_), Some(Attention::Hardmax)) => {
                Err(Error::input("a float network has softmax attention").note(
                    "try",
                    "--temperature saturate, with which softmax is hardmax on the grid; or --precision exact",
                ))
            }
            (Arithmetic::Exact, _) if packed => {
                Err(Error::input("--pack, --hidden and --temperature are about float networks")
                    .note("try", "add --precision f64"))
            }
            _ => Ok(arithmetic),
        }
    }
}

/// What has the name that was given to an option.
fn chosen<T: Copy>(option: &str, name: Option<&str>, known: &[(&str, T)]) -> Result<Option<T>> {
    let Some(name) = name else { return Ok(None) };
    if let Some((_, meaning)) = known.iter().find(|(known, _)| *known == name) {
        return Ok(Some(*meaning));
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let error = Error::input(format!("{option} is '{name}'")).note("expected", names.join(", "));
    Err(match nearest(name, names) {
        Some(near) => error.note("try", format!("{option} {near}")),
        None => error,
    })
}

/// A positive exact number.
fn positive(option: &str, text: Option<&str>) -> Result<Option<Rat>> {
    let Some(text) = text else { return Ok(None) };
    let value: Rat = text.parse().map_err(|error| Error::input(format!("{option} is '{text}': {error}")))?;
    if value > Rat::ZERO {
        return Ok(Some(value));
    }
    Err(Error::input(format!("{option} is {text}, but must be above 0")).note("try", format!("{option} 1/10")))
}
