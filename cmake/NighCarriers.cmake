# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# nigh_carriers(ROOM OWNER SOURCES ... LINK ...) makes libnigh-ROOM-openmpi.so and libnigh-ROOM-mpich.so of the same sources,
# one for the ABI of each MPI library whose mpi.h was found. The library of the target OWNER opens one of them only when a job
# needs it; MPI's symbols are found when it is loaded, so neither is linked. LINK: link options beyond those of both.
function(nigh_carriers room owner)
  cmake_parse_arguments(CARRIER "" "" "SOURCES;LINK" ${ARGN})
  set(exports ${CMAKE_CURRENT_SOURCE_DIR}/exports_carrier.map)
  foreach(mpi openmpi mpich)
    string(TOUPPER ${mpi} upper)
    if(NOT NIGH_${upper}_INCLUDE)
      continue()
    endif()
    set(carrier nigh_${room}_${mpi})
    add_library(${carrier} SHARED ${CARRIER_SOURCES})
    set_target_properties(${carrier} PROPERTIES OUTPUT_NAME nigh-${room}-${mpi} LINK_DEPENDS ${exports})
    target_compile_definitions(${carrier} PRIVATE NIGH_MPI_ABI="${mpi}" OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
    target_compile_options(${carrier} PRIVATE -O2)
    target_include_directories(${carrier} SYSTEM PRIVATE ${NIGH_${upper}_INCLUDE})
    target_link_options(${carrier} PRIVATE -Wl,-z,now -Wl,--version-script=${exports} ${CARRIER_LINK})
    target_link_libraries(${carrier} PRIVATE nigh_flags)
    add_dependencies(${owner} ${carrier})
    install(TARGETS ${carrier} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endforeach()
endfunction()
