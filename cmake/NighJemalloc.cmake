# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# jemalloc as a part of ours: the distribution's position-independent archive with its public names changed (the
# ranks' malloc is ours, with jemalloc behind it), what it asks of libc for memory led to our pager, its C++
# operators left out (libstdc++'s call malloc), and its constructor removed (it would start in processes that
# are no ranks). Target nigh_jemalloc. NIGH_JEMALLOC_PIC is found by NighPackages.
set(nigh_jemalloc_archive ${CMAKE_BINARY_DIR}/jemalloc/libnigh_jemalloc.a)
set(nigh_jemalloc_names ${PROJECT_SOURCE_DIR}/src/space/jemalloc.names)
add_custom_command(
  OUTPUT ${nigh_jemalloc_archive}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/jemalloc
  COMMAND ${CMAKE_COMMAND} -E copy ${NIGH_JEMALLOC_PIC} ${nigh_jemalloc_archive}.plain
  COMMAND ${CMAKE_AR} d ${nigh_jemalloc_archive}.plain jemalloc_cpp.pic.o
  COMMAND ${CMAKE_OBJCOPY} --redefine-syms=${nigh_jemalloc_names} --remove-section=.init_array
          --remove-section=.rela.init_array ${nigh_jemalloc_archive}.plain ${nigh_jemalloc_archive}
  DEPENDS ${NIGH_JEMALLOC_PIC} ${nigh_jemalloc_names}
  COMMENT "jemalloc under our names"
  VERBATIM)
add_custom_target(nigh_jemalloc_archive DEPENDS ${nigh_jemalloc_archive})
add_library(nigh_jemalloc STATIC IMPORTED GLOBAL)
set_target_properties(nigh_jemalloc PROPERTIES IMPORTED_LOCATION ${nigh_jemalloc_archive})
add_dependencies(nigh_jemalloc nigh_jemalloc_archive)
