//! Continuous Sumformers: one attention layer, certified in the supremum norm, and measured below what is certified.

use super::support::only;
use formwright::bound::Norm;
use formwright::compile::{Arithmetic, Model, Request, Tolerance, compile};
use formwright::construct::circuit::Trade;
use formwright::construct::circuit::family::Options as Gates;
use formwright::construct::normal_form::continuous::Basis;
use formwright::construct::normal_form::fit::{Fit, distance};
use formwright::construct::normal_form::hats::Hats;
use formwright::construct::normal_form::polynomial::expand;
use formwright::construct::sumformer::family::Options;
use formwright::error::Result;
use formwright::exact::{Int, Rat};
use formwright::lower::{Format, Hidden, Temperature};
use formwright::network::{Precision, Realisation};
use formwright::target::{Checked, Domain, Expression, Source};

fn checked(text: &str, dims: usize) -> Checked {
    Expression::parse(text).and_then(|text| text.check(dims)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn sumformer(
    text: &str,
    (tokens, dims): (usize, usize),
    eps: Rat,
    basis: Option<Basis>,
    trade: Trade,
) -> Result<Model> {
    let format = Format { precision: Precision::F64, temperature: Temperature::Derived, hidden: Hidden::Literal };
    compile(&Request {
        source: Source::expression(text, text)?,
        constructions: only(Options { basis, gates: Gates { trade: Some(trade) } }),
        tokens: Some(tokens),
        dims: Some(dims),
        resolution: None,
        everywhere: false,
        assume_equivariant: false,
        tolerance: Tolerance { eps: Some(eps), norm: Some(Norm::Sup), lipschitz: None },
        arithmetic: Arithmetic::Float(format),
        attention: Realisation::SOFTMAX,
    })
}

/// Certified within the tolerance, measured within what is certified, one attention layer.
fn assert_serves(model: &Model, eps: f64) {
    let name = &model.target.name;
    let bound = model.certified().expect(name).expect(name).budget.bound;
    let measured = model.measured().expect(name).expect(name).value;
    assert!(measured <= bound && bound <= eps, "{name}: {measured} against {bound}");
    assert!(measured > bound / 20.0, "{name}: {measured} against {bound}, which says little");
    assert_eq!(model.size().attention_layers, Int::ONE, "{name}");
    assert_eq!(model.lengths(), (model.grid.tokens(), model.grid.tokens()));
    assert_eq!(model.summary().expect(name)["error"]["badge"], "certified");
}

#[test]
fn polynomials_are_certified_within_a_thousandth() {
    for (text, tokens, dims) in [
        ("x * mean(x)", 3, 1),
        ("x^2 * sum(x)", 4, 1),
        ("var(x)", 3, 1),
        ("mean((x - mean(x))^3)", 4, 1),
        ("sum(x)^2 - sum(x^2)", 3, 1),
        ("x[0] * x[1] * x[2]", 3, 1),
        ("x[0] * x[1]", 2, 1),
        ("[x.0 * mean(x.1), x.1 - mean(x.0 * x.1)]", 2, 2),
        ("mean((x[i] - x)^4) on [-1, 1]", 2, 1),
    ] {
        for trade in [Trade::Width, Trade::Depth] {
            let model = sumformer(text, (tokens, dims), Rat::new(1, 1000), None, trade).expect(text);
            assert_serves(&model, 1e-3);
        }
    }
}

#[test]
fn what_is_not_a_polynomial_is_interpolated_or_fitted() {
    for (text, tokens, basis, (eps, trade)) in [
        ("exp(-x * mean(x))", 2, None, (Rat::new(1, 100), Trade::Width)),
        ("exp(-x * mean(x))", 2, None, (Rat::new(1, 100), Trade::Depth)),
        ("x / (1 + sum(x))", 2, Some(Basis::Hats), (Rat::new(1, 100), Trade::Width)),
        ("abs(x - mean(x)) on [-1, 1]", 2, None, (Rat::new(1, 5), Trade::Width)),
        ("x / (1 + sum(x))", 3, Some(Basis::Fit(4)), (Rat::new(1, 50), Trade::Width)),
    ] {
        let near = eps.to_f64();
        let model = sumformer(text, (tokens, 1), eps, basis, trade).expect(text);
        assert_serves(&model, near);
        let error = &model.summary().expect(text)["error"];
        let term = if basis == Some(Basis::Fit(4)) { "polynomial" } else { "interpolation" };
        let names: Vec<&str> =
            error["terms"].as_array().expect(text).iter().filter_map(|t| t["name"].as_str()).collect();
        assert!(names.contains(&term), "{names:?}");
    }
}

#[test]
fn hats_interpolate() {
    let eps = Rat::new(1, 50);
    for text in ["exp(-x * mean(x))", "x / (1 + sum(x))", "abs(x - mean(x))", "x^2 * sum(x) on [-1, 2]"] {
        let target = checked(text, 1);
        let eps = if text.starts_with("abs") { Rat::new(1, 10) } else { eps.clone() };
        let hats = Hats::of(&target, 2, &eps).expect(text);
        let psi = hats.expression().expect(text);
        let (low, high) = match &target.expression().domain {
            Domain::Interval(low, high) => (low.clone(), high.clone()),
            Domain::Integers(..) => unreachable!(),
        };
        let at = |k: i64, of: i64| &low + &((&high - &low) * Rat::new(k, of));
        let cells = i64::try_from(hats.cells).expect("a few");
        let mut worst = 0.0_f64;
        for a in 0..=17 {
            for b in 0..=17 {
                let x = [vec![at(a, 17)], vec![at(b, 17)]];
                // The definition with hats, and the expression with steps.
                let found = psi.evaluate_exact(&x).expect(text);
                assert_eq!(found[0], hats.evaluate(&x[0][0], &x[1][0]), "{text}");
                assert_eq!(found[1], hats.evaluate(&x[1][0], &x[0][0]), "{text}");
                let floats: Vec<Vec<f64>> = x.iter().map(|token| vec![token[0].to_f64()]).collect();
                worst = worst.max((target.evaluate_f64(&floats)[0][0] - found[0][0].to_f64()).abs());
            }
        }
        assert!(worst <= hats.distance && worst > hats.distance / 8.0, "{text}: {worst} against {}", hats.distance);
        for a in 0..=cells {
            // At the points of the grid they agree.
            let x = [vec![at(a, cells)], vec![at(cells - a, cells)]];
            let floats: Vec<Vec<f64>> = x.iter().map(|token| vec![token[0].to_f64()]).collect();
            let off = target.evaluate_f64(&floats)[0][0] - hats.evaluate(&x[0][0], &x[1][0])[0].to_f64();
            assert!(off.abs() < 1e-12, "{text}: {off}");
        }
    }
}

#[test]
fn second_derivatives_give_the_distance_of_a_square() {
    // x²: interpolation on cells of side 1/N is off by exactly 1/(4N²) in the middle of a cell.
    let hats = Hats::of(&checked("x^2 + 0 * sum(x)", 1), 2, &Rat::new(1, 49)).expect("hats");
    assert_eq!(hats.cells, 5);
    assert!((hats.distance - 0.01).abs() < 1e-12, "{}", hats.distance);
    let middle = hats.evaluate(&Rat::new(1, 10), &Rat::ZERO);
    assert_eq!(middle[0], Rat::new(1, 100) + Rat::new(1, 100));
}

#[test]
fn the_distance_of_a_polynomial_is_bounded() {
    // |x - x³| on [0, 1] is largest at 1/√3: 2/(3√3).
    let (most, found, boxes) =
        distance(&checked("x + 0 * sum(x)", 1), &checked("x^3 + 0 * sum(x)", 1), 2).expect("bounded");
    let exact = 2.0 / (3.0 * 3.0_f64.sqrt());
    assert!(found <= exact + 1e-15 && exact <= most && most <= 1.07 * exact, "{found} {exact} {most} in {boxes} boxes");
    // A polynomial of the basis is found again, up to the digits of its coefficients.
    let target = checked("x * mean(x) - x^2 * sum(x^2) / 2", 1);
    let fit = Fit::of(&target, 3, 4, &Rat::new(1, 1000)).expect("a fit");
    assert!(fit.proved && fit.distance < 1e-3, "{}", fit.distance);
    let exact = expand(&target, 3).expect("a polynomial").swap_remove(0).swap_remove(0);
    let off = fit.form.multiplied_out(0)[0].plus(&-Rat::ONE, &exact);
    assert!(off.terms().all(|(_, coefficient)| coefficient.abs() < Rat::new(1, 100_000)), "{off:?}");
}

#[test]
fn what_is_only_measured_says_so() {
    // Six tokens are too many for the boxes.
    let (text, eps) = ("exp(-sum(x)) * x", Rat::new(1, 40));
    let model = sumformer(text, (6, 1), eps, Some(Basis::Fit(4)), Trade::Width).expect(text);
    let error = &model.summary().expect(text)["error"];
    assert_eq!(error["badge"], "measured", "{error:#}");
    let assumptions = error["assumptions"].as_array().expect("a list");
    assert!(assumptions.iter().any(|text| text.as_str().is_some_and(|text| text.contains("centres of"))), "{error:#}");
    assert!(error["measured"]["value"].as_f64() <= error["bound"].as_f64(), "{error:#}");
}

#[test]
fn what_cannot_be_had_is_refused() {
    let eps = || Rat::new(1, 100);
    let refused = |text: &str, shape, eps, basis| match sumformer(text, shape, eps, basis, Trade::Width) {
        Ok(_) => panic!("{text} was not refused"),
        Err(error) => error.to_string(),
    };
    let error = refused("exp(-x * mean(x))", (3, 1), eps(), None);
    assert!(error.contains("not a polynomial") && error.contains("basis=fit:4"), "{error}");
    let error = refused("exp(-x * mean(x))", (3, 1), eps(), Some(Basis::Hats));
    assert!(error.contains("two tokens of one coordinate"), "{error}");
    let error = refused("abs(x - mean(x))", (2, 1), eps(), None);
    assert!(error.contains("is not reached by 48 cells"), "{error}");
    let error = refused("x[0]", (2, 1), eps(), None);
    assert!(error.contains("not permutation-equivariant"), "{error}");
    let error = refused("abs(x - mean(x))", (3, 1), eps(), Some(Basis::Fit(2)));
    assert!(error.contains("ψ itself is"), "{error}");
    let error = refused("exp(x[0])", (2, 1), eps(), Some(Basis::Fit(2)));
    assert!(error.contains("equivariance is not shown"), "{error}");
}
