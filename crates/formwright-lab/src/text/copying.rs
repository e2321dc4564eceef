//! Copying the token that stood `distance` tokens ago, for patterns of sparse attention.
//!
//! A row of length `n` begins with `distance` symbols, each drawn from `symbols` many; the token at a later place `i`
//! is blank, and asked for the symbol at `i mod distance`. Guessing is right once in `symbols` times and costs
//! `ln(symbols)` nats. An answer needs a path of connections from place `i mod distance` to place `i` through the
//! layers: windows of width `w` need `distance / w` layers for the first answers, twice as many for the next, and a few
//! hubs have to carry all symbols at once.

use super::batch::Asked;
use super::mask::flat;
use super::order;
use formwright::error::{Error, Result};
use formwright::random;

/// Batches of strings to copy: a function of seed and step.
#[derive(Clone, Copy, Debug)]
pub struct Copying {
    rows: usize,
    length: usize,
    distance: usize,
    symbols: usize,
    seed: u64,
}

impl Copying {
    /// Batches of so many rows of a length.
    pub fn new(rows: usize, length: usize, distance: usize, symbols: usize, seed: u64) -> Result<Self> {
        if distance == 0 || distance >= length {
            return Err(Error::input(format!("copying at distance {distance} in sequences of {length}")).note(
                "expected",
                "a distance from 1 to one less than the length: it is also the length of the string",
            ));
        }
        if symbols < 2 {
            return Err(Error::input(format!("copying strings of {symbols} symbols")).note("expected", "at least 2"));
        }
        Ok(Self { rows, length, distance, symbols, seed })
    }

    /// The number of pieces that a model needs: the symbols, and the blank, which is the last.
    pub fn pieces(&self) -> usize {
        self.symbols + 1
    }

    /// The batch of a step.
    pub fn batch(&self, step: u64) -> Asked {
        let mut batch = Asked::default();
        for row in 0..self.rows {
            let mut seed = order::stream(self.seed, &[step, row as u64]);
            let string: Vec<u32> = (0..self.distance).map(|_| flat(random::below(&mut seed, self.symbols))).collect();
            let asked = self.distance..self.length;
            batch.positions.extend(asked.clone().map(|place| flat(batch.inputs.len() + place)));
            batch.labels.extend(asked.clone().map(|place| string[place % self.distance]));
            batch.weights.extend(asked.clone().map(|_| 1.0));
            batch.inputs.extend(&string);
            batch.inputs.extend(asked.map(|_| flat(self.symbols)));
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_ask_for_the_string_again_and_again() {
        let batch = Copying::new(2, 8, 3, 5, 1).expect("batches").batch(4);
        for row in 0..2 {
            let inputs = &batch.inputs[8 * row..][..8];
            assert!(inputs[..3].iter().all(|&symbol| symbol < 5));
            assert_eq!(inputs[3..], [5; 5], "the blank is behind the symbols");
            assert_eq!(batch.labels[5 * row..][..5], [0, 1, 2, 0, 1].map(|i| inputs[i]));
        }
        assert_eq!(batch.positions, [3, 4, 5, 6, 7, 11, 12, 13, 14, 15]);
        assert_eq!(batch.weights, [1.0; 10]);
    }

    #[test]
    fn strings_are_functions_of_seed_and_step_and_all_symbols_occur() {
        let batches = |seed| Copying::new(4, 20, 10, 7, seed).expect("batches");
        assert_eq!(batches(1).batch(9), batches(1).batch(9));
        assert_ne!(batches(1).batch(9), batches(1).batch(10));
        assert_ne!(batches(1).batch(9), batches(2).batch(9));
        let mut counts = [0_u32; 7];
        (0..250).flat_map(|step| batches(3).batch(step).labels).for_each(|label| counts[label as usize] += 1);
        // 10,000 draws, 1429 of each, standard deviation 35.
        assert!(counts.iter().all(|&count| count.abs_diff(1429) < 175), "{counts:?}");
    }

    #[test]
    fn what_cannot_be_copied_is_refused() {
        insta::assert_snapshot!(Copying::new(1, 8, 8, 5, 1).expect_err("too far"), @"
        copying at distance 8 in sequences of 8
          expected a distance from 1 to one less than the length: it is also the length of the string
        ");
        insta::assert_snapshot!(Copying::new(1, 8, 4, 1, 1).expect_err("no symbols"), @"
        copying strings of 1 symbols
          expected at least 2
        ");
    }
}
