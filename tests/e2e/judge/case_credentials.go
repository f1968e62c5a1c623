// Credentials that change while kinformer watches: a token file, a credential plugin, client and server certificates. kinformer continues by
// itself and notifies of all changes. Also impersonation and --tls-server-name.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var credentialCases = []testCase{
	{name: "token-file-rotated", kinformerOnly: true, run: rotateToken(tokenFile)},
	{name: "exec-plugin", kinformerOnly: true, run: rotateToken(execPlugin)},
	{name: "certificates-renewed", kinformerOnly: true, isWaiting: true, run: certificatesRenewed},
	{name: "impersonation", kinformerOnly: true, run: impersonation},
	{name: "tls-server-name", kinformerOnly: true, run: tlsServerName},
	{name: "restart-credentials", kinformerOnly: true, run: restartCredentials},
}

// boundToken creates a secret, and a token of the service account that is bound to this secret. Deleting the secret revokes the token.
func (k kubectl) boundToken(ctx context.Context, secret string) (string, error) {
	if err := k.runAll(ctx, "create secret generic "+secret+" -n e2e"); err != nil {
		return "", err
	}
	out, err := k.run(ctx, "create", "token", "watcher", "-n", "e2e", "--bound-object-kind", "Secret", "--bound-object-name", secret)
	return strings.TrimSpace(out), err
}

func (k kubectl) createServiceAccount(ctx context.Context) error {
	return k.runAll(ctx, "create namespace e2e", "create serviceaccount watcher -n e2e",
		"create clusterrolebinding watcher --clusterrole=cluster-admin --serviceaccount=e2e:watcher")
}

// userKubeconfig writes a kubeconfig with this server address and these lines of the user.
func (h *harness) userKubeconfig(name, address, caFile string, user ...string) (string, error) {
	path := filepath.Join(h.caseDir, name)
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: e2e
clusters: [{name: e2e, cluster: {server: "https://%s", certificate-authority: %q}}]
contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}]
users:
- name: e2e
  user:
    %s
`, address, caFile, strings.Join(user, "\n    "))
	return path, os.WriteFile(path, []byte(text), 0o600)
}

func tokenFile(h *harness, token string) ([]string, error) {
	path := filepath.Join(h.caseDir, "token")
	return []string{fmt.Sprintf("tokenFile: %q", path)}, replaceFile(path, token)
}

// execPlugin writes a credential plugin. It prints the token with an expiry in two seconds. Each run appends a line to the file "runs".
func execPlugin(h *harness, token string) ([]string, error) {
	path := filepath.Join(h.caseDir, "plugin")
	script := fmt.Sprintf(`#!/bin/sh
echo "$KUBERNETES_EXEC_INFO" >>%[1]q/runs
date -u -d '+2 seconds' '+{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%[2]s","expirationTimestamp":"%%Y-%%m-%%dT%%H:%%M:%%SZ"}}'
`, h.caseDir, token)
	err := os.WriteFile(path+".new", []byte(script), 0o700)
	return []string{fmt.Sprintf("exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, interactiveMode: Never, provideClusterInfo: true}",
		path)}, errors.Join(err, os.Rename(path+".new", path))
}

// replaceFile replaces a file atomically.
func replaceFile(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// serverWithToken starts a server for this case, and creates the service account watcher and a bound token for it.
func (h *harness) serverWithToken(ctx context.Context) (*server, kubectl, string, error) {
	s, k, err := h.preparedServer(ctx)
	if err != nil {
		return nil, k, "", err
	}
	if err := k.createServiceAccount(ctx); err != nil {
		return nil, k, "", err
	}
	token, err := k.boundToken(ctx, "first")
	return s, k, token, err
}

// watchAndAwaitPod watches pods with a kubeconfig, and waits until kinformer has notified of a new pod.
func (h *harness) watchAndAwaitPod(ctx context.Context, k kubectl, kubeconfig string) (*watcher, error) {
	w, err := h.watchUntilSynced(ctx, []string{"--kubeconfig", kubeconfig}, "pods", "pods")
	if err != nil {
		return nil, err
	}
	return w, w.awaitNewPod(ctx, k, "before")
}

// rotateToken is a case that revokes the token of kinformer's watch after it has put a new token in the file or plugin.
func rotateToken(user func(h *harness, token string) ([]string, error)) func(context.Context, *harness) error {
	return func(ctx context.Context, h *harness) error {
		s, k, first, err := h.serverWithToken(ctx)
		if err != nil {
			return err
		}
		g, err := h.openGate("tcp", s.address())
		if err != nil {
			return err
		}
		lines, err := user(h, first)
		if err != nil {
			return err
		}
		kubeconfig, err := h.userKubeconfig("kubeconfig", g.address, s.file("ca.crt"), lines...)
		if err != nil {
			return err
		}
		w, err := h.watchAndAwaitPod(ctx, k, kubeconfig)
		if err != nil {
			return err
		}
		second, err := k.boundToken(ctx, "second")
		if err != nil {
			return err
		}
		if _, err := user(h, second); err != nil {
			return err
		}
		if err := k.runAll(ctx, "delete secret first -n e2e"); err != nil {
			return err
		}
		if err := awaitTokenRevoked(ctx, s, first); err != nil {
			return err
		}
		g.cut()
		if err := w.awaitNewPod(ctx, k, "after"); err != nil {
			return err
		}
		errs := []error{w.checkState(ctx, k, "pods", "after the rotation")}
		if strings.HasPrefix(lines[0], "exec:") {
			text, err := os.ReadFile(filepath.Join(h.caseDir, "runs"))
			if err != nil || bytes.Count(text, []byte("\n")) < 2 || !bytes.Contains(text, []byte(`"interactive":false`)) ||
				!bytes.Contains(text, []byte(`"server":"https://`+g.address)) {
				errs = append(errs, fmt.Errorf("wanted two runs of the plugin with interactive=false and the server, got KUBERNETES_EXEC_INFO %s", text))
			}
		}
		if log, err := os.ReadFile(w.process.logPath); err != nil || bytes.Contains(log, []byte(first)) || bytes.Contains(log, []byte(second)) {
			errs = append(errs, errors.New("kinformer's log contains a token, or cannot be read"), err)
		}
		return errors.Join(append(errs, w.process.stop())...)
	}
}

// awaitCondition polls until the condition holds or ctx ends.
func awaitCondition(ctx context.Context, what string, holds func() bool) error {
	for !holds() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("timeout while waiting for %s", what)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// awaitTokenRevoked waits until the server rejects the token. The server caches valid tokens.
func awaitTokenRevoked(ctx context.Context, s *server, token string) error {
	config, err := s.restConfig()
	if err != nil {
		return err
	}
	config.BearerToken, config.BearerTokenFile = token, ""
	return awaitCondition(ctx, "the revocation of the token", func() bool { return isUnauthorized(ctx, config) })
}

// certificatesRenewed replaces the CA, the server certificate and the client certificate. kinformer must reread the files, reconnect, and resume
// its watches.
func certificatesRenewed(ctx context.Context, h *harness) error {
	s, k, err := h.preparedServer(ctx, "create namespace e2e")
	if err != nil {
		return err
	}
	g, err := h.openGate("tcp", s.address())
	if err != nil {
		return err
	}
	for _, name := range []string{"ca.crt", "kinformer.crt", "kinformer.key"} {
		text, err := os.ReadFile(s.file(name))
		if err != nil {
			return err
		}
		if err := replaceFile(filepath.Join(h.caseDir, name), string(text)); err != nil {
			return err
		}
	}
	kubeconfig, err := h.userKubeconfig("kubeconfig", g.address, filepath.Join(h.caseDir, "ca.crt"),
		"client-certificate: kinformer.crt", "client-key: kinformer.key")
	if err != nil {
		return err
	}
	w, err := h.watchAndAwaitPod(ctx, k, kubeconfig)
	if err != nil {
		return err
	}
	_, mark, err := s.requests(0)
	if err != nil {
		return err
	}
	before := g.connections()
	authority, err := s.renew(h)
	if err != nil {
		return err
	}
	if err := awaitCondition(ctx, "the server's new certificate", func() bool {
		connection, err := tls.Dial("tcp", s.address(), &tls.Config{RootCAs: authority})
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	}); err != nil {
		return err
	}
	if err := awaitCondition(ctx, "kinformer's new connection", func() bool { return g.connections() > before }); err != nil {
		return err
	}
	if err := w.awaitNewPod(ctx, k, "after"); err != nil {
		return err
	}
	// A further connection works, too.
	g.cut()
	if err := w.awaitNewPod(ctx, k, "later"); err != nil {
		return err
	}
	return errors.Join(w.checkState(ctx, k, "pods", "after the renewal"), checkNoList(s, mark, "pods"), w.process.stop())
}

// checkNoList checks that kinformer has made no list since the mark.
func checkNoList(s *server, mark int64, resource string) error {
	requests, _, err := s.requests(mark)
	if err != nil {
		return err
	}
	lists := count(requests, resource, func(r request) bool { return isPlainList(r) || isStreamingList(r) })
	if lists != 0 {
		return fmt.Errorf("kinformer listed %s again: %+v", resource, requests)
	}
	return nil
}

func impersonation(ctx context.Context, h *harness) error {
	s, err := h.realServer(ctx)
	if err != nil {
		return err
	}
	get := func(flags ...string) error {
		_, err := h.run(ctx, "", append([]string{h.kinformer, "get", "namespaces", "-o", "name", "--timeout", "60s",
			"--kubeconfig", s.file("kubeconfig-kinformer")}, flags...)...)
		return err
	}
	before, err := os.Stat(s.file("audit.log"))
	if err != nil {
		return err
	}
	if err := get("--as", "somebody", "--as-uid", "u-1", "--as-group", "system:masters", "--as-group", "others",
		"--as-user-extra", "example.com/scope=a b", "--as-user-extra", "example.com/scope=c"); err != nil {
		return err
	}
	log, err := os.ReadFile(s.file("audit.log"))
	if err != nil {
		return err
	}
	want := `"impersonatedUser":{"username":"somebody","uid":"u-1","groups":["system:masters","others","system:authenticated"],"extra":{"example.com/scope":["a b","c"]}}`
	if !bytes.Contains(log[before.Size():], []byte(want)) {
		return fmt.Errorf("the audit log does not contain %s", want)
	}
	// The permissions are those of the impersonated user.
	err = get("--as", "somebody-else", "--timeout", "5s")
	if err == nil || !strings.Contains(err.Error(), `"somebody-else" cannot list`) {
		return fmt.Errorf("list as somebody-else: %v, wanted an error with %q", err, `"somebody-else" cannot list`)
	}
	return nil
}

func tlsServerName(ctx context.Context, h *harness) error {
	s, err := h.realServer(ctx)
	if err != nil {
		return err
	}
	g, err := h.openGateAt("127.0.0.2:0", "tcp", s.address()) // an address that is not in the server's certificate
	if err != nil {
		return err
	}
	connection, err := s.through(g)
	if err != nil {
		return err
	}
	get := func(flags ...string) error {
		_, err := h.run(ctx, "", append(append([]string{h.kinformer, "get", "namespaces", "-o", "name"}, connection...), flags...)...)
		return err
	}
	if err := get("--timeout", "60s", "--tls-server-name", "localhost"); err != nil {
		return err
	}
	for _, flags := range [][]string{{"--timeout", "5s"}, {"--timeout", "5s", "--tls-server-name", "elsewhere"}} {
		if err := get(flags...); err == nil || !strings.Contains(err.Error(), "tls-server-name") {
			return fmt.Errorf("get with %v: %v, wanted an error that names tls-server-name", flags, err)
		}
	}
	return nil
}

// restartCredentials restarts the server while kinformers with each kind of credentials watch.
func restartCredentials(ctx context.Context, h *harness) error {
	s, k, token, err := h.serverWithToken(ctx)
	if err != nil {
		return err
	}
	fromFile, err := tokenFile(h, token)
	if err != nil {
		return err
	}
	fromPlugin, err := execPlugin(h, token)
	if err != nil {
		return err
	}
	users := map[string][]string{
		"token":       {"token: " + token},
		"token-file":  fromFile,
		"exec":        fromPlugin,
		"certificate": {fmt.Sprintf("client-certificate: %q", s.file("kinformer.crt")), fmt.Sprintf("client-key: %q", s.file("kinformer.key"))},
	}
	var watchers []*watcher
	for name, user := range users {
		kubeconfig, err := h.userKubeconfig("kubeconfig-"+name, s.address(), s.file("ca.crt"), user...)
		if err != nil {
			return err
		}
		w, err := h.watch("kinformer-"+name, "pods", "-A", "--kubeconfig", kubeconfig)
		if err != nil {
			return err
		}
		watchers = append(watchers, w)
	}
	for _, w := range watchers {
		if err := w.awaitSynced(ctx, "pods"); err != nil {
			return err
		}
	}
	if err := s.process.stop(); err != nil {
		return err
	}
	if s, err = h.ownServer(ctx); err != nil {
		return err
	}
	if err := k.runAll(ctx, "run after -n e2e --image=example.com/after:1"); err != nil {
		return err
	}
	var errs []error
	for _, w := range watchers {
		if err := w.awaitAll(ctx, addedChange, identity{"Pod", "e2e", "after"}); err != nil {
			return err
		}
		errs = append(errs, w.checkState(ctx, k, "pods", w.process.name), w.process.stop())
	}
	return errors.Join(errs...)
}

func encodePEM(text []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(text)) }
