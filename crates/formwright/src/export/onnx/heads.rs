//! The heads of each kind as nodes.

use super::{Nodes, int, ints};
use crate::network::{AttentionKind, AttentionRun, Precision};

impl Nodes {
    /// What the attention of a block adds to `z`, and `z`; the weights are those of [`AttentionRun::tensors`], in their order, made ready for rows.
    pub(super) fn attention(
        &mut self,
        z: &str,
        run: &AttentionRun,
        weights: &[&str],
        seen: Option<&str>,
        at: &str,
    ) -> String {
        let (v, o) = (weights[weights.len() - 2], weights[weights.len() - 1]);
        let values = self.plain("MatMul", &[z, v], format!("{at}.values"));
        let joined = if run.kind == AttentionKind::Average {
            let axis = self.add("Constant", &[], vec![ints("value_ints", &[1])], format!("{at}.mean.axis"));
            self.plain("ReduceMean", &[&values, &axis], format!("{at}.mean"))
        } else {
            let values = self.split(&values, (run.heads, run.value_size), &[0, 2, 1, 3]);
            let mixed = self.mixed((z, &values), run, weights, seen, at);
            let mixed = self.transpose(&mixed, &[0, 2, 1, 3], format!("{at}.mixed.heads"));
            self.reshape(&mixed, &[0, 0, run.heads * run.value_size], format!("{at}.mixed.joined"))
        };
        let update = self.plain("MatMul", &[&joined, o], format!("{at}.update"));
        self.plain("Add", &[z, &update], format!("{at}.out"))
    }

    /// `[batch, tokens, heads · size]` to heads, in another order of sides.
    fn split(&mut self, rows: &str, (heads, size): (usize, usize), order: &[i64]) -> String {
        let heads = self.reshape(rows, &[0, 0, heads, size], format!("{rows}.heads"));
        self.transpose(&heads, order, format!("{heads}.first"))
    }

    /// What the queries of all heads find, `[batch, heads, tokens, value_size]`.
    fn mixed(
        &mut self,
        (z, values): (&str, &str),
        run: &AttentionRun,
        weights: &[&str],
        seen: Option<&str>,
        at: &str,
    ) -> String {
        let (q, q_bias, k, size) = (weights[0], weights[1], weights[2], (run.heads, run.head_size));
        let queries = self.plain("MatMul", &[z, q], format!("{at}.queries.linear"));
        let queries = self.plain("Add", &[&queries, q_bias], format!("{at}.queries"));
        let queries = self.split(&queries, size, &[0, 2, 1, 3]);
        let keys = self.plain("MatMul", &[z, k], format!("{at}.keys"));
        match run.kind {
            AttentionKind::Softmax | AttentionKind::Average => {
                let keys = self.split(&keys, size, &[0, 2, 3, 1]);
                self.weighted(&queries, &keys, values, seen, at)
            }
            AttentionKind::Linformer { .. } => {
                let (e, f) = (weights[3], weights[4]);
                let keys = self.split(&keys, size, &[0, 2, 1, 3]);
                let keys = self.plain("MatMul", &[e, &keys], format!("{at}.keys.mixed"));
                let keys = self.transpose(&keys, &[0, 1, 3, 2], format!("{at}.keys.columns"));
                let values = self.plain("MatMul", &[f, values], format!("{at}.values.mixed"));
                self.weighted(&queries, &keys, &values, None, at)
            }
            AttentionKind::Performer { .. } => {
                let keys = self.split(&keys, size, &[0, 2, 1, 3]);
                let of_keys = self.features(&keys, weights[3], &format!("{at}.keys"));
                let of_keys = self.transpose(&of_keys, &[0, 1, 3, 2], format!("{at}.keys.columns"));
                let summary = self.plain("MatMul", &[&of_keys, values], format!("{at}.summary"));
                let of_queries = self.features(&queries, weights[3], &format!("{at}.queries"));
                let parts = self.plain("Div", &[&of_queries, &size_name(run)], format!("{at}.queries.parts"));
                self.plain("MatMul", &[&parts, &summary], format!("{at}.mixed"))
            }
        }
    }

    /// `softmax(seen ? q kᵀ : −∞) v`
    fn weighted(&mut self, queries: &str, keys: &str, values: &str, seen: Option<&str>, at: &str) -> String {
        let scores = self.plain("MatMul", &[queries, keys], format!("{at}.scores"));
        let scores = match seen {
            Some(seen) => self.plain("Where", &[seen, &scores, "hidden"], format!("{at}.scores.seen")),
            None => scores,
        };
        let pattern = self.add("Softmax", &[&scores], vec![int("axis", -1)], format!("{at}.pattern"));
        self.plain("MatMul", &[&pattern, values], format!("{at}.mixed"))
    }

    /// `exp(x wᵀ − ½ Σ x²)`, `[batch, heads, tokens, size]`.
    fn features(&mut self, x: &str, w: &str, at: &str) -> String {
        let along = self.plain("MatMul", &[x, w], format!("{at}.along"));
        let squares = self.plain("Mul", &[x, x], format!("{at}.squares"));
        let axis = self.add("Constant", &[], vec![ints("value_ints", &[-1])], format!("{at}.squares.axis"));
        let square = self.plain("ReduceSum", &[&squares, &axis], format!("{at}.square"));
        let half = self.plain("Mul", &[&square, "half"], format!("{at}.square.half"));
        let exponent = self.plain("Sub", &[&along, &half], format!("{at}.exponent"));
        self.plain("Exp", &[&exponent], format!("{at}.features"))
    }

    /// What Performers need besides their weights: one half, and how many features there are, once for each of them. A product and a division by one
    /// number would become one node in onnxruntime, whose factor is rounded to single precision, whatever the network's is.
    pub(super) fn numbers_of_performers<'r>(
        &mut self,
        runs: impl Iterator<Item = &'r AttentionRun>,
        precision: Precision,
    ) {
        let mut known: Vec<String> = Vec::new();
        for run in runs {
            let AttentionKind::Performer { size, .. } = run.kind else { continue };
            #[expect(clippy::cast_precision_loss, reason = "a number of features")]
            let numbers = [("half".to_owned(), vec![0.5]), (size_name(run), vec![size as f64; size])];
            for (name, numbers) in numbers {
                if !known.contains(&name) {
                    self.constant(super::vector(precision, &numbers), name.clone());
                    known.push(name);
                }
            }
        }
    }
}

/// What the number of features of a run is called.
fn size_name(run: &AttentionRun) -> String {
    format!("features.{}", run.kind.size().unwrap_or(1))
}
