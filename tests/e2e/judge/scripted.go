// A scripted API server with one resource, the ConfigMaps: a scenario decides about each response. It can do what no
// kube-apiserver does, and what aggregated API servers, proxies and busy servers do.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// scripted is a running server. It counts the requests of one client.
type scripted struct {
	*httptest.Server
	respond func(x *exchange)

	mu       sync.Mutex
	requests []string       // such as "stream", "list at 0", "watch at 1000"
	counts   map[string]int // requests of each kind, in each namespace
}

// exchange is one request for the ConfigMaps, and its response.
type exchange struct {
	namespace string
	kind      string // "stream" (a streaming list), "list" or "watch"
	number    int    // among the requests of its kind in this namespace, from 1
	version   string // the resource version that is asked for
	writer    http.ResponseWriter
	request   *http.Request
	begun     bool // the response has its head
}

func startScripted(respond func(x *exchange)) *scripted {
	s := &scripted{respond: respond, counts: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// stop ends the open responses, and the server.
func (s *scripted) stop() {
	s.CloseClientConnections()
	s.Close()
}

func (s *scripted) serve(writer http.ResponseWriter, request *http.Request) {
	writer.Header().Set("Content-Type", "application/json")
	namespace, isConfigMaps := strings.CutSuffix(strings.TrimPrefix(request.URL.Path, "/api/v1/namespaces/"), "/configmaps")
	if !isConfigMaps { // discovery
		_, _ = writer.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[]}`))
		return
	}
	query := request.URL.Query()
	x := &exchange{namespace: namespace, kind: "list", version: query.Get("resourceVersion"), writer: writer, request: request}
	switch {
	case query.Get("sendInitialEvents") == "true":
		x.kind = "stream"
	case query.Get("watch") == "true" || query.Get("watch") == "1":
		x.kind = "watch"
	}
	s.mu.Lock()
	s.counts[namespace+"/"+x.kind]++
	x.number = s.counts[namespace+"/"+x.kind]
	s.requests = append(s.requests, strings.TrimSuffix(x.kind+" at "+x.version, " at "))
	s.mu.Unlock()
	s.respond(x)
}

func (s *scripted) log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// send writes the values as one piece.
func (x *exchange) send(values ...any) {
	var lines []byte
	for _, value := range values {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // a value of a scenario
		}
		lines = append(append(lines, text...), '\n')
	}
	_, _ = x.writer.Write(lines)
	x.writer.(http.Flusher).Flush()
}

// list responds with a list. version "": it has none.
func (x *exchange) list(version string, items ...object) {
	metadata := object{}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	x.send(object{"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": items})
}

func (x *exchange) fail(code int, reason string) {
	x.writer.WriteHeader(code)
	x.send(failure(code, reason))
}

func failure(code int, reason string) object {
	return object{"kind": "Status", "apiVersion": "v1", "metadata": object{}, "status": "Failure", "code": code, "reason": reason,
		"message": fmt.Sprintf("the scenario responds %d", code)}
}

// events sends events of a watch, which arrive together. The watch stays open until the scenario returns.
func (x *exchange) events(events ...any) {
	if !x.begun {
		x.begun = true
		x.writer.WriteHeader(http.StatusOK)
	}
	x.send(events...)
}

// hold keeps the response open until the client or the server ends it.
func (x *exchange) hold() { <-x.request.Context().Done() }

func event(kind string, obj object) object { return object{"type": kind, "object": obj} }

func bookmark(version string, isEnd bool) object {
	metadata := object{"resourceVersion": version}
	if isEnd {
		metadata["annotations"] = object{"k8s.io/initial-events-end": "true"}
	}
	return event("BOOKMARK", object{"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata})
}

// versioned returns an object of the namespace "default" with this version.
func versioned(name, version string) object { return versionedIn("default", name, version) }

func versionedIn(namespace, name, version string) object {
	metadata := object{"name": name, "namespace": namespace, "uid": "uid-" + name, "resourceVersion": version}
	return object{"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}
}
