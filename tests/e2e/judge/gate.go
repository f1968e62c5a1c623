// A TCP proxy in the judge: between a client and one server or another, or an apiserver and its etcd. It can be shut, sent
// elsewhere, and cut, and it can keep back what the server says.
package main

import (
	"net"
	"sync"
)

type gate struct {
	address string // of the gate, while it is shut too

	mu          sync.Mutex
	listener    net.Listener // nil: shut, connections are refused
	changed     *sync.Cond   // told of each change of isHolding, and of connections that were cut
	network, to string       // where new connections lead
	isHeld      bool
	open        map[*connectionPair]bool
	accepted    int // connections so far
}

// passage is one connection through the gate.
type connectionPair struct {
	client, server net.Conn
	isCut          bool
	isHalfOpen     bool // what is said goes nowhere, and neither side is told
}

// openGate leads to an address ("tcp" or "unix"), and ends with the case.
func (h *harness) openGate(network, to string) (*gate, error) {
	return h.openGateAt("127.0.0.1:0", network, to)
}

// openGateAt listens at an address of its own.
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
		if g.listener != listener || g.to != to { // meanwhile
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
			for !p.isCut { // the other side is not told of an end, either
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

// end closes a connection; the caller holds the lock.
func (g *gate) closePair(p *connectionPair) {
	p.isCut = true
	delete(g.open, p)
	_ = p.client.Close()
	_ = p.server.Close()
	g.changed.Broadcast()
}

// cut ends all connections.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.open {
		g.closePair(p)
	}
}

// shut ends all connections and refuses new ones until lead.
func (g *gate) shut() {
	g.mu.Lock()
	if g.listener != nil {
		_ = g.listener.Close()
		g.listener = nil
	}
	g.mu.Unlock()
	g.cut()
}

// lead ends the connections; new ones lead to this address.
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

// hold keeps back what the server says, on connections that stay open.
func (g *gate) hold(isHeld bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isHeld = isHeld
	g.changed.Broadcast()
}

// drop makes the connections that are open now half-open ones: what either side says is lost, and so is its end.
func (g *gate) makeHalfOpen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.open {
		p.isHalfOpen = true
	}
}

// connections counts all that were made so far.
func (g *gate) connections() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.accepted
}
