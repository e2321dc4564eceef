//! The tests of the checker, in one program.

mod connections;
mod corpus;
mod executions;
mod folders;
mod fuzz;
mod heads;
mod independence;
mod meanings;
mod readers;
mod rules;
mod support;
