# Which kinds of library are built and installed (BUILD_SHARED_LIBS), and ki_library(), which makes both of one.
set(ki_has_shared ON)
set(ki_has_static ON)
if(NOT "${BUILD_SHARED_LIBS}" STREQUAL "")
    if(BUILD_SHARED_LIBS)
        set(ki_has_static OFF)
    else()
        set(ki_has_shared OFF)
    endif()
endif()

# ki_library(NAME SOURCES...): compiles the sources once and makes NAME (shared) and NAME-static. A shared library exports what
# cmake/libNAME.exports lists, in the version node NAME_1 (1: KI_ABI_VERSION). What cmake/libNAME.private lists is for the other libraries here: its
# version node is of this very version, so that the loader refuses any other. The program and the tests link the archives, so their targets always
# exist. kinformer::NAME is the shared library, or the archive where no shared library is built.
function(ki_library name)
    add_library(${name}-objects OBJECT ${ARGN})
    ki_target(${name}-objects)
    target_compile_definitions(${name}-objects PRIVATE _GNU_SOURCE)
    target_compile_options(${name}-objects PRIVATE -fno-semantic-interposition) # exported functions are inlined inside, too
    target_include_directories(${name}-objects PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)

    add_library(${name}-static STATIC $<TARGET_OBJECTS:${name}-objects>)
    set_target_properties(${name}-static PROPERTIES OUTPUT_NAME ${name})
    set(targets ${name}-static)
    if(NOT ki_has_static)
        set_target_properties(${name}-static PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    if(ki_has_shared)
        string(TOUPPER ${name}_${KI_ABI_VERSION} node)
        string(REPLACE - _ node ${node})
        set(version_script ${PROJECT_BINARY_DIR}/${name}.map)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/lib${name}.exports)
        file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/lib${name}.exports symbols)
        set(nodes "${node} { global: ${symbols}; local: *; };\n")
        if(EXISTS ${PROJECT_SOURCE_DIR}/cmake/lib${name}.private)
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/lib${name}.private)
            file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/lib${name}.private symbols)
            string(REGEX REPLACE "_${KI_ABI_VERSION}$" "_PRIVATE_${PROJECT_VERSION}" node ${node})
            string(APPEND nodes "${node} { global: ${symbols}; };\n")
        endif()
        file(CONFIGURE OUTPUT ${version_script} CONTENT "${nodes}")
        add_library(${name} SHARED $<TARGET_OBJECTS:${name}-objects>)
        set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${KI_ABI_VERSION}
                              LINK_DEPENDS ${version_script})
        target_link_options(${name} PRIVATE -Wl,--version-script=${version_script} -Wl,-Bsymbolic-functions) # its own calls stay inside
        add_library(kinformer::${name} ALIAS ${name})
        list(APPEND targets ${name})
    else()
        add_library(kinformer::${name} ALIAS ${name}-static)
    endif()
    add_library(kinformer::${name}-static ALIAS ${name}-static)
    foreach(target ${targets})
        set_property(TARGET ${target} PROPERTY LINKER_LANGUAGE C)
        target_include_directories(${target} PUBLIC
            $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    endforeach()
endfunction()

# ki_link(NAME LIBRARIES...): links NAME with what it needs for itself.
function(ki_link name)
    target_link_libraries(${name}-objects PRIVATE ${ARGN})
    target_link_libraries(${name}-static PRIVATE ${ARGN})
    if(TARGET ${name})
        target_link_libraries(${name} PRIVATE ${ARGN})
        if(NOT KI_SANITIZE)
            target_link_options(${name} PRIVATE -Wl,-z,defs) # sanitizers leave theirs to the program
        endif()
    endif()
endfunction()

# ki_sister(NAME): NAME uses libkinformer, also the functions of cmake/libkinformer.private.
function(ki_sister name)
    target_link_libraries(${name}-static PUBLIC kinformer-static)
    if(TARGET ${name})
        target_link_libraries(${name} PUBLIC kinformer)
    endif()
endfunction()
