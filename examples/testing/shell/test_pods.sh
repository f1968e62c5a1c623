#!/bin/sh
# A script that follows pods, tested against `kinformer serve`, without a sleep. Needs kinformer and curl.
set -eu
command -v curl >/dev/null || { echo "there is no curl" >&2; exit 77; }
work=$(mktemp -d)
server='' script=''
stop() { if [ -n "$1" ] && kill "$1" 2>/dev/null; then wait "$1" || true; fi; }
trap 'stop "$script"; stop "$server"; rm -rf "$work"' EXIT
fail() { echo "$*" >&2; exit 1; }
expect() { [ "$1" = "$2" ] || fail "expected $2, not $1"; }
api() { path=$1; shift; curl -sS --fail-with-body "$@" "$url$path" || fail " ($path)"; }

# The script under test.
follow_pods() {
    exec kinformer watch pods -n shop -s "$url" -q -o jsonpath='{.metadata.name} {.status.phase}{"\n"}'
}
begin() { # up to the open watch
    follow_pods >"$work/seen" &
    script=$!
    exec 4<"$work/seen"
    read -r first <&4 && read -r second <&4
    expect "$first, $second" "cart-1 Pending, cart-2 Running"
    api '/_wait?watches=pods' >"$work/answer"
}
end() { # and back to the server's start, for the next test
    stop "$script"
    script=''
    exec 4<&-
    api '/_wait?watches=pods&count=0' >"$work/answer"
    api /_reset -X POST >"$work/answer"
}
set_phase() {
    api "/api/v1/namespaces/shop/pods/$1/status" -X PATCH -H 'Content-Type: application/merge-patch+json' \
        --data "{\"status\":{\"phase\":\"$2\"}}" >"$work/answer"
}

mkfifo "$work/ready" "$work/seen"
kinformer serve --load "$(dirname "$0")/../pods.yaml" --ready-fd 3 3>"$work/ready" >"$work/log" 2>&1 &
server=$!
read -r url <"$work/ready"

# A pod starts after the watch has ended, while the server fails twice.
begin
fault=$(api /_faults --data status,code=500,verb=list+watch,resource=pods,count=2 | tr -dc 0-9) # {"id":1}
api /_faults --data close-watches >"$work/answer"
api "/_wait?fault=$fault&count=2" >"$work/answer"
set_phase cart-1 Running
read -r seen <&4
expect "$seen" "cart-1 Running"
expect "$(api '/_requests?verb=list+watch&resource=pods' | grep -c '"status":500')" 2
end

# The next test has the pods of the start again, and no faults.
begin
expect "$(api /_faults)" '{"faults":[]}'
set_phase cart-2 Failed
read -r seen <&4
expect "$seen" "cart-2 Failed"
end
echo "2 passed, 0 failed"
