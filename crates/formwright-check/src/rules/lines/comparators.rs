//! Rule *comparators*: exchanges, round by round, that sort.
//!
//! At token `t` a round keeps the larger or the smaller of its own number and of that at its partner `p(t)`, with
//! `p(p(t)) = t`, and of two partners one keeps the larger, one the smaller: the numbers of all tokens stay what they are,
//! in another order. `max` and `min` commute with every function that grows, so a network of such rounds sorts all numbers
//! if it sorts all zeros and ones (*0-1 principle*: if some numbers came out as `… y, z …` with `y > z`, so would the zeros
//! and ones that say which of the numbers are above `z`).
//!
//! Which zeros and ones may stand at some lines is followed block by block. Lines that have not met yet may hold anything
//! together, so where a comparator joins two blocks all pairs of what they hold are looked at. Two sorted blocks of `m`
//! lines have `(m + 1)²` such pairs, which is why networks that merge are shown to sort for any number of lines.

use std::collections::{BTreeMap, BTreeSet};

use super::normal::{Polynomial, Things};
use super::unrolled::Unrolled;
use super::{Form, Stop, declined, line};
use crate::kernel::number::Ratio;
use crate::read::certificate::{Meanings, Wire};

/// The most zeros and ones that the lines of a block may hold, all together.
const MOST_BITS: usize = 1 << 20;

/// Lines that have met, and all zeros and ones that they may hold.
#[derive(Clone)]
struct Block {
    lines: Vec<usize>,
    held: BTreeSet<Vec<bool>>,
}

/// A network up to some round: the numbers that it began with, and the blocks, unless they hold too much.
#[derive(Clone)]
struct Network {
    numbers: Vec<Polynomial>,
    blocks: Option<Vec<Block>>,
}

/// A token's partner, and whether it keeps the larger number.
type End = (usize, bool);

/// All networks, by the wire of their last round.
#[derive(Default)]
pub(super) struct Networks {
    known: BTreeMap<usize, Network>,
}

impl Networks {
    /// The normal forms of an exchange, token by token.
    pub(super) fn exchange(
        &mut self,
        (things, hints): (&mut Things, &Meanings),
        at: &Unrolled,
        number: usize,
        [side, own, other]: [&Form; 3],
    ) -> Result<Vec<Polynomial>, Stop> {
        let open = |what: &str| declined(format!("wire {number}: {what}"));
        let sides = sides(at, side).ok_or_else(|| line(format!("wire {number}: a side that is neither 0 nor 1")))?;
        let ends = ends(hints, at, sides, [own, other]).map_err(|what| open(&what))?;
        let before = own.bare().and_then(|before| self.known.get(&before)).cloned();
        let mut network = match before {
            Some(network) => network,
            None => Network::new(
                at.iter().map(|wires| Things::form(own, wires)).collect::<Result<_, _>>().map_err(declined)?,
            ),
        };
        network.blocks = network.blocks.and_then(|blocks| round(blocks, &ends));
        let sorted = network.sorts();
        let mut found = Vec::new();
        for t in 0..at.len() {
            found.push(if sorted { things.sorted(&network.numbers, t) } else { Ok(things.exchanged(number, t)) });
        }
        self.known.insert(number, network);
        found.into_iter().collect::<Result<_, _>>().map_err(|what: String| open(&what))
    }
}

impl Network {
    fn new(numbers: Vec<Polynomial>) -> Self {
        let bit = || BTreeSet::from([vec![false], vec![true]]);
        let blocks = (0..numbers.len()).map(|line| Block { lines: vec![line], held: bit() }).collect();
        Self { numbers, blocks: Some(blocks) }
    }

    /// True if all lines hold ascending zeros and ones alone.
    fn sorts(&self) -> bool {
        let Some([block]) = self.blocks.as_deref() else { return false };
        block.lines.is_sorted()
            && block.lines.len() == self.numbers.len()
            && block.held.iter().all(|bits| bits.is_sorted())
    }
}

/// Whether each token keeps the larger number.
fn sides(at: &Unrolled, side: &Form) -> Option<Vec<bool>> {
    let of_token = |wires: &Vec<Polynomial>| match Things::as_number(&Things::form(side, wires).ok()?)? {
        side if side == Ratio::ONE => Some(true),
        side if side.is_zero() => Some(false),
        _ => None,
    };
    at.iter().map(of_token).collect()
}

/// The ends of a round: the other number of each token is its partner's own, and a pair keeps both numbers.
fn ends(hints: &Meanings, at: &Unrolled, sides: Vec<bool>, [own, other]: [&Form; 2]) -> Result<Vec<End>, String> {
    let strange = || "an exchange with what is not a partner's own number".to_owned();
    let (gather, _) = other.single().ok_or_else(strange)?;
    let Some(Wire::Gather { index, .. }) = hints.wires.get(gather) else { return Err(strange()) };
    let mut ends: Vec<End> = Vec::new();
    for (wires, larger) in at.iter().zip(sides) {
        let place = Things::as_number(&Things::form(index, wires)?).and_then(|place| place.place());
        let partner = place.ok_or_else(strange)?;
        let there = at.get(partner).ok_or_else(strange)?;
        if Things::form(own, there)? != Things::form(other, wires)? {
            return Err(strange());
        }
        ends.push((partner, larger));
    }
    for (t, (partner, larger)) in ends.iter().enumerate() {
        let back = ends.get(*partner).ok_or_else(strange)?;
        if back.0 != t || (*partner != t && back.1 == *larger) {
            return Err(format!("tokens {t} and {partner} do not keep what the other one does not"));
        }
    }
    Ok(ends)
}

/// The blocks behind a round; nothing if they hold too much.
fn round(blocks: Vec<Block>, ends: &[End]) -> Option<Vec<Block>> {
    let mut joined: Vec<Block> = Vec::new();
    for block in blocks {
        let mut whole = block;
        let meets = |block: &Block, other: &Block| {
            block.lines.iter().any(|line| ends.get(*line).is_some_and(|(partner, _)| other.lines.contains(partner)))
        };
        while let Some(place) = joined.iter().position(|other| meets(&whole, other)) {
            whole = join(&joined.swap_remove(place), &whole)?;
        }
        joined.push(whole);
    }
    joined.into_iter().map(|block| exchanged(&block, ends)).collect()
}

/// Both blocks, with all pairs of what they hold, lines ascending.
fn join(a: &Block, b: &Block) -> Option<Block> {
    let lines = a.lines.len().saturating_add(b.lines.len());
    if a.held.len().saturating_mul(b.held.len()).saturating_mul(lines) > MOST_BITS {
        return None;
    }
    let mut order: Vec<(usize, usize)> = a.lines.iter().chain(&b.lines).copied().zip(0..).collect();
    order.sort_unstable();
    let mut held = BTreeSet::new();
    for left in &a.held {
        for right in &b.held {
            let all: Vec<bool> = left.iter().chain(right).copied().collect();
            held.insert(order.iter().map(|(_, place)| all.get(*place).copied()).collect::<Option<Vec<bool>>>()?);
        }
    }
    Some(Block { lines: order.into_iter().map(|(line, _)| line).collect(), held })
}

/// A block behind the comparators of a round, which are all inside of it.
fn exchanged(block: &Block, ends: &[End]) -> Option<Block> {
    let mut inside = Vec::new();
    for (place, line) in block.lines.iter().enumerate() {
        let (partner, larger) = ends.get(*line)?;
        inside.push((place, block.lines.binary_search(partner).ok()?, *larger));
    }
    let mut held = BTreeSet::new();
    for bits in &block.held {
        let kept = |(own, other, larger): &(usize, usize, bool)| {
            let (own, other) = (*bits.get(*own)?, *bits.get(*other)?);
            Some(if *larger { own || other } else { own && other })
        };
        held.insert(inside.iter().map(kept).collect::<Option<Vec<bool>>>()?);
    }
    Some(Block { lines: block.lines.clone(), held })
}

#[cfg(test)]
#[expect(clippy::expect_used, reason = "tests")]
mod tests {
    use super::{End, Network, round};
    use crate::rules::lines::Things;

    /// Neighbours in turns.
    fn transposition(lines: usize, rounds: usize) -> Vec<Vec<End>> {
        let end = |round: usize, t: usize| {
            let larger = t.saturating_add(round) % 2 == 1;
            let partner = if larger { t.checked_sub(1) } else { t.checked_add(1) };
            (partner.filter(|partner| *partner < lines).unwrap_or(t), larger)
        };
        (0..rounds).map(|round| (0..lines).map(|t| end(round, t)).collect()).collect()
    }

    /// Mirror images in growing blocks, and distances that halve.
    fn bitonic(lines: usize) -> Vec<Vec<End>> {
        let mut rounds = Vec::new();
        let mut block = 2_usize;
        while block < lines.saturating_mul(2) {
            let mut across = block.saturating_sub(1);
            while across > 0 {
                rounds.push(
                    (0..lines).map(|t| (if t ^ across < lines { t ^ across } else { t }, t ^ across < t)).collect(),
                );
                across = if across.saturating_add(1) == block { block / 4 } else { across / 2 };
            }
            block = block.saturating_mul(2);
        }
        rounds
    }

    fn sorts(lines: usize, rounds: &[Vec<End>]) -> bool {
        let mut network = Network::new(vec![Things::constant(super::Ratio::ZERO); lines]);
        for ends in rounds {
            network.blocks = network.blocks.and_then(|blocks| round(blocks, ends));
        }
        network.sorts()
    }

    #[test]
    fn networks_that_sort_are_shown_to() {
        for lines in 1..=10 {
            assert!(sorts(lines, &transposition(lines, lines)), "{lines}");
        }
        for lines in (1..=33).chain([64, 100]) {
            assert!(sorts(lines, &bitonic(lines)), "{lines}");
        }
    }

    #[test]
    fn a_network_without_some_comparator_does_not_sort() {
        for lines in [3_usize, 4, 6, 8] {
            let whole = bitonic(lines);
            for (number, ends) in whole.iter().enumerate() {
                for (t, (partner, _)) in ends.iter().enumerate().filter(|(t, (partner, _))| partner > t) {
                    let mut less = whole.clone();
                    if let Some(ends) = less.get_mut(number) {
                        *ends.get_mut(t).expect("an end") = (t, false);
                        *ends.get_mut(*partner).expect("an end") = (*partner, false);
                    }
                    // Some networks have comparators to spare: brute force says which.
                    assert_eq!(sorts(lines, &less), by_force(lines, &less), "{lines}, round {number}, {t}");
                }
            }
            assert!(!sorts(lines, whole.get(1..).expect("rounds")), "{lines}");
        }
    }

    #[test]
    fn a_comparator_that_is_turned_round_is_seen() {
        for lines in [2_usize, 3, 4, 5, 8, 16] {
            let whole = bitonic(lines);
            for number in 0..whole.len() {
                let mut turned = whole.clone();
                let ends = turned.get_mut(number).expect("a round");
                let (partner, _) = *ends.first().expect("an end");
                if partner == 0 {
                    continue;
                }
                for end in [0, partner] {
                    let larger = &mut ends.get_mut(end).expect("an end").1;
                    *larger = !*larger;
                }
                assert_eq!(sorts(lines, &turned), by_force(lines, &turned), "{lines}, round {number}");
            }
            let mut last = whole.clone();
            for end in last.last_mut().expect("a round") {
                end.1 = !end.1;
            }
            assert!(!sorts(lines, &last), "{lines}");
        }
    }

    #[test]
    fn what_holds_too_much_is_not_shown_to_sort() {
        assert!(!sorts(64, &transposition(64, 64)));
    }

    /// All zeros and ones, one after another.
    fn by_force(lines: usize, rounds: &[Vec<End>]) -> bool {
        (0_u64..1 << lines).all(|input| {
            let mut bits: Vec<bool> = (0..lines).map(|line| (input >> line) & 1 == 1).collect();
            for ends in rounds {
                let at = |line: usize| bits.get(line).copied().unwrap_or(false);
                let kept = |(t, (partner, larger)): (usize, &End)| {
                    if *larger { at(t) || at(*partner) } else { at(t) && at(*partner) }
                };
                bits = ends.iter().enumerate().map(kept).collect();
            }
            bits.is_sorted()
        })
    }
}
