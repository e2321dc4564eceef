//! Assumption 1 (2): a permutation `γ` of the tokens in which each is seen by the next in some layer of the cycle,
//!
//! ```text
//! γ(i) ∈ ∪_l A^l_{γ(i+1)},     i = 1, …, n-1,
//! ```
//!
//! that is, a Hamiltonian path of the graph with an edge from `a` to `b` wherever `b` sees `a`. It is hard in general
//! to decide whether there is one. Three searches are tried: the tokens in their order; then a path that grows at both
//! ends and, where it cannot, rearranges a part of itself; then a depth-first search that goes on where the fewest ways
//! lead; each up to a number of steps. That there is none is *proved* by a search that ends, by two tokens that are
//! seen by no other, or that see no other, or by a token without which the rest falls into more than two parts: a path
//! that passes through it once joins only two of them.

use serde::Serialize;

use super::Pattern;
use crate::random;

/// The most steps of a search.
const MOST_STEPS: u64 = 1_000_000;

/// The most times that a path is grown or rearranged.
const MOST_TURNS: usize = 100_000;

/// The answer to the question if the tokens can be put in a row in which each is seen by the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub(crate) enum Chain {
    /// They can, in this order.
    Found {
        /// `γ`: the tokens in the order of the row.
        order: Vec<usize>,
        /// The layer of the cycle in which a token sees the one before it, from the second token on.
        served: Vec<usize>,
    },
    /// They cannot.
    Impossible {
        /// The reason.
        reason: String,
    },
    /// No such row was found in so many steps, and none was excluded.
    NotFound {
        /// The steps that were taken.
        steps: u64,
    },
}

impl Chain {
    /// Searches for a chain of a pattern.
    pub(super) fn of(pattern: &Pattern) -> Self {
        let n = pattern.tokens();
        // For every token the tokens that see it, and those that it sees, in any layer.
        let mut seen_by = vec![Vec::new(); n];
        let mut sees = vec![Vec::new(); n];
        for layer in pattern.cycle() {
            for (i, sees) in sees.iter_mut().enumerate() {
                for j in layer.keys(i).iter().copied().filter(|j| *j != i) {
                    seen_by[j].push(i);
                    sees.push(j);
                }
            }
        }
        for list in seen_by.iter_mut().chain(&mut sees) {
            list.sort_unstable();
            list.dedup();
        }
        let found = |order: Vec<usize>| {
            let serves = |pair: &[usize]| pattern.cycle().iter().position(|layer| layer.sees(pair[1], pair[0]));
            let served = order.windows(2).map(|pair| serves(pair).unwrap_or_default()).collect();
            Self::Found { order, served }
        };
        if (1..n).all(|i| seen_by[i - 1].binary_search(&i).is_ok()) {
            return found((0..n).collect());
        }
        if let Some(reason) = obstacle(&seen_by, &sees) {
            return Self::Impossible { reason };
        }
        if let Some(order) = grown(&seen_by, &sees) {
            return found(order);
        }
        let mut search = Search { seen_by: &seen_by, visited: vec![false; n], order: Vec::new(), steps: 0 };
        // A path is most likely to begin at a token that the fewest others lead to.
        let mut starts: Vec<usize> = (0..n).collect();
        starts.sort_by_key(|start| sees[*start].len());
        for start in starts {
            match search.from(start) {
                Some(true) => return found(search.order),
                Some(false) => {}
                None => return Self::NotFound { steps: search.steps },
            }
        }
        Self::Impossible { reason: format!("all {} ways to go on were tried", search.steps) }
    }
}

/// A reason that can be seen at once.
fn obstacle(seen_by: &[Vec<usize>], sees: &[Vec<usize>]) -> Option<String> {
    for (lists, what) in [(seen_by, "are seen by no other"), (sees, "see no other")] {
        let alone: Vec<usize> = (0..lists.len()).filter(|token| lists[*token].is_empty()).take(2).collect();
        if let [a, b] = alone[..] {
            return Some(format!(
                "tokens {a} and {b} {what}, and a row has one {}",
                if what.starts_with("see ") { "first" } else { "last" }
            ));
        }
    }
    let parts = |without: Option<usize>| components(seen_by, sees, without);
    if let [a, b, ..] = parts(None)[..] {
        return Some(format!("tokens {a} and {b} are in parts with no connection between them"));
    }
    (0..sees.len()).find_map(|token| match parts(Some(token))[..] {
        [a, b, c, ..] => Some(format!(
            "without token {token} the tokens {a}, {b} and {c} are in parts of their own, and a row passes through it once"
        )),
        _ => None,
    })
}

/// The first token of each connected component, regardless of direction, without one of the tokens.
fn components(seen_by: &[Vec<usize>], sees: &[Vec<usize>], without: Option<usize>) -> Vec<usize> {
    let mut visited = vec![false; sees.len()];
    if let Some(token) = without {
        visited[token] = true;
    }
    let mut firsts = Vec::new();
    for first in 0..sees.len() {
        if visited[first] {
            continue;
        }
        firsts.push(first);
        visited[first] = true;
        let mut open = vec![first];
        while let Some(token) = open.pop() {
            for next in seen_by[token].iter().chain(&sees[token]).copied() {
                if !std::mem::replace(&mut visited[next], true) {
                    open.push(next);
                }
            }
        }
    }
    firsts
}

/// A path grown step by step; seeded draws decide where there is a choice.
///
/// Where the last token `e` leads to nothing new but back to `v_i`, and `v_{i-1}` leads to `v_{j+1}` further on, the
/// parts behind `v_{i-1}` change places: `… v_{i-1} v_{j+1} … e v_i … v_j` has another end.
fn grown(seen_by: &[Vec<usize>], sees: &[Vec<usize>]) -> Option<Vec<usize>> {
    let n = sees.len();
    let mut state = 1;
    let mut path = vec![0];
    let mut place = vec![None; n];
    place[0] = Some(0);
    for _ in 0..MOST_TURNS {
        if path.len() == n {
            return Some(path);
        }
        let (first, last) = (*path.first()?, *path.last()?);
        if let Some(next) = seen_by[last].iter().copied().find(|next| place[*next].is_none()) {
            path.push(next);
            place[next] = Some(path.len() - 1);
            continue;
        }
        if let Some(before) = sees[first].iter().copied().find(|before| place[*before].is_none()) {
            path.insert(0, before);
        } else {
            let i = place[*drawn(&mut state, &seen_by[last])?]?;
            // In a circle any part may be the last.
            let onward: Vec<usize> = match i.checked_sub(1) {
                None => (1..path.len()).collect(),
                Some(before) => {
                    seen_by[path[before]].iter().filter_map(|next| place[*next]).filter(|j| *j > i).collect()
                }
            };
            let Some(j) = drawn(&mut state, &onward) else { continue };
            path[i..].rotate_left(j - i);
        }
        path.iter().enumerate().for_each(|(at, token)| place[*token] = Some(at));
    }
    None
}

/// One of these, drawn at random.
fn drawn<'a, T>(state: &mut u64, among: &'a [T]) -> Option<&'a T> {
    among.get(random::below(state, among.len()))
}

/// A depth-first search.
struct Search<'a> {
    seen_by: &'a [Vec<usize>],
    visited: Vec<bool>,
    order: Vec<usize>,
    steps: u64,
}

impl Search<'_> {
    /// True if a path begins here; `None` when the steps are used up. A path that was found stays in `order`.
    fn from(&mut self, start: usize) -> Option<bool> {
        // For every token on the path the untried ways, the best one last.
        let mut ways = vec![self.enter(start)];
        while let Some(untried) = ways.last_mut() {
            if self.order.len() == self.visited.len() {
                return Some(true);
            }
            if let Some(next) = untried.pop() {
                if self.steps == MOST_STEPS {
                    return None;
                }
                self.steps += 1;
                ways.push(self.enter(next));
            } else {
                ways.pop();
                if let Some(token) = self.order.pop() {
                    self.visited[token] = false;
                }
            }
        }
        Some(false)
    }

    /// Goes to a token. Returns the possible next tokens, those with the fewest ways on last.
    fn enter(&mut self, token: usize) -> Vec<usize> {
        self.visited[token] = true;
        self.order.push(token);
        let open = |token: usize| self.seen_by[token].iter().filter(|next| !self.visited[**next]).count();
        let mut next: Vec<usize> = self.seen_by[token].iter().copied().filter(|next| !self.visited[*next]).collect();
        next.sort_by_key(|next| std::cmp::Reverse((open(*next), *next)));
        next
    }
}
