# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Two programs for the ranks of each MPI library: what `nigh machine --probe-mpi` starts, and the steps of a transpose,
# measured beside the model (`nigh bench transpose-steps`).
foreach(kind openmpi mpich)
  if(NOT NIGH_BENCH_MPICXX_${kind} OR NOT TARGET nigh_transpose_${kind})
    message(STATUS "No compiler for mpi-probe-${kind}: nigh machine --probe-mpi will not know this library")
    continue()
  endif()
  foreach(program probe steps)
    set(out ${BENCH_OUT}/mpi-${program}-${kind})
    add_custom_command(OUTPUT ${out}
      COMMAND ${NIGH_BENCH_MPICXX_${kind}} -std=c++20 -O3 -Wall -Wextra -Werror -Wno-stringop-overflow -Wno-cast-function-type
              -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src -I${CMAKE_CURRENT_SOURCE_DIR}
              ${CMAKE_CURRENT_LIST_DIR}/${program}.cpp -o ${out}
              $<TARGET_FILE:nigh_transpose> $<TARGET_FILE:nigh_sys> $<TARGET_FILE:nigh_base>
              -L${CMAKE_BINARY_DIR}/lib -lnigh-transpose-${kind} -pthread
              "-Wl,-rpath,$ORIGIN/../lib:$ORIGIN/../../${CMAKE_INSTALL_LIBDIR}"
      DEPENDS ${CMAKE_CURRENT_LIST_DIR}/${program}.cpp transpose/rows.hpp transpose/probe_ranks.hpp transpose/probe_messages.hpp nigh_transpose nigh_sys nigh_base nigh_transpose_${kind}
      VERBATIM COMMENT "Building mpi-${program}-${kind}")
    list(APPEND BENCH_PROGRAMS ${out})
  endforeach()
endforeach()
