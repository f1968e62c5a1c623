// The audit log of the kube-apiserver: the requests of kinformer and the status codes of the responses.
package main

import (
	"bytes"
	"net/url"
	"os"
	"strings"
)

type request struct {
	verb, resource string
	query          url.Values
	code           int
}

// auditEntry is one line of the audit log.
type auditEntry struct {
	Stage      string
	RequestURI string
	Verb       string
	ObjectRef  struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	// A watch with an error response has no entry of the stage ResponseStarted, only one of ResponseComplete.
	ResponseStatus struct{ Code int }
}

func (e auditEntry) query() (url.Values, error) {
	_, rawQuery, _ := strings.Cut(e.RequestURI, "?")
	return url.ParseQuery(rawQuery)
}

// resource returns RESOURCE or RESOURCE/SUBRESOURCE.
func (e auditEntry) resource() string {
	if e.ObjectRef.Subresource == "" {
		return e.ObjectRef.Resource
	}
	return e.ObjectRef.Resource + "/" + e.ObjectRef.Subresource
}

// audit returns the entries of the log after a mark, and the next mark. A mark is an offset in the file; 0 is its start.
func (s *server) audit(mark int64) ([]auditEntry, int64, error) {
	data, err := os.ReadFile(s.file("audit.log"))
	if err != nil {
		return nil, 0, err
	}
	var found []auditEntry
	end := int64(bytes.LastIndexByte(data, '\n') + 1)
	for line := range bytes.Lines(data[min(mark, end):end]) {
		var entry auditEntry
		if err := decode(line, &entry); err != nil {
			return nil, 0, err
		}
		found = append(found, entry)
	}
	return found, end, nil
}

// requests returns the list and watch requests after a mark in the log that have a response, and the next mark. A watch counts once, when its
// response starts or when it gets an error response.
func (s *server) requests(mark int64) ([]request, int64, error) {
	entries, end, err := s.audit(mark)
	if err != nil {
		return nil, 0, err
	}
	var found []request
	for _, entry := range entries {
		isWatch := entry.Verb == "watch"
		opened := isWatch && entry.Stage == "ResponseStarted" && entry.ResponseStatus.Code < 400
		responded := entry.Stage == "ResponseComplete" && (entry.Verb == "list" || isWatch && entry.ResponseStatus.Code >= 400)
		if !opened && !responded {
			continue
		}
		query, err := entry.query()
		if err != nil {
			return nil, 0, err
		}
		found = append(found, request{entry.Verb, entry.ObjectRef.Resource, query, entry.ResponseStatus.Code})
	}
	return found, end, nil
}

// count returns the number of requests for a resource that fulfil a condition.
func count(requests []request, resource string, condition func(request) bool) (n int) {
	for _, r := range requests {
		if r.resource == resource && condition(r) {
			n++
		}
	}
	return n
}

func isStreamingList(r request) bool {
	return r.verb == "watch" && r.query.Get("sendInitialEvents") == "true"
}

func isPlainList(r request) bool { return r.verb == "list" }

func isPlainWatch(r request) bool {
	return r.verb == "watch" && !r.query.Has("sendInitialEvents") && r.code == 200
}
