# libkinformer-testing: the embedded API server, kinformer-testing (shared) and kinformer-testing-static.
# It uses the library's internal base; the shared one carries its own copy, hidden by the version script.
if(NOT KI_SERVER)
    return()
endif()
ki_sources(sources testing/*.c testing/*/*.c)
ki_library(kinformer-testing kinformer-testing.map ${sources})
target_link_libraries(kinformer-testing-objects PRIVATE PkgConfig::kt_deps Threads::Threads)
target_link_libraries(kinformer-testing-static PUBLIC kinformer-print-static kinformer-static PRIVATE PkgConfig::kt_deps Threads::Threads)
if(TARGET kinformer-testing)
    target_link_libraries(kinformer-testing PRIVATE $<BUILD_INTERFACE:kinformer-print-static>
        $<BUILD_INTERFACE:kinformer-static> PkgConfig::kt_deps Threads::Threads)
    target_link_libraries(kinformer-testing INTERFACE $<INSTALL_INTERFACE:kinformer::kinformer>) # KI_PODS, ki_error_message, …
endif()
