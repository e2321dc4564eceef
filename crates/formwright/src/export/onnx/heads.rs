//! The steps of a formula, and its look, as nodes.

use super::{Nodes, int, ints};
use crate::network::attention::{KEYS, Look, Rows, Side, Step};
use crate::network::{AttentionRun, Precision};

impl Nodes {
    /// The sum of `z` and the attention of a block; the weights are those of [`AttentionRun::tensors`], in their order,
    /// made ready for rows.
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
        let joined = if let (Look::Row { of }, [Step::Mean { .. }]) = (run.kind.formula.look, run.kind.formula.steps) {
            debug_assert_eq!(of.0, 2, "what the only step makes");
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
    pub(super) fn split(&mut self, rows: &str, (heads, size): (usize, usize), order: &[i64]) -> String {
        let heads = self.reshape(rows, &[0, 0, heads, size], format!("{rows}.heads"));
        self.transpose(&heads, order, format!("{heads}.first"))
    }

    /// The outputs of all heads, `[batch, heads, tokens, value_size]`, or 1 in the place of the tokens.
    fn mixed(
        &mut self,
        (z, values): (&str, &str),
        run: &AttentionRun,
        weights: &[&str],
        seen: Option<&str>,
        at: &str,
    ) -> String {
        let (formula, size) = (run.kind.formula, (run.heads, run.head_size));
        let first = if formula.has_scores() { 3 } else { 0 };
        let tensor = |name: &str| weights[first + formula.tensor(name)];
        let (mut queries, mut keys) = (String::new(), String::new());
        if formula.has_scores() {
            queries = self.plain("MatMul", &[z, weights[0]], format!("{at}.queries.linear"));
            queries = self.plain("Add", &[&queries, weights[1]], format!("{at}.queries"));
            queries = self.split(&queries, size, &[0, 2, 1, 3]);
            keys = self.plain("MatMul", &[z, weights[2]], format!("{at}.keys"));
            // Looked at as columns, mixed as rows.
            let order: &[i64] = if formula.sees_tokens() { &[0, 2, 3, 1] } else { &[0, 2, 1, 3] };
            keys = self.split(&keys, size, order);
        }
        let mut rows = vec![keys, values.to_owned()];
        for (number, step) in formula.steps.iter().enumerate() {
            // What a kind makes of keys, or of values, for the first time is called by what it is.
            let repeated = |of: Rows| formula.steps[..number].iter().any(|step| step.of() == of);
            let at = if repeated(step.of()) { format!("{at}.{number}") } else { at.to_owned() };
            let of = rows[step.of().0].clone();
            rows.push(match *step {
                Step::Mixed { of: KEYS, by } => {
                    let mixed = self.plain("MatMul", &[tensor(by), &of], format!("{at}.keys.mixed"));
                    self.transpose(&mixed, &[0, 1, 3, 2], format!("{at}.keys.columns"))
                }
                Step::Mixed { by, .. } => self.plain("MatMul", &[tensor(by), &of], format!("{at}.values.mixed")),
                Step::Features { by, .. } => {
                    let features = self.features(&of, tensor(by), &format!("{at}.keys"));
                    self.transpose(&features, &[0, 1, 3, 2], format!("{at}.keys.columns"))
                }
                Step::Products { features, .. } => {
                    self.plain("MatMul", &[&rows[features.0], &of], format!("{at}.summary"))
                }
                Step::Mean { .. } => {
                    let axis = self.add("Constant", &[], vec![ints("value_ints", &[2])], format!("{at}.mean.axis"));
                    self.plain("ReduceMean", &[&of, &axis], format!("{at}.mean"))
                }
            });
        }
        match formula.look {
            Look::Softmax { keys, values } => self.weighted(&queries, &rows[keys.0], &rows[values.0], seen, at),
            Look::Features { by, values } => {
                let of_queries = self.features(&queries, tensor(by), &format!("{at}.queries"));
                let parts = self.plain("Div", &[&of_queries, &size_name(run)], format!("{at}.queries.parts"));
                self.plain("MatMul", &[&parts, &rows[values.0]], format!("{at}.mixed"))
            }
            Look::Row { of } => rows[of.0].clone(),
        }
    }

    /// `softmax(seen ? q kᵀ : −∞) v`
    pub(super) fn weighted(&mut self, queries: &str, keys: &str, values: &str, seen: Option<&str>, at: &str) -> String {
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

    /// The constants that features need besides their weights: one half, and how many features there are, once for each
    /// of them. A product and a division by one number would become one node in onnxruntime, whose factor is rounded to
    /// single precision, whatever the network's is.
    pub(super) fn numbers_of_features<'r>(
        &mut self,
        runs: impl Iterator<Item = &'r AttentionRun>,
        precision: Precision,
    ) {
        let mut known: Vec<String> = Vec::new();
        for run in runs {
            let has_features = run.kind.formula.tensors().iter().any(|(_, side)| *side == Side::HeadSize);
            let Some(size) = run.kind.size().filter(|_| has_features) else { continue };
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

/// The name of the number of features of a run.
fn size_name(run: &AttentionRun) -> String {
    format!("features.{}", run.kind.size().unwrap_or(1))
}
