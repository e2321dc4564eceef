#!/usr/bin/env bash
# All checks. Run from anywhere; needs cargo, a C compiler, python3, and Chromium and node, in which pages are tried.
#
#   ./test.sh               format, lints, documentation and tests of all but the lab: what every change must pass
#   ./test.sh lab           lints, documentation and tests of the lab, which compile longer than all the others together
#   ./test.sh exhaustive    the tests that are ignored above because each takes minutes
set -euo pipefail
cd "$(dirname "$0")"
export RUSTDOCFLAGS="--deny warnings"

case "${1:-quick}" in
quick) ;;
lab)
  cargo clippy -p formwright-lab --all-targets --locked -- --deny warnings
  cargo doc -p formwright-lab --no-deps --locked
  exec cargo test -p formwright-lab --profile lab --locked
  ;;
exhaustive)
  exec cargo test --workspace --exclude formwright-lab --release --locked -- --ignored
  ;;
*)
  echo "test.sh: '$1' is none of quick, lab, exhaustive" >&2
  exit 3
  ;;
esac

# A bare machine of Debian gets them here.
if { ! command -v chromium chromium-browser || ! command -v node; } > /dev/null && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
  apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core nodejs > /dev/null
fi
all_but_the_lab=(--workspace --exclude formwright-lab --locked)
# The second checker's tests have a core to themselves while others compile.
mkdir -p target
python3 -m unittest discover -s checker > target/checker-tests.txt 2>&1 &
checker_tests=$!
cargo fmt --check
cargo clippy "${all_but_the_lab[@]}" --all-targets -- --deny warnings
cargo doc "${all_but_the_lab[@]}" --no-deps
cargo test "${all_but_the_lab[@]}"
wait "$checker_tests" || {
  cat target/checker-tests.txt
  exit 1
}
tail -n 3 target/checker-tests.txt
# The Python package: a wheel in the profile that is built already, then the package, the page, the examples and the types.
venv=target/python-venv
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r python/requirements.txt
rm -rf target/wheels
"$venv/bin/maturin" build --quiet --locked --profile dev --out target/wheels
"$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps target/wheels/*.whl
"$venv/bin/python" -m pytest -q -p no:cacheprovider
"$venv/bin/mypy"
echo "not run here: ./test.sh lab, ./test.sh exhaustive (measurements/tests.md says when they were)"
