# The simulation, one program: sim. It uses the internals of the libraries.
if(NOT KI_SIM)
    return()
endif()
ki_sources(sources sim/*.c sim/controllers/*.c)
add_executable(sim ${sources})
ki_target(sim)
target_compile_definitions(sim PRIVATE _GNU_SOURCE)
target_include_directories(sim PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(sim PRIVATE testing-memory kinformer-controllers-static kinformer-testing-static kinformer-static PkgConfig::kt_deps PkgConfig::ki_deps
    Threads::Threads)
if(KI_TESTS)
    add_test(NAME sim/seeds COMMAND sim --seeds 200)
    add_test(NAME sim/same_trace COMMAND sh -c "a=$($1 --seed 77 --trace | cksum) && b=$($1 --seed 77 --trace | cksum) && \
test \"$a\" = \"$b\"" sh $<TARGET_FILE:sim>)
    # Seeds that failed once, each for a reason of its own.
    add_test(NAME sim/known_seeds COMMAND sh -c "for seed in $2; do $1 --seed $seed || exit 1; done" sh $<TARGET_FILE:sim>
        "61256 305809701137 118165234783 69126 16545 98756 777008976 555004867 431977737 431994384 7768 977346270 6180341878 5772157835 2711745752 54072690459 49537440189 32437357249 89234056303 688000734125 640908416355 3187648374 24747866960 918275341 27502773032788 7718263577886 3416 4744 90417739890 209857320974 1097972338446 65867207879163 2412041489279 195898761645 918273861 9886016800366 7527699674307 731015105 731016100 731018971 29735226587165 16512136515882 30815888779841 26535113657740 21205749763137 31415980553 84000000014907 84000000046308 84000000052961 418273645502891 771649928384228 5512098846633 604418273985196 871526340139462 551928376646 81928377613 208859561188735 208859561250770")
    add_test(NAME sim/controllers_known_seeds COMMAND sh -c "for seed in $2; do $1 --scenario controllers --seed $seed || exit 1; done" sh
        $<TARGET_FILE:sim> "840295252 857242889765 546432286791 546432454449 546432594716 63301396126230 118830275520669 417702938476639")
    add_test(NAME sim/controllers COMMAND sim --scenario controllers --seeds 200)
    add_test(NAME sim/controllers_same_trace COMMAND sh -c "a=$($1 --scenario controllers --seed 8 --trace | cksum) && \
b=$($1 --scenario controllers --seed 8 --trace | cksum) && test \"$a\" = \"$b\"" sh $<TARGET_FILE:sim>)
    set_tests_properties(sim/seeds sim/same_trace sim/known_seeds sim/controllers sim/controllers_known_seeds sim/controllers_same_trace PROPERTIES LABELS sim TIMEOUT 600)
endif()
