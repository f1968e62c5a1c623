// Package kinformertest starts `kinformer serve`, a Kubernetes API server in one small process, for the tests of any Go
// client, and drives it: waits without sleeps, faults, recorded requests, a reset between tests.
//
//	server := kinformertest.Start(t, "--load", "pods.yaml")
//	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig)
//
// The command `kinformer` must be in PATH. A function that fails ends its test. The lines of faults and requests, and all
// parameters: docs/testing-your-client.md.
package kinformertest

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Server is a running server. It ends with its test, and also if the test's process is killed.
type Server struct {
	URL        string
	Kubeconfig string // a file, with a context for the user of each --token

	client *http.Client
	token  string // the administrator's; "" without tokens
}

// Request is a recorded request of a client.
type Request struct {
	Number                          uint64
	Time                            time.Time
	Status                          int    // 0: a fault closed the connection without a response
	Verb, Resource, Namespace, Name string // of a resource such as "pods", "deployments.apps", "deployments.apps/status"
	Target, UserAgent, User         string // the target is path and query
}

// Start starts `kinformer serve` with these flags, and returns once it serves and its objects are loaded.
func Start(t testing.TB, flags ...string) *Server {
	t.Helper()
	s := &Server{Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), client: http.DefaultClient}
	process := exec.Command("kinformer", append([]string{"serve", "--until-eof", "--write-kubeconfig", s.Kubeconfig}, flags...)...)
	var messages bytes.Buffer
	process.Stderr = &messages
	end, err := process.StdinPipe() // closed at the latest when the test's process ends
	check(t, "start kinformer", err)
	output, err := process.StdoutPipe()
	check(t, "start kinformer", err)
	check(t, "start kinformer", process.Start())
	t.Cleanup(func() { end.Close(); process.Wait() })
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		process.Wait()
		t.Fatalf("kinformer serve: %s", messages.String())
	}
	s.URL = strings.TrimSpace(strings.TrimPrefix(line, "serving "))
	s.readCredentials(t)
	return s
}

// readCredentials reads the certificate of the authority and the administrator's token, which the server writes first.
func (s *Server) readCredentials(t testing.TB) {
	t.Helper()
	text, err := os.ReadFile(s.Kubeconfig)
	check(t, "read the kubeconfig", err)
	if token := regexp.MustCompile(`\btoken: "(.+)"`).FindSubmatch(text); token != nil {
		s.token = string(token[1])
	}
	if authority := regexp.MustCompile(`certificate-authority-data: (.+)`).FindSubmatch(text); authority != nil {
		pem, err := base64.StdEncoding.DecodeString(string(authority[1]))
		check(t, "read the kubeconfig", err)
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	}
}

// Load stores the objects of a YAML or JSON text as they are, with their status.
func (s *Server) Load(t testing.TB, objects string) {
	t.Helper()
	s.do(t, "POST", "/_load", objects, nil)
}

// Reset returns to the objects, faults and tokens of the start. Open watches get the changes as events.
func (s *Server) Reset(t testing.TB) {
	t.Helper()
	s.do(t, "POST", "/_reset", "", nil)
}

// AddFault adds a fault such as "status,code=500,verb=list,resource=pods,count=1", and returns its number.
func (s *Server) AddFault(t testing.TB, line string) int {
	t.Helper()
	var added struct{ ID int }
	s.do(t, "POST", "/_faults", line, &added)
	return added.ID
}

// Wait waits until a condition holds, such as "watches=pods&count=2" or "objects=pods&namespace=shop&name=cart-1".
// After 10 seconds, or another "timeout=", it fails with what there is instead.
func (s *Server) Wait(t testing.TB, condition string) {
	t.Helper()
	s.do(t, "GET", "/_wait?"+condition, "", nil)
}

// Requests returns the recorded requests that a line such as "verb=create+update&resource=pods" selects, the oldest first.
func (s *Server) Requests(t testing.TB, line string) []Request {
	t.Helper()
	var recorded struct{ Requests []Request }
	s.do(t, "GET", "/_requests?"+line, "", &recorded)
	return recorded.Requests
}

func (s *Server) do(t testing.TB, method, path, body string, result any) {
	t.Helper()
	request, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	check(t, path, err)
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := s.client.Do(request)
	check(t, path, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(t, path, err)
	if response.StatusCode/100 != 2 {
		var status struct{ Message string }
		json.Unmarshal(text, &status)
		t.Fatalf("%s %s: %s: %s", method, path, response.Status, status.Message)
	}
	if result != nil {
		check(t, path, json.Unmarshal(text, result))
	}
}

func check(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
