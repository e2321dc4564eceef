//! Every operation that is rational, on exact members of the operands.

use dashu_ratio::RBig;
use formwright::exact::Rat;
use formwright::interval::Interval;

use crate::random::Random;

fn exact(x: f64) -> RBig {
    RBig::try_from(x).expect("a finite float")
}

/// The same number in the compiler's own type, by way of its text.
fn rat(x: &RBig) -> Rat {
    x.to_string().parse().expect("a fraction")
}

fn encloses(interval: Interval, x: &RBig) -> bool {
    (interval.lo().is_infinite() || exact(interval.lo()) <= *x)
        && (interval.hi().is_infinite() || *x <= exact(interval.hi()))
}

/// An endpoint, a float inside, or a fraction inside that is not a float.
fn member(random: &mut Random, x: Interval) -> RBig {
    let (lo, hi) = (exact(x.lo()), exact(x.hi()));
    match random.below(4) {
        0 => lo,
        1 => hi,
        _ => {
            let parts = 1 + random.below(1 << 20);
            let part = random.below(parts + 1);
            &lo + (&hi - &lo) * RBig::from_parts(part.into(), parts.into())
        }
    }
}

pub fn check(random: &mut Random, operations: usize) {
    println!("| operation | exact results inside |\n|---|---|");
    let names = [
        "+",
        "−",
        "×",
        "÷",
        "√",
        "neg",
        "abs",
        "sqr",
        "powi",
        "recip",
        "min",
        "max",
        "relu",
        "clamp",
        "floor",
        "hull",
        "intersect",
        "from a rational",
    ];
    let mut counts = [0_usize; 18];
    while counts.iter().sum::<usize>() < operations {
        let (x, y) = (random.bounded_interval(), random.bounded_interval());
        let (p, q) = (member(random, x), member(random, y));
        let k = random.index(names.len());
        let absolute = |r: &RBig| if *r < RBig::ZERO { -r } else { r.clone() };
        let (result, value) = match names[k] {
            "+" => (x + y, &p + &q),
            "−" => (x - y, &p - &q),
            "×" => (x * y, &p * &q),
            "÷" => match x.checked_div(y) {
                Ok(result) => (result, &p / &q),
                Err(_) => continue,
            },
            "√" => match x.sqrt() {
                Ok(root) => {
                    let squared = |end: f64| if end.is_infinite() { None } else { Some(exact(end) * exact(end)) };
                    assert!(squared(root.lo()).is_some_and(|square| square <= p), "√{x} is {root}, which lacks √{p}");
                    assert!(squared(root.hi()).is_none_or(|square| square >= p), "√{x} is {root}, which lacks √{p}");
                    counts[k] += 1;
                    continue;
                }
                Err(_) => continue,
            },
            "neg" => (-x, -&p),
            "abs" => (x.abs(), absolute(&p)),
            "sqr" => (x.sqr(), &p * &p),
            "powi" => {
                let n = u8::try_from(random.below(8)).expect("small");
                (x.powi(n.into()), p.pow(n.into()))
            }
            "recip" => match y.recip() {
                Ok(result) => (result, RBig::ONE / &q),
                Err(_) => continue,
            },
            "min" => (x.min(y), p.clone().min(q.clone())),
            "max" => (x.max(y), p.clone().max(q.clone())),
            "relu" => (x.relu(), p.clone().max(RBig::ZERO)),
            "clamp" => {
                let z = random.bounded_interval();
                let r = member(random, z);
                (x.clamp(y, z), p.clone().max(q.clone()).min(r))
            }
            "floor" => (x.floor(), p.floor().into()),
            "hull" => (x.hull(y), p.clone()),
            "intersect" => match x.intersect(y) {
                Some(common) if encloses(y, &p) => (common, p.clone()),
                None if encloses(y, &p) => panic!("{x} ∩ {y} has {p}"),
                _ => continue,
            },
            _ => (Interval::from(&rat(&p)), p.clone()),
        };
        assert!(encloses(result, &value), "{} of {x} and {y} is {result}, which lacks {value}", names[k]);
        counts[k] += 1;
    }
    for (name, count) in names.iter().zip(counts) {
        println!("| {name} | {count} |");
    }
    println!("| all | {} |\n", counts.iter().sum::<usize>());
}
