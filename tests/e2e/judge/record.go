// The events that one observer got: the changes of each object in order, and the state that they add up to. A change that contradicts the
// state before it (an object added twice, a deletion of an unknown object, an old version) is a violation.
package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
)

const (
	initialChange  = "INITIAL"
	addedChange    = "ADDED"
	modifiedChange = "MODIFIED"
	deletedChange  = "DELETED"
)

type change struct{ kind, version string }

func (c change) String() string { return c.kind + "@" + c.version }

type record struct {
	name string

	mu                  sync.Mutex
	state               objects
	history             map[identity][]change
	log                 map[identity][]object // the object after each change of history; nil after a deletion
	order               []string              // the changes of all objects in the order of their arrival, such as "MODIFIED a@11"
	changes             int                   // number of changes, without the initial objects
	newest              string                // the highest version of any change
	violations          []string
	allowsRepeats       bool
	allowsOlderVersions bool
	updated             chan struct{} // closed and replaced at each change
}

func newRecord(name string) *record {
	return &record{name: name, state: objects{}, history: map[identity][]change{},
		log: map[identity][]object{}, updated: make(chan struct{})}
}

// addViolation records an error of the observer. The caller holds the lock.
func (r *record) addViolation(format string, arguments ...any) {
	r.violations = append(r.violations, fmt.Sprintf(format, arguments...))
	r.notifyWaiters()
}

// allowRepeats makes the record ignore a MODIFIED without a change. client-go notifies of each object after a relist; kinformer must not.
func (r *record) allowRepeats() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allowsRepeats = true
}

// allowOlderVersions makes the record accept lower resource versions, for a server that is restored from a backup.
func (r *record) allowOlderVersions() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allowsOlderVersions = true
}

func (r *record) notifyWaiters() {
	close(r.updated)
	r.updated = make(chan struct{})
}

// addChange adds one change. old is the previous state that the observer reports, or nil.
func (r *record) addChange(kind string, old, obj object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, err := identify(obj)
	if err != nil {
		r.addViolation("%s: %v", kind, err)
		return
	}
	before, present := r.state[id]
	if r.allowsRepeats && present && kind == modifiedChange && versionOf(obj) == versionOf(before) {
		return
	}
	switch {
	case kind == modifiedChange || kind == deletedChange:
		if !present {
			r.addViolation("%s %s, which does not exist", kind, id)
		}
	case present:
		r.addViolation("%s %s, which exists already", kind, id)
	}
	if old != nil && present && difference("", old, before) != "" {
		r.addViolation("%s %s: the old object differs from the last one: %s", kind, id, difference("", old, before))
	}
	// A deletion that a relist found has the last known version.
	if present && !r.allowsOlderVersions && !(kind == deletedChange && versionOf(obj) == versionOf(before)) && !newer(versionOf(obj), versionOf(before)) {
		r.addViolation("%s %s from version %s to %s", kind, id, versionOf(before), versionOf(obj))
	}
	if kind == deletedChange {
		delete(r.state, id)
		r.log[id] = append(r.log[id], nil)
	} else {
		r.state[id] = obj
		r.log[id] = append(r.log[id], obj)
	}
	r.history[id] = append(r.history[id], change{kind, versionOf(obj)})
	r.order = append(r.order, kind+" "+id.name+"@"+versionOf(obj))
	if r.newest == "" || newer(versionOf(obj), r.newest) {
		r.newest = versionOf(obj)
	}
	if kind != initialChange {
		r.changes++
	}
	r.notifyWaiters()
}

// newer returns true if resource version a is larger than b. Resource versions are decimal numbers in all servers of the cases.
func newer(a, b string) bool {
	left, leftErr := strconv.ParseUint(a, 10, 64)
	right, rightErr := strconv.ParseUint(b, 10, 64)
	return leftErr == nil && rightErr == nil && left > right
}

// await waits until the condition holds. It calls condition under the lock, after each change. It fails when ended is closed; ended may be nil.
func (r *record) await(ctx context.Context, what string, ended <-chan struct{}, condition func() bool) error {
	for {
		r.mu.Lock()
		holds, updated := condition(), r.updated
		changes := r.changes
		r.mu.Unlock()
		if holds {
			return nil
		}
		select {
		case <-updated:
		case <-ended:
			r.mu.Lock()
			holds = condition()
			r.mu.Unlock()
			if holds {
				return nil
			}
			return fmt.Errorf("%s exited before %s (after %d changes)", r.name, what, changes)
		case <-ctx.Done():
			return fmt.Errorf("%s: no %s (after %d changes): %w", r.name, what, changes, ctx.Err())
		}
	}
}

// awaitChange waits until the observer got this kind of change of an object.
func (r *record) awaitChange(ctx context.Context, ended <-chan struct{}, kind string, id identity) error {
	return r.await(ctx, kind+" "+id.String(), ended, func() bool {
		return slices.ContainsFunc(r.history[id], func(c change) bool { return c.kind == kind })
	})
}

// awaitVersion waits until the newest version of this record is at least that of another one, whose observer has ended.
func (r *record) awaitVersion(ctx context.Context, other *record) error {
	other.mu.Lock()
	version := other.newest
	other.mu.Unlock()
	return r.await(ctx, "change of version "+version+" or newer", nil, func() bool { return r.newest == version || newer(r.newest, version) })
}

func (r *record) snapshot() objects {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.state)
}

// stateAt returns the state that the changes up to a resource version add up to, for a comparison with a list of that version.
func (r *record) stateAt(version string) objects {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := objects{}
	for id, changes := range r.history {
		for i, c := range changes {
			if newer(c.version, version) {
				break
			}
			delete(found, id)
			if obj := r.log[id][i]; obj != nil {
				found[id] = obj
			}
		}
	}
	return found
}

func (r *record) historyOf(id identity) []change {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.history[id])
}

func (r *record) changeCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changes
}

func (r *record) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return report(r.name, r.violations)
}

// compareHistories compares an observer with the witness, which started earlier. For each object, the changes of the observer must be those of
// the witness since the start of the observer, each once and in order.
func compareHistories(observer, witness *record) error {
	var differences []string
	ids := map[identity]bool{}
	for _, r := range []*record{observer, witness} {
		r.mu.Lock()
		for id := range r.history {
			ids[id] = true
		}
		r.mu.Unlock()
	}
	for id := range ids {
		observed, actual := observer.historyOf(id), witness.historyOf(id)
		if !follows(observed, actual) {
			differences = append(differences, fmt.Sprintf("%s: saw %v of %v", id, observed, actual))
		}
	}
	return report(fmt.Sprintf("events of %s compared with %s", observer.name, witness.name), differences)
}

// follows returns true if observed is the end of actual. That end must begin with the initial object, or when the object did not exist.
func follows(observed, actual []change) bool {
	start := len(actual) - len(observed)
	if start < 0 {
		return false
	}
	if len(observed) > 0 && observed[0].kind == initialChange {
		return actual[start].kind != deletedChange && actual[start].version == observed[0].version &&
			slices.Equal(observed[1:], actual[start+1:])
	}
	absent := start == 0 || actual[start-1].kind == deletedChange
	return absent && slices.Equal(observed, actual[start:])
}

// compareStates compares an observer that may have missed changes with the witness, which missed none. For each object, the states that the
// observer reported must be a subsequence of the states of the witness.
func compareStates(observer, witness *record) error {
	var differences []string
	observer.mu.Lock()
	ids := slices.Collect(maps.Keys(observer.history))
	observer.mu.Unlock()
	for _, id := range ids {
		observed, actual := observer.historyOf(id), witness.historyOf(id)
		if !isSubsequence(statesOf(observed), statesOf(actual)) {
			differences = append(differences, fmt.Sprintf("%s: saw %v of %v", id, observed, actual))
		}
	}
	return report(fmt.Sprintf("states of %s compared with %s", observer.name, witness.name), differences)
}

// statesOf returns the versions that an object had, and "" for each deletion.
func statesOf(changes []change) []string {
	var states []string
	for _, c := range changes {
		if c.kind == deletedChange {
			c.version = ""
		}
		states = append(states, c.version)
	}
	return states
}

func isSubsequence(some, all []string) bool {
	for _, state := range all {
		if len(some) > 0 && some[0] == state {
			some = some[1:]
		}
	}
	return len(some) == 0
}
