//! Three operations with hand-written gradients. Each is one node of the graph and remembers only its inputs.
//!
//! burn's own gradients follow the single steps: a softmax keeps two `n × n` matrices a head, a layer norm three copies
//! of its input; each step is launched by itself; and on CUDA the rows of an embedding are added one after the other.
//! Here:
//!
//! ```text
//! attend      Q, K, V = X   P = softmax(Q Kᵀ / √e)   Y = P V      P is computed again on the way back
//!             dV = Pᵀ dY    dP = dY Vᵀ    dS = P ∘ (dP - Σ_row P ∘ dP) / √e    dQ = dS K    dK = dSᵀ Q
//! normalise   y = x̂ ∘ γ + β,   x̂ = (x - mean) / σ
//!             g = dy ∘ γ    dx = (g - mean(g) - x̂ mean(g ∘ x̂)) / σ    dγ = Σ dy ∘ x̂    dβ = Σ dy
//! embed       rows of a table;    d table = Hᵀ dy,  H the ids as unit vectors: a product of matrices
//! ```
//!
//! Softmax and norms are computed in single precision if `x` is in half precision. A hidden key has weight 0; a query
//! that sees no key gets 0.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::{Autodiff, Flex};
use burn::tensor::backend::Backend;
use burn::tensor::ops::{BoolTensor, FloatTensor, IntTensor, ModuleOps};
use burn::tensor::{Bool, DType, FloatDType, Int, Tensor, TensorPrimitive};

/// BERT's constant.
pub(super) const EPSILON: f64 = 1e-12;

/// A backend with the operations of this module. It knows their gradients if it knows any.
///
/// Code that trains on any backend asks for `B: AutodiffBackend<InnerBackend: Lean> + Lean`.
pub trait Lean: Backend {
    /// From queries, keys and values side by side, `[b·n, 3d]`, to the output of the heads, `[b·n, d]`; `hidden`
    /// broadcasts to `[b, heads, n, n]`.
    fn attend(
        qkv: FloatTensor<Self>,
        hidden: Option<BoolTensor<Self>>,
        batch: usize,
        heads: usize,
    ) -> FloatTensor<Self> {
        let attended = Attended::<Self>::of(float(qkv), hidden.map(Tensor::from_primitive), batch, heads);
        primitive(joined(attended.weights.matmul(attended.value)))
    }

    /// The gradient of `qkv`, from that of the output of the heads.
    fn attend_back(
        qkv: FloatTensor<Self>,
        hidden: Option<BoolTensor<Self>>,
        batch: usize,
        heads: usize,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let by = Attended::<Self>::of(float(qkv), hidden.map(Tensor::from_primitive), batch, heads);
        let gradient = float::<Self, 2>(gradient);
        let precision = gradient.dtype();
        let gradient = by_head(gradient, batch, heads);
        let of_weights = single(gradient.clone().matmul(by.value.transpose()));
        let weighted = by.exact_weights.clone() * of_weights.clone();
        let of_scores = (by.exact_weights * (of_weights - weighted.sum_dim(3)) * by.scale).cast(precision);
        let of_query = of_scores.clone().matmul(by.key);
        let of_key = of_scores.transpose().matmul(by.query);
        let of_value = by.weights.transpose().matmul(gradient);
        primitive(joined(Tensor::cat(vec![of_query, of_key, of_value], 1)))
    }

    /// A layer norm of each row of `[rows, d]`.
    fn normalise(x: FloatTensor<Self>, gain: FloatTensor<Self>, bias: FloatTensor<Self>) -> FloatTensor<Self> {
        let (x, gain, bias) = (float::<Self, 2>(x), float::<Self, 1>(gain), float::<Self, 1>(bias));
        let precision = x.dtype();
        let (unit, _) = unit(single(x));
        let (gain, bias) = (gain.cast(unit.dtype()), bias.cast(unit.dtype()));
        primitive((unit * gain.unsqueeze() + bias.unsqueeze()).cast(precision))
    }

    /// The gradients of `x`, gain and bias.
    fn normalise_back(
        x: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> [FloatTensor<Self>; 3] {
        let (x, gain, gradient) = (float::<Self, 2>(x), float::<Self, 1>(gain), single(float::<Self, 2>(gradient)));
        let (precision, kept) = (x.dtype(), gain.dtype());
        let (unit, deviation) = unit(single(x));
        let of_gain = (gradient.clone() * unit.clone()).sum_dim(0).squeeze_dim::<1>(0);
        let of_bias = gradient.clone().sum_dim(0).squeeze_dim::<1>(0);
        let scaled = gradient * gain.cast(unit.dtype()).unsqueeze();
        let along = (scaled.clone() * unit.clone()).mean_dim(1);
        let of_x = (scaled.clone() - scaled.mean_dim(1) - unit * along) / deviation;
        [primitive(of_x.cast(precision)), primitive(of_gain.cast(kept)), primitive(of_bias.cast(kept))]
    }

    /// The rows of a table `[rows, d]` that ids `[b, n]` name, `[b, n, d]`.
    fn embed(table: FloatTensor<Self>, ids: IntTensor<Self>) -> FloatTensor<Self> {
        Self::embedding(table, ids)
    }

    /// The gradient of a table with so many rows.
    fn embed_back(rows: usize, ids: IntTensor<Self>, gradient: FloatTensor<Self>) -> FloatTensor<Self> {
        let gradient = float::<Self, 3>(gradient);
        let [batch, tokens, width] = gradient.dims();
        let ids = Tensor::<Self, 2, Int>::from_primitive(ids).reshape([batch * tokens, 1]);
        let unit = unit_vectors(ids, rows, gradient.dtype());
        primitive(unit.transpose().matmul(gradient.reshape([batch * tokens, width])))
    }
}

impl Lean for Flex {
    // Adding row after row is the fastest way on a CPU.
    fn embed_back(rows: usize, ids: IntTensor<Self>, gradient: FloatTensor<Self>) -> FloatTensor<Self> {
        let gradient = float::<Self, 3>(gradient);
        let table = Tensor::<Self, 2>::empty([rows, gradient.dims()[2]], &gradient.device());
        Self::embedding_backward(primitive(table.cast(gradient.dtype())), primitive(gradient), ids)
    }
}

#[cfg(feature = "cuda")]
impl Lean for burn::backend::Cuda {}

impl<B: Lean, C: CheckpointStrategy> Lean for Autodiff<B, C> {
    fn attend(qkv: FloatTensor<Self>, hidden: Option<BoolTensor<B>>, batch: usize, heads: usize) -> FloatTensor<Self> {
        match Attend.prepare::<C>([qkv.node.clone()]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let state = (qkv.primitive.clone(), hidden.clone(), batch, heads);
                prep.finish(state, B::attend(qkv.primitive, hidden, batch, heads))
            }
            OpsKind::UnTracked(prep) => prep.finish(B::attend(qkv.primitive, hidden, batch, heads)),
        }
    }

    fn normalise(x: FloatTensor<Self>, gain: FloatTensor<Self>, bias: FloatTensor<Self>) -> FloatTensor<Self> {
        let nodes = [x.node.clone(), gain.node.clone(), bias.node.clone()];
        match Normalise.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let state = (x.primitive.clone(), gain.primitive.clone());
                prep.finish(state, B::normalise(x.primitive, gain.primitive, bias.primitive))
            }
            OpsKind::UnTracked(prep) => prep.finish(B::normalise(x.primitive, gain.primitive, bias.primitive)),
        }
    }

    fn embed(table: FloatTensor<Self>, ids: IntTensor<B>) -> FloatTensor<Self> {
        match Embed.prepare::<C>([table.node.clone()]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let rows = float::<B, 2>(table.primitive.clone()).dims()[0];
                prep.finish((rows, ids.clone()), B::embed(table.primitive, ids))
            }
            OpsKind::UnTracked(prep) => prep.finish(B::embed(table.primitive, ids)),
        }
    }
}

#[derive(Debug)]
struct Attend;

impl<B: Lean> Backward<B, 1> for Attend {
    type State = (FloatTensor<B>, Option<BoolTensor<B>>, usize, usize);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = grads.consume::<B>(&ops.node);
        let [Some(node)] = ops.parents else { return };
        let (qkv, hidden, batch, heads) = ops.state;
        grads.register::<B>(node.id, B::attend_back(qkv, hidden, batch, heads, gradient));
    }
}

#[derive(Debug)]
struct Normalise;

impl<B: Lean> Backward<B, 3> for Normalise {
    type State = (FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = grads.consume::<B>(&ops.node);
        let (x, gain) = ops.state;
        for (node, gradient) in ops.parents.into_iter().zip(B::normalise_back(x, gain, gradient)) {
            if let Some(node) = node {
                grads.register::<B>(node.id, gradient);
            }
        }
    }
}

#[derive(Debug)]
struct Embed;

impl<B: Lean> Backward<B, 1> for Embed {
    type State = (usize, IntTensor<B>);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = grads.consume::<B>(&ops.node);
        let [Some(node)] = ops.parents else { return };
        let (rows, ids) = ops.state;
        grads.register::<B>(node.id, B::embed_back(rows, ids, gradient));
    }
}

/// Queries, keys and values by head, `[b, heads, n, e]`, and the weights they give, in their own and in single
/// precision.
struct Attended<B: Backend> {
    query: Tensor<B, 4>,
    key: Tensor<B, 4>,
    value: Tensor<B, 4>,
    weights: Tensor<B, 4>,
    exact_weights: Tensor<B, 4>,
    scale: f64,
}

impl<B: Backend> Attended<B> {
    fn of(qkv: Tensor<B, 2>, hidden: Option<Tensor<B, 4, Bool>>, batch: usize, heads: usize) -> Self {
        let precision = qkv.dtype();
        let all = by_head(qkv, batch, 3 * heads);
        let [query, key, value] = [0, 1, 2].map(|part| all.clone().narrow(1, part * heads, heads));
        #[expect(clippy::cast_precision_loss, reason = "a head's size is small")]
        let scale = (query.dims()[3] as f64).sqrt().recip();
        let scores = single(query.clone().matmul(key.clone().transpose())) * scale;
        let exact_weights = weights(scores, hidden);
        Self { query, key, value, weights: exact_weights.clone().cast(precision), exact_weights, scale }
    }
}

/// Softmax over the last dimension, with weight 0 for hidden keys, even if all are hidden.
fn weights<B: Backend>(scores: Tensor<B, 4>, hidden: Option<Tensor<B, 4, Bool>>) -> Tensor<B, 4> {
    let Some(hidden) = hidden else { return burn::tensor::activation::softmax(scores, 3) };
    let hidden = hidden.expand(scores.dims());
    let scores = scores.mask_fill(hidden.clone(), f32::MIN);
    let exponentials = (scores.clone() - scores.max_dim(3)).exp().mask_fill(hidden, 0.0);
    let sum = exponentials.clone().sum_dim(3).clamp_min(f32::MIN_POSITIVE);
    exponentials / sum
}

/// `[b·n, heads·e]` as `[b, heads, n, e]`.
fn by_head<B: Backend>(x: Tensor<B, 2>, batch: usize, heads: usize) -> Tensor<B, 4> {
    let [rows, width] = x.dims();
    x.reshape([batch, rows / batch, heads, width / heads]).swap_dims(1, 2)
}

/// `[b, heads, n, e]` as `[b·n, heads·e]`.
fn joined<B: Backend>(x: Tensor<B, 4>) -> Tensor<B, 2> {
    let [batch, heads, tokens, size] = x.dims();
    x.swap_dims(1, 2).reshape([batch * tokens, heads * size])
}

/// `x̂` and `σ`.
fn unit<B: Backend>(x: Tensor<B, 2>) -> (Tensor<B, 2>, Tensor<B, 2>) {
    let centred = x.clone() - x.mean_dim(1);
    let deviation = ((centred.clone() * centred.clone()).mean_dim(1) + EPSILON).sqrt();
    (centred / deviation.clone(), deviation)
}

/// The numbers `[rows, 1]` as rows of a matrix, each with a one in its place.
pub fn unit_vectors<B: Backend>(ids: Tensor<B, 2, Int>, count: usize, precision: DType) -> Tensor<B, 2> {
    let rows = ids.dims()[0];
    let columns = Tensor::<B, 1, Int>::arange(0..count.try_into().unwrap_or(i64::MAX), &ids.device());
    let same = ids.expand([rows, count]).equal(columns.unsqueeze::<2>().expand([rows, count]));
    same.float().cast(precision)
}

/// The tensor in single precision, if it was in less.
fn single<B: Backend, const D: usize>(x: Tensor<B, D>) -> Tensor<B, D> {
    if matches!(x.dtype(), DType::F16 | DType::BF16) { x.cast(FloatDType::F32) } else { x }
}

fn float<B: Backend, const D: usize>(x: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(x))
}

fn primitive<B: Backend, const D: usize>(x: Tensor<B, D>) -> FloatTensor<B> {
    x.into_primitive().tensor()
}

/// [`Lean::attend`] on tensors.
pub fn attend<B: Lean>(
    qkv: Tensor<B, 2>,
    hidden: Option<Tensor<B, 4, Bool>>,
    batch: usize,
    heads: usize,
) -> Tensor<B, 2> {
    float(B::attend(primitive(qkv), hidden.map(Tensor::into_primitive), batch, heads))
}

/// [`Lean::normalise`] on tensors.
pub fn normalise<B: Lean>(x: Tensor<B, 2>, gain: Tensor<B, 1>, bias: Tensor<B, 1>) -> Tensor<B, 2> {
    float(B::normalise(primitive(x), primitive(gain), primitive(bias)))
}

/// [`Lean::embed`] on tensors.
pub fn embed<B: Lean>(table: Tensor<B, 2>, ids: Tensor<B, 2, Int>) -> Tensor<B, 3> {
    float(B::embed(primitive(table), ids.into_primitive()))
}
