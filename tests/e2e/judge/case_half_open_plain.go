// A half-open connection of HTTP/1.1. HTTP/1.1 has no ping, so TCP must detect the dead connection. If the judge is root, kinformer runs in a
// network namespace, and the route to the namespace drops all packets. Otherwise a gate drops the bytes; TCP cannot detect that, and kinformer
// closes the connection after 90 s of silence.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
)

type network struct {
	name           string // of the namespace
	server, client string // addresses
}

// newNetwork makes a network namespace and a veth pair. It returns nil if the user or the machine does not support namespaces.
func newNetwork(ctx context.Context, h *harness) *network {
	if os.Geteuid() != 0 {
		return nil
	}
	id := os.Getpid()
	n := &network{name: fmt.Sprintf("kinformer-%d", id), server: fmt.Sprintf("10.213.%d.1", id%250), client: fmt.Sprintf("10.213.%d.2", id%250)}
	link := fmt.Sprintf("kinf%d", id%100000)
	for _, line := range []string{
		"netns add " + n.name,
		"link add " + link + " type veth peer name eth0 netns " + n.name,
		"addr add " + n.server + "/30 dev " + link,
		"link set " + link + " up",
		"-n " + n.name + " addr add " + n.client + "/30 dev eth0",
		"-n " + n.name + " link set eth0 up",
	} {
		if _, err := h.run(ctx, "", append([]string{"ip"}, strings.Fields(line)...)...); err != nil {
			n.remove()
			return nil
		}
	}
	return n
}

func (n *network) remove() {
	_ = exec.Command("ip", "netns", "del", n.name).Run()
	n.dropPackets(false)
}

// dropPackets starts or stops dropping all packets to the client, with a blackhole route.
func (n *network) dropPackets(isDropping bool) error {
	what := "del"
	if isDropping {
		what = "add"
	}
	return exec.Command("ip", "route", what, "blackhole", n.client+"/32").Run()
}

// isConnected returns true if the network namespace of a process has an established connection to the server.
func isConnected(pid int, server *net.TCPAddr) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	peer := fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(server.IP.To4()), server.Port)
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if err == nil && len(fields) > 3 && fields[2] == peer && fields[3] == "01" {
			return true
		}
	}
	return false
}

func halfOpenPlain(ctx context.Context, h *harness) error {
	n := newNetwork(ctx, h)
	listen := "127.0.0.1:0"
	if n != nil {
		defer n.remove()
		listen = n.server + ":0"
	}
	s, err := h.serve(ctx, "--listen", listen)
	if err != nil {
		return err
	}
	if err := s.kubectl.create(ctx, object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "e2e"}}); err != nil {
		return err
	}
	at, err := url.Parse(s.url)
	if err != nil {
		return err
	}
	address, err := net.ResolveTCPAddr("tcp", at.Host)
	if err != nil {
		return err
	}
	var dropPackets, restore func() error
	var noticed func() bool
	var w *watcher
	limit := noticeLimit
	if n != nil {
		w, err = h.watchBy([]string{"ip", "netns", "exec", n.name}, "kinformer", "pods", "-A", "--server", s.url)
		dropPackets, restore = func() error { return n.dropPackets(true) }, func() error { return n.dropPackets(false) }
		noticed = func() bool { return !isConnected(w.process.command.Process.Pid, address) }
	} else {
		g, gateErr := h.openGate("tcp", at.Host)
		if gateErr != nil {
			return gateErr
		}
		limit = silenceLimit
		w, err = h.watch("kinformer", "pods", "-A", "--server", "http://"+g.address)
		before := 0
		dropPackets = func() error { before = g.connections(); g.makeHalfOpen(); return nil }
		restore = func() error { return nil }
		noticed = func() bool { return g.connections() > before }
	}
	if err != nil {
		return err
	}
	if err := w.awaitSynced(ctx, "pods"); err != nil {
		return err
	}
	pod := func(name string) error {
		return s.kubectl.create(ctx, object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name, "namespace": "e2e"},
			"spec": object{"containers": []any{object{"name": "c", "image": "example.com/" + name}}}})
	}
	if err := pod("before"); err != nil {
		return err
	}
	if err := w.awaitAll(ctx, addedChange, identity{"Pod", "e2e", "before"}); err != nil {
		return err
	}
	died := time.Now()
	if err := errors.Join(dropPackets(), pod("after")); err != nil {
		return err
	}
	if err := awaitCondition(ctx, "the end of the dead connection", noticed); err != nil {
		return err
	}
	if err := restore(); err != nil {
		return err
	}
	if err := w.awaitAll(ctx, addedChange, identity{"Pod", "e2e", "after"}); err != nil {
		return err
	}
	return errors.Join(checkRecoveryTime(died, limit), w.check(), w.process.stop())
}
