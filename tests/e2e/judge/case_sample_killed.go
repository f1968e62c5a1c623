// The sample controller is killed while it works, and started again. Or it runs twice with leader election, and the leader ends. Foos and
// Deployments change meanwhile. At the end their state must be right.
package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var sampleKilledCases = []testCase{
	{name: "sample-controller-killed", run: sampleKilled},
	{name: "sample-controller-takeover", kinformerOnly: true, run: sampleTakeover},
}

// randomChanges makes random changes of Foos and their Deployments, and records the expected result.
type randomChanges struct {
	*stage
	random *rand.Rand
	want   map[string]int // replicas of each Foo
}

const (
	maxFoos     = 6
	maxReplicas = 3
)

func newRandomChanges(st *stage, seed uint64) *randomChanges {
	return &randomChanges{stage: st, random: rand.New(rand.NewPCG(seed, 0)), want: map[string]int{}}
}

// apply makes count changes. A Deployment has the name of its Foo.
func (c *randomChanges) apply(ctx context.Context, count int) error {
	for range count {
		name := fmt.Sprintf("foo-%d", c.random.IntN(maxFoos))
		replicas := 1 + c.random.IntN(maxReplicas)
		kind := c.random.IntN(10)
		var err error
		switch _, found := c.want[name]; {
		case !found:
			c.want[name] = replicas
			_, err = c.createFoo(ctx, name, name, replicas)
		case kind < 5:
			c.want[name] = replicas
			err = c.scale(ctx, foos, name, replicas)
		case kind < 7:
			err = c.delete(ctx, deployments, name)
		case kind < 9:
			err = c.scale(ctx, deployments, name, replicas)
		default:
			delete(c.want, name)
			err = c.delete(ctx, foos, name)
		}
		if err != nil && !(apierrors.IsNotFound(err) && kind >= 5) { // the controller may not have created the Deployment yet
			return err
		}
	}
	return nil
}

// await waits until each Foo has a Deployment with the wanted replicas, and no other Deployment exists.
func (c *randomChanges) await(ctx context.Context) error {
	return awaitState(ctx, "expected result of all changes", func() (string, error) {
		for _, name := range slices.Sorted(maps.Keys(c.want)) {
			if problem, err := c.fooProblem(ctx, name, name, int64(c.want[name])); problem != "" || err != nil {
				return problem, err
			}
		}
		list, err := c.list(ctx, deployments)
		if err != nil {
			return "", err
		}
		for i := range list {
			if _, found := c.want[list[i].GetName()]; !found {
				return "Deployment " + list[i].GetName() + " still exists", nil
			}
		}
		return "", nil
	})
}

// auditPollInterval is short, so that the controller is killed right after one of its writes.
const auditPollInterval = 2 * time.Millisecond

// awaitWrites waits until the audit log has count creates and updates of the controller after the mark.
func (c *randomChanges) awaitWrites(ctx context.Context, mark int64, count int) error {
	ticker := time.NewTicker(auditPollInterval)
	defer ticker.Stop()
	limited, cancel := context.WithTimeout(ctx, stateDeadline)
	defer cancel()
	for {
		entries, _, err := c.s.audit(mark)
		if err != nil {
			return err
		}
		if len(slices.DeleteFunc(entries, func(e auditEntry) bool {
			return e.Stage != "ResponseComplete" || e.Verb != "create" && e.Verb != "update"
		})) >= count {
			return nil
		}
		select {
		case <-ticker.C:
		case <-limited.Done():
			return fmt.Errorf("fewer than %d writes of the controller: %w", count, limited.Err())
		}
	}
}

const (
	killSeed  = 20
	killCount = 4
)

func sampleKilled(ctx context.Context, h *harness) error {
	s, err := h.fooServer(ctx)
	if err != nil {
		return err
	}
	if err := h.startControllerManager(s); err != nil {
		return err
	}
	st, err := h.newStage(ctx, s, "sample-killed")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	makePodsReady(ctx, st.client)
	c := newRandomChanges(st, killSeed)
	controller, err := h.startLibraryController("sample-controller", s.file("kubeconfig-kinformer"))
	for life := range killCount {
		if err != nil {
			return err
		}
		_, mark, err := s.audit(0)
		if err != nil {
			return err
		}
		if err := c.apply(ctx, 2*maxFoos); err != nil {
			return err
		}
		// After each start, the controller writes the status of each Foo at least.
		if err := c.awaitWrites(ctx, mark, c.random.IntN(len(c.want)+1)); err != nil {
			return err
		}
		controller.kill()
		if err := c.apply(ctx, maxFoos/2); err != nil {
			return err
		}
		if controller, err = h.startLibraryController("sample-controller", s.file("kubeconfig-kinformer")); err != nil {
			return err
		}
		if err := c.await(ctx); err != nil {
			return fmt.Errorf("after %d kills (seed %d): %w", life+1, killSeed, err)
		}
	}
	if err := controller.stop(); err != nil {
		return err
	}
	return st.k.runAll(ctx, "delete namespace "+st.namespace+" --wait=true --timeout=60s")
}

// sampleTakeover runs two controllers. The leader is killed, and the next leader is stopped. Each time the other controller takes over.
func sampleTakeover(ctx context.Context, h *harness) error {
	s, err := h.fooServer(ctx)
	if err != nil {
		return err
	}
	if err := h.startControllerManager(s); err != nil {
		return err
	}
	st, err := h.newStage(ctx, s, "sample-takeover")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	makePodsReady(ctx, st.client)
	controllers := map[string]*process{}
	start := func(identity string) error {
		p, err := h.startLibraryController(identity, s.file("kubeconfig-kinformer"), "--leader-elect", "--lease-namespace", st.namespace, "--identity", identity)
		controllers[identity] = p
		return err
	}
	if err := start("first"); err != nil {
		return err
	}
	other := "second"
	c := newRandomChanges(st, killSeed)
	leader, err := st.awaitHolder(ctx, "")
	if err != nil {
		return err
	}
	for _, end := range []func(*process) error{
		func(p *process) error { p.kill(); return nil },
		func(p *process) error { return p.stop() },
	} {
		if err := start(other); err != nil {
			return err
		}
		if err := c.apply(ctx, maxFoos); err != nil {
			return err
		}
		if err := end(controllers[leader]); err != nil {
			return err
		}
		if err := c.apply(ctx, maxFoos); err != nil {
			return err
		}
		if other, err = st.awaitHolder(ctx, leader); err != nil {
			return err
		}
		leader, other = other, leader
		if err := c.await(ctx); err != nil {
			return fmt.Errorf("after %s took over from %s: %w", leader, other, err)
		}
	}
	if err := controllers[leader].stop(); err != nil {
		return err
	}
	return st.k.runAll(ctx, "delete namespace "+st.namespace+" --wait=true --timeout=60s")
}

// awaitHolder waits until the Lease of the controllers has a holder other than before, and returns the holder.
func (st *stage) awaitHolder(ctx context.Context, before string) (holder string, err error) {
	err = awaitState(ctx, "holder of the Lease", func() (string, error) {
		lease, err := st.get(ctx, leases, "sample-controller")
		if err != nil || lease == nil {
			return "no Lease", err
		}
		if holder = field(lease.Object, "spec", "holderIdentity"); holder == "" || holder == before {
			return fmt.Sprintf("the holder is %q", holder), nil
		}
		return "", nil
	})
	return holder, err
}
