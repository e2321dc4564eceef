//! The folder with the texts.
//!
//! ```text
//! TEXT/vocabulary.txt        a piece a line
//! TEXT/cache/                the corpus in pieces (text::cache)
//! TEXT/pairs/*.jsonl         {"premise", "hypothesis", "label"} a line
//! TEXT/questions/*.json      SQuAD v1.1
//! ```
//!
//! `formwright lab text` makes it from plain text; pairs and questions are put there by hand.

use std::fs;
use std::path::{Path, PathBuf};

use formwright::artifact::{beside, sha256};
use formwright::error::{Error, Result};

use crate::encoder::{Layout, Mix};
use crate::text::batch::Encoded;
use crate::text::cache::{Cache, Validation};
use crate::text::corpus::Corpus;
use crate::text::nli::read_pairs;
use crate::text::squad::{Question, Window, read_questions};
use crate::text::vocabulary::Vocabulary;

use super::config::{Asked, Experiment, Files};

const VOCABULARY: &str = "vocabulary.txt";
const CACHE: &str = "cache";

/// The articles held back if no validation text is given: this share, by this seed.
const HELD_BACK: (f64, u64) = (0.01, 1);

/// The data that the runs of an experiment read.
pub struct Source {
    /// The vocabulary, where one is needed.
    pub vocabulary: Option<Vocabulary>,
    /// The corpus.
    pub cache: Option<Cache>,
    /// Pairs with the number of their label, for training and for validation.
    pub pairs: Option<[Vec<(Encoded, usize)>; 2]>,
    /// Questions.
    pub questions: Option<Questions>,
    /// A hash of all of it.
    pub sha256: String,
}

/// Questions in windows.
pub struct Questions {
    /// Windows to train on: all of them have an answer.
    pub training: Vec<Window>,
    /// Questions to judge by.
    pub asked: Vec<Question>,
    /// Their windows, with the place of their question.
    pub windows: Vec<(usize, Window)>,
}

impl Source {
    /// Reads the data that the tasks of an experiment need.
    pub fn read(experiment: &Experiment) -> Result<Self> {
        let dir = Path::new(&experiment.text);
        let needs = |task: Asked| experiment.tasks.contains(&task);
        let mut hashes = Vec::new();
        for mix in experiment.layouts.iter().flat_map(Layout::layers) {
            if let Mix::Sparse { pattern } = mix
                && let Some(file) = pattern.strip_prefix("file:")
            {
                hashes.push(hash(Path::new(file))?);
            }
        }
        let mut source = Self { vocabulary: None, cache: None, pairs: None, questions: None, sha256: String::new() };
        if experiment.tasks.iter().all(|task| *task == Asked::Copying) {
            source.sha256 = sha256(hashes.join(" ").as_bytes());
            return Ok(source);
        }
        let vocabulary = Vocabulary::read(&dir.join(VOCABULARY)).map_err(|error| {
            error.note(
                "try",
                format!("formwright lab text CORPUS -o {}, or --text with a folder that it has made", dir.display()),
            )
        })?;
        hashes.push(vocabulary.sha256().to_owned());
        if needs(Asked::Masked) {
            let cache = dir.join(CACHE);
            source.cache = Some(Cache::open(&cache, &vocabulary)?);
            hashes.push(hash(&cache.join("index.json"))?);
        }
        let length = experiment.encoder.tokens;
        let files = |files: &[String]| files.iter().map(|file| dir.join(file)).collect::<Vec<PathBuf>>();
        let mut hash_all = |Files { training, validation }: &Files| -> Result<()> {
            for file in files(training).iter().chain(&files(validation)) {
                hashes.push(hash(file)?);
            }
            Ok(())
        };
        if needs(Asked::Pairs) {
            hash_all(&experiment.pairs)?;
            let read = |names: &[String]| {
                let mut all = Vec::new();
                for file in files(names) {
                    for pair in read_pairs(&file)? {
                        all.push((pair.encode(&vocabulary, length)?, pair.label));
                    }
                }
                some(all, names)
            };
            source.pairs = Some([read(&experiment.pairs.training)?, read(&experiment.pairs.validation)?]);
        }
        if needs(Asked::Questions) {
            hash_all(&experiment.questions)?;
            let read = |names: &[String]| {
                let mut all = Vec::new();
                for file in files(names) {
                    all.extend(read_questions(&file)?);
                }
                some(all, names)
            };
            let stride = experiment.data.stride;
            let mut training = Vec::new();
            for question in read(&experiment.questions.training)? {
                let windows = question.windows(&vocabulary, length, stride)?;
                training.extend(windows.into_iter().filter(|window| window.answer.is_some()));
            }
            let mut asked = read(&experiment.questions.validation)?;
            asked.truncate(experiment.data.validation);
            let mut windows = Vec::new();
            for (place, question) in asked.iter().enumerate() {
                windows
                    .extend(question.windows(&vocabulary, length, stride)?.into_iter().map(|window| (place, window)));
            }
            if windows.iter().all(|(_, window)| window.answer.is_none()) {
                return Err(nothing(&experiment.questions.validation));
            }
            source.questions =
                Some(Questions { training: some(training, &experiment.questions.training)?, asked, windows });
        }
        source.sha256 = sha256(hashes.join(" ").as_bytes());
        source.vocabulary = Some(vocabulary);
        Ok(source)
    }
}

fn hash(file: &Path) -> Result<String> {
    let bytes = fs::read(file).map_err(|error| Error::input(format!("cannot read {}: {error}", file.display())))?;
    Ok(sha256(&bytes))
}

fn some<T>(examples: Vec<T>, files: &[String]) -> Result<Vec<T>> {
    if examples.is_empty() { Err(nothing(files)) } else { Ok(examples) }
}

fn nothing(files: &[String]) -> Error {
    Error::input(format!("there are no examples in {}", files.join(", ")))
        .note("expected", "at least one; of questions, one whose answer fits into a sequence")
}

/// Makes the folder with the texts: a vocabulary, read or trained, and the corpus in its pieces.
///
/// `progress` is told the current step and its progress.
pub fn prepare(
    dir: &Path,
    corpus: &[PathBuf],
    validation: &[PathBuf],
    vocabulary: Option<&Path>,
    size: usize,
    progress: &mut dyn FnMut(&str, u64, u64),
) -> Result<(Vocabulary, Cache)> {
    if dir.symlink_metadata().is_ok() {
        return Err(Error::input(format!("{} exists, and nothing overwrites it", dir.display()))
            .note("try", "-o with another name"));
    }
    let corpus = Corpus::open(corpus)?;
    let held_back = if validation.is_empty() {
        Validation::Share { share: HELD_BACK.0, seed: HELD_BACK.1 }
    } else {
        Validation::Files(Corpus::open(validation)?)
    };
    let vocabulary = match vocabulary {
        Some(file) => Vocabulary::read(file)?,
        None => Vocabulary::train(&corpus, size, &mut |done, all| progress("the vocabulary", done, all))?,
    };
    let new = beside(dir, "new")?;
    let made = make(&new, &corpus, &held_back, &vocabulary, progress).and_then(|cache| {
        fs::rename(&new, dir).map_err(|error| Error::input(format!("cannot write {}: {error}", dir.display())))?;
        Ok(cache)
    });
    if made.is_err() {
        // The error that came first is the one to report.
        drop(fs::remove_dir_all(&new));
    }
    Ok((vocabulary, made?))
}

fn make(
    new: &Path,
    corpus: &Corpus,
    held_back: &Validation,
    vocabulary: &Vocabulary,
    progress: &mut dyn FnMut(&str, u64, u64),
) -> Result<Cache> {
    fs::create_dir_all(new).map_err(|error| Error::input(format!("cannot write {}: {error}", new.display())))?;
    vocabulary.write(&new.join(VOCABULARY))?;
    Cache::prepare(&new.join(CACHE), corpus, held_back, vocabulary, &mut |done, all| progress("the pieces", done, all))
}
