//! `sort`: a few integers by counting, `lo + Σ_k 1[#{x ≤ k} ≤ i]`; all other numbers by a network of comparators.
//!
//! A round is a gather, by which every token reads its partner, and an exchange: of both numbers the token at the lower
//! place keeps the smaller one, the other token the larger one. Two networks are known to sort:
//!
//! ```text
//! transposition   n rounds: neighbours, from the first place and from the second in turns
//! bitonic         m(m+1)/2 rounds, 2^(m-1) < n ≤ 2^m: for k = 1 … m the mirror image in blocks of 2^k, then distances 2^(k-2) … 1
//! ```
//!
//! Every comparator keeps the smaller number at the lower place, so places from `n` on, where nothing is, might as well
//! hold numbers above all others: they never move, and their comparators are left out.
//!
//! Partners and sides are numbers of the position: combinations of few of them, such as the binary digits of the place.

use super::{Scope, Translator};
use crate::construct::circuit::form::Form;
use crate::construct::circuit::graph::Kind;
use crate::construct::circuit::layout::{Echelon, check_gates};
use crate::error::{Error, Result};
use crate::exact::Rat;
use crate::interval::Up;
use crate::network::Mask;
use crate::target::expr::{Aggregate, CompareOp, Expr, Node, Span};
use crate::target::univariate::expr;

/// Integers that are no farther apart are sorted by counts.
const MOST_COUNTS: u64 = 512;

/// Places times rounds that are laid out.
const MOST_ENDS: usize = 1 << 18;

/// The partner of every place, itself if it has none, and whether it keeps the larger number.
type Round = Vec<(usize, bool)>;

/// The numbers of positions that others are combined of: a number for each place, the first of them 1 everywhere.
struct Basis {
    tables: Vec<Form>,
}

impl Basis {
    fn new(tokens: usize) -> Self {
        Self { tables: vec![by_place(&vec![Rat::ONE; tokens])] }
    }

    /// A table as a combination of those that there are, if its factors are whole; else of itself, and one more.
    fn combination(&mut self, table: &[Rat]) -> Vec<Rat> {
        let (row, count) = (by_place(table), self.tables.len());
        let found = Echelon::new(&self.tables).solve(&row, count);
        found.filter(|factors| factors.iter().all(Rat::is_int)).unwrap_or_else(|| {
            self.tables.push(row);
            (0..=count).map(|at| if at == count { Rat::ONE } else { Rat::ZERO }).collect()
        })
    }
}

fn by_place(table: &[Rat]) -> Form {
    let terms = table.iter().cloned().enumerate().filter(|(_, value)| !value.is_zero()).collect();
    Form { terms, constant: Rat::ZERO }
}

/// What a network needs to know of places: their binary digits, the place and its square, the partners and the sides.
fn tables(network: &[Round], tokens: usize) -> Vec<Vec<Rat>> {
    let table = |f: &dyn Fn(usize) -> usize| (0..tokens).map(|t| Rat::from(f(t))).collect::<Vec<_>>();
    let digits = if network.len() < tokens { tokens.ilog2() + 1 } else { 1 };
    let digits = (0..digits).map(|digit| table(&|t| (t >> digit) & 1));
    let ends = network.iter().flat_map(|round| [table(&|t| round[t].0), table(&|t| usize::from(round[t].1))]);
    digits.chain([table(&|t| t), table(&|t| t * t)]).chain(ends).collect()
}

/// The network of fewer parameters, about: those of a head and of two gates' units for every round, and of the positions.
fn rounds(tokens: usize) -> Vec<Round> {
    let cost = |network: &Vec<Round>| {
        let mut basis = Basis::new(tokens);
        for table in tables(network, tokens) {
            basis.combination(&table);
        }
        let width = basis.tables.len() + 1;
        network.len() * (14 * width + 6) + tokens * width
    };
    let bitonic = bitonic(tokens);
    // Of many tokens the one with a round for each is the larger one, and would not fit into memory.
    let transposition = (tokens <= 64).then(|| transposition(tokens));
    transposition.filter(|transposition| cost(transposition) < cost(&bitonic)).unwrap_or(bitonic)
}

impl Translator<'_> {
    /// `sort(of)`.
    pub(super) fn sort(&mut self, e: &Expr, of: &Expr, scope: &Scope) -> Result<Form> {
        let of = self.number(of, scope)?;
        let Some((lo, hi)) = self.graph.integers(&of) else { return self.sort_by_comparators(&of, &e.span) };
        if hi.abs_diff(lo) > MOST_COUNTS {
            return self.sort_by_comparators(&of, &e.span);
        }
        // Two comparisons and a sum for each step, besides what there is.
        let steps = usize::try_from(hi.abs_diff(lo)).unwrap_or(usize::MAX);
        check_gates(steps.saturating_mul(3).saturating_add(self.graph.wires.len()))?;
        let index = self.position(&expr(Node::Index), &Scope { running: false, ..scope.clone() })?;
        let mut sorted = Form::constant(Rat::from(lo));
        for k in lo..hi {
            let below = self.compare(CompareOp::LessEqual, &of.plus(&-Rat::ONE, &Form::constant(Rat::from(k))), e)?;
            let count = self.pool(e, Aggregate::Sum, &below, Mask::ALL)?;
            let passed = self.compare(CompareOp::LessEqual, &count.plus(&-Rat::ONE, &index), e)?;
            sorted = sorted.plus(&Rat::ONE, &passed);
        }
        Ok(sorted)
    }

    /// The same by exchanges, round by round.
    fn sort_by_comparators(&mut self, of: &Form, span: &Span) -> Result<Form> {
        let tokens = self.graph.tokens;
        if tokens == 1 || of.as_constant().is_some() {
            return Ok(of.clone());
        }
        let halvings = tokens.next_power_of_two().ilog2() as usize;
        let ends = (halvings * (halvings + 1) / 2).saturating_mul(tokens);
        if ends > MOST_ENDS {
            return Err(Error::declined(format!("sorting {tokens} tokens would take {ends} ends of comparators"))
                .place(&self.graph.text, span, "this sort")
                .note("limit", format!("{MOST_ENDS} ends, rounds times tokens, are laid out"))
                .note("try", "fewer ⟨tokens⟩"));
        }
        self.fixed = true;
        let rounds = rounds(tokens);
        check_gates(rounds.len().saturating_mul(2).saturating_add(self.graph.wires.len()))?;
        let mut basis = Basis::new(tokens);
        let mut forms = vec![Form::constant(Rat::ONE)];
        let mut known = Vec::new();
        for table in tables(&rounds, tokens) {
            let factors = basis.combination(&table);
            if forms.len() < basis.tables.len() {
                forms.push(self.graph.position(table, Up::ZERO, span));
            }
            known.push(factors.iter().zip(&forms).fold(Form::default(), |sum, (factor, form)| sum.plus(factor, form)));
        }
        let ends = known.split_off(known.len() - 2 * rounds.len());
        let keys = &known[known.len() - 2..];
        let (range, integer) = (self.graph.range(of), self.graph.is_integer(of));
        let mut sorted = of.clone();
        for end in ends.chunks(2) {
            let (index, side) = (end[0].clone(), end[1].clone());
            let (normal, scale, shift) = self.graph.normalised(&sorted);
            let values = self.graph.range(&normal);
            let gather = Kind::Gather { index, of: normal, keys: (keys[0].clone(), keys[1].clone()) };
            let gathered = self.graph.wire(gather, values, integer, span);
            let other = Form::constant(shift).plus(&scale, &gathered);
            sorted = self.graph.wire(Kind::Exchange { side, own: sorted, other }, range, integer, span);
        }
        Ok(sorted)
    }
}

/// Neighbours in turns.
fn transposition(tokens: usize) -> Vec<Round> {
    let end = |round: usize, t: usize| {
        let larger = (t + round) % 2 == 1;
        let partner = if larger { t.checked_sub(1) } else { Some(t + 1) };
        (partner.filter(|partner| *partner < tokens).unwrap_or(t), larger)
    };
    (0..tokens).map(|round| (0..tokens).map(|t| end(round, t)).collect()).collect()
}

/// Sorted blocks of twice the size, again and again.
fn bitonic(tokens: usize) -> Vec<Round> {
    let mut rounds = Vec::new();
    let mut block = 2;
    while block < 2 * tokens {
        // A sorted half against the other one, backwards; then halves of halves.
        let mut across = block - 1;
        while across > 0 {
            let end = |t: usize| {
                let partner = t ^ across;
                (if partner < tokens { partner } else { t }, partner < t)
            };
            rounds.push((0..tokens).map(end).collect());
            across = if across == block - 1 { block / 4 } else { across / 2 };
        }
        block *= 2;
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::{Round, bitonic, rounds, transposition};

    /// A network on bits.
    fn run(rounds: &[Round], input: usize, tokens: usize) -> Vec<bool> {
        let mut line: Vec<bool> = (0..tokens).map(|t| (input >> t) & 1 == 1).collect();
        for round in rounds {
            let kept = |(t, (partner, larger)): (usize, &(usize, bool))| {
                if *larger { line[t] || line[*partner] } else { line[t] && line[*partner] }
            };
            line = round.iter().enumerate().map(kept).collect();
        }
        line
    }

    #[test]
    fn both_networks_sort_all_zeros_and_ones() {
        for tokens in 1..=13 {
            for network in [transposition(tokens), bitonic(tokens)] {
                for input in 0..1_usize << tokens {
                    let sorted = run(&network, input, tokens);
                    assert!(sorted.is_sorted(), "{input:b} of {tokens}: {sorted:?}");
                    assert_eq!(sorted.iter().filter(|bit| **bit).count(), input.count_ones() as usize);
                }
            }
        }
    }

    #[test]
    fn a_network_without_its_last_round_does_not_sort() {
        for tokens in 3..=13 {
            for mut network in [transposition(tokens), bitonic(tokens)] {
                network.pop();
                assert!((0..1 << tokens).any(|input| !run(&network, input, tokens).is_sorted()), "{tokens}");
            }
        }
    }

    #[test]
    fn partners_are_partners_and_keep_different_numbers() {
        for tokens in 2..=70 {
            for round in [transposition(tokens), bitonic(tokens)].concat() {
                for (t, (partner, larger)) in round.iter().enumerate() {
                    assert_eq!(round[*partner].0, t);
                    assert!(*partner == t || *larger == (*partner < t));
                }
            }
        }
    }

    #[test]
    fn there_are_few_rounds() {
        let counts: Vec<usize> = [2, 3, 4, 5, 8, 16, 64].into_iter().map(|tokens| rounds(tokens).len()).collect();
        assert_eq!(counts, [1, 3, 3, 5, 6, 10, 21]);
    }
}
