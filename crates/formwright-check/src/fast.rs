//! Accelerations: they change how long a proof takes, and never what is proved.

pub mod lookup;
pub mod shortcuts;
pub mod skip;
