# libkinformer: kinformer (shared) and kinformer-static.
set(folders base object wire transport auth client engine cache/store cache/queue cache/listener cache/reflector cache/informer factory
    workqueue controller readiness)
list(TRANSFORM folders REPLACE "(.+)" "src/\\1/*.c" OUTPUT_VARIABLE patterns)
ki_sources(sources ${patterns})
ki_library(kinformer ${sources} ${yyjson_sources})
target_link_libraries(kinformer-objects PRIVATE PkgConfig::ki_deps Threads::Threads)
target_compile_definitions(kinformer-objects PRIVATE $<$<CONFIG:Debug>:KI_BODY_CHECKSUM>) # packed bodies have a checksum: src/object/body_codec.c
target_link_libraries(kinformer-static PRIVATE PkgConfig::ki_deps Threads::Threads)
if(TARGET kinformer)
    target_link_libraries(kinformer PRIVATE PkgConfig::ki_deps Threads::Threads)
    if(NOT KI_SANITIZE)
        target_link_options(kinformer PRIVATE -Wl,-z,defs) # sanitizers leave theirs to the program
    endif()
endif()
