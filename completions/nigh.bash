# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# bash completion for nigh. The option lists are held to `nigh COMMAND --help` by tests/checks/words.py. Run instead of sourced,
# with the words of a line, it prints what its last one may become: zsh's and fish's completions do so.

_nigh() {
  local cur prev words cword
  if declare -F _init_completion >/dev/null; then
    _init_completion || return
  else
    cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
  fi
  local command=${words[1]:-} i
  if [ "$cword" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "run compare tune doctor settings ps help machine plan bench report watch --help --version" -- "$cur")
    return
  fi
  if [ "$command" = run ] || [ "$command" = watch ] || [ "$command" = compare ] || [ "$command" = tune ]; then
    for ((i = 2; i < cword; i++)); do
      if [ "${words[i]}" = -- ]; then  # after "--": the program's own words
        if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); else
          mapfile -t COMPREPLY < <(compgen -c -f -- "$cur"); fi
        return
      fi
    done
  fi
  case $prev in
    --model)
      mapfile -t COMPREPLY < <(compgen -W "$(nigh machine --list-models 2>/dev/null | awk '{print $1}')" -- "$cur")
      return ;;
    --machine|--save|--out|--bench|--explain-file|--peers|--account|--log)
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      return ;;
    --runtime)
      mapfile -t COMPREPLY < <(compgen -W "libgomp libomp openmpi mpich intel both" -- "$cur")
      return ;;
    --bind)
      mapfile -t COMPREPLY < <(compgen -W "compact scatter none" -- "$cur")
      return ;;
    --policy)
      mapfile -t COMPREPLY < <(compgen -W "improved paper hops memory-only" -- "$cur")
      return ;;
    --pages)
      mapfile -t COMPREPLY < <(compgen -W "live lazy frozen" -- "$cur")
      return ;;
    --pid|-p)
      mapfile -t COMPREPLY < <(compgen -W "$(ps -o pid= -u "$(id -u)" 2>/dev/null)" -- "$cur")
      return ;;
    --memory)
      mapfile -t COMPREPLY < <(compgen -W "$(cat /sys/devices/system/node/has_memory 2>/dev/null)" -- "$cur")
      return ;;
    --interval|--cost|--duration|--listen|--time|--precision|--check|--run)
      return ;;
    --type)
      mapfile -t COMPREPLY < <(compgen -W "double float complex complex-float" -- "$cur")
      return ;;
    --transpose)
      mapfile -t COMPREPLY < <(compgen -W "1000x1000 10000x10000" -- "$cur")
      return ;;
    --as)
      mapfile -t COMPREPLY < <(compgen -W "omp gomp likwid slurm rankfile hosts rankmap" -- "$cur")
      return ;;
    --only|--off)
      mapfile -t COMPREPLY < <(compgen -W "mpi teams mpi,teams" -- "$cur")
      return ;;
    --share)
      mapfile -t COMPREPLY < <(compgen -W "data" -- "$cur")
      return ;;
    --teams)
      mapfile -t COMPREPLY < <(compgen -W "auto 2,scatter,2,subscatter 4,scatter,4,subscatter 4,compact" -- "$cur")
      return ;;
  esac
  local options=
  case $command in
    machine) options="--model --machine --json --svg --list-models --no-color --probe --probe-mpi --library --quick --nodes --no-store" ;;
    plan) options="--teams --as --transpose --ranks --ranks-per-node --hosts --nodes --cores --type --flops --curves --mask --model --machine --root --json --svg --all --no-color" ;;
    doctor) options="--all --json" ;;
    settings) options="--json" ;;
    ps) options="--pid --all --threads --memory --json" ;;
    tune) options="--time --precision --check --dry-run --forget --json" ;;
    compare) options="--run --time --precision --check --json" ;;
    run) options="--only --off --ranks --bind --mpi --auto-hybrid --transpose --nodes --cores --share --watch --memory --teams --mask --machine --explain --explain-file --json --dry-run --keep-env --quiet --interleave --weighted-interleave --membind --preferred --huge-pages --threads --record --rank-map --gpus --web --no-profile" ;;
    bench) options="--runtime --teams --size --threads --library --samples --subjects --timeout --save --quick --json
      nested-stream nested-sync geothermal nested-overhead mpi mpi-nodes queues alloc copy transpose fft kneighbor pingpong self-message false-sharing stencil molecules slide5 placement transpose-model transpose-steps" ;;
    report) options="--out --perfetto --bench --peers --trace --account --machine --no-run --summary --json" ;;
    watch) options="--pid --all --apply --advise --policy --pages --interval --cost --duration --memory --machine --log --listen --web
      --meters --demo --undo --json --quiet" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$options --help" -- "$cur")
}
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _nigh
  printf '%s\n' "${COMPREPLY[@]}"
else
  complete -F _nigh nigh
fi
