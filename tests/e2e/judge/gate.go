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
	moved       *sync.Cond   // told of each change of isHolding, and of connections that were cut
	network, to string       // where new connections lead
	isHolding   bool
	open        map[*passage]bool
	accepted    int // connections so far
}

// passage is one connection through the gate.
type passage struct {
	client, server net.Conn
	isCut          bool
	isDropped      bool // what is said goes nowhere, and neither side is told
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
	g := &gate{address: listener.Addr().String(), listener: listener, network: network, to: to, open: map[*passage]bool{}}
	g.moved = sync.NewCond(&g.mu)
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
		p := &passage{client: client, server: server}
		g.mu.Lock()
		g.open[p] = true
		g.accepted++
		if g.listener != listener || g.to != to { // meanwhile
			g.end(p)
		}
		g.mu.Unlock()
		go g.pass(p, server, client, false)
		go g.pass(p, client, server, true)
	}
}

func (g *gate) pass(p *passage, to, from net.Conn, isHeld bool) {
	block := make([]byte, 64<<10)
	for {
		n, err := from.Read(block)
		g.mu.Lock()
		for isHeld && g.isHolding && !p.isCut {
			g.moved.Wait()
		}
		isCut, isDropped := p.isCut, p.isDropped
		g.mu.Unlock()
		if isDropped && (n > 0 || err != nil && !isCut) {
			if err == nil {
				continue
			}
			g.mu.Lock()
			for !p.isCut { // the other side is not told of an end, either
				g.moved.Wait()
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
			g.end(p)
			g.mu.Unlock()
			return
		}
	}
}

// end closes a connection; the caller holds the lock.
func (g *gate) end(p *passage) {
	p.isCut = true
	delete(g.open, p)
	_ = p.client.Close()
	_ = p.server.Close()
	g.moved.Broadcast()
}

// cut ends all connections.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.open {
		g.end(p)
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
func (g *gate) lead(network, to string) error {
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
func (g *gate) hold(isHolding bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isHolding = isHolding
	g.moved.Broadcast()
}

// drop makes the connections that are open now half-open ones: what either side says is lost, and so is its end.
func (g *gate) drop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.open {
		p.isDropped = true
	}
}

// connections counts all that were made so far.
func (g *gate) connections() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.accepted
}
