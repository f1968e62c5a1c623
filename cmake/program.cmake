# The kinformer program: a user of the public headers like any other, but for what cli/README.md names.
if(NOT KI_COMMAND)
    return()
endif()

# What `kinformer doctor` runs: for the program and its tests, in no library of the install.
ki_sources(sources cli/doctor/*.c)
add_library(kinformer-doctor STATIC ${sources})
ki_target(kinformer-doctor)
target_compile_definitions(kinformer-doctor PRIVATE _GNU_SOURCE)
target_include_directories(kinformer-doctor PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(kinformer-doctor PUBLIC kinformer-static PRIVATE PkgConfig::ki_deps Threads::Threads)

# What `kinformer gen` makes: for the program, its tests and fuzz/. `gen --ffi` has the public headers as a table.
ki_sources(headers include/*/*.h include/*/*/*.h)
set(declarations ${PROJECT_BINARY_DIR}/generated/declarations.inc)
add_custom_command(OUTPUT ${declarations}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/generated
    COMMAND sh -c "awk -f \"$0\" \"$@\" >${declarations}" ${PROJECT_SOURCE_DIR}/cli/gen/declarations.awk ${PROJECT_SOURCE_DIR}/include ${headers}
    DEPENDS ${PROJECT_SOURCE_DIR}/cli/gen/declarations.awk ${headers} VERBATIM)
ki_sources(sources cli/gen/*.c)
add_library(kinformer-gen STATIC ${sources} ${declarations})
ki_target(kinformer-gen)
target_compile_definitions(kinformer-gen PRIVATE _GNU_SOURCE)
target_include_directories(kinformer-gen PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/generated)
target_link_libraries(kinformer-gen PUBLIC kinformer-static PRIVATE PkgConfig::ki_deps Threads::Threads)

# What the lines of `kinformer watch` are made of: for the program and its tests.
ki_sources(sources cli/lines/*.c cli/output.c)
add_library(kinformer-lines STATIC ${sources})
ki_target(kinformer-lines)
target_compile_definitions(kinformer-lines PRIVATE _GNU_SOURCE)
target_include_directories(kinformer-lines PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(kinformer-lines PUBLIC kinformer-print-static kinformer-static PRIVATE PkgConfig::ki_deps Threads::Threads)

# What `kinformer top` shows: for the program and its tests. Its screen is a library of its own, which alone needs ncurses.
ki_sources(sources cli/top/*.c cli/rows/*.c cli/screen/*.c)
set(screen ${PROJECT_SOURCE_DIR}/cli/screen/screen.c ${PROJECT_SOURCE_DIR}/cli/screen/description.c)
list(REMOVE_ITEM sources ${screen})
add_library(kinformer-top STATIC ${sources})
ki_target(kinformer-top)
target_compile_definitions(kinformer-top PRIVATE _GNU_SOURCE)
target_include_directories(kinformer-top PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(kinformer-top PUBLIC kinformer-lines PRIVATE PkgConfig::ki_deps Threads::Threads)
add_library(kinformer-screen STATIC ${screen})
ki_target(kinformer-screen)
target_compile_definitions(kinformer-screen PRIVATE _GNU_SOURCE)
target_include_directories(kinformer-screen PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(kinformer-screen PUBLIC kinformer-top PRIVATE PkgConfig::curses)

# What `kinformer describe` prints: for the program and its tests.
ki_sources(sources cli/describe/*.c)
add_library(kinformer-describe STATIC ${sources})
ki_target(kinformer-describe)
target_compile_definitions(kinformer-describe PRIVATE _GNU_SOURCE)
target_include_directories(kinformer-describe PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(kinformer-describe PUBLIC kinformer-print-static kinformer-static PRIVATE PkgConfig::ki_deps Threads::Threads)

ki_sources(sources cli/*.c cli/session/*.c cli/format/*.c)
list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/cli/output.c)

add_executable(kinformer-program ${sources})
ki_target(kinformer-program)
set_target_properties(kinformer-program PROPERTIES OUTPUT_NAME kinformer)
target_compile_definitions(kinformer-program PRIVATE _GNU_SOURCE)
target_include_directories(kinformer-program PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(kinformer-program PRIVATE kinformer-doctor kinformer-describe kinformer-gen kinformer-screen kinformer-top kinformer-lines kinformer-status-static kinformer-testing-static kinformer-print-static
    kinformer-static PkgConfig::ki_deps PkgConfig::kt_deps Threads::Threads)

# Manual pages and completions are what the program prints of itself.
set(manuals ${PROJECT_BINARY_DIR}/man)
set(completions ${PROJECT_BINARY_DIR}/completions)
file(MAKE_DIRECTORY ${manuals} ${completions})
if(NOT CMAKE_CROSSCOMPILING)
    add_custom_command(TARGET kinformer-program POST_BUILD
        COMMAND kinformer-program man --directory ${manuals}
        COMMAND kinformer-program completion --directory ${completions})
endif()
