// Kinformer is out of touch, frozen or cut off, while much happens, and etcd forgets it: its watch cannot go on where it
// was (410), so it lists anew and tells exactly what is different: no more, no less.
package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// client-go tells of another object under the same name as of a change of the first.
var compactionCases = []testCase{
	{name: "compaction-cut-off", kinformerOnly: true, run: compaction(false)},
	{name: "compaction-frozen", kinformerOnly: true, run: compaction(true)},
}

// What is told of each pod, from the beginning to the end.
var compactionNotifications = map[string]string{
	"kept":    "INITIAL",
	"changed": "INITIAL MODIFIED", // twice changed, once told
	"gone":    "INITIAL DELETED",
	"again":   "INITIAL DELETED ADDED", // another one of the same name: no MODIFIED
	"fresh":   "ADDED",
	"unseen":  "", // came and went
	"last":    "ADDED",
}

func compaction(frozen bool) func(context.Context, *harness) error {
	return func(ctx context.Context, h *harness) error {
		// With a watch cache the server would remember what etcd has forgotten.
		s, err := h.ownServer(ctx, "--no-watch-cache")
		if err != nil {
			return err
		}
		k := h.kubectl(s)
		if err := k.runAll(ctx,
			"create namespace e2e",
			"run kept -n e2e --image=example.com/kept:1",
			"run changed -n e2e --image=example.com/changed:1",
			"run gone -n e2e --image=example.com/gone:1",
			"run again -n e2e --image=example.com/again:1",
		); err != nil {
			return err
		}
		g, w, err := h.watchBehindGate(ctx, s, "pods", "pods")
		if err != nil {
			return err
		}
		if err := changeAndCompact(ctx, s, k, w, g, frozen); err != nil {
			return errors.Join(err, w.check())
		}
		return w.process.stop()
	}
}

func changeAndCompact(ctx context.Context, s *server, k kubectl, w *watcher, g *gate, frozen bool) error {
	_, mark, err := s.requests(0)
	if err != nil {
		return err
	}
	if frozen {
		if err := w.process.command.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
	}
	g.shut()
	if err := k.runAll(ctx,
		"label pod changed -n e2e step=one",
		"run fresh -n e2e --image=example.com/fresh:1",
		"run unseen -n e2e --image=example.com/unseen:1",
		"delete pod gone unseen -n e2e",
		"delete pod again -n e2e",
		"run again -n e2e --image=example.com/again:2",
		"annotate pod changed -n e2e step=two",
	); err != nil {
		return err
	}
	if err := s.compact(ctx); err != nil {
		return err
	}
	if err := g.redirect("tcp", s.address()); err != nil {
		return err
	}
	if frozen {
		if err := w.process.command.Process.Signal(syscall.SIGCONT); err != nil {
			return err
		}
	}
	// It has come back by then: the last pod is told as a change that happens.
	if err := w.awaitAll(ctx, addedChange, identity{"Pod", "e2e", "fresh"}); err != nil {
		return err
	}
	if err := w.awaitNewPod(ctx, k, "last"); err != nil {
		return err
	}
	return errors.Join(w.checkState(ctx, k, "pods", "after the compaction"),
		compareCompactionNotifications(w), checkFoundByComparing(w), checkRelisted(s, mark))
}

func compareCompactionNotifications(w *watcher) error {
	var differences []string
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.history {
		if _, found := compactionNotifications[id.name]; !found {
			differences = append(differences, fmt.Sprintf("%s: told %v", id, w.history[id]))
		}
	}
	for name, want := range compactionNotifications {
		var notified []string
		for _, c := range w.history[identity{"Pod", "e2e", name}] {
			notified = append(notified, c.kind)
		}
		if !slices.Equal(notified, strings.Fields(want)) {
			differences = append(differences, fmt.Sprintf("%s: told %v, not [%s]", name, notified, want))
		}
	}
	return report("what was told", differences)
}

// checkRelisted: the watch was tried where it was, refused, and then one list was made.
func checkRelisted(s *server, mark int64) error {
	requests, _, err := s.requests(mark)
	if err != nil {
		return err
	}
	lists := count(requests, "pods", func(r request) bool { return (isPlainList(r) || isStreamingList(r)) && r.code == 200 })
	all := count(requests, "pods", func(request) bool { return true })
	watches := count(requests, "pods", func(r request) bool { return r.verb == "watch" && !isStreamingList(r) })
	if lists != 1 || watches < 1 || all > maxRequestsPerRestart {
		return fmt.Errorf("%d lists, %d watches, %d requests for pods: %v", lists, watches, all, requests)
	}
	return nil
}
