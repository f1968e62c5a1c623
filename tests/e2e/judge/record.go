// What one observer of a cluster saw: the changes of each object in order, and the state they add up to. A change that
// does not follow from the state before (twice added, deleted without being there, an old version) is a violation.
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
	log                 map[identity][]object // what each change of the history left, nil where it deleted
	changes             int                   // without the initial ones
	newest              string                // the highest version of any change
	violations          []string
	allowsRepeats       bool
	allowsOlderVersions bool
	updated             chan struct{} // closed and made anew at each change
}

func newRecord(name string) *record {
	return &record{name: name, state: objects{}, history: map[identity][]change{},
		log: map[identity][]object{}, updated: make(chan struct{})}
}

// violation tells something that must not be; the caller holds the lock.
func (r *record) addViolation(format string, arguments ...any) {
	r.violations = append(r.violations, fmt.Sprintf(format, arguments...))
	r.notifyWaiters()
}

// allowRepeats: after a new list client-go tells of every object that is still there, changed or not; kinformer must not.
func (r *record) allowRepeats() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allowsRepeats = true
}

// allowGoingBack: the server was restored from a backup; its versions are lower from now on.
func (r *record) allowOlderVersions() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allowsOlderVersions = true
}

func (r *record) notifyWaiters() {
	close(r.updated)
	r.updated = make(chan struct{})
}

// note takes one change; old is what the observer says was there before, where it says so.
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
			r.addViolation("%s %s, which is not there", kind, id)
		}
	case present:
		r.addViolation("%s %s, which is there", kind, id)
	}
	if old != nil && present && difference("", old, before) != "" {
		r.addViolation("%s %s: its old object is not the last one: %s", kind, id, difference("", old, before))
	}
	// A deletion found by a new list carries the last known version.
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
	if r.newest == "" || newer(versionOf(obj), r.newest) {
		r.newest = versionOf(obj)
	}
	if kind != initialChange {
		r.changes++
	}
	r.notifyWaiters()
}

// newer compares resource versions, which are decimal in every server of these cases.
func newer(a, b string) bool {
	left, leftErr := strconv.ParseUint(a, 10, 64)
	right, rightErr := strconv.ParseUint(b, 10, 64)
	return leftErr == nil && rightErr == nil && left > right
}

// await waits until the condition holds; it is asked under the lock, after each change. ended may be nil.
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
			return fmt.Errorf("%s ended before %s (after %d changes)", r.name, what, changes)
		case <-ctx.Done():
			return fmt.Errorf("%s: no %s (after %d changes): %w", r.name, what, changes, ctx.Err())
		}
	}
}

// awaitChange waits until the observer has seen this kind of change of an object.
func (r *record) awaitChange(ctx context.Context, ended <-chan struct{}, kind string, id identity) error {
	return r.await(ctx, kind+" "+id.String(), ended, func() bool {
		return slices.ContainsFunc(r.history[id], func(c change) bool { return c.kind == kind })
	})
}

// awaitVersion waits until the observer has come as far as another one, who has ended.
func (r *record) awaitVersion(ctx context.Context, other *record) error {
	other.mu.Lock()
	version := other.newest
	other.mu.Unlock()
	return r.await(ctx, "change as new as "+version, nil, func() bool { return r.newest == version || newer(r.newest, version) })
}

func (r *record) snapshot() objects {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.state)
}

// stateAt is what the changes up to a resource version add up to: so a state can be compared that has since changed.
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

// compareHistories holds an observer to the witness, who began earlier: for each object, the observer's changes are the
// witness's, each once and in order, from the observer's beginning on.
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
	return report(fmt.Sprintf("what %s saw, beside %s", observer.name, witness.name), differences)
}

// follows says whether saw is happened from some point on: from the version that was there at first, or from where there was none.
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

// compareStates holds an observer that may have missed changes to the witness, who has not: the states that it told of an
// object are, in order, some of those that the object had.
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
	return report(fmt.Sprintf("the states that %s told, beside %s", observer.name, witness.name), differences)
}

// statesOf is the versions that an object had; while it was gone, none.
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
