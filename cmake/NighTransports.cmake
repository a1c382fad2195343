# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# The ABIs of MPI libraries that nigh declares by itself (src/mpi/abi/), so that none must be installed to build it.
set(NIGH_MPI_ABIS openmpi mpich standard)
# nigh_mpi_abi(TARGET ABI): TARGET finds the mpi.h of ABI.
function(nigh_mpi_abi target abi)
  target_include_directories(${target} SYSTEM PRIVATE ${PROJECT_SOURCE_DIR}/src/mpi/abi/${abi})
endfunction()

# nigh_transports(ROOM OWNER SOURCES ... LINK ...) makes libnigh-ROOM-openmpi.so and libnigh-ROOM-mpich.so of the same sources,
# one for the ABI of each MPI library. The library of the target OWNER opens one of them only when a job
# needs it; MPI's symbols are found when it is loaded, so neither is linked. LINK: link options beyond those of both.
function(nigh_transports room owner)
  cmake_parse_arguments(TRANSPORT "" "" "SOURCES;LINK" ${ARGN})
  set(exports ${CMAKE_CURRENT_SOURCE_DIR}/exports_transport.map)
  foreach(mpi openmpi mpich)
    set(transport nigh_${room}_${mpi})
    add_library(${transport} SHARED ${TRANSPORT_SOURCES})
    set_target_properties(${transport} PROPERTIES OUTPUT_NAME nigh-${room}-${mpi} LINK_DEPENDS ${exports})
    target_compile_definitions(${transport} PRIVATE NIGH_MPI_ABI="${mpi}")
    target_compile_options(${transport} PRIVATE -O2)
    nigh_mpi_abi(${transport} ${mpi})
    target_link_options(${transport} PRIVATE -Wl,-z,now -Wl,--version-script=${exports} ${TRANSPORT_LINK})
    target_link_libraries(${transport} PRIVATE nigh_flags)
    add_dependencies(${owner} ${transport})
    install(TARGETS ${transport} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endforeach()
endfunction()
