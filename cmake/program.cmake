# The kinformer program: a user of the public headers like any other, but for src/checkup.
if(NOT KI_COMMAND)
    return()
endif()
ki_sources(sources cli/*.c)

add_executable(kinformer-program ${sources})
ki_target(kinformer-program)
set_target_properties(kinformer-program PROPERTIES OUTPUT_NAME kinformer)
target_compile_definitions(kinformer-program PRIVATE _GNU_SOURCE)
target_include_directories(kinformer-program PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(kinformer-program PRIVATE kinformer-checkup kinformer-testing-static kinformer-print-static kinformer-static PkgConfig::ki_deps
    PkgConfig::kt_deps Threads::Threads)

# Manual pages and completions are what the program prints of itself.
set(manuals ${PROJECT_BINARY_DIR}/man)
set(completions ${PROJECT_BINARY_DIR}/completions)
file(MAKE_DIRECTORY ${manuals} ${completions})
if(NOT CMAKE_CROSSCOMPILING)
    add_custom_command(TARGET kinformer-program POST_BUILD
        COMMAND kinformer-program man --directory ${manuals}
        COMMAND kinformer-program completion --directory ${completions})
endif()
