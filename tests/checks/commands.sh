#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# The answer to a wrong command line or wrong input: one sentence on stderr that names the fault, the
# documented status, and nothing on stdout. Usage: commands.sh path/to/nigh
set -u
nigh=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

# refused STATUS PATTERN ARGUMENT...
refused() {
  want=$1 pattern=$2
  shift 2
  "$nigh" "$@" >"$tmp/out" 2>"$tmp/err"
  got=$?
  lines=$(wc -l <"$tmp/err")
  if [ "$got" -ne "$want" ] || ! grep -q -- "$pattern" "$tmp/err" || [ "$lines" -ne 1 ] || [ -s "$tmp/out" ]; then
    echo "FAIL: nigh $*: status $got (want $want), $lines lines: $(cat "$tmp/err")"
    failed=1
  fi
}

refused 2 'say what to do: run, compare, tune, doctor, settings, ps, machine, plan'
refused 2 "no command 'frob'" frob
refused 2 'plan: --teams, --transpose or --ranks is required' plan
refused 2 'not expected: --bogus' plan --teams 2,scatter --bogus
refused 2 'requires --probe' machine --quick
refused 1 'goes with --probe or --probe-mpi' machine --no-store
refused 1 'takes the words that start ranks' machine --probe-mpi
refused 1 'does not say which MPI library' machine --probe-mpi -- true
refused 2 'excludes' machine --probe --probe-mpi
refused 125 'knows the launchers of Open MPI and MPICH' run --auto-hybrid -- true
refused 2 '--transpose requires --auto-hybrid' run --transpose 10x10 -- true
refused 2 'excludes' machine --json --svg
refused 2 "no command 'rnu'.*did you mean run?" rnu
refused 2 'not expected: --explian; did you mean --explain?' run --explian -- true
refused 1 'there is no process 4194304' ps -p 4194304
refused 2 'range' ps -p 0
refused 2 'compare' compare --time nan -- true
refused 1 'say what to compare: nigh compare -- ./app' compare
refused 1 'give two commands, or one after --' compare 'true' 'false' -- true
refused 1 'without ended with status 3' compare -- sh -c 'exit 3'
refused 1 'is no regular expression' compare --check '(' -- true
refused 1 'no line of the output matches --check' compare --check energy -- true
refused 2 'tune' tune --time nan -- true
refused 1 'say what to tune: nigh tune --' tune
refused 1 'ended with status 3' tune -- sh -c 'exit 3'
refused 1 'is no regular expression' tune --check '(' -- true
refused 1 'no line of the output matches --check' tune --check energy -- true
refused 1 'ended with status 127' tune -- no-such-program-here
refused 125 'this machine has nodes' run --interleave 4000 -- true
refused 125 '--membind' run --membind x -- true
refused 2 'excludes' run --membind 0 --preferred 0 -- true
refused 125 'leaves nothing to do' run --only mpi --off mpi -- true
refused 125 'nigh tune has found no numbers for it' run -- no-such-program-here {ranks}
refused 1 'there is no such program' compare -- no-such-program-here
mkdir -p "$tmp/mixed/2-ranks-1"
for words in '0, "ranks": 2' '900, "ranks": 1000'; do
  echo "{\"format\": \"nigh-rank\", \"version\": 1, \"rank\": $words}" >"$tmp/mixed/2-ranks-1/rank-${words%%,*}.json"
done
refused 1 'holds files of jobs of' report --out "$tmp/mixed.html" "$tmp/mixed"
refused 1 'needs one record of ranks' report --perfetto "$tmp/trace.json"
refused 1 'is no folder of nigh run --record' report --perfetto "$tmp/trace.json" /etc/passwd
refused 1 'holds files of jobs of' report --perfetto "$tmp/trace.json" "$tmp/mixed"
refused 2 'excludes' report --perfetto "$tmp/trace.json" --out "$tmp/x.html" "$tmp/mixed"
rm "$tmp/mixed/2-ranks-1/rank-900.json"
refused 1 'has no times' report --perfetto "$tmp/trace.json" "$tmp/mixed"
refused 2 "no benchmark 'nope'" bench nope
refused 2 'starts its programs itself' bench copy -- mpirun
for name in transpose-steps mpi-nodes; do
  refused 2 'words that start ranks are missing' bench $name
  refused 2 'does not say which MPI library' bench $name -- true
done
refused 2 "multiples of 8 bytes up to 67108864, such as 8,65536; not '12'" bench mpi-nodes --size 8,12 -- mpirun.openmpi
refused 2 "are not mpi-nodes'" bench mpi-nodes --teams 4 -- mpirun.openmpi
refused 2 "there is no 'han'" bench mpi-nodes --subjects han -- mpirun.openmpi
refused 2 "such as 1024x1024,1000x600; not '5'" bench transpose-steps --size 5 -- mpirun.openmpi
refused 2 'one producer and one consumer; not 2' bench alloc --teams 2
refused 2 'takes 1, 2, 4 or 8 PEs, such as 2,4; not 3' bench kneighbor --teams 3
refused 2 'excludes' watch --all -p 1
refused 2 'policy' watch --policy nope -p 1
refused 2 'excludes' watch --demo --meters
refused 2 'excludes' watch --demo --log "$tmp/log"
refused 2 'range 1 to 4194304' watch -p abc
refused 1 'no process 4194304' watch -p 4194304
refused 1 'has nodes 0-7' watch --machine opteron-6272 --memory 9 -- true
refused 125 'this machine has nodes' run --watch --memory 1023 -- true
refused 1 "token 2 ('spread')" plan --teams 4,spread
refused 1 'no PU in common' plan --teams 2,scatter --model barcelona --mask 99
refused 2 'excludes' plan --teams 2,scatter --transpose 10x10
refused 2 'excludes' plan --transpose 10x10 --svg
refused 2 '--nodes requires --transpose or --ranks' plan --teams 2,scatter --nodes 2
refused 2 'takes omp, gomp, likwid or slurm' plan --teams 2,scatter --as rankfile
refused 2 'takes rankfile, hosts or rankmap' plan --ranks matrix --as omp
refused 2 'excludes' plan --teams 2,scatter --ranks matrix
refused 1 "can't open no-such-file" plan --ranks no-such-file
refused 2 '--curves requires --json' plan --transpose 10x10 --curves
refused 2 'range' plan --transpose 10x10 --nodes 0
refused 2 'range' plan --transpose 10x10 --flops -1
for size in 10 10x 0x5 x 10x5x2 -1x5 1.5x2 99999999999999999999x1; do
  refused 1 "plan: --transpose: '$size' is not a matrix" plan --transpose "$size" --model winterhawk2
done
refused 1 "no 'int'; use one of double, float" plan --transpose 10x10 --type int --model winterhawk2
refused 1 'can.t be cut into 16 blocks' plan --transpose 10x10 --nodes 16 --model winterhawk2
refused 1 'has 1 to 2147483648 rows' plan --transpose 10x3000000000 --model winterhawk2
refused 1 "position 1 of 'a-b'" plan --teams 2,scatter --mask a-b
refused 1 "position 3 of '0?x'" plan --teams 2,scatter --mask "$(printf '0\nx')"
refused 2 "there is no command 'a?b'" "$(printf 'a\nb')"
refused 1 "no model 'nope'" machine --model nope
refused 1 "no machine '/etc/passwd'" machine --machine /etc/passwd
refused 1 'more than 65536 threads' plan --teams 65536,scatter,65536,scatter --model tigerton
printf '{"format": "nigh-machine", "version": 9, "tree": {}}' >"$tmp/newer.json"
refused 1 'version: is 9' machine --machine "$tmp/newer.json"
printf '{"format": "nigh-machine", "version": 1, "tree": {"type": "machine", "children": [{"type": "pU"}]}}' >"$tmp/bad.json"
refused 1 'tree.children\[0\].type' machine --machine "$tmp/bad.json"

# The transpose of Haan (SCICOMP 2000): its figures, and that a file of one's own says what the shipped model says.
"$nigh" machine --model winterhawk2 --json >"$tmp/own.json"
for machine in winterhawk2 "$tmp/own.json"; do
  "$nigh" plan --transpose 1000x1000 --nodes 16 --flops 800 --machine "$machine" >"$tmp/out.$(basename "$machine")" || failed=1
done
cmp "$tmp/out.winterhawk2" "$tmp/out.own.json" || failed=1
grep -q '^ *1  *4  *three-steps .* 5\.[56][0-9]*  *20[5-9]' "$tmp/out.winterhawk2" || { echo "FAIL: Haan's hybrid"; failed=1; }
grep -q '^ *4  *1  *three-steps .* 2\.5[0-9]*  *10[78]' "$tmp/out.winterhawk2" || { echo "FAIL: Haan's MPI"; failed=1; }
grep -q '^best: .* threads*, .*% of it ' "$tmp/out.winterhawk2" || { echo "FAIL: no best way"; failed=1; }
"$nigh" plan --transpose 4000x1000 --nodes 4 --type complex --machine barcelona --json --curves | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["format"] == "nigh-transpose" and (d["rows"], d["columns"], d["nodes"], d["cores"]) == (4000, 1000, 4, 16)
assert len(d["ways"]) == 5 * 7 and "fft_mflops" not in d["ways"][0] and any("assumed" in line for line in d["rests_on"])
for way in d["ways"]:
    s = way["seconds"]
    parts = sum(s[k] for k in ("local_reorder", "on_node", "between_nodes", "local_transpose", "synchronisation"))
    assert abs(parts - s["overlapped"] - s["total"]) < 1e-9 * parts and s["total"] >= d["ways"][0]["seconds"]["total"]
assert {p["nodes"] for p in d["curves"]["nodes"]} >= {1, 4, 64} and {p["side"] for p in d["curves"]["sizes"]} >= {100, 31623}
' || { echo "FAIL: the document of plan --transpose"; failed=1; }

for words in machine 'machine --json' 'plan --teams 2,scatter' 'plan --teams 2,scatter --svg' 'plan --transpose 99x99' bench --help; do
  # shellcheck disable=SC2086
  "$nigh" $words >/dev/full 2>"$tmp/err"
  if [ $? -ne 1 ] || ! grep -q 'could not be written' "$tmp/err"; then
    echo "FAIL: nigh $words on a full disk: $(cat "$tmp/err")"
    failed=1
  fi
done
[ $failed -eq 0 ] && echo "commands: wrong input gets one sentence and a status"
exit $failed
