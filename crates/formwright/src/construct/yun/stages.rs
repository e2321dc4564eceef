//! The stages of a network, by name: [`STAGES`] is the one list of them.
//!
//! A stage knows itself: its name in `model.json`, the statement that it makes true, its sentence, the way back from
//! its parameters, and its lowering. Whoever adds a stage implements [`StageKind`] and [`Lowers`] beside its
//! [`Generator`] and adds a line to the list.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::context::{GlobalShift, SelectiveShifts};
use super::guard::{AddMinimum, Clamp, Floor};
use super::lower::Lowers;
use super::quantise::Quantise;
use super::value::{Rescale, ValueWindows, ZeroOutside};
use crate::error::Error;
use crate::exact::Int;
use crate::lattice::Grid;
use crate::network::{Generator, Stage};
use crate::target::Target;

/// A generator that is a stage of its own.
pub(super) trait StageKind: Lowers + Sized {
    /// Its name, unique in a network and in [`STAGES`].
    const NAME: &'static str;

    /// The id of the statement that it makes true.
    fn statement(&self) -> &'static str;

    /// One sentence on what it does.
    fn meaning(&self) -> String;

    /// The stage with these parameters. Refuses those that a hand-edited file may hold and that no layer can have.
    fn read(parameters: Value, grid: &Grid, target: &Arc<Target>) -> Result<Self, String>;

    /// It, as a stage of a network.
    fn stage(self) -> Stage {
        Stage { name: Self::NAME, statement: self.statement(), meaning: self.meaning(), generator: Box::new(self) }
    }
}

/// From parameters to a stage.
type Reader = fn(Value, &Grid, &Arc<Target>) -> Result<Stage, String>;

/// A generator as this construction's own, if it is one.
type Own = fn(&dyn Generator) -> Option<&dyn Lowers>;

/// A stage's name, the way back from its parameters, and its lowering.
type Entry = (&'static str, Reader, Own);

/// All stages, in the order in which a network may have them.
const STAGES: [Entry; 9] = [
    entry::<Clamp>(),
    entry::<Quantise>(),
    entry::<AddMinimum>(),
    entry::<Floor>(),
    entry::<SelectiveShifts>(),
    entry::<GlobalShift>(),
    entry::<ZeroOutside>(),
    entry::<ValueWindows>(),
    entry::<Rescale>(),
];

const fn entry<T: StageKind>() -> Entry {
    (
        T::NAME,
        |parameters, grid, target| Ok(T::read(parameters, grid, target)?.stage()),
        |generator| (generator as &dyn Any).downcast_ref::<T>().map(|own| own as &dyn Lowers),
    )
}

/// A stage from its name and parameters in `model.json`.
pub fn read_stage(name: &str, parameters: Value, grid: &Grid, target: &Arc<Target>) -> Result<Stage, String> {
    let (_, read, _) = STAGES.iter().find(|(known, ..)| *known == name).ok_or(format!("there is no stage '{name}'"))?;
    read(parameters, grid, target)
}

/// A stage of a network, as one that lowers itself.
pub(super) fn of(stage: &Stage) -> Result<&dyn Lowers, Error> {
    let found = STAGES.iter().find_map(|(_, _, own)| own(&*stage.generator));
    found.ok_or_else(|| Error::declined(format!("the stage '{}' is of another construction", stage.name)))
}

/// Parameters that are plain data, and hold what `check` asks of them.
pub(super) fn checked<T: DeserializeOwned>(
    parameters: Value,
    check: impl Fn(&T) -> Result<(), String>,
) -> Result<T, String> {
    let stage = serde_json::from_value(parameters).map_err(|error| error.to_string())?;
    check(&stage).map(|()| stage)
}

/// A large integer, shown by its leading digits and its length.
pub(super) struct Short<'a>(pub &'a Int);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
        match digits.len() {
            0..=12 => f.write_str(&text),
            length => write!(f, "{sign}{}.{}e{}", &digits[..1], &digits[1..4], length - 1),
        }
    }
}
