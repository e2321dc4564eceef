//! exp, log, tanh, sin, cos against `dashu-float` at 128 bits, rounded down and rounded up.

use dashu_float::math::FpResult;
use dashu_float::round::mode::{Down, Up};
use dashu_float::{Context, FBig, Repr};
use formwright::interval::Interval;

use crate::random::Random;

const PRECISION: usize = 128;

type Reals = (FBig<Down>, FBig<Up>);
type Reference = fn(&Repr<2>) -> Reals;
/// A name, our function, the reference.
type Function = (&'static str, fn(Interval) -> Interval, Reference);

fn value<T>(result: FpResult<T>) -> T {
    result.expect("inside the domain").value()
}

/// The reference's enclosure, by name of a method of its contexts.
macro_rules! reference {
    ($function:ident) => {
        |x| {
            let down = Context::<Down>::new(PRECISION).$function(x, None);
            let up = Context::<Up>::new(PRECISION).$function(x, None);
            (value(down), value(up))
        }
    };
}

/// A float as an exact number.
fn exact<R: dashu_float::round::Round>(x: f64) -> FBig<R> {
    FBig::try_from(x).expect("a finite float")
}

fn encloses(interval: Interval, (down, up): &Reals) -> bool {
    (interval.lo().is_infinite() || exact::<Down>(interval.lo()) <= *down)
        && (interval.hi().is_infinite() || *up <= exact::<Up>(interval.hi()))
}

/// The number of floats between the endpoints.
fn floats_wide(x: Interval) -> u64 {
    let place = |y: f64| {
        let magnitude = i64::try_from(y.abs().to_bits()).expect("no sign bit");
        if y < 0.0 { -magnitude } else { magnitude }
    };
    place(x.hi()).abs_diff(place(x.lo()))
}

/// An argument for `name` between floats of its domain, at every scale.
fn argument(random: &mut Random, name: &str) -> f64 {
    match (name, random.below(4)) {
        ("exp", 0 | 1) => 1460.0 * random.unit() - 748.0,
        ("exp", 2) => random.float_between(-60, 9),
        ("log", 0) => (1.0 + random.float_between(-52, -1)).abs(),
        ("log", 1 | 2) => random.float().abs().max(f64::from_bits(1)),
        ("log", _) => 100.0 * random.unit() + f64::MIN_POSITIVE,
        ("tanh", 0) => 40.0 * random.unit() - 20.0,
        ("sin" | "cos", 0) => quarter_turns(random),
        ("sin" | "cos", 1) => 20.0 * random.unit() - 10.0,
        ("sin" | "cos", 2) if random.below(4) == 0 => random.float_between(60, 1023),
        ("sin" | "cos", 2) => random.float_between(-30, 60),
        _ => random.float_between(-80, 10),
    }
}

/// A float next to a multiple of π/2, where a wave has its extrema and its zeros.
fn quarter_turns(random: &mut Random) -> f64 {
    let bits = 1 + random.below(24);
    let turns = f64::from(u32::try_from(random.below(1 << bits)).expect("small"));
    let x = turns * std::f64::consts::FRAC_PI_2;
    (0..random.below(4)).fold(x, |x, _| x.next_up())
}

/// An interval with a given member: a few floats wide, or as wide as a random float.
fn around(random: &mut Random, name: &str, x: f64) -> Interval {
    let mut end = |sign: f64| match random.below(4) {
        0 => x,
        1 => x + sign * x.abs() * f64::EPSILON * random.unit() * 4.0,
        2 => x + sign * random.float_between(-20, 3).abs(),
        _ => x + sign * x.abs() * random.unit(),
    };
    let (lo, hi) = (end(-1.0), end(1.0));
    let lo = if name == "log" && lo <= 0.0 { x } else { lo };
    Interval::new(lo.max(f64::MIN), hi.min(f64::MAX)).expect("around a float")
}

pub fn check(random: &mut Random, points: usize) {
    println!("| function | points inside | floats wide at a point, at most | ±1 claimed, rightly |");
    println!("|---|---|---|---|");
    let functions: [Function; 5] = [
        ("exp", Interval::exp, reference!(exp)),
        ("log", |x| x.log().expect("above 0"), reference!(ln)),
        ("tanh", Interval::tanh, reference!(tanh)),
        ("sin", Interval::sin, reference!(sin)),
        ("cos", Interval::cos, reference!(cos)),
    ];
    for (name, ours, reference) in functions {
        let (mut widest, mut extrema) = (0, 0_usize);
        for _ in 0..points {
            let x = argument(random, name);
            let truth = reference(exact::<Down>(x).repr());
            let at = ours(Interval::point(x));
            assert!(encloses(at, &truth), "{name} at {x:?} is {truth:?}, not in {at}");
            widest = widest.max(floats_wide(at));
            assert!(widest <= 4, "{name} at {x:?} is {at}, more than two floats wide on a side");
            let interval = around(random, name, x);
            let image = ours(interval);
            assert!(encloses(image, &truth), "{name} at {x:?} is {truth:?}, not in {image} for {interval}");
            if matches!(name, "sin" | "cos") && interval.lo() < interval.hi() && interval.mag() < 1e6 {
                extrema += usize::from(extremum_is_real(name, interval, image));
            }
        }
        println!("| {name} | {points} | {widest} | {extrema} |");
    }
}

/// True if a claim of a value ±1 is justified: if `image` claims one, the wave's phase must pass an extremum of this
/// sign within the interval, or an endpoint must be so near to one that its value is ±1 to 10⁻¹⁵.
fn extremum_is_real(name: &str, interval: Interval, image: Interval) -> bool {
    let context = Context::<Down>::new(PRECISION);
    let quarter: FBig<Down> = context.pi::<2>(None).value() / FBig::<Down>::from(2);
    let claims = [(1.0, image.hi()), (-1.0, image.lo())];
    let mut claimed = false;
    for (sign, end) in claims {
        if end * sign < 1.0 {
            continue;
        }
        claimed = true;
        // In quarter turns after a maximum (or minimum): an integer multiple of 4 must lie between the two phases.
        let offset = f64::from(u8::from(name == "sin")) + if sign < 0.0 { 2.0 } else { 0.0 };
        let phase = |x: f64| {
            (exact::<Down>(x).with_precision(PRECISION).value() / &quarter - exact::<Down>(offset))
                / FBig::<Down>::from(4)
        };
        let (first, last) = (phase(interval.lo()).ceil(), phase(interval.hi()).floor());
        let near = |x: f64| {
            let y = if name == "sin" { Interval::point(x).sin() } else { Interval::point(x).cos() };
            sign * y.mid() > 1.0 - 1e-15
        };
        assert!(
            first <= last || near(interval.lo()) || near(interval.hi()),
            "{name} of {interval} is not {sign}: {image}"
        );
    }
    claimed
}
