//! Wires that play the same part: what a target does to every coordinate alike is looked at once.
//!
//! A wire's colour is what it is made of, coordinates of the input apart, together with the colours of its arguments and
//! of whoever reads it. Colours are refined until no class splits (colour refinement of graphs). Wires that a renaming of
//! coordinates exchanges have one colour. A search may then try one of them and take the rest to be alike; nothing is
//! claimed from it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use super::form::Form;
use super::graph::{Graph, Kind, Wire};

fn hashed(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The forms that a wire is made of, in the order of its kind.
fn forms(kind: &Kind) -> Vec<Form> {
    let seen = RefCell::new(Vec::new());
    kind.with_forms(&|form| {
        seen.borrow_mut().push(form.clone());
        Form::default()
    });
    seen.into_inner()
}

/// A hash of a wire without its arguments.
fn first(wire: &Wire) -> u64 {
    let kind = match &wire.kind {
        Kind::Input(_) => "an input".to_owned(),
        kind => format!("{:?}", kind.with_forms(&|_| Form::default())),
    };
    hashed((kind, wire.range.lo().to_bits(), wire.range.hi().to_bits(), wire.integer))
}

/// One number a wire, equal for wires that play the same part.
pub(crate) fn alike(graph: &Graph, outputs: &[Form]) -> Vec<u64> {
    let arguments: Vec<Vec<Form>> = graph.wires.iter().map(|wire| forms(&wire.kind)).collect();
    let mut colours: Vec<u64> = graph.wires.iter().map(first).collect();
    let mut classes = 0;
    loop {
        let found = colours.iter().collect::<BTreeSet<_>>().len();
        if found == classes {
            return colours;
        }
        classes = found;
        // A form is its constant, and its terms in an order that no renaming changes.
        let coloured = |form: &Form| {
            let mut terms: Vec<u64> =
                form.terms.iter().map(|(wire, factor)| hashed((colours[*wire], factor))).collect();
            terms.sort_unstable();
            hashed((&form.constant, terms))
        };
        let mut readers = vec![Vec::new(); colours.len()];
        let mut read = |form: &Form, reader: u64| {
            for (wire, factor) in &form.terms {
                readers[*wire].push(hashed((reader, factor)));
            }
        };
        let mut next = Vec::new();
        for (wire, forms) in arguments.iter().enumerate() {
            let made: Vec<u64> = forms.iter().map(coloured).collect();
            forms.iter().enumerate().for_each(|(place, form)| read(form, hashed((colours[wire], place))));
            next.push(hashed((colours[wire], made)));
        }
        for form in outputs {
            read(form, hashed(("an output", coloured(form))));
        }
        for (colour, readers) in next.iter_mut().zip(&mut readers) {
            readers.sort_unstable();
            *colour = hashed((*colour, &*readers));
        }
        colours = next;
    }
}

#[cfg(test)]
mod tests {
    use super::super::translate::translate;
    use super::*;
    use crate::network::Realisation;
    use crate::target::Expression;

    /// How many wires a target's circuit has, and how many classes of them.
    fn wires_and_classes(text: &str, dims: usize) -> (usize, usize) {
        let target = Expression::parse(text).and_then(|text| text.check(dims)).expect("a target");
        let translated = translate(&target, 4, &Realisation::SOFTMAX).expect("a circuit");
        let colours = alike(&translated.graph, &translated.outputs);
        (colours.len(), colours.iter().collect::<BTreeSet<_>>().len())
    }

    #[test]
    fn coordinates_that_are_treated_alike_have_one_class_a_gate() {
        for text in ["(x - mean(x)) / sqrt(var(x) + 1/100)", "x * mean(x)", "sin(9 * x) - max(x)"] {
            let (wires, classes) = wires_and_classes(text, 1);
            assert_eq!(wires, classes, "{text}: one coordinate has no two wires alike");
            assert_eq!(wires_and_classes(text, 5), (5 * wires, classes), "{text}");
        }
    }

    #[test]
    fn coordinates_that_are_used_otherwise_are_told_apart() {
        // The same curves, but one counts five times as much in the output.
        assert_eq!(wires_and_classes("[sin(x.0), sin(x.1)]", 2), (4, 2));
        assert_eq!(wires_and_classes("[sin(x.0), 5 * sin(x.1)]", 2), (4, 4));
        assert_eq!(wires_and_classes("[sin(x.0) + 2 * cos(x.1), x.1]", 2), (4, 4));
    }
}
