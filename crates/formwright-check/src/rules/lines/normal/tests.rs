//! Expressions that have the same normal form, and others that must not.

#![allow(clippy::unwrap_used)]

use super::{Polynomial, Things};
use crate::kernel::function::{Binary, Call};
use crate::kernel::number::Ratio;

fn scaled(p: &Polynomial, by: &Ratio) -> Polynomial {
    Things::plus(&Polynomial::new(), by, p).unwrap()
}

fn half() -> Ratio {
    Ratio::rational("1/2").unwrap()
}

#[test]
fn whole_multiples_of_logarithms_are_powers() {
    let mut things = Things::default();
    let x = things.input(0);
    let log = things.call(Call::Log, &x).unwrap();
    let exp = |things: &mut Things, by: &Ratio| things.call(Call::Exp, &scaled(&log, by)).unwrap();
    assert_eq!(exp(&mut things, &Ratio::ONE), x);
    let x_squared = things.power(&x, 2).unwrap();
    assert_eq!(exp(&mut things, &Ratio::whole(2)), x_squared);
    let inverse = exp(&mut things, &Ratio::ONE.negative());
    assert_eq!(inverse, things.reciprocal(&x).unwrap());
    assert_ne!(exp(&mut things, &half()), x);
    // e^(log x + y) = x e^y.
    let y = things.input(1);
    let both = things.call(Call::Exp, &Things::plus(&log, &Ratio::ONE, &y).unwrap()).unwrap();
    let alone = things.call(Call::Exp, &y).unwrap();
    assert_eq!(both, Things::times(&x, &alone).unwrap());
    // The square of a logarithm is no multiple of it.
    let log_squared = things.power(&log, 2).unwrap();
    let square = things.call(Call::Exp, &log_squared).unwrap();
    assert_ne!(square, x_squared);
}

#[test]
fn positive_factors_leave_the_largest_and_negative_ones_do_not() {
    let mut things = Things::default();
    let (x, y) = (things.token(0, 0), things.token(1, 0));
    let mut largest = |scale: &Ratio, shift: &Ratio| {
        let of = |p: &Polynomial| Things::plus(&Things::constant(shift.clone()), scale, p).unwrap();
        things.largest(&[&of(&x), &of(&y)]).unwrap()
    };
    let (zero, one) = (Ratio::ZERO, Ratio::ONE);
    let plain = largest(&one, &zero);
    let moved = Things::plus(&Things::constant(one.clone()), &half(), &plain).unwrap();
    assert_eq!(largest(&half(), &one), moved);
    assert_ne!(largest(&one.negative(), &zero), scaled(&plain, &one.negative()));
    // Of one number it is that, however often it stands there.
    assert_eq!(things.largest(&[&x, &x]).unwrap(), x);
    assert_ne!(things.largest(&[&x, &y]).unwrap(), x);
}

#[test]
fn the_largest_of_all_tokens_is_none_of_them() {
    let mut things = Things::default();
    let x = things.input(0);
    let largest = things.largest_of_all(&x).unwrap();
    assert_ne!(largest, x);
    let turned = things.largest_of_all(&scaled(&x, &Ratio::ONE.negative())).unwrap();
    assert_ne!(scaled(&turned, &Ratio::ONE.negative()), largest);
    // What is the same for all is its own largest value, and the mean of it.
    assert_eq!(things.largest_of_all(&largest).unwrap(), largest);
    assert_eq!(things.mean(&largest).unwrap(), largest);
    // The largest of x + y is not that of x and that of y.
    let y = things.input(1);
    let sum = things.largest_of_all(&Things::plus(&x, &Ratio::ONE, &y).unwrap()).unwrap();
    let other = things.largest_of_all(&y).unwrap();
    assert_ne!(sum, Things::plus(&largest, &Ratio::ONE, &other).unwrap());
}

#[test]
fn a_maximum_of_two_is_a_sum_of_relus() {
    let mut things = Things::default();
    let (x, y) = (things.input(0), things.input(1));
    let max = things.binary(Binary::Max, &x, &y).unwrap();
    let min = things.binary(Binary::Min, &x, &y).unwrap();
    let sum = Things::plus(&x, &Ratio::ONE, &y).unwrap();
    assert_eq!(Things::plus(&max, &Ratio::ONE, &min).unwrap(), sum);
    assert_ne!(max, min);
}

/// Things of tokens from -1 to 2.
fn whole() -> Things {
    Things::over(Some((-1, 2)), Some(3))
}

fn signed(k: i64) -> Ratio {
    super::whole::ratio(k)
}

#[test]
fn functions_of_a_whole_number_are_compared_point_by_point() {
    let mut things = whole();
    let x = things.input(0);
    // x² by multiplication, and by its values.
    let square = things.product(&x, &x).unwrap();
    let listed = things.points(&x, |x| Some(x.times(x))).unwrap().unwrap();
    assert_eq!(square, listed);
    // x³ = 2x² + x - 2 where x is -1, 1 or 2, and not at 0.
    let cube = things.power(&x, 3).unwrap();
    let twice = Things::plus(&x, &Ratio::whole(2), &square).unwrap();
    let near = Things::plus(&twice, &Ratio::whole(2).negative(), &Things::constant(Ratio::ONE)).unwrap();
    assert_ne!(cube, near);
    // |x| = R(x) + R(-x); max and min are what they are.
    let minus = scaled(&x, &Ratio::ONE.negative());
    let abs = things.call(Call::Abs, &x).unwrap();
    let (up, down) = (things.call(Call::Relu, &x).unwrap(), things.call(Call::Relu, &minus).unwrap());
    assert_eq!(abs, Things::plus(&up, &Ratio::ONE, &down).unwrap());
    // A value that is missing; and numbers that are not whole.
    assert!(things.points(&x, |x| (!x.is_zero()).then_some(Ratio::ONE)).is_err());
    let mut real = Things::default();
    let y = real.input(0);
    assert!(real.points(&y, |y| Some(y.clone())).unwrap().is_none());
}

#[test]
fn functions_of_two_whole_numbers_are_sums_of_products() {
    let mut things = whole();
    let (x, y) = (things.token(0, 0), things.token(1, 0));
    let apart = Things::plus(&x, &Ratio::ONE.negative(), &y).unwrap();
    let indicated = |holds: bool| Some(if holds { Ratio::ONE } else { Ratio::ZERO });
    let equal = things.points(&apart, |x| indicated(x.is_zero())).unwrap().unwrap();
    let mut sum = Polynomial::new();
    for k in -1..=2 {
        let of_x = things.points(&x, |x| indicated(*x == signed(k))).unwrap().unwrap();
        let of_y = things.points(&y, |x| indicated(*x == signed(k))).unwrap().unwrap();
        sum = Things::plus(&sum, &Ratio::ONE, &things.product(&of_x, &of_y).unwrap()).unwrap();
        // Without one of the cases it is something else.
        assert_eq!(sum == equal, k == 2);
    }
    assert_eq!(things.integers(&equal), Some((0, 1)));
}

#[test]
fn bounds_hold_and_are_met_where_bases_are_few() {
    let mut things = whole();
    let tokens: Vec<Polynomial> = (0..3).map(|t| things.token(t, 0)).collect();
    let square = |things: &mut Things, p: &Polynomial| things.product(p, p).unwrap();
    let mut sum = Polynomial::new();
    for token in &tokens {
        sum = Things::plus(&sum, &Ratio::ONE, &square(&mut things, token)).unwrap();
    }
    assert_eq!(things.integers(&sum), Some((0, 12)));
    // Functions of a sum of three, whose values are those of all sequences.
    let all: Vec<&Polynomial> = tokens.iter().collect();
    let total = Things::sum(&all).unwrap();
    assert_eq!(things.integers(&total), Some((-3, 6)));
    let odd = things.points(&total, |x| x.modulo(&Ratio::whole(2))).unwrap().unwrap();
    assert_eq!(things.integers(&odd), Some((0, 1)));
    let other = things.points(&total, |x| x.modulo(&Ratio::whole(3))).unwrap().unwrap();
    assert_ne!(odd, other);
    // Half of a sum is not whole, and a mean times the number of tokens is.
    assert_eq!(things.integers(&scaled(&total, &half())), None);
    let mut averaged = whole();
    let x = averaged.input(0);
    let mean = averaged.mean(&x).unwrap();
    assert_eq!(averaged.integers(&mean), None);
    assert_eq!(averaged.integers(&scaled(&mean, &Ratio::whole(3))), Some((-3, 6)));
    // A square of a mean, times the number of tokens, is not whole.
    let square = averaged.product(&mean, &mean).unwrap();
    assert_eq!(averaged.integers(&scaled(&square, &Ratio::whole(3))), None);
    // Of any number of tokens nothing is known.
    let mut any = Things::over(Some((-1, 2)), None);
    let x = any.input(0);
    let mean = any.mean(&x).unwrap();
    assert_eq!(any.integers(&scaled(&mean, &Ratio::whole(3))), None);
}

#[test]
fn what_is_counted_of_pairs_is_counted_by_value() {
    let mut things = whole();
    let x = things.input(0);
    let own = things.outer(&x).unwrap();
    let apart = Things::plus(&x, &Ratio::ONE.negative(), &own).unwrap();
    let indicated = |holds: bool| Some(if holds { Ratio::ONE } else { Ratio::ZERO });
    let equal = things.points(&apart, |x| indicated(x.is_zero())).unwrap().unwrap();
    let count = scaled(&things.mean(&equal).unwrap(), &Ratio::whole(3));
    let mut sum = Polynomial::new();
    for k in -1..=2 {
        let is_k = things.points(&x, |x| indicated(*x == signed(k))).unwrap().unwrap();
        let of_all = scaled(&things.mean(&is_k).unwrap(), &Ratio::whole(3));
        sum = Things::plus(&sum, &Ratio::ONE, &things.product(&is_k, &of_all).unwrap()).unwrap();
    }
    assert_eq!(count, sum);
    assert_eq!(things.integers(&count), Some((0, 3)));
}
