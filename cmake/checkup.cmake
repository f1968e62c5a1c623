# What `kinformer doctor` runs: for the program and its tests, in no library.
ki_sources(sources src/checkup/*.c)
add_library(kinformer-checkup STATIC ${sources})
ki_target(kinformer-checkup)
target_compile_definitions(kinformer-checkup PRIVATE _GNU_SOURCE)
target_include_directories(kinformer-checkup PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(kinformer-checkup PUBLIC kinformer-static PRIVATE PkgConfig::ki_deps Threads::Threads)
