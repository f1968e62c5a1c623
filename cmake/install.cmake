# What `cmake --install` puts where, and what lets others find it: pkg-config and CMake config files.
# Components (cmake --install BUILD --component NAME): runtime (shared libraries of programs), development (headers, archives, API reference,
# documents), command (the program), testing (everything of libkinformer-testing).
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kinformer)
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# For programs that link an archive: the libraries by name (Libs.private). Where only archives are installed, also their .pc files
# (Requires.private), which check that they are there and new enough. Beside a shared library there are none: pkg-config would want the .pc files
# of all its users, and with --static name all that libcurl.a needs, of which a system has neither archives (Kerberos) nor development packages.
foreach(kind ki ks kt)
    set(names ${${kind}_deps_LDFLAGS})
    list(FILTER names EXCLUDE REGEX "^-L/usr/lib") # the linker looks there anyway
    string(REPLACE ";" " " ${kind}_libraries "${names} -pthread")
    string(REPLACE ";" " " ${kind}_requires_text "${${kind}_requires}")
endforeach()

# The .pc files get the prefix when they are installed, since --prefix can choose another one than CMAKE_INSTALL_PREFIX.
# A library directory or include directory of its own stays as it is.
foreach(dir LIBDIR INCLUDEDIR)
    string(TOLOWER ${dir}_in_pc name)
    set(${name} "\${prefix}/${CMAKE_INSTALL_${dir}}")
    if(IS_ABSOLUTE ${CMAKE_INSTALL_${dir}})
        set(${name} ${CMAKE_INSTALL_${dir}})
    endif()
endforeach()
set(pc_prefix @CMAKE_INSTALL_PREFIX@)

# ki_install(NAME RUNTIME DEVELOPMENT PRIVATE...): installs a library, its headers, its targets for CMake and its .pc file. RUNTIME and
# DEVELOPMENT are components. PRIVATE is what a program adds that links the archive; with archives only, that is every program.
function(ki_install name runtime development)
    set(targets)
    if(ki_has_shared)
        list(APPEND targets ${name})
    endif()
    if(ki_has_static)
        list(APPEND targets ${name}-static)
    endif()
    install(TARGETS ${targets} EXPORT ${name}
        LIBRARY COMPONENT ${runtime} NAMELINK_COMPONENT ${development}
        ARCHIVE COMPONENT ${development})
    install(EXPORT ${name} NAMESPACE kinformer:: FILE ${name}Targets.cmake DESTINATION ${package_dir} COMPONENT ${development})
    install(DIRECTORY include/${name} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${development} FILES_MATCHING PATTERN *.h PATTERN *.hpp)

    set(private "${ARGN}")
    set(public "")
    set(requires_private "")
    if(NOT ki_has_shared)
        set(public " ${private}")
        set(private "")
        string(REPLACE ">=" " >= " requires_private "Requires.private: ${ki_requires_text}\n")
    endif()
    configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc.in @ONLY)
    install(CODE "configure_file(\"${PROJECT_BINARY_DIR}/${name}.pc.in\" \"${PROJECT_BINARY_DIR}/${name}.pc\" @ONLY)"
        COMPONENT ${development})
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pc_dir} COMPONENT ${development})
endfunction()

# ki_hide(NAME DEVELOPMENT USERS...): hides what is not public in the installed archive (hide_symbols.cmake). Not with link-time optimization, whose
# objects have no symbols yet. USERS are the targets of the archives that use it.
function(ki_hide name development)
    if(NOT ki_has_static OR NOT CMAKE_OBJCOPY OR NOT CMAKE_LINKER OR CMAKE_INTERPROCEDURAL_OPTIMIZATION)
        return()
    endif()
    set(users)
    set(folder "\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}")
    if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
        set(folder ${CMAKE_INSTALL_LIBDIR})
    endif()
    foreach(target ${ARGN})
        list(APPEND users $<TARGET_FILE:${target}>)
    endforeach()
    install(CODE "set(ARCHIVE \"${folder}/lib${name}.a\")
        set(EXPORTS \"${PROJECT_SOURCE_DIR}/cmake/lib${name}.exports\")
        set(USERS \"${users}\")
        set(NM \"${CMAKE_NM}\")
        set(LINKER \"${CMAKE_LINKER}\")
        set(OBJCOPY \"${CMAKE_OBJCOPY}\")
        set(AR \"${CMAKE_AR}\")
        include(\"${PROJECT_SOURCE_DIR}/cmake/hide_symbols.cmake\")" COMPONENT ${development})
endfunction()

set(of_print)
set(of_status)
set(of_testing)
if(KI_PRINT)
    set(of_print kinformer-print-static)
endif()
if(KI_STATUS)
    set(of_status kinformer-status-static)
endif()
if(KI_SERVER)
    set(of_testing kinformer-testing-static)
endif()
ki_install(kinformer runtime development "${ki_libraries}")
ki_hide(kinformer development ${of_print} ${of_status} ${of_testing})
if(KI_PRINT)
    ki_install(kinformer-print runtime development "${ki_libraries}")
    ki_hide(kinformer-print development ${of_testing})
endif()
if(KI_STATUS)
    ki_install(kinformer-status runtime development "-lkinformer ${ki_libraries} ${ks_libraries}")
    ki_hide(kinformer-status development)
endif()
if(KI_SERVER)
    ki_install(kinformer-testing testing testing "-lkinformer-print -lkinformer ${ki_libraries} ${kt_libraries}")
    ki_hide(kinformer-testing testing)
endif()

configure_package_config_file(cmake/kinformerConfig.cmake.in ${PROJECT_BINARY_DIR}/kinformerConfig.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kinformerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kinformerConfig.cmake ${PROJECT_BINARY_DIR}/kinformerConfigVersion.cmake
    DESTINATION ${package_dir} COMPONENT development)

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(FILES README.md CHANGELOG.md SECURITY.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(FILES packaging/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/packaging COMPONENT development) # the README links to it
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
set(documents "\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}")
if(IS_ABSOLUTE ${CMAKE_INSTALL_DOCDIR})
    set(documents ${CMAKE_INSTALL_DOCDIR})
endif()
install(CODE "set(DOCUMENTS \"\$ENV{DESTDIR}${documents}\")
    include(\"${PROJECT_SOURCE_DIR}/cmake/installed_links.cmake\")" COMPONENT development)
if(KI_DOCS)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/reference/html DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/reference/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT development)
endif()

if(KI_COMMAND)
    install(TARGETS kinformer-program COMPONENT command)
    if(NOT CMAKE_CROSSCOMPILING)
        install(DIRECTORY ${manuals}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command FILES_MATCHING PATTERN *.1)
        install(FILES ${completions}/kinformer DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT command)
        install(FILES ${completions}/_kinformer DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT command)
        install(FILES ${completions}/kinformer.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT command)
    endif()
endif()
