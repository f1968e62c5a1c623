// The endpoints of a Service that come and go under load, for the cases of proxies: each is an HTTP server of the judge and an EndpointSlice.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	requestsPerSecond = 200
	goneLimit         = 100 * time.Millisecond // after which no request may reach an endpoint that is deleted
	terminationTime   = time.Second            // for which a deleted endpoint still serves, as a pod does that terminates
)

var endpointSlices = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}

// endpoint is a server and its EndpointSlice.
type endpoint struct {
	name   string
	server http.Server
	served atomic.Int64
	goneAt atomic.Int64 // nanoseconds since 1970; 0: it is not deleted
}

// fleet is the endpoints of the Service cart.
type fleet struct {
	st      *stage
	ip      string // of this machine; an EndpointSlice cannot have a loopback address
	current []*endpoint
	count   int
	late    atomic.Int64 // requests that reached an endpoint later than goneLimit after its deletion
	closing sync.WaitGroup
}

func newFleet(st *stage) (*fleet, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, address := range addresses {
		if found, isNet := address.(*net.IPNet); isNet && found.IP.To4() != nil && found.IP.IsGlobalUnicast() {
			return &fleet{st: st, ip: found.IP.String()}, nil
		}
	}
	return nil, skippedError("this machine has no address but the loopback's")
}

// come starts an endpoint.
func (f *fleet) come(ctx context.Context) (*endpoint, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(f.ip, "0"))
	if err != nil {
		return nil, err
	}
	f.count++
	e := &endpoint{name: fmt.Sprintf("cart-%d", f.count)}
	e.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if gone := e.goneAt.Load(); gone != 0 && time.Now().UnixNano()-gone > goneLimit.Nanoseconds() {
			f.late.Add(1)
		}
		e.served.Add(1)
		fmt.Fprintln(w, e.name)
	})
	go func() { _ = e.server.Serve(listener) }()
	f.current = append(f.current, e)
	_, err = f.st.create(ctx, endpointSlices, object{
		"apiVersion":  "discovery.k8s.io/v1",
		"kind":        "EndpointSlice",
		"metadata":    object{"name": e.name, "labels": object{"kubernetes.io/service-name": "cart"}},
		"addressType": "IPv4",
		"endpoints":   []any{object{"addresses": []any{f.ip}, "conditions": object{"ready": true}}},
		"ports":       []any{object{"name": "", "port": int64(listener.Addr().(*net.TCPAddr).Port), "protocol": "TCP"}},
	})
	return e, err
}

// leave deletes the oldest endpoint. Its server ends later.
func (f *fleet) leave(ctx context.Context) error {
	e := f.current[0]
	f.current = f.current[1:]
	if err := f.st.delete(ctx, endpointSlices, e.name); err != nil {
		return err
	}
	e.goneAt.Store(time.Now().UnixNano())
	f.closing.Add(1)
	time.AfterFunc(terminationTime, func() {
		defer f.closing.Done()
		_ = e.server.Close()
	})
	return nil
}

// change lets an endpoint come and the oldest one go, again and again. Each endpoint must have served before it goes.
func (f *fleet) change(ctx context.Context, rounds int) error {
	for range rounds {
		e, err := f.come(ctx)
		if err != nil {
			return err
		}
		if err := awaitState(ctx, "first request to "+e.name, func() (string, error) {
			if e.served.Load() == 0 {
				return "it has served none", nil
			}
			return "", nil
		}); err != nil {
			return err
		}
		if err := f.leave(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) close() {
	f.closing.Wait()
	for _, e := range f.current {
		_ = e.server.Close()
	}
}

// load is a number of requests a second, each on time, whatever became of those before.
type load struct {
	url, host  string
	stop       context.CancelFunc
	done       chan struct{}
	sent       int
	mu         sync.Mutex
	failed     int
	firstError error
}

func startLoad(ctx context.Context, url, host string) *load {
	ctx, stop := context.WithCancel(ctx)
	l := &load{url: url, host: host, stop: stop, done: make(chan struct{})}
	go l.run(ctx)
	return l
}

func (l *load) run(ctx context.Context) {
	defer close(l.done)
	var requests sync.WaitGroup
	defer requests.Wait()
	ticker := time.NewTicker(time.Second / requestsPerSecond)
	defer ticker.Stop()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 50}}
	defer client.CloseIdleConnections()
	for began := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			l.sent++
			requests.Add(1)
			go func() {
				defer requests.Done()
				if err := get(client, l.url, l.host); err != nil {
					l.mu.Lock()
					defer l.mu.Unlock()
					l.failed++
					if l.firstError == nil {
						l.firstError = fmt.Errorf("after %s: %w", time.Since(began), err)
					}
				}
			}()
		}
	}
}

// get fails unless the response is 200 and whole.
func get(client *http.Client, url, host string) error {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Host = host
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// end stops the load. It fails if a request has failed, or has reached an endpoint that was gone.
func (l *load) end(f *fleet) error {
	l.stop()
	<-l.done
	fmt.Printf("# %d requests to %d endpoints: %d failed, %d late\n", l.sent, f.count, l.failed, f.late.Load())
	if l.failed > 0 {
		return fmt.Errorf("%d of %d requests failed: %w", l.failed, l.sent, l.firstError)
	}
	if late := f.late.Load(); late > 0 {
		return fmt.Errorf("%d requests reached an endpoint more than %s after its deletion", late, goneLimit)
	}
	return nil
}
