# The libraries that kinformer depends on, all through pkg-config. A part that is not built needs none of its own.
find_package(PkgConfig REQUIRED)
set(ki_requires libcurl yyjson yaml-0.1)  # of libkinformer
set(kt_requires yyjson yaml-0.1 libmicrohttpd gnutls zlib) # of libkinformer-testing
pkg_check_modules(ki_deps REQUIRED IMPORTED_TARGET ${ki_requires})
if(KI_SERVER)
    pkg_check_modules(kt_deps REQUIRED IMPORTED_TARGET ${kt_requires})
endif()
if(KI_TESTS)
    pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)
endif()
