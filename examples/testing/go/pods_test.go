// Pods followed with client-go's shared informers, tested against `kinformer serve`, without a sleep.
package example

import (
	"context"
	"fmt"
	"testing"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"kinformer/kinformertest"
)

// followPods is the program under test: it sends "NAME PHASE" for each pod that is new or has changed, until it is stopped.
func followPods(client kubernetes.Interface, seen chan<- string) (stop func()) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("shop"))
	note := func(pod any) { seen <- pod.(*core.Pod).Name + " " + string(pod.(*core.Pod).Status.Phase) }
	factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: note, UpdateFunc: func(old, pod any) {
			if old.(*core.Pod).ResourceVersion != pod.(*core.Pod).ResourceVersion { // else listed again
				note(pod)
			}
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	return func() { cancel(); factory.Shutdown() }
}

func TestPods(t *testing.T) {
	server := kinformertest.Start(t, "--load", "../pods.yaml")
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	setPhase := func(name, phase string) {
		patch := fmt.Appendf(nil, `{"status":{"phase":%q}}`, phase)
		_, err := client.CoreV1().Pods("shop").Patch(t.Context(), name, types.MergePatchType, patch, meta.PatchOptions{}, "status")
		if err != nil {
			t.Fatal(err)
		}
	}
	test := func(name string, run func(t *testing.T, seen <-chan string)) {
		t.Run(name, func(t *testing.T) {
			seen := make(chan string, 100)
			stop := followPods(client, seen)
			t.Cleanup(func() { // the pods and faults of the start, for the next test
				stop()
				server.Wait(t, "watches=pods&count=0")
				server.Reset(t)
			})
			if first := map[string]bool{<-seen: true, <-seen: true}; !first["cart-1 Pending"] || !first["cart-2 Running"] {
				t.Fatal(first)
			}
			server.Wait(t, "watches=pods")
			run(t, seen)
		})
	}

	test("a start is seen though the watch ends and the server fails twice", func(t *testing.T, seen <-chan string) {
		fault := server.AddFault(t, "status,code=500,verb=list+watch,resource=pods,count=2")
		server.AddFault(t, "close-watches")
		server.Wait(t, fmt.Sprintf("fault=%d&count=2", fault))
		setPhase("cart-1", "Running")
		if got := <-seen; got != "cart-1 Running" {
			t.Fatal(got)
		}
		failed := 0
		for _, request := range server.Requests(t, "verb=list+watch&resource=pods") {
			if request.Status == 500 {
				failed++
			}
		}
		if failed != 2 {
			t.Fatal(failed, "requests got the fault")
		}
	})

	test("the next test has the pods of the start and no faults", func(t *testing.T, seen <-chan string) {
		setPhase("cart-2", "Failed")
		if got := <-seen; got != "cart-2 Failed" {
			t.Fatal(got)
		}
	})
}
