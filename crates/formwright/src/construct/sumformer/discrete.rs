//! The discontinuous proof of Alberti et al. 2023, literally: a token is `[1, x, φ(x), 0]` with `φ = Φ∘q` of latent
//! dimension 1, `Σ = Σ_k φ(x_k)` stands in a register of its own, and `ψ(x, Σ)` is token-wise.

use crate::construct::sumcode::Scheme;
use crate::lattice::codes::Code;

/// A sum of codes that keeps its sum apart.
pub(crate) static SUMFORMER_DISCRETE: Scheme = Scheme {
    name: "sumformer-discrete",
    summary: "Alberti et al. 2023, the discontinuous proof: a Sumformer of latent dimension 1",
    code: Code::Histogram,
    is_apart: true,
    is_planned_with_positions: false,
    needs: "a Sumformer is equivariant: f(XP) = f(X)P for every permutation P (Alberti et al. 2023)",
    way_out: "⟨positional⟩, which gives every place codes of its own",
};
