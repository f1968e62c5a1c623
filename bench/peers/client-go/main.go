// client-go's program of bench/peers (README.md there): informers of pods, handlers that read one annotation. The programs of kinformer
// and kube-rs have the same command line, input and output.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const stampName = "bench/changed-at-ns"

var (
	kubeconfig    = flag.String("kubeconfig", "", "the server")
	form          = flag.String("form", "typed", "typed, dynamic or metadata")
	managedFields = flag.Bool("managed-fields", false, "keep managedFields")
	json          = flag.Bool("json", false, "never ask for protobuf")
	informerCount = flag.Int("informers", 1, "informers")
	handlerCount  = flag.Int("handlers", 1, "handlers of each informer")
)

// The changes since the last line on the standard input.
type changes struct {
	sync.Mutex
	received, expected int
	delays             []int64
}

var current changes

func (c *changes) add(delay int64) {
	c.Lock()
	defer c.Unlock()
	if c.delays != nil && c.received < c.expected {
		c.delays[c.received] = delay
	}
	c.received++
	if c.received != c.expected {
		return
	}
	if c.delays == nil {
		fmt.Println("received", c.expected)
		return
	}
	slices.Sort(c.delays)
	n := c.expected
	fmt.Println("received", n, c.delays[n/2], c.delays[n*99/100], c.delays[n*999/1000], c.delays[n-1])
}

func (c *changes) expect(count int, timed bool) {
	c.Lock()
	defer c.Unlock()
	c.received, c.expected, c.delays = 0, count, nil
	if timed {
		c.delays = make([]int64, count)
	}
	fmt.Println("expecting")
}

func annotations(obj any) map[string]string {
	if pod, ok := obj.(*corev1.Pod); ok {
		return pod.Annotations
	}
	return obj.(metav1.Object).GetAnnotations()
}

func onUpdate(_, obj any) {
	at, _ := strconv.ParseInt(annotations(obj)[stampName], 10, 64)
	current.add(time.Now().UnixNano() - at)
}

func withoutManagedFields(obj any) (any, error) {
	if object, ok := obj.(metav1.Object); ok {
		object.SetManagedFields(nil)
	}
	return obj, nil
}

// newInformer returns an informer, which differs from the others by a selector that the server ignores.
func newInformer(config *rest.Config, number int) cache.SharedIndexInformer {
	tweak := func(options *metav1.ListOptions) {
		if *informerCount > 1 {
			options.FieldSelector = fmt.Sprintf("metadata.name!=n%d", number)
		}
	}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	switch *form {
	case "typed":
		client := kubernetes.NewForConfigOrDie(config)
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(tweak))
		return factory.Core().V1().Pods().Informer()
	case "dynamic":
		client := dynamic.NewForConfigOrDie(config)
		return dynamicinformer.NewFilteredDynamicInformer(client, pods, "", 0, cache.Indexers{}, tweak).Informer()
	case "metadata":
		client := metadata.NewForConfigOrDie(config)
		return metadatainformer.NewFilteredMetadataInformer(client, pods, "", 0, cache.Indexers{}, tweak).Informer()
	}
	log.Fatalf("no form %q", *form)
	return nil
}

func start(config *rest.Config) {
	var synced []cache.InformerSynced
	for i := range *informerCount {
		informer := newInformer(config, i)
		if !*managedFields {
			if err := informer.SetTransform(withoutManagedFields); err != nil {
				log.Fatal(err)
			}
		}
		for range *handlerCount {
			registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: onUpdate})
			if err != nil {
				log.Fatal(err)
			}
			synced = append(synced, registration.HasSynced)
		}
		go informer.Run(make(chan struct{}))
	}
	for _, hasSynced := range synced {
		for !hasSynced() {
			time.Sleep(time.Millisecond)
		}
	}
	fmt.Println("synced")
}

func main() {
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	config.QPS = -1
	if *json {
		config.AcceptContentTypes = "application/json"
	}
	start(config)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var count int
		if n, _ := fmt.Sscanf(lines.Text(), "expect %d", &count); n == 1 {
			current.expect(count, false)
		} else if n, _ := fmt.Sscanf(lines.Text(), "time %d", &count); n == 1 {
			current.expect(count, true)
		} else {
			runtime.GC()
			debug.FreeOSMemory()
			fmt.Println("settled")
		}
	}
}
