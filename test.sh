#!/usr/bin/env bash
# All checks: format, lints, documentation, tests. Run from anywhere; needs cargo, a C compiler and python3.
set -euo pipefail
cd "$(dirname "$0")"
cargo fmt --check
cargo clippy --workspace --all-targets --locked -- --deny warnings
RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --locked
cargo test --workspace --locked
python3 -m unittest discover -s checker
