# Run by `cmake --install`: makes an installed archive show its public functions alone, as the shared library does. All its objects become one, in which
# every other name is local. The archives of the other libraries here use some of them: these names stay.
# Needs ARCHIVE (the installed file), EXPORTS (the list of its public functions), USERS (the archives that use it), NM, LINKER, OBJCOPY, AR.
set(archive $ENV{DESTDIR}${ARCHIVE})
set(object ${archive}.o)
set(names ${archive}.names)

function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed ERROR_VARIABLE why OUTPUT_VARIABLE output)
    if(failed)
        message(FATAL_ERROR "${ARGN}: ${why}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()

file(STRINGS ${EXPORTS} kept)
foreach(user ${USERS})
    run(${NM} --undefined-only --format=posix ${user})
    string(REGEX MATCHALL "(^|\n)[A-Za-z_][A-Za-z0-9_]* U" used "${output}")
    string(REGEX REPLACE "\n| U" "" used "${used}")
    run(${NM} --defined-only --extern-only --format=posix ${user})
    string(REGEX MATCHALL "(^|\n)[A-Za-z_][A-Za-z0-9_]* [A-Z]" own "${output}")
    string(REGEX REPLACE "\n| [A-Z]" "" own "${own}")
    list(REMOVE_ITEM used ${own}) # one of its objects needs another, or it has a yyjson of its own
    list(APPEND kept ${used})
endforeach()
list(REMOVE_DUPLICATES kept)
list(JOIN kept "\n" text)
file(WRITE ${names} "${text}\n")

run(${LINKER} -r --whole-archive ${archive} -o ${object})
run(${OBJCOPY} --keep-global-symbols=${names} --remove-section=.gnu.lto_* ${object})
file(REMOVE ${archive})
run(${AR} qcsD ${archive} ${object})
file(REMOVE ${object} ${names})
