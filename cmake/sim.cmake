# The simulation, one program: sim. It uses the internals of both libraries.
option(KI_SIM "Build the simulation" ${PROJECT_IS_TOP_LEVEL})
ki_sources(sources sim/*.c)
if(NOT KI_SIM OR NOT sources OR NOT TARGET kinformer-testing)
    return()
endif()
add_executable(sim ${sources})
ki_target(sim)
target_compile_definitions(sim PRIVATE _GNU_SOURCE)
target_include_directories(sim PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(sim PRIVATE kinformer-testing-static kinformer-static PkgConfig::kt_deps PkgConfig::ki_deps
    Threads::Threads)
