// An HTTP/2 server in front of a kube-apiserver. It behaves like a load balancer, or like an API server that shuts down: it sends GOAWAY on its
// connections, and ends or cuts their streams.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
)

type front struct {
	address string

	server   *server
	to       *http.Transport
	tls      *tls.Config
	streams  int // limit of concurrent streams on one connection; 0: Go's default
	listener net.Listener

	mu               sync.Mutex
	instance         *instance         // accepts new connections
	open             map[net.Conn]bool // the clients' connections
	accepted         int
	closesConnection bool // send GOAWAY with each response, as kube-apiserver's --goaway-chance does
	protocols        map[string]int
}

// instance is one HTTP server of the front. It accepts connections until goAway replaces it. It implements net.Listener and http.Handler.
type instance struct {
	front   *front
	server  *http.Server
	waiting chan net.Conn
	closed  chan struct{} // closed when the instance accepts no more connections
	ended   chan struct{} // closed when the open responses must end
	once    sync.Once
}

// openFront starts a front of the server. The caller ends the front with close.
func (h *harness) openFront(s *server, streams int) (*front, error) {
	certificate, err := tls.LoadX509KeyPair(s.file("server.crt"), s.file("server.key"))
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(s.file("ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, errors.New("ca.crt is not PEM")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &front{address: listener.Addr().String(), server: s, streams: streams, listener: listener,
		to:   &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true},
		tls:  &tls.Config{Certificates: []tls.Certificate{certificate}},
		open: map[net.Conn]bool{}, protocols: map[string]int{}}
	f.instance = f.newInstance()
	go f.accept()
	return f, nil
}

func (f *front) accept() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		now := f.instance
		f.accepted++
		f.mu.Unlock()
		select {
		case now.waiting <- client:
		case <-now.closed:
			_ = client.Close()
		}
	}
}

func (f *front) newInstance() *instance {
	t := &instance{front: f, waiting: make(chan net.Conn), closed: make(chan struct{}), ended: make(chan struct{})}
	t.server = &http.Server{Handler: t, TLSConfig: f.tls.Clone(), ConnState: f.trackConnection,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: f.streams}}
	go func() { _ = t.server.ServeTLS(t, "", "") }()
	return t
}

func (t *instance) Accept() (net.Conn, error) {
	select {
	case client := <-t.waiting:
		return client, nil
	case <-t.closed:
		return nil, net.ErrClosed
	}
}

func (t *instance) Addr() net.Addr { return t.front.listener.Addr() }

func (t *instance) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}

func (f *front) trackConnection(client net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch state {
	case http.StateNew:
		f.open[client] = true
	case http.StateClosed, http.StateHijacked:
		delete(f.open, client)
	}
}

// ServeHTTP forwards the request, and forwards the response as it arrives. When the instance ends its responses, the response ends normally.
func (t *instance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := t.front
	f.mu.Lock()
	f.protocols[r.Proto]++
	closesConnection := f.closesConnection
	f.mu.Unlock()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	request := r.Clone(ctx)
	request.RequestURI, request.URL.Scheme, request.URL.Host = "", "https", f.server.address()
	response, err := f.to.RoundTrip(request)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	go func() {
		select {
		case <-t.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	for name, values := range response.Header {
		if name != "Connection" {
			w.Header()[name] = values
		}
	}
	if closesConnection {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(response.StatusCode)
	flusher := w.(http.Flusher)
	flusher.Flush()
	block := make([]byte, 32<<10)
	for {
		n, err := response.Body.Read(block)
		if n > 0 {
			if _, err := w.Write(block[:n]); err != nil {
				return
			}
			flusher.Flush()
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			select {
			case <-t.ended:
				return
			default:
				panic(http.ErrAbortHandler) // resets the stream, so that the client sees the error
			}
		}
	}
}

// goAway sends GOAWAY on all connections; their open streams continue. New connections get a new instance. goAway returns the old one.
func (f *front) goAway() *instance {
	next := f.newInstance()
	f.mu.Lock()
	old := f.instance
	f.instance = next
	f.mu.Unlock()
	_ = old.Close()
	go func() { _ = old.server.Shutdown(context.Background()) }()
	return old
}

// endResponses ends all responses of an instance as complete ones. The HTTP server then closes the connections.
func (t *instance) endResponses() { close(t.ended) }

// cut closes the connections of an instance.
func (t *instance) cut() { _ = t.server.Close() }

func (f *front) setCloseConnection(closesConnection bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closesConnection = closesConnection
}

// connections returns the number of open connections and of all connections so far.
func (f *front) connections() (open, accepted int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open), f.accepted
}

// onlyHTTP2 returns an error if a request used another protocol, or if there was none.
func (f *front) onlyHTTP2() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.protocols) != 1 || f.protocols["HTTP/2.0"] == 0 {
		return fmt.Errorf("not all requests used HTTP/2: %v", f.protocols)
	}
	return nil
}

func (f *front) close() {
	_ = f.listener.Close()
	f.mu.Lock()
	now := f.instance
	f.mu.Unlock()
	_ = now.Close()
	now.cut()
	f.to.CloseIdleConnections()
}

// connectedFront starts a front of the server, and returns it with kinformer's flags to connect through it.
func (h *harness) connectedFront(s *server, streams int) (*front, []string, error) {
	f, err := h.openFront(s, streams)
	if err != nil {
		return nil, nil, err
	}
	connection, err := s.through(&gate{address: f.address})
	if err != nil {
		f.close()
	}
	return f, connection, err
}
