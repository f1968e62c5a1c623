# libkinformer-testing: the embedded API server, kinformer-testing (shared) and kinformer-testing-static.
# It uses the library's internal base; the shared one carries its own copy, hidden by the version script.
ki_sources(sources testing/*.c testing/*/*.c)
list(FILTER sources EXCLUDE REGEX "testing/memory/")
if(NOT sources OR NOT TARGET kinformer)
    return()
endif()

add_library(kinformer-testing-objects OBJECT ${sources})
ki_target(kinformer-testing-objects)
target_compile_definitions(kinformer-testing-objects PRIVATE _GNU_SOURCE)
target_include_directories(kinformer-testing-objects PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(kinformer-testing-objects PRIVATE PkgConfig::kt_deps Threads::Threads)

set(version_script ${PROJECT_SOURCE_DIR}/cmake/kinformer-testing.map)
add_library(kinformer-testing SHARED $<TARGET_OBJECTS:kinformer-testing-objects>)
add_library(kinformer-testing-static STATIC $<TARGET_OBJECTS:kinformer-testing-objects>)
set_target_properties(kinformer-testing PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${KI_ABI_VERSION}
                      LINK_DEPENDS ${version_script})
set_target_properties(kinformer-testing-static PROPERTIES OUTPUT_NAME kinformer-testing)
target_link_options(kinformer-testing PRIVATE -Wl,--version-script=${version_script})
target_link_libraries(kinformer-testing PRIVATE $<BUILD_INTERFACE:kinformer-print-static>
    $<BUILD_INTERFACE:kinformer-static> PkgConfig::kt_deps Threads::Threads)
target_link_libraries(kinformer-testing INTERFACE $<INSTALL_INTERFACE:kinformer::kinformer>) # KI_PODS, ki_error_message, …
target_link_libraries(kinformer-testing-static PUBLIC kinformer-print-static kinformer-static PRIVATE PkgConfig::kt_deps Threads::Threads)
foreach(target kinformer-testing kinformer-testing-static)
    set_property(TARGET ${target} PROPERTY LINKER_LANGUAGE C)
    target_include_directories(${target} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    add_library(kinformer::${target} ALIAS ${target})
endforeach()

# The same cluster without a network, for this project's own tests and the simulation: in no library.
ki_sources(sources testing/memory/*.c)
add_library(testing-memory STATIC ${sources})
ki_target(testing-memory)
target_compile_definitions(testing-memory PRIVATE _GNU_SOURCE)
target_include_directories(testing-memory PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(testing-memory PUBLIC kinformer-testing-static kinformer-static)
