//! Rule *linformer*: a head whose keys, or queries, are 0 gives every mixture the weight `fl(1/k)`.
//!
//! ```text
//! H = Σ_a fl(1/k) Σ_j f_aj V_j,   α_j = (1/k) Σ_a f_aj,   rough = max_j (n/k) Σ_a |f_aj| / |total|
//! r = n + k + 1: a product with f, n - 1 additions; 1/k, a product with it, k - 1 additions
//! ```

use super::uniform::Uniform;
use super::{Prover, Stop, declined};
use crate::kernel::number::{Dyadic, Ratio};
use crate::kernel::sum::Row;
use crate::read::weights::Head;

impl Prover<'_> {
    /// Bounds a Linformer's head.
    pub(super) fn linformer(&mut self, head: &Head, e: &[Row], f: &[Row]) -> Result<Uniform, Stop> {
        self.one_length()?;
        let zero = |rows: &[Row]| rows.iter().all(Row::is_zero);
        if !zero(&head.q) && !zero(&head.k) {
            return Err(declined("a Linformer's head with scores that have no rule"));
        }
        // Mixtures of keys are computed even if nothing comes of them.
        for key in &head.k {
            let size = self.read(&key.weights)?.size;
            for mixture in e {
                let sum = mixture.weights.iter().fold(Dyadic::ZERO, |sum, (_, weight)| &sum + &weight.abs());
                self.note(&(&(&size + &size) * &sum));
            }
        }
        for row in &head.v {
            let size = self.read(&row.weights)?.size;
            for mixture in f {
                let sum = mixture.weights.iter().fold(Dyadic::ZERO, |sum, (_, weight)| &sum + &weight.abs());
                self.note(&(&(&size + &size) * &sum));
            }
        }
        let mut columns = vec![(Ratio::ZERO, Ratio::ZERO); self.tokens];
        for (token, weight) in f.iter().flat_map(|mixture| &mixture.weights) {
            let missing = || declined("a mixture of more tokens than there are");
            let (sum, size) = columns.get_mut(*token).ok_or_else(missing)?;
            *sum = sum.plus(&Ratio::of(weight));
            *size = size.plus(&Ratio::of(&weight.abs()));
        }
        let all = columns.iter().fold(Ratio::ZERO, |all, (sum, _)| all.plus(sum));
        let nothing = || declined("mixtures of values that add up to nothing");
        let total = all.over(&Ratio::whole(f.len())).filter(|total| !total.is_zero()).ok_or_else(nothing)?;
        let (mut spread, mut rough) = (Dyadic::ZERO, Dyadic::ONE);
        for (sum, size) in &columns {
            // Relative to what a token's share of the total is.
            let share = |sum: &Ratio| sum.times(&Ratio::whole(self.tokens)).over(&all);
            let (own, sizes) = (share(sum).ok_or_else(nothing)?, share(size).ok_or_else(nothing)?);
            spread = spread.max(own.minus(&Ratio::ONE).range().size());
            rough = rough.max(sizes.range().size());
        }
        let roundings = self.tokens.saturating_add(f.len()).saturating_add(1);
        let products = self.tokens.saturating_add(f.len());
        Ok(Uniform { total, spread, roundings, rough, products, grown: Dyadic::ONE })
    }
}
