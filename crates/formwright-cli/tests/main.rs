//! The tests of the command line, in one program.

mod attacks;
mod cli;
mod explore;
mod lab;
mod limits;
mod meanings;
mod outside;
mod pages;
mod report;
mod runtime;
mod shell;
mod zoo;
