// The beginnings and ends that many cases share: a prepared server, a watcher behind a gate, the comparison of the cache with the server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// preparedServer starts a server for this case and runs kubectl with each line.
func (h *harness) preparedServer(ctx context.Context, lines ...string) (*server, kubectl, error) {
	s, err := h.ownServer(ctx)
	if err != nil {
		return nil, kubectl{}, err
	}
	k := h.kubectl(s)
	return s, k, k.runAll(ctx, lines...)
}

// bothServers returns the shared real server and a new `kinformer serve`.
func (h *harness) bothServers(ctx context.Context, flags ...string) (real *server, plain *served, err error) {
	if real, err = h.realServer(ctx); err != nil {
		return nil, nil, err
	}
	plain, err = h.serve(ctx, flags...)
	return real, plain, err
}

// nobodyAndClosedPort returns the token of a user without permissions, and a URL where no server listens.
func (s *server) nobodyAndClosedPort() (nobody, closed string, err error) {
	token, err := os.ReadFile(s.file("nobody.token"))
	if err != nil {
		return "", "", err
	}
	closed, err = closedPort()
	return string(token), closed, err
}

// restConfigs are client-go configurations for a real server and a `kinformer serve`.
type restConfigs struct{ real, served *rest.Config }

// configsBeside starts `kinformer serve` beside a real server.
func (h *harness) configsBeside(ctx context.Context, real *server, flags ...string) (c restConfigs, err error) {
	plain, err := h.serve(ctx, flags...)
	if err != nil {
		return restConfigs{}, err
	}
	if c.real, err = real.restConfig(); err == nil {
		c.served, err = restConfig(plain.kubectl.kubeconfig)
	}
	return c, err
}

func (h *harness) bothConfigs(ctx context.Context, flags ...string) (*server, restConfigs, error) {
	real, err := h.realServer(ctx)
	if err != nil {
		return nil, restConfigs{}, err
	}
	c, err := h.configsBeside(ctx, real, flags...)
	return real, c, err
}

// watchUntilSynced starts `kinformer watch` with these connection flags, and waits until each resource in synced has synced.
func (h *harness) watchUntilSynced(ctx context.Context, connection []string, resources string, synced ...string) (*watcher, error) {
	w, err := h.watch("kinformer", append([]string{resources, "-A"}, connection...)...)
	if err != nil {
		return nil, err
	}
	if len(synced) > 0 {
		if err := w.awaitSynced(ctx, synced...); err != nil {
			return nil, errors.Join(err, w.check())
		}
	}
	return w, nil
}

// watchBehindGate does the same through a new gate.
func (h *harness) watchBehindGate(ctx context.Context, s *server, resources string, synced ...string) (*gate, *watcher, error) {
	g, err := h.openGate("tcp", s.address())
	if err != nil {
		return nil, nil, err
	}
	connection, err := s.through(g)
	if err != nil {
		return nil, nil, err
	}
	w, err := h.watchUntilSynced(ctx, connection, resources, synced...)
	return g, w, err
}

// awaitNewPod creates a pod and waits until the watcher has printed its ADDED event.
func (w *watcher) awaitNewPod(ctx context.Context, k kubectl, pod string) error {
	if err := k.runAll(ctx, "run "+pod+" -n e2e --image=example.com/"+pod+":1"); err != nil {
		return err
	}
	return w.awaitAll(ctx, addedChange, identity{"Pod", "e2e", pod})
}

// checkState fails if the state that the watcher's events add up to differs from the server's list, or if the watcher has a violation.
func (w *watcher) checkState(ctx context.Context, k kubectl, resources, moment string) error {
	list, err := k.list(ctx, resources)
	if err != nil {
		return err
	}
	return errors.Join(w.check(), compareObjects(moment, w.snapshot(), list))
}

// tally counts the SYNCED and ADDED lines of a kinformer with very many informers.
type tally struct {
	process             *process
	describeConnections func() string // for error messages

	mu     sync.Mutex
	synced map[string]bool
	added  map[string]int // ADDED events after the initial list, of objects named "the-one"; by kind
}

func (h *harness) watchMany(resources, connection []string, describeConnections func() string) (*tally, error) {
	t := &tally{describeConnections: describeConnections, synced: map[string]bool{}, added: map[string]int{}}
	var err error
	t.process, err = h.start("kinformer", t.addLine,
		append([]string{h.kinformer, "watch", strings.Join(resources, ","), "-A", "-o", "json"}, connection...)...)
	return t, err
}

func (t *tally) addLine(text []byte) {
	var line watchLine
	if decode(text, &line) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if line.Type == "SYNCED" {
		t.synced[line.Resource] = true
	} else if line.Type == addedChange && !line.Initial && field(line.Object, "metadata", "name") == "the-one" {
		t.added[field(line.Object, "kind")]++
	}
}

func (t *tally) await(ctx context.Context, what string, reached func() bool) error {
	err := awaitCondition(ctx, what, func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return reached() || !t.process.running()
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && !reached() {
		err = fmt.Errorf("kinformer exited: %v", t.process.err)
	}
	if err != nil {
		err = fmt.Errorf("%w: %d resources synced, added %v, %s", err, len(t.synced), t.added, t.describeConnections())
	}
	return err
}
