//! Batches, as flat vectors in the order of rows.

use super::vocabulary::Vocabulary;
use formwright::error::{Error, Result};

/// Rows of equal length, with places whose pieces are asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// `rows × length` pieces.
    pub inputs: Vec<u32>,
    /// The places of `inputs` that are asked for, equally many in each row: only there a model has to answer.
    pub positions: Vec<u32>,
    /// The right answer at each of `positions`.
    pub labels: Vec<u32>,
    /// 1 for each of `positions`; 0 if a row has fewer places to ask for than others.
    pub weights: Vec<f32>,
}

/// One example: its pieces, and which of two texts each belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// Numbers of pieces.
    pub ids: Vec<u32>,
    /// 0 for the first text, 1 for the second.
    pub segments: Vec<u32>,
}

impl Encoded {
    /// `[CLS]` first `[SEP]` second `[SEP]`
    pub fn pair(vocabulary: &Vocabulary, first: &[u32], second: &[u32]) -> Self {
        let separator = [vocabulary.separator()];
        let ids = [&[vocabulary.class()], first, &separator, second, &separator].concat();
        let segments = (0..ids.len()).map(|place| u32::from(place > first.len() + 1)).collect();
        Self { ids, segments }
    }
}

/// Rows that were filled up to equal length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Padded {
    /// `rows × length` pieces; a row is filled with padding after its end.
    pub ids: Vec<u32>,
    /// `rows × length` segments; padding is of segment 0.
    pub segments: Vec<u32>,
    /// `rows × length`: true for a piece, false for padding.
    pub seen: Vec<bool>,
}

impl Padded {
    /// Fills every example up to a length that none exceeds.
    pub fn new<'a>(
        examples: impl IntoIterator<Item = &'a Encoded>,
        length: usize,
        vocabulary: &Vocabulary,
    ) -> Result<Self> {
        let mut rows = Self { ids: Vec::new(), segments: Vec::new(), seen: Vec::new() };
        for (row, Encoded { ids, segments }) in examples.into_iter().enumerate() {
            let Some(padding) = length.checked_sub(ids.len()) else {
                return Err(Error::input(format!(
                    "row {row} of the batch has {} pieces, and the model {length}",
                    ids.len()
                ))
                .note("try", format!("sequences of at most {length} pieces, or a longer model")));
            };
            let filled =
                |values: &[u32], with| values.iter().copied().chain(std::iter::repeat_n(with, padding)).collect();
            let filled: [Vec<u32>; 2] = [filled(ids, vocabulary.pad()), filled(segments, 0)];
            rows.ids.extend(&filled[0]);
            rows.segments.extend(&filled[1]);
            rows.seen.extend((0..length).map(|place| place < ids.len()));
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::vocabulary::SPECIAL;

    #[test]
    fn rows_are_filled_up_and_none_is_cut() {
        let vocabulary = Vocabulary::new(SPECIAL.map(String::from).to_vec()).expect("a vocabulary");
        let [short, long] = [Encoded::pair(&vocabulary, &[], &[1]), Encoded::pair(&vocabulary, &[1, 1], &[1])];
        assert_eq!((long.ids.as_slice(), long.segments.as_slice()), (&[2, 1, 1, 3, 1, 3][..], &[0, 0, 0, 0, 1, 1][..]));
        let rows = Padded::new([&short, &long], 6, &vocabulary).expect("rows");
        assert_eq!(rows.ids, [2, 3, 1, 3, 0, 0, 2, 1, 1, 3, 1, 3]);
        assert_eq!(rows.segments, [0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(
            rows.seen.iter().map(|&seen| u8::from(seen)).collect::<Vec<_>>(),
            [1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1]
        );
        insta::assert_snapshot!(Padded::new([&short, &long], 5, &vocabulary).expect_err("too long"), @"
        row 1 of the batch has 6 pieces, and the model 5
          try      sequences of at most 5 pieces, or a longer model
        ");
    }
}
