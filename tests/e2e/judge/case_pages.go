// Pages of a list while its objects change, and watches with every kind of selector at once, of the real server and of `kinformer serve`. A watch
// without a selector is the witness: it has the state of each version, from which follows what a page and what a watch with a selector must have.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

var pagesCases = []testCase{{name: "serve-pages", kinformerOnly: true, run: servePages}}

const (
	pagesNamespace  = "pages"
	objectsOfServe  = 100000
	objectsOfReal   = 5000
	pagesCreators   = 16
	pagesWriters    = 4 // each changes objects of its own
	pagesOfWriter   = 50
	changesOfWriter = 400
	podsOfWriter    = 12
	watchBuffer     = 1 << 14 // more events than a watch of this case has
)

// watchSelectors are selectors of each kind, for each resource. "NS" is the namespace.
var watchSelectors = map[string][]string{
	"configmaps": {
		"labelSelector=odd=yes", "labelSelector=odd==yes", "labelSelector=odd!=yes", "labelSelector=odd in (yes,maybe)",
		"labelSelector=odd notin (yes)", "labelSelector=odd", "labelSelector=!odd", "labelSelector=n>50", "labelSelector=n<50",
		"labelSelector=odd=yes,n>50", "labelSelector=odd,n notin (3,4),n!=5", "labelSelector=odd=", "labelSelector=odd in (,no)",
		"fieldSelector=metadata.name=cm-3", "fieldSelector=metadata.name!=cm-3", "fieldSelector=metadata.namespace=NS",
		"fieldSelector=metadata.namespace!=NS", "fieldSelector=metadata.name=cm-3,metadata.namespace=NS",
		"labelSelector=odd=yes&fieldSelector=metadata.name=cm-3", "labelSelector=odd=yes&fieldSelector=metadata.name!=cm-3",
	},
	"pods": {
		"fieldSelector=spec.nodeName=node-1", "fieldSelector=spec.nodeName!=node-1", "fieldSelector=spec.nodeName=",
		"fieldSelector=status.phase=Running", "fieldSelector=status.phase!=Running,status.phase!=Failed", "fieldSelector=spec.restartPolicy=Never",
		"fieldSelector=spec.hostNetwork=true", "fieldSelector=status.podIP=10.1.0.1", "fieldSelector=status.nominatedNodeName=node-2",
		"fieldSelector=spec.schedulerName!=default-scheduler", "fieldSelector=spec.serviceAccountName!=none", "labelSelector=odd=yes",
		"labelSelector=!odd&fieldSelector=status.phase=Running", "labelSelector=odd notin (no)&fieldSelector=spec.nodeName=node-1",
	},
}

func servePages(ctx context.Context, h *harness) error {
	own, err := h.ownServer(ctx) // it is compacted
	if err != nil {
		return err
	}
	c, err := h.configsBeside(ctx, own)
	if err != nil {
		return err
	}
	want, err := observePages(ctx, c.real, objectsOfReal, func(*pagesClient) error { return own.compact(ctx) })
	if err != nil {
		return fmt.Errorf("the real server: %w", err)
	}
	found, err := observePages(ctx, c.served, objectsOfServe, func(c *pagesClient) error {
		return c.change("POST", "/_faults", "text/plain", "compact")
	})
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	var different []string
	for key := range want {
		for i := range max(len(want[key]), len(found[key])) {
			if i >= len(want[key]) || i >= len(found[key]) || want[key][i] != found[key][i] {
				different = append(different, fmt.Sprintf("%s: real %q, serve %q", key, want[key][i:min(i+1, len(want[key]))], found[key][i:min(i+1, len(found[key]))]))
				break
			}
		}
	}
	return report("events and error responses of serve", different)
}

// ---- requests

type pagesClient struct {
	ctx         context.Context
	http        http.Client
	host, token string
}

func newPagesClient(ctx context.Context, config *rest.Config) (*pagesClient, error) {
	tls, err := rest.TLSConfigFor(config)
	return &pagesClient{ctx: ctx, host: config.Host, token: config.BearerToken,
		http: http.Client{Transport: &http.Transport{TLSClientConfig: tls, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: pagesCreators}}}, err
}

func (c *pagesClient) open(method, path, contentType, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(c.ctx, method, c.host+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return c.http.Do(request)
}

func (c *pagesClient) call(method, path, contentType, body string) (int, []byte, error) {
	response, err := c.open(method, path, contentType, body)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

// change makes a request that must succeed.
func (c *pagesClient) change(method, path, contentType, body string) error {
	code, text, err := c.call(method, path, contentType, body)
	if err == nil && code >= 300 {
		err = fmt.Errorf("%s %s %s: %d %s", method, path, body, code, text)
	}
	return err
}

func pathOf(resource string) string { return "/api/v1/namespaces/" + pagesNamespace + "/" + resource }

// page is a list, or an error response.
type page struct {
	code     int
	Reason   string
	Message  string
	Metadata struct {
		ResourceVersion    string
		Continue           string
		RemainingItemCount *int
	}
	Items []json.RawMessage
}

func (c *pagesClient) list(resource string, query url.Values) (*page, error) {
	code, text, err := c.call("GET", pathOf(resource)+"?"+query.Encode(), "", "")
	if err != nil {
		return nil, err
	}
	p := &page{code: code}
	return p, json.Unmarshal(text, p)
}

// ---- changes

func (c *pagesClient) createObjects(count int) error {
	if err := c.change("POST", "/api/v1/namespaces", "application/json", `{"metadata":{"name":"`+pagesNamespace+`"}}`); err != nil {
		return err
	}
	errs := make([]error, pagesCreators)
	var creators sync.WaitGroup
	for i := range pagesCreators {
		creators.Go(func() {
			for n := i; n < count && errs[i] == nil; n += pagesCreators {
				errs[i] = c.change("POST", pathOf("configmaps"), "application/json",
					fmt.Sprintf(`{"metadata":{"name":"cm-%d","labels":{"n":"%d"}}}`, n, n%100))
			}
		})
	}
	creators.Wait()
	return errors.Join(errs...)
}

// writeConfigMaps makes changes of which some let an object enter or leave a selection.
func (c *pagesClient) writeConfigMaps(writer int) error {
	random := rand.New(rand.NewSource(int64(writer)))
	absent := map[int]bool{}
	for step := range changesOfWriter {
		n := random.Intn(pagesOfWriter)*pagesWriters + writer
		odd := []string{`"yes"`, `"no"`, `"maybe"`, `""`, "null"}[random.Intn(5)]
		content := fmt.Sprintf(`{"metadata":{"name":"cm-%d","labels":{"odd":%s,"n":"%d"}},"data":{"step":"%d"}}`, n, odd, random.Intn(100), step)
		path := fmt.Sprintf("%s/cm-%d", pathOf("configmaps"), n)
		var err error
		switch {
		case absent[n]:
			err = c.change("POST", pathOf("configmaps"), "application/json", strings.Replace(content, `"odd":null,`, "", 1))
			absent[n] = false
		case random.Intn(8) == 0:
			err = c.change("DELETE", path, "", "")
			absent[n] = true
		default:
			err = c.change("PATCH", path, mergePatch, content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *pagesClient) createPod(name, more string) error {
	return c.change("POST", pathOf("pods"), "application/json",
		fmt.Sprintf(`{"metadata":{"name":"%s","labels":{"odd":"no"}},"spec":{"containers":[{"name":"c","image":"i"}]%s}}`, name, more))
}

// writePods takes pods through their lives, but for their end: `serve` deletes them at once.
func (c *pagesClient) writePods() error {
	for n := range podsOfWriter {
		path := fmt.Sprintf("%s/pod-%d", pathOf("pods"), n)
		more := []string{"", `,"restartPolicy":"Never"`, `,"hostNetwork":true`, `,"schedulerName":"own"`}[n%4]
		status := func(text string) error { return c.change("PATCH", path+"/status", mergePatch, `{"status":{`+text+`}}`) }
		isBound := n%2 == 0
		if isBound {
			more += `,"nodeName":"node-1"`
		}
		err := c.createPod(fmt.Sprintf("pod-%d", n), more)
		if !isBound {
			err = errors.Join(err, status(`"nominatedNodeName":"node-2"`), c.change("POST", path+"/binding", "application/json",
				fmt.Sprintf(`{"metadata":{"name":"pod-%d"},"target":{"kind":"Node","name":"node-%d"}}`, n, n%3)))
		}
		err = errors.Join(err, c.change("PATCH", path, mergePatch, `{"metadata":{"labels":{"odd":"yes"}}}`),
			status(fmt.Sprintf(`"phase":"Running","podIP":"10.1.0.%d","podIPs":[{"ip":"10.1.0.%d"}]`, n%3, n%3)),
			c.change("PATCH", path, mergePatch, `{"metadata":{"labels":{"odd":null}}}`), status(`"phase":"Failed"`))
		if err != nil {
			return err
		}
	}
	return nil
}

// writeLast makes changes of which each selector that can match selects one, and at last creates objects named "last".
func (c *pagesClient) writeLast() error {
	apply := func(name, labels string) error {
		return c.change("PATCH", pathOf("configmaps")+"/"+name+"?fieldManager=last&force=true", applyPatch,
			fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s","labels":{%s}},"data":{"last":"1"}}`, name, labels))
	}
	return errors.Join(apply("cm-3", `"odd":"yes","n":"99"`), apply("last-yes", `"odd":"yes","n":"99"`), apply("last-no", `"odd":"no","n":"1"`),
		apply("last-maybe", `"odd":"maybe","n":"60"`), apply("last-empty", `"odd":""`), apply("last-none", ""), apply("last", ""),
		c.createPod("last-1", `,"nodeName":"node-1","hostNetwork":true,"restartPolicy":"Never","schedulerName":"own"`),
		c.change("PATCH", pathOf("pods")+"/last-1", mergePatch, `{"metadata":{"labels":{"odd":null}}}`),
		c.change("PATCH", pathOf("pods")+"/last-1/status", mergePatch,
			`{"status":{"phase":"Running","podIP":"10.1.0.1","podIPs":[{"ip":"10.1.0.1"}]}}`),
		c.change("PATCH", pathOf("pods")+"/last-1", mergePatch, `{"metadata":{"labels":{"odd":"yes"}}}`), c.createPod("last-2", ""),
		c.change("PATCH", pathOf("pods")+"/last-2/status", mergePatch, `{"status":{"nominatedNodeName":"node-2"}}`), c.createPod("last", ""))
}

// ---- watches

type pagesEvent struct {
	Type   string
	Object object
}

func (e pagesEvent) version() int {
	version, _ := strconv.Atoi(versionOf(e.Object))
	return version
}

func (e pagesEvent) String() string {
	text, _ := json.Marshal(e.Object)
	return e.Type + " " + string(text)
}

// watch opens a watch. The channel gets its events, and is closed when the watch ends.
func (c *pagesClient) watch(resource, query string) (<-chan pagesEvent, error) {
	response, err := c.open("GET", pathOf(resource)+"?watch=1&"+query, "", "")
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		return nil, fmt.Errorf("watch %s?%s: %d %s", resource, query, response.StatusCode, text)
	}
	events := make(chan pagesEvent, watchBuffer)
	go func() {
		defer response.Body.Close()
		defer close(events)
		for lines := bufio.NewReader(response.Body); ; {
			line, err := lines.ReadBytes('\n')
			var event pagesEvent
			if err != nil || decode(line, &event) != nil {
				return
			}
			if field(event.Object, "metadata", "annotations", "k8s.io/initial-events-end") == "" && event.Type == "BOOKMARK" {
				continue
			}
			events <- event
		}
	}()
	return events, nil
}

// selection is a watch with a selector.
type selection struct {
	resource, selector string
	labels             labels.Selector
	fields             fields.Selector
	initial            bool // begins with the objects that exist
	events             <-chan pagesEvent
}

func (s *selection) String() string {
	return fmt.Sprintf("%s?%s (initial: %t)", s.resource, s.selector, s.initial)
}

func newSelection(resource, text string) (*selection, error) {
	s := &selection{resource: resource, selector: strings.ReplaceAll(text, "NS", pagesNamespace)}
	query, err := url.ParseQuery(s.selector)
	if err != nil {
		return nil, err
	}
	var errOfFields error
	s.labels, err = labels.Parse(query.Get("labelSelector"))
	s.fields, errOfFields = fields.ParseSelector(query.Get("fieldSelector"))
	s.selector = query.Encode()
	return s, errors.Join(err, errOfFields)
}

func (s *selection) selects(obj object) bool {
	if obj == nil {
		return false
	}
	metadata, _ := obj["metadata"].(object)
	ofObject, _ := metadata["labels"].(object)
	set := labels.Set{}
	for name, value := range ofObject {
		set[name] = fmt.Sprint(value)
	}
	own := fields.Set{}
	for _, requirement := range s.fields.Requirements() {
		own[requirement.Field] = field(obj, strings.Split(requirement.Field, ".")...)
	}
	if spec, isObject := obj["spec"].(object); isObject {
		own["spec.hostNetwork"] = fmt.Sprint(spec["hostNetwork"] == true)
	}
	return s.labels.Matches(set) && s.fields.Matches(own)
}

// expect returns the events of a watch with the selection, given the objects at first and all later changes.
func (s *selection) expect(first []object, changes []pagesEvent) []pagesEvent {
	var all []pagesEvent
	state := map[string]object{}
	for _, obj := range first {
		state[field(obj, "metadata", "name")] = obj
		if s.initial && s.selects(obj) {
			all = append(all, pagesEvent{"ADDED", obj})
		}
	}
	if s.initial {
		all = append(all, pagesEvent{Type: "BOOKMARK"}) // the end of the first events
	}
	for _, change := range changes {
		name := field(change.Object, "metadata", "name")
		before, after := state[name], change.Object
		if change.Type == "DELETED" {
			after = nil
		}
		switch selected := s.selects(before); {
		case s.selects(after) && selected:
			all = append(all, pagesEvent{"MODIFIED", after})
		case s.selects(after):
			all = append(all, pagesEvent{"ADDED", after})
		case selected: // the last state that was selected, with the version of the change
			left := maps.Clone(before)
			left["metadata"] = maps.Clone(before["metadata"].(object))
			left["metadata"].(object)["resourceVersion"] = versionOf(change.Object)
			all = append(all, pagesEvent{"DELETED", left})
		}
		state[name] = after
	}
	return all
}

// check compares the events of a watch with the expected ones.
func (s *selection) check(ctx context.Context, want []pagesEvent) error {
	for i := range want {
		found, err := next(ctx, s.events)
		if err != nil {
			return fmt.Errorf("%s: after %d of %d events: %w", s, i, len(want), err)
		}
		if want[i].Type == "BOOKMARK" {
			want[i].Object = found.Object
		}
		if found.Type != want[i].Type || difference("", found.Object, want[i].Object) != "" {
			return fmt.Errorf("%s: event %d: %.400s; wanted %.400s: %s", s, i, found, want[i],
				difference("", found.Object, want[i].Object))
		}
	}
	return nil
}

func next(ctx context.Context, events <-chan pagesEvent) (pagesEvent, error) {
	select {
	case event, isOpen := <-events:
		if !isOpen {
			return event, errors.New("the watch ended")
		}
		return event, nil
	case <-ctx.Done():
		return pagesEvent{}, ctx.Err()
	}
}

// ---- pages

// pagedList is a list in pages.
type pagedList struct {
	query    url.Values
	version  string
	versions map[string]string // of the objects, by name
	counts   [][2]int          // for each page but the last: objects up to here, objects that remain (-1: unknown)
}

// pages gets the page after `p`, which may be nil, and all that follow.
func (c *pagesClient) pages(query url.Values, p *page) (*pagedList, error) {
	all := &pagedList{query: query, versions: map[string]string{}}
	last := ""
	for {
		if p == nil {
			var err error
			if p, err = c.list("configmaps", query); err != nil {
				return nil, err
			}
		}
		limit, _ := strconv.Atoi(query.Get("limit"))
		if p.code != http.StatusOK || all.version != "" && all.version != p.Metadata.ResourceVersion || len(p.Items) > limit {
			return nil, fmt.Errorf("%v: %d %s: %d objects of version %s, after pages of version %s", query, p.code, p.Message, len(p.Items),
				p.Metadata.ResourceVersion, all.version)
		}
		all.version = p.Metadata.ResourceVersion
		for _, item := range p.Items {
			obj, err := lightly(item)
			if err != nil {
				return nil, err
			}
			if obj.Metadata.Name <= last {
				return nil, fmt.Errorf("%v: %s after %s", query, obj.Metadata.Name, last)
			}
			last = obj.Metadata.Name
			all.versions[last] = obj.Metadata.ResourceVersion
		}
		if p.Metadata.Continue == "" {
			return all, nil
		}
		remaining := -1
		if p.Metadata.RemainingItemCount != nil {
			remaining = *p.Metadata.RemainingItemCount
		}
		all.counts = append(all.counts, [2]int{len(all.versions), remaining})
		query = maps.Clone(query)
		delete(query, "resourceVersion")
		delete(query, "resourceVersionMatch")
		query.Set("continue", p.Metadata.Continue)
		p = nil
	}
}

type lightObject struct {
	Metadata struct{ Name, ResourceVersion string }
}

func lightly(item []byte) (obj lightObject, err error) {
	return obj, json.Unmarshal(item, &obj)
}

// check compares a list in pages with the state of its version.
func (l *pagedList) check(state map[string]string) error {
	if !maps.Equal(l.versions, state) {
		var different []string
		for name := range state {
			if state[name] != l.versions[name] {
				different = append(different, fmt.Sprintf("%s has version %q, not %q", name, l.versions[name], state[name]))
			}
		}
		return fmt.Errorf("%v: %d objects, wanted %d: %w", l.query, len(l.versions), len(state), report("pages", different))
	}
	for _, count := range l.counts {
		if wanted := len(state) - count[0]; l.query.Get("labelSelector") == "" && count[1] != wanted ||
			l.query.Get("labelSelector") != "" && count[1] != -1 {
			return fmt.Errorf("%v: after %d objects %d remain, wanted %d (-1 with a selector)", l.query, count[0], count[1], wanted)
		}
	}
	return nil
}

// ---- one server

// pagesRun is the case on one server.
type pagesRun struct {
	*pagesClient
	first      map[string][]object // of each resource: the objects that can change
	others     map[string]string   // names and versions of the config maps that do not
	witnesses  map[string]<-chan pagesEvent
	changes    map[string][]pagesEvent
	selections []*selection
	lists      []*pagedList
}

// observePages returns the events of each object and the error responses, as texts that must be the same for each server.
func observePages(ctx context.Context, config *rest.Config, count int, compact func(*pagesClient) error) (map[string][]string, error) {
	c, err := newPagesClient(ctx, config)
	if err != nil {
		return nil, err
	}
	r := &pagesRun{c, map[string][]object{}, map[string]string{}, map[string]<-chan pagesEvent{}, map[string][]pagesEvent{}, nil, nil}
	for _, step := range []func() error{
		func() error { return c.createObjects(count) },
		func() error {
			return errors.Join(c.createPod("a", ""), c.createPod("b", `,"nodeName":"node-1","restartPolicy":"Never"`))
		},
		r.begin, r.changeAndList, r.checkLists, r.checkWatches,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	all, err := r.expire(compact)
	if err != nil {
		return nil, err
	}
	for resource, events := range r.changes {
		for _, event := range events {
			key := resource + "/" + field(event.Object, "metadata", "name")
			stripVariableFields(event.Object)
			if spec, isPod := event.Object["spec"].(object); isPod {
				// The real server runs without the admission plugin ServiceAccount; the managers of what other plugins set are different.
				delete(spec, "serviceAccount")
				delete(spec, "serviceAccountName")
				delete(event.Object["metadata"].(object), "managedFields")
			}
			all[key] = append(all[key], timeText.ReplaceAllString(event.String(), "TIME"))
		}
	}
	return all, nil
}

// begin lists the objects and opens all watches.
func (r *pagesRun) begin() error {
	for resource, selectors := range watchSelectors {
		list, err := r.list(resource, nil)
		if err != nil {
			return err
		}
		kind := map[string]string{"configmaps": "ConfigMap", "pods": "Pod"}[resource]
		for _, item := range list.Items {
			light, err := lightly(item)
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(strings.TrimPrefix(light.Metadata.Name, "cm-"))
			if err == nil && n >= pagesWriters*pagesOfWriter {
				r.others[light.Metadata.Name] = light.Metadata.ResourceVersion
				continue
			}
			obj := object{}
			if err := decode(item, &obj); err != nil {
				return err
			}
			obj["kind"], obj["apiVersion"] = kind, "v1"
			r.first[resource] = append(r.first[resource], obj)
		}
		from := "resourceVersion=" + list.Metadata.ResourceVersion
		if r.witnesses[resource], err = r.watch(resource, from); err != nil {
			return err
		}
		for _, text := range selectors {
			begins := []bool{false}
			if resource == "pods" { // the config maps are too many
				begins = append(begins, true)
			}
			for _, initial := range begins {
				s, err := newSelection(resource, text)
				if err != nil {
					return err
				}
				how := from
				if s.initial = initial; initial {
					how = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
				}
				if s.events, err = r.watch(resource, s.selector+"&"+how); err != nil {
					return err
				}
				r.selections = append(r.selections, s)
			}
		}
	}
	return nil
}

func (r *pagesRun) await(resource string) error {
	event, err := next(r.ctx, r.witnesses[resource])
	r.changes[resource] = append(r.changes[resource], event)
	return err
}

// changeAndList lists in pages until all changes are made.
func (r *pagesRun) changeAndList() error {
	query := url.Values{"limit": {"500"}}
	first, err := r.list("configmaps", query)
	if err != nil {
		return err
	}
	errs := make([]error, pagesWriters+1)
	var writers sync.WaitGroup
	for i := range pagesWriters {
		writers.Go(func() { errs[i] = r.writeConfigMaps(i) })
	}
	writers.Go(func() { errs[pagesWriters] = r.writePods() })
	made := make(chan error)
	go func() {
		writers.Wait()
		made <- errors.Join(errors.Join(errs...), r.writeLast())
	}()
	version := []string{first.Metadata.ResourceVersion}
	queries := []url.Values{query, {"limit": {"20"}, "labelSelector": {"odd=yes"}}, {"limit": {"30"}, "labelSelector": {"odd notin (yes),odd"}},
		{"limit": {"500"}, "resourceVersion": version, "resourceVersionMatch": {"Exact"}}, {"limit": {"500"}, "resourceVersion": version},
		{"limit": {"500"}, "resourceVersion": version, "resourceVersionMatch": {"NotOlderThan"}}}
	err = r.await("configmaps") // the second page is read after a change
	for i, isMade := 0, false; err == nil && (!isMade || i < len(queries)); i++ {
		var list *pagedList
		if list, err = r.pages(queries[i%len(queries)], first); err == nil {
			r.lists = append(r.lists, list)
		}
		first = nil
		select {
		case errOfWriters := <-made:
			isMade, err = true, errors.Join(err, errOfWriters)
		default:
		}
	}
	for resource := range watchSelectors {
		for err == nil {
			if err = r.await(resource); field(r.changes[resource][len(r.changes[resource])-1].Object, "metadata", "name") == "last" {
				break
			}
		}
	}
	return err
}

// stateAt returns the names and versions of the config maps of a selection as of a version.
func (r *pagesRun) stateAt(version int, s *selection) map[string]string {
	state := map[string]string{}
	if s.labels.Empty() {
		state = maps.Clone(r.others) // they have no label that a selector of the lists needs
	}
	set := func(obj object, exists bool) {
		delete(state, field(obj, "metadata", "name"))
		if exists && s.selects(obj) {
			state[field(obj, "metadata", "name")] = versionOf(obj)
		}
	}
	for _, obj := range r.first["configmaps"] {
		set(obj, true)
	}
	for _, change := range r.changes["configmaps"] {
		if change.version() <= version {
			set(change.Object, change.Type != "DELETED")
		}
	}
	return state
}

func (r *pagesRun) checkLists() error {
	stale := 0 // lists of a version before the last change
	for _, list := range r.lists {
		s, err := newSelection("configmaps", "labelSelector="+list.query.Get("labelSelector"))
		if err != nil {
			return err
		}
		version, err := strconv.Atoi(list.version)
		if err = errors.Join(err, list.check(r.stateAt(version, s))); err != nil {
			return err
		}
		exact := list.query.Get("resourceVersionMatch") == "Exact"
		if wanted := list.query.Get("resourceVersion"); exact && list.version != wanted {
			return fmt.Errorf("%v: version %s", list.query, list.version)
		}
		if all := r.changes["configmaps"]; version < all[len(all)-1].version() {
			stale++
		}
	}
	if stale < 2 {
		return fmt.Errorf("%d of %d lists were made while objects changed, wanted at least 2", stale, len(r.lists))
	}
	return nil
}

func (r *pagesRun) checkWatches() error {
	var errs []error
	for _, s := range r.selections {
		want := s.expect(r.first[s.resource], r.changes[s.resource])
		changes := r.changes[s.resource]
		isImpossible := s.fields.String() == "metadata.namespace!="+pagesNamespace
		if !isImpossible && (len(want) == 0 || want[len(want)-1].version() < changes[len(changes)-10].version()) {
			return fmt.Errorf("%s: none of the last changes is selected, so a superfluous event could be missed", s)
		}
		errs = append(errs, s.check(r.ctx, want))
	}
	return errors.Join(errs...)
}

var (
	versionText = regexp.MustCompile(`\d+`)
	timeText    = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z`)
)

// expire compacts the history, and returns the error responses to what needs older versions. It continues an expired list.
func (r *pagesRun) expire(compact func(*pagesClient) error) (map[string][]string, error) {
	limit := []string{"500"}
	first, err := r.list("configmaps", url.Values{"limit": limit})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(r.change("POST", pathOf("configmaps"), "application/json", `{"metadata":{"name":"after"}}`), compact(r.pagesClient)); err != nil {
		return nil, err
	}
	// The real server's cache can have the first page's version still, but not the version 1.
	token, err := base64.RawURLEncoding.DecodeString(first.Metadata.Continue)
	if err != nil {
		return nil, err
	}
	token = bytes.Replace(token, []byte(`"rv":`+first.Metadata.ResourceVersion), []byte(`"rv":1`), 1)
	expired := base64.RawURLEncoding.EncodeToString(token)
	all := map[string][]string{}
	var inconsistent string
	for _, query := range []url.Values{{"limit": limit, "continue": {expired}}, {"resourceVersion": {"1"}, "resourceVersionMatch": {"Exact"}},
		{"limit": limit, "resourceVersion": {"1"}}, {"limit": limit, "resourceVersion": {"1"}, "resourceVersionMatch": {"Exact"}}} {
		p, err := r.list("configmaps", query)
		if err != nil {
			return nil, err
		}
		query.Del("continue")
		all[query.Encode()] = []string{fmt.Sprint(p.code, p.Reason, versionText.ReplaceAllString(p.Message, "N"), p.Metadata.Continue != "")}
		if p.Metadata.Continue != "" {
			inconsistent = p.Metadata.Continue
		}
	}
	rest, err := r.pages(url.Values{"limit": limit, "continue": {inconsistent}}, nil)
	if err != nil {
		return nil, err
	}
	whole, err := r.list("configmaps", nil)
	if err != nil {
		return nil, err
	}
	last, err := lightly(first.Items[len(first.Items)-1])
	if err != nil {
		return nil, err
	}
	remainder := map[string]string{}
	for _, item := range whole.Items {
		obj, err := lightly(item)
		if err != nil {
			return nil, err
		}
		if obj.Metadata.Name > last.Metadata.Name {
			remainder[obj.Metadata.Name] = obj.Metadata.ResourceVersion
		}
	}
	return all, rest.check(remainder)
}
