// The server is stopped or killed while kinformer watches, and starts again with its data and its port. In one case kinformer is frozen during
// the restart and misses changes that are compacted. No change is lost.
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
	frozen bool // kinformer is stopped (SIGSTOP) from before the stop of the server until the new server has more changes
}

// maxRequestsPerRestart is the limit of requests for one resource during a restart. Attempts without a connection do not count.
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
	// The server is stopped right after these commands. kinformer notifies of these changes before or after the restart.
	if err := h.kubectl(s).runAll(ctx,
		"run kept -n e2e --image=example.com/kept:1",
		"run gone -n e2e --image=example.com/gone:1",
		"run again -n e2e --image=example.com/again:1",
		"create deployment web -n e2e --image=example.com/web:1",
	); err != nil {
		return err
	}
	if how.frozen {
		// kinformer must have these pods: without them, the later deletions are no missed changes.
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
	// kinformer must reconnect by itself while more changes happen.
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
		errs = append(errs, checkFinalStateUnknown(w, identity{"Pod", "e2e", "gone"}, true))
	}
	return errors.Join(errs...)
}

// changeWhileFrozen makes changes that kinformer can only find by a relist, since etcd is compacted after them. It creates one pod, deletes one,
// and replaces one by a new pod with the same name.
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

// checkFinalStateUnknown checks the finalStateUnknown of an object's last DELETED event. It is true if a relist found the deletion.
func checkFinalStateUnknown(w *watcher, id identity, want bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.finalStateUnknown[id] != want {
		return fmt.Errorf("%s: the last deletion has finalStateUnknown %t, wanted %t: %v", id, w.finalStateUnknown[id], want, w.history[id])
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
	return report(fmt.Sprintf("more than %d requests of kinformer", maxRequestsPerRestart), differences)
}
