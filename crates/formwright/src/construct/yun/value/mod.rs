//! Lemma 7: the value map `g_v`, feed-forward layers.
//!
//! Integer units, `id = uᵀZ` of a token that comes from the contextual map:
//!
//! ```text
//! outside    Z ← Z - (M+1) 1_d φ(uᵀZ),                    φ(t) = 1 for t ∉ [t_l, t_r],  else 0
//! clear i    Z ← Z + e_i max(-e_iᵀZ, 0)                    i = 1, …, d
//! window     Z ← Z + ((A_L)_j - g_c(L)_j) φ(uᵀZ - c),      φ(t) = 1 for -½ ≤ t < ½,      else 0
//! ```
//!
//! with one window for each context `L` and token `j`, centred at `c = uᵀg_c(L)_j`. The first two steps send every
//! token of a sequence with duplicates or flags to 0, since `M` is at least every entry that the contextual map can
//! produce; the windows replace a token by its value.
//!
//! *Size*: `1 + d + n·C(D,n)` layers, with positions (Theorem 3) `n·D^n` and nothing to send to 0.
//!
//! # The hypothesis that is missing in print
//!
//! The windows act one after another, so a token that has been replaced by its value is tested by the windows after it.
//! With `n = 2`, `d = 1`, `N = 2` the only context has its centres at 13 and 13½ (real units): the target
//! `0 ↦ 13½, ½ ↦ 7` becomes `7, 7` if the windows stand in the order in which the lemma lists them
//! (`--as-printed lemma7-order`). It cannot happen while `|uᵀA_L|` is below every centre by more than ½ (`t_l - ½`;
//! with positions, the lowest id). Where this fails, the stored values are divided by the smallest power of two that
//! restores it, and last feed-forward layers of up to four ReLUs, one for every two output coordinates, multiply back:
//!
//! ```text
//! rescale    Z ← Z + (2^k - 1)(ReLU(Z) - ReLU(-Z))        two rows per layer
//! ```
//!
//! | file | stage |
//! |---|---|
//! | `outside.rs` | outside, clear |
//! | `windows.rs` | the windows |
//! | `rescale.rs` | rescale |
//!
//! *Departures*: that repair; the windows stand in the order of *decreasing* centres (the paper leaves the order open),
//! the only one that survives floating point.

mod outside;
mod rescale;
mod windows;

pub use outside::{Outside, ZeroOutside, largest_entry};
pub use rescale::Rescale;
pub use windows::{ValueWindows, WindowOrder};
