# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# What `make install` puts where: everything relative to the prefix, so that the tree can be moved as a whole
# (nigh finds its libraries at ../lib, pkg-config through ${pcfiledir}, CMake through nigh-config.cmake).
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nigh)
# A file for pkg-config for each library that programs link.
function(nigh_pkg_config name description)
  string(JOIN " " requires ${ARGN})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/library.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
nigh_pkg_config(nigh "Planner for nested thread teams on machines whose memory is a hierarchy")
nigh_pkg_config(nigh-omp "omp_set_nesting_info for C, C++ and Fortran; does nothing where nigh is not loaded")
nigh_pkg_config(nigh-pomp2 "nested teams of programs that opari2 has instrumented")
nigh_pkg_config(nigh-chare "message-driven programs in C++20: arrays of chares, entry methods, reductions")
nigh_pkg_config(nigh-shmem "OpenSHMEM on the ranks of a node")
nigh_pkg_config(nigh-space "memory that all ranks of a node reach by loads and stores")
if(NIGH_HAS_HIGHWAY)
  nigh_pkg_config(nigh-transpose "transposes of matrices in one process")
  nigh_pkg_config(nigh-fft "Fourier transforms in one process" nigh-transpose)
  foreach(mpi ${NIGH_MPI_ABIS})
    nigh_pkg_config(nigh-transpose-${mpi} "transposes of matrices over MPI ranks (binary interface: ${mpi})")
    nigh_pkg_config(nigh-fft-${mpi} "Fourier transforms over MPI ranks (binary interface: ${mpi})" nigh-transpose-${mpi})
  endforeach()
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/nigh-config.cmake.in ${CMAKE_BINARY_DIR}/nigh-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/nigh-config-version.cmake COMPATIBILITY SameMinorVersion)

install(EXPORT nigh-targets NAMESPACE nigh:: DESTINATION ${package_dir})
install(FILES ${CMAKE_BINARY_DIR}/nigh-config.cmake ${CMAKE_BINARY_DIR}/nigh-config-version.cmake
        DESTINATION ${package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/nigh DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
# The NUMA guests' command, for users too: nigh-vm.
install(PROGRAMS ${PROJECT_SOURCE_DIR}/tests/vm/numa-vm ${PROJECT_SOURCE_DIR}/tests/vm/init.sh
        DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/nigh/vm)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tests/vm/numavm DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/nigh/vm
        FILES_MATCHING PATTERN "*.py")
install(CODE "file(MAKE_DIRECTORY \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR})
  file(CREATE_LINK ../${CMAKE_INSTALL_LIBEXECDIR}/nigh/vm/numa-vm
       \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/nigh-vm SYMBOLIC)
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/nigh-vm)")
install(FILES ${PROJECT_SOURCE_DIR}/completions/nigh.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME nigh)
install(FILES ${PROJECT_SOURCE_DIR}/completions/_nigh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_SOURCE_DIR}/completions/nigh.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# The service's unit names the command by its whole path, so it is made when the prefix is known.
install(CODE "set(NIGH_COMMAND \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/nigh)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/nigh-watch.service.in
                 \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/nigh-watch.service @ONLY)
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${CMAKE_INSTALL_PREFIX}/lib/systemd/system/nigh-watch.service)")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
              ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# What README and the guide link to.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN man EXCLUDE)
