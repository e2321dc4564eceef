//! The tests of the lab, in one program.

mod compare;
mod compile;
mod encoder;
mod language;
mod mixers;
mod models;
mod refusals;
mod runs;
mod support;
