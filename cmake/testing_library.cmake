# libkinformer-testing: the embedded API server, kinformer-testing (shared) and kinformer-testing-static.
# It uses the library's internal base; the shared one carries its own copy, hidden by the version script.
if(NOT KI_SERVER)
    return()
endif()
ki_sources(sources testing/*.c testing/*/*.c status/http/*.c)
list(FILTER sources EXCLUDE REGEX "testing/memory/")
ki_library(kinformer-testing ${sources} ${yyjson_sources})
target_link_libraries(kinformer-testing-objects PRIVATE PkgConfig::kt_deps Threads::Threads)
target_link_libraries(kinformer-testing-static PUBLIC kinformer-print-static kinformer-static PRIVATE PkgConfig::kt_deps Threads::Threads)
if(TARGET kinformer-testing)
    target_link_libraries(kinformer-testing PRIVATE $<BUILD_INTERFACE:kinformer-print-static>
        $<BUILD_INTERFACE:kinformer-static> PkgConfig::kt_deps Threads::Threads)
    target_link_libraries(kinformer-testing INTERFACE $<INSTALL_INTERFACE:kinformer::kinformer>) # KI_PODS, ki_error_message, …
endif()

# The same cluster without a network, for this project's own tests and the simulation: in no library, built for those that link it.
ki_sources(sources testing/memory/*.c)
add_library(testing-memory STATIC EXCLUDE_FROM_ALL ${sources})
ki_target(testing-memory)
target_compile_definitions(testing-memory PRIVATE _GNU_SOURCE)
target_include_directories(testing-memory PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(testing-memory PUBLIC kinformer-testing-static kinformer-static)
