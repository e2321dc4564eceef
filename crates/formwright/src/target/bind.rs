//! Binding: after `let b = …;` every word `b` is a bound name, up to the end of the text.
//!
//! A binding's own definition does not know its name yet, nor does any definition before it. The parser reads the rest.

use std::collections::HashMap;

use super::explain::is_of_the_language;
use super::expr::Span;
use super::token::Token;
use crate::error::{Error, Result};

/// The most bindings of one target.
pub(crate) const MAX_BINDINGS: usize = 64;

/// Turns the words that are bound into [`Token::Name`], and refuses a name that cannot be bound.
pub(crate) fn bind<'t>(text: &str, tokens: &mut [(Token<'t>, Span)]) -> Result<()> {
    let mut names: HashMap<&'t str, usize> = HashMap::new();
    // The name of the binding whose definition is being read; it holds from the semicolon that ends the definition.
    let mut pending: Option<&'t str> = None;
    let mut open = 0_usize;
    for at in 0..tokens.len() {
        match tokens[at].0 {
            Token::Symbol("(" | "[") => open += 1,
            Token::Symbol(")" | "]") => open = open.saturating_sub(1),
            Token::Symbol(";") if open == 0 => {
                if let Some(name) = pending.take() {
                    names.insert(name, names.len());
                }
            }
            Token::Word("let") if at == 0 || open == 0 && tokens[at - 1].0 == Token::Symbol(";") => {
                let Some((Token::Word(name), span)) = tokens.get(at + 1) else { continue };
                let refused = |headline: String, label: &str, attempt: String| {
                    Err(Error::input(headline).place(text, span, label).note("try", attempt))
                };
                if is_of_the_language(name) {
                    let headline = format!("`{name}` is a word of the language");
                    return refused(headline, "not free to be bound", format!("another name, such as `{name}1`"));
                }
                if names.contains_key(name) {
                    let headline = format!("`{name}` is bound twice");
                    return refused(headline, "for the second time", format!("another name, such as `{name}1`"));
                }
                if names.len() == MAX_BINDINGS {
                    let headline = format!("more than {MAX_BINDINGS} bindings");
                    return refused(headline, "one too many", "fewer bindings, each of a longer definition".into());
                }
                pending = Some(name);
            }
            Token::Word(word) => {
                if let Some(index) = names.get(word) {
                    tokens[at].0 = Token::Name(*index, word);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::token::tokens;
    use super::*;

    /// The bound names of a text, by their number.
    fn names(text: &str) -> Vec<(usize, &str)> {
        let mut tokens = tokens(text).expect("tokens");
        bind(text, &mut tokens).expect("names");
        let name = |(token, _): &(Token<'_>, Span)| match token {
            Token::Name(index, _) => Some(*index),
            _ => None,
        };
        tokens.iter().filter_map(|token| Some((name(token)?, &text[token.1.clone()]))).collect()
    }

    #[test]
    fn a_name_holds_after_its_definition() {
        assert_eq!(names("let b = b + c; let c = b; b * c"), [(0, "b"), (0, "b"), (1, "c")]);
        assert_eq!(names("let t = table(t; 1, 2); t"), [(0, "t")]);
        assert_eq!(names("let a = 1; (let b = 2; b) + a"), [(0, "a")]);
        assert_eq!(names("let 3 = x; b"), []);
    }
}
