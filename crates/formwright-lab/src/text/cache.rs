//! A corpus in pieces, on disk: made once, read by every run.
//!
//! A folder holds `index.json` and shards. The pieces of all articles, each article followed by `[SEP]`, are one
//! stream, little endian, with two bytes a piece where the vocabulary allows it and four where not, in shards of at
//! most 16 MiB. A sequence of length `L` is `[CLS]`, the next `L - 2` pieces of the stream, `[SEP]`: no sequence is
//! padded, and the same cache serves every length. The rest at the end of the stream is in no sequence.
//!
//! Some articles are held back for validation: a share of them by a seeded choice, or files of their own. The index
//! names the hashes of corpus and vocabulary and of every shard; all are compared when a cache is read.

use super::{corpus::Corpus, order, read, vocabulary::Vocabulary};
use formwright::artifact;
use formwright::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

const FORMAT: &str = "formwright-lab text";
const VERSION: u32 = 1;
const INDEX: &str = "index.json";
const SHARD: usize = 1 << 24;

/// The part held back for validation.
#[derive(Clone, Debug)]
pub enum Validation {
    /// A share of the articles, strictly between 0 and 1; at least one article, and not all.
    Share {
        /// The share of the articles.
        share: f64,
        /// The seed of the choice.
        seed: u64,
    },
    /// Text of its own.
    Files(Corpus),
}

/// A corpus in pieces.
#[derive(Clone, Debug)]
pub struct Cache {
    /// The part to train on.
    pub train: Split,
    /// The part held back.
    pub validation: Split,
}

/// A stream of pieces, one part of a cache.
#[derive(Clone, Debug)]
pub struct Split {
    /// The number of articles.
    pub articles: usize,
    class: u32,
    separator: u32,
    width: usize,
    bytes: Vec<u8>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Index {
    format: String,
    version: u32,
    made_from: Source,
    bytes_a_piece: usize,
    train: Part,
    validation: Part,
}

/// Hashes of everything that decides the content of a cache.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Source {
    vocabulary: String,
    corpus: Vec<String>,
    held_back: HeldBack,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum HeldBack {
    Share { share: f64, seed: u64 },
    Files(Vec<String>),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Part {
    articles: usize,
    pieces: usize,
    shards: Vec<Shard>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Shard {
    file: String,
    sha256: String,
}

impl Cache {
    /// The cache of a corpus. It is read if it exists and was made from the same text in the same way; otherwise it is
    /// made. `progress` is told how many bytes of text are done, and of how many.
    pub fn prepare(
        dir: &Path,
        corpus: &Corpus,
        validation: &Validation,
        vocabulary: &Vocabulary,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self> {
        let source = Source::of(corpus, validation, vocabulary);
        if dir.exists() {
            let (cache, index) = open(dir, vocabulary)?;
            if index.made_from == source {
                return Ok(cache);
            }
            return Err(Error::input(format!("the cache {} was made from other text", dir.display()))
                .note("its own", source_line(&index.made_from))
                .note("given", source_line(&source))
                .note("try", "another folder for the cache, or take this one away"));
        }
        let cache = build(corpus, validation, vocabulary, progress)?;
        cache.write(dir, source)?;
        Ok(cache)
    }

    /// Reads a cache without the text that it was made from.
    pub fn open(dir: &Path, vocabulary: &Vocabulary) -> Result<Self> {
        open(dir, vocabulary).map(|(cache, _)| cache)
    }

    fn write(&self, dir: &Path, made_from: Source) -> Result<()> {
        let mut files = Vec::new();
        let mut part = |name: &str, split: &Split| {
            let shards = split.bytes.chunks(SHARD).enumerate().map(|(number, bytes)| {
                let (file, sha256) = (format!("{name}-{number:03}.bin"), artifact::sha256(bytes));
                files.push((file.clone(), bytes.to_vec()));
                Shard { file, sha256 }
            });
            Part { articles: split.articles, pieces: split.len(), shards: shards.collect() }
        };
        let (train, validation) = (part("train", &self.train), part("validation", &self.validation));
        let bytes_a_piece = self.train.width;
        let index = Index { format: FORMAT.into(), version: VERSION, made_from, bytes_a_piece, train, validation };
        let index = serde_json::to_string_pretty(&index).map_err(|error| Error::input(error.to_string()))?;
        files.push((INDEX.into(), index.into_bytes()));
        artifact::write_new_folder(dir, &files)
    }
}

impl Split {
    fn new(vocabulary: &Vocabulary) -> Self {
        Self {
            articles: 0,
            class: vocabulary.class(),
            separator: vocabulary.separator(),
            width: if vocabulary.pieces().len() <= 1 << 16 { 2 } else { 4 },
            bytes: Vec::new(),
        }
    }

    /// The number of pieces, including the separators of articles.
    #[expect(clippy::len_without_is_empty, reason = "none is empty")]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    /// Its pieces, in order.
    pub fn pieces(&self) -> impl Iterator<Item = u32> {
        self.stream(0, self.len())
    }

    /// The number of sequences of a length.
    pub fn sequences(&self, length: usize) -> Result<usize> {
        let room = length.saturating_sub(2);
        let sequences = self.len().checked_div(room).unwrap_or_default();
        if sequences == 0 {
            return Err(Error::input(format!("there is no sequence of {length} pieces"))
                .note("found", format!("{} pieces in {} articles", self.len(), self.articles))
                .note("needed", "[CLS], at least one piece, [SEP], and text for one sequence")
                .note("try", "more text, or another length"));
        }
        Ok(sequences)
    }

    /// A sequence, by number.
    pub fn sequence(&self, number: usize, length: usize) -> Vec<u32> {
        let room = length - 2;
        let text = self.stream(number * room, room);
        std::iter::once(self.class).chain(text).chain([self.separator]).collect()
    }

    fn stream(&self, start: usize, count: usize) -> impl Iterator<Item = u32> {
        let bytes = &self.bytes[start * self.width..][..count * self.width];
        bytes.chunks_exact(self.width).map(|piece| piece.iter().rev().fold(0, |id, &byte| id << 8 | u32::from(byte)))
    }

    fn push(&mut self, article: &[u32]) {
        let (separator, width) = (self.separator, self.width);
        self.articles += 1;
        self.bytes.extend(article.iter().chain([&separator]).flat_map(|id| id.to_le_bytes().into_iter().take(width)));
    }
}

impl Source {
    fn of(corpus: &Corpus, validation: &Validation, vocabulary: &Vocabulary) -> Self {
        let held_back = match validation {
            Validation::Share { share, seed } => HeldBack::Share { share: *share, seed: *seed },
            Validation::Files(corpus) => HeldBack::Files(corpus.hashes()),
        };
        Self { vocabulary: vocabulary.sha256().into(), corpus: corpus.hashes(), held_back }
    }
}

/// A source in one line, so that differences are easy to see.
fn source_line(source: &Source) -> String {
    let held_back = match &source.held_back {
        HeldBack::Share { share, seed } => format!("held back: {share} of the articles, seed {seed}"),
        HeldBack::Files(hashes) => format!("held back: sha256 {}", hashes.join(", ")),
    };
    format!("sha256 {}\n{held_back}", source.corpus.join(", "))
}

fn build(
    corpus: &Corpus,
    validation: &Validation,
    vocabulary: &Vocabulary,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Cache> {
    let mut parts = [Split::new(vocabulary), Split::new(vocabulary)];
    let (chosen, own) = match validation {
        Validation::Share { share, seed } => (held_back(corpus, *share, *seed)?, None),
        Validation::Files(own) => (Vec::new(), Some(own)),
    };
    let total = corpus.bytes() + own.map_or(0, Corpus::bytes);
    let mut number = 0;
    corpus.for_each_article(|article| {
        let held_back = chosen.get(number).is_some_and(|&held_back| held_back);
        number += 1;
        parts[usize::from(held_back)].push(&encoded(vocabulary, &article.paragraphs)?);
        progress(article.end, total);
        Ok(())
    })?;
    if let Some(own) = own {
        own.for_each_article(|article| {
            parts[1].push(&encoded(vocabulary, &article.paragraphs)?);
            progress(corpus.bytes() + article.end, total);
            Ok(())
        })?;
    }
    let [train, validation] = parts;
    Ok(Cache { train, validation })
}

fn encoded(vocabulary: &Vocabulary, paragraphs: &[String]) -> Result<Vec<u32>> {
    let paragraphs = paragraphs.iter().map(|paragraph| vocabulary.encode(paragraph));
    Ok(paragraphs.collect::<Result<Vec<_>>>()?.concat())
}

/// The articles that are held back: those with the smallest seeded numbers.
fn held_back(corpus: &Corpus, share: f64, seed: u64) -> Result<Vec<bool>> {
    if !(share > 0.0 && share < 1.0) {
        return Err(Error::input(format!("a validation share of {share}"))
            .note("expected", "a number between 0 and 1, such as 0.02"));
    }
    let mut articles = 0;
    corpus.for_each_article(|_| {
        articles += 1;
        Ok(())
    })?;
    if articles < 2 {
        return Err(Error::input("a corpus of one article has none to hold back for validation")
            .note("expected", "articles that begin with a line `= Title =`, or blank lines between them")
            .note("try", "a file of its own for validation"));
    }
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded")]
    let count = ((articles as f64 * share).round() as usize).clamp(1, articles - 1);
    let mut ranked: Vec<usize> = (0..articles).collect();
    ranked.sort_by_key(|&article| (order::stream(seed, &[article as u64]), article));
    let mut chosen = vec![false; articles];
    ranked[..count].iter().for_each(|&article| chosen[article] = true);
    Ok(chosen)
}

fn open(dir: &Path, vocabulary: &Vocabulary) -> Result<(Cache, Index)> {
    let what = format!("the cache {}", dir.display());
    let damaged = |reason: String| {
        Error::input(format!("{what} is damaged"))
            .note("found", reason)
            .note("try", "take the folder away, and it is made anew from the text")
    };
    let index: Index =
        serde_json::from_str(&read(&dir.join(INDEX))?).map_err(|error| damaged(format!("{INDEX}: {error}")))?;
    if (index.format.as_str(), index.version) != (FORMAT, VERSION) {
        return Err(damaged(format!(
            "{INDEX}: {} version {}, not {FORMAT} version {VERSION}",
            index.format, index.version
        )));
    }
    vocabulary.check(&what, &index.made_from.vocabulary)?;
    let split = |part: &Part| {
        let mut split = Split { articles: part.articles, ..Split::new(vocabulary) };
        for Shard { file, sha256 } in &part.shards {
            let bytes = fs::read(dir.join(file)).map_err(|error| damaged(format!("{file}: {error}")))?;
            if artifact::sha256(&bytes) != *sha256 {
                return Err(damaged(format!(
                    "{file}, {} bytes, does not have the hash that {INDEX} names",
                    bytes.len()
                )));
            }
            split.bytes.extend(bytes);
        }
        if split.width != index.bytes_a_piece || split.bytes.len() != part.pieces * split.width {
            return Err(damaged(format!(
                "{} bytes, and {INDEX} names {} pieces of {} bytes",
                split.bytes.len(),
                part.pieces,
                index.bytes_a_piece
            )));
        }
        Ok(split)
    };
    let cache = Cache { train: split(&index.train)?, validation: split(&index.validation)? };
    Ok((cache, index))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::text::vocabulary::SPECIAL;
    use std::path::PathBuf;

    /// A dozen articles about numbers; every one has words of its own.
    fn text(articles: usize) -> String {
        let article =
            |i: usize| format!("= Article {i} =\nThe number {i} has a neighbour.\nIts neighbour is {}.\n\n", i + 1);
        (0..articles).map(article).collect()
    }

    struct Made {
        dir: tempfile::TempDir,
        corpus: Corpus,
        vocabulary: Vocabulary,
    }

    fn made(articles: usize) -> Made {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("text.txt");
        fs::write(&file, text(articles)).expect("written");
        let corpus = Corpus::open(&[file]).expect("a corpus");
        let vocabulary = Vocabulary::train(&corpus, 60, &mut |_, _| {}).expect("a vocabulary");
        Made { dir, corpus, vocabulary }
    }

    impl Made {
        fn prepare(&self, validation: &Validation) -> Result<Cache> {
            Cache::prepare(&self.place(), &self.corpus, validation, &self.vocabulary, &mut |_, _| {})
        }

        fn place(&self) -> PathBuf {
            self.dir.path().join("cache")
        }

        /// An error, without the place of this test.
        fn refused<T>(&self, result: Result<T>) -> String {
            let Err(error) = result else { panic!("not refused") };
            error.to_string().replace(&format!("{}/", self.dir.path().display()), "")
        }
    }

    /// A cache of many articles, and its vocabulary, for the tests of what reads one.
    pub(in crate::text) fn cache(articles: usize) -> (Cache, Vocabulary) {
        let made = made(articles);
        (made.prepare(&Validation::Share { share: 0.25, seed: 1 }).expect("a cache"), made.vocabulary)
    }

    const QUARTER: Validation = Validation::Share { share: 0.25, seed: 1 };

    #[test]
    fn every_article_is_in_one_part_whole_and_what_is_read_is_what_was_made() {
        let made = made(12);
        let cache = made.prepare(&QUARTER).expect("made");
        assert_eq!((cache.train.articles, cache.validation.articles), (9, 3));
        let mut found: Vec<Vec<u32>> = Vec::new();
        for part in [&cache.train, &cache.validation] {
            let pieces: Vec<u32> = part.pieces().collect();
            found.extend(pieces.split_inclusive(|&id| id == made.vocabulary.separator()).map(<[u32]>::to_vec));
        }
        let mut expected: Vec<Vec<u32>> = text(12)
            .split_inclusive("\n\n")
            .map(|article| {
                [made.vocabulary.encode(&article.replace('=', "")).expect("pieces"), vec![made.vocabulary.separator()]]
                    .concat()
            })
            .collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);

        let again = [made.prepare(&QUARTER), Cache::open(&made.place(), &made.vocabulary)];
        for again in again.map(|again| again.expect("read")) {
            assert_eq!((&again.train.bytes, &again.validation.bytes), (&cache.train.bytes, &cache.validation.bytes));
            assert_eq!((again.train.articles, again.validation.articles), (9, 3));
        }
    }

    #[test]
    fn sequences_follow_each_other_in_the_stream() {
        let (cache, vocabulary) = cache(40);
        for length in [3, 4, 17, 128] {
            let count = cache.train.sequences(length).expect("sequences");
            let mut text = Vec::new();
            for number in 0..count {
                let sequence = cache.train.sequence(number, length);
                assert_eq!((sequence[0], sequence[length - 1]), (vocabulary.class(), vocabulary.separator()));
                text.extend_from_slice(&sequence[1..length - 1]);
            }
            let all: Vec<u32> = cache.train.pieces().collect();
            assert_eq!(text, all[..text.len()]);
            assert!(all.len() - text.len() < length - 2, "only the end is in no sequence");
        }
        insta::assert_snapshot!(cache.train.sequences(2).expect_err("no room"), @"
        there is no sequence of 2 pieces
          found    849 pieces in 30 articles
          needed   [CLS], at least one piece, [SEP], and text for one sequence
          try      more text, or another length
        ");
        insta::assert_snapshot!(cache.validation.sequences(100_000).expect_err("no text"), @"
        there is no sequence of 100000 pieces
          found    282 pieces in 10 articles
          needed   [CLS], at least one piece, [SEP], and text for one sequence
          try      more text, or another length
        ");
    }

    #[test]
    fn wide_pieces_and_several_shards_come_back() {
        let made = made(4);
        let pieces = SPECIAL.map(String::from).into_iter().chain((0..70_000).map(|i| format!("w{i}")));
        let vocabulary = Vocabulary::new(pieces.collect()).expect("a vocabulary");
        let mut split = Split::new(&vocabulary);
        let ids: Vec<u32> = (0..5_000_000).map(|i| i % 70_000).collect();
        split.push(&ids);
        assert_eq!((split.width, split.bytes.len()), (4, 20_000_004));
        let cache = Cache { train: split.clone(), validation: split };
        cache.write(&made.place(), Source::of(&made.corpus, &QUARTER, &vocabulary)).expect("written");
        assert_eq!(fs::metadata(made.place().join("train-000.bin")).expect("a shard").len(), SHARD as u64);
        let read = Cache::open(&made.place(), &vocabulary).expect("read");
        assert!(read.train.pieces().eq(ids.into_iter().chain([vocabulary.separator()])));
    }

    #[test]
    fn the_choice_of_articles_is_the_seeds() {
        let made = made(12);
        let chosen = |share, seed| held_back(&made.corpus, share, seed).expect("chosen");
        let count = |share| chosen(share, 3).iter().filter(|&&held_back| held_back).count();
        assert_eq!([0.001, 0.25, 0.5, 0.999].map(count), [1, 3, 6, 11]);
        assert_eq!(chosen(0.5, 3), chosen(0.5, 3));
        assert_ne!(chosen(0.5, 3), chosen(0.5, 4));
        insta::assert_snapshot!(made.refused(held_back(&made.corpus, 1.0, 3)), @"
        a validation share of 1
          expected a number between 0 and 1, such as 0.02
        ");
        let one = self::made(1);
        insta::assert_snapshot!(one.refused(one.prepare(&QUARTER)), @"
        a corpus of one article has none to hold back for validation
          expected articles that begin with a line `= Title =`, or blank lines between them
          try      a file of its own for validation
        ");
        assert!(!one.place().exists(), "nothing is half-written");
    }

    #[test]
    fn a_file_of_its_own_is_held_back_whole() {
        let made = made(6);
        let own = made.dir.path().join("own.txt");
        fs::write(&own, "Another number.\n\nAnd another.").expect("written");
        let own = Validation::Files(Corpus::open(&[own]).expect("a corpus"));
        let cache = made.prepare(&own).expect("made");
        assert_eq!((cache.train.articles, cache.validation.articles), (6, 2));
        let refused = without_hashes(&made.refused(made.prepare(&QUARTER)));
        insta::assert_snapshot!(refused, @"
        the cache cache was made from other text
          its own  sha256 …
                   held back: sha256 …
          given    sha256 …
                   held back: 0.25 of the articles, seed 1
          try      another folder for the cache, or take this one away
        ");
    }

    /// A text with its hashes shortened.
    fn without_hashes(text: &str) -> String {
        let is_hash = |word: &str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let lines = text.lines().map(|line| {
            line.split(' ')
                .map(|word| if is_hash(word.trim_end_matches(',')) { "…" } else { word })
                .collect::<Vec<_>>()
                .join(" ")
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_damaged_cache_and_another_vocabulary_are_refused() {
        let made = made(12);
        made.prepare(&QUARTER).expect("made");
        let open = |vocabulary: &Vocabulary| made.refused(Cache::open(&made.place(), vocabulary));
        let other = Vocabulary::train(&made.corpus, 50, &mut |_, _| {}).expect("a vocabulary");
        assert!(open(&other).starts_with("the cache cache was made with another vocabulary\n"));
        let shard = made.place().join("train-000.bin");
        let bytes = fs::read(&shard).expect("bytes");
        fs::write(&shard, &bytes[2..]).expect("written");
        insta::assert_snapshot!(open(&made.vocabulary), @"
        the cache cache is damaged
          found    train-000.bin, 352 bytes, does not have the hash that index.json names
          try      take the folder away, and it is made anew from the text
        ");
        fs::remove_file(&shard).expect("removed");
        insta::assert_snapshot!(open(&made.vocabulary), @"
        the cache cache is damaged
          found    train-000.bin: No such file or directory (os error 2)
          try      take the folder away, and it is made anew from the text
        ");
        fs::write(made.place().join(INDEX), "{}").expect("written");
        insta::assert_snapshot!(open(&made.vocabulary), @"
        the cache cache is damaged
          found    index.json: missing field `format` at line 1 column 2
          try      take the folder away, and it is made anew from the text
        ");
    }
}
