//! A corpus: files of plain text, a paragraph a line.
//!
//! Where a file has lines `= Title =`, each of them begins an article; where it has none, blank lines stand between
//! articles. Headings (`== Section ==`, and spaced out as in `= = Section = =`) are paragraphs; their signs are left
//! out.

use super::unreadable;
use formwright::error::{Error, Result};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

/// Files of plain text that exist and are not empty.
#[derive(Clone, Debug)]
pub struct Corpus {
    files: Vec<Source>,
}

#[derive(Clone, Debug)]
struct Source {
    path: PathBuf,
    sha256: String,
    bytes: u64,
    titled: bool,
}

/// An article, and its end in the corpus.
#[derive(Clone, Debug)]
pub struct Article {
    /// Its paragraphs, headings among them; none is blank.
    pub paragraphs: Vec<String>,
    /// The bytes of the corpus up to its end.
    pub end: u64,
}

impl Corpus {
    /// Reads every file once for its hash, and whether it has titles.
    pub fn open(paths: &[PathBuf]) -> Result<Self> {
        if paths.is_empty() {
            return Err(Error::input("a corpus of no files").note("try", "the name of a file of plain text"));
        }
        Ok(Self { files: paths.iter().map(|path| survey(path)).collect::<Result<_>>()? })
    }

    /// The number of bytes of all files together.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// The SHA-256 of every file, in their order.
    pub fn hashes(&self) -> Vec<String> {
        self.files.iter().map(|file| file.sha256.clone()).collect()
    }

    /// Visits every article, in order.
    pub fn for_each_article(&self, mut visit: impl FnMut(Article) -> Result<()>) -> Result<()> {
        let mut end = 0;
        for file in &self.files {
            let mut paragraphs = Vec::new();
            for_each_line(&file.path, |line, bytes| {
                let (level, text) = heading(line.trim());
                let begins = if file.titled { level == 1 } else { text.is_empty() };
                if begins && !paragraphs.is_empty() {
                    visit(Article { paragraphs: std::mem::take(&mut paragraphs), end })?;
                }
                if !text.is_empty() {
                    paragraphs.push(text.to_owned());
                }
                end += bytes;
                Ok(())
            })?;
            if !paragraphs.is_empty() {
                visit(Article { paragraphs, end })?;
            }
        }
        Ok(())
    }
}

fn survey(path: &Path) -> Result<Source> {
    let (mut hash, mut bytes, mut titled, mut blank) = (Sha256::new(), 0, false, true);
    for_each_line(path, |line, length| {
        hash.update(line);
        bytes += length;
        let (level, text) = heading(line.trim());
        titled |= level == 1;
        blank &= text.is_empty();
        Ok(())
    })?;
    if blank {
        return Err(Error::input(format!("{} holds no text", path.display()))
            .note("found", format!("{bytes} bytes, all of them blank"))
            .note("try", "plain text, a paragraph a line"));
    }
    let digits = hash.finalize().into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let sha256 = digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
    Ok(Source { path: path.to_owned(), sha256, bytes, titled })
}

/// Every line, its end included, with its bytes.
fn for_each_line(path: &Path, mut visit: impl FnMut(&str, u64) -> Result<()>) -> Result<()> {
    let fail = |error| unreadable(path, &error);
    let mut file = BufReader::new(File::open(path).map_err(fail)?);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let bytes = file.read_until(b'\n', &mut line).map_err(fail)?;
        if bytes == 0 {
            break;
        }
        let text = std::str::from_utf8(&line).map_err(|error| {
            Error::input(format!("{}, line {number}: not UTF-8", path.display()))
                .note(
                    "found",
                    format!("byte {} of the line is {:#04x}", error.valid_up_to(), line[error.valid_up_to()]),
                )
                .note("try", "the same text in UTF-8")
        })?;
        visit(text, bytes as u64)?;
    }
    Ok(())
}

/// The level of a heading, which is the number of its signs on either side, and its text; a paragraph has level 0.
fn heading(line: &str) -> (usize, &str) {
    let sign = |c: char| c == '=' || c == ' ';
    let text = line.trim_matches(sign);
    let signs = |side: &str| side.matches('=').count();
    let (before, after) = line.split_once(text).unwrap_or_default();
    let level = signs(before);
    let both = !text.is_empty() && level > 0 && level == signs(after);
    if both { (level, text) } else { (0, line) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn articles(texts: &[&str]) -> Vec<Vec<String>> {
        let dir = tempfile::tempdir().expect("a folder");
        let paths: Vec<PathBuf> = (0..texts.len()).map(|i| dir.path().join(format!("{i}.txt"))).collect();
        paths.iter().zip(texts).for_each(|(path, text)| fs::write(path, text).expect("written"));
        let corpus = Corpus::open(&paths).expect("a corpus");
        let (mut found, mut end) = (Vec::new(), 0);
        let hashes: Vec<String> = texts.iter().map(|text| formwright::artifact::sha256(text.as_bytes())).collect();
        assert_eq!(corpus.hashes(), hashes);
        let visited = corpus.for_each_article(|article| {
            end = article.end;
            found.push(article.paragraphs);
            Ok(())
        });
        visited.expect("articles");
        assert_eq!((end, corpus.bytes()), (corpus.bytes(), texts.iter().map(|text| text.len() as u64).sum()));
        found
    }

    #[test]
    fn titles_begin_articles_and_blank_lines_do_where_there_are_none() {
        let titled = " \n = One = \n \n First . \n = = Part = = \n\n Second . \n = Two = \nThird.";
        assert_eq!(articles(&[titled]), [vec!["One", "First .", "Part", "Second ."], vec!["Two", "Third."]]);
        let blank = "First.\nSecond.\n\n\nThird = 3 =\r\n";
        assert_eq!(articles(&[blank]), [vec!["First.", "Second."], vec!["Third = 3 ="]]);
        assert_eq!(articles(&[titled, blank]).len(), 4, "a file ends an article");
    }

    #[test]
    fn what_is_no_corpus_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let refused = |name: &str, bytes: Option<&[u8]>| {
            let path = dir.path().join(name);
            if let Some(bytes) = bytes {
                fs::write(&path, bytes).expect("written");
            }
            let error = Corpus::open(&[path]).expect_err("refused").to_string();
            error.replace(&format!("{}/", dir.path().display()), "")
        };
        insta::assert_snapshot!(refused("missing.txt", None), @"cannot read missing.txt: No such file or directory (os error 2)");
        insta::assert_snapshot!(refused("empty.txt", Some(b"")), @"
        empty.txt holds no text
          found    0 bytes, all of them blank
          try      plain text, a paragraph a line
        ");
        insta::assert_snapshot!(refused("blank.txt", Some(b" \n\n")), @"
        blank.txt holds no text
          found    3 bytes, all of them blank
          try      plain text, a paragraph a line
        ");
        insta::assert_snapshot!(refused("latin.txt", Some(b"so\nna\xefve\n")), @"
        latin.txt, line 2: not UTF-8
          found    byte 2 of the line is 0xef
          try      the same text in UTF-8
        ");
        insta::assert_snapshot!(Corpus::open(&[]).expect_err("refused"), @"
        a corpus of no files
          try      the name of a file of plain text
        ");
    }
}
