//! Bose and Chowla: discrete logarithms in `GF(q^n)`, `q ≥ D` prime.
//!
//! `θ` generates the multiplicative group; `θ + a`, `a ∈ GF(q)`, are `q` of its powers, `θ + a = θ^{φ(a)}`. If the
//! `φ(a_k)` have the same sum as the `φ(b_k)`, then `Π(θ + a_k) = Π(θ + b_k)`: the difference of two monic polynomials
//! of degree `n`, a polynomial of degree below `n` in `θ`, is 0, so it is 0 altogether and the `a_k` are the `b_k` up
//! to order. All `φ(a) < q^n - 1`: `n log2 q` bits, the fewest possible up to `log2 n!`.
//!
//! Elements are polynomials in `θ` of degree below `n`, `θ = X` modulo a monic polynomial under which `X` has the order
//! `q^n - 1` (tested by the prime factors of `q^n - 1`). Then the powers of `X` are `q^n - 1` different elements that
//! are not 0, all of them have an inverse, and the polynomial is irreducible. The first such polynomial in
//! lexicographic order is taken. Most polynomials fail at their constant term and need no other test: the norm of a
//! generator, `θ^{(q^n-1)/(q-1)}`, generates `GF(q)*`, and it is the constant term up to sign. Then `θ, θ², …` are
//! walked until `D` of the `θ + a` have been met: the codes are found in increasing order, from `θ = θ^1` on.

use crate::error::{Error, Result};
use crate::exact::Int;

/// The most steps of a walk, about a second. Ids in double precision, below `n·q^{2n}`, take at most `2^26`.
const MOST_STEPS: u64 = 1 << 27;

/// The field to use: the one that was named, if it is prime, else the next prime; by default the smallest that has
/// room.
pub(super) fn field(asked: Option<u64>, ids: u64) -> Result<u64> {
    if let Some(q) = asked {
        if q < ids {
            return Err(Error::input(format!(
                "the field of bose-chowla has {q} elements, but the grid has {ids} columns"
            ))
            .note("reason", "every column has an element of the field of its own")
            .note("try", format!("⟨code=bose-chowla:{}⟩, or ⟨code=bose-chowla⟩", next_prime(ids))));
        }
        if q > MOST_STEPS {
            return Err(too_large(q, 1));
        }
    }
    Ok(next_prime(asked.unwrap_or(ids)))
}

fn too_large(q: u64, tokens: usize) -> Error {
    // A number of hundreds of digits says no more than its formula.
    let steps = Some(Int::from(q).pow(tokens)).filter(|steps| steps.bits() <= 128);
    let steps = steps.map(|steps| format!(" = {steps}")).unwrap_or_default();
    Error::declined(format!("the codes would take a walk through {q}^{tokens}{steps} powers"))
        .note(
            "reason",
            "Bose and Chowla's codes are logarithms, and are found by listing the powers of a generator of GF(q^n)",
        )
        .note("limit", MOST_STEPS.to_string())
        .note("try", "a coarser ⟨resolution⟩ or fewer ⟨tokens⟩, or ⟨code=histogram⟩")
}

fn next_prime(from: u64) -> u64 {
    let mut prime = from.max(2);
    // There is a prime below twice the number.
    while prime_factors(prime) != [prime] {
        prime += 1;
    }
    prime
}

/// The distinct prime factors, increasing.
fn prime_factors(mut number: u64) -> Vec<u64> {
    let mut factors = Vec::new();
    let mut divisor = 2;
    while divisor * divisor <= number {
        if number.is_multiple_of(divisor) {
            factors.push(divisor);
            while number.is_multiple_of(divisor) {
                number /= divisor;
            }
        }
        divisor += 1;
    }
    if number > 1 {
        factors.push(number);
    }
    factors
}

/// `base^exponent` modulo `q`, which is below 2^32.
fn power(base: u64, mut exponent: u64, q: u64) -> u64 {
    let (mut result, mut square) = (1 % q, base % q);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * square % q;
        }
        square = square * square % q;
        exponent >>= 1;
    }
    result
}

/// The codes; `None` if one is above `most`: they are found in increasing order, and if they have to fit a format, the
/// walk need not go on.
pub(super) fn codes(tokens: usize, ids: u64, q: u64, most: u64) -> Result<Option<Vec<Int>>> {
    let Some(size) = Int::from(q).pow(tokens).to_u64().filter(|size| *size <= MOST_STEPS) else {
        return Err(too_large(q, tokens));
    };
    let ring = Ring::primitive(q, tokens, size - 1)
        .ok_or_else(|| Error::declined(format!("GF({q}^{tokens}) has no generator")).note("try", "⟨code=histogram⟩"))?;
    let ids = usize::try_from(ids).unwrap_or(usize::MAX);
    let (mut codes, mut power) = (Vec::new(), ring.theta());
    for exponent in 1..=(size - 2).min(most) {
        // θ + a
        if power[1] == 1 && power[2..].iter().all(|coefficient| *coefficient == 0) {
            codes.push(Int::from(exponent));
            if codes.len() == ids {
                break;
            }
        }
        ring.times_theta(&mut power);
    }
    Ok((codes.len() == ids).then_some(codes))
}

/// Polynomials of degree below `n` over `GF(q)`, modulo `X^n = Σ_k reduction_k X^k`.
struct Ring {
    q: u64,
    reduction: Vec<u64>,
}

impl Ring {
    /// The first ring in which `X` has this order, `q^n - 1`.
    fn primitive(q: u64, n: usize, order: u64) -> Option<Self> {
        let factors = prime_factors(order);
        (1..q).filter(|constant| Self::norm_generates(q, n, *constant)).find_map(|constant| {
            let mut reduction = vec![0; n];
            reduction[0] = constant;
            Self::primitive_from(q, reduction, order, &factors)
        })
    }

    /// True if the norm of `X`, `(-1)^{n+1}` times the constant of its reduction, generates `GF(q)*`.
    fn norm_generates(q: u64, n: usize, constant: u64) -> bool {
        let norm = if n.is_multiple_of(2) { q - constant } else { constant };
        prime_factors(q - 1).into_iter().all(|p| power(norm, (q - 1) / p, q) != 1)
    }

    /// The first ring whose reduction has this constant.
    fn primitive_from(q: u64, mut reduction: Vec<u64>, order: u64, factors: &[u64]) -> Option<Self> {
        let n = reduction.len();
        loop {
            let ring = Self { q, reduction: reduction.clone() };
            let is_one = |element: &[u64]| element[0] == 1 && element[1..].iter().all(|c| *c == 0);
            let generates = || factors.iter().all(|p| !is_one(&ring.theta_to(order / p)));
            if is_one(&ring.theta_to(order)) && generates() {
                return Some(ring);
            }
            // The next reduction, by its last coefficients first.
            let place = (1..n).rfind(|&k| reduction[k] + 1 < q)?;
            reduction[place] += 1;
            reduction[place + 1..].fill(0);
        }
    }

    fn theta(&self) -> Vec<u64> {
        let mut theta = vec![0; self.reduction.len()];
        theta[1] = 1;
        theta
    }

    fn times_theta(&self, element: &mut [u64]) {
        let n = element.len();
        let top = element[n - 1];
        element.copy_within(0..n - 1, 1);
        element[0] = 0;
        if top > 0 {
            for (coefficient, reduced) in element.iter_mut().zip(&self.reduction) {
                *coefficient = (*coefficient + top * reduced) % self.q;
            }
        }
    }

    fn times(&self, a: &[u64], b: &[u64]) -> Vec<u64> {
        // Horner: a_0 b + X(a_1 b + X(…)).
        let mut product = vec![0; a.len()];
        for factor in a.iter().rev() {
            self.times_theta(&mut product);
            for (sum, coefficient) in product.iter_mut().zip(b) {
                *sum = (*sum + factor * coefficient) % self.q;
            }
        }
        product
    }

    fn theta_to(&self, mut exponent: u64) -> Vec<u64> {
        let mut result = vec![0; self.reduction.len()];
        result[0] = 1;
        let mut square = self.theta();
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = self.times(&result, &square);
            }
            square = self.times(&square, &square);
            exponent >>= 1;
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The remainder of a polynomial, lowest coefficient first, by a monic one: long division, which shares no code
    /// with the ring.
    fn remainder(mut dividend: Vec<u64>, monic: &[u64], q: u64) -> Vec<u64> {
        let degree = monic.len() - 1;
        while dividend.len() > degree {
            let top = dividend.pop().expect("a coefficient");
            let shift = dividend.len() - degree;
            for (k, c) in monic[..degree].iter().enumerate() {
                let place = &mut dividend[shift + k];
                *place = (*place + q * q - top * c % q) % q;
            }
        }
        dividend.resize(degree, 0);
        dividend
    }

    fn product(a: &[u64], b: &[u64], q: u64) -> Vec<u64> {
        let mut product = vec![0; a.len() + b.len() - 1];
        for (i, x) in a.iter().enumerate() {
            for (j, y) in b.iter().enumerate() {
                product[i + j] = (product[i + j] + x * y) % q;
            }
        }
        product
    }

    /// Every prime up to 31, with all logarithms: `θ^code = θ + a`, each `a` once, in a ring without zero divisors.
    #[test]
    fn codes_are_logarithms_in_a_field() {
        for q in [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31_u64] {
            for n in 2..=4 {
                let order = q.pow(u32::try_from(n).expect("few")) - 1;
                let ring = Ring::primitive(q, n, order).expect("a generator");
                // X^n - Σ reduction_k X^k
                let monic: Vec<u64> = ring.reduction.iter().map(|c| (q - c) % q).chain([1]).collect();
                // Irreducible: no monic polynomial of degree 1 to n/2 divides it.
                for degree in 1..=n / 2 {
                    for code in 0..q.pow(u32::try_from(degree).expect("few")) {
                        let divisor: Vec<u64> =
                            (0..degree).map(|k| code / q.pow(u32::try_from(k).expect("few")) % q).chain([1]).collect();
                        assert!(remainder(monic.clone(), &divisor, q).iter().any(|c| *c != 0), "{q}^{n}: {divisor:?}");
                    }
                }
                let found = codes(n, q, q, u64::MAX).expect("a field").expect("codes");
                assert_eq!(found.len() as u64, q, "{q}^{n}");
                let mut seen: Vec<u64> = found
                    .iter()
                    .map(|code| {
                        let mut exponent = code.to_u64().expect("small");
                        let (mut power, mut square) = (vec![1], vec![0, 1]);
                        while exponent > 0 {
                            if exponent % 2 == 1 {
                                power = remainder(product(&power, &square, q), &monic, q);
                            }
                            square = remainder(product(&square, &square, q), &monic, q);
                            exponent /= 2;
                        }
                        assert_eq!(power[1], 1, "{q}^{n}: θ^{code} is {power:?}");
                        assert!(power[2..].iter().all(|c| *c == 0));
                        power[0]
                    })
                    .collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..q).collect::<Vec<_>>(), "{q}^{n}");
            }
        }
    }

    #[test]
    fn the_generator_runs_through_every_element() {
        for (q, n) in [(2, 2), (3, 2), (31, 2), (5, 3), (31, 3), (7, 4), (13, 4)] {
            let order = usize::try_from(q).expect("small").pow(u32::try_from(n).expect("few")) - 1;
            let ring = Ring::primitive(q, n, order as u64).expect("a generator");
            let (mut seen, mut power) = (std::collections::HashSet::new(), ring.theta());
            while seen.insert(power.clone()) {
                ring.times_theta(&mut power);
            }
            assert_eq!(seen.len(), order, "{q}^{n}");
        }
    }

    /// Testing the norm first changes nothing: every polynomial, in the same order, by brute force over the powers of
    /// `X`.
    #[test]
    fn the_first_polynomial_is_the_first_of_all() {
        for (q, n) in
            [(2_u64, 2), (2, 5), (3, 2), (3, 3), (3, 4), (5, 2), (5, 3), (7, 2), (7, 3), (11, 2), (13, 2), (23, 2)]
        {
            let size = u64::pow(q, u32::try_from(n).expect("few"));
            let has_order = |reduction: &[u64]| {
                let ring = Ring { q, reduction: reduction.to_vec() };
                let (mut power, mut steps) = (ring.theta(), 1);
                while power.iter().enumerate().any(|(k, c)| *c != u64::from(k == 0)) && steps < size {
                    ring.times_theta(&mut power);
                    steps += 1;
                }
                steps == size - 1
            };
            let digits = |code: u64| {
                (0..u32::try_from(n).expect("few")).rev().map(|k| code / q.pow(k) % q).collect::<Vec<u64>>()
            };
            let first = (1..size).map(digits).find(|reduction| reduction[0] > 0 && has_order(reduction));
            let ring = Ring::primitive(q, n, size - 1).expect("a generator");
            assert_eq!(Some(ring.reduction), first, "{q}^{n}");
        }
    }

    /// Constants that lead to no generator are not tried: at 7 tokens these were 11^6 polynomials each.
    #[test]
    fn constants_whose_norm_generates_nothing_are_passed_over() {
        let tried = |q: u64, n| (1..q).filter(|c| Ring::norm_generates(q, n, *c)).collect::<Vec<u64>>();
        // The primitive roots of 11 and of 13, and for even n their negatives.
        assert_eq!(tried(11, 7), [2, 6, 7, 8]);
        assert_eq!(tried(11, 6), [3, 4, 5, 9]);
        assert_eq!(tried(13, 3), [2, 6, 7, 11]);
        assert_eq!((tried(2, 2), tried(2, 3)), (vec![1], vec![1]));
        let ring = Ring::primitive(11, 7, 11_u64.pow(7) - 1).expect("a generator");
        assert_eq!(ring.reduction[0], 2);
    }

    #[test]
    fn a_walk_ends_where_codes_are_too_large() {
        let up_to = |most| codes(4, 11, 11, most).expect("a field");
        let all = up_to(u64::MAX).expect("codes");
        let largest = all.last().and_then(Int::to_u64).expect("small");
        assert_eq!((up_to(largest), up_to(largest - 1)), (Some(all), None));
        // The walk stops after 1000 of 11^7 steps; one of 11^8 is not begun.
        assert_eq!(codes(7, 10, 11, 1000), Ok(None));
        assert!(codes(8, 10, 11, 1000).is_err());
    }

    #[test]
    fn a_field_that_is_not_prime_is_replaced_by_the_next() {
        assert_eq!(field(Some(32), 8).expect("a field"), 37);
        assert_eq!(field(Some(31), 8).expect("a field"), 31);
        assert_eq!(field(None, 1).expect("a field"), 2);
        assert_eq!(field(None, 24).expect("a field"), 29);
        assert!(field(Some(7), 8).is_err());
    }
}
