# What `cmake --install` puts where, and what lets others find it: pkg-config and CMake config files.
if(NOT TARGET kinformer)
    return()
endif()
