// Programs that use other clients of the Kubernetes API (tests/clients), against the real server and against `kinformer serve`. Each program
// runs a list of steps and prints the result of each. All steps must succeed with each server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// programDeadline includes the time to download and build the client, which takes minutes the first time.
const programDeadline = 30 * time.Minute

// programSkipped is the exit status of a client without its toolchain.
const programSkipped = 77

const (
	onReal   = "real"
	onServe  = "serve"
	onSecure = "serve --tls --rbac"
)

var programServers = []string{onReal, onServe, onSecure}

// clientProgram is a folder of tests/clients.
type clientProgram struct {
	name, folder string
	slow         bool // takes long to download and build; runs only with -all-clients
	needsEmpty   bool // lists whole clusters: gets a real server of its own
}

var clientPrograms = []clientProgram{
	{name: "python", folder: "python"},
	{name: "client-go", folder: "go/client-go"},
	{name: "controller-runtime", folder: "go/controller-runtime"},
	{name: "rust", folder: "rust", slow: true},
	{name: "java", folder: "java", slow: true},
	{name: "javascript", folder: "javascript", slow: true},
	{name: "kopf", folder: "kopf", slow: true},
	{name: "controller-runtime-suites", folder: "go-suites", slow: true, needsEmpty: true},
}

func programCases() []testCase {
	var cases []testCase
	for _, p := range clientPrograms {
		cases = append(cases, testCase{
			name: "clients-" + p.name, kinformerOnly: true, allClientsOnly: p.slow, deadline: programDeadline,
			run: func(ctx context.Context, h *harness) error { return runProgram(ctx, h, p) },
		})
	}
	return cases
}

// programResult is the result of one client with one server.
type programResult struct {
	client, server string
	names          []string          // of the steps, in order
	failures       map[string]string // by step: why the step failed
}

var stepLine = regexp.MustCompile(`^(?:ok ([a-z-]+)|failed ([a-z-]+): (.*))$`)

func runProgram(ctx context.Context, h *harness, p clientProgram) error {
	start := filepath.Join(h.clients, p.folder, "start")
	if err := buildProgram(ctx, start); err != nil {
		return err
	}
	realServer := h.realServer
	if p.needsEmpty {
		realServer = func(ctx context.Context) (*server, error) { return h.ownServer(ctx) }
	}
	real, err := realServer(ctx)
	if err != nil {
		return err
	}
	plain, err := h.serve(ctx)
	if err != nil {
		return err
	}
	secure, err := h.serve(ctx, "--tls", "--rbac")
	if err != nil {
		return err
	}
	// No controller removes a namespace of the real server, so each run needs a new one.
	namespace := fmt.Sprintf("%s-%x", p.name, time.Now().UnixNano())
	kubeconfigs := map[string]string{
		onReal: real.file("kubeconfig-admin"), onServe: plain.kubectl.kubeconfig, onSecure: secure.kubectl.kubeconfig,
	}
	results := make([]programResult, len(programServers))
	errs := make([]error, len(programServers))
	var all sync.WaitGroup
	for i, server := range programServers {
		all.Go(func() { results[i], errs[i] = runSteps(ctx, h, p, server, start, kubeconfigs[server], namespace) })
	}
	all.Wait()
	// The results of a retry replace the first ones.
	h.programs = slices.DeleteFunc(h.programs, func(r programResult) bool { return r.client == p.name })
	h.programs = append(h.programs, results...)
	for _, one := range results[1:] {
		if !slices.Equal(one.names, results[0].names) {
			errs = append(errs, fmt.Errorf("the steps with %s are %v, wanted those with %s: %v", one.server, one.names, results[0].server, results[0].names))
		}
	}
	return errors.Join(errs...)
}

// buildProgram builds the client with the full environment, since the download of packages can need a proxy.
func buildProgram(ctx context.Context, start string) error {
	command := exec.CommandContext(ctx, start, "--build")
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	text, err := command.CombinedOutput()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if command.ProcessState != nil && command.ProcessState.ExitCode() == programSkipped {
		return skippedError(strings.TrimPrefix(lines[len(lines)-1], "skipped: "))
	}
	return fmt.Errorf("%s --build: %w:\n  %s", start, err, strings.Join(lines[max(0, len(lines)-shownLogLines):], "\n  "))
}

// runSteps runs the client with one server. It fails if a step failed, or if the exit status contradicts the steps.
func runSteps(ctx context.Context, h *harness, p clientProgram, server, start, kubeconfig, namespace string) (programResult, error) {
	result := programResult{client: p.name, server: server, failures: map[string]string{}}
	text, err := h.run(ctx, "", start, kubeconfig, namespace)
	var errs []error
	for _, line := range strings.Split(text, "\n") {
		words := stepLine.FindStringSubmatch(line)
		switch {
		case words == nil:
		case words[1] != "":
			result.names = append(result.names, words[1])
		default:
			result.names = append(result.names, words[2])
			result.failures[words[2]] = words[3]
			errs = append(errs, fmt.Errorf("%s: %s: %s", server, words[2], words[3]))
		}
	}
	if len(errs) == 0 && err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", server, err))
	}
	if err == nil && (len(errs) > 0 || len(result.names) == 0) {
		errs = append(errs, fmt.Errorf("%s: exit status 0 with %d steps and %d failures", server, len(result.names), len(errs)))
	}
	return result, errors.Join(errs...)
}

// programTable returns the table of steps and clients. A cell is "ok", or names the servers with which the step failed.
func programTable(results []programResult) string {
	var clients, names []string
	for _, one := range results {
		if !slices.Contains(clients, one.client) {
			clients = append(clients, one.client)
		}
		previous := -1
		for _, name := range one.names { // keeps the order of the steps as far as the clients have the same order
			if at := slices.Index(names, name); at >= 0 {
				previous = at
				continue
			}
			previous++
			names = slices.Insert(names, previous, name)
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "| Step | %s |\n|---%s|\n", strings.Join(clients, " | "), strings.Repeat("|---", len(clients)))
	for _, name := range names {
		fmt.Fprintf(&table, "| `%s`", name)
		for _, client := range clients {
			fmt.Fprintf(&table, " | %s", programCell(results, client, name))
		}
		table.WriteString(" |\n")
	}
	return table.String()
}

// programCell returns a cell of the table; "" if the client has no such step.
func programCell(results []programResult, client, name string) string {
	runs := 0
	var failed []string
	for _, one := range results {
		if one.client != client || !slices.Contains(one.names, name) {
			continue
		}
		runs++
		if _, isFailure := one.failures[name]; isFailure {
			failed = append(failed, one.server)
		}
	}
	switch {
	case len(failed) > 0:
		return "**failed: " + strings.Join(failed, ", ") + "**"
	case runs == 0:
		return ""
	case runs < len(programServers):
		return "**not run with each server**"
	default:
		return "ok"
	}
}

// writeTable prints the table, and writes it to the file path unless path is "".
func writeTable(results []programResult, path string) error {
	if len(results) == 0 {
		return nil
	}
	table := programTable(results)
	for _, line := range strings.Split(strings.TrimSpace(table), "\n") {
		fmt.Println("#", line)
	}
	if path == "" {
		return nil
	}
	return os.WriteFile(path, []byte(table), 0o644)
}
