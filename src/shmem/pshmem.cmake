# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# cmake -DNM=.. -DOBJECTS=.. -DOUT=.. -P pshmem.cmake: the linker's options that make pshmem_X a second name of every
# function shmem_X that these objects define (the profiling interface), so that no list of them is kept.
execute_process(COMMAND ${NM} --defined-only --extern-only --format=posix ${OBJECTS} OUTPUT_VARIABLE symbols
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\nshmem_[A-Za-z0-9_]+ T " names "${symbols}")
set(options "")
foreach(name ${names})
  string(REGEX MATCH "shmem_[A-Za-z0-9_]+" name "${name}")
  string(APPEND options "-Wl,--defsym=p${name}=${name}\n")
endforeach()
if(options STREQUAL "")
  message(FATAL_ERROR "no function shmem_* was found in ${OBJECTS}")
endif()
file(WRITE ${OUT} "${options}")
