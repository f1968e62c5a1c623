// Measures reads of client-go's indexer, as bench_store_reads.c measures ours. Prints lines "ROW-THREADS VALUE", values for one call.
package main

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	objects = 100000
	nodes   = objects / 100
	lists   = 2000
	rounds  = 5
)

var (
	indexer   cache.Indexer
	keys, ips []string
)

func shuffled(i int) int { return i * 7919 % objects }

// cpuTime returns the CPU time of all threads of the process, in nanoseconds.
func cpuTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func byAnnotation(name string) cache.IndexFunc {
	return func(obj any) ([]string, error) {
		return []string{obj.(*metav1.PartialObjectMetadata).Annotations[name]}, nil
	}
}

func fill() {
	indexer = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{"ip": byAnnotation("ip"), "node": byAnnotation("node")})
	for i := range objects {
		key := fmt.Sprintf("namespace-%02d/deployment-%08x-%05d", i%100, uint32(i)*2654435761, i)
		ip := fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)
		namespace, name, _ := strings.Cut(key, "/")
		obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: "1",
			Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"ip": ip, "node": fmt.Sprintf("node-%d", i%nodes)}}}
		if err := indexer.Add(obj); err != nil {
			panic(err)
		}
		keys, ips = append(keys, key), append(ips, ip)
	}
}

func getAll() {
	for i := range objects {
		if _, found, _ := indexer.GetByKey(keys[shuffled(i)]); !found {
			panic("an object is missing")
		}
	}
}

func getAllByIndex() {
	for i := range objects {
		if found, _ := indexer.ByIndex("ip", ips[shuffled(i)]); len(found) != 1 {
			panic("an object is missing")
		}
	}
}

func listNodes() {
	for i := range lists {
		if found, _ := indexer.ByIndex("node", fmt.Sprintf("node-%d", shuffled(i)%nodes)); len(found) != objects/nodes {
			panic("objects are missing")
		}
	}
}

// measure returns the CPU time of one of `count` calls, with several goroutines at a time, in the best of some rounds.
func measure(read func(), threads, count int) float64 {
	best := math.Inf(1)
	for range rounds {
		var done sync.WaitGroup
		from := cpuTime()
		for range threads {
			done.Go(read)
		}
		done.Wait()
		best = min(best, float64(cpuTime()-from)/float64(threads*count))
	}
	return best
}

func main() {
	fill()
	for threads := 1; threads <= 8; threads *= 2 {
		fmt.Printf("key-%d %.1f\n", threads, measure(getAll, threads, objects))
		fmt.Printf("index-%d %.1f\n", threads, measure(getAllByIndex, threads, objects))
		fmt.Printf("list-%d %.1f\n", threads, measure(listNodes, threads, lists))
	}
}
