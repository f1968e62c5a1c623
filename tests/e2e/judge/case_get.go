// `kinformer get` against the real server, with each kind of connection flags.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

var getCases = []testCase{
	{name: "get-real", run: getReal},
	{name: "connect-kubeconfig-token", run: connect(func(s *server) ([]string, error) {
		return []string{"--kubeconfig", s.file("kubeconfig-kinformer")}, nil
	})},
	{name: "connect-kubeconfig-cert-files", run: connect(func(s *server) ([]string, error) {
		return []string{"--kubeconfig", s.file("kubeconfig-cert-files")}, nil
	})},
	{name: "connect-kubeconfig-cert-data", run: connect(func(s *server) ([]string, error) {
		return []string{"--kubeconfig", s.file("kubeconfig-cert-data")}, nil
	})},
	{name: "connect-flags", run: connect(func(s *server) ([]string, error) {
		token, err := os.ReadFile(s.file("kinformer.token"))
		return []string{"--server", s.url, "--token", string(token), "--certificate-authority", s.file("ca.crt")}, err
	})},
	{name: "get-names", kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		s, err := h.realServer(ctx)
		if err != nil {
			return err
		}
		return getNames(ctx, h.kubectl(s), "--kubeconfig", s.file("kubeconfig-kinformer"))
	}},
	{name: "serve-get-names", kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		s, err := h.serve(ctx)
		if err != nil {
			return err
		}
		return getNames(ctx, s.kubectl, "--server", s.url)
	}},
	{name: "get-ends", kinformerOnly: true, run: getErrors},
	{name: "refused-token", kinformerOnly: true, run: checkRejected("not-a-token", "unauthorized")},
	{name: "refused-forbidden", kinformerOnly: true, run: checkRejected("", "forbidden")},
}

// getReal compares the objects with kubectl's: all namespaces, one namespace, one object by name, and selectors.
func getReal(ctx context.Context, h *harness) error {
	s, err := h.realServer(ctx)
	if err != nil {
		return err
	}
	k := h.kubectl(s)
	if err := k.runAll(ctx,
		"create namespace get-one", "create namespace get-two",
		"run a -n get-one --image=example.com/a:1 --labels=app=a,tier=front",
		"run b -n get-one --image=example.com/b:1 --labels=app=b,tier=front",
		"run a -n get-two --image=example.com/a:1 --labels=app=a",
		"create deployment web -n get-two --image=example.com/web:1",
	); err != nil {
		return err
	}
	connection := []string{"--kubeconfig", s.file("kubeconfig-kinformer")}
	var errs []error
	for _, line := range []string{
		"get pods -A -o json",
		"get po -A -o json",
		"get deployments.apps -A -o json",
		"get namespaces -o json",
		"get pods -n get-one -o json",
		"get pods -A -l app=a -o json",
		"get pods -A --field-selector metadata.namespace=get-two -o json",
		"get pods -n get-one -l app=nothing -o json",
	} {
		want, err := k.run(ctx, strings.Fields(line)...)
		if err != nil {
			return err
		}
		wanted, err := parseList([]byte(want))
		if err != nil {
			return err
		}
		out, err := h.run(ctx, "", append(append([]string{h.kinformer}, strings.Fields(line)...), connection...)...)
		if err != nil {
			return err
		}
		got, err := parseList([]byte(out))
		if err != nil {
			return fmt.Errorf("kinformer %s: %w", line, err)
		}
		errs = append(errs, compareObjects("kinformer "+line, got, wanted))
	}
	line := "get pods a -n get-one -o json"
	want, err := k.run(ctx, strings.Fields(line)...)
	if err != nil {
		return err
	}
	out, err := h.run(ctx, "", append(append([]string{h.kinformer}, strings.Fields(line)...), connection...)...)
	if err != nil {
		return err
	}
	var got, wanted object
	if err := errors.Join(decode([]byte(out), &got), decode([]byte(want), &wanted)); err != nil {
		return err
	}
	if path := difference("", got, wanted); path != "" {
		errs = append(errs, fmt.Errorf("kinformer %s differs at %s", line, path))
	}
	return errors.Join(errs...)
}

// connect is a case that lists the namespaces with these connection flags, and compares them with the administrator's list.
func connect(flags func(*server) ([]string, error)) func(context.Context, *harness) error {
	return func(ctx context.Context, h *harness) error {
		s, err := h.realServer(ctx)
		if err != nil {
			return err
		}
		connection, err := flags(s)
		if err != nil {
			return err
		}
		want, err := h.kubectl(s).list(ctx, "namespaces")
		if err != nil {
			return err
		}
		out, err := h.run(ctx, "", append([]string{h.kinformer, "get", "namespaces", "-o", "json"}, connection...)...)
		if err != nil {
			return err
		}
		got, err := parseList([]byte(out))
		if err != nil {
			return err
		}
		return compareObjects("the namespaces", got, want)
	}
}

// checkRejected is a case in which the server rejects kinformer's token; "" is the token of a user without permissions. kinformer prints the
// reason and exits with status 3 within --timeout.
func checkRejected(token, why string) func(context.Context, *harness) error {
	return func(ctx context.Context, h *harness) error {
		s, err := h.realServer(ctx)
		if err != nil {
			return err
		}
		if token == "" {
			text, err := os.ReadFile(s.file("nobody.token"))
			if err != nil {
				return err
			}
			token = string(text)
		}
		out, err := h.run(ctx, "", h.kinformer, "get", "pods", "-A", "-o", "json", "--timeout", "3s", "--server", s.url,
			"--token", token, "--certificate-authority", s.file("ca.crt"))
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.Contains(strings.ToLower(err.Error()), why) {
			return fmt.Errorf("wanted exit status 3 and %q, got: %v", why, err)
		}
		if strings.Contains(err.Error()[strings.Index(err.Error(), "exit status"):], token) {
			return fmt.Errorf("the error contains the token: %w", err)
		}
		if out != "" {
			return fmt.Errorf("standard output is %.200q, wanted none", out)
		}
		return nil
	}
}

// kubectlOutput runs a program, and returns its standard output, kubectl's messages on standard error, and whether the program succeeded.
func kubectlOutput(ctx context.Context, h *harness, argv ...string) (string, bool) {
	out, err := h.run(ctx, "", argv...)
	if err == nil {
		return out, true
	}
	var lines []string
	for _, line := range strings.Split(err.Error(), "\n") {
		for _, begin := range []string{"Error from server", "error: You must be", "The connection to the server", "Unable to connect to the server"} {
			if at := strings.Index(line, begin); at >= 0 {
				lines = append(lines, line[at:])
			}
		}
	}
	return out + strings.Join(lines, "\n"), false
}

// getNames tests each form of names that kubectl accepts, flags before the command, and missing names. Output and messages must equal kubectl's.
func getNames(ctx context.Context, k kubectl, connection ...string) error {
	if err := k.runAll(ctx, "create namespace names", "create configmap a -n names", "create configmap b -n names",
		"create secret generic a -n names"); err != nil {
		return err
	}
	kubectlArgv := k.argv()
	var differences []string
	for _, words := range [][]string{
		{"get", "-n", "names", "configmaps/a", "-o", "name"},
		{"get", "componentstatuses", "etcd-0", "-o", "name"}, // they have no verb watch
		{"get", "-n", "names", "cm/b", "configmaps/a", "-o", "name"},
		{"get", "-n", "names", "configmaps", "b", "a", "-o", "name"},
		{"-n", "names", "get", "configmaps", "b", "a", "-o", "yaml"},
		{"--namespace=names", "get", "cm/a", "secrets/a", "configmap/b", "-o", "name"},
		{"get", "-n", "names", "configmaps,secrets", "a", "-o", "name"},
		{"get", "-n", "names", "configmaps,secrets", "b", "-o", "name"},
		{"get", "-n", "names", "cm/a", "cm/nothing", "-o", "name"},
		{"get", "-n", "names", "cm/a", "cm/nothing", "-o", "yaml"},
		{"get", "-n", "names", "cm", "some", "nothing", "-o", "name"},
		{"get", "-n", "names", "cm/nothing", "-o", "yaml"},
		{"get", "-n", "names", "cm", "a,metadata.name!=b", "-o", "name"},
		{"get", "-n", "names", "cm", `a\`, "-o", "name"},
		{"get", "-n", "names", "cm", "a=b", "-o", "name"},
	} {
		want, wantOK := kubectlOutput(ctx, k.h, append(append([]string{}, kubectlArgv...), words...)...)
		got, gotOK := kubectlOutput(ctx, k.h, append(append([]string{k.h.kinformer}, words...), connection...)...)
		if got != want || gotOK != wantOK {
			differences = append(differences, fmt.Sprintf("%s: %s", strings.Join(words, " "), firstDifference(got, want)))
		}
	}
	return report("get with names compared with kubectl", differences)
}

// getErrors checks that `kinformer get` fails immediately with kubectl's message if a retry cannot help. kinformer prints more lines after the
// message.
func getErrors(ctx context.Context, h *harness) error {
	s, err := h.realServer(ctx)
	if err != nil {
		return err
	}
	nobody, closed, err := s.nobodyAndClosedPort()
	if err != nil {
		return err
	}
	// Fills kubectl's discovery cache: without the cache, kubectl fails with other messages.
	k := h.kubectl(s)
	if _, err := k.run(ctx, "get", "pods"); err != nil {
		return err
	}
	kubectl := k.argv("get", "pods", "-n", "default")
	kubectl[2] = "/dev/null" // no kubeconfig
	ca := []string{"--certificate-authority", s.file("ca.crt")}
	scenarios := []struct {
		name       string
		flags      []string
		prefixOnly bool // compare the message up to the first colon only
	}{
		{"a wrong token", append([]string{"--server", s.url, "--token", "wrong"}, ca...), false},
		{"no permission", append([]string{"--server", s.url, "--token", nobody}, ca...), false},
		{"a closed port", []string{"--server", closed, "--token", "x"}, false},
		{"an unknown host", []string{"--server", "https://there.invalid", "--token", "x"}, true},
		{"another authority", []string{"--server", s.url, "--token", "x"}, true},
	}
	var differences []string
	for _, scenario := range scenarios {
		want, _ := kubectlOutput(ctx, h, append(append([]string{}, kubectl...), scenario.flags...)...)
		got, ok := kubectlOutput(ctx, h, append([]string{h.kinformer, "get", "pods", "-n", "default"}, scenario.flags...)...)
		if scenario.prefixOnly {
			want, got = strings.SplitN(want, ":", 2)[0], strings.SplitN(got, ":", 2)[0]
		}
		if ok || want == "" || got != want {
			differences = append(differences, fmt.Sprintf("%s: succeeded: %t, message %q, wanted an error with %q", scenario.name, ok, got, want))
		}
	}
	return report("errors of get compared with kubectl", differences)
}
