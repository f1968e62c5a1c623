# libkinformer-wheel, built when it is named: what scripts/wheel/build puts into the Python package. One shared library has all that the package's
# extensions call, and the command, so that each library is there once. It exports the public functions and the command's `main`.
if(NOT KI_COMMAND OR NOT KI_CONTROLLERS)
    return()
endif()
set(symbols main)
foreach(name kinformer kinformer-controllers kinformer-testing)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/lib${name}.exports)
    file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/lib${name}.exports exports)
    list(APPEND symbols ${exports})
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/kinformer-wheel.map CONTENT "KINFORMER_WHEEL { global: ${symbols}; local: *; };\n")
list(TRANSFORM symbols PREPEND -Wl,--undefined=) # the linker takes from an archive what is named

get_target_property(sources kinformer-program SOURCES)
add_library(kinformer-wheel SHARED EXCLUDE_FROM_ALL ${sources})
ki_target(kinformer-wheel)
set_target_properties(kinformer-wheel PROPERTIES C_VISIBILITY_PRESET default # of `main`
                      EXPORT_COMPILE_COMMANDS OFF) # the linter has these files once, from the program
target_compile_definitions(kinformer-wheel PRIVATE _GNU_SOURCE)
target_include_directories(kinformer-wheel PRIVATE ${PROJECT_SOURCE_DIR})
target_link_options(kinformer-wheel PRIVATE -Wl,--version-script=${PROJECT_BINARY_DIR}/kinformer-wheel.map -Wl,-Bsymbolic-functions -Wl,-z,defs ${symbols})
target_link_libraries(kinformer-wheel PRIVATE kinformer-doctor kinformer-describe kinformer-gen kinformer-screen kinformer-top kinformer-lines kinformer-controllers-static kinformer-status-static
    kinformer-testing-static kinformer-print-static kinformer-static PkgConfig::ki_deps PkgConfig::kt_deps Threads::Threads)
