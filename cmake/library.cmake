# libkinformer: kinformer (shared) and kinformer-static.
set(folders base object wire transport auth client engine cache/store cache/queue cache/listener cache/reflector cache/informer factory
    readiness)
list(TRANSFORM folders REPLACE "(.+)" "src/\\1/*.c" OUTPUT_VARIABLE patterns)
ki_sources(sources ${patterns})
ki_library(kinformer ${sources} ${yyjson_sources})
ki_link(kinformer PkgConfig::ki_deps Threads::Threads)
target_compile_definitions(kinformer-objects PRIVATE $<$<CONFIG:Debug>:KI_BODY_CHECKSUM>) # packed bodies have a checksum: src/object/body_codec.c
