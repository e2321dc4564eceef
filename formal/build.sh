#!/usr/bin/env bash
# Checks every proof in theories/, from any directory, and prints what each theorem of theorems.txt assumes.
#
# It fails if a proof fails, if a source has an unproved statement or an axiom, if a theorem assumes more than
# theorems.txt allows, if a rule of CERTIFICATE.md has no theorem or no counterexample, if a link leads nowhere, or if
# theorems.md is stale (`formal/check.py --write` writes it).
# Then it builds the third checker from what was proved, build/third-checker, and runs it on the corpus
# and on lines of meanings.
# Build products go to formal/build, which git ignores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

if ! command -v coqc > /dev/null || [ ! -d "$(coqc -where)/user-contrib/Flocq" ] \
    || [ ! -f "$(ocamlfind query zarith 2> /dev/null)/z.cmi" ] || ! command -v ocamlopt > /dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            coq libcoq-flocq libzarith-ocaml-dev ocaml-nox ocaml-findlib python3
    else
        echo "formal/build.sh: coqc, Flocq, ocamlopt or Zarith is missing, and only root on Debian can install them here" \
            "(apt-get install coq libcoq-flocq libzarith-ocaml-dev ocaml-nox ocaml-findlib)" >&2
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

# What each theorem assumes, and whether every link leads to one.
{
    echo 'From Formwright Require Import' "$(sed 's/\..*//' ../theorems.txt | sort -u | tr '\n' ' ')."
    sed -E 's/^([^ ]+).*/Goal True. idtac "theorem \1". Abort. Print Assumptions \1./' ../theorems.txt
} > assumptions.v
coqc -q -Q theories Formwright assumptions.v > assumptions.txt
python3 ../check.py
python3 ../check_test.py

# The third checker: what Coq extracts, and around it what reads files.
mkdir checker
cp ../checker/*.ml ../checker/Extract.v checker/
cd checker
coqc -q -Q ../theories Formwright Extract.v
rm proved.mli
ocamlfind ocamlopt -w -a -c -package zarith fast.ml proved.ml
ocamlfind ocamlopt -w +a-4-9-40..42-44-45-70 -warn-error +a -O3 -package zarith,unix -linkpkg fast.cmx proved.cmx \
    verdict.ml sha256.ml numbers.ml json.ml peano.ml lines.ml meanings.ml certificate.ml weights.ml target.ml \
    statement.ml main.ml -o ../third-checker
python3 ../../checker/corpus.py
python3 ../../checker/meanings.py

# And a claim that Coq checks by itself, without what was extracted.
cd ..
./third-checker --theorem ../../corpus/accept/circuit-dims > it_is_met.v
coqc -q -Q theories Formwright it_is_met.v > it_is_met.txt
