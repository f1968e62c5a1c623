# libkinformer-status: probes, metrics and a page over HTTP; kinformer-status (shared) and kinformer-status-static.
# The shared one takes public functions from libkinformer and carries its own copy of the internal base, hidden by the version script.
# src/http is what it shares with libkinformer-testing: each has a copy.
if(NOT KI_STATUS)
    return()
endif()
ki_sources(sources src/status/*.c src/http/*.c)
ki_library(kinformer-status ${sources})
target_link_libraries(kinformer-status-objects PRIVATE PkgConfig::ks_deps Threads::Threads)
target_link_libraries(kinformer-status-static PUBLIC kinformer-static PRIVATE PkgConfig::ks_deps Threads::Threads)
if(TARGET kinformer-status)
    target_link_libraries(kinformer-status PUBLIC kinformer PRIVATE $<BUILD_INTERFACE:kinformer-static> PkgConfig::ks_deps Threads::Threads)
endif()
