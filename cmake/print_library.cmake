# libkinformer-print: what people read: columns, cells and JSONPath; kinformer-print (shared) and kinformer-print-static.
if(NOT KI_PRINT)
    return()
endif()
ki_sources(sources print/*.c)
ki_library(kinformer-print ${sources} ${yyjson_sources})
ki_sister(kinformer-print)
ki_link(kinformer-print PkgConfig::ki_deps)
