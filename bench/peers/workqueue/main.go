// Measures client-go's work queue: what bench_workqueue.c measures of ours. Prints lines "ROW NANOSECONDS", each for one key.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

const (
	workers     = 4
	keysAtOnce  = 1000
	rounds      = 3
	waitingKeys = 1000000
)

func keys(count int) []string {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf("namespace-%04d/deployment-%018d", i%1000, i)
	}
	return all
}

// best returns the shortest of some runs, for each of `count` keys.
func best(count int, run func() time.Duration) float64 {
	shortest := time.Duration(1 << 62)
	for range rounds {
		runtime.GC()
		if took := run(); took < shortest {
			shortest = took
		}
	}
	return float64(shortest.Nanoseconds()) / float64(count)
}

func oneAtATime(all []string) time.Duration {
	queue := workqueue.NewTyped[string]()
	defer queue.ShutDown()
	from := time.Now()
	for _, key := range all {
		queue.Add(key)
		got, _ := queue.Get()
		queue.Done(got)
	}
	return time.Since(from)
}

func manyAtATime(all []string) time.Duration {
	queue := workqueue.NewTyped[string]()
	defer queue.ShutDown()
	from := time.Now()
	for first := 0; first < len(all); first += keysAtOnce {
		for i := first; i < first+keysAtOnce; i++ {
			queue.Add(all[i])
		}
		for range keysAtOnce {
			got, _ := queue.Get()
			queue.Done(got)
		}
	}
	return time.Since(from)
}

func withWorkers(all []string) time.Duration {
	queue := workqueue.NewTyped[string]()
	var group sync.WaitGroup
	from := time.Now()
	for range workers {
		group.Go(func() {
			for {
				key, shutdown := queue.Get()
				if shutdown {
					return
				}
				queue.Done(key)
			}
		})
	}
	for _, key := range all {
		queue.Add(key)
	}
	queue.ShutDown()
	group.Wait()
	return time.Since(from)
}

// addAfter prints the time of adding, and the memory of a key, without its text. The queue takes delayed keys from a channel: adding them
// is over once the last of them has left it.
func addAfter(count int) {
	all := keys(count)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	queue := workqueue.NewTypedDelayingQueue[string]()
	from := time.Now()
	for i, key := range all {
		queue.AddAfter(key, time.Hour+time.Duration(i*7919%count)*time.Millisecond)
	}
	took := time.Since(from)
	time.Sleep(100 * time.Millisecond)
	runtime.GC()
	runtime.ReadMemStats(&after)
	fmt.Printf("add_after %.1f\n", float64(took.Nanoseconds())/float64(count))
	fmt.Printf("add_after_bytes %.1f\n", float64(after.HeapAlloc-before.HeapAlloc)/float64(count))
	queue.ShutDown()
	runtime.KeepAlive(all)
}

func main() {
	count := 1000000
	waiting := waitingKeys
	if len(os.Args) > 1 && os.Args[1] == "--short" {
		count, waiting = count/10, waiting/10
	}
	all := keys(count)
	fmt.Printf("one_at_a_time %.1f\n", best(count, func() time.Duration { return oneAtATime(all) }))
	fmt.Printf("many_at_a_time %.1f\n", best(count, func() time.Duration { return manyAtATime(all) }))
	fmt.Printf("workers %.1f\n", best(count, func() time.Duration { return withWorkers(all) }))
	addAfter(waiting)
}
