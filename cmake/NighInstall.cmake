# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# What `make install` puts where: everything relative to the prefix, so that the tree can be moved as a whole
# (nigh finds its libraries at ../lib, pkg-config through ${pcfiledir}, CMake through nigh-config.cmake).
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nigh)
configure_file(${PROJECT_SOURCE_DIR}/cmake/nigh.pc.in ${CMAKE_BINARY_DIR}/nigh.pc @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/nigh-omp.pc.in ${CMAKE_BINARY_DIR}/nigh-omp.pc @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/nigh-chare.pc.in ${CMAKE_BINARY_DIR}/nigh-chare.pc @ONLY)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/nigh-config.cmake.in ${CMAKE_BINARY_DIR}/nigh-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/nigh-config-version.cmake COMPATIBILITY SameMinorVersion)

install(EXPORT nigh-targets NAMESPACE nigh:: DESTINATION ${package_dir})
install(FILES ${CMAKE_BINARY_DIR}/nigh-config.cmake ${CMAKE_BINARY_DIR}/nigh-config-version.cmake
        DESTINATION ${package_dir})
install(FILES ${CMAKE_BINARY_DIR}/nigh.pc ${CMAKE_BINARY_DIR}/nigh-omp.pc ${CMAKE_BINARY_DIR}/nigh-chare.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/nigh DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
# The NUMA guests' command, for users too: nigh-vm.
install(PROGRAMS ${PROJECT_SOURCE_DIR}/tests/vm/numa-vm ${PROJECT_SOURCE_DIR}/tests/vm/init.sh
        DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/nigh/vm)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tests/vm/numavm DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/nigh/vm
        FILES_MATCHING PATTERN "*.py")
install(CODE "file(MAKE_DIRECTORY \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR})
  file(CREATE_LINK ../${CMAKE_INSTALL_LIBEXECDIR}/nigh/vm/numa-vm
       \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/nigh-vm SYMBOLIC)")
install(FILES ${PROJECT_SOURCE_DIR}/completions/nigh.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME nigh)
# The service's unit names the command by its whole path, so it is made when the prefix is known.
install(CODE "set(NIGH_COMMAND \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/nigh)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/nigh-watch.service.in
                 \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/nigh-watch.service @ONLY)")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
