//! Equivariant polynomials as polynomials of a token and power sums: the conversion is an identity, and what has none is refused.

use std::collections::BTreeSet;

use formwright::construct::normal_form::continuous::{Basis, Continuous};
use formwright::construct::normal_form::fit::basis;
use formwright::construct::normal_form::polynomial::{Entry, Polynomial, degree, expand};
use formwright::construct::normal_form::power_sums::{NormalForm, basis_size, latent_dimension};
use formwright::error::ErrorKind;
use formwright::exact::{Int, Rat};
use formwright::target::{Checked, Domain, Expression};

fn checked(text: &str, dims: usize) -> Checked {
    Expression::parse(text).and_then(|text| text.check(dims)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn rational(&mut self) -> Rat {
        Rat::new(i64::try_from(self.below(41)).expect("small") - 20, i64::try_from(self.below(6)).expect("small") + 1)
    }

    fn sequence(&mut self, tokens: usize, dims: usize) -> Vec<Vec<Rat>> {
        (0..tokens).map(|_| (0..dims).map(|_| self.rational()).collect()).collect()
    }

    /// A polynomial expression of degree at most `degree`; `inside` of an aggregate, `x[i]` is the output token.
    fn polynomial(&mut self, degree: u32, dims: usize, inside: bool, depth: u32) -> String {
        let k = self.below(dims as u64);
        let leaf = match self.below(4) {
            0 => format!("{}/{}", self.below(5), 1 + self.below(4)),
            1 if inside => format!("x[i].{k}"),
            _ => format!("x.{k}"),
        };
        if depth == 0 || degree == 0 {
            return if degree == 0 { format!("{}", 1 + self.below(3)) } else { leaf };
        }
        match self.below(8) {
            0 | 1 => {
                let (a, b) = (
                    self.polynomial(degree, dims, inside, depth - 1),
                    self.polynomial(degree, dims, inside, depth - 1),
                );
                format!("({a} {} {b})", if self.below(2) == 0 { "+" } else { "-" })
            }
            2 | 3 if degree > 1 => {
                let left = 1 + u32::try_from(self.below(u64::from(degree) - 1)).expect("small");
                let a = self.polynomial(left, dims, inside, depth - 1);
                format!("{a} * {}", self.polynomial(degree - left, dims, inside, depth - 1))
            }
            4 if degree > 1 => format!("({})^2", self.polynomial(degree / 2, dims, inside, depth - 1)),
            5 if degree > 1 => format!("var({})", self.polynomial(degree / 2, dims, true, depth - 1)),
            6 => format!("mean({})", self.polynomial(degree, dims, true, depth - 1)),
            7 => format!("sum({}) / (n + 1)", self.polynomial(degree, dims, true, depth - 1)),
            _ => leaf,
        }
    }
}

/// The normal form, multiplied out, and as an expression, has the target's values.
fn assert_same(text: &str, tokens: usize, dims: usize, dice: &mut Dice) -> NormalForm {
    let target = checked(text, dims);
    let form = NormalForm::of(&target, tokens).unwrap_or_else(|error| panic!("{text}: {error}"));
    for (token, expected) in expand(&target, tokens).expect(text).iter().enumerate() {
        assert_eq!(form.multiplied_out(token), *expected, "{text}, token {token}");
    }
    let psi = form.expression(&Domain::default()).expect(text);
    for _ in 0..4 {
        let x = dice.sequence(tokens, dims);
        let (expected, found) = (target.evaluate_exact(&x).expect(text), psi.evaluate_exact(&x).expect(text));
        assert_eq!(found, expected, "{text} at {x:?}");
    }
    assert!(form.degree() <= degree(&target).expect(text), "{text}");
    form
}

#[test]
fn multiplied_out_the_normal_form_is_the_target() {
    let mut dice = Dice(1);
    for (text, tokens, dims) in [
        ("x * mean(x)", 3, 1),
        ("mean((x - mean(x))^3)", 4, 1),
        ("var(x^2 - x[i])", 2, 1),
        ("[x.0 * mean(x.1), x.1 - mean(x.0 * x.1)]", 3, 2),
        ("let b = x - mean(x); mean(b * b[i]) + b^2", 3, 1),
        ("if n > 2 then sum(x) else x", 3, 1),
        // Not equivariant by their syntax, but as polynomials.
        ("x[0] * x[1] * x[2]", 3, 1),
        ("sum(x, j != i)^2", 3, 1),
        ("sum(x * x[i], j < i) + sum(x[i] * x, j > i)", 4, 1),
        ("[x[0].0 * x[1].1 + x[1].0 * x[0].1, x.0]", 2, 2),
    ] {
        assert_same(text, tokens, dims, &mut dice);
    }
}

#[test]
fn random_polynomials_keep_their_values() {
    let mut dice = Dice(20_230_226);
    let mut nested = 0;
    for round in 0..300 {
        let (tokens, dims) = (1 + round % 4, 1 + round % 2);
        let text = format!("[{}, {}]", dice.polynomial(4, dims, false, 4), dice.polynomial(3, dims, false, 3));
        let form = assert_same(&text, tokens, dims, &mut dice);
        nested += usize::from(form.sums().len() > 2);
    }
    assert!(nested > 40, "{nested} with several power sums");
}

#[test]
fn polynomials_of_entries_are_evaluated_as_they_should() {
    // Against sums and products that are written out here.
    let x = |t: usize| Polynomial::<Entry>::variable((t, 0));
    let plus = |a: &Polynomial<Entry>, b: &Polynomial<Entry>| a.plus(&Rat::ONE, b);
    let third = Polynomial::constant(Rat::new(1, 3));
    let mean = plus(&plus(&x(0), &x(1)), &x(2)).times(&third);
    let off = |t: usize| x(t).plus(&-Rat::ONE, &mean).power(2);
    let variance = plus(&plus(&off(0), &off(1)), &off(2)).times(&third);
    assert_eq!(expand(&checked("var(x)", 1), 3).expect("a polynomial"), vec![vec![variance]; 3]);
}

#[test]
fn elementary_symmetric_polynomials_follow_newton() {
    // e_3 = (E_1³ - 3 E_1 E_2 + 2 E_3)/6, and all exponents are at most n.
    let form = NormalForm::of(&checked("x[0] * x[1] * x[2]", 1), 3).expect("symmetric");
    assert_eq!(form.sums(), [vec![1], vec![2], vec![3]]);
    let newton = checked("(sum(x)^3 - 3 * sum(x) * sum(x^2) + 2 * sum(x^3)) / 6", 1);
    assert_eq!(form, NormalForm::of(&newton, 3).expect("a polynomial"));
}

#[test]
fn what_is_used_is_what_is_needed() {
    let sums = |text: &str, tokens, dims| NormalForm::of(&checked(text, dims), tokens).expect(text).sums();
    assert_eq!(sums("x * mean(x)", 64, 1), [vec![1]]);
    assert_eq!(sums("var(x)", 500, 1), [vec![1], vec![2]]);
    assert_eq!(sums("[x.0 * mean(x.1), x.1 - mean(x.0 * x.1)]", 5, 2), [vec![0, 1], vec![1, 1]]);
    assert_eq!(sums("x^7", 5, 1), Vec::<Vec<u32>>::new());
}

#[test]
fn dimensions_are_counted() {
    for tokens in 1..6 {
        for dims in 1..4_u32 {
            // Exponents 1 ≤ |α| ≤ n, one by one.
            let mut all: BTreeSet<Vec<u32>> = BTreeSet::from([vec![]]);
            for _ in 0..dims {
                let most = u32::try_from(tokens).expect("small");
                all = all.iter().flat_map(|a| (0..=most).map(move |k| [&a[..], &[k]].concat())).collect();
            }
            let kept = all.iter().filter(|a| (1..=tokens).contains(&a.iter().map(|k| *k as usize).sum())).count();
            assert_eq!(latent_dimension(tokens, dims as usize), Int::from(kept));
        }
    }
    for (tokens, dims, degree) in [(4, 1, 4), (5, 2, 3), (3, 3, 3), (9, 1, 9)] {
        let elements: BTreeSet<_> = basis(tokens, dims, degree).into_iter().collect();
        assert_eq!(Some(elements.len() as u64), basis_size(dims, dims, degree), "{dims} {degree}");
    }
    assert_eq!(basis_size(40, 40, 60), None);
}

fn refused(text: &str, tokens: usize, dims: usize) -> String {
    let error = NormalForm::of(&checked(text, dims), tokens).expect_err(text);
    assert_eq!(error.kind(), ErrorKind::Declined, "{text}");
    error.to_string()
}

#[test]
fn what_is_not_a_polynomial_is_refused_with_its_place() {
    for (text, culprit) in [
        ("x + exp(mean(x))", "exp(mean(x))"),
        ("x / (1 + sum(x))", "x / (1 + sum(x))"),
        ("mean(max(x))", "max(x)"),
        ("sort(x)", "sort(x)"),
        ("if x > 1/2 then x else 0", "if x > 1/2 then x else 0"),
        ("count(x > 1/2)", "count(x > 1/2)"),
        ("let b = abs(x); sum(b)", "abs(x)"),
    ] {
        let error = refused(text, 3, 1);
        assert!(error.contains("not a polynomial") && error.contains(&"^".repeat(culprit.len())), "{text}: {error}");
    }
    assert!(refused("x * sum(x / (n - 3))", 3, 1).contains("division by 0"));
    assert!(refused("sqrt(2) * x", 3, 1).contains("not rational"));
}

#[test]
fn what_is_not_equivariant_is_refused_with_a_witness() {
    for (text, witness) in [
        ("x[0]", "f(X)_1, and f(X)_0 with tokens 0 and 1 exchanged, differ by x[0].0 - x[1].0"),
        ("i * x", "f(X)_1"),
        ("sum(x, j <= i)", "differ by"),
        ("x + x[1] * x[2]^2", "f(X)_0 and the same with tokens 1 and 2 exchanged differ by"),
    ] {
        let error = refused(text, 3, 1);
        assert!(error.contains("not permutation-equivariant") && error.contains(witness), "{text}: {error}");
    }
}

#[test]
fn what_would_explode_is_refused_before_it_does() {
    let error = refused("sum(x.0)^40 * sum(x.1)^40", 12, 10);
    assert!(error.contains("5720645481902 power sums up to degree 80"), "{error}");
    assert!(error.contains("C(n+d, d) - 1 is 646645 for 12 tokens of 10 coordinates"), "{error}");
    // One that has to be multiplied out in all its entries.
    let error = refused("(sum(x, j <= i) + sum(x, j > i))^12", 16, 1);
    assert!(error.contains("up to 30421755 monomials"), "{error}");
    // A fit has the size of its basis.
    let fit = Continuous::of(&checked("exp(x)", 12), 8, Some(Basis::Fit(6)), &Rat::new(1, 100)).expect_err("too many");
    assert!(fit.to_string().contains("18563 power sums up to degree 6"), "{fit}");
}

#[test]
fn bases_are_read_as_they_are_written() {
    for basis in [Basis::Polynomial, Basis::Hats, Basis::Fit(4)] {
        assert_eq!(basis.to_string().parse(), Ok(basis));
    }
    for wrong in ["", "fit", "fit:", "fit:0", "fit:-1", "fit:x", "hat", "Polynomial"] {
        assert!(wrong.parse::<Basis>().is_err(), "{wrong}");
    }
}
