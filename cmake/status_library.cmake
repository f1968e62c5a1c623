# libkinformer-status: probes, metrics and a page over HTTP; kinformer-status (shared) and kinformer-status-static.
# status/http is what it shares with libkinformer-testing: each has a copy.
if(NOT KI_STATUS)
    return()
endif()
ki_sources(sources status/*.c status/http/*.c)
ki_library(kinformer-status ${sources})
ki_sister(kinformer-status)
ki_link(kinformer-status PkgConfig::ks_deps Threads::Threads)
