# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# The common parts of the suites here that start whole programs; sourced with $build set to the build folder.
# A case fails by `fail`, and leaves with 77 and the reason by `skip`, unless NIGH_REQUIRE names the missing
# thing.
set -u
nigh=$build/bin/nigh
lib=$build/lib
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
for v in $(env | sed -n 's/^\(\(OMP\|KMP\|GOMP\|NIGH\)_[A-Z_]*\)=.*/\1/p'); do
  [ "$v" = NIGH_REQUIRE ] || unset "$v"
done

fail() {
  echo "FAIL: $*"
  for stream in out err; do [ -s "$tmp/$stream" ] && sed "s/^/  $stream: /" "$tmp/$stream"; done
  exit 1
}
skip() { # skip WHAT REASON
  echo "SKIP: $2"
  case ",${NIGH_REQUIRE:-}," in *",$1,"* | *,all,*) exit 1 ;; esac
  exit 77
}
have() { command -v "$1" >/dev/null 2>&1; } # have PROGRAM
need() { have "$1" || skip "$2" "there is no $1 here"; } # need PROGRAM NAME-IN-NIGH_REQUIRE
two_pus() { grep -q '^Cpus_allowed_list:.*[,-]' /proc/self/status || skip cpus "one CPU only: a bound thread looks like any other"; }

# keep COMMAND..: runs it, keeps both streams, returns its status. That a plan has more threads than there are PUs may well
# be so here, and is kept apart.
keep() {
  kept=0
  timeout 120 "$@" >"$tmp/out" 2>"$tmp/err" || kept=$?
  grep 'threads of the plan share' "$tmp/err" >"$tmp/room"
  sed -i '/threads of the plan share/d' "$tmp/err"
  return $kept
}
ok() { keep "$@" || fail "status $?: $*"; }
status() { # status WANTED COMMAND..
  wanted=$1
  shift
  got=0
  keep "$@" || got=$?
  [ "$got" = "$wanted" ] || fail "status $got, not $wanted: $*"
}
out_is() { [ "$(cat "$tmp/out")" = "$1" ] || fail "stdout is not: $1"; }
out_has() { grep -q -e "$1" "$tmp/out" || fail "stdout lacks: $1"; }
out_lacks() { ! grep -q -e "$1" "$tmp/out" || fail "stdout has: $1"; }
says() { grep -q -e "$1" "$tmp/err" || fail "stderr lacks: $1"; }
silent() { [ ! -s "$tmp/err" ] || fail "stderr is not empty"; }
lines() { # lines N: exactly N lines of ours on stderr
  [ "$(grep -c '^nigh' "$tmp/err")" = "$1" ] || fail "not exactly $1 line(s) of nigh's on stderr"
}
