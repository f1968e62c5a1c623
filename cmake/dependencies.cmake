# The libraries that kinformer depends on, all through pkg-config. A part that is not built needs none of its own.
find_package(PkgConfig REQUIRED)
set(ki_requires "libcurl>=7.85.0" yyjson yaml-0.1)  # of libkinformer; 7.85 has CURLOPT_PROTOCOLS_STR
set(kt_requires yyjson yaml-0.1 libmicrohttpd gnutls zlib) # of libkinformer-testing
set(ks_requires libmicrohttpd zlib)  # of libkinformer-status
if(KI_YYJSON_SOURCE)
    list(REMOVE_ITEM ki_requires yyjson)
    list(REMOVE_ITEM kt_requires yyjson)
endif()
pkg_check_modules(ki_deps REQUIRED IMPORTED_TARGET ${ki_requires})
if(KI_SERVER)
    pkg_check_modules(kt_deps REQUIRED IMPORTED_TARGET ${kt_requires})
endif()
if(KI_YYJSON_SOURCE)
    include(yyjson)
endif()
if(KI_STATUS)
    pkg_check_modules(ks_deps REQUIRED IMPORTED_TARGET ${ks_requires})
endif()
if(KI_TESTS)
    pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)
endif()
