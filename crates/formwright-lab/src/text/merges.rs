//! The pieces of a vocabulary: byte-pair merges of the words of a corpus.
//!
//! First come the special tokens, then the letters, in the order of their code points: `c` where a word begins with it,
//! `##c` where it is inside one. Then, again and again, the pair of neighbouring pieces that occurs most often (among
//! equals, the one with the smallest numbers) becomes one piece, until there are enough pieces or no pair occurs twice.
//!
//! A letter rarer than one in 100,000 is left out, with the words that have it: they become `[UNK]`. A corpus of a few
//! kilobytes loses nothing by that; one of Wikipedia's size would spend its vocabulary on rare scripts.
//!
//! The trainer of the crate `tokenizers` numbers letters in the order of a hash map with random keys, and resolves ties
//! by these numbers: the same corpus does not give the same vocabulary twice. This one does.

use super::vocabulary::{LONGEST_WORD, SPECIAL};
use formwright::error::{Error, Result};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

const RAREST_LETTER: u64 = 100_000;

type Pair = (u32, u32);

/// At most `size` pieces for words with their counts.
pub(super) fn pieces(words: HashMap<String, u64>, size: usize) -> Result<Vec<String>> {
    let mut words: Vec<(String, u64)> =
        words.into_iter().filter(|(word, _)| word.chars().count() <= LONGEST_WORD).collect();
    let mut letters: BTreeMap<char, u64> = BTreeMap::new();
    for (word, count) in &words {
        word.chars().for_each(|letter| *letters.entry(letter).or_default() += count);
    }
    let all: u64 = letters.values().sum();
    let rare = |letter| letters[&letter].saturating_mul(RAREST_LETTER) < all;
    words.retain(|(word, _)| !word.chars().any(rare));
    words.sort_unstable();

    let letters: BTreeSet<(char, bool)> = words.iter().flat_map(|(word, _)| placed(word)).collect();
    let letters =
        letters.into_iter().map(|(letter, inside)| if inside { format!("##{letter}") } else { letter.into() });
    let pieces: Vec<String> = SPECIAL.map(String::from).into_iter().chain(letters).collect();
    if pieces.len() > size {
        return Err(Error::input(format!("a vocabulary of {size} pieces is too small for this corpus"))
            .note("needed", format!("{} for the special tokens and the letters alone", pieces.len()))
            .note("try", "a larger one; 8000 pieces are a small vocabulary for English"));
    }
    let mut merges = Merges::new(pieces, &words);
    while merges.pieces.len() < size && merges.step() {}
    Ok(merges.pieces)
}

/// The letters of a word, each with a flag whether it is inside.
fn placed(word: &str) -> impl Iterator<Item = (char, bool)> {
    word.chars().zip(std::iter::once(false).chain(std::iter::repeat(true)))
}

struct Merges {
    pieces: Vec<String>,
    numbers: HashMap<String, u32>,
    words: Vec<(Vec<u32>, u64)>,
    counts: HashMap<Pair, u64>,
    /// Words that have a pair, and some that had it.
    places: HashMap<Pair, Vec<usize>>,
    /// Every pair that occurs, with a count that is not below its true one.
    queue: BinaryHeap<(u64, Reverse<Pair>)>,
}

impl Merges {
    fn new(pieces: Vec<String>, words: &[(String, u64)]) -> Self {
        let numbers: HashMap<String, u32> = pieces.iter().cloned().zip(0..).collect();
        let number = |(letter, inside)| numbers[&if inside { format!("##{letter}") } else { String::from(letter) }];
        let words: Vec<(Vec<u32>, u64)> =
            words.iter().map(|(word, count)| (placed(word).map(number).collect(), *count)).collect();
        let (mut counts, mut places): (HashMap<Pair, u64>, HashMap<Pair, Vec<usize>>) = Default::default();
        for (place, (word, count)) in words.iter().enumerate() {
            for pair in pairs(word) {
                *counts.entry(pair).or_default() += count;
                places.entry(pair).or_default().push(place);
            }
        }
        let queue = counts.iter().map(|(&pair, &count)| (count, Reverse(pair))).collect();
        Self { pieces, numbers, words, counts, places, queue }
    }

    /// Merges the most frequent pair; returns whether there was one.
    fn step(&mut self) -> bool {
        while let Some((count, Reverse(pair))) = self.queue.pop() {
            let now = self.counts[&pair];
            if now == count && count > 1 {
                self.merge(pair);
                return true;
            }
            if now > 1 && now < count {
                self.queue.push((now, Reverse(pair)));
            }
        }
        false
    }

    fn merge(&mut self, pair: Pair) {
        let merged = self.number_of(pair);
        let mut grown = BTreeSet::new();
        for place in self.places.remove(&pair).unwrap_or_default() {
            let (word, count) = &mut self.words[place];
            if !pairs(word).any(|found| found == pair) {
                continue;
            }
            for lost in pairs(word) {
                self.counts.entry(lost).and_modify(|now| *now -= *count);
            }
            *word = joined(word, pair, merged);
            for gained in pairs(word) {
                *self.counts.entry(gained).or_default() += *count;
                if gained.0 == merged || gained.1 == merged {
                    self.places.entry(gained).or_default().push(place);
                    grown.insert(gained);
                }
            }
        }
        self.queue.extend(grown.into_iter().map(|pair| (self.counts[&pair], Reverse(pair))));
    }

    /// The number of the piece that a pair makes: a new one, unless other pieces have made it before.
    fn number_of(&mut self, (left, right): Pair) -> u32 {
        let [left, right] = [left, right].map(|number| self.pieces[number as usize].as_str());
        let piece = format!("{left}{}", right.strip_prefix("##").unwrap_or(right));
        let next = u32::try_from(self.pieces.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(piece).or_insert_with_key(|piece| {
            self.pieces.push(piece.clone());
            next
        })
    }
}

fn pairs(word: &[u32]) -> impl Iterator<Item = Pair> {
    word.windows(2).map(|pair| (pair[0], pair[1]))
}

/// A word with a pair merged, from the left.
fn joined(word: &[u32], pair: Pair, merged: u32) -> Vec<u32> {
    let (mut result, mut at) = (Vec::with_capacity(word.len() - 1), 0);
    while at < word.len() {
        let here = word.get(at + 1).is_some_and(|&next| (word[at], next) == pair);
        result.push(if here { merged } else { word[at] });
        at += 1 + usize::from(here);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(words: &[(&str, u64)]) -> HashMap<String, u64> {
        words.iter().map(|&(word, count)| (word.to_owned(), count)).collect()
    }

    /// The definition, without queue or places: count all pairs, merge the best, again.
    fn by_definition(words: &HashMap<String, u64>, size: usize) -> Vec<String> {
        let letters = |word: &str| -> Vec<String> {
            placed(word).map(|(c, inside)| if inside { format!("##{c}") } else { c.to_string() }).collect()
        };
        let mut words: Vec<(Vec<String>, u64)> = words.iter().map(|(word, count)| (letters(word), *count)).collect();
        let mut alphabet: Vec<String> = words.iter().flat_map(|(word, _)| word.clone()).collect();
        alphabet.sort_by_key(|piece| (piece.trim_start_matches('#').to_owned(), piece.len()));
        alphabet.dedup();
        let mut pieces: Vec<String> = SPECIAL.map(String::from).into_iter().chain(alphabet).collect();
        while pieces.len() < size {
            let mut counts: BTreeMap<(usize, usize), u64> = BTreeMap::new();
            let number = |piece: &String| pieces.iter().position(|known| known == piece).expect("a piece");
            for (word, count) in &words {
                for pair in word.windows(2) {
                    *counts.entry((number(&pair[0]), number(&pair[1]))).or_default() += count;
                }
            }
            let best = counts.iter().max_by_key(|&(&pair, &count)| (count, Reverse(pair)));
            let Some((&(left, right), _)) = best.filter(|(_, count)| **count > 1) else { break };
            let (left, right) = (pieces[left].clone(), pieces[right].clone());
            let merged = format!("{left}{}", &right[2..]);
            for (word, _) in &mut words {
                let mut at = 0;
                while at + 1 < word.len() {
                    if word[at] == left && word[at + 1] == right {
                        word.splice(at..at + 2, [merged.clone()]);
                    }
                    at += 1;
                }
            }
            if !pieces.contains(&merged) {
                pieces.push(merged);
            }
        }
        pieces
    }

    #[test]
    fn merges_by_hand() {
        let words = counted(&[("aab", 3), ("ab", 2), ("b", 9)]);
        let letters = ["a", "##a", "b", "##b"];
        // (##a, ##b) occurs 3 times, as does (a, ##a); (a, ##b) 2 times. Of equals the smaller numbers: a is before
        // ##a.
        let expected = [&SPECIAL[..], &letters, &["aa", "aab", "ab"]].concat();
        assert_eq!(pieces(words, 100).expect("pieces"), expected);
    }

    #[test]
    fn the_queue_finds_what_the_definition_finds() {
        for seed in 0..200 {
            let mut state = seed;
            let mut below = |bound| formwright::random::below(&mut state, bound);
            let mut words = HashMap::new();
            for _ in 0..20 {
                let word = (0..=below(8)).map(|_| ['a', 'b', 'c'][below(3)]).collect();
                words.insert(word, 1 + below(5) as u64);
            }
            assert_eq!(pieces(words.clone(), 40).expect("pieces"), by_definition(&words, 40), "seed {seed}: {words:?}");
        }
    }

    #[test]
    fn rare_letters_and_endless_words_are_left_out() {
        let long = "x".repeat(LONGEST_WORD + 1);
        let found = pieces(counted(&[("ab", 60_000), ("aq", 1), (&long, 50)]), 100).expect("pieces");
        assert_eq!(found[SPECIAL.len()..], ["a", "##b", "ab"]);
        let found = pieces(counted(&[("ab", 40_000), ("aq", 1)]), 100).expect("pieces");
        assert!(found.contains(&"##q".to_owned()), "one in 80,002 is not rare");
    }

    #[test]
    fn a_vocabulary_below_the_letters_is_refused() {
        insta::assert_snapshot!(pieces(counted(&[("ab", 2)]), 6).expect_err("too small"), @"
        a vocabulary of 6 pieces is too small for this corpus
          needed   7 for the special tokens and the letters alone
          try      a larger one; 8000 pieces are a small vocabulary for English
        ");
    }
}
