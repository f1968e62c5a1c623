// An informer of the Python package beside client-go's and a raw watch, while writers change pods: the same changes in the same order, and
// the same cache at the end.
package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

var pythonCases = []testCase{{name: "python-side-by-side", kinformerOnly: true, run: pythonSideBySide}}

func pythonSideBySide(ctx context.Context, h *harness) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := h.ownServer(ctx)
	if err != nil {
		return err
	}
	k := h.kubectl(s)
	if err := k.runAll(ctx, "create namespace "+churnNamespace); err != nil {
		return err
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	witness, err := rawWatch(ctx, client, pods)
	if err != nil {
		return err
	}
	informer, err := clientGoInformer(ctx, client, pods)
	if err != nil {
		return err
	}
	early, err := h.startPython(s, "python-early")
	if err != nil {
		return err
	}
	if err := errors.Join(early.awaitSynced(ctx, "pods"), churn(ctx, client, churnSeed)); err != nil {
		return err
	}
	late, err := h.startPython(s, "python-late") // it syncs during the second round
	if err != nil {
		return err
	}
	if err := errors.Join(churn(ctx, client, churnSeed+1), late.awaitSynced(ctx, "pods")); err != nil {
		return err
	}
	last := identity{"Pod", churnNamespace, "last"}
	if err := k.runAll(ctx, "run last -n "+churnNamespace+" --image=example.com/last:1"); err != nil {
		return err
	}
	for _, r := range []*record{early.record, late.record, informer, witness} {
		if err := r.awaitChange(ctx, nil, addedChange, last); err != nil {
			return err
		}
	}
	list, err := k.list(ctx, "pods")
	if err != nil {
		return err
	}
	if made := witness.changeCount(); made < churnWriters*changesPerRound {
		return fmt.Errorf("only %d changes were made", made)
	}
	errs := []error{witness.check(), informer.check(), compareHistories(informer, witness)}
	for _, p := range []*pythonProgram{early, late} {
		errs = append(errs, p.process.stop(), p.check(), compareHistories(p.record, witness),
			compareObjects(p.name+"'s events at the end", p.snapshot(), list), compareObjects(p.name+"'s cache", p.cache, list),
			compareObjects(p.name+"'s cache beside client-go's", p.cache, informer.snapshot()))
	}
	fmt.Printf("# %d changes\n", witness.changeCount())
	return errors.Join(errs...)
}

// pythonProgram is a running tests/programs/watch_pods.py. It writes the lines of `kinformer watch`, and at its end its cache.
type pythonProgram struct {
	*watcher
	cache objects // valid once the program has ended
}

func (h *harness) startPython(s *server, name string) (*pythonProgram, error) {
	library, err := h.builtProgram("python")
	if err != nil {
		return nil, err
	}
	p := &pythonProgram{watcher: newWatcher(name), cache: objects{}}
	p.process, err = h.start(name, p.addLine, "env", "PYTHONPATH="+library, "PYTHONDONTWRITEBYTECODE=1",
		"KUBECONFIG="+s.file("kubeconfig-kinformer"), "/usr/bin/python3", filepath.Join(h.clients, "..", "programs", "watch_pods.py"))
	return p, err
}

func (p *pythonProgram) addLine(text []byte) {
	var line struct {
		Type  string   `json:"type"`
		Items []object `json:"items"`
	}
	if decode(text, &line) != nil || line.Type != "CACHE" {
		p.watcher.addLine(text)
		return
	}
	for _, obj := range line.Items {
		if id, err := identify(obj); err == nil {
			p.cache[id] = obj
		}
	}
}
