# libkinformer-print: what people read: columns, cells and JSONPath; kinformer-print (shared) and kinformer-print-static.
# The shared one takes public functions from libkinformer and carries its own copy of the internal base, hidden by the version script.
if(NOT KI_PRINT)
    return()
endif()
ki_sources(sources src/print/*.c)
ki_library(kinformer-print ${sources})
target_link_libraries(kinformer-print-objects PRIVATE PkgConfig::ki_deps)
target_link_libraries(kinformer-print-static PUBLIC kinformer-static)
if(TARGET kinformer-print)
    target_link_libraries(kinformer-print PUBLIC kinformer PRIVATE $<BUILD_INTERFACE:kinformer-static> PkgConfig::ki_deps)
endif()
