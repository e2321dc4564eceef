//! A vocabulary of WordPieces, and text in it.
//!
//! Text is lower-cased, its accents and control characters dropped, split at white space and around punctuation and
//! Chinese characters (BERT's uncased rules). Each word becomes the longest piece that it begins with, then the longest
//! `##piece` that the rest begins with, and so on, or `[UNK]` where that gets stuck. Special tokens never come from
//! text: the letters `[MASK]` in a corpus are a bracket, a word and a bracket.

use super::{corpus::Corpus, merges, read};
use formwright::artifact;
use formwright::error::{Error, Result};
use std::collections::HashMap;
use std::path::Path;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{
    Model as _, NormalizedString, Normalizer as _, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer as _,
};

/// BERT's special tokens; every vocabulary has them.
pub const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// The longest word, in characters, that is not `[UNK]`.
pub(super) const LONGEST_WORD: usize = 100;

/// Pieces by number.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    pieces: Vec<String>,
    special: [u32; 5],
    model: WordPiece,
    sha256: String,
}

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its number.
    pub id: u32,
    /// The byte of the text at which it begins.
    pub start: usize,
    /// The byte of the text before which it ends.
    pub end: usize,
}

impl Vocabulary {
    /// A vocabulary of these pieces, in this order.
    pub fn new(pieces: Vec<String>) -> Result<Self> {
        let mut numbers = HashMap::with_capacity(pieces.len());
        for (id, piece) in (0_u32..).zip(&pieces) {
            if piece.is_empty() || piece.contains(char::is_whitespace) {
                return Err(Error::input(format!("line {} holds {piece:?}, which is no piece", id + 1)).note(
                    "expected",
                    "a piece a line, without white space: the number of a piece is that of its line",
                ));
            }
            if let Some(first) = numbers.insert(piece.clone(), id) {
                return Err(Error::input(format!("the piece {piece} stands in lines {} and {}", first + 1, id + 1))
                    .note("try", "without one of the two; the pieces after it are renumbered"));
            }
        }
        let number = |name: &&str| {
            numbers.get(*name).copied().ok_or_else(|| {
                Error::input(format!("the special token {name} is missing"))
                    .note("found", format!("{} pieces", pieces.len()))
                    .note("expected", SPECIAL.join(" "))
            })
        };
        let special = SPECIAL.iter().map(number).collect::<Result<Vec<_>>>()?;
        let special = std::array::from_fn(|i| special[i]);
        let text = lines(&pieces);
        let sha256 = artifact::sha256(text.as_bytes());
        let numbers = WordPiece::read_bytes(text.as_bytes()).map_err(odd)?;
        let model = WordPiece::builder().vocab(numbers).build().map_err(odd)?;
        Ok(Self { pieces, special, model, sha256 })
    }

    /// Trains at most `size` pieces that are frequent in a corpus, by the rules of `merges`; fewer if the corpus has no
    /// more.
    pub fn train(corpus: &Corpus, size: usize, progress: &mut dyn FnMut(u64, u64)) -> Result<Self> {
        let total = corpus.bytes();
        let mut counts: HashMap<String, u64> = HashMap::new();
        corpus.for_each_article(|article| {
            for paragraph in &article.paragraphs {
                for (word, _, _) in split(paragraph)?.get_splits(OffsetReferential::Normalized, OffsetType::None) {
                    match counts.get_mut(word) {
                        Some(count) => *count += 1,
                        None => drop(counts.insert(word.to_owned(), 1)),
                    }
                }
            }
            progress(article.end, total);
            Ok(())
        })?;
        Self::new(merges::pieces(counts, size)?)
    }

    /// Reads a file with a piece a line.
    pub fn read(file: &Path) -> Result<Self> {
        let text = read(file)?;
        Self::new(text.lines().map(|line| line.trim_end().to_owned()).collect())
            .map_err(|error| error.note_first("in", file.display().to_string()))
    }

    /// Writes a file with a piece a line; an existing file is not overwritten.
    pub fn write(&self, file: &Path) -> Result<()> {
        artifact::write_new(file, lines(&self.pieces).as_bytes())
    }

    /// The pieces, by number.
    pub fn pieces(&self) -> &[String] {
        &self.pieces
    }

    /// The SHA-256 of the vocabulary as `write` writes it: caches and checkpoints name theirs by it.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Refuses anything that was made with another vocabulary.
    pub fn check(&self, what: &str, sha256: &str) -> Result<()> {
        if sha256 == self.sha256 {
            return Ok(());
        }
        Err(Error::input(format!("{what} was made with another vocabulary"))
            .note("its own", format!("sha256 {sha256}"))
            .note("given", format!("sha256 {}, {} pieces", self.sha256, self.pieces.len()))
            .note("try", "the vocabulary that it was made with: the numbers of pieces mean nothing in another one"))
    }

    /// `[PAD]`
    pub fn pad(&self) -> u32 {
        self.special[0]
    }

    /// `[UNK]`
    pub fn unknown(&self) -> u32 {
        self.special[1]
    }

    /// `[CLS]`
    pub fn class(&self) -> u32 {
        self.special[2]
    }

    /// `[SEP]`
    pub fn separator(&self) -> u32 {
        self.special[3]
    }

    /// `[MASK]`
    pub fn mask(&self) -> u32 {
        self.special[4]
    }

    /// True if a piece is one of the special tokens.
    pub fn is_special(&self, id: u32) -> bool {
        self.special.contains(&id)
    }

    /// The numbers of a text's pieces.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let mut ids = Vec::with_capacity(text.len() / 4);
        for (word, _, _) in split(text)?.get_splits(OffsetReferential::Normalized, OffsetType::None) {
            ids.extend(self.model.tokenize(word).map_err(odd)?.iter().map(|token| token.id));
        }
        Ok(ids)
    }

    /// A text's pieces, with their places in the text.
    pub fn locate(&self, text: &str) -> Result<Vec<Piece>> {
        let mut words = split(text)?;
        words.tokenize(|word| self.model.tokenize(word.get())).map_err(odd)?;
        let encoding = words.into_encoding(None, 0, OffsetType::Byte).map_err(odd)?;
        let pieces = encoding.get_ids().iter().zip(encoding.get_offsets());
        Ok(pieces.map(|(&id, &(start, end))| Piece { id, start, end }).collect())
    }
}

/// The words of a text, by BERT's uncased rules.
fn split(text: &str) -> Result<PreTokenizedString> {
    let mut normal = NormalizedString::from(text);
    BertNormalizer::default().normalize(&mut normal).map_err(odd)?;
    let mut words = PreTokenizedString::from(normal);
    BertPreTokenizer.pre_tokenize(&mut words).map_err(odd)?;
    Ok(words)
}

fn lines(pieces: &[String]) -> String {
    pieces.iter().flat_map(|piece| [piece, "\n"]).collect()
}

/// An error that the tokenizer cannot give once `[UNK]` is there.
fn odd(error: impl std::fmt::Display) -> Error {
    Error::input(format!("the text cannot be split: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A vocabulary whose special tokens are not at the front, like some of others.
    fn small() -> Vocabulary {
        let pieces = "[PAD] the [UNK] [CLS] [SEP] [MASK] un ##aff ##able ##a ##f na ##ive [ ] mask . , é 野 口";
        Vocabulary::new(pieces.split(' ').map(str::to_owned).collect()).expect("a vocabulary")
    }

    fn names(text: &str) -> String {
        let vocabulary = small();
        let ids = vocabulary.encode(text).expect("pieces");
        ids.iter().map(|&id| vocabulary.pieces()[id as usize].as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_become_their_longest_pieces() {
        assert_eq!(names("The unaffable,  UNAFFA. "), "the un ##aff ##able , un ##aff ##a .");
        assert_eq!(names("the unknown"), "the [UNK]", "a word that gets stuck is unknown as a whole");
        assert_eq!(names("Na\u{ef}ve naïve"), "na ##ive na ##ive", "accents are dropped");
        assert_eq!(names("un\u{200b}aff\u{0}able\tthe"), "un ##aff ##able the", "control characters vanish");
        assert_eq!(names("野口the"), "野 口 the");
        assert_eq!(names("[MASK]"), "[ mask ]", "no special token comes from text");
        assert_eq!(names(&format!("the {}", "a".repeat(101))), "the [UNK]");
        assert_eq!(names(" \t "), "");
    }

    #[test]
    fn pieces_lie_where_they_were_read() {
        let vocabulary = small();
        for text in ["The  naïve, unaffable", "NA\u{131}VE 野口.", "e\u{301} the"] {
            let pieces = vocabulary.locate(text).expect("pieces");
            assert_eq!(
                pieces.iter().map(|piece| piece.id).collect::<Vec<_>>(),
                vocabulary.encode(text).expect("pieces")
            );
            assert!(pieces.windows(2).all(|pair| pair[0].end <= pair[1].start), "{text}: {pieces:?}");
        }
        let text = "The  naïve, unaffable";
        let found: Vec<&str> =
            vocabulary.locate(text).expect("pieces").iter().map(|piece| &text[piece.start..piece.end]).collect();
        assert_eq!(found, ["The", "na", "ïve", ",", "un", "aff", "able"]);
    }

    #[test]
    fn the_same_corpus_gives_the_same_bytes() {
        let dir = tempfile::tempdir().expect("a folder");
        let [text, one, two] = ["text.txt", "one.txt", "two.txt"].map(|name| dir.path().join(name));
        fs::write(&text, "Rows of rowing rowers row.\nRosy roses rise.\n\nA rose is a row of roses.\n")
            .expect("written");
        let corpus = Corpus::open(&[text]).expect("a corpus");
        let mut last = (0, 0);
        let first = Vocabulary::train(&corpus, 40, &mut |done, all| last = (done, all)).expect("trained");
        assert_eq!(last, (corpus.bytes(), corpus.bytes()));
        first.write(&one).expect("written");
        for _ in 0..5 {
            let again = Vocabulary::train(&corpus, 40, &mut |_, _| {}).expect("trained");
            assert_eq!((again.pieces(), again.sha256()), (first.pieces(), first.sha256()));
        }
        let read = Vocabulary::read(&one).expect("read");
        read.write(&two).expect("written");
        assert_eq!(fs::read(&one).expect("bytes"), fs::read(&two).expect("bytes"));
        assert_eq!(artifact::sha256(&fs::read(&one).expect("bytes")), first.sha256());
        assert!(first.write(&one).is_err(), "nothing is overwritten");
        assert!(!read.encode("rowing roses rise").expect("pieces").contains(&read.unknown()));
    }

    #[test]
    fn what_is_no_vocabulary_is_refused() {
        let refused = |pieces: &str| {
            Vocabulary::new(pieces.split(' ').map(str::to_owned).collect()).expect_err("refused").to_string()
        };
        insta::assert_snapshot!(refused("[PAD] [UNK] [CLS] [MASK] a"), @"
        the special token [SEP] is missing
          found    5 pieces
          expected [PAD] [UNK] [CLS] [SEP] [MASK]
        ");
        insta::assert_snapshot!(refused("[PAD] [UNK] a [CLS] [SEP] [MASK] a"), @"
        the piece a stands in lines 3 and 7
          try      without one of the two; the pieces after it are renumbered
        ");
        insta::assert_snapshot!(refused("[PAD] [UNK]  [CLS] [SEP] [MASK]"), @r#"
        line 3 holds "", which is no piece
          expected a piece a line, without white space: the number of a piece is that of its line
        "#);
        assert!(small().check("the checkpoint", small().sha256()).is_ok());
        insta::assert_snapshot!(small().check("the checkpoint runs/7", "0123").expect_err("refused"), @"
        the checkpoint runs/7 was made with another vocabulary
          its own  sha256 0123
          given    sha256 5a2f790c1b0a89871ef2cf66e4124558ae947ea24e5f6ad1b3b3c5e63273b241, 21 pieces
          try      the vocabulary that it was made with: the numbers of pieces mean nothing in another one
        ");
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("vocab.txt"), "a\n").expect("written");
        let error = Vocabulary::read(&dir.path().join("vocab.txt")).expect_err("refused").to_string();
        insta::assert_snapshot!(error.replace(&format!("{}/", dir.path().display()), ""), @"
        the special token [PAD] is missing
          in       vocab.txt
          found    1 pieces
          expected [PAD] [UNK] [CLS] [SEP] [MASK]
        ");
    }
}
