# The Python package (bindings/python), built in the folder python of the build, and its tests. With the thread sanitizer
# there is none: an interpreter that is not built with it cannot load it.
find_program(ki_python python3 PATHS /usr/bin NO_DEFAULT_PATH) # Debian's packages are for the system's Python
if(NOT KI_TESTS OR NOT TARGET kinformer OR NOT ki_python OR CMAKE_CROSSCOMPILING OR KI_COVERAGE OR KI_SANITIZE MATCHES thread)
    return()
endif()
execute_process(COMMAND ${ki_python} -c "import cffi, pytest, sysconfig; print(sysconfig.get_paths()['include'])"
    OUTPUT_VARIABLE ki_python_include OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT EXISTS "${ki_python_include}/Python.h")
    message(STATUS "no python3-cffi, python3-pytest or python3-dev: bindings/python is not built")
    return()
endif()

set(native ${PROJECT_SOURCE_DIR}/bindings/python/native)
set(package ${PROJECT_BINARY_DIR}/python/kinformer)
ki_sources(python_headers include/kinformer/*.h include/kinformer-controllers/*.h include/kinformer-testing/*.h)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/python/native.c ${PROJECT_BINARY_DIR}/python/testing.c
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/python
    COMMAND ${CMAKE_COMMAND} -E env CC=${CMAKE_C_COMPILER} PYTHONDONTWRITEBYTECODE=1
            ${ki_python} ${native}/build.py ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/python
    DEPENDS ${native}/build.py ${native}/declarations.py ${native}/glue.c ${native}/glue.cdef ${python_headers} VERBATIM)
# A module beside `kinformer`: FOLDER/_native. The name without the ABI's tag works for any Python 3: the extension uses the limited API.
function(ki_python_module name source folder)
    add_library(${name} MODULE ${PROJECT_BINARY_DIR}/python/${source})
    set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME _native SUFFIX .abi3.so LIBRARY_OUTPUT_DIRECTORY ${folder})
    target_include_directories(${name} SYSTEM PRIVATE ${ki_python_include})
    target_link_libraries(${name} PRIVATE ${ARGN})
endfunction()
ki_python_module(python-native native.c ${package} kinformer-controllers kinformer)
ki_python_module(python-testing-native testing.c ${package}/testing kinformer-testing kinformer)

ki_sources(python_files bindings/python/kinformer/*.py bindings/python/kinformer/*.pyi bindings/python/kinformer/py.typed)
ki_sources(python_testing_files bindings/python/kinformer/testing/*.py bindings/python/kinformer/testing/*.pyi)
ki_sources(python_plugin bindings/python/pytest_kinformer.py)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/python/copied
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${python_files} ${package}
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${python_testing_files} ${package}/testing
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${python_plugin} ${PROJECT_BINARY_DIR}/python
    COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/python/copied
    DEPENDS ${python_files} ${python_testing_files} ${python_plugin} python-native python-testing-native VERBATIM)
add_custom_target(python ALL DEPENDS ${PROJECT_BINARY_DIR}/python/copied)

# The interpreter is not built with the sanitizers: what they need is loaded before it.
set(environment PYTHONPATH=${PROJECT_BINARY_DIR}/python PYTHONDONTWRITEBYTECODE=1 KINFORMER_COMMAND=$<TARGET_FILE:kinformer-program>)
if(KI_SANITIZE MATCHES address)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE libasan OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND environment LD_PRELOAD=${libasan} PYTHONMALLOC=malloc
        # Stacks of three frames: what the libraries allocate has no frame of the interpreter (lsan.supp). Without the interceptor
        # the leak check reads no thread-local memory of extensions, whose place it guesses wrongly.
        ASAN_OPTIONS=detect_leaks=1:malloc_context_size=3:strict_string_checks=1:intercept_tls_get_addr=0
        LSAN_OPTIONS=print_suppressions=0:suppressions=${PROJECT_SOURCE_DIR}/bindings/python/tests/lsan.supp)
endif()
ki_sources(python_tests bindings/python/tests/test_*.py)
foreach(test ${python_tests})
    string(REGEX REPLACE "^.*/test_(.*)\\.py$" "\\1" noun ${test})
    add_test(NAME python/${noun} COMMAND ${ki_python} -m pytest -q -p no:cacheprovider ${test})
    set_tests_properties(python/${noun} PROPERTIES LABELS python TIMEOUT 600 ENVIRONMENT "${environment}")
endforeach()
