#!/usr/bin/env bash
# Hashes of what is written for each line of models.txt: `measurements/bytes.sh target/release/formwright > hashes.txt`.
# Two releases that print the same write the same bytes; a difference is a weight, a claim or an export that changed.
set -uo pipefail
program=$(realpath "$1")
models=$(realpath "$(dirname "$0")/models.txt")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
number=0
grep -v '^#' "$models" | while IFS= read -r line; do
  number=$((number + 1))
  eval "\"$program\" build $line -o model$number --no-check" > log 2>&1 || { echo "$line: $(head -n 1 log)"; continue; }
  "$program" export "model$number" -o "model$number.onnx" > log 2>&1 || rm -f "model$number.onnx"
  echo "$line"
  for file in "model$number"/model.safetensors "model$number"/certificate.fwc "model$number.onnx"; do
    [ -f "$file" ] && echo "  $(sha256sum < "$file" | cut -c 1-16) ${file##*/model*[0-9]}" | sed 's/ \// /'
  done
done
