// A set of two namespaces, of which one is forbidden at first: one informer of the library (tests/programs/watch_namespaces), and client-go's
// informers, one for each namespace. The other namespace is listed and watched meanwhile, and both are complete once it is allowed.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const deniedNamespace = "hidden"

// whileDenied and onceAllowed are what both observers print; the order within onceAllowed is not the same.
var (
	whileDenied = []string{"ADDED default/a@5", "MODIFIED default/a@6, listed: default"}
	onceAllowed = []string{"ADDED hidden/h@7", "SYNCED, listed: default hidden"}
)

// serveOneForbidden returns a server whose namespace "hidden" is forbidden until allowed is set.
func serveOneForbidden() (server *scripted, allowed *atomic.Bool) {
	allowed = &atomic.Bool{}
	return startScripted(withoutStreams(func(x *exchange) {
		switch {
		case x.namespace == deniedNamespace && !allowed.Load():
			x.fail(http.StatusForbidden, "Forbidden")
		case x.namespace == deniedNamespace && x.kind == "list":
			x.list("10", versionedIn(deniedNamespace, "h", "7"))
		case x.kind == "list":
			x.list("10", versioned("a", "5"))
		default:
			x.events()
			if x.namespace == "default" {
				x.events(event("MODIFIED", versioned("a", "6")))
			}
			x.hold()
		}
	})), allowed
}

// followOneForbidden checks what an observer prints, and allows the namespace in between.
func followOneForbidden(ctx context.Context, name string, out *lines, allowed *atomic.Bool, ended <-chan struct{}) error {
	await := func(wanted []string) error {
		for {
			out.mu.Lock()
			got, updated := slices.Clone(out.all), out.updated
			out.mu.Unlock()
			missing := slices.DeleteFunc(slices.Clone(wanted), func(line string) bool {
				return slices.ContainsFunc(got, func(one string) bool { return strings.HasPrefix(one, line) })
			})
			if len(missing) == 0 {
				if synced := slices.ContainsFunc(got, func(one string) bool { return strings.HasPrefix(one, "SYNCED") }); synced && !allowed.Load() {
					return fmt.Errorf("%s synced without a namespace: %s", name, strings.Join(got, "; "))
				}
				return nil
			}
			select {
			case <-updated:
			case <-ended:
				return fmt.Errorf("%s exited", name)
			case <-ctx.Done():
				return fmt.Errorf("%s printed %s, wanted %s", name, strings.Join(got, "; "), strings.Join(wanted, "; "))
			}
		}
	}
	if err := await(whileDenied); err != nil {
		return err
	}
	allowed.Store(true)
	return await(onceAllowed)
}

// informNamespaces prints what client-go's informers of the namespaces notify of, as watch_namespaces does.
func informNamespaces(ctx context.Context, server *scripted, out *lines, names ...string) error {
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		return err
	}
	var synced []cache.InformerSynced
	listed := func() string {
		text := ", listed:"
		for i, name := range names {
			if synced[i]() {
				text += " " + name
			}
		}
		return text
	}
	printEvent := func(kind string, obj any) {
		plain, err := plainUnstructured(obj)
		if err != nil {
			panic(err) // an object of the scenario
		}
		out.addLine([]byte(kind + " " + field(plain, "metadata", "namespace") + "/" + field(plain, "metadata", "name") + "@" + versionOf(plain) + listed()))
	}
	var starts []func(<-chan struct{})
	for _, name := range names {
		factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, name, nil)
		informer := factory.ForResource(configMaps).Informer()
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { printEvent(addedChange, obj) },
			UpdateFunc: func(_, obj any) { printEvent(modifiedChange, obj) },
			DeleteFunc: func(obj any) { printEvent(deletedChange, obj) },
		}); err != nil {
			return err
		}
		synced = append(synced, informer.HasSynced)
		starts = append(starts, factory.Start)
	}
	for _, start := range starts {
		start(ctx.Done())
	}
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), synced...) {
			out.addLine([]byte("SYNCED" + listed()))
		}
	}()
	return nil
}

func oneForbidden(ctx context.Context, h *harness) error {
	program, err := h.builtProgram("tests", "programs", "watch_namespaces")
	if err != nil {
		return err
	}
	server, allowed := serveOneForbidden()
	defer server.stop()
	ours := newLines()
	p, err := h.start("watch_namespaces", ours.addLine, program, server.URL, "default", deniedNamespace)
	if err != nil {
		return err
	}
	theirServer, allowedThere := serveOneForbidden()
	defer theirServer.stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before the servers stop: an informer would connect again
	theirs := newLines()
	if err := informNamespaces(ctx, theirServer, theirs, "default", deniedNamespace); err != nil {
		return errors.Join(err, p.stop())
	}
	return errors.Join(followOneForbidden(ctx, "client-go", theirs, allowedThere, nil),
		followOneForbidden(ctx, "watch_namespaces", ours, allowed, p.ended), p.stop())
}
