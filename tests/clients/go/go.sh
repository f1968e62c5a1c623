# Finds a Go that is new enough, or skips the client.
# shellcheck shell=bash
[ ! -x /usr/local/go/bin/go ] || PATH=/usr/local/go/bin:$PATH
need go
export GOTOOLCHAIN=local GOFLAGS=-mod=readonly GOWORK=off
oldest=go1.26
found=$(go env GOVERSION)
[ "$(printf '%s\n' "$oldest" "$found" | sort -V | head -n 1)" = "$oldest" ] || skip "go is $found, older than $oldest"
