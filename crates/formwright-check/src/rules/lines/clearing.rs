//! Rule *clearing*: `-R(z)` and `R(-z)` take all of a register away. So do units of a gate that reads the register alone,
//! whatever their knots: of `z + P(z)` it is said that it stands for what the gate makes, and a number that is left.

use super::Register;
use super::layer::Group;
use crate::kernel::number::Dyadic;
use crate::kernel::sum::Row;

/// True if a group reads one register as it is, or its negative.
pub(super) fn reads_alone(group: &Group, place: usize) -> bool {
    matches!(group.weights.as_slice(), [(at, weight)] if *at == place && weight.abs() == Dyadic::ONE)
}

/// True if a group clears a register: it reads the register as it is, and what is of either sign that the register may
/// have is taken away. With the register's row: by one unit on a side, times exactly -1 or 1, and by nothing else.
/// Without it, the units are a gate's as well, and what they leave is part of the gate: then units without bias must be
/// there, whatever their weights.
pub(super) fn is_clearing(group: &Group, place: usize, before: &Register, units: &[Row], row: Option<&Row>) -> bool {
    let upright = group.weights.iter().all(|(_, weight)| !weight.is_negative());
    let plain = |number: usize| units.get(number).is_some_and(|unit| unit.bias.is_zero());
    let weight = |number: usize| row.and_then(|row| row.weights.iter().find(|(unit, _)| *unit == number));
    // The units of a side: those that write, or all that could.
    let side = |positive: bool| {
        let here = group.units.iter().filter(move |(_, sign)| (*sign == upright) == positive);
        here.map(|(number, _)| *number).filter(|number| row.is_none() || weight(*number).is_some()).collect::<Vec<_>>()
    };
    let clears = |positive: bool| {
        let spared = before.sign.as_ref().is_some_and(|(sign, _)| *sign != positive);
        let wanted = if positive { -&Dyadic::ONE } else { Dyadic::ONE };
        match (row, side(positive).as_slice()) {
            (_, []) => spared,
            (Some(_), [unit]) => plain(*unit) && weight(*unit).is_some_and(|(_, weight)| *weight == wanted),
            (Some(_), _) => false,
            (None, numbers) => spared || numbers.iter().any(|number| plain(*number)),
        }
    };
    reads_alone(group, place) && clears(true) && clears(false)
}

/// The units that take a register away beside a gate's own: on each side that the register may be on, one without bias
/// that writes exactly what was read.
pub(super) fn clearing_units(
    group: &Group,
    place: usize,
    before: &Register,
    units: &[Row],
    row: &Row,
) -> Option<Vec<usize>> {
    let upright = group.weights.iter().all(|(_, weight)| !weight.is_negative());
    let mut found = Vec::new();
    for positive in [true, false] {
        if before.sign.as_ref().is_some_and(|(sign, _)| *sign != positive) {
            continue;
        }
        let wanted = if positive { -&Dyadic::ONE } else { Dyadic::ONE };
        let clears = |(number, sign): &(usize, bool)| {
            let writes = row.weights.iter().any(|(unit, weight)| unit == number && *weight == wanted);
            let plain = units.get(*number).is_some_and(|unit| unit.bias.is_zero());
            ((*sign == upright) == positive && plain && writes).then_some(*number)
        };
        found.push(group.units.iter().find_map(clears)?);
    }
    reads_alone(group, place).then_some(found)
}
