//! `+ − × ÷ √` against `inari`, which computes them in the processor's directed rounding modes.

use formwright::interval::{Interval, Refusal};

use crate::random::Random;

/// The two endpoints without the sign of a zero, which `inari` sets by its own convention.
fn bits(lo: f64, hi: f64) -> (u64, u64) {
    ((lo + 0.0).to_bits(), (hi + 0.0).to_bits())
}

fn theirs(x: Interval) -> inari::Interval {
    inari::interval!(x.lo(), x.hi()).expect("endpoints in order")
}

/// Asserts that both answers have the same bits.
fn agree(name: &str, x: Interval, y: Interval, ours: Interval, reference: inari::Interval) {
    assert_eq!(
        bits(ours.lo(), ours.hi()),
        bits(reference.inf(), reference.sup()),
        "{x} {name} {y}: ours {ours}, inari [{:?}, {:?}]",
        reference.inf(),
        reference.sup()
    );
}

/// A count of the kinds of pairs: the table shows that the awkward cases occurred.
#[derive(Default)]
struct Tally {
    compared: usize,
    refused: usize,
    unbounded: usize,
    subnormal: usize,
}

impl Tally {
    fn count(&mut self, result: Interval) {
        self.compared += 1;
        self.unbounded += usize::from(!result.is_bounded());
        self.subnormal += usize::from(result.lo().is_subnormal() || result.hi().is_subnormal());
    }
}

pub fn check(random: &mut Random, pairs: usize) {
    println!("| operation | bit-equal to inari | refused, rightly | with an infinite end | with a subnormal end |");
    println!("|---|---|---|---|---|");
    let operations: [(&str, Operation); 5] = [
        ("+", |x, y| (Ok(x + y), theirs(x) + theirs(y))),
        ("−", |x, y| (Ok(x - y), theirs(x) - theirs(y))),
        ("×", |x, y| (Ok(x * y), theirs(x) * theirs(y))),
        ("÷", |x, y| (x.checked_div(y), theirs(x) / theirs(y))),
        ("√ of", |_, y| (y.sqrt(), theirs(y).sqrt())),
    ];
    for (name, operation) in operations {
        let mut tally = Tally::default();
        while tally.compared < pairs {
            let (x, y) = random.pair();
            match operation(x, y) {
                (Ok(ours), reference) => {
                    agree(name, x, y, ours, reference);
                    tally.count(ours);
                }
                (Err(Refusal::Divisor(divisor)), _) => {
                    assert!(theirs(divisor).contains(0.0), "{x} {name} {y} refused");
                    tally.refused += 1;
                }
                (Err(refusal), _) => {
                    assert!(matches!(refusal, Refusal::Root(_)) && theirs(y).inf() < 0.0, "{name} {y}: {refusal}");
                    tally.refused += 1;
                }
            }
        }
        let Tally { compared, refused, unbounded, subnormal } = tally;
        println!("| {name} | {compared} | {refused} | {unbounded} | {subnormal} |");
    }
    println!();
}

/// Our answer and the reference's.
type Operation = fn(Interval, Interval) -> (Result<Interval, Refusal>, inari::Interval);
