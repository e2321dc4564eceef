//! Numbers that are drawn: sums of three that are uniform on `[-1, 1]`. They have mean 0, variance 1, lie in `[-3,
//! 3]`, and are odd multiples of `2^-19`, so that single precision holds them and their halves.

use crate::random;

/// Numbers of mean 0 and variance 1 in `[-3, 3]`, from a seed.
#[derive(Clone, Debug)]
pub struct Gaussians(u64);

impl Gaussians {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// An odd multiple of `2^-19` in `[-1, 1]`.
    fn uniform(&mut self) -> f64 {
        let bits = u32::try_from(random::word(&mut self.0) >> 45).unwrap_or_default();
        (f64::from(2 * bits + 1) - f64::from(1_u32 << 19)) / f64::from(1_u32 << 19)
    }

    /// The next ones.
    pub fn draw(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.uniform() + self.uniform() + self.uniform()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Precision;

    #[test]
    fn draws_are_single_precision_numbers_of_mean_0_and_variance_1() {
        let draws = Gaussians::new(230_702_301).draw(100_000);
        assert!(draws.iter().all(|x| x.abs() <= 3.0 && Precision::F32.round(x - 0.5).to_bits() == (x - 0.5).to_bits()));
        let mean = |f: fn(f64) -> f64| draws.iter().map(|x| f(*x)).sum::<f64>() / 1e5;
        // Ten standard deviations of the sample's moments.
        assert!(
            mean(|x| x).abs() < 10.0 / 1e5_f64.sqrt() && (mean(|x| x * x) - 1.0).abs() < 10.0 * (1.6 / 1e5_f64).sqrt()
        );
        assert_ne!(Gaussians::new(1).draw(4), Gaussians::new(2).draw(4));
    }
}
