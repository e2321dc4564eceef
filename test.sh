#!/usr/bin/env bash
# All checks: format, lints, documentation, tests. Run from anywhere; needs cargo, a C compiler, python3 and Chromium, in which reports are looked at.
set -euo pipefail
cd "$(dirname "$0")"
# A bare machine of Debian gets it here.
if ! command -v chromium chromium-browser > /dev/null && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
  apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core > /dev/null
fi
cargo fmt --check
cargo clippy --workspace --all-targets --locked -- --deny warnings
RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --locked
cargo test --workspace --locked
python3 -m unittest discover -s checker
# The Python package: a wheel in the profile that is built already, then the package, the page, the examples and the types.
venv=target/python-venv
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r python/requirements.txt
rm -rf target/wheels
"$venv/bin/maturin" build --quiet --locked --profile dev --out target/wheels
"$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps target/wheels/*.whl
"$venv/bin/python" -m pytest -q -p no:cacheprovider
"$venv/bin/mypy"
