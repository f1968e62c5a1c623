// A TCP proxy in the judge, between a client and a server, or between a kube-apiserver and its etcd. It can cut its connections, refuse new
// ones, redirect them to another server, and hold back the bytes of the server.
package main

import (
	"net"
	"sync"
)

type gate struct {
	address string // of the gate; kept while the gate is shut

	mu          sync.Mutex
	listener    net.Listener // nil: the gate is shut and refuses connections
	changed     *sync.Cond   // signalled when isHeld changes or a connection ends
	network, to string       // the target of new connections
	isHeld      bool
	open        map[*connectionPair]bool
	accepted    int // number of connections so far
}

// connectionPair is one connection through the gate.
type connectionPair struct {
	client, server net.Conn
	isCut          bool
	isHalfOpen     bool // the gate drops the bytes and the ends of both sides
}

// openGate opens a gate to an address; network is "tcp" or "unix". The gate is shut at the end of the case.
func (h *harness) openGate(network, to string) (*gate, error) {
	return h.openGateAt("127.0.0.1:0", network, to)
}

// openGateAt does the same and listens at the address at.
func (h *harness) openGateAt(at, network, to string) (*gate, error) {
	listener, err := net.Listen("tcp", at)
	if err != nil {
		return nil, err
	}
	g := &gate{address: listener.Addr().String(), listener: listener, network: network, to: to, open: map[*connectionPair]bool{}}
	g.changed = sync.NewCond(&g.mu)
	h.gates = append(h.gates, g)
	go g.serve(listener)
	return g, nil
}

func (g *gate) serve(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		g.mu.Lock()
		network, to := g.network, g.to
		g.mu.Unlock()
		server, err := net.Dial(network, to)
		if err != nil {
			_ = client.Close()
			continue
		}
		p := &connectionPair{client: client, server: server}
		g.mu.Lock()
		g.open[p] = true
		g.accepted++
		if g.listener != listener || g.to != to { // shut or redirected during the dial
			g.closePair(p)
		}
		g.mu.Unlock()
		go g.forward(p, server, client, false)
		go g.forward(p, client, server, true)
	}
}

func (g *gate) forward(p *connectionPair, to, from net.Conn, fromServer bool) {
	block := make([]byte, 64<<10)
	for {
		n, err := from.Read(block)
		g.mu.Lock()
		for fromServer && g.isHeld && !p.isCut {
			g.changed.Wait()
		}
		isCut, isHalfOpen := p.isCut, p.isHalfOpen
		g.mu.Unlock()
		if isHalfOpen && (n > 0 || err != nil && !isCut) {
			if err == nil {
				continue
			}
			g.mu.Lock()
			for !p.isCut { // drops the end of the connection, too
				g.changed.Wait()
			}
			g.mu.Unlock()
			return
		}
		if !isCut && n > 0 {
			_, writeErr := to.Write(block[:n])
			isCut = writeErr != nil
		}
		if isCut || err != nil {
			g.mu.Lock()
			g.closePair(p)
			g.mu.Unlock()
			return
		}
	}
}

// closePair closes a connection. The caller holds the lock.
func (g *gate) closePair(p *connectionPair) {
	p.isCut = true
	delete(g.open, p)
	_ = p.client.Close()
	_ = p.server.Close()
	g.changed.Broadcast()
}

// cut closes all connections.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.open {
		g.closePair(p)
	}
}

// shut closes all connections and refuses new ones until redirect.
func (g *gate) shut() {
	g.mu.Lock()
	if g.listener != nil {
		_ = g.listener.Close()
		g.listener = nil
	}
	g.mu.Unlock()
	g.cut()
}

// redirect closes all connections, sets the target of new ones, and accepts connections again if the gate was shut.
func (g *gate) redirect(network, to string) error {
	g.mu.Lock()
	var err error
	g.network, g.to = network, to
	if g.listener == nil {
		if g.listener, err = net.Listen("tcp", g.address); err == nil {
			go g.serve(g.listener)
		}
	}
	g.mu.Unlock()
	g.cut()
	return err
}

// hold starts or ends holding back the bytes of the server. The connections stay open.
func (g *gate) hold(isHeld bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isHeld = isHeld
	g.changed.Broadcast()
}

// makeHalfOpen makes the open connections half-open: the gate drops the bytes of both sides, and the end of either side.
func (g *gate) makeHalfOpen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.open {
		p.isHalfOpen = true
	}
}

// connections returns the number of connections so far.
func (g *gate) connections() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.accepted
}
