# Language level, warnings, sanitizers, and ki_target(), which gives them to a target.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON) # builds in two folders have the same bytes: an absolute path would change the build ID
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

# The libraries are C. The examples and the tests of the headers are also C++, where there is a compiler of it.
if(KI_EXAMPLES OR KI_TESTS)
    include(CheckLanguage)
    check_language(CXX)
    if(CMAKE_CXX_COMPILER)
        enable_language(CXX)
    endif()
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

set(ki_warnings -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wcast-qual
    -Wwrite-strings -Wformat=2 -Wvla -Wpointer-arith)
set(ki_c_warnings -Wstrict-prototypes -Wmissing-prototypes)
set(ki_cxx_warnings -Wold-style-cast)
if(CMAKE_C_COMPILER_ID MATCHES Clang)
    list(APPEND ki_c_warnings -Wnull-dereference) # gcc's reports paths that cannot be taken
endif()
if(KI_WERROR)
    list(APPEND ki_warnings -Werror)
endif()

if(KI_ASSERTIONS)
    add_compile_definitions(KI_ASSERTIONS) # for all targets: structs of internal headers have members of their own then
endif()
if(KI_SANITIZE)
    add_compile_options(-fsanitize=${KI_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
                        -U_FORTIFY_SOURCE)
    add_link_options(-fsanitize=${KI_SANITIZE})
endif()
if(KI_FUZZ)
    add_compile_options(-fno-sanitize=pointer-overflow) # clang has it, and yyjson's loops over nothing add to NULL
endif()
if(KI_COVERAGE)
    add_compile_options(--coverage -fprofile-update=atomic)
    add_link_options(--coverage)
endif()
add_link_options(-Wl,--as-needed)

function(ki_target target)
    target_compile_options(${target} PRIVATE ${ki_warnings} $<$<COMPILE_LANGUAGE:C>:${ki_c_warnings}>
        $<$<COMPILE_LANGUAGE:CXX>:${ki_cxx_warnings}>)
endfunction()

# ki_sources(VARIABLE PATTERN...): the files of the source tree that match; a folder may be missing.
function(ki_sources variable)
    list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/)
    file(GLOB found CONFIGURE_DEPENDS ${ARGN})
    set(${variable} ${found} PARENT_SCOPE)
endfunction()
