# What the clients' `start` scripts share. A script sets `client`, then calls build_with FUNCTION FILE... before it runs the client.
# shellcheck shell=bash

# Exit status of a client that cannot run here.
skipped_status=77

cache=${XDG_CACHE_HOME:-$HOME/.cache}/kinformer-e2e/clients/${client:?}

# Ends the script: what the client needs is not here.
skip() {
    echo "skipped: $*" >&2
    exit "$skipped_status"
}

# Ends the script unless there is a program.
need() {
    command -v "$1" >/dev/null || skip "there is no $1"
}

# Runs FUNCTION, which fetches and builds into $cache, unless that was done for the same files before. A failure is tried once more,
# since registries fail now and then; the second one skips the client, which says nothing about the server.
build_with() { # FUNCTION FILE...
    local build=$1 sum
    shift
    sum=$(cat "$@" | sha256sum | cut -c1-64)
    mkdir -p "$cache"
    exec 9>"$cache.lock"
    flock 9
    if [ "$(cat "$cache/built" 2>/dev/null)" != "$sum" ]; then
        rm -f "$cache/built"
        "$build" >&2 || "$build" >&2 || skip "its packages cannot be fetched, or it does not build"
        echo "$sum" >"$cache/built"
    fi
    exec 9>&-
}
