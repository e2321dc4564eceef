//! Polynomials near a target that is not one: the normal form of power sums, with fitted coefficients.
//!
//! The basis is `x^α Π_β E_β`, of degree up to `D` (`|β|` counts for `E_β`) and with `1 ≤ |β| ≤ n`, which is all that
//! the theorem needs. Coefficients minimise the squared residuals at points that lie dense at the ends of the box, as
//! Chebyshev's do. The points are weighted by their residuals, again and again (Lawson), which brings the largest error
//! down. Elements that depend on earlier ones at the points are left out. Then coefficients are rounded to a dyadic
//! grid, as coarse as the digits of single precision are for the largest term.
//!
//! No claim rests on any of this: **the distance** `sup|f - ψ|` is bounded afterwards, of the rounded polynomial, on
//! boxes with centre `c` and radii `r`,
//!
//! ```text
//! |g| ≤ |g(c)| + Σ_k |∂_k g(c)| r_k + ½ Σ_{k,l} |∂_kl g| r_k r_l    or    |g(c)| + Σ_k |∂_k g| r_k,    g = f - ψ
//! ```
//!
//! the worst box cut in two until the bound is within 1/16 of the largest `|g|` found at a centre, or until there are
//! [`BOXES`] of them. If that leaves more than the tolerance, only the largest value found is known, and the claim says
//! that it is measured.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::polynomial::{Monomial, Polynomial};
use super::power_sums::{Exponents, Letter, NormalForm, check_size};
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::dual::{Dual, Order};
use crate::interval::{Interval, Up};
use crate::target::Checked;
use crate::target::expr::Domain;
use crate::target::modulus::Cube;

/// The most boxes that the domain is cut into.
pub(crate) const BOXES: usize = 1 << 13;

/// The most elements of the basis.
pub(crate) const MOST_ELEMENTS: usize = 400;

/// Rounds of weighting.
const ROUNDS: usize = 24;

/// A polynomial near a target.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    /// The polynomial.
    pub form: NormalForm,
    /// Its distance from the target: a bound if `proved`, else the largest distance found.
    pub distance: f64,
    /// True if the distance is proved.
    pub proved: bool,
    /// The number of boxes examined.
    pub boxes: usize,
}

impl Fit {
    /// The polynomial of a degree for a target.
    pub fn of(target: &Checked, tokens: usize, degree: u32, eps: &Rat) -> Result<Self> {
        let dims = target.dims();
        let Domain::Interval(low, high) = &target.expression().domain else {
            return Err(Error::declined("a fit is for intervals, and the domain is one of integers")
                .note("try", "⟨construction=circuit⟩"));
        };
        if !target.equivariance().is_proved() {
            return Err(Error::declined("equivariance is not shown by the syntax")
                .note("reason", "i, j, sort, filters and gathers other than x[i] may tell tokens apart")
                .note("try", "⟨construction=circuit⟩, or an expression without them"));
        }
        check_size(tokens, dims, degree)?;
        let basis = basis(tokens, dims, degree);
        if basis.len() > MOST_ELEMENTS {
            return Err(Error::declined(format!("the basis has {} elements", basis.len()))
                .note("limit", format!("{MOST_ELEMENTS} coefficients are fitted"))
                .note("try", format!("⟨basis=fit:{}⟩", degree.saturating_sub(1).max(1))));
        }
        let points = points(tokens, dims, (low.to_f64(), high.to_f64()), basis.len());
        let rows: Vec<Vec<f64>> =
            points.iter().map(|x| basis.iter().map(|element| value(element, x)).collect()).collect();
        let wanted: Vec<Vec<f64>> = points.iter().map(|x| target.evaluate_f64(x).swap_remove(0)).collect();
        let mut outputs = Vec::new();
        for k in 0..target.output_dims() {
            let wanted: Vec<f64> = wanted.iter().map(|token| token[k]).collect();
            if wanted.iter().any(|value| !value.is_finite()) {
                return Err(Error::declined("the target has no value at some point of its domain"));
            }
            outputs.push(rounded(&basis, &rows, &fitted(&rows, &wanted)));
        }
        let form = NormalForm { tokens, dims, outputs };
        let psi = form.expression(&target.expression().domain)?;
        let (most, found, boxes) = distance(target, &psi, tokens)?;
        let proved = Rat::from_f64(most).is_some_and(|most| most < *eps);
        Ok(Self { form, distance: if proved { most } else { found }, proved, boxes })
    }
}

/// The exponents of degree `total`.
fn exponents(dims: usize, total: u32) -> Vec<Exponents> {
    if dims == 1 {
        return vec![vec![total]];
    }
    let with =
        |first: u32| exponents(dims - 1, total - first).into_iter().map(move |rest| [vec![first], rest].concat());
    (0..=total).rev().flat_map(with).collect()
}

/// The elements `x^α Π E_β`, cheap ones first.
pub(crate) fn basis(tokens: usize, dims: usize, degree: u32) -> Vec<Monomial<Letter>> {
    let mut letters: Vec<(Letter, u32)> = (0..dims).map(|k| (Letter::Own(k), 1)).collect();
    for weight in 1..=degree.min(u32::try_from(tokens).unwrap_or(u32::MAX)) {
        letters.extend(exponents(dims, weight).into_iter().map(|beta| (Letter::Sum(beta), weight)));
    }
    let mut basis = vec![(Monomial::one(), 0)];
    for (letter, weight) in letters {
        let more: Vec<(Monomial<Letter>, u32)> = basis
            .iter()
            .flat_map(|(monomial, used)| {
                let (letter, used) = (letter.clone(), *used);
                (0..=(degree - used) / weight).map(move |k| {
                    let factors = monomial.factors().iter().cloned().chain([(letter.clone(), k)]);
                    (Monomial::of(factors), used + k * weight)
                })
            })
            .collect();
        basis = more;
    }
    basis.sort_by_key(|(monomial, degree)| (*degree, monomial.factors().len(), monomial.clone()));
    basis.into_iter().map(|(monomial, _)| monomial).collect()
}

/// Sequences that fill the box evenly, but are dense at its ends.
fn points(tokens: usize, dims: usize, (low, high): (f64, f64), elements: usize) -> Vec<Vec<Vec<f64>>> {
    let entries = tokens * dims;
    // The additive recurrence of the root of t^{entries+1} = t + 1.
    let mut root = 2.0_f64;
    for _ in 0..64 {
        #[expect(clippy::cast_precision_loss, reason = "a few entries")]
        let power = 1.0 / (entries as f64 + 1.0);
        root = (1.0 + root).powf(power);
    }
    let count = (32 * elements).max(2048);
    let entry = |k: usize, e: usize| {
        #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
        let turn = (0.5 + (k + 1) as f64 * root.powi(-i32::try_from(e + 1).unwrap_or(i32::MAX))).fract();
        low + (high - low) * (1.0 - (std::f64::consts::PI * turn).cos()) / 2.0
    };
    let point = |k: usize| (0..tokens).map(|t| (0..dims).map(|c| entry(k, t * dims + c)).collect()).collect();
    (0..count).map(point).collect()
}

/// The value of an element of the basis at the first token.
fn value(element: &Monomial<Letter>, x: &[Vec<f64>]) -> f64 {
    let power = |base: f64, exponent: u32| base.powi(i32::try_from(exponent).unwrap_or(i32::MAX));
    let of_token =
        |token: &Vec<f64>, beta: &Exponents| token.iter().zip(beta).map(|(x, k)| power(*x, *k)).product::<f64>();
    let factor = |(letter, exponent): &(Letter, u32)| {
        let value = match letter {
            Letter::Own(k) | Letter::Running(k) => x[0][*k],
            Letter::Sum(beta) => x.iter().map(|token| of_token(token, beta)).sum(),
        };
        power(value, *exponent)
    };
    element.factors().iter().map(factor).product()
}

/// Coefficients with a small largest error.
fn fitted(rows: &[Vec<f64>], wanted: &[f64]) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let even = 1.0 / rows.len() as f64;
    let mut weights = vec![even; rows.len()];
    let mut best = (f64::INFINITY, Vec::new());
    for _ in 0..ROUNDS {
        let coefficients = least_squares(rows, wanted, &weights);
        let off: Vec<f64> = rows.iter().zip(wanted).map(|(row, y)| (dot(row, &coefficients) - y).abs()).collect();
        let largest = off.iter().copied().fold(0.0, f64::max);
        if largest < best.0 {
            best = (largest, coefficients);
        }
        let total: f64 = weights.iter().zip(&off).map(|(weight, off)| weight * off).sum();
        if total <= 0.0 {
            break;
        }
        for (weight, off) in weights.iter_mut().zip(&off) {
            *weight *= off / total;
        }
    }
    best.1
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Weighted least squares by orthogonal columns; a column that depends on those before it has the coefficient 0.
fn least_squares(rows: &[Vec<f64>], wanted: &[f64], weights: &[f64]) -> Vec<f64> {
    const DEPENDENT: f64 = 1e-9;
    let columns = rows.first().map_or(0, Vec::len);
    let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
    let mut left: Vec<f64> = wanted.iter().zip(&roots).map(|(y, root)| y * root).collect();
    // The orthonormal columns, each as a combination of the given ones.
    let mut orthonormal: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    let mut coefficients = vec![0.0; columns];
    for k in 0..columns {
        let mut column: Vec<f64> = rows.iter().zip(&roots).map(|(row, root)| row[k] * root).collect();
        let mut combination = vec![0.0; columns];
        combination[k] = 1.0;
        let size = dot(&column, &column).sqrt();
        // Orthogonalising twice is enough.
        for _ in 0..2 {
            for (known, of) in &orthonormal {
                let share = dot(known, &column);
                column.iter_mut().zip(known).for_each(|(a, b)| *a -= share * b);
                combination.iter_mut().zip(of).for_each(|(a, b)| *a -= share * b);
            }
        }
        let rest = dot(&column, &column).sqrt();
        if rest <= DEPENDENT * size {
            continue;
        }
        for a in column.iter_mut().chain(&mut combination) {
            *a /= rest;
        }
        let share = dot(&column, &left);
        left.iter_mut().zip(&column).for_each(|(a, b)| *a -= share * b);
        coefficients.iter_mut().zip(&combination).for_each(|(a, b)| *a += share * b);
        orthonormal.push((column, combination));
    }
    coefficients
}

/// The polynomial with coefficients on a dyadic grid.
fn rounded(basis: &[Monomial<Letter>], rows: &[Vec<f64>], coefficients: &[f64]) -> Polynomial<Letter> {
    let largest = |k: usize| rows.iter().map(|row| row[k].abs()).fold(0.0, f64::max);
    let used = || (0..basis.len()).filter(|k| coefficients[*k] != 0.0);
    let moved: f64 = used().map(largest).sum::<f64>() / 2.0;
    let size = used().map(|k| coefficients[k].abs() * largest(k)).fold(0.0, f64::max);
    let mut polynomial = Polynomial::constant(Rat::ZERO);
    // As many digits as the fit itself justifies: single precision of its largest term.
    let mut unit = 1.0_f64;
    while unit * moved > size * 2.0_f64.powi(-24) && unit > f64::MIN_POSITIVE {
        unit /= 2.0;
    }
    for k in used() {
        let coefficient = Rat::from_f64((coefficients[k] / unit).round() * unit).unwrap_or_default();
        polynomial = polynomial.plus(&coefficient, &Polynomial::term(Rat::ONE, basis[k].clone()));
    }
    polynomial
}

/// A bound is looked for until it is within this factor of a distance that was found.
const ENOUGH: f64 = 1.0 + 1.0 / 16.0;

/// A box with a bound on `|g|` there.
struct Piece {
    most: Up,
    cube: Cube,
}

impl PartialEq for Piece {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Piece {}

impl PartialOrd for Piece {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Piece {
    fn cmp(&self, other: &Self) -> Ordering {
        self.most.get().total_cmp(&other.most.get())
    }
}

/// A bound on `sup|f - ψ|`, the largest distance found at a centre, and the number of boxes. Both functions are
/// equivariant, so that one output token stands for all.
pub(crate) fn distance(target: &Checked, psi: &Checked, tokens: usize) -> Result<(f64, f64, usize)> {
    let whole = target.domain_box(tokens);
    let (most, mut found, _) = on_box(target, psi, &whole)?;
    let mut pieces = BinaryHeap::from([Piece { most, cube: whole }]);
    let mut boxes = 1;
    loop {
        let Some(worst) = pieces.pop() else { return Ok((found, found, boxes)) };
        if boxes >= BOXES || worst.most <= found * ENOUGH {
            return Ok((worst.most.get(), found, boxes));
        }
        let (_, _, across) = on_box(target, psi, &worst.cube)?;
        let (t, c) = (across / target.dims(), across % target.dims());
        let (lo, mid, hi) = (worst.cube[t][c].lo(), worst.cube[t][c].mid(), worst.cube[t][c].hi());
        for (lo, hi) in [(lo, mid), (mid, hi)] {
            let mut cube = worst.cube.clone();
            cube[t][c] = Interval::point(lo).hull(Interval::point(hi));
            let (most, here, _) = on_box(target, psi, &cube)?;
            found = found.max(here);
            pieces.push(Piece { most, cube });
        }
        boxes += 2;
    }
}

/// A bound on a box, the value at its centre, and the input that costs most.
fn on_box(target: &Checked, psi: &Checked, cube: &Cube) -> Result<(Up, f64, usize)> {
    let centre: Cube =
        cube.iter().map(|token| token.iter().map(|side| Interval::point(side.mid())).collect()).collect();
    let radii: Vec<Up> = cube.iter().flatten().map(|side| (*side - Interval::point(side.mid())).into()).collect();
    let slopes = |of: &Checked, cube: &Cube, order| -> Result<Vec<Dual>> { Ok(of.slopes(cube, order)?.swap_remove(0)) };
    let (f, p) = (slopes(target, cube, Order::Second)?, slopes(psi, cube, Order::Second)?);
    let (f_c, p_c) = (slopes(target, &centre, Order::First)?, slopes(psi, &centre, Order::First)?);
    let (mut most, mut found) = (Up::ZERO, 0.0_f64);
    let mut costs = vec![Up::ZERO; radii.len()];
    for k in 0..f.len() {
        let at = f_c[k].value() - p_c[k].value();
        found = found.max(at.mig());
        let slope = |a: &Dual, b: &Dual, i: usize| Up::from(a.gradient()[i] - b.gradient()[i]);
        let mut first = Up::from(at);
        for (i, radius) in radii.iter().enumerate() {
            let cost = slope(&f[k], &p[k], i) * *radius;
            costs[i] = costs[i].max(cost);
            first += cost;
        }
        let second = second_order(&f[k], &p[k], &radii).map(|curved| {
            let slopes = radii.iter().enumerate().map(|(i, radius)| slope(&f_c[k], &p_c[k], i) * *radius);
            slopes.fold(Up::from(at) + curved, |sum, slope| sum + slope)
        });
        let all = (f[k].value() - p[k].value()).into();
        most = most.max(second.unwrap_or(Up::INFINITY).min(first).min(all));
    }
    let across = (0..costs.len()).max_by(|a, b| costs[*a].get().total_cmp(&costs[*b].get())).unwrap_or(0);
    Ok((most, found, across))
}

/// `½ Σ_{k,l} |∂_kl g| r_k r_l`
fn second_order(f: &Dual, p: &Dual, radii: &[Up]) -> Option<Up> {
    let mut sum = Up::ZERO;
    for (i, a) in radii.iter().enumerate() {
        for (j, b) in radii.iter().enumerate() {
            sum += Up::from(f.second(i, j)? - p.second(i, j)?) * *a * *b;
        }
    }
    Some(sum / 2.0)
}
