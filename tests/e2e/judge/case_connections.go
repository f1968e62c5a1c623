// The connections of watches: through proxies, shared by many informers, and half-open.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"
)

var connectionCases = []testCase{
	{name: "proxy-http", kinformerOnly: true, run: throughProxy("http", serveConnect)},
	{name: "proxy-socks5", kinformerOnly: true, run: throughProxy("socks5", serveSocks)},
	{name: "many-informers", kinformerOnly: true, run: manyInformers},
	{name: "half-open", kinformerOnly: true, isWaiting: true, run: halfOpen},
	{name: "half-open-plain", kinformerOnly: true, isWaiting: true, run: halfOpenPlain},
}

func throughProxy(scheme string, serve func(*testProxy, net.Conn) (string, error)) func(context.Context, *harness) error {
	return func(ctx context.Context, h *harness) error {
		s, err := h.realServer(ctx)
		if err != nil {
			return err
		}
		f, err := h.openProxy(serve)
		if err != nil {
			return err
		}
		defer f.listener.Close()
		connection := []string{"--kubeconfig", s.file("kubeconfig-kinformer"), "--proxy-url"}
		url := func(password string) string {
			return scheme + "://" + proxyUser + ":" + strings.ReplaceAll(password, "%", "%25") + "@" + f.listener.Addr().String()
		}
		w, err := h.watch("kinformer", append(append([]string{"namespaces"}, connection...), url(proxyPassword))...)
		if err != nil {
			return err
		}
		if err := w.awaitSynced(ctx, "namespaces"); err != nil {
			return err
		}
		k := h.kubectl(s)
		if err := k.runAll(ctx, "create namespace e2e-"+scheme); err != nil {
			return err
		}
		if err := w.awaitAll(ctx, addedChange, identity{"Namespace", "", "e2e-" + scheme}); err != nil {
			return err
		}
		out, err := h.run(ctx, "", append(append([]string{h.kinformer, "get", "namespaces", "--timeout", "5s"}, connection...), url("wr0ng-w0rd"))...)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || out != "" {
			return fmt.Errorf("with a wrong proxy password: error %v, output %q; wanted an exit status other than 0 and no output", err, out)
		}
		stderr := err.Error()[strings.Index(err.Error(), "exit status"):]
		if strings.Contains(stderr, "wr0ng-w0rd") || !strings.Contains(strings.ToLower(stderr), "proxy") {
			return fmt.Errorf("the error has the proxy password, or does not name the proxy: %s", stderr)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.forwarded == 0 || f.rejected == 0 || f.leak != "" {
			return fmt.Errorf("the proxy forwarded %d connections and rejected %d, wanted both: %s", f.forwarded, f.rejected, f.leak)
		}
		return errors.Join(w.check(), w.process.stop())
	}
}

// The number of informers of one kinformer, and the limit of connections that they share.
const informerCount, maxConnections = 100, 2

// manyInformers watches a hundred custom resources at the same time.
func manyInformers(ctx context.Context, h *harness) error {
	s, err := h.ownServer(ctx)
	if err != nil {
		return err
	}
	k := h.kubectl(s)
	var definitions []any
	var resources []string
	for i := range informerCount {
		plural := fmt.Sprintf("things%d", i)
		definitions = append(definitions, definition(plural, fmt.Sprintf("Thing%d", i)))
		resources = append(resources, plural+".v1.e2e.example.com")
	}
	text, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": definitions})
	if err != nil {
		return err
	}
	if _, err := k.runInput(ctx, string(text), "create", "--validate=false", "-f", "-"); err != nil {
		return err
	}
	if _, err := k.run(ctx, "wait", "--for=condition=established", "--timeout=120s", "crd", "--all"); err != nil {
		return err
	}
	g, err := h.openGate("tcp", s.address())
	if err != nil {
		return err
	}
	connection, err := s.through(g)
	if err != nil {
		return err
	}
	t, err := h.watchMany(resources, connection, func() string { return fmt.Sprintf("%d connections", g.connections()) })
	if err != nil {
		return err
	}
	if err := t.await(ctx, "all to be synced", func() bool { return len(t.synced) == informerCount }); err != nil {
		return err
	}
	// One object of the first resource and one of the last: both watches work.
	for _, i := range []int{0, informerCount - 1} {
		if err := k.create(ctx, object{"apiVersion": "e2e.example.com/v1", "kind": fmt.Sprintf("Thing%d", i),
			"metadata": object{"name": "the-one", "namespace": "default"}}); err != nil {
			return err
		}
	}
	last := fmt.Sprintf("Thing%d", informerCount-1)
	if err := t.await(ctx, "both changes", func() bool { return t.added["Thing0"] == 1 && t.added[last] == 1 }); err != nil {
		return err
	}
	if n := g.connections(); n > maxConnections {
		return fmt.Errorf("%d informers made %d connections, wanted at most %d", informerCount, n, maxConnections)
	}
	return t.process.stop()
}

func definition(plural, kind string) object {
	return object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": plural + ".e2e.example.com"},
		"spec": object{"group": "e2e.example.com", "scope": "Namespaced",
			"names": object{"plural": plural, "singular": strings.ToLower(kind), "kind": kind},
			"versions": []any{object{"name": "v1", "served": true, "storage": true,
				"schema": object{"openAPIV3Schema": object{"type": "object"}}}}}}
}

// kinformer detects a dead connection within 45 s, or within 90 s if something between client and server acknowledges its packets. Then it has
// catchUpLimit to back off, to connect, and to get the missed changes.
const (
	noticeLimit  = 45 * time.Second
	silenceLimit = 90 * time.Second
	catchUpLimit = 5 * time.Second
)

// checkRecoveryTime is called once kinformer is up to date again. It prints the time since the connection died, and checks the limit.
func checkRecoveryTime(died time.Time, limit time.Duration) error {
	took := time.Since(died)
	fmt.Printf("# half-open connection: up to date again %.1f s after it died\n", took.Seconds())
	if took > limit+catchUpLimit {
		return fmt.Errorf("up to date again %s after the connection died, wanted at most %s + %s", took, limit, catchUpLimit)
	}
	return nil
}

func halfOpen(ctx context.Context, h *harness) error {
	s, k, err := h.preparedServer(ctx, "create namespace e2e")
	if err != nil {
		return err
	}
	g, w, err := h.watchBehindGate(ctx, s, watchedResources, "pods", "deployments", "namespaces")
	if err != nil {
		return err
	}
	if err := w.awaitNewPod(ctx, k, "before"); err != nil {
		return err
	}
	_, mark, err := s.requests(0)
	if err != nil {
		return err
	}
	before := g.connections()
	died := time.Now()
	g.makeHalfOpen()
	if err := k.runAll(ctx, "run after -n e2e --image=example.com/after:1", "label pod before -n e2e dropped=yes",
		"create deployment after -n e2e --image=example.com/after:1"); err != nil {
		return err
	}
	if err := awaitCondition(ctx, "another connection", func() bool { return g.connections() > before }); err != nil {
		return err
	}
	if err := w.awaitAll(ctx, addedChange, identity{"Pod", "e2e", "after"}, identity{"Deployment", "e2e", "after"}); err != nil {
		return err
	}
	errs := []error{checkRecoveryTime(died, noticeLimit)}
	for resource := range kindOf {
		errs = append(errs, checkNoList(s, mark, resource))
	}
	return errors.Join(append(errs, w.checkState(ctx, k, watchedResources, "after the silence"), w.process.stop())...)
}
