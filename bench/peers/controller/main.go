// Runs a controller of Foos with controller-runtime, as bench_controller.c runs ours: main URL COUNT. Prints "ready"
// when each of COUNT Foos was reconciled once. When a change of each was reconciled too, prints one line of JSON with
// the cost.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const workers = 4

var began = time.Now()

// FooSpec is the spec of the Foos that bench_controller.c creates.
type FooSpec struct {
	DeploymentName string `json:"deploymentName"`
	Replicas       int    `json:"replicas"`
	Number         int    `json:"number"`
}

// FooStatus is never set.
type FooStatus struct {
	AvailableReplicas int `json:"availableReplicas"`
}

// Foo is the kind that bench_controller.c defines.
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FooSpec   `json:"spec"`
	Status            FooStatus `json:"status"`
}

// FooList is a list of Foos.
type FooList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Foo `json:"items"`
}

// DeepCopyObject copies a Foo.
func (f *Foo) DeepCopyObject() runtime.Object {
	out := *f
	f.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject copies a list of Foos.
func (l *FooList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Foo, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Foo)
	}
	return &out
}

// reconciler counts the Foos that it has seen in each phase: replicas is 1 initially, and 2 after the change.
type reconciler struct {
	client.Client
	mutex      sync.Mutex
	seen       []int
	count      [3]int
	reconciles int
	done       [3]chan struct{}
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	foo := &Foo{}
	if err := r.Get(ctx, request.NamespacedName, foo); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.reconciles++
	for phase := r.seen[foo.Spec.Number] + 1; phase <= foo.Spec.Replicas; phase++ {
		r.seen[foo.Spec.Number] = phase
		r.count[phase]++
		if r.count[phase] == len(r.seen) {
			close(r.done[phase])
		}
	}
	return ctrl.Result{}, nil
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "controller-runtime:", err)
		os.Exit(1)
	}
}

// cpuSeconds returns the CPU time of all threads of the process.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// peakKilobytes returns the peak of resident memory.
func peakKilobytes() int {
	text, err := os.ReadFile("/proc/self/status")
	check(err)
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kilobytes, err := strconv.Atoi(strings.Fields(after)[0])
	check(err)
	return kilobytes
}

func main() {
	count, err := strconv.Atoi(os.Args[2])
	check(err)
	ctrl.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	version := schema.GroupVersion{Group: "samplecontroller.k8s.io", Version: "v1alpha1"}
	scheme.AddKnownTypes(version, &Foo{}, &FooList{})
	metav1.AddToGroupVersion(scheme, version)

	manager, err := ctrl.NewManager(&rest.Config{Host: os.Args[1], QPS: -1}, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultTransform: cache.TransformStripManagedFields()}, // as kinformer does
	})
	check(err)
	r := &reconciler{Client: manager.GetClient(), seen: make([]int, count)}
	r.done[1], r.done[2] = make(chan struct{}), make(chan struct{})
	check(ctrl.NewControllerManagedBy(manager).For(&Foo{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).Complete(r))
	go func() { check(manager.Start(context.Background())) }()

	<-r.done[1]
	synced, syncedCPU := time.Now(), cpuSeconds()
	fmt.Println("ready")
	<-r.done[2]
	wall, cpu := time.Since(synced).Seconds(), cpuSeconds()-syncedCPU
	r.mutex.Lock()
	defer r.mutex.Unlock()
	fmt.Printf(`{"sync_wall_s": %.6f, "sync_cpu_s": %.6f, "change_wall_s": %.6f, "change_cpu_s": %.6f, "reconciles": %d, "peak_kb": %d}`+"\n",
		synced.Sub(began).Seconds(), syncedCPU, wall, cpu, r.reconciles, peakKilobytes())
}
