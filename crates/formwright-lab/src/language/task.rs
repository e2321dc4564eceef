//! The batch of a step, and the judgement of a model.
//!
//! ```text
//! masked, copying   the words at the places asked for              accuracy: the share of right words
//! pairs             a label                                        accuracy: the share of right labels
//! questions         the first and the last piece of the answer     F1, exact match: of the best span of all windows
//! ```
//!
//! The loss is the mean of `-log softmax` at the right answers; for a span, the mean over both ends. Every batch has
//! the same shape: where examples run out, the first is taken again, with weight 0.

use std::path::Path;

use burn::module::AutodiffModule;
use burn::prelude::*;
use burn::tensor::TensorData;
use formwright::error::{Error, Result};

use crate::checkpoint;
use crate::encoder::head::cross_entropy;
use crate::encoder::{Batch, Initial};
use crate::folder::{Folder, Known};
use crate::study::Training;
use crate::text::batch::{self, Encoded, Padded};
use crate::text::copying::Copying;
use crate::text::entropy::{entropy, unigram};
use crate::text::mask::Masking;
use crate::text::order;
use crate::text::squad::{Span, answer, evaluate};
use crate::text::vocabulary::Vocabulary;
use crate::train::{Ended, Judgement, Task};

use super::config::{Asked, Experiment, Run};
use super::model::Reader;
use super::source::{Questions, Source};

/// The seed of the validation data: the same for all runs.
const VALIDATION: u64 = 0x5eed;

/// A task of a run.
pub struct Reading<'a, B: Backend> {
    run: &'a Run,
    device: B::Device,
    feed: Feed<'a>,
    start: Reader<B>,
}

/// The source of examples.
enum Feed<'a> {
    Masked { training: Masking<'a>, validation: Masking<'a>, unigram: f64 },
    Copying { training: Copying, validation: Copying, symbols: usize },
    Pairs { training: &'a [(Encoded, usize)], validation: &'a [(Encoded, usize)], vocabulary: &'a Vocabulary },
    Questions { questions: &'a Questions, vocabulary: &'a Vocabulary },
}

/// Examples on a device, and the right answers.
struct Seen<B: Backend> {
    batch: Batch<B>,
    /// The places whose words are asked for.
    places: Option<Tensor<B, 2, Int>>,
    /// For each matrix of scores, the right column of every row.
    answers: Vec<Tensor<B, 1, Int>>,
    /// The weight of each row.
    weights: Tensor<B, 1>,
    /// The sum of the weights.
    total: f64,
}

impl<'a, B: Training> Reading<'a, B> {
    /// The task of a run, with the weights that it begins with.
    pub fn new(experiment: &Experiment, source: &'a Source, run: &'a Run, device: &B::Device) -> Result<Self> {
        let missing = || Error::input(format!("the texts for {} were not read", run.task.name()));
        let (rows, length) = (run.data.batch, run.encoder.tokens);
        let vocabulary = || source.vocabulary.as_ref().ok_or_else(missing);
        let (feed, words) = match run.task {
            Asked::Masked => {
                let (cache, vocabulary) = (source.cache.as_ref().ok_or_else(missing)?, vocabulary()?);
                let training = Masking::new(&cache.train, vocabulary, rows, length, run.seed)?;
                let validation = Masking::new(&cache.validation, vocabulary, rows, length, VALIDATION)?;
                let unigram = unigram(&cache.validation, vocabulary);
                (Feed::Masked { training, validation, unigram }, vocabulary.pieces().len())
            }
            Asked::Copying => {
                let symbols = run.copying.symbols;
                let copying = |seed| Copying::new(rows, length, run.copying.distance, symbols, seed);
                let training = copying(order::stream(run.seed, &[0]))?;
                (
                    Feed::Copying { training, validation: copying(order::stream(VALIDATION, &[1]))?, symbols },
                    training.pieces(),
                )
            }
            Asked::Pairs => {
                let [training, validation] = source.pairs.as_ref().ok_or_else(missing)?;
                let validation = &validation[..validation.len().min(run.data.validation)];
                let vocabulary = vocabulary()?;
                (Feed::Pairs { training, validation, vocabulary }, vocabulary.pieces().len())
            }
            Asked::Questions => {
                let (questions, vocabulary) = (source.questions.as_ref().ok_or_else(missing)?, vocabulary()?);
                (Feed::Questions { questions, vocabulary }, vocabulary.pieces().len())
            }
        };
        let sizes = run.sizes(words);
        let initial = Initial::new(run.seed, device);
        let mut start = Reader::new(&initial, &sizes, run.task, run.encoder.precision)?;
        if run.fine_tuned {
            let trained = pretrained(experiment, source, run, words, device)?;
            start = if run.task == Asked::Masked { trained } else { start.on(trained) };
        }
        Ok(Self { run, device: device.clone(), feed, start })
    }

    /// The batch with a number.
    fn seen(&self, number: u64) -> Result<Seen<B>> {
        let places = |count: usize| {
            let first = number * self.run.data.batch as u64;
            (0..self.run.data.batch as u64).map(move |row| Some(order::example(self.run.seed, count, first + row)))
        };
        match &self.feed {
            Feed::Masked { training, .. } => Ok(self.asked(&training.batch(number))),
            Feed::Copying { training, .. } => Ok(self.asked(&training.batch(number))),
            Feed::Pairs { training, vocabulary, .. } => self.pairs(training, places(training.len()), vocabulary),
            Feed::Questions { questions, vocabulary } => {
                let training = &questions.training;
                let chosen = places(training.len()).map(|place| place.map(|place| &training[place]));
                self.questions(chosen, vocabulary)
            }
        }
    }
}

/// The encoder that a run begins with: one with the same layout, and with the same seed if there is one.
fn pretrained<B: Training>(
    experiment: &Experiment,
    source: &Source,
    run: &Run,
    words: usize,
    device: &B::Device,
) -> Result<Reader<B>> {
    let from = &experiment.from;
    let folder = Folder::<Experiment>::open(Path::new(from))?;
    let runs = folder.runs()?;
    // A run that has ended otherwise, or not at all, is no beginning.
    let ended =
        |known: &Option<Known<Run>>| known.as_ref().is_some_and(|(about, _)| about.ended == Some(Ended::Budget));
    let fits = |other: &Run| other.task == Asked::Masked && other.layout == run.layout;
    let candidates = || runs.iter().enumerate().filter(|(_, (other, known))| fits(other) && ended(known));
    let found = candidates().find(|(_, (other, _))| other.seed == run.seed).or_else(|| candidates().next());
    let Some((index, (other, Some((about, _))))) = found else {
        let known: Vec<String> = runs.iter().map(|(other, _)| other.layout.to_string()).collect();
        return Err(Error::input(format!("{from} has trained no encoder with the layout {}", run.layout))
            .note("found", known.join("; "))
            .note("try", format!("formwright lab resume {from}, or another experiment for from")));
    };
    if other.encoder != run.encoder {
        return Err(Error::input(format!("the encoders of {from} have other sizes, or another precision"))
            .note("found", format!("{:?}", other.encoder))
            .note("expected", format!("{:?}", run.encoder))
            .note("try", "the [encoder] of its experiment.toml"));
    }
    let dir = folder.of(other, index);
    if let (Some(vocabulary), Some(theirs)) = (&source.vocabulary, &about.vocabulary) {
        vocabulary.check(&format!("the encoder {}", dir.display()), theirs)?;
    }
    // Parts that are not trained come from the seed: the features of Performers.
    let fresh =
        Reader::new(&Initial::new(other.seed, device), &run.sizes(words), Asked::Masked, run.encoder.precision)?;
    checkpoint::weights(&dir.join("checkpoint"), device, fresh)
}

impl<B: Backend> Reading<'_, B> {
    fn shape(&self) -> [usize; 2] {
        [self.run.data.batch, self.run.encoder.tokens]
    }

    /// Sequences that ask for words.
    fn asked<C: Backend<Device = B::Device>>(&self, asked: &batch::Asked) -> Seen<C> {
        let [rows, length] = self.shape();
        let places: Vec<u32> =
            asked.positions.iter().map(|place| place % u32::try_from(length).unwrap_or(u32::MAX)).collect();
        let weights = TensorData::new(asked.weights.clone(), [asked.weights.len()]);
        Seen {
            batch: Batch { ids: integers(&asked.inputs, self.shape(), &self.device), segments: None, padding: None },
            places: Some(integers(&places, [rows, places.len() / rows], &self.device)),
            answers: vec![integers(&asked.labels, [asked.labels.len()], &self.device)],
            weights: Tensor::from_data(weights, &self.device),
            total: asked.weights.iter().map(|weight| f64::from(*weight)).sum(),
        }
    }

    /// Examples filled up to the length of the model; missing ones have weight 0.
    fn padded<'e, C: Backend<Device = B::Device>>(
        &self,
        examples: &[Option<&'e Encoded>],
        filler: &'e Encoded,
        vocabulary: &Vocabulary,
    ) -> Result<Seen<C>> {
        let rows =
            Padded::new(examples.iter().map(|example| example.unwrap_or(filler)), self.run.encoder.tokens, vocabulary)?;
        let weights: Vec<f32> = examples.iter().map(|example| if example.is_some() { 1.0 } else { 0.0 }).collect();
        let hidden: Vec<bool> = rows.seen.iter().map(|seen| !seen).collect();
        Ok(Seen {
            batch: Batch {
                ids: integers(&rows.ids, self.shape(), &self.device),
                segments: Some(integers(&rows.segments, self.shape(), &self.device)),
                padding: Some(Tensor::from_data(TensorData::new(hidden, self.shape()), &self.device)),
            },
            places: None,
            answers: Vec::new(),
            total: weights.iter().map(|weight| f64::from(*weight)).sum(),
            weights: Tensor::from_data(TensorData::new(weights, [examples.len()]), &self.device),
        })
    }

    fn pairs<C: Backend<Device = B::Device>>(
        &self,
        pairs: &[(Encoded, usize)],
        places: impl Iterator<Item = Option<usize>>,
        vocabulary: &Vocabulary,
    ) -> Result<Seen<C>> {
        let chosen: Vec<Option<&(Encoded, usize)>> =
            places.map(|place| place.and_then(|place| pairs.get(place))).collect();
        let examples: Vec<Option<&Encoded>> = chosen.iter().map(|pair| pair.map(|(encoded, _)| encoded)).collect();
        let labels: Vec<u32> = chosen.iter().map(|pair| pair.map_or(0, |(_, label)| small(*label))).collect();
        let seen = self.padded(&examples, &pairs[0].0, vocabulary)?;
        Ok(Seen { answers: vec![integers(&labels, [labels.len()], &self.device)], ..seen })
    }

    fn questions<'w, C: Backend<Device = B::Device>>(
        &self,
        windows: impl Iterator<Item = Option<&'w crate::text::squad::Window>>,
        vocabulary: &Vocabulary,
    ) -> Result<Seen<C>> {
        let windows: Vec<Option<&crate::text::squad::Window>> = windows.collect();
        let nothing = Encoded::pair(vocabulary, &[], &[]);
        let examples: Vec<Option<&Encoded>> =
            windows.iter().map(|window| window.map(|window| &window.encoded)).collect();
        let answers = windows.iter().map(|window| window.and_then(|window| window.answer).unwrap_or_default());
        let (first, last): (Vec<u32>, Vec<u32>) = answers.map(|(first, last)| (small(first), small(last))).unzip();
        let seen = self.padded(&examples, &nothing, vocabulary)?;
        Ok(Seen { answers: [first, last].map(|ends| integers(&ends, [ends.len()], &self.device)).into(), ..seen })
    }

    /// The number of batches that hold all of `count` examples.
    fn batches(&self, count: usize) -> u64 {
        count.div_ceil(self.run.data.batch) as u64
    }

    /// The examples of a batch, in order; none after their end.
    fn in_order(&self, number: u64, count: usize) -> impl Iterator<Item = Option<usize>> + use<B> {
        let first = usize::try_from(number).unwrap_or_default() * self.run.data.batch;
        (first..first + self.run.data.batch).map(move |place| (place < count).then_some(place))
    }
}

impl<B: Training> Reading<'_, B> {
    /// Loss and accuracy over batches.
    fn rows(
        model: &Reader<B::InnerBackend>,
        batches: u64,
        seen: impl Fn(u64) -> Result<Seen<B::InnerBackend>>,
    ) -> Result<Judgement> {
        let (mut loss, mut right, mut total) = (0.0, 0.0, 0.0);
        for number in 0..batches {
            let seen = seen(number)?;
            let scores = model.forward(&seen.batch, seen.places.as_ref());
            for (scores, answers) in scores.into_iter().zip(&seen.answers) {
                let best = scores.clone().argmax(1).reshape([-1]);
                let hits = best.equal(answers.clone()).float() * seen.weights.clone();
                right += hits.sum().into_scalar().elem::<f64>();
                loss += seen.total
                    * cross_entropy(scores, answers.clone(), seen.weights.clone()).into_scalar().elem::<f64>();
            }
            total += seen.total;
        }
        Ok(Judgement { loss: loss / total, scores: vec![right / total] })
    }

    /// Loss over the windows with an answer, F1 and exact match over questions.
    fn spans(
        &self,
        model: &Reader<B::InnerBackend>,
        questions: &Questions,
        vocabulary: &Vocabulary,
    ) -> Result<Judgement> {
        let length = self.run.encoder.tokens;
        let mut spans: Vec<Vec<Span>> = vec![Vec::new(); questions.asked.len()];
        let (mut loss, mut answered) = (0.0, 0.0);
        for number in 0..self.batches(questions.windows.len()) {
            let chosen: Vec<Option<&(usize, _)>> = self
                .in_order(number, questions.windows.len())
                .map(|place| place.map(|place| &questions.windows[place]))
                .collect();
            let seen = self
                .questions::<B::InnerBackend>(chosen.iter().map(|pair| pair.map(|(_, window)| window)), vocabulary)?;
            let scores = model.forward(&seen.batch, None);
            let host: Vec<Vec<f32>> = scores.iter().map(|scores| scores.to_data().iter::<f32>().collect()).collect();
            for (row, pair) in chosen.iter().enumerate() {
                let Some((question, window)) = pair else { continue };
                let [starts, ends] = [0, 1].map(|end| &host[end][row * length..][..length]);
                spans[*question].extend(window.best(starts, ends, self.run.data.longest));
                if let Some((first, last)) = window.answer {
                    loss += f64::midpoint(surprise(starts, first), surprise(ends, last));
                    answered += 1.0;
                }
            }
        }
        let predictions: Vec<String> =
            questions.asked.iter().zip(spans).map(|(question, spans)| answer(&question.context, spans)).collect();
        let scores = evaluate(&questions.asked, &predictions);
        Ok(Judgement { loss: loss / answered, scores: vec![scores.f1 / 100.0, scores.exact_match / 100.0] })
    }
}

/// `-log softmax(scores)` at a place.
fn surprise(scores: &[f32], place: usize) -> f64 {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = scores.iter().map(|score| f64::from(score - most).exp()).sum();
    sum.ln() - f64::from(scores[place] - most)
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn integers<B: Backend, const D: usize>(numbers: &[u32], shape: [usize; D], device: &B::Device) -> Tensor<B, D, Int> {
    #[expect(clippy::cast_possible_wrap, reason = "numbers of pieces and of places")]
    let numbers: Vec<i32> = numbers.iter().map(|number| *number as i32).collect();
    Tensor::from_data(TensorData::new(numbers, shape), device)
}

impl<B: Training> Task<B> for Reading<'_, B> {
    type Model = Reader<B>;

    fn fresh(&self) -> Reader<B> {
        self.start.clone()
    }

    fn loss(&self, model: &Reader<B>, batch: u64) -> Result<Tensor<B, 1>> {
        let seen = self.seen(batch)?;
        let scores = model.forward(&seen.batch, seen.places.as_ref());
        let losses = scores.into_iter().zip(&seen.answers);
        let losses: Vec<Tensor<B, 1>> =
            losses.map(|(scores, answers)| cross_entropy(scores, answers.clone(), seen.weights.clone())).collect();
        Ok(Tensor::cat(losses, 0).mean())
    }

    fn validate(&self, model: &<Reader<B> as AutodiffModule<B>>::InnerModule) -> Result<Judgement> {
        let batches = self.batches(self.run.data.validation);
        match &self.feed {
            Feed::Masked { validation, .. } => {
                Self::rows(model, batches, |number| Ok(self.asked(&validation.batch(number))))
            }
            Feed::Copying { validation, .. } => {
                Self::rows(model, batches, |number| Ok(self.asked(&validation.batch(number))))
            }
            Feed::Pairs { validation, vocabulary, .. } => Self::rows(model, self.batches(validation.len()), |number| {
                self.pairs(validation, self.in_order(number, validation.len()), vocabulary)
            }),
            Feed::Questions { questions, vocabulary } => self.spans(model, questions, vocabulary),
        }
    }

    fn steps_an_epoch(&self) -> u64 {
        self.run.budget.evaluate
    }

    /// The loss of frequencies alone: of words, of symbols, of labels; for the ends of an answer, all pieces of a
    /// window alike.
    #[expect(clippy::cast_precision_loss, reason = "counts")]
    fn best_constant(&self) -> f64 {
        match &self.feed {
            Feed::Masked { unigram, .. } => *unigram,
            Feed::Copying { symbols, .. } => (*symbols as f64).ln(),
            Feed::Pairs { validation, .. } => entropy(validation.iter().map(|(_, label)| *label)),
            Feed::Questions { questions, .. } => {
                let answered = questions.windows.iter().filter(|(_, window)| window.answer.is_some());
                let lengths: Vec<f64> = answered.map(|(_, window)| (window.encoded.ids.len() as f64).ln()).collect();
                lengths.iter().sum::<f64>() / lengths.len() as f64
            }
        }
    }

    /// The latest weights count: every step sees new data, or there are only a few epochs.
    fn keeps_best(&self) -> bool {
        false
    }
}
