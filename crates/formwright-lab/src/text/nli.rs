//! Natural language inference: pairs of sentences with one of three labels, a JSON object a line.

use super::{batch::Encoded, read, vocabulary::Vocabulary};
use formwright::error::{Error, Result, nearest};
use serde::Deserialize;
use std::path::Path;

/// The labels; a label's number is its place.
pub const LABELS: [&str; 3] = ["entailment", "neutral", "contradiction"];

/// Two sentences, and the relation of the second to the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The premise.
    pub premise: String,
    /// The hypothesis.
    pub hypothesis: String,
    /// A place in `LABELS`.
    pub label: usize,
}

#[derive(Deserialize)]
struct Line {
    premise: String,
    hypothesis: String,
    label: String,
}

/// Reads a file with `{"premise", "hypothesis", "label"}` a line; blank lines are skipped.
pub fn read_pairs(file: &Path) -> Result<Vec<Pair>> {
    let text = read(file)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let pairs = lines.map(|(number, line)| {
        read_pair(line).map_err(|error| error.note_first("in", format!("{}, line {}", file.display(), number + 1)))
    });
    let pairs = pairs.collect::<Result<Vec<_>>>()?;
    if pairs.is_empty() {
        return Err(Error::input(format!("{} holds no pairs", file.display()))
            .note("expected", r#"{"premise": …, "hypothesis": …, "label": …} a line"#));
    }
    Ok(pairs)
}

fn read_pair(line: &str) -> Result<Pair> {
    let Line { premise, hypothesis, label } = serde_json::from_str(line).map_err(|error| {
        Error::input("not a pair with a label")
            .note("found", error.to_string().replace(" line 1", ""))
            .note("expected", r#"{"premise": …, "hypothesis": …, "label": …}, all of them texts"#)
    })?;
    let number = LABELS.iter().position(|known| *known == label).ok_or_else(|| {
        let error = Error::input(format!("the label {label:?} is none of the set")).note("expected", LABELS.join(", "));
        match nearest(&label, LABELS) {
            Some(near) => error.note("try", near),
            None => error.note("try", "leave out pairs that have no label"),
        }
    })?;
    Ok(Pair { premise, hypothesis, label: number })
}

impl Pair {
    /// `[CLS]` premise `[SEP]` hypothesis `[SEP]`. The excess over the length is taken from the end of the longer side,
    /// piece by piece; from the hypothesis if both are equal.
    pub fn encode(&self, vocabulary: &Vocabulary, length: usize) -> Result<Encoded> {
        let (mut first, mut second) = (vocabulary.encode(&self.premise)?, vocabulary.encode(&self.hypothesis)?);
        while first.len() + second.len() + 3 > length && first.len() + second.len() > 0 {
            let longer = if first.len() > second.len() { &mut first } else { &mut second };
            longer.pop();
        }
        Ok(Encoded::pair(vocabulary, &first, &second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read_text(text: &str) -> Result<Vec<Pair>> {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("pairs.jsonl");
        fs::write(&file, text).expect("written");
        read_pairs(&file)
    }

    fn refused(text: &str) -> String {
        let error = read_text(text).expect_err("refused").to_string();
        error
            .lines()
            .map(|line| match line.split_once("pairs.jsonl") {
                Some((before, after)) => {
                    format!("{}pairs.jsonl{after}\n", before.split('/').next().unwrap_or_default())
                }
                None => format!("{line}\n"),
            })
            .collect()
    }

    const GOOD: &str = r#"{"premise": "a b c d", "hypothesis": "e f", "label": "neutral"}"#;

    #[test]
    fn pairs_are_read_with_their_labels() {
        let contradiction = GOOD.replace("neutral", "contradiction");
        let pairs = read_text(&format!("{GOOD}\n\n{contradiction}\n")).expect("pairs");
        assert_eq!(pairs.iter().map(|pair| pair.label).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((pairs[0].premise.as_str(), pairs[0].hypothesis.as_str()), ("a b c d", "e f"));
    }

    #[test]
    fn what_is_no_pair_is_refused_with_its_line() {
        insta::assert_snapshot!(refused(&format!("{GOOD}\n{}", GOOD.replace("neutral", "-"))), @r#"
        the label "-" is none of the set
          in       pairs.jsonl, line 2
          expected entailment, neutral, contradiction
          try      leave out pairs that have no label
        "#);
        insta::assert_snapshot!(refused(&GOOD.replace("neutral", "entails")), @r#"
        the label "entails" is none of the set
          in       pairs.jsonl, line 1
          expected entailment, neutral, contradiction
          try      entailment
        "#);
        insta::assert_snapshot!(refused(&format!("{GOOD}\n{GOOD}\n{}", &GOOD[..40])), @r#"
        not a pair with a label
          in       pairs.jsonl, line 3
          found    EOF while parsing a string at column 40
          expected {"premise": …, "hypothesis": …, "label": …}, all of them texts
        "#);
        insta::assert_snapshot!(refused(r#"{"premise": "a", "label": "neutral"}"#), @r#"
        not a pair with a label
          in       pairs.jsonl, line 1
          found    missing field `hypothesis` at column 36
          expected {"premise": …, "hypothesis": …, "label": …}, all of them texts
        "#);
        insta::assert_snapshot!(refused("\n"), @r#"
        pairs.jsonl holds no pairs
          expected {"premise": …, "hypothesis": …, "label": …} a line
        "#);
    }

    #[test]
    fn the_longer_side_is_cut() {
        let pieces = "[PAD] [UNK] [CLS] [SEP] [MASK] a b c d e f".split(' ').map(str::to_owned).collect();
        let vocabulary = Vocabulary::new(pieces).expect("a vocabulary");
        let pair = &read_text(GOOD).expect("a pair")[0];
        let encoded = |length| pair.encode(&vocabulary, length).expect("pieces").ids;
        // a to f are 5 to 10, [CLS] is 2, [SEP] is 3.
        assert_eq!(encoded(9), [2, 5, 6, 7, 8, 3, 9, 10, 3]);
        assert_eq!(encoded(8), [2, 5, 6, 7, 3, 9, 10, 3]);
        assert_eq!(encoded(7), [2, 5, 6, 3, 9, 10, 3]);
        assert_eq!(encoded(6), [2, 5, 6, 3, 9, 3]);
        assert_eq!(encoded(3), [2, 3, 3]);
    }
}
