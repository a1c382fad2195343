#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# What a wrong command line or wrong input gets: one sentence on stderr that names what is wrong, the documented status, and
# nothing on stdout. Usage: commands.sh path/to/nigh
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

refused 2 'say what to do: machine, plan, run'
refused 2 "no command 'frob'" frob
refused 2 'plan: --teams is required' plan
refused 2 'not expected: --bogus' plan --teams 2,scatter --bogus
refused 2 'requires --probe' machine --quick
refused 2 'excludes' machine --json --svg
refused 2 "no benchmark 'nope'" bench nope
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
refused 1 "position 1 of 'a-b'" plan --teams 2,scatter --mask a-b
refused 1 "no model 'nope'" machine --model nope
refused 1 "no machine '/etc/passwd'" machine --machine /etc/passwd
refused 1 'more than 65536 threads' plan --teams 65536,scatter,65536,scatter --model tigerton
printf '{"format": "nigh-machine", "version": 9, "tree": {}}' >"$tmp/newer.json"
refused 1 'version: is 9' machine --machine "$tmp/newer.json"
printf '{"format": "nigh-machine", "version": 1, "tree": {"type": "machine", "children": [{"type": "pU"}]}}' >"$tmp/bad.json"
refused 1 'tree.children\[0\].type' machine --machine "$tmp/bad.json"

for words in machine 'machine --json' 'plan --teams 2,scatter' 'plan --teams 2,scatter --svg' bench --help; do
  # shellcheck disable=SC2086
  "$nigh" $words >/dev/full 2>"$tmp/err"
  if [ $? -ne 1 ] || ! grep -q 'could not be written' "$tmp/err"; then
    echo "FAIL: nigh $words on a full disk: $(cat "$tmp/err")"
    failed=1
  fi
done
[ $failed -eq 0 ] && echo "commands: wrong input gets one sentence and a status"
exit $failed
