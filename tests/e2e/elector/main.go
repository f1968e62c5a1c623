// A candidate in a leader election of client-go. It prints when it leads, with times that are comparable between processes.
// README.md describes the flags and the output.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const printInterval = 50 * time.Millisecond

type options struct {
	kubeconfig, namespace, name, identity     string
	leaseDuration, renewDeadline, retryPeriod int // milliseconds
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "the kubeconfig file (required)")
	flag.StringVar(&o.namespace, "namespace", "default", "namespace of the Lease")
	flag.StringVar(&o.name, "name", "", "name of the Lease (required)")
	flag.StringVar(&o.identity, "identity", "", "name of this candidate (required)")
	flag.IntVar(&o.leaseDuration, "lease-duration", 15000, "milliseconds after which others may take over a Lease that is not renewed")
	flag.IntVar(&o.renewDeadline, "renew-deadline", 10000, "milliseconds after which a leader that cannot renew the Lease stops leading")
	flag.IntVar(&o.retryPeriod, "retry-period", 2000, "milliseconds between two attempts")
	flag.Parse()
	if o.kubeconfig == "" || o.name == "" || o.identity == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: elector --kubeconfig FILE --namespace NS --name LEASE --identity NAME")
		os.Exit(2)
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "elector:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // no rate limit
	leases, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	for ctx.Err() == nil {
		l := &lock{
			LeaseLock: resourcelock.LeaseLock{
				LeaseMeta:  v1.ObjectMeta{Namespace: o.namespace, Name: o.name},
				Client:     leases,
				LockConfig: resourcelock.ResourceLockConfig{Identity: o.identity},
			},
			renewDeadline: milliseconds(o.renewDeadline),
		}
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock:            l,
			LeaseDuration:   milliseconds(o.leaseDuration),
			RenewDeadline:   milliseconds(o.renewDeadline),
			RetryPeriod:     milliseconds(o.retryPeriod),
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(term context.Context) {},
				OnStoppedLeading: func() {},
				OnNewLeader:      func(identity string) { printLine("leader "+cmp.Or(identity, "-"), now()) },
			},
		})
		if err != nil {
			return err
		}
		term, end := context.WithCancel(ctx)
		printed := make(chan struct{})
		go func() {
			defer close(printed)
			printTerm(term, l)
		}()
		elector.Run(ctx)
		end()
		<-printed
	}
	return nil
}

// printTerm prints "started", "leading" and "stopped" while the candidate leads. It returns when ctx ends.
func printTerm(ctx context.Context, l *lock) {
	ticker := time.NewTicker(printInterval)
	defer ticker.Stop()
	hasStarted := false
	for ctx.Err() == nil {
		at := now()
		switch leads := l.leadsAt(at); {
		case leads && !hasStarted:
			hasStarted = true
			printLine("started", at)
		case leads:
			printLine("leading", at)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	if hasStarted {
		printLine("stopped", now())
	}
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// now returns CLOCK_MONOTONIC, which is the same clock for all processes.
func now() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		panic(err)
	}
	return time.Duration(at.Nano())
}

func printLine(text string, at time.Duration) {
	fmt.Printf("%s %d\n", text, at.Nanoseconds())
}

// lock is a Lease that records when its last successful write began. client-go counts the renew deadline from the response instead; if the
// process was stopped between request and response, that is too late.
type lock struct {
	resourcelock.LeaseLock
	renewDeadline time.Duration

	mu      sync.Mutex
	renewed time.Duration // start of the last request that wrote the Lease; 0: this candidate does not hold the Lease
	holder  string        // of the Lease as last read
}

func (l *lock) leadsAt(at time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.renewed != 0 && at-l.renewed < l.renewDeadline
}

func (l *lock) recordWrite(renewed time.Duration, err error) error {
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.renewed = renewed
	}
	return err
}

func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.LeaseLock.Get(ctx)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.holder = record.HolderIdentity
		if l.holder != l.Identity() {
			l.renewed = 0
		}
	}
	return record, raw, err
}

func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	renewed := now()
	return l.recordWrite(renewed, l.LeaseLock.Create(ctx, record))
}

func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	renewed := now()
	if record.HolderIdentity != "" {
		return l.recordWrite(renewed, l.LeaseLock.Update(ctx, record))
	}
	l.mu.Lock()
	l.renewed = 0 // before the release: the next leader can start as soon as the request arrives
	holder := l.holder
	l.mu.Unlock()
	if holder != l.Identity() {
		// If the process was stopped for longer than the lease, client-go would release the Lease of the next leader.
		return errors.New("the Lease is held by another candidate")
	}
	return l.LeaseLock.Update(ctx, record)
}
