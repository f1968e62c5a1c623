// kinformer is disconnected or frozen while pods change and etcd is compacted. Its watch cannot resume (410), so kinformer relists, and
// notifies of exactly the differences.
package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// kinformerOnly: client-go notifies of a new object with the same name as a change of the old object.
var compactionCases = []testCase{
	{name: "compaction-cut-off", kinformerOnly: true, run: compaction(false)},
	{name: "compaction-frozen", kinformerOnly: true, run: compaction(true)},
}

// compactionNotifications has the expected notifications of each pod, in order.
var compactionNotifications = map[string]string{
	"kept":    "INITIAL",
	"changed": "INITIAL MODIFIED", // changed twice, notified once
	"gone":    "INITIAL DELETED",
	"again":   "INITIAL DELETED ADDED", // a new pod with the same name: no MODIFIED
	"fresh":   "ADDED",
	"unseen":  "", // created and deleted while disconnected
	"last":    "ADDED",
}

func compaction(frozen bool) func(context.Context, *harness) error {
	return func(ctx context.Context, h *harness) error {
		// The watch cache would keep the changes that etcd has compacted.
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
	// After fresh, kinformer has relisted. It gets the last pod from its watch.
	if err := w.awaitAll(ctx, addedChange, identity{"Pod", "e2e", "fresh"}); err != nil {
		return err
	}
	if err := w.awaitNewPod(ctx, k, "last"); err != nil {
		return err
	}
	return errors.Join(w.checkState(ctx, k, "pods", "after the compaction"),
		compareCompactionNotifications(w), checkFinalStateUnknown(w, identity{"Pod", "e2e", "gone"}, true), checkRelisted(s, mark))
}

func compareCompactionNotifications(w *watcher) error {
	var differences []string
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.history {
		if _, found := compactionNotifications[id.name]; !found {
			differences = append(differences, fmt.Sprintf("%s: unexpected notifications %v", id, w.history[id]))
		}
	}
	for name, want := range compactionNotifications {
		var notified []string
		for _, c := range w.history[identity{"Pod", "e2e", name}] {
			notified = append(notified, c.kind)
		}
		if !slices.Equal(notified, strings.Fields(want)) {
			differences = append(differences, fmt.Sprintf("%s: notified of %v, wanted [%s]", name, notified, want))
		}
	}
	return report("notifications", differences)
}

// checkRelisted checks that kinformer tried to resume its watch, then listed once, without many requests.
func checkRelisted(s *server, mark int64) error {
	requests, _, err := s.requests(mark)
	if err != nil {
		return err
	}
	lists := count(requests, "pods", func(r request) bool { return (isPlainList(r) || isStreamingList(r)) && r.code == 200 })
	all := count(requests, "pods", func(request) bool { return true })
	watches := count(requests, "pods", func(r request) bool { return r.verb == "watch" && !isStreamingList(r) })
	if lists != 1 || watches < 1 || all > maxRequestsPerRestart {
		return fmt.Errorf("%d lists, %d watches, %d requests for pods, wanted 1 list, a watch and at most %d requests: %v", lists, watches, all,
			maxRequestsPerRestart, requests)
	}
	return nil
}
