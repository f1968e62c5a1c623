# libkinformer-controllers: work queues, controllers, leader election and events; kinformer-controllers (shared) and kinformer-controllers-static.
if(NOT KI_CONTROLLERS)
    return()
endif()
ki_sources(sources controllers/*/*.c)
ki_library(kinformer-controllers ${sources} ${yyjson_sources})
ki_sister(kinformer-controllers)
ki_link(kinformer-controllers PkgConfig::ki_deps Threads::Threads)
