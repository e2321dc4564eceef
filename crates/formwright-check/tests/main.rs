//! The tests of the checker, in one program.

mod attend;
mod connections;
mod corpus;
mod distance;
mod executions;
mod folders;
mod fuzz;
mod gates;
mod heads;
mod hosts;
mod hub;
mod independence;
mod kinds;
mod meanings;
mod median;
mod norms;
mod parts;
mod readers;
mod rules;
mod shared;
mod shortcuts;
mod support;
mod whole;
