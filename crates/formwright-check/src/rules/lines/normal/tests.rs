//! What has the same normal form, and what must not.

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
