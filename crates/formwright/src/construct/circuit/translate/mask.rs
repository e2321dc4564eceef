//! Filters as masks: what compares `j` with `i + c`, or with `c`, is an interval of positions, and so is what two such allow.

use super::Translator;
use crate::error::Result;
use crate::exact::{Int, Rat};
use crate::network::{Limits, Mask};
use crate::target::expr::{BinaryOp, CompareOp, Expr, Node};

impl Translator<'_> {
    /// The mask of a filter: an interval of positions.
    pub(super) fn mask(&self, filter: &Expr) -> Result<Mask> {
        match &filter.node {
            Node::And(a, b) => {
                let (a, b) = (self.mask(a)?, self.mask(b)?);
                let within = |a: Limits, b: Limits| {
                    let most = |a: Option<i64>, b: Option<i64>| a.map_or(b, |a| Some(b.map_or(a, |b| a.max(b))));
                    let least = |a: Option<i64>, b: Option<i64>| a.map_or(b, |a| Some(b.map_or(a, |b| a.min(b))));
                    (most(a.0, b.0), least(a.1, b.1))
                };
                Ok(Mask {
                    relative: within(a.relative, b.relative),
                    absolute: within(a.absolute, b.absolute),
                    first: false,
                })
            }
            Node::Compare(op, a, b) => {
                let (op, other) = if matches!(a.node, Node::Running) { (*op, b) } else { (mirrored(*op), a) };
                let (relative, place) = shifted(other).ok_or_else(|| {
                    self.decline("a filter compares positions with something unknown", filter, "this filter")
                })?;
                let limits = match op {
                    CompareOp::Less => (None, Some(place - 1)),
                    CompareOp::LessEqual => (None, Some(place)),
                    CompareOp::Greater => (Some(place + 1), None),
                    CompareOp::GreaterEqual => (Some(place), None),
                    CompareOp::Equal => (Some(place), Some(place)),
                    CompareOp::NotEqual => {
                        return Err(self
                            .decline("a filter with `!=` is not an interval of positions", filter, "this filter")
                            .note("try", "the whole aggregate minus the one token: `sum(x) - x`"));
                    }
                };
                Ok(if relative {
                    Mask { relative: limits, ..Mask::ALL }
                } else {
                    Mask { absolute: limits, ..Mask::ALL }
                })
            }
            _ => Err(self.decline("a filter can only compare positions", filter, "this filter")),
        }
    }
}

fn mirrored(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessEqual => CompareOp::GreaterEqual,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterEqual => CompareOp::LessEqual,
        op => op,
    }
}

/// `i + c` or `c`: whether it is relative to `i`, and `c`.
fn shifted(e: &Expr) -> Option<(bool, i64)> {
    let whole = |e: &Expr| -> Option<i64> {
        let integer = |value: &Rat| {
            let size =
                value.to_int().map(|value: Int| value.abs()).and_then(|value| i64::try_from(value.to_u64()?).ok());
            size.map(|size| if value.is_negative() { -size } else { size })
        };
        match &e.node {
            Node::Number(value) => integer(value),
            Node::Negate(e) => match &e.node {
                Node::Number(value) => integer(value).map(|value| -value),
                _ => None,
            },
            _ => None,
        }
    };
    match &e.node {
        Node::Index => Some((true, 0)),
        Node::Binary(BinaryOp::Add, a, b) if a.node == Node::Index => Some((true, whole(b)?)),
        Node::Binary(BinaryOp::Sub, a, b) if a.node == Node::Index => Some((true, -whole(b)?)),
        _ => Some((false, whole(e)?)),
    }
}
