# The kinformer program: a user of the public headers like any other, so it sees no other folder.
ki_sources(sources cli/*.c)
if(NOT sources OR NOT TARGET kinformer-testing)
    return()
endif()

add_executable(kinformer-program ${sources})
ki_target(kinformer-program)
set_target_properties(kinformer-program PROPERTIES OUTPUT_NAME kinformer)
target_compile_definitions(kinformer-program PRIVATE _GNU_SOURCE)
target_link_libraries(kinformer-program PRIVATE kinformer-testing-static kinformer-static PkgConfig::ki_deps
    PkgConfig::kt_deps Threads::Threads)
