// `kinformer get` against the real server, by each way of connecting.
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
	{name: "refused-token", kinformerOnly: true, run: refused("not-a-token", "unauthorized")},
	{name: "refused-forbidden", kinformerOnly: true, run: refused("", "forbidden")},
}

// getReal: the same objects as kubectl's, of all namespaces, of one, one by name, and those of a selector.
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

// connect is a case that gets the namespaces by some way of connecting: kinformer sees what the administrator sees.
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

// refused is a case in which the server refuses kinformer by its token, or, where none is given, by that of a user who may
// do nothing: kinformer says why, and ends with status 3 in the time it is given.
func refused(token, why string) func(context.Context, *harness) error {
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
			return fmt.Errorf("no exit status 3 and %q, but: %v", why, err)
		}
		if strings.Contains(err.Error()[strings.Index(err.Error(), "exit status"):], token) {
			return fmt.Errorf("the token is shown: %w", err)
		}
		if out != "" {
			return fmt.Errorf("prints %.200q", out)
		}
		return nil
	}
}
