// Sends a table of requests to a kube-apiserver, and records its responses or compares them with the recorded ones.
//
//	serve-requests --url URL [--token TOKEN] --record FILE table.txt...    writes each request with its response, one JSON object a line
//	serve-requests --url URL [--token TOKEN] --compare FILE table.txt...   prints the requests whose responses are others; status 1
//
// The README describes the tables. In a recorded response, "<any>" stands for a text that differs from run to run: uids, versions, current times,
// assigned addresses, ports and names.
package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is one request with the real server's response.
type row struct {
	Intended any      `json:"intended,omitempty"` // of the first line: fields that differ on purpose
	Table    string   `json:"table"`
	Method   string   `json:"method"`
	Target   string   `json:"target"`
	Type     string   `json:"type,omitempty"`
	Body     string   `json:"body,omitempty"`
	Brief    bool     `json:"brief,omitempty"`   // only code and reason count
	Differs  string   `json:"differs,omitempty"` // why the embedded server responds differently on purpose
	Ours     *outcome `json:"ours,omitempty"`    // what it responds then
	Code     int      `json:"code"`
	Warnings []string `json:"warnings,omitempty"`
	Response any      `json:"response"`
}

// outcome is the status and the reason of a response.
type outcome struct {
	Code   int    `json:"code"`
	Reason string `json:"reason,omitempty"` // of an error
}

const anything = "<any>"

var contentTypes = map[string]string{
	"json":      "application/json-patch+json",
	"merge":     "application/merge-patch+json",
	"strategic": "application/strategic-merge-patch+json",
	"apply":     "application/apply-patch+yaml",
}

var repeated = regexp.MustCompile(`<(\d+)\*([^<>]*)>`)

// repeat replaces `<3*{}>` by `{},{},{}`.
func repeat(text string) string {
	parts := repeated.FindStringSubmatch(text)
	count, _ := strconv.Atoi(parts[1])
	return strings.Join(slices.Repeat([]string{parts[2]}, count), ",")
}

// read returns the requests of a table. NS stands for a namespace in the table, and for its name in the requests.
func read(name, namespace string) ([]row, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	table := strings.TrimSuffix(filepath.Base(name), ".txt")
	rows := []row{{Table: table, Method: "POST", Target: "/api/v1/namespaces", Type: "application/json", Brief: true,
		Body: `{"metadata":{"name":"NS"}}`}}
	differs, ours := "", (*outcome)(nil)
	for line := range strings.SplitSeq(strings.ReplaceAll(string(text), "\n ", " "), "\n") {
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '!':
			if differs, ours, err = readDifference(line); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			continue
		}
		r := row{Table: table, Brief: line[0] == '~', Differs: differs, Ours: ours}
		differs, ours = "", nil
		line = strings.TrimPrefix(line, "~")
		r.Method, line, _ = strings.Cut(line, " ")
		r.Target, r.Body, _ = strings.Cut(line, " ")
		r.Body = strings.TrimSpace(r.Body)
		if kind, isPatch := contentTypes[r.Method]; isPatch {
			r.Method, r.Type = "PATCH", kind
		} else if r.Body != "" {
			r.Type = "application/json"
		}
		if version, rest, short := strings.Cut(r.Target, ":"); short && r.Target[0] != '/' {
			prefix := "/apis/"
			if !strings.Contains(version, "/") {
				prefix = "/api/"
			}
			r.Target = prefix + version + "/namespaces/NS/" + rest
		}
		if r.Body != "" && r.Method != "DELETE" && !strings.Contains(r.Target, "fieldManager=") {
			separator := "?"
			if strings.Contains(r.Target, "?") {
				separator = "&"
			}
			r.Target += separator + "fieldManager=m"
		}
		rows = append(rows, r)
	}
	for i := range rows {
		rows[i].Target = strings.ReplaceAll(rows[i].Target, "NS", namespace)
		rows[i].Body = repeated.ReplaceAllStringFunc(strings.ReplaceAll(rows[i].Body, "NS", namespace), repeat)
	}
	return rows, nil
}

// readDifference returns what a line `! STATUS [REASON:] WHY` says.
func readDifference(line string) (string, *outcome, error) {
	parts := regexp.MustCompile(`^! (\d{3}) (?:(\w+): )?(.+)$`).FindStringSubmatch(line)
	if parts == nil {
		return "", nil, fmt.Errorf("not `! STATUS [REASON:] WHY`: %s", line)
	}
	code, err := strconv.Atoi(parts[1])
	return parts[3], &outcome{Code: code, Reason: parts[2]}, err
}

type server struct {
	url, token string
	client     http.Client
}

// send fills in the response. It retries while a new custom resource is not served yet.
func (s *server) send(r *row) ([]byte, error) {
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		request, err := http.NewRequest(r.Method, s.url+r.Target, strings.NewReader(r.Body))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Accept", "application/json")
		if r.Type != "" {
			request.Header.Set("Content-Type", r.Type)
		}
		if s.token != "" {
			request.Header.Set("Authorization", "Bearer "+s.token)
		}
		response, err := s.client.Do(request)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			return nil, err
		}
		notYet := response.StatusCode == http.StatusNotFound && bytes.Contains(text, []byte("404 page not found"))
		if (notYet || response.StatusCode == http.StatusTooManyRequests) && strings.Contains(r.Target, ".example.com") && time.Now().Before(end) {
			continue
		}
		r.Code = response.StatusCode
		for _, warning := range response.Header.Values("Warning") {
			if !strings.Contains(warning, "kinformer serve: ") {
				r.Warnings = append(r.Warnings, warning)
			}
		}
		return text, nil
	}
}

var (
	uidText    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	bodyText   = regexp.MustCompile(`Invalid value: "\{\\"([^"\\]|\\.)*"`) // the object of an invalid patch
	recordText = regexp.MustCompile(`in record \(\d+\)`)                   // the version of an object
	timeText   = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z`)
)

// general replaces what differs from run to run. `given` has the requests' texts.
func general(value any, key, given string) any {
	switch v := value.(type) {
	case map[string]any:
		prefix, _ := v["generateName"].(string)
		if v["fieldsType"] != nil {
			delete(v, "time") // of an entry of managedFields
		}
		for name, member := range v {
			v[name] = general(member, name, given)
		}
		if name, isText := v["name"].(string); isText && prefix != "" && strings.HasPrefix(name, prefix) {
			v["name"] = prefix + anything
		}
	case []any:
		for i := range v {
			v[i] = general(v[i], key, given)
		}
		if key == "managedFields" { // the server sorts them by their times
			slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
	case float64:
		if strings.HasSuffix(strings.ToLower(key), "nodeport") && !strings.Contains(given, fmt.Sprint(v)) {
			return anything
		}
	case string:
		assigned := strings.HasPrefix(key, "clusterIP") && v != "None" && !strings.Contains(given, v)
		if assigned || key == "resourceVersion" && v != "" || key == "continue" && v != "" {
			return anything
		}
		v = bodyText.ReplaceAllString(v, `Invalid value: "`+anything+`"`)
		v = recordText.ReplaceAllString(v, "in record ("+anything+")")
		v = uidText.ReplaceAllStringFunc(v, func(uid string) string {
			if strings.Contains(given, uid) {
				return uid
			}
			return anything
		})
		return timeText.ReplaceAllStringFunc(v, func(text string) string {
			if at, err := time.Parse(time.RFC3339, text); err == nil && time.Since(at).Abs() < time.Hour {
				return anything
			}
			return text
		})
	}
	return value
}

// intended are the ends of the paths of fields that differ on purpose, and the reasons.
var intended = map[string]string{}

func readIntended(name string) error {
	text, err := os.ReadFile(name)
	for line := range strings.Lines(string(text)) {
		if path, reason, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(path, ".") {
			intended[path] = reason
		}
	}
	return err
}

func isIntended(path string) bool {
	for end := range intended {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// differences describes where a response is not as recorded.
func differences(recorded, found any, path string) []string {
	var all []string
	switch r := recorded.(type) {
	case map[string]any:
		if f, isObject := found.(map[string]any); isObject || found == nil {
			for _, name := range slices.Sorted(maps.Keys(r)) {
				all = append(all, differences(r[name], f[name], path+"."+name)...)
			}
			for _, name := range slices.Sorted(maps.Keys(f)) {
				if _, known := r[name]; !known {
					all = append(all, differences(nil, f[name], path+"."+name)...)
				}
			}
			return all
		}
	case []any:
		if f, isList := found.([]any); isList && len(r) == len(f) {
			for i := range f {
				all = append(all, differences(r[i], f[i], fmt.Sprintf("%s[%d]", path, i))...)
			}
			return all
		}
	case string:
		if isLike(r, found) {
			return nil
		}
	}
	if reflect.DeepEqual(recorded, found) || isIntended(path) {
		return nil
	}
	want, _ := json.Marshal(recorded)
	have, _ := json.Marshal(found)
	return []string{fmt.Sprintf("%s: %s, not %s", path, have, want)}
}

// isLike compares a value with a recorded text, in which <any> stands for any text.
func isLike(recorded string, found any) bool {
	if recorded == anything {
		return found != nil
	}
	text, isText := found.(string)
	parts := strings.Split(recorded, anything)
	if len(parts) == 1 || !isText || !strings.HasPrefix(text, parts[0]) {
		return isText && text == recorded
	}
	for _, part := range parts {
		_, after, has := strings.Cut(text, part)
		if !has {
			return false
		}
		text = after
	}
	return text == "" || parts[len(parts)-1] == ""
}

// checkOurs describes where a response that differs on purpose is not as the table says. `all` has the differences from the real response.
func (r *row) checkOurs(found *row, all []string) []string {
	reason, _ := reasonOf(found.Response).(string)
	if have := (outcome{found.Code, reason}); have != *r.Ours {
		return []string{fmt.Sprintf("%d %s, not %d %s", have.Code, have.Reason, r.Ours.Code, r.Ours.Reason)}
	}
	if len(all) == 0 {
		return []string{"the same response as the real one, although " + r.Differs}
	}
	return nil
}

func (r *row) differences(found *row) []string {
	if r.Code != found.Code {
		return []string{fmt.Sprintf("%d %v, not %d %v", found.Code, messageOf(found.Response), r.Code, messageOf(r.Response))}
	}
	if r.Brief {
		return differences(reasonOf(r.Response), reasonOf(found.Response), "reason")
	}
	sortCauses(r.Response)
	sortCauses(found.Response)
	all := differences(fmt.Sprint(r.Warnings), fmt.Sprint(found.Warnings), "warnings")
	return append(all, differences(r.Response, found.Response, "")...)
}

// sortCauses sorts the causes of an error response, and removes the message that lists them: the real server checks the fields of custom
// resources in a random order.
func sortCauses(response any) {
	obj, _ := response.(map[string]any)
	details, _ := obj["details"].(map[string]any)
	causes, _ := details["causes"].([]any)
	if len(causes) > 1 {
		slices.SortFunc(causes, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		delete(obj, "message")
	}
}

func messageOf(response any) any {
	obj, _ := response.(map[string]any)
	if obj["kind"] == "Status" {
		return obj["message"]
	}
	return ""
}

func reasonOf(response any) any {
	obj, _ := response.(map[string]any)
	if obj["kind"] == "Status" {
		return obj["reason"]
	}
	return nil
}

// dropManaged removes managedFields, which only rows about apply compare.
func dropManaged(value any) {
	obj, _ := value.(map[string]any)
	if metadata, isObject := obj["metadata"].(map[string]any); isObject {
		delete(metadata, "managedFields")
	}
	if of := obj["object"]; of != nil { // of an event
		dropManaged(of)
	}
	items, isList := obj["items"].([]any)
	if !isList {
		items, _ = value.([]any)
	}
	for _, item := range items {
		dropManaged(item)
	}
}

// parse returns a response as decoded JSON: a list for a watch's events, a text for anything else.
func parse(text []byte) any {
	var all []any
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var one any
		if err := decoder.Decode(&one); err == io.EOF && len(all) == 0 {
			return nil
		} else if err == io.EOF && len(all) > 1 {
			return all
		} else if err == io.EOF {
			return all[0]
		} else if err != nil {
			return string(text)
		}
		all = append(all, one)
	}
}

func continueOf(response any) string {
	obj, _ := response.(map[string]any)
	metadata, _ := obj["metadata"].(map[string]any)
	token, _ := metadata["continue"].(string)
	return token
}

func (s *server) run(name string) ([]row, error) {
	namespace := fmt.Sprintf("e2e-%x", time.Now().UnixNano())
	rows, err := read(name, namespace)
	if err != nil {
		return nil, err
	}
	var given strings.Builder
	for i := range rows {
		given.WriteString(rows[i].Body)
	}
	next := "" // the last continue token
	for i := range rows {
		r := &rows[i]
		target := r.Target
		r.Target = strings.ReplaceAll(target, "<continue>", url.QueryEscape(next))
		text, err := s.send(r)
		r.Target = target
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.Method, r.Target, err)
		}
		text = bytes.ReplaceAll(text, []byte(namespace), []byte("NS"))
		r.Response = parse(text)
		if token := continueOf(r.Response); token != "" {
			next = token
		}
		r.Response = general(r.Response, "", given.String())
		if r.Type != contentTypes["apply"] {
			dropManaged(r.Response)
		}
		if strings.Contains(r.Target, ".example.com") {
			sortCauses(r.Response)
		}
		if r.Brief {
			r.Response = map[string]any{"kind": "Status", "reason": reasonOf(r.Response)}
		}
		for k := range r.Warnings {
			r.Warnings[k] = strings.ReplaceAll(r.Warnings[k], namespace, "NS")
		}
		r.Target = strings.ReplaceAll(r.Target, namespace, "NS")
		r.Body = strings.ReplaceAll(r.Body, namespace, "NS")
	}
	return rows, s.remove(namespace)
}

// remove deletes what a table created outside of its namespace: objects whose names have the namespace's.
func (s *server) remove(namespace string) error {
	for _, resource := range []string{"/api/v1/nodes", "/api/v1/persistentvolumes", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"} {
		list := row{Method: "GET", Target: resource}
		text, err := s.send(&list)
		if err != nil {
			return err
		}
		var found struct {
			Items []struct{ Metadata struct{ Name string } }
		}
		if err := json.Unmarshal(text, &found); err != nil {
			return err
		}
		for _, item := range found.Items {
			if strings.Contains(item.Metadata.Name, namespace) {
				if _, err := s.send(&row{Method: "DELETE", Target: resource + "/" + item.Metadata.Name}); err != nil {
					return err
				}
			}
		}
	}
	// No controller empties a namespace of the real server. Its services keep addresses and ports that the next run needs.
	for _, target := range []string{"/services", ""} {
		if _, err := s.send(&row{Method: "DELETE", Target: "/api/v1/namespaces/" + namespace + target}); err != nil {
			return err
		}
	}
	return nil
}

func compare(recorded, found []row, isReal bool) int {
	bad := 0
	if len(recorded) != len(found) {
		fmt.Printf("%d requests are recorded and %d are in the tables: record them again\n", len(recorded), len(found))
		return 1
	}
	for i := range found {
		want := &recorded[i]
		all := want.differences(&found[i])
		if want.Ours != nil && !isReal {
			all = want.checkOurs(&found[i], all)
		}
		if len(all) == 0 {
			continue
		}
		bad++
		fmt.Printf("%s: %s %s %s\n  %s\n", want.Table, want.Method, want.Target, want.Body, strings.Join(all, "\n  "))
	}
	return bad
}

func load(name string, tables map[string]bool) ([]row, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var rows []row
	for decoder := json.NewDecoder(bytes.NewReader(text)); decoder.More(); {
		var one row
		if err := decoder.Decode(&one); err != nil {
			return nil, err
		}
		if tables[one.Table] {
			rows = append(rows, one)
		}
	}
	return rows, nil
}

func run() error {
	s := server{client: http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
	flag.StringVar(&s.url, "url", "", "the server's URL")
	flag.StringVar(&s.token, "token", "", "bearer token")
	record := flag.String("record", "", "write the responses to this file")
	with := flag.String("compare", "", "compare the responses with this file")
	isReal := flag.Bool("real", false, "compare what differs on purpose, too")
	flag.Parse()
	if err := readIntended(filepath.Join(filepath.Dir(flag.Arg(0)), "differences.txt")); err != nil {
		return err
	}
	var all []row
	tables := map[string]bool{}
	for _, name := range flag.Args() {
		if filepath.Base(name) == "differences.txt" {
			continue
		}
		rows, err := s.run(name)
		if err != nil {
			return err
		}
		all = append(all, rows...)
		tables[rows[0].Table] = true
	}
	if *record != "" {
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		all = append([]row{{Intended: intended}}, all...)
		for i := range all {
			if err := encoder.Encode(&all[i]); err != nil {
				return err
			}
		}
		return os.WriteFile(*record, out.Bytes(), 0o644)
	}
	recorded, err := load(*with, tables)
	if err != nil {
		return err
	}
	if bad := compare(recorded, all, *isReal); bad > 0 {
		return fmt.Errorf("%d of %d responses differ", bad, len(all))
	}
	fmt.Printf("%d requests\n", len(all))
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "serve-requests:", err)
		os.Exit(1)
	}
}
