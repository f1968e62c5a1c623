# Builds the Go program that $client names.
# shellcheck shell=bash
[ ! -x /usr/local/go/bin/go ] || PATH=/usr/local/go/bin:$PATH
need go
export GOTOOLCHAIN=local GOFLAGS=-mod=readonly GOWORK=off
oldest=go1.26
found=$(go env GOVERSION)
[ "$(printf '%s\n' "$oldest" "$found" | sort -V | head -n 1)" = "$oldest" ] || skip "go is $found, older than $oldest"

build() {
    nice -n 5 go build -p 2 -buildvcs=false -gcflags=all=-dwarf=false -ldflags "-s -w" -o "$cache/program" "./${client:?}"
}
build_with build go.mod go.sum steps/*.go "$client"/*.go
