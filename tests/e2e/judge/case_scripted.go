// kinformer and client-go's informer, each on a scripted server of its own, in situations that a kube-apiserver does not bring about: both must
// end with the same objects, after the same changes of each.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// scenario is what a scripted server does. To add one, add a row to scenarios.
type scenario struct {
	name      string
	respond   func(x *exchange)
	objects   map[string]string // the names and versions that both observers end with
	order     []string          // the changes of all objects in the order of their arrival; nil: any
	requests  []string          // kinformer's first requests
	reference []string          // client-go's first requests; nil: the same
	isWaiting bool              // takes half a minute or more
}

// withoutStreams responds to streaming lists as a server that does not know them.
func withoutStreams(respond func(x *exchange)) func(x *exchange) {
	return func(x *exchange) {
		if x.kind == "stream" {
			x.fail(http.StatusBadRequest, "BadRequest")
			return
		}
		respond(x)
	}
}

var scenarios = []scenario{
	{
		// OpenShift's projects: the list has no version, and a project that becomes visible comes with its own, old version.
		name: "list-without-version",
		respond: withoutStreams(func(x *exchange) {
			switch {
			case x.kind == "list":
				x.list("", versioned("a", "4000"), versioned("b", "4001"))
			case x.number == 1:
				x.events(event("ADDED", versioned("a", "4000")), event("ADDED", versioned("b", "4001")), event("MODIFIED", versioned("a", "5000")))
			default:
				x.events(event("ADDED", versioned("q", "300")))
				x.hold()
			}
		}),
		objects:  map[string]string{"a": "5000", "b": "4001", "q": "300"},
		requests: []string{"stream", "list at 0", "watch", "watch at 5000"},
	},
	{
		// metrics-server and componentstatuses: a list without a version, and no watch.
		name: "list-only",
		respond: withoutStreams(func(x *exchange) {
			switch {
			case x.kind == "watch":
				x.fail(http.StatusMethodNotAllowed, "MethodNotAllowed")
			case x.number == 1:
				x.list("", versioned("a", "1"), versioned("b", "2"))
			default:
				x.list("", versioned("b", "2"), versioned("c", "3"))
			}
		}),
		objects:   map[string]string{"b": "2", "c": "3"},
		requests:  []string{"stream", "list at 0", "watch", "stream", "list"}, // at "0" a list could be older than the cache
		reference: []string{"stream", "list at 0", "watch", "stream", "list at 0"},
	},
	{
		// Versions of objects that are below the version of the list.
		name: "old-versions",
		respond: withoutStreams(func(x *exchange) {
			if x.kind == "list" {
				x.list("1000", versioned("a", "5"), versioned("b", "7"))
				return
			}
			x.events(event("MODIFIED", versioned("a", "6")), event("ADDED", versioned("c", "1")), event("DELETED", versioned("b", "8")))
			x.hold()
		}),
		objects:  map[string]string{"a": "6", "c": "1"},
		requests: []string{"stream", "list at 0", "watch at 1000"},
	},
	{
		// A user who loses access to an object, and gains it again.
		name: "access-lost-and-regained",
		respond: withoutStreams(func(x *exchange) {
			if x.kind == "list" {
				x.list("1000", versioned("a", "5"))
				return
			}
			x.events(event("DELETED", versioned("a", "5")), event("ADDED", versioned("a", "5")), event("ADDED", versioned("b", "1001")))
			x.hold()
		}),
		objects:  map[string]string{"a": "5", "b": "1001"},
		requests: []string{"stream", "list at 0", "watch at 1000"},
	},
	{
		// The last version of a list that has none is not the version to watch from.
		name: "version-lost",
		respond: withoutStreams(func(x *exchange) {
			switch {
			case x.kind == "list" && x.number == 1:
				x.list("1000", versioned("a", "5"))
			case x.kind == "list":
				x.list("", versioned("a", "5"), versioned("b", "6"))
			case x.version != "":
				x.events(event("ERROR", failure(http.StatusGone, "Expired")))
			default:
				x.events(event("ADDED", versioned("a", "5")), event("ADDED", versioned("b", "6")), event("ADDED", versioned("c", "7")))
				x.hold()
			}
		}),
		objects:  map[string]string{"a": "5", "b": "6", "c": "7"},
		requests: []string{"stream", "list at 0", "watch at 1000", "stream at 1000", "list at 1000", "watch"},
	},
	{
		// Changes of two objects that arrive together: an informer that collects them by object notifies of a a b b.
		name: "order",
		respond: withoutStreams(func(x *exchange) {
			if x.kind == "list" {
				x.list("10", versioned("a", "5"), versioned("b", "6"))
				return
			}
			x.events(event("MODIFIED", versioned("a", "11")), event("MODIFIED", versioned("b", "12")), event("MODIFIED", versioned("a", "13")),
				event("MODIFIED", versioned("b", "14")))
			x.hold()
		}),
		objects:  map[string]string{"a": "13", "b": "14"},
		order:    []string{"INITIAL a@5", "INITIAL b@6", "MODIFIED a@11", "MODIFIED b@12", "MODIFIED a@13", "MODIFIED b@14"},
		requests: []string{"stream", "list at 0", "watch at 10"},
	},
	{
		// A list without an object that was known: its deletion comes before the additions, of which one can have its address.
		name: "relist",
		respond: withoutStreams(func(x *exchange) {
			switch {
			case x.kind == "list" && x.number == 1:
				x.list("10", versioned("a", "5"))
			case x.kind == "list":
				x.list("20", versioned("b", "12"))
			case x.version == "10":
				x.events(event("ERROR", failure(http.StatusGone, "Expired")))
			default:
				x.events()
				x.hold()
			}
		}),
		objects:  map[string]string{"b": "12"},
		order:    []string{"INITIAL a@5", "DELETED a@5", "ADDED b@12"},
		requests: []string{"stream", "list at 0", "watch at 10", "stream at 10", "list at 10"},
	},
	{
		// Two streams that the server ends in the middle, as when it is shut down.
		name: "stream-closed",
		respond: func(x *exchange) {
			x.events(event("ADDED", versioned("a", "5")))
			if x.number > 2 {
				x.events(event("ADDED", versioned("b", "6")), bookmark("100", true))
				x.hold()
			}
		},
		objects:  map[string]string{"a": "5", "b": "6"},
		requests: []string{"stream", "stream", "stream"},
	},
	{
		// A stream that is silent for 40 s. kinformer lists after 30 s, and its next list is a stream again.
		name: "stream-silent",
		respond: func(x *exchange) {
			switch {
			case x.kind == "list":
				x.list("100", versioned("a", "5"))
			case x.kind == "stream" && x.number == 1:
				x.events()
				select {
				case <-x.request.Context().Done():
					return
				case <-time.After(40 * time.Second):
				}
				x.events(event("ADDED", versioned("a", "5")), bookmark("100", true), event("ERROR", failure(http.StatusGone, "Expired")))
			case x.kind == "stream":
				x.events(event("ADDED", versioned("a", "5")), event("ADDED", versioned("b", "6")), bookmark("100", true))
				x.hold()
			default:
				x.events(event("ERROR", failure(http.StatusGone, "Expired")))
			}
		},
		objects:   map[string]string{"a": "5", "b": "6"},
		requests:  []string{"stream", "list at 0", "watch at 100", "stream at 100"},
		reference: []string{"stream", "stream at 100"},
		isWaiting: true,
	},
}

var scriptedCases = makeScriptedCases()

func makeScriptedCases() []testCase {
	var cases []testCase
	for _, s := range scenarios {
		cases = append(cases, testCase{name: "scripted-" + s.name, kinformerOnly: true, isWaiting: s.isWaiting,
			run: func(ctx context.Context, h *harness) error { return s.run(ctx, h) }})
	}
	return append(cases, testCase{name: "scripted-namespaces", kinformerOnly: true, run: oneForbidden})
}

// awaitObjects waits until the observer has exactly the scenario's objects.
func (s *scenario) awaitObjects(ctx context.Context, r *record, ended <-chan struct{}) error {
	return r.await(ctx, fmt.Sprintf("the objects %v", s.objects), ended, func() bool {
		versions := map[string]string{}
		for id, obj := range r.state {
			versions[id.name] = versionOf(obj)
		}
		return maps.Equal(versions, s.objects)
	})
}

// checkOrder compares the order of the changes of all objects.
func (s *scenario) checkOrder(r *record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.order != nil && !slices.Equal(r.order, s.order) {
		return fmt.Errorf("%s notified of %s, wanted %s", r.name, strings.Join(r.order, ", "), strings.Join(s.order, ", "))
	}
	return nil
}

// checkRequests compares the first requests. A plain list, a watch or a stream of another version would be another protocol.
func checkRequests(client string, requests, wanted []string) error {
	if len(requests) < len(wanted) || !slices.Equal(requests[:len(wanted)], wanted) {
		return fmt.Errorf("%s requested %s, wanted %s", client, strings.Join(requests, ", "), strings.Join(wanted, ", "))
	}
	return nil
}

// observeByClientGo returns what client-go's informer does in this scenario.
func (s *scenario) observeByClientGo(ctx context.Context) (*record, error) {
	server := startScripted(s.respond)
	defer server.stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		return nil, err
	}
	r := newRecord("client-go's informer")
	r.allowRepeats()
	r.allowOlderVersions()
	if err := r.informFrom(ctx, client, configMaps); err != nil {
		return nil, err
	}
	wanted := s.reference
	if wanted == nil {
		wanted = s.requests
	}
	return r, errors.Join(s.awaitObjects(ctx, r, nil), s.checkOrder(r), checkRequests(r.name, server.log(), wanted), r.check())
}

func (s *scenario) run(ctx context.Context, h *harness) error {
	server := startScripted(s.respond)
	defer server.stop()
	w := newWatcher("kinformer")
	w.lacksVersions = true
	w.allowOlderVersions()
	if err := w.start(h, nil, "configmaps", "-n", "default", "--server", server.URL); err != nil {
		return err
	}
	reference, err := s.observeByClientGo(ctx)
	if err != nil {
		return errors.Join(err, w.process.stop())
	}
	err = errors.Join(s.awaitObjects(ctx, w.record, w.process.ended), s.checkOrder(w.record), checkRequests(w.name, server.log(), s.requests), w.check())
	return errors.Join(err, compareHistories(w.record, reference), w.process.stop())
}

// A set of two namespaces, of which one is forbidden at first: one informer of the library (tests/programs/watch_namespaces), and client-go's
// informers, one for each namespace. The other namespace is listed and watched meanwhile, and both are complete once it is allowed.
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
