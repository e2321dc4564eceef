//! A place in the text, drawn below the text itself.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::expr::Span;
use crate::error::Error;

/// Lines are cut to this width around the place.
const WIDTH: usize = 100;

impl Error {
    /// Adds the line of the text that holds `span`, with the span underlined and labelled.
    ///
    /// A span that does not lie in the text adds nothing: an expression built by a program has no text.
    pub(crate) fn place(self, text: &str, span: &Span, label: &str) -> Self {
        self.places(text, &[(span, label)])
    }

    /// Adds the lines of several places; the first is the one that matters most.
    pub(crate) fn places(self, text: &str, places: &[(&Span, &str)]) -> Self {
        if text.trim().is_empty() || places.iter().any(|(span, _)| text.get((*span).clone()).is_none()) {
            return self;
        }
        let kinds = std::iter::once(AnnotationKind::Primary).chain(std::iter::repeat(AnnotationKind::Context));
        let annotations =
            places.iter().zip(kinds).map(|((span, label), kind)| kind.span(visible(text, span)).label(*label));
        let group = Group::with_level(Level::ERROR).element(Snippet::source(text).annotations(annotations));
        self.note("at", Renderer::plain().term_width(WIDTH).render(&[group]).trim_end())
    }
}

/// The part of a span that an underline can show: its first line, and at least one character.
fn visible(text: &str, span: &Span) -> Span {
    let line = text[span.clone()].find('\n').map_or(span.end, |length| span.start + length);
    let width = text[span.start..].chars().next().map_or(0, char::len_utf8);
    span.start..line.max(span.start + width)
}
