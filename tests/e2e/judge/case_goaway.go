// Connections that a server lets go of: it takes no more streams on them (GOAWAY), or fewer than kinformer would like to have.
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

// touch makes an object of each watched resource and waits until all are told. A watch that has told nothing and lasted for less than a
// second is resumed by a list, which is not what these cases are about.
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

// goAway lets go of kinformer's connection again and again, each time another way.
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
	// What the old connection has is ended, or cut; or from now on each answer lets go of its connection.
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
		// The watches that the old connection has go on.
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
		fmt.Printf("# %s: %d connections more, %d open\n", step.name, after-before, open)
		if after == before {
			return fmt.Errorf("%s: no new connection", step.name)
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
	return errors.Join(append(errs, f.onlyHTTP2(), w.checkState(ctx, k, watchedResources, "after all"), w.process.stop())...)
}

// Streams that a connection may have, and informers that want one each.
const maxStreams = 8

var builtInResources = []string{"pods", "deployments.apps", "namespaces", "nodes", "configmaps", "secrets", "services", "serviceaccounts",
	"endpoints", "events", "limitranges", "persistentvolumeclaims", "persistentvolumes", "podtemplates", "replicationcontrollers",
	"resourcequotas", "daemonsets.apps", "replicasets.apps", "statefulsets.apps", "controllerrevisions.apps", "jobs.batch",
	"cronjobs.batch", "ingresses.networking.k8s.io", "networkpolicies.networking.k8s.io", "roles.rbac.authorization.k8s.io"}

// fewStreams is a server that allows fewer streams on a connection than there are watches.
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
	// All of them watch: one of the first, one of the last.
	if err := k.runAll(ctx, "run the-one -n default --image=example.com/x:1",
		"create role the-one -n default --verb=get --resource=pods"); err != nil {
		return err
	}
	if err := t.await(ctx, "both changes", func() bool { return t.added["Pod"] == 1 && t.added["Role"] == 1 }); err != nil {
		return err
	}
	// libcurl has one connection filled, and for each request that finds it full another one of its own.
	open, accepted := f.connections()
	fmt.Printf("# %d watches on %d connections of %d streams\n", len(builtInResources), open, maxStreams)
	if open <= len(builtInResources)/maxStreams || accepted > len(builtInResources)-maxStreams+1 {
		return fmt.Errorf("%d connections are open for %d watches, %d on each at most; there were %d", open, len(builtInResources), maxStreams, accepted)
	}
	return errors.Join(f.onlyHTTP2(), t.process.stop())
}
