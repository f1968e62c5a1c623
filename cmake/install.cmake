# What `cmake --install` puts where, and what lets others find it: pkg-config and CMake config files.
if(NOT TARGET kinformer)
    return()
endif()
include(CMakePackageConfigHelpers)

string(REPLACE ";" " " ki_requires_text "${ki_requires}")
string(REPLACE ";" " " kt_requires_text "${kt_requires}")
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kinformer)
set(libraries kinformer kinformer-static)
set(pc_files kinformer)
install(DIRECTORY include/kinformer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
if(TARGET kinformer-print)
    list(APPEND libraries kinformer-print kinformer-print-static)
    list(APPEND pc_files kinformer-print)
    install(DIRECTORY include/kinformer-print DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
endif()
if(TARGET kinformer-testing)
    list(APPEND libraries kinformer-testing kinformer-testing-static)
    list(APPEND pc_files kinformer-testing)
    install(DIRECTORY include/kinformer-testing DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
endif()
install(TARGETS ${libraries} EXPORT kinformer)
install(EXPORT kinformer NAMESPACE kinformer:: FILE kinformerTargets.cmake DESTINATION ${package_dir})

configure_package_config_file(cmake/kinformerConfig.cmake.in ${PROJECT_BINARY_DIR}/kinformerConfig.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kinformerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kinformerConfig.cmake ${PROJECT_BINARY_DIR}/kinformerConfigVersion.cmake
    DESTINATION ${package_dir})

# For who links libkinformer.a: the libraries by name, not their .pc files. Those would have pkg-config --static name all that libcurl.a needs,
# of which a system has neither archives (Kerberos) nor development packages; and those of the headers would be asked for by who links
# the shared library.
foreach(kind ki kt)
    set(libraries_of_others ${${kind}_deps_LDFLAGS})
    list(FILTER libraries_of_others EXCLUDE REGEX "^-L/usr/lib") # found without being told
    string(REPLACE ";" " " ${kind}_libraries_text "${libraries_of_others}")
endforeach()

# The .pc files find their prefix from where they lie: an installation can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
    OUTPUT_VARIABLE includedir_from_pc)
foreach(name ${pc_files})
    configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

if(TARGET kinformer-program)
    install(TARGETS kinformer-program)
    if(NOT CMAKE_CROSSCOMPILING)
        install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN *.1)
        set(completions ${PROJECT_BINARY_DIR}/completions)
        install(FILES ${completions}/kinformer DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
        install(FILES ${completions}/_kinformer DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
        install(FILES ${completions}/kinformer.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
    endif()
endif()
