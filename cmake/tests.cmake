# One cmocka program for each folder of tests/unit, and one for tests/integration; tests/support/*.c is linked into all of them.
if(NOT KI_TESTS)
    return()
endif()
enable_testing()

function(ki_test_target target)
    ki_target(${target})
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE $<$<CONFIG:Debug>:KI_BODY_CHECKSUM>)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${target} PRIVATE kinformer-doctor kinformer-describe kinformer-gen kinformer-top kinformer-lines kinformer-status-static testing-memory kinformer-controllers-static kinformer-testing-static kinformer-print-static kinformer-static PkgConfig::cmocka PkgConfig::kt_deps PkgConfig::ki_deps
        Threads::Threads)
endfunction()

ki_sources(support tests/support/*.c tests/support/http/*.c tests/support/fetch/*.c tests/support/libc/*.c)
add_library(test-support STATIC ${support})
ki_test_target(test-support)

# ki_test_program(NAME KIND FILE...): one program of a folder's test_<noun>.c, and a test KIND/<noun> for each of them, a process of its own.
function(ki_test_program name kind)
    add_executable(${name} ${ARGN})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_link_libraries(${name} PRIVATE test-support)
    ki_test_target(${name})
    target_compile_definitions(${name} PRIVATE
        KI_TEST_DATA_DIR="${PROJECT_SOURCE_DIR}/tests/data"
        KI_TEST_EXAMPLES_DIR="${PROJECT_BINARY_DIR}/examples"
        KI_TEST_PROGRAM="${PROJECT_BINARY_DIR}/bin/kinformer")
    foreach(source ${ARGN})
        string(REGEX REPLACE "^.*/test_(.*)\\.cc?$" "\\1" noun ${source})
        # The time limit is for what hangs: with the thread sanitizer on a busy machine a test may take minutes.
        add_test(NAME ${kind}/${noun} COMMAND ${name} ${noun})
        set_tests_properties(${kind}/${noun} PROPERTIES LABELS ${kind} TIMEOUT 600 SKIP_RETURN_CODE 77
            ENVIRONMENT "ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1;UBSAN_OPTIONS=print_stacktrace=1;TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1")
    endforeach()
endfunction()

file(GLOB folders RELATIVE ${PROJECT_SOURCE_DIR}/tests/unit CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/*)
list(FILTER folders EXCLUDE REGEX "\\.md$")
foreach(folder ${folders})
    ki_sources(sources tests/unit/${folder}/test_*.c)
    ki_test_program(test_${folder} unit ${sources})
endforeach()
# unit/rows_memory and unit/page_memory let these fail (tests/support/libc/failing_libc.h).
foreach(program test_rows test_top)
    target_link_options(${program} PRIVATE LINKER:--wrap=malloc LINKER:--wrap=calloc LINKER:--wrap=realloc LINKER:--wrap=strdup LINKER:--wrap=tsearch
        LINKER:--wrap=open_memstream LINKER:--wrap=vasprintf)
endforeach()
# The cache's tests again, with objects that are packed from the first one on (tests/support/make_object.c).
ki_sources(sources tests/unit/cache/test_*.c)
foreach(source ${sources})
    string(REGEX REPLACE "^.*/test_(.*)\\.c$" "\\1" noun ${source})
    get_test_property(unit/${noun} ENVIRONMENT environment)
    add_test(NAME unit-packed/${noun} COMMAND test_cache ${noun})
    set_tests_properties(unit-packed/${noun} PROPERTIES LABELS unit TIMEOUT 600 SKIP_RETURN_CODE 77 ENVIRONMENT "${environment};KI_TEST_PACK=1")
endforeach()
ki_sources(sources tests/integration/test_*.c)
ki_test_program(test_integration integration ${sources})

# unit/null_arguments calls each function of the public headers.
ki_sources(public_headers include/kinformer/*.h include/kinformer/parts/*.h include/kinformer-controllers/*.h include/kinformer-print/*.h include/kinformer-status/*.h include/kinformer-testing/*.h)
set(null_calls ${PROJECT_BINARY_DIR}/tests/generated/null_calls.h)
add_custom_command(OUTPUT ${null_calls}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/tests/generated
    COMMAND sh -c "awk -f \"$0\" \"$@\" >${null_calls}" ${PROJECT_SOURCE_DIR}/tests/null_calls.awk ${public_headers}
    DEPENDS ${PROJECT_SOURCE_DIR}/tests/null_calls.awk ${public_headers} VERBATIM)
target_sources(test_public PRIVATE ${null_calls})
target_include_directories(test_public PRIVATE ${PROJECT_BINARY_DIR}/tests/generated)

# The headers as C++17 and C++20: the same tests as programs of both. They find each option macro of the headers.
if(CMAKE_CXX_COMPILER)
    set(option_macros ${PROJECT_BINARY_DIR}/tests/generated/option_macros.h)
    ki_sources(all_headers include/*/*.h include/*/*/*.h)
    add_custom_command(OUTPUT ${option_macros}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/tests/generated
        COMMAND sh -c "awk -f \"$0\" \"$@\" >${option_macros}" ${PROJECT_SOURCE_DIR}/tests/option_macros.awk ${all_headers}
        DEPENDS ${PROJECT_SOURCE_DIR}/tests/option_macros.awk ${all_headers} VERBATIM)
    add_custom_target(option-macros DEPENDS ${option_macros})
    ki_sources(sources tests/unit/public/test_*.cc)
    foreach(standard 17 20)
        ki_test_program(test_cxx${standard} unit-cxx${standard} ${sources})
        set_target_properties(test_cxx${standard} PROPERTIES CXX_STANDARD ${standard} CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
        add_dependencies(test_cxx${standard} option-macros)
        target_include_directories(test_cxx${standard} PRIVATE ${PROJECT_BINARY_DIR}/tests/generated)
    endforeach()
endif()

# What other tests run.
ki_sources(programs tests/programs/*.c)
foreach(source ${programs})
    cmake_path(GET source STEM program)
    add_executable(${program} ${source})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/programs)
    ki_test_target(${program})
endforeach()
target_link_libraries(show_screen PRIVATE kinformer-screen)
target_sources(read_values PRIVATE tests/support/make_object.c)
target_sources(round_trip PRIVATE tests/support/random/random_json.c)
add_test(NAME unit/round_trip COMMAND round_trip 20000)
set_tests_properties(unit/round_trip PROPERTIES LABELS unit TIMEOUT 600)

if(TARGET kinformer)
    set_target_properties(plugin_host PROPERTIES ENABLE_EXPORTS ON)
    target_link_libraries(plugin_host PRIVATE ${CMAKE_DL_LIBS})
    target_compile_definitions(test_integration PRIVATE KI_TEST_HOST="$<TARGET_FILE:plugin_host>" KI_TEST_LIBRARY="$<TARGET_FILE:kinformer>")
    add_dependencies(test_integration plugin_host kinformer kinformer-program)
    set_tests_properties(integration/process PROPERTIES TIMEOUT 60) # it waits for forked children without a limit
endif()

# What is installed, as others link it, and what the documents show.
if(TARGET example-watch-pods)
    separate_arguments(flags NATIVE_COMMAND "${CMAKE_C_FLAGS}")
    if(KI_SANITIZE)
        list(APPEND flags -fsanitize=${KI_SANITIZE})
    endif()
    if(KI_COVERAGE)
        list(APPEND flags --coverage)
    endif()
    add_test(NAME integration/installed COMMAND ${PROJECT_SOURCE_DIR}/tests/integration/installed.sh ${CMAKE_COMMAND}
        ${PROJECT_BINARY_DIR} ${CMAKE_C_COMPILER} ${flags})
    set_tests_properties(integration/installed PROPERTIES LABELS integration TIMEOUT 600 ENVIRONMENT "CXX=${CMAKE_CXX_COMPILER}")
    if(TARGET kinformer AND NOT KI_YYJSON_SOURCE AND NOT KI_COVERAGE)
        add_test(NAME integration/other_libraries COMMAND ${PROJECT_SOURCE_DIR}/tests/integration/other_libraries.sh ${CMAKE_COMMAND}
            ${CMAKE_GENERATOR} ${PROJECT_BINARY_DIR} ${CMAKE_C_COMPILER} ${flags})
        set_tests_properties(integration/other_libraries PROPERTIES LABELS integration TIMEOUT 900)
    endif()
    if(TARGET kinformer-testing)
        add_test(NAME integration/docs COMMAND ${PROJECT_SOURCE_DIR}/tests/integration/docs.sh ${PROJECT_BINARY_DIR}
            ${CMAKE_C_COMPILER} ${flags})
        set_tests_properties(integration/docs PROPERTIES LABELS integration TIMEOUT 600 ENVIRONMENT "CXX=${CMAKE_CXX_COMPILER}")
        # The same test in a shell and in Python; tests/clients/testing runs the other languages.
        set(testing ${PROJECT_SOURCE_DIR}/examples/testing)
        add_test(NAME integration/testing_shell COMMAND ${testing}/shell/test_pods.sh)
        set_tests_properties(integration/testing_shell PROPERTIES LABELS integration TIMEOUT 600 SKIP_RETURN_CODE 77
            ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:$<TARGET_FILE_DIR:kinformer-program>")
        # Debian's package python3-prometheus-client is for the system's Python.
        find_program(system_python3 python3 PATHS /usr/bin NO_DEFAULT_PATH)
        if(system_python3)
            add_test(NAME integration/testing_python COMMAND ${system_python3} ${testing}/python/test_pods.py)
            set_tests_properties(integration/testing_python PROPERTIES LABELS integration TIMEOUT 600
                ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:$<TARGET_FILE_DIR:kinformer-program>")
            add_test(NAME integration/openmetrics COMMAND ${system_python3}
                ${PROJECT_SOURCE_DIR}/tests/integration/openmetrics.py $<TARGET_FILE:print_metrics>)
            set_tests_properties(integration/openmetrics PROPERTIES LABELS integration TIMEOUT 600 SKIP_RETURN_CODE 77)
            add_test(NAME integration/status_page COMMAND ${system_python3}
                ${PROJECT_SOURCE_DIR}/tests/integration/status_page.py $<TARGET_FILE:status_page>)
            set_tests_properties(integration/status_page PROPERTIES LABELS integration TIMEOUT 600 SKIP_RETURN_CODE 77)
            add_test(NAME integration/screen COMMAND ${system_python3}
                ${PROJECT_SOURCE_DIR}/tests/integration/screen.py $<TARGET_FILE:show_screen>)
            set_tests_properties(integration/screen PROPERTIES LABELS integration TIMEOUT 600 SKIP_RETURN_CODE 77)
            add_test(NAME integration/top COMMAND ${system_python3}
                ${PROJECT_SOURCE_DIR}/tests/integration/top.py $<TARGET_FILE:kinformer-program>)
            set_tests_properties(integration/top PROPERTIES LABELS integration TIMEOUT 600 SKIP_RETURN_CODE 77)
            add_test(NAME integration/ffi COMMAND ${system_python3}
                ${PROJECT_SOURCE_DIR}/tests/integration/ffi.py $<TARGET_FILE:kinformer-program> ${CMAKE_C_COMPILER})
            set_tests_properties(integration/ffi PROPERTIES LABELS integration TIMEOUT 600 SKIP_RETURN_CODE 77)
            set(demo ${system_python3} ${PROJECT_SOURCE_DIR}/examples/sample-controller/demo.py $<TARGET_FILE:kinformer-program>)
            add_test(NAME integration/sample_controller_demo COMMAND ${demo} $<TARGET_FILE:example-sample-controller> 1)
            add_test(NAME integration/a_controller_that_ends_fails_the_demo COMMAND ${demo} false 1)
            set_tests_properties(integration/sample_controller_demo PROPERTIES LABELS integration TIMEOUT 600)
            set_tests_properties(integration/a_controller_that_ends_fails_the_demo PROPERTIES LABELS integration TIMEOUT 600
                PASS_REGULAR_EXPRESSION "the controller ended with status 1")
        endif()
    endif()
    if(NOT KI_COVERAGE AND NOT KI_SANITIZE MATCHES thread) # it builds the library itself, without them
        add_test(NAME integration/build_options COMMAND ${PROJECT_SOURCE_DIR}/tests/integration/build_options.sh ${CMAKE_COMMAND}
            ${CMAKE_GENERATOR} ${CMAKE_C_COMPILER})
        set_tests_properties(integration/build_options PROPERTIES LABELS integration TIMEOUT 900)
    endif()
endif()

add_test(NAME parity COMMAND ${PROJECT_SOURCE_DIR}/tests/check_parity.sh)
set_tests_properties(parity PROPERTIES LABELS unit TIMEOUT 120)
