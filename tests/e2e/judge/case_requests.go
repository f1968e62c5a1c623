// The table of requests in serve-requests: the real server still gives the recorded responses, and `kinformer serve` gives the same.
package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/rest"
)

var requestCases = []testCase{{name: "serve-requests", kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
	own, err := h.ownServer(ctx) // other cases leave default classes on the shared one
	if err != nil {
		return err
	}
	c, err := h.configsBeside(ctx, own)
	if err != nil {
		return err
	}
	return errors.Join(h.compareRequests(ctx, c.real, "-real"), h.compareRequests(ctx, c.served))
}}}

// compareRequests sends the requests of all tables to a server.
func (h *harness) compareRequests(ctx context.Context, config *rest.Config, flags ...string) error {
	tables, err := filepath.Glob(filepath.Join(h.clients, "../e2e/serve-requests/*.txt"))
	if err != nil {
		return err
	}
	arguments := append(flags, "-url", config.Host, "-token", config.BearerToken, "-compare",
		filepath.Join(h.clients, "../data/real_responses.jsonl"))
	out, err := exec.CommandContext(ctx, filepath.Join(h.bin, "serve-requests"), append(arguments, tables...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %q: %w\n%s", config.Host, flags, err, out)
	}
	return nil
}
