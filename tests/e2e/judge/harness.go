// The harness of a case: programs, directories and servers, and their cleanup.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const apiserverName = "apiserver"

type harness struct {
	kinformer, bin, work string
	examples             string // directory with the sources and manifests of the examples
	clients              string // directory of tests/clients
	isReference          bool   // the programs under test are the Go references

	caseDir   string
	processes []*process // of this case; endCase stops them
	gates     []*gate    // of this case; endCase shuts them
	shared    *server    // the kube-apiserver of the cases that leave it usable for others; nil: not started
	withFoos  *server    // the same, with the resource Foo of the sample controller

	programs []programResult // results of the programs of tests/clients so far
}

func (h *harness) beginCase(name string) {
	h.caseDir = filepath.Join(h.work, name)
	h.processes = nil
}

// endCase stops the processes of the case, in reverse order. If the case failed, the error has the ends of their logs.
func (h *harness) endCase(failed bool) error {
	var errs []error
	for i := len(h.processes) - 1; i >= 0; i-- {
		p := h.processes[i]
		// The log of a server is shown only if the server exited by itself.
		isServer := p.name == apiserverName || p.name == controllerManagerName
		if tail := p.logTail(); failed && tail != "" && (!isServer || !p.running() && p.err != nil && !p.killed) {
			errs = append(errs, fmt.Errorf("end of the log of %s:\n  %s", p.name, tail))
		}
		if err := p.stop(); !failed {
			errs = append(errs, err)
		}
	}
	h.processes = nil
	for _, g := range h.gates {
		g.shut()
	}
	h.gates = nil
	return errors.Join(append(errs, os.RemoveAll(h.caseDir))...)
}

func (h *harness) stopShared() error {
	var errs []error
	for _, s := range []*server{h.withFoos, h.shared} {
		if s != nil {
			errs = append(errs, s.process.stop())
		}
	}
	h.shared, h.withFoos = nil, nil
	return errors.Join(errs...)
}

func (h *harness) stopAll() error {
	return errors.Join(h.stopShared(), os.RemoveAll(h.work))
}

func (h *harness) start(name string, onLine func([]byte), argv ...string) (*process, error) {
	if err := os.MkdirAll(h.caseDir, 0o700); err != nil {
		return nil, err
	}
	p, err := startProcess(h.caseDir, name, onLine, argv...)
	if err == nil {
		h.processes = append(h.processes, p)
	}
	return p, err
}

// run runs a program to its end and returns its standard output. The error has its standard error.
func (h *harness) run(ctx context.Context, input string, argv ...string) (string, error) {
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	command.Env = childEnvironment()
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	command.Stdin = strings.NewReader(input)
	var out, errOut bytes.Buffer
	command.Stdout, command.Stderr = &out, &errOut
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(argv[0]), strings.Join(argv[1:], " "), err,
			strings.TrimSpace(errOut.String()))
	}
	return out.String(), nil
}

// kubectl is the real kubectl with a kubeconfig.
type kubectl struct {
	h          *harness
	kubeconfig string
}

func (k kubectl) run(ctx context.Context, arguments ...string) (string, error) {
	return k.runInput(ctx, "", arguments...)
}

func (k kubectl) argv(arguments ...string) []string {
	cache := filepath.Join(k.h.work, "kubectl-cache", filepath.Base(filepath.Dir(k.kubeconfig)))
	return append([]string{filepath.Join(k.h.bin, "kubectl"), "--kubeconfig", k.kubeconfig, "--cache-dir", cache},
		arguments...)
}

func (k kubectl) runInput(ctx context.Context, input string, arguments ...string) (string, error) {
	return k.h.run(ctx, input, k.argv(arguments...)...)
}

// runAll runs commands one after the other. Each line is split at blanks into arguments.
func (k kubectl) runAll(ctx context.Context, lines ...string) error {
	for _, line := range lines {
		if _, err := k.run(ctx, strings.Fields(line)...); err != nil {
			return err
		}
	}
	return nil
}

// list returns the objects of `kubectl get RESOURCES -A -o json`.
func (k kubectl) list(ctx context.Context, resources string, arguments ...string) (objects, error) {
	out, err := k.run(ctx, append([]string{"get", resources, "-A", "-o", "json"}, arguments...)...)
	if err != nil {
		return nil, err
	}
	return parseList([]byte(out))
}

// create creates an object with kubectl, without validation, which would need the OpenAPI schema of the server.
func (k kubectl) create(ctx context.Context, obj map[string]any) error {
	text, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	_, err = k.runInput(ctx, string(text), "create", "--validate=false", "-f", "-")
	return err
}

// server is a running kube-apiserver. Its kubeconfigs and tokens named kinformer belong to the user kinformer. The audit log has the
// requests of that user only.
type server struct {
	process *process
	dir     string
	url     string
	out     *lines
}

func (s *server) file(name string) string { return filepath.Join(s.dir, name) }

func (s *server) address() string { return strings.TrimPrefix(s.url, "https://") }

// through returns kinformer's flags to connect to the server through a gate.
func (s *server) through(g *gate) ([]string, error) {
	token, err := os.ReadFile(s.file("kinformer.token"))
	return []string{"--server", "https://" + g.address, "--token", string(token),
		"--certificate-authority", s.file("ca.crt")}, err
}

// compact compacts etcd to its current revision.
func (s *server) compact(ctx context.Context) error {
	if err := s.process.command.Process.Signal(syscall.SIGUSR1); err != nil {
		return err
	}
	_, err := s.out.await(ctx, s.process, "compacted ")
	return err
}

func (s *server) restConfig() (*rest.Config, error) { return restConfig(s.file("kubeconfig-admin")) }

func restConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no rate limit
	config.UserAgent = "kinformer-e2e-judge"
	return config, nil
}

func (s *server) client() (dynamic.Interface, error) {
	config, err := s.restConfig()
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}

func (h *harness) kubectl(s *server) kubectl {
	return kubectl{h: h, kubeconfig: s.file("kubeconfig-admin")}
}

// realServer returns the shared kube-apiserver. The first case that calls realServer starts the server.
func (h *harness) realServer(ctx context.Context) (*server, error) {
	if h.shared != nil && h.shared.process.running() {
		return h.shared, nil
	}
	s, err := h.startServer(ctx, filepath.Join(h.work, "apiserver"))
	if err != nil {
		return nil, err
	}
	h.shared = s
	return s, nil
}

// ownServer starts a kube-apiserver for this case. A second call in the case restarts it with the same data, on the same port.
func (h *harness) ownServer(ctx context.Context, flags ...string) (*server, error) {
	if err := os.MkdirAll(h.caseDir, 0o700); err != nil {
		return nil, err
	}
	s, err := h.startServer(ctx, filepath.Join(h.caseDir, "apiserver"), flags...)
	if err == nil {
		h.processes = append(h.processes, s.process)
	}
	return s, err
}

// secondServer starts another kube-apiserver of the cluster for this case. It connects to etcd through the gate.
func (h *harness) secondServer(ctx context.Context, first *server, etcd *gate) (*server, error) {
	s, err := h.startServer(ctx, filepath.Join(h.caseDir, "second", "apiserver"), "--join", first.dir,
		"--etcd-servers", "http://"+etcd.address)
	if err == nil {
		h.processes = append(h.processes, s.process)
	}
	return s, err
}

// startServer starts a kube-apiserver and waits until it is ready. If the directory exists, the server uses its data and its port.
func (h *harness) startServer(ctx context.Context, dir string, flags ...string) (*server, error) {
	s := &server{dir: dir, out: newLines()}
	argv := append([]string{filepath.Join(h.bin, "apiserver"), "--dir", dir, "--keep"}, flags...)
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	var err error
	s.process, err = startProcess(filepath.Dir(dir), apiserverName, s.out.addLine, argv...)
	if err != nil {
		return nil, err
	}
	line, err := s.out.await(ctx, s.process, "ready ")
	if err != nil {
		return nil, errors.Join(err, fmt.Errorf("end of the log of the apiserver:\n  %s", s.process.logTail()), s.process.stop())
	}
	s.url = strings.TrimPrefix(line, "ready ")
	// The server creates these namespaces a moment after it is ready.
	k := h.kubectl(s)
	for _, namespace := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		if _, err := k.run(ctx, "wait", "--for=create", "--timeout=60s", "namespace/"+namespace); err != nil {
			return nil, errors.Join(err, s.process.stop())
		}
	}
	return s, nil
}
