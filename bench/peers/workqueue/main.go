// Measures client-go's work queue, as bench_workqueue.c measures ours. Prints lines "ROW VALUE", values for one key.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/util/workqueue"
)

const (
	workers     = 4
	keysAtOnce  = 1000
	keyCount    = 100000
	waitingKeys = 1000000
)

func keys(count int) []string {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf("namespace-%04d/deployment-%014d", i%1000, i)
	}
	return all
}

var rounds = 30

// cpuTime returns the CPU time of all threads of the process.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// best returns the shortest time and CPU time of several runs, for each of `count` keys.
func best(count int, run func() time.Duration) (ns, cpu float64) {
	shortest, least := time.Duration(1<<62), time.Duration(1<<62)
	for range rounds {
		runtime.GC()
		from := cpuTime()
		took := run()
		shortest, least = min(shortest, took), min(least, cpuTime()-from)
	}
	return float64(shortest.Nanoseconds()) / float64(count), float64(least.Nanoseconds()) / float64(count)
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

// addAfter prints the time of adding, and the memory of a key without its text. The queue takes delayed keys from a
// channel: adding is complete when the last key has left the channel.
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
	waiting := waitingKeys
	if len(os.Args) > 1 && os.Args[1] == "--short" {
		rounds, waiting = 5, waiting/10
	}
	all := keys(keyCount)
	_, one := best(keyCount, func() time.Duration { return oneAtATime(all) })
	_, many := best(keyCount, func() time.Duration { return manyAtATime(all) })
	time, cpu := best(keyCount, func() time.Duration { return withWorkers(all) })
	fmt.Printf("one_at_a_time %.1f\nmany_at_a_time %.1f\nworkers %.1f\nworkers_cpu %.1f\n", one, many, time, cpu)
	addAfter(waiting)
}
