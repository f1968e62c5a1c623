// Runs `kinformer watch -o json` and reads its lines into a record.
package main

import (
	"context"
	"fmt"
)

type watchLine struct {
	Type              string `json:"type"`
	Initial           bool   `json:"initial"`
	Resync            bool   `json:"resync"`
	FinalStateUnknown bool   `json:"finalStateUnknown"`
	Old               object `json:"old"`
	Object            object `json:"object"`
	Resource          string `json:"resource"`
	Count             int    `json:"count"`
	ResourceVersion   string `json:"resourceVersion"`
}

// watcher is a running `kinformer watch`.
type watcher struct {
	*record
	process *process
	synced  map[string]watchLine // by resource; under the record's lock
	initial map[string]int       // initial objects by kind; under the record's lock
	// finalStateUnknown of the last DELETED event of each object; under the record's lock.
	finalStateUnknown map[identity]bool
	lacksVersions     bool // the server's lists may have no versions
}

// kindOf is the kind of each resource that the cases watch.
var kindOf = map[string]string{"pods": "Pod", "deployments": "Deployment", "namespaces": "Namespace", "nodes": "Node",
	"configmaps": "ConfigMap", "foos": "Foo"}

// watch starts `kinformer watch` with these arguments: resources, connection flags, selectors.
func (h *harness) watch(name string, arguments ...string) (*watcher, error) {
	return h.watchBy(nil, name, arguments...)
}

// watchBy starts `kinformer watch` as the arguments of another program, such as `ip netns exec`.
func (h *harness) watchBy(runner []string, name string, arguments ...string) (*watcher, error) {
	w := newWatcher(name)
	return w, w.start(h, runner, arguments...)
}

func newWatcher(name string) *watcher {
	return &watcher{record: newRecord(name), synced: map[string]watchLine{}, initial: map[string]int{}, finalStateUnknown: map[identity]bool{}}
}

func (w *watcher) start(h *harness, runner []string, arguments ...string) error {
	argv := append(append(append([]string{}, runner...), h.kinformer, "watch", "-o", "json"), arguments...)
	var err error
	w.process, err = h.start(w.name, w.addLine, argv...)
	return err
}

func (w *watcher) addLine(text []byte) {
	var line watchLine
	if err := decode(text, &line); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.addViolation("a line that is not JSON: %v: %.120s", err, text)
		return
	}
	switch line.Type {
	case "SYNCED":
		w.addSynced(line)
		return
	case addedChange, modifiedChange, deletedChange:
	default:
		w.mu.Lock()
		defer w.mu.Unlock()
		w.addViolation("a line of unknown type: %.120s", text)
		return
	}
	if metadata, found := line.Object["metadata"].(object); found && metadata["managedFields"] != nil {
		delete(metadata, "managedFields")
		w.mu.Lock()
		w.addViolation("%s with managedFields", line.Type)
		w.mu.Unlock()
	}
	if line.Type == modifiedChange && line.Old == nil {
		w.mu.Lock()
		w.addViolation("MODIFIED without old: %.120s", text)
		w.mu.Unlock()
	}
	if line.Resync { // no case enables resyncs
		w.mu.Lock()
		w.addViolation("a resync: %.120s", text)
		w.mu.Unlock()
		return
	}
	if id, err := identify(line.Object); err == nil && line.Type == deletedChange {
		w.mu.Lock()
		w.finalStateUnknown[id] = line.FinalStateUnknown
		w.mu.Unlock()
	}
	kind := line.Type
	if line.Initial {
		kind = initialChange
		w.mu.Lock()
		w.initial[field(line.Object, "kind")]++
		for resource := range w.synced {
			if kindOf[resource] == field(line.Object, "kind") {
				w.addViolation("an initial object after SYNCED: %.120s", text)
			}
		}
		w.mu.Unlock()
	}
	w.addChange(kind, line.Old, line.Object)
}

func (w *watcher) addSynced(line watchLine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, twice := w.synced[line.Resource]; twice {
		w.addViolation("SYNCED twice for %s", line.Resource)
	}
	if kindOf[line.Resource] == "" {
		w.addViolation("SYNCED for the unexpected resource %q", line.Resource)
	}
	if line.ResourceVersion == "" && !w.lacksVersions {
		w.addViolation("SYNCED without resourceVersion for %s", line.Resource)
	}
	if initial := w.initial[kindOf[line.Resource]]; initial != line.Count {
		w.addViolation("SYNCED of %s with count %d, but %d initial objects", line.Resource, line.Count, initial)
	}
	w.synced[line.Resource] = line
	w.notifyWaiters()
}

func (w *watcher) awaitSynced(ctx context.Context, resources ...string) error {
	return w.await(ctx, fmt.Sprintf("SYNCED of %v", resources), w.process.ended, func() bool {
		for _, resource := range resources {
			if _, found := w.synced[resource]; !found {
				return false
			}
		}
		return true
	})
}

func (w *watcher) awaitAll(ctx context.Context, kind string, ids ...identity) error {
	for _, id := range ids {
		if err := w.awaitChange(ctx, w.process.ended, kind, id); err != nil {
			return err
		}
	}
	return nil
}
