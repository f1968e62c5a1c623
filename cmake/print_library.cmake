# libkinformer-print: what people read: columns, cells and JSONPath; kinformer-print (shared) and kinformer-print-static.
# The shared one takes public functions from libkinformer and carries its own copy of the internal base, hidden by the version script.
ki_sources(sources src/print/*.c)
if(NOT sources OR NOT TARGET kinformer)
    return()
endif()

add_library(kinformer-print-objects OBJECT ${sources})
ki_target(kinformer-print-objects)
target_compile_definitions(kinformer-print-objects PRIVATE _GNU_SOURCE)
target_include_directories(kinformer-print-objects PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(kinformer-print-objects PRIVATE PkgConfig::ki_deps)

set(version_script ${PROJECT_SOURCE_DIR}/cmake/kinformer-print.map)
add_library(kinformer-print SHARED $<TARGET_OBJECTS:kinformer-print-objects>)
add_library(kinformer-print-static STATIC $<TARGET_OBJECTS:kinformer-print-objects>)
set_target_properties(kinformer-print PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${KI_ABI_VERSION}
                      LINK_DEPENDS ${version_script})
set_target_properties(kinformer-print-static PROPERTIES OUTPUT_NAME kinformer-print)
target_link_options(kinformer-print PRIVATE -Wl,--version-script=${version_script})
target_link_libraries(kinformer-print PUBLIC kinformer PRIVATE $<BUILD_INTERFACE:kinformer-static> PkgConfig::ki_deps)
target_link_libraries(kinformer-print-static PUBLIC kinformer-static)
foreach(target kinformer-print kinformer-print-static)
    set_property(TARGET ${target} PROPERTY LINKER_LANGUAGE C)
    target_include_directories(${target} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    add_library(kinformer::${target} ALIAS ${target})
endforeach()
