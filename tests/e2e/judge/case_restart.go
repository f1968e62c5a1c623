// The server goes away under a watching kinformer and comes back, with its data and on its port: once stopped, once
// killed, and once while kinformer itself was frozen and missed changes, which are compacted away. Nothing is lost.
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
)

var restartCases = []testCase{{name: "restart-real", run: restartReal}}

// Requests for one resource in one restart that are still no tight loop. The server is away for some seconds, and what
// cannot connect is not counted.
const maxRequestsPerRestart = 12

func restartReal(ctx context.Context, h *harness) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := h.ownServer(ctx)
	if err != nil {
		return err
	}
	if err := h.kubectl(s).runAll(ctx, "create namespace e2e"); err != nil {
		return err
	}
	w, err := h.watch("kinformer", watchedResources, "-A", "--kubeconfig", s.file("kubeconfig-kinformer"))
	if err != nil {
		return err
	}
	if err := w.awaitSynced(ctx, "pods", "deployments", "namespaces"); err != nil {
		return err
	}
	for i, round := range []restart{
		{name: "stopped", stop: func(s *server) error { return s.process.stop() }},
		{name: "killed", stop: func(s *server) error { s.process.kill(); return nil }},
		{name: "frozen", stop: func(s *server) error { return s.process.stop() }, frozen: true},
	} {
		if s, err = restartRound(ctx, h, s, w, i, round); err != nil {
			return fmt.Errorf("%s: %w", round.name, errors.Join(err, w.check()))
		}
	}
	return w.process.stop()
}

type restart struct {
	name   string
	stop   func(*server) error
	frozen bool // kinformer, from before the stop until the new server has gone on without it
}

// goOnWithout makes changes that kinformer can only find by comparing: it has no connection to this server yet, whose
// memory of changes is shorter than what kinformer missed. One pod is new, one is gone, one is another one of the same name.
func goOnWithout(ctx context.Context, s *server, k kubectl) error {
	if err := k.runAll(ctx,
		"run fresh -n e2e --image=example.com/fresh:1",
		"delete pod gone-2 -n e2e",
		"delete pod again-2 -n e2e",
		"run again-2 -n e2e --image=example.com/again:2",
	); err != nil {
		return err
	}
	return s.compact(ctx)
}

// checkFoundByComparing holds kinformer to what it can know of those changes: that a pod is gone, but not its last state.
func checkFoundByComparing(w *watcher) error {
	gone := identity{"Pod", "e2e", "gone-2"}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.finalStateUnknown[gone] {
		return fmt.Errorf("%s was found gone, but is not told with finalStateUnknown: %v", gone, w.history[gone])
	}
	return nil
}

func restartRound(ctx context.Context, h *harness, s *server, w *watcher, round int, how restart) (*server, error) {
	k := h.kubectl(s)
	change := func(lines ...string) error {
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], "N ", fmt.Sprintf("%d ", round))
		}
		return k.runAll(ctx, lines...)
	}
	if err := change(
		"run kept-N -n e2e --image=example.com/kept:1",
		"run gone-N -n e2e --image=example.com/gone:1",
		"run again-N -n e2e --image=example.com/again:1",
		"create deployment web-N -n e2e --image=example.com/web:1",
	); err != nil {
		return nil, err
	}
	_, mark, err := s.requests(0)
	if err != nil {
		return nil, err
	}
	if how.frozen {
		// It must have told all before: what it has not read yet is no missed change.
		if err := w.awaitAll(ctx, addedChange, identity{"Pod", "e2e", "gone-2"}, identity{"Pod", "e2e", "again-2"}); err != nil {
			return nil, err
		}
		if err := w.process.command.Process.Signal(syscall.SIGSTOP); err != nil {
			return nil, err
		}
	}
	if err := how.stop(s); err != nil {
		return nil, err
	}
	s, err = h.ownServer(ctx)
	if err != nil {
		return nil, err
	}
	k = h.kubectl(s)
	if how.frozen {
		if err := goOnWithout(ctx, s, k); err != nil {
			return nil, err
		}
		if err := w.process.command.Process.Signal(syscall.SIGCONT); err != nil {
			return nil, err
		}
	}
	// After the restart kinformer must find its way back by itself, while more happens.
	if err := change(
		"label pod kept-N -n e2e restarted=yes",
		"run later-N -n e2e --image=example.com/later:1",
		"scale deployment web-N -n e2e --replicas=2",
		"delete pod --ignore-not-found gone-N -n e2e",
		"create namespace last-N ",
		"run last-N -n e2e --image=example.com/last:1",
		"create deployment last-N -n e2e --image=example.com/last:1",
	); err != nil {
		return nil, err
	}
	last := fmt.Sprintf("last-%d", round)
	if err := w.awaitAll(ctx, addedChange, identity{"Namespace", "", last}, identity{"Pod", "e2e", last},
		identity{"Deployment", "e2e", last}); err != nil {
		return nil, err
	}
	list, err := k.list(ctx, watchedResources)
	if err != nil {
		return nil, err
	}
	requests, _, err := s.requests(mark)
	if err != nil {
		return nil, err
	}
	for resource := range kindOf {
		if n := count(requests, resource, func(request) bool { return true }); n > maxRequestsPerRestart {
			return nil, fmt.Errorf("%d requests for %s in one restart", n, resource)
		}
	}
	err = errors.Join(w.check(), compareObjects("after the restart", w.snapshot(), list))
	if how.frozen {
		err = errors.Join(err, checkFoundByComparing(w))
	}
	return s, err
}
