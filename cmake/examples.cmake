# One program for each file of examples/ and examples/*/, as a user would build it: public headers, shared libraries, C99 or C++17.
if(NOT KI_EXAMPLES)
    return()
endif()
ki_sources(cxx_sources examples/*.cc)
ki_sources(sources examples/*.c examples/*/*.c)
if(CMAKE_CXX_COMPILER)
    list(APPEND sources ${cxx_sources})
endif()

foreach(source ${sources})
    if(source MATCHES "(sample|website)-controller" AND NOT KI_STATUS) # their probes and metrics are libkinformer-status
        continue()
    endif()
    cmake_path(GET source STEM name)
    cmake_path(GET source EXTENSION extension)
    set(target example-${name})
    if(extension STREQUAL .cc)
        string(APPEND target -cc) # watch-pods.c and watch-pods.cc may stand side by side
    endif()
    add_executable(${target} ${source})
    ki_target(${target})
    set_target_properties(${target} PROPERTIES C_STANDARD 99 CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
        OUTPUT_NAME ${target} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L)
    target_link_libraries(${target} PRIVATE kinformer::kinformer Threads::Threads)
    if(KI_STATUS)
        target_link_libraries(${target} PRIVATE kinformer::kinformer-status) # --as-needed drops it from those that do without
    endif()
endforeach()
