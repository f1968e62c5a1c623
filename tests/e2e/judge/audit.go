// The apiserver's audit log: which requests kinformer made, and how they were answered.
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

// auditEntry is one line of the log.
type auditEntry struct {
	Stage      string
	RequestURI string
	Verb       string
	ObjectRef  struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	// The answer's status; a watch that is refused has only a ResponseComplete.
	ResponseStatus struct{ Code int }
}

func (e auditEntry) query() (url.Values, error) {
	_, rawQuery, _ := strings.Cut(e.RequestURI, "?")
	return url.ParseQuery(rawQuery)
}

// resource is the resource with the subresource.
func (e auditEntry) resource() string {
	if e.ObjectRef.Subresource == "" {
		return e.ObjectRef.Resource
	}
	return e.ObjectRef.Resource + "/" + e.ObjectRef.Subresource
}

// audit reads what came after a mark in the log, and gives the next mark.
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

// requests reads the answered list and watch requests of the audited user that came after a mark in the log, and gives
// the next mark. A watch is taken where its answer began; its end says nothing new.
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

// count counts the requests for a resource that a condition holds for.
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
