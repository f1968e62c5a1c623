# Builds the Go program that $client names.
# shellcheck shell=bash
# shellcheck source=tests/clients/go/go.sh
. ./go.sh

build() {
    nice -n 5 go build -p 2 -buildvcs=false -gcflags=all=-dwarf=false -ldflags "-s -w" -o "$cache/program" "./${client:?}"
}
build_with build go.mod go.sum steps/*.go "$client"/*.go
