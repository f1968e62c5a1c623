# KI_YYJSON_SOURCE: yyjson compiled into libkinformer, for a host that has a yyjson of its own, and where there is no libyyjson. A generated header
# gives each of yyjson's functions another name and hides it, so that neither a program nor another library can meet it, in an archive either.
set(yyjson_sources ${KI_YYJSON_SOURCE}/yyjson.c)
foreach(file ${KI_YYJSON_SOURCE}/yyjson.c ${KI_YYJSON_SOURCE}/yyjson.h)
    if(NOT EXISTS ${file})
        message(FATAL_ERROR "KI_YYJSON_SOURCE: there is no ${file}")
    endif()
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${KI_YYJSON_SOURCE}/yyjson.h)

file(READ ${KI_YYJSON_SOURCE}/yyjson.h header)
string(REPLACE ";" " " header "${header}")
string(REGEX MATCHALL "\nyyjson_api [^(]*\\(" declarations "${header}")
set(names "#define yyjson_api __attribute__((visibility(\"hidden\")))\n")
foreach(declaration ${declarations})
    string(REGEX MATCH "[a-z0-9_]+\\($" name "${declaration}")
    string(REPLACE "(" "" name "${name}")
    string(APPEND names "#define ${name} ki_own_${name}\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/yyjson_names.h CONTENT "${names}" @ONLY)
set_source_files_properties(${KI_YYJSON_SOURCE}/yyjson.c PROPERTIES COMPILE_OPTIONS -w) # its warnings are its authors'

foreach(deps ki_deps kt_deps)
    if(TARGET PkgConfig::${deps})
        target_include_directories(PkgConfig::${deps} SYSTEM BEFORE INTERFACE ${KI_YYJSON_SOURCE})
        target_compile_options(PkgConfig::${deps} INTERFACE -include ${PROJECT_BINARY_DIR}/yyjson_names.h)
    endif()
endforeach()
