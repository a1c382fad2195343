# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# What one mpi.h declares of functions.inc: OUT/mpi_functions.inc (the list without the rest) and OUT/mpi_has.h (a
# NIGH_MPI_HAS_x for each). The preprocessor's output is searched, which takes one run where a compile for each of 280
# names would take minutes. Files are written only when they change.
cmake_minimum_required(VERSION 3.25)
file(MAKE_DIRECTORY ${OUT})
file(WRITE ${OUT}/probe.c "#include <mpi.h>\n")
execute_process(COMMAND ${COMPILER} -E -I${INCLUDE} ${OUT}/probe.c OUTPUT_VARIABLE text RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${INCLUDE}/mpi.h can't be preprocessed")
endif()
string(REGEX MATCHALL "PMPI_[A-Za-z_0-9]+ *\\(" declared "${text}")
string(REGEX REPLACE " *\\(" "" declared "${declared}")

file(STRINGS ${FUNCTIONS} lines)
set(list "// Made of functions.inc: what ${INCLUDE}/mpi.h declares.\n")
set(has "// Made of functions.inc: what ${INCLUDE}/mpi.h declares.\n#pragma once\n")
foreach(line IN LISTS lines)
  if(line MATCHES "^NIGH_MPI(_USED)?\\((.*, )?([A-Za-z_0-9]+)\\)")
    set(name ${CMAKE_MATCH_3})
    if(NOT "PMPI_${name}" IN_LIST declared)
      continue()
    endif()
    string(APPEND has "#define NIGH_MPI_HAS_${name} 1\n")
    string(APPEND list "${line}\n")
  endif()
endforeach()
string(APPEND list "#undef NIGH_MPI\n#undef NIGH_MPI_USED\n")
file(CONFIGURE OUTPUT ${OUT}/mpi_functions.inc CONTENT "${list}" @ONLY)
file(CONFIGURE OUTPUT ${OUT}/mpi_has.h CONTENT "${has}" @ONLY)
