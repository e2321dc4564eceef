//! A Sumformer as somebody might have trained it, made by hand.

use formwright::construct::sumformer::learned::{Dense, Trained};
use formwright::network::Precision;
use formwright::target::Source;

/// `φ(x) = R(x) - R(-x)`, `ψ(x, Σ) = R(x - Σ/4) - R(Σ/4 - x)`: exact, by hand.
pub fn centring(attention: &str, precision: Precision) -> Trained {
    let dense =
        |rows: &[&[f32]]| Dense { weight: rows.iter().map(|row| row.to_vec()).collect(), bias: vec![0.0; rows.len()] };
    let difference = || dense(&[&[1.0, -1.0]]);
    Trained {
        source: Source::expression("centring", "x - mean(x)").expect("an expression"),
        tokens: 4,
        phi: vec![dense(&[&[1.0], &[-1.0]]), difference()],
        psi: vec![dense(&[&[1.0, -0.25], &[-1.0, 0.25]]), difference()],
        attention: attention.parse().expect("a kind"),
        precision,
    }
}
