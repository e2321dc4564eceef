//! The same network in another basis of the residual stream.
//!
//! With an orthogonal `R`, a network whose residual stream is `R z` computes the same as the one of `z`: rows that
//! read, `r·z = (R r)·(R z)`, and columns that write, `z + w`, are both multiplied by `R`. In floats `R` is orthogonal
//! up to rounding only, and so are the products: nothing that was proved of the network is true of the rotated one
//! until it is proved anew, of the exported weights.

use crate::network::{AttentionRun, FeedForwardRun, FloatAffine, FloatNetwork, Gaussians, Precision};

/// The rows of an orthogonal matrix, up to rounding, from a seed.
pub(crate) fn basis(seed: u64, width: usize) -> Vec<Vec<f64>> {
    let mut draws = Gaussians::new(seed);
    let mut rows: Vec<Vec<f64>> = Vec::new();
    while rows.len() < width {
        let mut row = draws.draw(width);
        // Twice, since one pass leaves an error of cancellation.
        for _ in 0..2 {
            for known in &rows {
                let along = dot(known, &row);
                row.iter_mut().zip(known).for_each(|(x, y)| *x -= along * y);
            }
            let length = dot(&row, &row).sqrt();
            for x in &mut row {
                *x /= length;
            }
        }
        rows.push(row);
    }
    rows
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Consecutive vectors, each multiplied by `R`.
fn rows(r: &[Vec<f64>], vectors: &[f64]) -> Vec<f64> {
    vectors.chunks(r.len()).flat_map(|vector| r.iter().map(|row| dot(row, vector))).collect()
}

/// Consecutive matrices of `inner` columns, each multiplied by `R` from the left.
fn columns(r: &[Vec<f64>], matrices: &[f64], inner: usize) -> Vec<f64> {
    let matrix = |matrix: &[f64]| -> Vec<f64> {
        let entry = |row: &[f64], j: usize| row.iter().enumerate().map(|(i, x)| x * matrix[i * inner + j]).sum();
        r.iter().flat_map(|row| (0..inner).map(|j| entry(row, j)).collect::<Vec<f64>>()).collect()
    };
    matrices.chunks(r.len() * inner).flat_map(matrix).collect()
}

/// The network with the residual stream `R z`, in double precision.
pub(crate) fn rotated(network: &FloatNetwork, r: &[Vec<f64>]) -> FloatNetwork {
    let mut turned = network.clone();
    turned.precision = Precision::F64;
    for (i, coordinate) in turned.coordinates.iter_mut().enumerate() {
        coordinate.name = format!("d{i}");
        "a mixture of all registers".clone_into(&mut coordinate.meaning);
    }
    let FloatAffine { inputs, weight, bias, .. } = &mut turned.embed;
    (*weight, *bias) = (columns(r, weight, *inputs), rows(r, bias));
    turned.positions = turned.positions.map(|positions| rows(r, &positions));
    for run in &mut turned.runs {
        if let Some(AttentionRun { q, k, v, o, value_size, .. }) = &mut run.attention {
            (*q, *k, *v) = (rows(r, q), rows(r, k), rows(r, v));
            *o = columns(r, o, *value_size);
        }
        if let Some(FeedForwardRun { hidden, w1, w2, b2, .. }) = &mut run.feed_forward {
            (*w1, *w2, *b2) = (rows(r, w1), columns(r, w2, *hidden), rows(r, b2));
        }
    }
    turned.read_out.weight = rows(r, &turned.read_out.weight);
    turned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_basis_is_orthonormal_and_its_seed_s_own() {
        let r = basis(7, 9);
        for (i, a) in r.iter().enumerate() {
            for (j, b) in r.iter().enumerate() {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((dot(a, b) - expected).abs() < 1e-14, "{i}, {j}");
            }
        }
        assert_eq!(r, basis(7, 9));
        assert_ne!(r, basis(8, 9));
        assert!(r.iter().flatten().all(|x| x.abs() < 0.999), "axes");
    }
}
