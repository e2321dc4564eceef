//! `sumformer` and `learned` as constructions: their options, their rows in a plan, and how their folders are read.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::learned::Learned;
use crate::construct::circuit::built::Circuit;
use crate::construct::circuit::family::{Derived, Options as Gates, TRADE, compile, normal_form, read, refusal, rows};
use crate::construct::normal_form;
use crate::construct::normal_form::continuous::Basis;
use crate::error::{Error, Result};
use crate::lattice::Grid;
use crate::model::{Asked, Candidate, Construction, Family, Folder, Model, Own, Read, Request, Scope, Way};
use crate::pattern::Pattern;
use crate::target::Target;

/// A circuit of `ψ(x_i, Σ_k φ(x_k))`: one attention layer (Alberti et al. 2023).
pub(crate) struct Sumformers;

/// The name of the family.
const NAME: &str = normal_form::FAMILY;

/// The functions that ψ is a sum of.
const BASIS: Own = Own {
    name: "basis",
    value: "BASIS",
    known: &[],
    help: "What a Sumformer's ψ is made of: polynomial (targets that are polynomials), hats (two tokens of one coordinate) \
           or fit:DEGREE. Without it, the first of polynomial and hats that serves",
    is_shared: false,
};

/// The choices of a Sumformer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The basis of ψ; `None` takes the first that serves.
    pub basis: Option<Basis>,
    /// The choices of its circuit.
    pub gates: Gates,
}

impl Family for Sumformers {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "Alberti et al. 2023: ψ of a token and a sum over all tokens, one attention layer, certified in the supremum norm"
    }

    fn options(&self) -> &'static [&'static Own] {
        &[&BASIS, &TRADE]
    }

    fn no_positions(&self) -> Option<&'static str> {
        Some("a Sumformer is equivariant")
    }

    fn construction(&self, asked: &Asked, _pattern: Option<&Pattern>, _named: bool) -> Result<Arc<dyn Construction>> {
        let basis = asked.own(&BASIS).map(str::parse).transpose()?;
        Ok(Arc::new(Options { basis, gates: Gates::asked(asked)? }))
    }

    fn read(&self, folder: &Folder<'_>) -> Result<Read> {
        let basis = match &folder.file["sumformer"] {
            Value::Null => return Err(folder.wrong("a Sumformer without a basis")),
            form => form["basis"].as_str().ok_or_else(|| folder.wrong("missing field `basis`"))?.parse(),
        };
        let basis = basis.map_err(|error: Error| folder.wrong(error.headline()))?;
        read(folder, Some(basis))
    }
}

impl Construction for Options {
    fn name(&self) -> &'static str {
        NAME
    }

    fn compile(&self, request: &Request) -> Result<Model> {
        let form = |target: &Target, shape: &Grid| normal_form(request, target, shape, self.basis).map(Some);
        compile(request, self.gates, form, true)
    }

    fn turn(&self) -> usize {
        1
    }

    /// Those that are asked for; where nothing is, those of equivariant polynomials, which have the target's own values.
    fn ways(&self, scope: &Scope<'_>) -> Vec<Arc<dyn Way>> {
        let request = scope.request;
        let is_excluded = refusal(request, true).is_some();
        let normal_form = |basis| normal_form(request, scope.target, scope.shape, basis).ok();
        let form = if request.named().is_some() {
            normal_form(self.basis).filter(|_| !is_excluded)
        } else if is_excluded {
            return Vec::new();
        } else {
            // Without sums it is the target's own circuit; and nobody asked for what cannot be had.
            let form = normal_form(Some(Basis::Polynomial)).filter(|form| !form.phi.is_empty());
            let Some(form) = form else { return Vec::new() };
            Some(form)
        };
        let basis = form.as_ref().map_or(self.basis, |form| Some(form.basis));
        rows(request, self.gates, Some(&Derived { basis, form: form.map(Arc::new) }))
    }

    /// Fewer gates than one there are not; but a circuit that looks at places may be a sum as well, which has no need of them.
    fn cannot_win(&self, _scope: &Scope<'_>, looked_at: &[Candidate]) -> bool {
        let plain = |row: &Candidate| row.serves() && row.positional() == Some(false);
        let gates = |row: &Candidate| Some(row.built::<Circuit>()?.proof()?.gates.len());
        looked_at.iter().any(|row| plain(row) && gates(row).is_some_and(|gates| gates < 2))
    }
}

/// A Sumformer that somebody trained. It is read from files, and made by [`learned`](super::learned::learned) alone.
pub(crate) struct Trained;

/// The name of the family.
pub(super) const LEARNED: &str = "learned";

/// A trained Sumformer as it is written. Its φ and ψ are in its weights, where their sizes tell.
#[derive(Deserialize)]
struct WrittenLearned {
    attention: String,
    sumformer: WrittenSizes,
}

#[derive(Deserialize)]
struct WrittenSizes {
    phi: Vec<usize>,
    psi: Vec<usize>,
}

impl Family for Trained {
    fn name(&self) -> &'static str {
        LEARNED
    }

    fn summary(&self) -> &'static str {
        "A Sumformer that somebody trained"
    }

    fn no_certificate(&self, dir: &Path) -> Option<Error> {
        let reason = "the network was trained: how far it is from its target was measured, and no bound is stated";
        let way_out = format!("formwright inspect {}, which measures it again", dir.display());
        Some(Error::declined("a measured error is nothing to certify").note("reason", reason).note("try", way_out))
    }

    fn is_offered(&self) -> bool {
        false
    }

    fn construction(&self, _asked: &Asked, _pattern: Option<&Pattern>, _named: bool) -> Result<Arc<dyn Construction>> {
        Err(Error::declined("a trained network is not compiled from its target")
            .note("try", "formwright lab compile RUN, of a run that trained one"))
    }

    fn read(&self, folder: &Folder<'_>) -> Result<Read> {
        let WrittenLearned { attention, sumformer: WrittenSizes { phi, psi } } = folder.part()?;
        let attention = attention.parse().map_err(|_| folder.wrong(&format!("its attention is '{attention}'")))?;
        let read = Learned::read((folder.network)()?, folder.grid, (&phi, &psi), attention);
        let (learned, edited) = read.map_err(|error| folder.wrong(error.headline()))?;
        Ok(Read { built: Arc::new(learned), edited: Some(edited), assumptions: Vec::new() })
    }
}
