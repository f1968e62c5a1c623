# libkinformer, compiled once, linked twice: kinformer (shared) and kinformer-static.
set(folders base object wire transport auth client engine cache factory workqueue controller)
list(TRANSFORM folders REPLACE "(.+)" "src/\\1/*.c" OUTPUT_VARIABLE patterns)
ki_sources(sources ${patterns})
if(NOT sources)
    message(WARNING "src/ has no sources yet: nothing to build")
    return()
endif()

add_library(kinformer-objects OBJECT ${sources})
ki_target(kinformer-objects)
target_compile_definitions(kinformer-objects PRIVATE _GNU_SOURCE)
target_include_directories(kinformer-objects PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(kinformer-objects PRIVATE PkgConfig::ki_deps Threads::Threads)

set(version_script ${PROJECT_SOURCE_DIR}/cmake/kinformer.map)
add_library(kinformer SHARED $<TARGET_OBJECTS:kinformer-objects>)
add_library(kinformer-static STATIC $<TARGET_OBJECTS:kinformer-objects>)
set_target_properties(kinformer PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${KI_ABI_VERSION}
                      LINK_DEPENDS ${version_script})
set_target_properties(kinformer-static PROPERTIES OUTPUT_NAME kinformer)
target_link_options(kinformer PRIVATE -Wl,--version-script=${version_script})
if(NOT KI_SANITIZE)
    target_link_options(kinformer PRIVATE -Wl,-z,defs) # sanitizers leave theirs to the program
endif()
target_link_libraries(kinformer PRIVATE PkgConfig::ki_deps Threads::Threads)
target_link_libraries(kinformer-static PRIVATE PkgConfig::ki_deps Threads::Threads)
foreach(target kinformer kinformer-static)
    set_property(TARGET ${target} PROPERTY LINKER_LANGUAGE C)
    target_include_directories(${target} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    add_library(kinformer::${target} ALIAS ${target})
endforeach()
