//! The token mixers, a file each. All map rows `[b·n, d]` to rows; the skip connection and the norm around them belong
//! to the layer.

mod attention;
mod average;
mod bproj;
mod linformer;
mod performer;
mod sepconv;
mod sparse;

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::backend::Backend;
use formwright::error::Result;

pub use attention::Attention;
pub use average::Average;
pub use bproj::BProj;
pub use linformer::Linformer;
pub use performer::Performer;
pub use sepconv::SepConv;
pub use sparse::Sparse;

use super::lean::Lean;
use super::sizes::Sizes;
use super::{Initial, Mix, View};

/// A token mixer.
#[derive(Module, Debug)]
#[expect(missing_docs, reason = "their files say what they are")]
pub enum Mixer<B: Backend> {
    Attention(Attention<B>),
    Average(Average<B>),
    BProj(BProj<B>),
    SepConv(SepConv<B>),
    Linformer(Linformer<B>),
    Performer(Performer<B>),
    Sparse(Sparse<B>),
}

impl<B: Backend> Mixer<B> {
    /// The mixer of a layer.
    pub fn new(initial: &Initial<B>, sizes: &Sizes, layer: usize) -> Result<Self> {
        let Sizes { width, heads, tokens, .. } = *sizes;
        Ok(match &sizes.layout.layers()[layer] {
            Mix::Attention => Self::Attention(Attention::new(initial, width, heads)),
            Mix::Average => Self::Average(Average::new(initial, width)),
            Mix::BProj => Self::BProj(BProj::new(initial, width, tokens)),
            Mix::SepConv { length, filters } => Self::SepConv(SepConv::new(initial, width, *filters, *length)),
            Mix::Linformer { slots } => Self::Linformer(Linformer::new(initial, width, heads, *slots, tokens)),
            Mix::Performer { features } => Self::Performer(Performer::new(initial, width, heads, *features)),
            Mix::Sparse { .. } => Self::Sparse(Sparse::new(initial, width, heads, &sizes.connections(layer)?)),
        })
    }

    /// The number of trained parameters.
    pub fn parameters(sizes: &Sizes, mix: &Mix) -> usize {
        let Sizes { width, tokens, .. } = *sizes;
        match mix {
            Mix::Attention | Mix::Sparse { .. } => Attention::<B>::parameters(width),
            Mix::Average => Average::<B>::parameters(width),
            Mix::BProj => BProj::<B>::parameters(width, tokens),
            Mix::SepConv { length, filters } => SepConv::<B>::parameters(width, *filters, *length),
            Mix::Linformer { slots } => Linformer::<B>::parameters(width, *slots, tokens),
            Mix::Performer { .. } => Performer::<B>::parameters(width),
        }
    }
}

impl<B: Lean> Mixer<B> {
    /// The rows mixed.
    pub fn forward(&self, x: Tensor<B, 2>, view: &View<B>) -> Tensor<B, 2> {
        match self {
            Self::Attention(mixer) => mixer.forward(x, view),
            Self::Average(mixer) => mixer.forward(x, view),
            Self::BProj(mixer) => mixer.forward(x, view),
            Self::SepConv(mixer) => mixer.forward(x, view),
            Self::Linformer(mixer) => mixer.forward(x, view),
            Self::Performer(mixer) => mixer.forward(x, view),
            Self::Sparse(mixer) => mixer.forward(x, view),
        }
    }
}
