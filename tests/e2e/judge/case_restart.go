// The server goes away under a watching kinformer and comes back, with its data and on its port: stopped, killed, and
// while kinformer itself is frozen and misses changes, which are compacted away. Nothing is lost.
package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

var restartCases = []testCase{
	restart{name: "restart-stopped", stop: func(s *server) error { return s.process.stop() }}.testCase(),
	restart{name: "restart-killed", stop: func(s *server) error { s.process.kill(); return nil }}.testCase(),
	restart{name: "restart-frozen", stop: func(s *server) error { return s.process.stop() }, frozen: true}.testCase(),
}

type restart struct {
	name   string
	stop   func(*server) error
	frozen bool // kinformer, from before the stop until the new server has gone on without it
}

// Requests for one resource in a restart that are still no tight loop. What cannot connect is not counted.
const maxRequestsPerRestart = 12

func (how restart) testCase() testCase {
	return testCase{name: how.name, run: func(ctx context.Context, h *harness) error {
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
		if err := how.run(ctx, h, s, w); err != nil {
			return errors.Join(err, w.check())
		}
		return w.process.stop()
	}}
}

func (how restart) run(ctx context.Context, h *harness, s *server, w *watcher) error {
	// The server goes right after these: they may be told before or after.
	if err := h.kubectl(s).runAll(ctx,
		"run kept -n e2e --image=example.com/kept:1",
		"run gone -n e2e --image=example.com/gone:1",
		"run again -n e2e --image=example.com/again:1",
		"create deployment web -n e2e --image=example.com/web:1",
	); err != nil {
		return err
	}
	if how.frozen {
		// It must have told all of them: what it has not read yet is no missed change.
		if err := w.awaitAll(ctx, addedChange, identity{"Pod", "e2e", "gone"}, identity{"Pod", "e2e", "again"}); err != nil {
			return err
		}
		if err := w.process.command.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
	}
	_, mark, err := s.requests(0)
	if err != nil {
		return err
	}
	if err := how.stop(s); err != nil {
		return err
	}
	if s, err = h.ownServer(ctx); err != nil {
		return err
	}
	k := h.kubectl(s)
	if how.frozen {
		if err := changeWhileFrozen(ctx, s, k); err != nil {
			return err
		}
		if err := w.process.command.Process.Signal(syscall.SIGCONT); err != nil {
			return err
		}
	}
	// Kinformer must find its way back by itself, while more happens.
	if err := k.runAll(ctx,
		"label pod kept -n e2e restarted=yes",
		"run later -n e2e --image=example.com/later:1",
		"scale deployment web -n e2e --replicas=2",
		"delete pod --ignore-not-found gone -n e2e",
		"create namespace e2e-last",
		"run last -n e2e --image=example.com/last:1",
		"create deployment last -n e2e --image=example.com/last:1",
	); err != nil {
		return err
	}
	if err := w.awaitAll(ctx, addedChange, lastOnes...); err != nil {
		return err
	}
	list, err := k.list(ctx, watchedResources)
	if err != nil {
		return err
	}
	errs := []error{w.check(), compareObjects("after the restart", w.snapshot(), list), checkRequestCount(s, mark)}
	if how.frozen {
		errs = append(errs, checkFoundByComparing(w))
	}
	return errors.Join(errs...)
}

// goOnWithout makes changes that kinformer can only find by comparing: it has no connection to this server yet, whose
// memory of changes is shorter than what kinformer missed. One pod is new, one is gone, one is another one of the same name.
func changeWhileFrozen(ctx context.Context, s *server, k kubectl) error {
	if err := k.runAll(ctx,
		"run fresh -n e2e --image=example.com/fresh:1",
		"delete pod gone -n e2e",
		"delete pod again -n e2e",
		"run again -n e2e --image=example.com/again:2",
	); err != nil {
		return err
	}
	return s.compact(ctx)
}

// checkFoundByComparing holds kinformer to what it can know of those changes: that a pod is gone, but not its last state.
func checkFoundByComparing(w *watcher) error {
	gone := identity{"Pod", "e2e", "gone"}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.finalStateUnknown[gone] {
		return fmt.Errorf("%s was found gone, but is not told with finalStateUnknown: %v", gone, w.history[gone])
	}
	return nil
}

func checkRequestCount(s *server, mark int64) error {
	requests, _, err := s.requests(mark)
	if err != nil {
		return err
	}
	var differences []string
	for resource := range kindOf {
		if n := count(requests, resource, func(request) bool { return true }); n > maxRequestsPerRestart {
			differences = append(differences, fmt.Sprintf("%d for %s", n, resource))
		}
	}
	return report("kinformer's requests", differences)
}
