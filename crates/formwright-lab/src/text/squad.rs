//! Questions whose answer is a span of a text (SQuAD v1.1): windows of pieces, spans, exact match and F1.
//!
//! A window is `[CLS]` question `[SEP]` part of the context `[SEP]`. Long contexts give several windows, each beginning
//! `stride` pieces after the one before. A model scores each piece as a start and as an end; the prediction is the span
//! `i ≤ j`, no longer than a cap, inside the context, with the largest `start_i + end_j` of all windows.
//!
//! The two measures, from their definition: texts are lower-cased, punctuation (ASCII) and the words *a*, *an*, *the*
//! are left out, and white space only separates words. Exact match: the words are the same, in order. F1, of the
//! multisets of words: `2 p r / (p + r)`, with `p` the share of the predicted words that are in the reference, `r` the
//! share of the reference's words that are predicted; 0 if they share none. Of several references the best counts,
//! measure by measure.

use super::{batch::Encoded, read, vocabulary::Piece, vocabulary::Vocabulary};
use formwright::error::{Error, Result};
use serde::Deserialize;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The most pieces of a question that a window keeps.
const QUESTION: usize = 64;

/// A question about a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its identifier.
    pub id: String,
    /// The question.
    pub question: String,
    /// The text that holds the answer.
    pub context: Arc<str>,
    /// The answers of several people, as bytes of the context.
    pub answers: Vec<Range<usize>>,
}

/// A part of a context after its question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The input of the model.
    pub encoded: Encoded,
    /// The first and the last piece of the first answer, if the window has all of it.
    pub answer: Option<(usize, usize)>,
    /// The place in the window at which the context's pieces begin.
    first: usize,
    /// The context's bytes, piece by piece.
    pieces: Vec<Range<usize>>,
}

/// A span of the context, and how well it did.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The sum of its two scores.
    pub score: f32,
    /// Bytes of the context.
    pub bytes: Range<usize>,
}

/// The means of both measures, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    /// The share of answers that equal somebody's, word by word.
    pub exact_match: f64,
    /// The mean of F1.
    pub f1: f64,
}

#[derive(Deserialize)]
struct File {
    data: Vec<Article>,
}

#[derive(Deserialize)]
struct Article {
    paragraphs: Vec<Paragraph>,
}

#[derive(Deserialize)]
struct Paragraph {
    context: String,
    qas: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    id: String,
    question: String,
    answers: Vec<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    text: String,
    answer_start: usize,
}

/// Reads a file of SQuAD v1.1.
pub fn read_questions(file: &Path) -> Result<Vec<Question>> {
    let place = |error: Error| error.note_first("in", file.display().to_string());
    let parsed: File = serde_json::from_str(&read(file)?).map_err(|error| {
        place(
            Error::input("not questions as SQuAD v1.1 has them")
                .note("found", error.to_string())
                .note("expected", r#"{"data": [{"paragraphs": [{"context", "qas": [{"id", "question", "answers": [{"text", "answer_start"}]}]}]}]}"#),
        )
    })?;
    let mut questions = Vec::new();
    for Paragraph { context, qas } in parsed.data.into_iter().flat_map(|article| article.paragraphs) {
        let context: Arc<str> = context.into();
        // Answers are placed by characters.
        let characters: Vec<usize> = context.char_indices().map(|(byte, _)| byte).collect();
        for Asked { id, question, answers } in qas {
            let answers = answers.iter().map(|answer| locate(answer, &context, &characters));
            let answers = answers.collect::<Result<Vec<_>>>().and_then(|answers| match answers.len() {
                0 => {
                    Err(Error::input("a question without an answer").note("try", "SQuAD v1.1, which has none of them"))
                }
                _ => Ok(answers),
            });
            let answers = answers.map_err(|error| place(error.note_first("question", format!("{id}: {question}"))))?;
            questions.push(Question { id, question, context: context.clone(), answers });
        }
    }
    if questions.is_empty() {
        return Err(place(Error::input("there are no questions")));
    }
    Ok(questions)
}

fn locate(answer: &Answer, context: &str, characters: &[usize]) -> Result<Range<usize>> {
    let Answer { text, answer_start } = answer;
    let found = characters.get(*answer_start).map(|&start| &context[start..]);
    match found {
        Some(found) if found.starts_with(text) && !text.is_empty() => {
            let start = context.len() - found.len();
            Ok(start..start + text.len())
        }
        _ => {
            let found = found.map_or_else(
                || format!("the context has {} characters", characters.len()),
                |found| format!("{:?}", found.chars().take(text.chars().count().max(1)).collect::<String>()),
            );
            Err(Error::input(format!("the answer {text:?} is not at character {answer_start} of its context"))
                .note("found", found)
                .note("expected", "answer_start counts characters, not bytes, from 0"))
        }
    }
}

impl Question {
    /// The windows of at most `length` pieces. The next begins `stride` context pieces after this one, or where this
    /// one ends, if that is nearer: every piece is in a window.
    pub fn windows(&self, vocabulary: &Vocabulary, length: usize, stride: usize) -> Result<Vec<Window>> {
        let mut question = vocabulary.encode(&self.question)?;
        question.truncate(QUESTION);
        let room = length.saturating_sub(question.len() + 3);
        if room == 0 || stride == 0 {
            return Err(Error::input(format!(
                "windows of {length} pieces, {stride} apart, hold nothing of the context"
            ))
            .note("question", format!("{}: {} pieces and 3 special tokens", self.id, question.len()))
            .note("expected", "a length with room for question and context, and a stride of at least 1"));
        }
        let pieces = vocabulary.locate(&self.context)?;
        let answer = self.answers.first().and_then(|answer| covering(&pieces, answer));
        let mut windows = Vec::new();
        for start in (0..).step_by(stride.min(room)) {
            let part = &pieces[start..pieces.len().min(start + room)];
            let first = question.len() + 2;
            let ids: Vec<u32> = part.iter().map(|piece| piece.id).collect();
            let inside = answer.filter(|&(from, to)| from >= start && to < start + part.len());
            windows.push(Window {
                encoded: Encoded::pair(vocabulary, &question, &ids),
                answer: inside.map(|(from, to)| (from - start + first, to - start + first)),
                first,
                pieces: part.iter().map(|piece| piece.start..piece.end).collect(),
            });
            if start + room >= pieces.len() {
                break;
            }
        }
        Ok(windows)
    }

    /// The texts of the answers.
    pub fn references(&self) -> Vec<&str> {
        self.answers.iter().map(|answer| &self.context[answer.clone()]).collect()
    }
}

/// The first and the last piece that share a byte with a span.
fn covering(pieces: &[Piece], span: &Range<usize>) -> Option<(usize, usize)> {
    let first = pieces.iter().position(|piece| piece.end > span.start)?;
    let last = pieces.iter().rposition(|piece| piece.start < span.end)?;
    (first <= last).then_some((first, last))
}

impl Window {
    /// The span of at most `cap` pieces with the largest sum of scores, the first among equals; scores are by piece of
    /// the window. None if no sum is a number.
    pub fn best(&self, starts: &[f32], ends: &[f32], cap: usize) -> Option<Span> {
        let mut best: Option<Span> = None;
        for from in 0..self.pieces.len() {
            for to in from..self.pieces.len().min(from + cap) {
                let score = starts[self.first + from] + ends[self.first + to];
                if best.as_ref().map_or(!score.is_nan(), |best| score > best.score) {
                    best = Some(Span { score, bytes: self.pieces[from].start..self.pieces[to].end });
                }
            }
        }
        best
    }
}

/// The text of the best span of several windows; without spans, an empty answer.
pub fn answer(context: &str, spans: impl IntoIterator<Item = Span>) -> String {
    let best = spans.into_iter().reduce(|best, span| if span.score > best.score { span } else { best });
    best.map_or_else(String::new, |span| context[span.bytes].to_owned())
}

/// Both measures over questions and predicted answers, in the same order.
#[expect(clippy::cast_precision_loss, reason = "counts of questions")]
pub fn evaluate(questions: &[Question], predictions: &[String]) -> Scores {
    assert_eq!(questions.len(), predictions.len(), "a prediction a question");
    let percent = |measure: fn(&str, &str) -> f64| {
        let best = questions.iter().zip(predictions).map(|(question, prediction)| {
            question.references().into_iter().map(|reference| measure(prediction, reference)).fold(0.0, f64::max)
        });
        100.0 * best.sum::<f64>() / questions.len().max(1) as f64
    };
    Scores { exact_match: percent(exact_match), f1: percent(f1) }
}

/// 1 if the words are the same, else 0.
pub fn exact_match(prediction: &str, reference: &str) -> f64 {
    f64::from(words(prediction) == words(reference))
}

/// The harmonic mean of precision and recall, of multisets of words.
#[expect(clippy::cast_precision_loss, reason = "counts of words")]
pub fn f1(prediction: &str, reference: &str) -> f64 {
    let (predicted, expected) = (words(prediction), words(reference));
    let mut left: HashMap<&str, usize> = HashMap::new();
    for word in &expected {
        *left.entry(word).or_default() += 1;
    }
    let taken = |word: &&String| {
        left.get_mut(word.as_str()).is_some_and(|count| std::mem::replace(count, count.saturating_sub(1)) > 0)
    };
    let shared = predicted.iter().filter(taken).count();
    // 2pr/(p+r) with p = shared/predicted and r = shared/expected.
    if shared == 0 { 0.0 } else { 2.0 * shared as f64 / (predicted.len() + expected.len()) as f64 }
}

/// The words that are compared.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let text: String = text.chars().filter(|c| !c.is_ascii_punctuation()).collect();
    // An article is a maximal run of letters and digits: the sign beside it need not be ASCII.
    let mut kept = String::new();
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let same = |c: char| c.is_alphanumeric() == first.is_alphanumeric();
        let (run, after) = rest.split_at(rest.find(|c| !same(c)).unwrap_or(rest.len()));
        kept.push_str(if matches!(run, "a" | "an" | "the") { " " } else { run });
        rest = after;
    }
    kept.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} against {expected}");
    }

    #[test]
    fn words_lose_case_punctuation_and_articles() {
        let cases: [(&str, &[&str]); 8] = [
            ("The  Cat's, hat!", &["cats", "hat"]),
            ("a an the A AN THE", &[]),
            ("theatre anthem", &["theatre", "anthem"]),
            ("the–cat", &["–cat"]),
            ("\u{201c}A\u{201d} team", &["\u{201c}", "\u{201d}", "team"]),
            ("$1,000.50", &["100050"]),
            ("a-b", &["ab"]),
            ("É\u{a0}à\tb", &["é", "à", "b"]),
        ];
        for (text, expected) in cases {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn measures_by_hand() {
        close(exact_match("the Denver Broncos.", "Denver Broncos"), 1.0);
        close(exact_match("Broncos Denver", "Denver Broncos"), 0.0);
        close(f1("Broncos Denver", "Denver Broncos"), 1.0);
        // Shared: 1 of 2 predicted, 1 of 3 expected: p = 1/2, r = 1/3, f = 2/5.
        close(f1("Denver team", "Denver Broncos club"), 0.4);
        // Multisets: "b" is shared twice, of 4 and of 3: p = 1/2, r = 2/3, f = 4/7.
        close(f1("b b b c", "b b d"), 4.0 / 7.0);
        close(f1("x", "y"), 0.0);
        close(f1("", "y"), 0.0);
        close(exact_match("the", "a"), 1.0);
        close(f1("the", "a"), 0.0);
    }

    /// Characters of one, two and three bytes before the answers.
    const CONTEXT: &str = "Café № 7 opened in 1999, in Old Town.";

    fn file(answers: &str) -> String {
        format!(
            r#"{{"version": "1.1", "data": [{{"title": "t", "paragraphs": [{{"context": "{CONTEXT}", "qas": [
                {{"id": "q1", "question": "When was it opened?", "answers": [{answers}]}}]}}]}}]}}"#
        )
    }

    fn read_text(text: &str) -> Result<Vec<Question>> {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("squad.json");
        fs::write(&path, text).expect("written");
        read_questions(&path)
    }

    const YEAR: &str = r#"{"text": "1999", "answer_start": 19}, {"text": "in 1999", "answer_start": 16}"#;

    fn question() -> Question {
        read_text(&file(YEAR)).expect("questions").remove(0)
    }

    fn vocabulary() -> Vocabulary {
        let pieces = "[PAD] [UNK] [CLS] [SEP] [MASK] when was it opened ? cafe № 7 in 19 ##99 , old town .";
        Vocabulary::new(pieces.split(' ').map(str::to_owned).collect()).expect("a vocabulary")
    }

    #[test]
    fn answers_are_placed_by_characters_and_means_are_over_questions() {
        let question = question();
        assert_eq!(question.references(), ["1999", "in 1999"]);
        let twice = [question.clone(), question];
        let scores = evaluate(&twice, &["In 1999!".into(), "opened in 1999 in Old Town".into()]);
        // The second: against "in 1999" 2 of 6 and 2 of 2 words, f = 2 · 2 / 8; against "1999" 2 · 1 / 7.
        assert_eq!(scores, Scores { exact_match: 50.0, f1: 75.0 });
    }

    #[test]
    fn windows_cover_the_context_and_answers_come_back() {
        let (question, vocabulary) = (question(), vocabulary());
        let context = vocabulary.locate(CONTEXT).expect("pieces");
        for (length, stride) in [(100, 5), (12, 2), (11, 3), (9, 1), (10, 100)] {
            let windows = question.windows(&vocabulary, length, stride).expect("windows");
            let mut covered = vec![false; CONTEXT.len()];
            for window in &windows {
                let ids = &window.encoded.ids;
                assert!(ids.len() <= length);
                let segments = &window.encoded.segments;
                assert_eq!(segments.iter().filter(|&&segment| segment == 1).count(), window.pieces.len() + 1);
                for (id, bytes) in ids[window.first..].iter().zip(&window.pieces) {
                    assert!(context.contains(&Piece { id: *id, start: bytes.start, end: bytes.end }));
                    covered[bytes.clone()].fill(true);
                }
                if let Some((from, to)) = window.answer {
                    let one =
                        |place: usize| (0..ids.len()).map(|i| f32::from(u8::from(i == place))).collect::<Vec<_>>();
                    let best = window.best(&one(from), &one(to), 10).expect("a span");
                    assert_eq!(answer(CONTEXT, [best]), "1999");
                }
            }
            assert!(context.iter().all(|piece| covered[piece.start..piece.end].iter().all(|&covered| covered)));
            // Question and special tokens take 8 places, the answer 2: windows that overlap have it.
            assert!(length - 8 <= stride || windows.iter().any(|window| window.answer.is_some()));
        }
        insta::assert_snapshot!(question.windows(&vocabulary, 8, 1).expect_err("no room"), @"
        windows of 8 pieces, 1 apart, hold nothing of the context
          question q1: 5 pieces and 3 special tokens
          expected a length with room for question and context, and a stride of at least 1
        ");
    }

    #[test]
    fn the_best_span_is_the_best_of_all_that_are_allowed() {
        let (question, vocabulary) = (question(), vocabulary());
        let window = &question.windows(&vocabulary, 100, 50).expect("windows")[0];
        for seed in 0..50 {
            let mut state = seed;
            let mut scores = || -> Vec<f32> {
                let score = |_| u16::try_from(formwright::random::below(&mut state, 100)).map_or(0.0, f32::from);
                window.encoded.ids.iter().map(score).collect()
            };
            let (starts, ends) = (scores(), scores());
            for cap in 1..4 {
                let best = window.best(&starts, &ends, cap).expect("a span");
                let all = (0..window.pieces.len()).flat_map(|from| (0..window.pieces.len()).map(move |to| (from, to)));
                let allowed = all.filter(|&(from, to)| from <= to && to - from < cap).map(|(from, to)| Span {
                    score: starts[window.first + from] + ends[window.first + to],
                    bytes: window.pieces[from].start..window.pieces[to].end,
                });
                let allowed: Vec<Span> = allowed.collect();
                let first = allowed.iter().find(|span| allowed.iter().all(|other| other.score <= span.score));
                assert_eq!(first, Some(&best));
            }
        }
        let nothing = vec![f32::NAN; window.encoded.ids.len()];
        assert_eq!(window.best(&nothing, &nothing, 3), None);
        assert_eq!(answer(CONTEXT, []), "");
        let spans =
            [Span { score: 1.0, bytes: 0..5 }, Span { score: 2.0, bytes: 10..11 }, Span { score: 2.0, bytes: 12..18 }];
        assert_eq!(answer(CONTEXT, spans), "7", "of equals the first");
    }

    #[test]
    fn what_is_not_squad_is_refused() {
        let refused = |text: &str| {
            let error = read_text(text).expect_err("refused").to_string();
            let path = error.split_whitespace().find(|word| word.ends_with("squad.json")).expect("the file").to_owned();
            error.replace(&path, "squad.json")
        };
        insta::assert_snapshot!(refused("{\"data\": [\n{\"paragraphs\": 3}]}"), @r#"
        not questions as SQuAD v1.1 has them
          in       squad.json
          found    invalid type: integer `3`, expected a sequence at line 2 column 16
          expected {"data": [{"paragraphs": [{"context", "qas": [{"id", "question", "answers": [{"text", "answer_start"}]}]}]}]}
        "#);
        insta::assert_snapshot!(refused(&file(r#"{"text": "1999", "answer_start": 20}"#)), @r#"
        the answer "1999" is not at character 20 of its context
          in       squad.json
          question q1: When was it opened?
          found    "999,"
          expected answer_start counts characters, not bytes, from 0
        "#);
        insta::assert_snapshot!(refused(&file(r#"{"text": "1999", "answer_start": 2000}"#)), @r#"
        the answer "1999" is not at character 2000 of its context
          in       squad.json
          question q1: When was it opened?
          found    the context has 37 characters
          expected answer_start counts characters, not bytes, from 0
        "#);
        insta::assert_snapshot!(refused(&file("")), @"
        a question without an answer
          in       squad.json
          question q1: When was it opened?
          try      SQuAD v1.1, which has none of them
        ");
        insta::assert_snapshot!(refused(r#"{"data": []}"#), @"
        there are no questions
          in       squad.json
        ");
    }
}
