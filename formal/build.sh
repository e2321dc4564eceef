#!/usr/bin/env bash
# Checks every proof in theories/, from any directory, and prints what each theorem of theorems.txt assumes.
#
# It fails if a proof fails, if a source has an unproved statement or an axiom, or if a theorem assumes anything.
# Build products go to formal/build, which git ignores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

if ! command -v coqc > /dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends coq
    else
        echo "formal/build.sh: coqc is missing, and only root on Debian can install it here (apt-get install coq)" >&2
        exit 1
    fi
fi

# Comments may use these words, so a word counts only where a command or a tactic may stand.
unproved='^[[:space:]]*((Local|Global|#\[[^]]*\])[[:space:]]+)*(Admitted|Axioms?|Parameters?|Conjectures?)\b|\b(admit|Admitted|give_up)[[:space:]]*\.|\badmit\b[[:space:]]*[;|)\]]'
if grep -nE "$unproved" theories/*.v; then
    echo "formal/build.sh: the lines above leave something unproved" >&2
    exit 1
fi

# Every source is built, in the order of _CoqProject.
mapfile -t files < <(grep '\.v$' _CoqProject)
if [ "$(printf '%s\n' "${files[@]}" | sort)" != "$(printf '%s\n' theories/*.v | sort)" ]; then
    echo "formal/build.sh: _CoqProject does not name exactly the files in theories/" >&2
    exit 1
fi

rm -rf build
mkdir -p build
cp -r theories build/
cd build
for file in "${files[@]}"; do
    echo "$file"
    coqc -q -Q theories Formwright "$file"
done

# What the theorems assume: nothing.
{
    echo 'From Formwright Require Import' "$(sed 's/\..*//' ../theorems.txt | sort -u | tr '\n' ' ')."
    sed 's/.*/Print Assumptions &./' ../theorems.txt
} > assumptions.v
coqc -q -Q theories Formwright assumptions.v > assumptions.txt
paste ../theorems.txt assumptions.txt
if [ "$(wc -l < assumptions.txt)" != "$(wc -l < ../theorems.txt)" ] ||
    grep -qvx 'Closed under the global context' assumptions.txt; then
    echo "formal/build.sh: a theorem assumes something" >&2
    exit 1
fi
