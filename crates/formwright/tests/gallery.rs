//! The Rust of `examples/` runs; pytest runs the Python.

#[path = "../../../examples/from_rust.rs"]
mod from_rust;

#[test]
fn the_example_in_rust_runs() {
    from_rust::main().expect("a model");
}
