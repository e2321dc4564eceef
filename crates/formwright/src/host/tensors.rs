//! The matrices of a host under the names of a class: maps of one name are stacked, and perhaps transposed.

use serde_json::{Value, json};

use super::pass::Block;
use super::{Class, Matrices, Part, Tensor};

/// A part of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// A head, with the rows of its size.
    Head { head: usize, size: usize },
    /// A hidden unit.
    Unit(usize),
}

/// `[out, in]` as `[in, out]`.
fn transposed(weight: &[f64], inner: usize) -> Vec<f64> {
    (0..inner).flat_map(|column| weight.iter().skip(column).step_by(inner).copied()).collect()
}

impl Block {
    fn part(&self, part: Part) -> &[f64] {
        match part {
            Part::Query => &self.q,
            Part::Key => &self.k,
            Part::Value => &self.v,
            Part::Output => &self.o,
            Part::Inner => &self.w1,
            Part::Factor => &self.factor,
            Part::Outer => &self.w2,
        }
    }
}

impl Matrices {
    /// A norm's tensors: the gain, and a bias of 0 if there is one.
    pub fn norm(&self, name: &str, biased: bool) -> Vec<Tensor> {
        let width = self.sides.width;
        let bias = biased.then(|| (format!("{name}.bias"), vec![width], vec![0.0; width]));
        let gain = (format!("{name}.weight"), vec![width], vec![self.fitted.gain; width]);
        [gain].into_iter().chain(bias).collect()
    }

    /// The inputs and outputs of a map.
    fn shape(&self, part: Part) -> (usize, usize) {
        let sides = &self.sides;
        let joined = sides.heads * sides.head_size;
        match part {
            Part::Query | Part::Key | Part::Value => (sides.width, joined),
            Part::Output => (joined, sides.width),
            Part::Inner | Part::Factor => (sides.width, sides.hidden),
            Part::Outer => (sides.hidden, sides.width),
        }
    }
}

impl Class {
    /// How many of a layer's norms are there.
    fn layer_norms(&self, layer: usize) -> &[&'static str] {
        &self.names.layer_norms[usize::from(layer == 0 && self.norm.order.skips_the_first())..]
    }

    /// All tensors, with those of the last linear map, by rows. Where these are scores of tokens, there is one for each.
    pub fn tensors(&self, matrices: &Matrices, head: &[f64]) -> Vec<Tensor> {
        let (names, width) = (&self.names, matrices.sides.width);
        let rows = matrices.words.len();
        let mut tensors = vec![(names.words.to_owned(), vec![rows, width], matrices.words.concat())];
        if let Some((name, before)) = names.positions {
            let mut positions = vec![0.0; before * width];
            positions.extend(&matrices.positions);
            tensors.push((name.to_owned(), vec![positions.len() / width, width], positions));
        }
        tensors.extend((self.more)(matrices));
        tensors.extend(names.norms.iter().flat_map(|name| matrices.norm(name, self.biased)));
        for (number, block) in matrices.blocks.iter().enumerate() {
            let layer = format!("{}.{number}", names.layer);
            for parts in names.parts.chunk_by(|a, b| a.1 == b.1) {
                tensors.extend(self.stacked(&layer, parts, block, matrices));
            }
            let norms = self.layer_norms(number).iter();
            tensors.extend(norms.flat_map(|name| matrices.norm(&format!("{layer}.{name}"), self.biased)));
        }
        let name = names.head;
        let outputs = (head.len() / width).max(if self.scores_tokens { rows } else { 0 });
        let mut weight = head.to_vec();
        weight.resize(outputs * width, 0.0);
        tensors.push((format!("{name}.weight"), vec![outputs, width], weight));
        tensors.extend((!self.scores_tokens).then(|| (format!("{name}.bias"), vec![outputs], vec![0.0; outputs])));
        tensors
    }

    /// Maps of one name, one after the other.
    fn stacked(&self, layer: &str, parts: &[(Part, &str)], block: &Block, matrices: &Matrices) -> Vec<Tensor> {
        let (inner, outer) = matrices.shape(parts[0].0);
        let weight = parts.iter().flat_map(|(part, _)| block.part(*part)).copied().collect::<Vec<f64>>();
        let (name, all) = (format!("{layer}.{}", parts[0].1), parts.len() * outer);
        let weight = if self.names.transposed {
            (format!("{name}.weight"), vec![inner, all], transposed(&weight, inner))
        } else {
            (format!("{name}.weight"), vec![all, inner], weight)
        };
        let bias = self.biased.then(|| (format!("{name}.bias"), vec![all], vec![0.0; all]));
        [weight].into_iter().chain(bias).collect()
    }

    /// The rows and columns of a block's tensors that are a head, or a hidden unit.
    pub fn places(&self, matrices: &Matrices, block: usize, place: Place) -> Vec<Value> {
        let names = &self.names;
        let (from, to, written) = match place {
            Place::Head { head, size } => (head * size, (head + 1) * size, Part::Output),
            Place::Unit(unit) => (unit, unit + 1, Part::Outer),
        };
        let all = names.parts.iter().enumerate();
        let of_place = all.filter(|(_, (part, _))| {
            matches!(part, Part::Inner | Part::Factor | Part::Outer) == matches!(place, Place::Unit(_))
        });
        let place = |(at, (part, name)): (usize, &(Part, &str))| {
            let before = names.parts[..at].iter().filter(|other| other.1 == *name).count() * matrices.shape(*part).1;
            let side = if (*part == written) == names.transposed { "rows" } else { "columns" };
            json!({"tensor": format!("{}.{block}.{name}.weight", names.layer), side: [before + from, before + to]})
        };
        of_place.map(place).collect()
    }
}
