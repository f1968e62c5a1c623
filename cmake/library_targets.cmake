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

# ki_library(NAME MAP SOURCES...): compiles the sources once and makes NAME (shared, with the linker's version script cmake/MAP) and NAME-static.
# The program and the tests link the archives, so their targets always exist. kinformer::NAME is the shared library, or the archive where
# no shared library is built.
function(ki_library name map)
    add_library(${name}-objects OBJECT ${ARGN})
    ki_target(${name}-objects)
    target_compile_definitions(${name}-objects PRIVATE _GNU_SOURCE)
    target_include_directories(${name}-objects PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)

    add_library(${name}-static STATIC $<TARGET_OBJECTS:${name}-objects>)
    set_target_properties(${name}-static PROPERTIES OUTPUT_NAME ${name})
    set(targets ${name}-static)
    if(NOT ki_has_static)
        set_target_properties(${name}-static PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    if(ki_has_shared)
        set(version_script ${PROJECT_SOURCE_DIR}/cmake/${map})
        add_library(${name} SHARED $<TARGET_OBJECTS:${name}-objects>)
        set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${KI_ABI_VERSION}
                              LINK_DEPENDS ${version_script})
        target_link_options(${name} PRIVATE -Wl,--version-script=${version_script})
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
