//! A layer: a mixer and a feed-forward layer, each with a skip connection and, before or after it, a layer norm.
//!
//! `feed-forward(x) = GELU(x W_1 + b_1) W_2 + b_2`. GELU is the exact one. Its gradient is exact on a CPU and with
//! LibTorch; on CUDA (burn's) it is that of the tanh form, within 5e-4 of it.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::gelu;
use burn::tensor::backend::Backend;
use formwright::error::Result;

use super::dense::Dense;
use super::lean::Lean;
use super::mixer::Mixer;
use super::norm::Norm;
use super::sizes::{Place, Sizes};
use super::{Initial, View};

/// A layer of the encoder.
#[derive(Module, Debug)]
pub struct Layer<B: Backend> {
    mixer: Mixer<B>,
    wide: Dense<B>,
    narrow: Dense<B>,
    /// The norms of the mixer and of the feed-forward layer.
    norms: Option<[Norm<B>; 2]>,
    #[module(skip)]
    place: Place,
}

impl<B: Backend> Layer<B> {
    /// The layer with a number.
    pub fn new(initial: &Initial<B>, sizes: &Sizes, layer: usize) -> Result<Self> {
        let norm = |name| Norm::new(&initial.of(name), sizes.width);
        Ok(Self {
            mixer: Mixer::new(&initial.of("mixer"), sizes, layer)?,
            wide: Dense::new(&initial.of("wide"), sizes.width, sizes.hidden),
            narrow: Dense::new(&initial.of("narrow"), sizes.hidden, sizes.width),
            norms: (sizes.norm != Place::None).then(|| [norm("mixed"), norm("fed")]),
            place: sizes.norm,
        })
    }
}

impl<B: Lean> Layer<B> {
    /// Rows mixed and fed forward.
    pub fn forward(&self, x: Tensor<B, 2>, view: &View<B>) -> Tensor<B, 2> {
        let x = self.around(0, x, |x| self.mixer.forward(x, view));
        self.around(1, x, |x| self.narrow.forward(gelu(self.wide.forward(x))))
    }

    /// A sub-layer with its skip connection and its norm.
    fn around(&self, norm: usize, x: Tensor<B, 2>, f: impl Fn(Tensor<B, 2>) -> Tensor<B, 2>) -> Tensor<B, 2> {
        match (&self.norms, self.place) {
            (Some(norms), Place::Pre) => x.clone() + f(norms[norm].forward(x)),
            (Some(norms), _) => norms[norm].forward(x.clone() + f(x)),
            (None, _) => x.clone() + f(x),
        }
    }
}
