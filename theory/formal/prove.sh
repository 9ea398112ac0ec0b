#!/usr/bin/env bash
# Compiles the mechanised proofs from nothing and reports the axioms of every theorem.
#
#   prove.sh [--build FOLDER] [--report FILE]      defaults: build/formal, reports/prove/results.json in the checkout
#
# Exit code 0: everything compiled, nothing admitted, no axiom but the three expected.  1: a proof, or the list of
# theorems in Axioms.v, is wrong; then no report is left.  2: Coq or its library is missing, or a wrong argument.
set -euo pipefail
export LC_ALL=C

expected="boolp.propositional_extensionality boolp.functional_extensionality_dep boolp.constructive_indefinite_description"

case "${BASH_SOURCE[0]}" in
  */*) sources="$(cd -- "${BASH_SOURCE[0]%/*}" && pwd)" ;;
  *) sources="$PWD" ;;
esac
checkout="${sources%/*/*}"
build="$checkout/build/formal"
report="$checkout/reports/prove/results.json"

while [ $# -gt 0 ]; do
  case "$1" in
    --build | --report)
      [ $# -ge 2 ] || { echo "$1 needs a path after it, as in: prove.sh --build build/formal" >&2; exit 2; }
      if [ "$1" = --build ]; then build="$2"; else report="$2"; fi
      shift 2
      ;;
    *)
      echo "unknown argument $1: prove.sh takes --build FOLDER and --report FILE" >&2
      exit 2
      ;;
  esac
done

missing() {
  echo "The mechanised proofs were not checked: $1. On Debian 12 install them with" \
    "'apt-get install --no-install-recommends coq libcoq-mathcomp-analysis' (about 1.6 GB)." >&2
  exit 2
}
failed() {
  echo "prove: $1" >&2
  exit 1
}
sha256() { if command -v sha256sum; then sha256sum "$1"; else shasum -a 256 "$1"; fi | awk 'END { print $1 }'; }

command -v coqc >/dev/null || missing "coqc was not found"
case "$report" in /*) ;; *) report="$PWD/$report" ;; esac
mkdir -p -- "$build" "${report%/*}"
build="$(cd -- "$build" && pwd)"
rm -f -- "$report"
cd -- "$build"

echo 'From mathcomp Require derive exp.' >Library.v
coqc -w none Library.v >/dev/null 2>&1 || missing "coqc was found, but not its library MathComp-Analysis"

files="$(awk '/\.v$/' "$sources/_CoqProject")"
for file in $files; do
  cp -- "$sources/$file" "$file"
  rm -f -- "${file%.v}".vo "${file%.v}".vok "${file%.v}".vos "${file%.v}".glob
done
[ "$(cd -- "$sources" && echo *.v | tr ' ' '\n' | sort)" = "$(echo "$files" | sort)" ] ||
  failed "_CoqProject must list every .v file beside it"

# Print Assumptions would find them too; this says where they stand. Comments have no need of these words.
if grep -nwE 'Admitted|admit|Axiom|Conjecture|Parameter|Parameters|bypass_check|Abort' $files; then
  failed "nothing may be admitted or assumed; see the lines above"
fi

SECONDS=0
for file in $files; do
  echo "coqc $file"
  coqc -w none -R . Blindness "$file" >"${file%.v}.out" || failed "$file does not compile"
done
seconds=$SECONDS

listed="$(sed -nE 's/^Print Assumptions ([A-Za-z0-9_]+)\. \(\* ([A-Za-z0-9-]+) \*\)$/\1 \2/p' Axioms.v)"
stated="$(sed -nE 's/^ *Theorem ([A-Za-z0-9_]+).*/\1/p' $files)"
[ "$(echo "$listed" | cut -d ' ' -f 1 | sort)" = "$(echo "$stated" | sort)" ] ||
  failed "Axioms.v must print the assumptions of every Theorem, each once, with its claim"

# One block an answer, in the order asked: "Axioms:" and a line each, or "Closed under the global context".
answers="$(awk '
  /^Closed under the global context/ { block++; next }
  /^Axioms:/ { block++; next }
  /^[^ ]/ { print block + 0, $1 }
  END { print "blocks", block + 0 }' Axioms.out)"
[ "$(echo "$answers" | awk '$1 == "blocks" { print $2 }')" = "$(echo "$listed" | wc -l | tr -d ' ')" ] ||
  failed "Coq gave another number of answers than Axioms.v asked for; see $build/Axioms.out"

number=0
theorems=""
while read -r name claim; do
  number=$((number + 1))
  quoted=""
  echo "$name ($claim)"
  for axiom in $(echo "$answers" | awk -v block="$number" '$1 == block { print $2 }'); do
    echo "  axiom $axiom"
    case " $expected " in
      *" $axiom "*) quoted="$quoted${quoted:+, }\"$axiom\"" ;;
      *) failed "$name rests on $axiom, which is not among the three axioms of MathComp-Analysis" ;;
    esac
  done
  theorems="$theorems${theorems:+,}
    {\"name\": \"$name\", \"claim\": \"$claim\", \"axioms\": [$quoted]}"
done <<<"$listed"

hashes=""
for file in $files; do
  hashes="$hashes${hashes:+,}
    \"$file\": \"$(sha256 "$file")\""
done
coq="$(coqc --print-version | cut -d ' ' -f 1)"
library="$(dpkg-query -W -f '${Version}' libcoq-mathcomp-analysis 2>/dev/null ||
  opam list --installed --short --columns=version coq-mathcomp-analysis 2>/dev/null || echo unknown)"

unfinished="$(mktemp "$report.XXXXXX")"
trap 'rm -f -- "$unfinished"' EXIT
cat >"$unfinished" <<JSON
{
  "schema_version": 1,
  "theorems": [$theorems
  ],
  "sources": {$hashes
  },
  "coq": "$coq",
  "mathcomp_analysis": "$library",
  "seconds": $seconds
}
JSON
chmod 644 "$unfinished"
mv -- "$unfinished" "$report"
echo "$number theorems checked in $seconds s; nothing admitted; wrote $report"
