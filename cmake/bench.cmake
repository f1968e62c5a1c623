# One program, bench_<name>, for each file of bench/; it may use internal headers.
if(NOT KI_BENCH)
    return()
endif()
ki_sources(sources bench/*.c)
foreach(source ${sources})
    cmake_path(GET source STEM name)
    string(REGEX REPLACE "^bench_" "" name ${name})
    add_executable(bench_${name} ${source})
    ki_target(bench_${name})
    set_target_properties(bench_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
    target_compile_definitions(bench_${name} PRIVATE _GNU_SOURCE KI_BENCH_PEERS="${PROJECT_SOURCE_DIR}/bench/peers")
    target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(bench_${name} PRIVATE testing-memory kinformer-controllers-static kinformer-testing-static kinformer-static PkgConfig::kt_deps PkgConfig::ki_deps Threads::Threads)
endforeach()
# It measures locks: its own functions are called in place of these (bench/lock_times.h).
target_link_options(
    bench_steps PRIVATE LINKER:--wrap=pthread_mutex_lock LINKER:--wrap=pthread_mutex_unlock LINKER:--wrap=ki_fair_mutex_lock
                        LINKER:--wrap=ki_fair_mutex_unlock)

# The hot paths whose instructions are counted; bench/instructions/run runs it.
ki_sources(sources bench/instructions/*.c)
add_executable(instructions ${sources})
ki_target(instructions)
set_target_properties(instructions PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
target_compile_definitions(instructions PRIVATE _GNU_SOURCE KI_TEST_DATA_DIR="${PROJECT_SOURCE_DIR}/tests/data")
target_include_directories(instructions PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(instructions PRIVATE testing-memory kinformer-controllers-static kinformer-testing-static kinformer-static PkgConfig::kt_deps PkgConfig::ki_deps Threads::Threads)

# Ours beside the programs of other libraries, and their common server (bench/peers/README.md).
foreach(name server kinformer)
    ki_sources(sources bench/peers/${name}/*.c)
    add_executable(peer_${name} ${sources})
    ki_target(peer_${name})
    set_target_properties(peer_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench/peers)
    target_compile_definitions(peer_${name} PRIVATE _GNU_SOURCE)
    target_include_directories(peer_${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
endforeach()
target_link_libraries(peer_server PRIVATE kinformer-testing-static kinformer-static PkgConfig::kt_deps PkgConfig::ki_deps Threads::Threads)
target_link_libraries(peer_kinformer PRIVATE kinformer-static PkgConfig::ki_deps Threads::Threads)
