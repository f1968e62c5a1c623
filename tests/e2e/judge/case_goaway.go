// Connections on which the server allows no more streams (GOAWAY), or fewer streams than kinformer has watches.
package main

import (
	"context"
	"errors"
	"fmt"
)

var goAwayCases = []testCase{
	{name: "goaway", kinformerOnly: true, run: goAway},
	{name: "few-streams", kinformerOnly: true, run: fewStreams},
}

// createOfEachKind creates an object of each watched resource, and waits until kinformer has notified of all. kinformer relists after a watch
// that ended within a second without an event. The objects prevent that, since these cases test resuming.
func (w *watcher) createOfEachKind(ctx context.Context, k kubectl, name string) error {
	if err := k.runAll(ctx, "run "+name+" -n e2e --image=example.com/x:1",
		"create deployment "+name+" -n e2e --image=example.com/x:1", "create namespace e2e-"+name); err != nil {
		return err
	}
	err := w.awaitAll(ctx, addedChange, identity{"Pod", "e2e", name}, identity{"Deployment", "e2e", name},
		identity{"Namespace", "", "e2e-" + name})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// goAway sends GOAWAY on kinformer's connections several times, and ends them in different ways.
func goAway(ctx context.Context, h *harness) error {
	s, k, err := h.preparedServer(ctx, "create namespace e2e")
	if err != nil {
		return err
	}
	f, connection, err := h.connectedFront(s, 0)
	if err != nil {
		return err
	}
	defer f.close()
	w, err := h.watchUntilSynced(ctx, connection, watchedResources, "pods", "deployments", "namespaces")
	if err != nil {
		return err
	}
	if err := w.createOfEachKind(ctx, k, "before"); err != nil {
		return err
	}
	_, mark, err := s.requests(0)
	if err != nil {
		return err
	}
	// The watches of the old connection are ended or cut. From "announced" to "again", the front sends GOAWAY with each response.
	steps := []struct {
		name string
		end  func(*instance)
	}{
		{"ended", (*instance).endResponses},
		{"cut", (*instance).cut},
		{"announced", func(t *instance) { f.setCloseConnection(true); t.endResponses() }},
		{"again", func(t *instance) { f.setCloseConnection(false); t.cut() }},
	}
	for _, step := range steps {
		_, before := f.connections()
		old := f.goAway()
		// The watches on the old connection continue.
		if err := w.createOfEachKind(ctx, k, "while-"+step.name); err != nil {
			return err
		}
		step.end(old)
		if err := k.runAll(ctx, "label pod before -n e2e --overwrite stage="+step.name); err != nil {
			return err
		}
		if err := w.createOfEachKind(ctx, k, "after-"+step.name); err != nil {
			return err
		}
		open, after := f.connections()
		fmt.Printf("# %s: %d new connections, %d open\n", step.name, after-before, open)
		if after == before {
			return fmt.Errorf("%s: kinformer made no new connection", step.name)
		}
	}
	if err := awaitCondition(ctx, "the old connections to be closed", func() bool {
		open, _ := f.connections()
		return open <= 1
	}); err != nil {
		return err
	}
	var errs []error
	for resource := range kindOf {
		errs = append(errs, checkNoList(s, mark, resource))
	}
	return errors.Join(append(errs, f.onlyHTTP2(), w.checkState(ctx, k, watchedResources, "after all steps"), w.process.stop())...)
}

// maxStreams is the limit of concurrent streams on a connection. There is one informer for each of builtInResources.
const maxStreams = 8

var builtInResources = []string{"pods", "deployments.apps", "namespaces", "nodes", "configmaps", "secrets", "services", "serviceaccounts",
	"endpoints", "events", "limitranges", "persistentvolumeclaims", "persistentvolumes", "podtemplates", "replicationcontrollers",
	"resourcequotas", "daemonsets.apps", "replicasets.apps", "statefulsets.apps", "controllerrevisions.apps", "jobs.batch",
	"cronjobs.batch", "ingresses.networking.k8s.io", "networkpolicies.networking.k8s.io", "roles.rbac.authorization.k8s.io"}

// fewStreams watches more resources than the server allows streams on a connection.
func fewStreams(ctx context.Context, h *harness) error {
	s, err := h.ownServer(ctx)
	if err != nil {
		return err
	}
	k := h.kubectl(s)
	f, connection, err := h.connectedFront(s, maxStreams)
	if err != nil {
		return err
	}
	defer f.close()
	t, err := h.watchMany(builtInResources, connection, func() string {
		open, accepted := f.connections()
		return fmt.Sprintf("%d connections, %d open", accepted, open)
	})
	if err != nil {
		return err
	}
	if err := t.await(ctx, "all to be synced", func() bool { return len(t.synced) == len(builtInResources) }); err != nil {
		return err
	}
	// One object of the first resource and one of the last: both watches work.
	if err := k.runAll(ctx, "run the-one -n default --image=example.com/x:1",
		"create role the-one -n default --verb=get --resource=pods"); err != nil {
		return err
	}
	if err := t.await(ctx, "both changes", func() bool { return t.added["Pod"] == 1 && t.added["Role"] == 1 }); err != nil {
		return err
	}
	// libcurl fills one connection. Each request that finds the connection full gets a new connection.
	open, accepted := f.connections()
	fmt.Printf("# %d watches on %d connections of %d streams\n", len(builtInResources), open, maxStreams)
	if open <= len(builtInResources)/maxStreams || accepted > len(builtInResources)-maxStreams+1 {
		return fmt.Errorf("%d connections are open and %d were made for %d watches; wanted more than %d open and at most %d made", open, accepted,
			len(builtInResources), len(builtInResources)/maxStreams, len(builtInResources)-maxStreams+1)
	}
	return errors.Join(f.onlyHTTP2(), t.process.stop())
}
