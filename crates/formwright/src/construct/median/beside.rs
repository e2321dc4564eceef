//! Copies of a stage side by side, each on registers of its own: layer by layer they are one layer.

use serde_json::{Value, json};

use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::network::{Attention, FeedForward, Generator, Layer, LayerKind, Sequence, StageSize};

/// Stages of one shape, on one run of registers behind the other.
#[derive(Debug)]
pub(crate) struct Beside {
    /// The copies.
    pub copies: Vec<Box<dyn Generator>>,
}

/// The effect of all copies, in words.
pub(super) fn meaning(of_one: &str, copies: usize) -> String {
    format!("on each of {copies} shifted grids: {of_one}")
}

impl Generator for Beside {
    fn width(&self) -> usize {
        self.copies.iter().map(|copy| copy.width()).sum()
    }

    fn kind(&self) -> LayerKind {
        self.copies[0].kind()
    }

    fn size(&self) -> StageSize {
        let sizes: Vec<StageSize> = self.copies.iter().map(|copy| copy.size()).collect();
        StageSize {
            layers: sizes[0].layers.clone(),
            heads: sizes.iter().map(|size| size.heads).sum(),
            head_size: sizes[0].head_size,
            hidden: sizes.iter().map(|size| size.hidden).sum(),
            units: sizes.iter().fold(Int::ZERO, |sum, size| sum + &size.units),
            nonzeros: sizes.iter().fold(Int::ZERO, |sum, size| sum + &size.nonzeros),
        }
    }

    fn layers(&self) -> Box<dyn Iterator<Item = Result<Layer>> + '_> {
        let mut copies: Vec<_> = self.copies.iter().map(|copy| copy.layers()).collect();
        Box::new(std::iter::from_fn(move || {
            let layers: Option<Result<Vec<Layer>>> = copies.iter_mut().map(Iterator::next).collect();
            Some(layers?.map(together))
        }))
    }

    fn closed_form(&self, state: Sequence) -> Result<Sequence> {
        let mut whole: Sequence = vec![Vec::new(); state.len()];
        let mut offset = 0;
        for copy in &self.copies {
            let own: Sequence = state.iter().map(|token| token[offset..offset + copy.width()].to_vec()).collect();
            whole.iter_mut().zip(copy.closed_form(own)?).for_each(|(token, own)| token.extend(own));
            offset += copy.width();
        }
        Ok(whole)
    }

    fn parameters(&self) -> Value {
        json!(self.copies.iter().map(|copy| copy.parameters()).collect::<Vec<_>>())
    }
}

/// Layers of one kind, each on registers of its own, as one layer.
pub(super) fn together(layers: Vec<Layer>) -> Layer {
    let widths: Vec<usize> = layers.iter().map(width).collect();
    let all: usize = widths.iter().sum();
    let offsets = widths.iter().scan(0, |offset, width| {
        *offset += width;
        Some(*offset - width)
    });
    let mut whole = None;
    for (layer, offset) in layers.into_iter().zip(offsets) {
        let layer = widened(layer, offset, all);
        whole = Some(match whole {
            None => layer,
            Some(whole) => beside(whole, layer),
        });
    }
    whole.expect("there are copies")
}

fn width(layer: &Layer) -> usize {
    match layer {
        Layer::FeedForward(layer) => layer.b2.len(),
        Layer::Attention(layer) => layer.heads.first().map_or(0, |head| head.o.len()),
    }
}

/// The same layer on registers from `offset` on, of `all`.
fn widened(layer: Layer, offset: usize, all: usize) -> Layer {
    // Along a row, and over rows.
    let row = |entries: Vec<Rat>| {
        let mut row = vec![Rat::ZERO; offset];
        row.extend(entries);
        row.resize(all, Rat::ZERO);
        row
    };
    let read = |rows: Vec<Vec<Rat>>| rows.into_iter().map(row).collect::<Vec<_>>();
    let write = |rows: Vec<Vec<Rat>>, size: usize| {
        let mut written = vec![vec![Rat::ZERO; size]; offset];
        written.extend(rows);
        written.resize(all, vec![Rat::ZERO; size]);
        written
    };
    match layer {
        Layer::FeedForward(FeedForward { w1, b1, activations, w2, b2 }) => {
            let (hidden, w1) = (b1.len(), read(w1));
            Layer::FeedForward(FeedForward { w1, b1, activations, w2: write(w2, hidden), b2: row(b2) })
        }
        Layer::Attention(Attention { normaliser, heads, connections }) => {
            let mut heads = heads;
            for head in &mut heads {
                let size = head.v.len();
                for rows in [&mut head.q, &mut head.k, &mut head.v] {
                    *rows = read(std::mem::take(rows));
                }
                head.o = write(std::mem::take(&mut head.o), size);
            }
            Layer::Attention(Attention { normaliser, heads, connections })
        }
    }
}

/// Two layers of one kind and width, that do not read what the other writes, as one.
fn beside(a: Layer, b: Layer) -> Layer {
    match (a, b) {
        (Layer::FeedForward(mut a), Layer::FeedForward(b)) => {
            a.w1.extend(b.w1);
            a.b1.extend(b.b1);
            a.activations.extend(b.activations);
            a.w2.iter_mut().zip(b.w2).for_each(|(row, more)| row.extend(more));
            a.b2.iter_mut().zip(&b.b2).for_each(|(sum, more)| *sum += more);
            Layer::FeedForward(a)
        }
        (Layer::Attention(mut a), Layer::Attention(b)) => {
            a.heads.extend(b.heads);
            Layer::Attention(a)
        }
        _ => unreachable!("copies of a stage have layers of one kind"),
    }
}
