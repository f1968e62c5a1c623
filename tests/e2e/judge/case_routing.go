// Proxies that the library keeps current, under load while endpoints come and go: HAProxy by examples/haproxy-backends, nginx by examples/lua.
// The proxy reloads, and the API server restarts. No request fails, and none reaches an endpoint long after its deletion.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	changesBefore = 40 // of endpoints, before a restart
	changesAfter  = 10
)

var routingCases = []testCase{
	{name: "haproxy-backends", kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		return route(ctx, h, haproxyProgram, (*proxy).startHAProxy)
	}},
	{name: "nginx-lua", kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		return route(ctx, h, nginxModule, (*proxy).startNginx)
	}},
}

const (
	haproxyProgram = "/usr/sbin/haproxy"
	nginxProgram   = "/usr/sbin/nginx"
	nginxModule    = "/usr/lib/nginx/modules/ngx_http_lua_module.so"
	nginxWorkers   = 2 // of the example's configuration
	namespace      = "shop"
	sliceFields    = "endpoints[].addresses,endpoints[].conditions.ready,endpoints[].conditions.ready:present,ports[].name,ports[].port"
)

// proxy is a program that routes requests for cart.shop, in a folder of its own.
type proxy struct {
	h       *harness
	s       *server
	folder  string
	address string
	process *process
	watches int                             // informers of the proxy
	reload  func(ctx context.Context) error // replaces the processes that serve
	restart func(ctx context.Context) error // after the load; nil: nothing
}

func route(ctx context.Context, h *harness, need string, start func(*proxy, context.Context) error) error {
	if _, err := os.Stat(need); err != nil {
		return skippedError("there is no " + need)
	}
	s, err := h.ownServer(ctx)
	if err != nil {
		return err
	}
	st, err := h.newStage(ctx, s, namespace)
	if err != nil {
		return err
	}
	f, err := newFleet(st)
	if err != nil {
		return err
	}
	defer f.close()
	for range 3 {
		if _, err := f.come(ctx); err != nil {
			return err
		}
	}
	closed, err := closedPort()
	if err != nil {
		return err
	}
	p := &proxy{h: h, s: s, folder: filepath.Join(h.caseDir, "proxy"), address: strings.TrimPrefix(closed, "https://")}
	if err := os.MkdirAll(filepath.Join(p.folder, "run"), 0o700); err != nil {
		return err
	}
	if err := start(p, ctx); err != nil {
		return err
	}
	if err := p.awaitOK(ctx, "first response"); err != nil {
		return err
	}
	l := startLoad(ctx, p.url(), p.host())
	err = p.disturb(ctx, f)
	if endErr := l.end(f); err == nil {
		err = endErr
	}
	if err == nil && p.restart != nil {
		err = p.restart(ctx)
	}
	return err
}

// disturb changes the endpoints, reloads the proxy, and restarts the API server.
func (p *proxy) disturb(ctx context.Context, f *fleet) error {
	if err := f.change(ctx, changesBefore); err != nil {
		return err
	}
	if err := p.reload(ctx); err != nil {
		return err
	}
	if err := f.change(ctx, changesAfter); err != nil {
		return err
	}
	_, mark, err := p.s.requests(0)
	if err != nil {
		return err
	}
	if err := p.s.process.stop(); err != nil {
		return err
	}
	if p.s, err = p.h.ownServer(ctx); err != nil {
		return err
	}
	if f.st.client, err = p.s.client(); err != nil {
		return err
	}
	if err := p.awaitWatches(ctx, mark); err != nil {
		return err
	}
	return f.change(ctx, changesAfter)
}

// awaitWatches waits until each informer of the proxy has a watch again. Until then it cannot know of a change.
func (p *proxy) awaitWatches(ctx context.Context, mark int64) error {
	return awaitState(ctx, "watches of the proxy", func() (string, error) {
		requests, _, err := p.s.requests(mark)
		if err != nil {
			return "", err
		}
		opened := count(requests, endpointSlices.Resource, func(r request) bool { return r.verb == "watch" && r.code == http.StatusOK })
		if opened < p.watches {
			return fmt.Sprintf("%d of %d", opened, p.watches), nil
		}
		return "", nil
	})
}

func (p *proxy) url() string  { return "http://" + p.address + "/" }
func (p *proxy) host() string { return "cart." + namespace }

func (p *proxy) awaitOK(ctx context.Context, what string) error {
	return awaitState(ctx, what, func() (string, error) {
		if err := get(http.DefaultClient, p.url(), p.host()); err != nil {
			return err.Error(), nil
		}
		return "", nil
	})
}

// copyConfiguration copies a configuration of the examples, with the address of this proxy.
func (p *proxy) copyConfiguration(example, name string) error {
	text, err := os.ReadFile(filepath.Join(p.h.examples, example, name))
	if err != nil {
		return err
	}
	const usual = "127.0.0.1:8080"
	if strings.Count(string(text), usual) != 1 {
		return fmt.Errorf("%s does not have %s once", name, usual)
	}
	return os.WriteFile(filepath.Join(p.folder, name), []byte(strings.Replace(string(text), usual, p.address, 1)), 0o600)
}

// startHAProxy starts HAProxy, and the controller of the example.
func (p *proxy) startHAProxy(ctx context.Context) error {
	program, err := p.h.builtProgram("examples", "example-haproxy-backends")
	if err != nil {
		return err
	}
	if err := p.copyConfiguration("haproxy-backends", "haproxy.cfg"); err != nil {
		return err
	}
	startProgram := func() (err error) {
		if p.process, err = p.h.start("haproxy", nil, "env", "-C", p.folder, haproxyProgram, "-W", "-f", "haproxy.cfg"); err == nil {
			p.process.killed = true // HAProxy ends with status 143 after a SIGTERM
		}
		return err
	}
	if err := startProgram(); err != nil {
		return err
	}
	p.reload = func(ctx context.Context) error {
		before, err := p.haproxyPid()
		if err != nil {
			return err
		}
		if err := p.process.command.Process.Signal(syscall.SIGUSR2); err != nil {
			return err
		}
		return awaitState(ctx, "reload of HAProxy", func() (string, error) {
			now, err := p.haproxyPid()
			if err != nil || now == before {
				return fmt.Sprintf("worker %q: %v", now, err), nil
			}
			return "", nil
		})
	}
	p.watches = 1
	controller, err := p.h.start("haproxy-backends", nil, "env", "-C", p.folder, "KUBECONFIG="+p.s.file("kubeconfig-kinformer"), program,
		namespace, "cart", "", "pods", "run/haproxy.sock", "run/pods")
	// HAProxy alone starts with the servers of before: its first response is that of an endpoint.
	p.restart = func(ctx context.Context) error {
		if err := errors.Join(controller.stop(), p.process.stop(), startProgram()); err != nil {
			return err
		}
		if err := awaitState(ctx, "HAProxy's port", func() (string, error) {
			connection, err := net.Dial("tcp", p.address)
			if err != nil {
				return err.Error(), nil
			}
			return "", connection.Close()
		}); err != nil {
			return err
		}
		return get(http.DefaultClient, p.url(), p.host())
	}
	return err
}

// haproxyPid returns the line with the process that has the runtime socket.
func (p *proxy) haproxyPid() (string, error) {
	connection, err := net.Dial("unix", filepath.Join(p.folder, "run", "haproxy.sock"))
	if err != nil {
		return "", err
	}
	out := newLines()
	defer connection.Close()
	if _, err := fmt.Fprintln(connection, "show info"); err != nil {
		return "", err
	}
	if err := readLines(connection, out.addLine); err != nil {
		return "", err
	}
	if found := out.withPrefix("Pid:"); len(found) == 1 {
		return found[0], nil
	}
	return "", fmt.Errorf("no Pid in the %d lines of show info", len(out.all))
}

// startNginx starts nginx with the Lua of the example.
func (p *proxy) startNginx(ctx context.Context) error {
	if err := p.copyConfiguration("lua", "nginx.conf"); err != nil {
		return err
	}
	for name, arguments := range map[string][]string{
		"kinformer.ffi": {"gen", "--ffi"},
		"slice.ffi": {"gen", "endpointslices", "--name", "slice", "--fields", sliceFields, "--ffi",
			"--kubeconfig", p.s.file("kubeconfig-kinformer")},
	} {
		text, err := p.h.run(ctx, "", append([]string{p.h.kinformer}, arguments...)...)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(p.folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	lua, err := os.ReadFile(filepath.Join(p.h.examples, "lua", "kinformer.lua"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(p.folder, "kinformer.lua"), lua, 0o600); err != nil {
		return err
	}
	library, err := p.h.builtProgram("lib")
	if err != nil {
		return err
	}
	argv := []string{"env", "KUBECONFIG=" + p.s.file("kubeconfig-kinformer"), "LD_LIBRARY_PATH=" + library,
		nginxProgram, "-p", p.folder, "-c", "nginx.conf"}
	if os.Geteuid() == 0 {
		argv = append(argv, "-g", "user root;") // the workers read the kubeconfig
	}
	if p.process, err = p.h.start("nginx", nil, argv...); err != nil {
		return err
	}
	p.watches = nginxWorkers
	p.reload = func(ctx context.Context) error {
		before, err := p.workers(ctx)
		if err != nil {
			return err
		}
		if err := p.process.command.Process.Signal(syscall.SIGHUP); err != nil {
			return err
		}
		return awaitState(ctx, "reload of nginx", func() (string, error) {
			now, err := p.workers(ctx)
			if err != nil {
				return "", err
			}
			for pid := range now {
				if before[pid] {
					return "worker " + pid + " is there", nil
				}
			}
			return "", nil
		})
	}
	return nil
}

// workers returns the child processes of the proxy.
func (p *proxy) workers(ctx context.Context) (map[string]bool, error) {
	out, err := exec.CommandContext(ctx, "ps", "-o", "pid=", "--ppid", fmt.Sprint(p.process.command.Process.Pid)).Output()
	if err != nil {
		return nil, fmt.Errorf("ps: %w", err)
	}
	found := map[string]bool{}
	for _, pid := range strings.Fields(string(out)) {
		found[pid] = true
	}
	return found, nil
}
