//! The sequences of a claim, in their order, without a list of them.

/// Sequences of so many tokens of an alphabet, the first token most significant: all of them, or one of each multiset,
/// sorted.
#[derive(Clone, Debug)]
pub struct Sequences {
    symbols: usize,
    /// The tokens of each.
    pub tokens: usize,
    sorted: bool,
    /// How many there are; the largest number if that is not a number of the machine.
    pub count: usize,
}

/// The sequences of so many tokens.
fn count(symbols: usize, tokens: usize, sorted: bool) -> usize {
    let wide = |x: usize| u128::try_from(x).unwrap_or(u128::MAX);
    let mut count = 1_u128;
    for k in 0..tokens {
        // There are C(s+k, k+1) multisets of k + 1 of s symbols.
        let more = count.saturating_mul(wide(if sorted { symbols.saturating_add(k) } else { symbols }));
        count = if sorted { more.checked_div(wide(k.saturating_add(1))).unwrap_or(more) } else { more };
        if count > wide(usize::MAX) {
            return usize::MAX;
        }
    }
    usize::try_from(count).unwrap_or(usize::MAX)
}

impl Sequences {
    /// The sequences of so many tokens, sorted or not.
    pub fn new(symbols: usize, tokens: usize, sorted: bool) -> Self {
        Self { symbols, tokens, sorted, count: count(symbols, tokens, sorted) }
    }

    /// A way through them.
    pub fn walk(&self) -> Walk<'_> {
        Walk { all: self, at: None, here: Vec::new() }
    }

    /// The sequence of a number.
    fn get(&self, mut number: usize) -> Vec<usize> {
        let (mut sequence, mut least) = (Vec::new(), 0);
        for rest in (0..self.tokens).rev() {
            let mut symbol = least;
            loop {
                // Behind a symbol of a sorted sequence there is none below it.
                let behind = if self.sorted { self.symbols.saturating_sub(symbol) } else { self.symbols };
                let skipped = count(behind, rest, self.sorted);
                if number < skipped || symbol.saturating_add(1) >= self.symbols {
                    break;
                }
                (number, symbol) = (number.saturating_sub(skipped), symbol.saturating_add(1));
            }
            least = if self.sorted { symbol } else { 0 };
            sequence.push(symbol);
        }
        sequence
    }
}

/// A way through sequences: the next one is reached quickly.
pub struct Walk<'s> {
    all: &'s Sequences,
    at: Option<usize>,
    here: Vec<usize>,
}

impl Walk<'_> {
    /// The sequence of a number.
    pub fn to(&mut self, number: usize) -> &[usize] {
        if self.at.is_some_and(|at| at.checked_add(1) == Some(number)) {
            self.step();
        } else if self.at != Some(number) {
            self.here = self.all.get(number);
        }
        self.at = Some(number);
        &self.here
    }

    /// The last token that can grow does so, and those behind it begin again.
    fn step(&mut self) {
        let last = self.all.symbols.saturating_sub(1);
        let Some(place) = self.here.iter().rposition(|symbol| *symbol < last) else { return };
        let mut tail = self.here.iter_mut().skip(place);
        let Some(grown) = tail.next() else { return };
        *grown = grown.saturating_add(1);
        let again = if self.all.sorted { *grown } else { 0 };
        tail.for_each(|symbol| *symbol = again);
    }
}

#[cfg(test)]
mod tests;
