//! Functions on a box, known by enclosures of their values, slopes and second derivatives (forward mode).
//!
//! A [`Dual`] stands for a function `f` of `m` inputs on a box `X ⊂ ℝᵐ`, a product of intervals. It promises:
//!
//! 1. **value** `V`: `f(x) ∈ V` for every `x ∈ X`;
//! 2. **gradient** `G₁, …, Gₘ`: for any two points `x, y ∈ X` there are `gᵢ ∈ Gᵢ` with `f(y) − f(x) = Σᵢ gᵢ (yᵢ − xᵢ)`.
//!    Hence `Σᵢ mag(Gᵢ) |yᵢ − xᵢ|` bounds `|f(y) − f(x)|`, and `Gᵢ` contains `∂f/∂xᵢ` wherever that exists;
//! 3. **hessian** `Hᵢⱼ`, where there is one: `f` is twice continuously differentiable, and `∂²f/∂xᵢ∂xⱼ ∈ Hᵢⱼ`.
//!
//! All three speak of `f` on `X` only: at the boundary, derivatives are those from inside. Promise 2 speaks of pairs of
//! points and not of derivatives, hence it also holds across *kinks*. Its rules, for two points `x` and `y`:
//!
//! | operation | because |
//! |---|---|
//! | `a + b` | the differences add |
//! | `a b` | `a(y)b(y) − a(x)b(x) = a(y) (b(y) − b(x)) + b(x) (a(y) − a(x))` |
//! | `q = a ÷ b` | `q(y) − q(x) = (a(y) − a(x) − q(x) (b(y) − b(x))) ÷ b(y)` |
//! | `φ(a)`, `φ` differentiable on the values `A` | `φ(a(y)) − φ(a(x)) = φ′(t) (a(y) − a(x))` for some `t ∈ A` |
//! | `max(a, b)` | the difference lies between those of `a` and `b`, see below |
//!
//! If `a` is the larger at `x` and `b` at `y`, then `max` changes by `b(y) − a(x)`, which is at least `a(y) − a(x)` and
//! at most `b(y) − b(x)`: a mean of the two gradients gives it, and the hull contains all means.
//!
//! `abs`, `relu`, `min` and `clamp` are cases of `max`. Where the enclosures of values decide which branch is taken on
//! all of `X`, the result is that branch with its hessian. Branches may touch, since they agree where they do; only if
//! both are one and the same number, with different derivatives, do they count as undecided: so the gradient on a box
//! of one point covers both sides of a kink. Where they are undecided, the gradient is the hull of the branches' and
//! the hessian is dropped, for good: `None` says that nothing is known about second derivatives, and everything
//! computed from it has `None`.
//!
//! `√` at 0 has an unbounded slope and no hessian. `floor` jumps, which no gradient describes: it is refused unless it
//! is constant on `X`.
//!
//! **Domain of validity.** That of [`Interval`]. An unbounded `Gᵢ` is an honest "no bound", and 0 times it is 0: an
//! input that is not used does not matter. The hessian is symmetric and stored packed: the entry `(i, j)`, `j ≤ i`, is
//! at `i (i + 1) ÷ 2 + j`.

use std::ops::{Add, Mul, Neg, Sub};

use super::{Interval, Refusal};

/// The highest derivative that enclosures are computed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Values and gradients: `m` intervals each.
    First,
    /// Hessians as well: `m (m + 1) ÷ 2` more intervals.
    Second,
}

/// Enclosures of a function's values, slopes and second derivatives on a box; see the [module](self).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dual {
    value: Interval,
    gradient: Vec<Interval>,
    hessian: Option<Vec<Interval>>,
}

/// The positions of a packed symmetric matrix, in order.
fn places(inputs: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..inputs).flat_map(|i| (0..=i).map(move |j| (i, j)))
}

// Constructors and queries.
impl Dual {
    /// A function that is the same everywhere: no slope, no second derivative.
    pub fn constant(value: Interval, inputs: usize, order: Order) -> Self {
        let hessian = (order == Order::Second).then(|| vec![Interval::ZERO; inputs * (inputs + 1) / 2]);
        Self { value, gradient: vec![Interval::ZERO; inputs], hessian }
    }

    /// The input `index` itself, which ranges over `value`.
    ///
    /// # Panics
    /// If there is no such input.
    pub fn variable(value: Interval, index: usize, inputs: usize, order: Order) -> Self {
        let mut variable = Self::constant(value, inputs, order);
        variable.gradient[index] = Interval::ONE;
        variable
    }

    /// A function of which only the values are enclosed.
    pub fn unknown(value: Interval, inputs: usize) -> Self {
        Self { value, gradient: vec![Interval::ENTIRE; inputs], hessian: None }
    }

    /// A *continuous* function with values in `value` that is, at every point, one of these: the gradient is the hull
    /// of theirs. The caller promises that it is continuous. `None` if there are no candidates.
    pub fn one_of<'a>(value: Interval, candidates: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let hull = |a: Self, b: &Self| Self { gradient: a.gradients(b, Interval::hull), ..a };
        let mut candidates = candidates.into_iter();
        let first = Self { hessian: None, ..candidates.next()?.clone() };
        Some(Self { value, ..candidates.fold(first, hull) })
    }

    /// An enclosure of the values.
    pub fn value(&self) -> Interval {
        self.value
    }

    /// Enclosures of the slopes, one for each input.
    pub fn gradient(&self) -> &[Interval] {
        &self.gradient
    }

    /// An enclosure of `∂²f/∂xᵢ∂xⱼ`; `None` if only first derivatives were computed, or if there may be a kink.
    pub fn second(&self, i: usize, j: usize) -> Option<Interval> {
        let (i, j) = (i.max(j), i.min(j));
        self.hessian.as_ref().map(|hessian| hessian[i * (i + 1) / 2 + j])
    }

    /// The packed hessian, under the same condition as [`second`](Self::second).
    pub fn hessian(&self) -> Option<&[Interval]> {
        self.hessian.as_deref()
    }

    /// The same function, claimed to have a value in `value` as well.
    ///
    /// Range lemmas enter here: the caller has proved that `f(x) ∈ value`. `None` if the enclosures are disjoint: then
    /// one of them is false.
    pub fn with_value_in(mut self, value: Interval) -> Option<Self> {
        self.value = self.value.intersect(value)?;
        Some(self)
    }
}

// The chain rule, and entries of two functions side by side.
impl Dual {
    /// `φ(self)` from enclosures of `φ`, `φ′` and `φ″` on the values: `φ′ ∂ᵢ` and `φ′ ∂ᵢⱼ + φ″ ∂ᵢ ∂ⱼ`.
    fn compose(&self, value: Interval, first: Interval, second: Interval) -> Self {
        let slope = &self.gradient;
        let hessian = self.hessian.as_ref().map(|hessian| {
            let product = |i: usize, j: usize| if i == j { slope[i].sqr() } else { slope[i] * slope[j] };
            hessian.iter().zip(places(slope.len())).map(|(&h, (i, j))| first * h + second * product(i, j)).collect()
        });
        Self { value, gradient: slope.iter().map(|&g| first * g).collect(), hessian }
    }

    /// A gradient from two, entry by entry.
    fn gradients(&self, other: &Self, f: impl Fn(Interval, Interval) -> Interval) -> Vec<Interval> {
        assert_eq!(self.gradient.len(), other.gradient.len(), "functions of the same inputs");
        self.gradient.iter().zip(&other.gradient).map(|(&a, &b)| f(a, b)).collect()
    }

    /// A hessian from two, entry by entry with its place, if both exist.
    fn hessians(
        &self,
        other: &Self,
        f: impl Fn(Interval, Interval, usize, usize) -> Interval,
    ) -> Option<Vec<Interval>> {
        let (a, b) = self.hessian.as_ref().zip(other.hessian.as_ref())?;
        Some(a.iter().zip(b).zip(places(self.gradient.len())).map(|((&a, &b), (i, j))| f(a, b, i, j)).collect())
    }
}

/// `−f`: every enclosure is mirrored.
impl Neg for &Dual {
    type Output = Dual;
    fn neg(self) -> Dual {
        let mirrored = |entries: &[Interval]| entries.iter().map(|&entry| -entry).collect();
        Dual { value: -self.value, gradient: mirrored(&self.gradient), hessian: self.hessian.as_deref().map(mirrored) }
    }
}

/// Sums of functions: all derivatives add.
impl Add for &Dual {
    type Output = Dual;
    fn add(self, other: &Dual) -> Dual {
        Dual {
            value: self.value + other.value,
            gradient: self.gradients(other, |a, b| a + b),
            hessian: self.hessians(other, |a, b, _, _| a + b),
        }
    }
}

/// Differences of functions: all derivatives subtract.
impl Sub for &Dual {
    type Output = Dual;
    fn sub(self, other: &Dual) -> Dual {
        Dual {
            value: self.value - other.value,
            gradient: self.gradients(other, |a, b| a - b),
            hessian: self.hessians(other, |a, b, _, _| a - b),
        }
    }
}

/// Products: `∂ᵢ = a bᵢ + b aᵢ` and `∂ᵢⱼ = a bᵢⱼ + b aᵢⱼ + aᵢ bⱼ + aⱼ bᵢ`.
impl Mul for &Dual {
    type Output = Dual;
    fn mul(self, other: &Dual) -> Dual {
        self.product(other)
    }
}

// Functions.
impl Dual {
    /// The operator `*`.
    fn product(&self, other: &Self) -> Self {
        let (a, b) = (self.value, other.value);
        let cross = |i: usize, j: usize| self.gradient[i] * other.gradient[j];
        Self {
            value: a * b,
            gradient: self.gradients(other, |a_i, b_i| a * b_i + b * a_i),
            hessian: self.hessians(other, |a_ij, b_ij, i, j| a * b_ij + b * a_ij + (cross(i, j) + cross(j, i))),
        }
    }

    /// The quotient `q = a ÷ b`: from `a = q b`, `qᵢ = (aᵢ − q bᵢ) ÷ b` and `qᵢⱼ = (aᵢⱼ − q bᵢⱼ − qᵢ bⱼ − qⱼ bᵢ) ÷ b`.
    /// Refused if the values of `b` may include 0.
    pub fn checked_div(&self, other: &Self) -> Result<Self, Refusal> {
        let (q, b) = (self.value.checked_div(other.value)?, other.value);
        let over = |x: Interval| x.checked_div(b).expect("a divisor that has just divided");
        let gradient = self.gradients(other, |a_i, b_i| over(a_i - q * b_i));
        let cross = |i: usize, j: usize| gradient[i] * other.gradient[j];
        let hessian = self.hessians(other, |a_ij, b_ij, i, j| over(a_ij - q * b_ij - (cross(i, j) + cross(j, i))));
        Ok(Self { value: q, gradient, hessian })
    }

    #[cfg(test)]
    /// `1 ÷ f`, with derivatives `−f⁻²` and `2 f⁻³`; refused if the values may include 0.
    pub fn recip(&self) -> Result<Self, Refusal> {
        let r = self.value.recip()?;
        Ok(self.compose(r, -r.sqr(), Interval::point(2.0) * r.powi(3)))
    }

    /// `f²`.
    pub fn sqr(&self) -> Self {
        self.powi(2)
    }

    /// `fⁿ`, with derivatives `n fⁿ⁻¹` and `n (n − 1) fⁿ⁻²`.
    pub fn powi(&self, n: u32) -> Self {
        let power = |lowered: u32| n.checked_sub(lowered).map_or(Interval::ZERO, |exponent| self.value.powi(exponent));
        let n_exact = Interval::point(n.into());
        let first = n_exact * power(1);
        self.compose(power(0), first, n_exact * (n_exact - Interval::ONE) * power(2))
    }

    /// `√f`, with derivatives `1 ÷ 2√f` and `−1 ÷ 4f√f`. Where the values reach 0 the slope has no upper bound and
    /// there is no hessian: `√v − √u = (v − u) ÷ (√v + √u)` for values `u, v` that are not both 0. Refused if they may
    /// be negative.
    pub fn sqrt(&self) -> Result<Self, Refusal> {
        let root = self.value.sqrt()?;
        let Ok(first) = (root + root).recip() else {
            return Ok(Self { hessian: None, ..self.compose(root, Interval::ENTIRE.relu(), Interval::ZERO) });
        };
        let second = -first.checked_div(self.value + self.value)?;
        Ok(self.compose(root, first, second))
    }

    /// `exp(f)`, its own derivative.
    pub fn exp(&self) -> Self {
        let e = self.value.exp();
        self.compose(e, e, e)
    }

    /// `log(f)`, with derivatives `1 ÷ f` and `−1 ÷ f²`; refused unless the values are above 0.
    pub fn log(&self) -> Result<Self, Refusal> {
        let (value, r) = (self.value.log()?, self.value.recip()?);
        Ok(self.compose(value, r, -r.sqr()))
    }

    /// `t = tanh(f)`, with derivatives `1 − t²` and `−2 t (1 − t²)`.
    pub fn tanh(&self) -> Self {
        let t = self.value.tanh();
        let first = Interval::ONE - t.sqr();
        self.compose(t, first, Interval::point(-2.0) * t * first)
    }

    /// `sin(f)`, with derivatives `cos` and `−sin`.
    pub fn sin(&self) -> Self {
        let (sin, cos) = (self.value.sin(), self.value.cos());
        self.compose(sin, cos, -sin)
    }

    /// `cos(f)`, with derivatives `−sin` and `−cos`.
    pub fn cos(&self) -> Self {
        let (sin, cos) = (self.value.sin(), self.value.cos());
        self.compose(cos, -sin, -cos)
    }

    /// `max(a, b)`: the branch that is never the smaller, or a kink between both.
    pub fn max(&self, other: &Self) -> Self {
        match (other.value.certainly_le(self.value), self.value.certainly_le(other.value)) {
            (true, false) => self.clone(),
            (false, true) => other.clone(),
            (true, true) if self == other => self.clone(),
            _ => {
                let value = self.value.max(other.value);
                Self { value, gradient: self.gradients(other, Interval::hull), hessian: None }
            }
        }
    }

    /// `min(a, b) = −max(−a, −b)`.
    pub fn min(&self, other: &Self) -> Self {
        -&(-self).max(&-other)
    }

    /// `|f| = max(f, −f)`, with a better enclosure of the values than that formula gives.
    pub fn abs(&self) -> Self {
        Self { value: self.value.abs(), ..self.max(&-self) }
    }

    /// `max(f, 0)`.
    pub fn relu(&self) -> Self {
        self.max(&self.constant_like(Interval::ZERO))
    }

    #[cfg(test)]
    /// `min(max(f, from), to)`.
    pub fn clamp(&self, from: &Self, to: &Self) -> Self {
        self.max(from).min(to)
    }

    #[cfg(test)]
    /// `⌊f⌋` where it is the same for all values; refused otherwise, since it jumps.
    pub fn floor(&self) -> Result<Self, Refusal> {
        let floor = self.value.floor();
        if floor.lo() < floor.hi() {
            return Err(Refusal::Jump(self.value));
        }
        Ok(self.constant_like(floor))
    }

    /// A constant function of the same inputs, with a hessian if `self` has one.
    fn constant_like(&self, value: Interval) -> Self {
        let order = if self.hessian.is_some() { Order::Second } else { Order::First };
        Self::constant(value, self.gradient.len(), order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    fn interval(lo: f64, hi: f64) -> Interval {
        Interval::new(lo, hi).expect("endpoints in order")
    }

    /// The inputs of a box, as functions on it.
    fn variables(sides: &[Interval]) -> Vec<Dual> {
        sides.iter().enumerate().map(|(i, &side)| Dual::variable(side, i, sides.len(), Order::Second)).collect()
    }

    /// A random function of three inputs.
    #[derive(Clone, Debug)]
    enum Expression {
        Input(usize),
        Number(f64),
        Unary(&'static str, Box<Expression>),
        Binary(&'static str, Box<Expression>, Box<Expression>),
    }

    const INPUTS: usize = 3;
    const UNARY: [&str; 13] =
        ["neg", "recip", "sqr", "cube", "sqrt", "exp", "log", "tanh", "sin", "cos", "abs", "relu", "floor"];
    const BINARY: [&str; 7] = ["+", "-", "*", "*", "/", "min", "max"];

    fn expression() -> impl Strategy<Value = Expression> {
        let leaf = prop_oneof![
            4 => (0..INPUTS).prop_map(Expression::Input),
            1 => (-8..=8_i8).prop_map(|quarters| Expression::Number(f64::from(quarters) / 4.0)),
        ];
        leaf.prop_recursive(5, 24, 2, |inner| {
            let unary = (prop::sample::select(&UNARY[..]), inner.clone());
            let binary = (prop::sample::select(&BINARY[..]), inner.clone(), inner);
            prop_oneof![
                unary.prop_map(|(name, a)| Expression::Unary(name, a.into())),
                binary.prop_map(|(name, a, b)| Expression::Binary(name, a.into(), b.into())),
            ]
        })
    }

    impl Expression {
        fn on(&self, sides: &[Interval]) -> Result<Dual, Refusal> {
            Ok(match self {
                Self::Input(i) => Dual::variable(sides[*i], *i, sides.len(), Order::Second),
                Self::Number(x) => Dual::constant(Interval::point(*x), sides.len(), Order::Second),
                Self::Unary(name, a) => {
                    let a = a.on(sides)?;
                    match *name {
                        "neg" => -&a,
                        "recip" => a.recip()?,
                        "sqr" => a.sqr(),
                        "cube" => a.powi(3),
                        "sqrt" => a.sqrt()?,
                        "exp" => a.exp(),
                        "log" => a.log()?,
                        "tanh" => a.tanh(),
                        "sin" => a.sin(),
                        "cos" => a.cos(),
                        "abs" => a.abs(),
                        "relu" => a.relu(),
                        _ => a.floor()?,
                    }
                }
                Self::Binary(name, a, b) => {
                    let (a, b) = (a.on(sides)?, b.on(sides)?);
                    match *name {
                        "+" => &a + &b,
                        "-" => &a - &b,
                        "*" => &a * &b,
                        "/" => a.checked_div(&b)?,
                        "min" => a.min(&b),
                        _ => a.max(&b),
                    }
                }
            })
        }
    }

    /// A box and two points of it.
    fn sides_and_points() -> impl Strategy<Value = [(Interval, f64, f64); INPUTS]> {
        let width = prop_oneof![Just(0.0), Just(1.0 / 64.0), 0.0..0.5, 0.0..2.0];
        prop::array::uniform3((-2.0..2.0, width, 0.0..=1.0, 0.0..=1.0).prop_map(
            |(lo, width, s, t): (f64, f64, f64, f64)| {
                let side = interval(lo, lo + width);
                let at = |t: f64| (lo + t * width).min(side.hi());
                (side, at(s), at(t))
            },
        ))
    }

    fn meets(a: Interval, b: Interval) -> bool {
        a.intersect(b).is_some()
    }

    /// `Σ aᵢ bᵢ`.
    fn dot(a: impl IntoIterator<Item = Interval>, b: &[Interval]) -> Interval {
        a.into_iter().zip(b).fold(Interval::ZERO, |sum, (a, &b)| sum + a * b)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 20_000,
            max_global_rejects: 20_000,
            rng_seed: RngSeed::Fixed(1),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// The three promises for pairs of points. Values at points come from the same code on boxes of one point,
        /// where enclosures are a few floats wide; both sides are enclosures of the same number, so no tolerance is
        /// needed.
        #[test]
        fn random_expressions_keep_the_promises(f in expression(), case in sides_and_points()) {
            let on_box = f.on(&case.map(|(side, _, _)| side));
            prop_assume!(on_box.is_ok());
            let on_box = on_box?;
            let at_x = f.on(&case.map(|(_, x, _)| Interval::point(x)))?;
            let at_y = f.on(&case.map(|(_, _, y)| Interval::point(y)))?;
            let step = case.map(|(_, x, y)| Interval::point(y) - Interval::point(x));

            prop_assert!(meets(on_box.value(), at_x.value()));
            let difference = at_y.value() - at_x.value();
            prop_assert!(meets(difference, dot(on_box.gradient().iter().copied(), &step)));
            for (i, (&slope, &at)) in on_box.gradient().iter().zip(at_x.gradient()).enumerate() {
                prop_assert!(meets(slope, at));
                if on_box.hessian().is_some() {
                    let row = (0..INPUTS).map(|j| on_box.second(i, j).expect("a hessian"));
                    prop_assert!(meets(at_y.gradient()[i] - at, dot(row, &step)));
                }
            }
            if let Some(hessian) = on_box.hessian() {
                // It is `None` at a point of the boundary where branches touch.
                let at = at_x.hessian().unwrap_or_default();
                prop_assert!(hessian.iter().zip(at).all(|(&h, &at)| meets(h, at)));
                // f(x − h) − 2 f(x) + f(x + h) = h² times a second derivative between, along each axis.
                for i in 0..INPUTS {
                    let (side, x, _) = case[i];
                    let h = (x - side.lo()).min(side.hi() - x);
                    let moved = |by: f64| {
                        let mut point = case.map(|(_, x, _)| x);
                        point[i] += by;
                        (point[i], f.on(&point.map(Interval::point)))
                    };
                    let ((before, low), (after, high)) = (moved(-h), moved(h));
                    if !(side.contains(before) && side.contains(after) && h > 0.0) {
                        continue;
                    }
                    let [back, on] = [before, after].map(|end| (Interval::point(end) - Interval::point(x)).abs());
                    // The two steps differ by rounding: the divided difference of order two, times 2.
                    let [left, right] = [(low?, back), (high?, on)]
                        .map(|(end, by)| (end.value() - at_x.value()).checked_div(by));
                    if let (Ok(left), Ok(right)) = (left, right) {
                        let divided = Interval::point(2.0) * (left + right).checked_div(back + on)?;
                        prop_assert!(meets(divided, on_box.second(i, i).expect("a hessian")));
                    }
                }
            }
        }
    }

    #[test]
    fn a_polynomial_has_its_textbook_derivatives() {
        let v = variables(&[interval(1.0, 2.0), interval(-1.0, 3.0)]);
        // x² y: (2xy, x²) and (2y, 2x, 0).
        let f = &v[0].sqr() * &v[1];
        assert_eq!(f.value(), interval(-4.0, 12.0));
        assert_eq!(f.gradient(), [interval(-4.0, 12.0), interval(1.0, 4.0)]);
        assert_eq!(f.hessian(), Some(&[interval(-2.0, 6.0), interval(2.0, 4.0), Interval::ZERO][..]));
        assert_eq!(f.second(0, 1), f.second(1, 0));
        let cube = v[1].powi(3);
        assert_eq!((cube.value(), cube.gradient()[1]), (interval(-1.0, 27.0), interval(0.0, 27.0)));
        assert_eq!(cube.second(1, 1), Some(interval(-6.0, 18.0)));
        assert_eq!((v[0].powi(0), v[0].powi(1)), (v[0].constant_like(Interval::ONE), v[0].clone()));
    }

    /// `a` and `b` are enclosures of one number, each narrow.
    fn same_number(a: Interval, b: Interval) -> bool {
        meets(a, b) && a.hull(b).width() < 1e-12 * (1.0 + a.mag())
    }

    /// Closed forms of the first and second derivatives of every smooth function, at one point.
    #[test]
    fn smooth_functions_have_their_closed_forms() {
        let x = Interval::point(0.75);
        let (one, two) = (Interval::ONE, Interval::point(2.0));
        let v = Dual::variable(x, 0, 1, Order::Second);
        let (sin, cos, e, t) = (x.sin(), x.cos(), x.exp(), x.tanh());
        let r = x.recip().expect("not 0");
        let root = x.sqrt().expect("not negative");
        let ok = |f: Result<Dual, Refusal>| f.expect("inside the domain");
        let sech = one - t * t;
        let cases = [
            (v.exp(), e, e),
            (ok(v.log()), r, -(r * r)),
            (v.tanh(), sech, -two * t * sech),
            (v.sin(), cos, -sin),
            (v.cos(), -sin, -cos),
            (ok(v.recip()), -(r * r), two * r * r * r),
            (ok(v.sqrt()), Interval::point(0.5) * root * r, Interval::point(-0.25) * root * r * r),
            (
                ok(v.sin().checked_div(&v)),
                (x * cos - sin) * r * r,
                (two * sin - two * x * cos - x * x * sin) * r * r * r,
            ),
            (&v.exp() * &v, e * (one + x), e * (two + x)),
            (v.sqr().exp(), two * x * (x * x).exp(), (two + Interval::point(4.0) * x * x) * (x * x).exp()),
        ];
        for (k, (f, first, second)) in cases.iter().enumerate() {
            assert!(same_number(f.gradient()[0], *first), "case {k}: {} is not {first}", f.gradient()[0]);
            assert!(
                f.second(0, 0).is_some_and(|h| same_number(h, *second)),
                "case {k}: {:?}, not {second}",
                f.second(0, 0)
            );
        }
    }

    /// softmax: `∂pᵢ/∂xⱼ = pᵢ (δᵢⱼ − pⱼ)`.
    #[test]
    fn softmax_has_its_jacobian() {
        let v = variables(&[0.0, 0.5, -1.0].map(Interval::point));
        let e: Vec<Dual> = v.iter().map(Dual::exp).collect();
        let total = &(&e[0] + &e[1]) + &e[2];
        let p: Vec<Dual> = e.iter().map(|e| e.checked_div(&total).expect("a positive sum")).collect();
        for (i, p_i) in p.iter().enumerate() {
            for (j, p_j) in p.iter().enumerate() {
                let delta = if i == j { Interval::ONE } else { Interval::ZERO };
                assert!(same_number(p_i.gradient()[j], p_i.value() * (delta - p_j.value())));
            }
        }
    }

    #[test]
    fn an_undecided_branch_gives_the_hull_of_slopes_and_no_second_derivative() {
        let v = variables(&[interval(-1.0, 2.0), interval(0.0, 1.0)]);
        let (zero, one) = (Interval::ZERO, Interval::ONE);
        let (relu, abs) = (v[0].relu(), v[0].abs());
        assert_eq!((relu.value(), relu.gradient()), (interval(0.0, 2.0), &[interval(0.0, 1.0), zero][..]));
        assert_eq!((abs.value(), abs.gradient()), (interval(0.0, 2.0), &[interval(-1.0, 1.0), zero][..]));
        let larger = v[0].max(&v[1]);
        assert_eq!(larger.gradient(), [interval(0.0, 1.0), interval(0.0, 1.0)]);
        let [from, to] = [0.0, 1.0].map(|x| Dual::constant(Interval::point(x), 2, Order::Second));
        let clamped = v[0].clamp(&from, &to);
        assert_eq!((clamped.value(), clamped.gradient()[0]), (interval(0.0, 1.0), interval(0.0, 1.0)));
        for kinked in [&relu, &abs, &larger, &v[0].min(&v[1]), &clamped, &relu.sqr(), &(&v[1] + &abs)] {
            assert_eq!((kinked.hessian(), kinked.second(0, 0)), (None, None));
        }
        // At the kink itself, the gradient covers both sides.
        let origin = Dual::variable(zero, 0, 1, Order::Second);
        assert_eq!((origin.relu().gradient(), origin.relu().hessian()), (&[interval(0.0, 1.0)][..], None));
        assert_eq!(origin.abs().gradient(), [interval(-1.0, 1.0)]);
        assert_eq!(from.relu(), from);
        // Where the branch is decided on the whole box, touching included, the result is the branch itself.
        assert_eq!((v[1].relu(), v[1].abs()), (v[1].clone(), v[1].clone()));
        assert_eq!((-&v[1]).abs(), v[1]);
        assert_eq!(((-&v[1]).relu(), v[1].clamp(&from, &to)), (from, v[1].clone()));
        assert_eq!(v[1].max(&to).gradient(), [zero, zero]);
        assert_eq!(v[1].min(&to).gradient(), [zero, one]);
    }

    #[test]
    fn a_root_that_reaches_zero_has_an_unbounded_slope() {
        let v = variables(&[interval(0.0, 4.0), interval(0.0, 1.0)]);
        let root = v[0].sqrt().expect("not negative");
        assert_eq!(
            (root.value(), root.gradient()),
            (interval(0.0, 2.0), &[Interval::ENTIRE.relu(), Interval::ZERO][..])
        );
        assert_eq!(root.hessian(), None);
        let away = (&v[0] + &v[1].constant_like(Interval::ONE)).sqrt().expect("positive");
        assert!(away.gradient()[0].is_bounded() && away.hessian().is_some());
    }

    #[test]
    fn undefined_operations_are_refused() {
        let side = interval(-1.0, 1.5);
        let v = Dual::variable(side, 0, 1, Order::Second);
        assert_eq!(v.recip(), Err(Refusal::Divisor(side)));
        assert_eq!(v.checked_div(&v), Err(Refusal::Divisor(side)));
        assert_eq!(v.sqrt(), Err(Refusal::Root(side)));
        assert_eq!(v.log(), Err(Refusal::Logarithm(side)));
        assert_eq!(v.floor(), Err(Refusal::Jump(side)));
        let constant = Dual::constant(interval(0.25, 0.5), 1, Order::Second);
        assert_eq!(constant.floor(), Ok(Dual::constant(Interval::ZERO, 1, Order::Second)));
    }

    #[test]
    fn first_order_carries_no_hessian() {
        let v = Dual::variable(interval(0.5, 1.0), 0, 1, Order::First);
        let f = (&v.exp() * &v.relu()).checked_div(&v.sin()).expect("positive");
        assert_eq!((f.hessian(), f.gradient().len()), (None, 1));
        assert_eq!(v.floor(), Err(Refusal::Jump(interval(0.5, 1.0))));
    }

    #[test]
    fn a_proved_range_narrows_the_values_only() {
        let v = Dual::variable(interval(-1.0, 1.0), 0, 1, Order::Second);
        let product = &v * &v;
        let known = product.clone().with_value_in(interval(0.0, 9.0)).expect("squares are not negative");
        assert_eq!((known.value(), known.gradient()), (interval(0.0, 1.0), product.gradient()));
        assert_eq!(product.with_value_in(interval(2.0, 3.0)), None);
    }

    #[test]
    #[should_panic(expected = "functions of the same inputs")]
    fn functions_of_different_inputs_do_not_mix() {
        let [a, b] = [1, 2].map(|inputs| Dual::constant(Interval::ONE, inputs, Order::First));
        let _ = &a + &b;
    }
}
