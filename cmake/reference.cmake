# The API reference, made of the public headers by Doxygen: build/…/reference/html and man3.
if(NOT KI_DOCS)
    return()
endif()
find_program(KI_DOXYGEN doxygen REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/*.h)
file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/scripts/reference/*)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/reference/html/index.html
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/reference/build ${PROJECT_BINARY_DIR}/reference
    DEPENDS ${public_headers} ${scripts} VERBATIM)
add_custom_target(reference ALL DEPENDS ${PROJECT_BINARY_DIR}/reference/html/index.html)
