// The package against `kinformer serve` itself.
package kinformertest_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"kinformer/kinformertest"
)

const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

func TestAServerIsDrivenWithAndWithoutCredentials(t *testing.T) {
	for _, flags := range [][]string{{}, {"--tls", "--rbac", "--token", "token=s3cret,user=jane"}} {
		server := kinformertest.Start(t, append(flags, "--fault", "delay,time=1ms")...)
		server.Load(t, object)
		server.Wait(t, "objects=configmaps&namespace=default&name=a")
		server.Reset(t)
		server.Wait(t, "objects=configmaps&count=0")
		if id := server.AddFault(t, "status,code=503"); id < 2 {
			t.Error(id)
		}
		if requests := server.Requests(t, "verb=create"); len(requests) != 0 {
			t.Error(requests)
		}
		if text, err := os.ReadFile(server.Kubeconfig); err != nil || !strings.Contains(string(text), server.URL) {
			t.Error(err, string(text))
		}
	}
}

// failing records that a test failed, and why.
type failing struct {
	testing.TB
	why string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, arguments ...any) {
	f.why = fmt.Sprintf(format, arguments...)
	panic(f)
}

func TestAFailureSaysWhatThereIsInstead(t *testing.T) {
	server := kinformertest.Start(t)
	f := &failing{TB: t}
	defer func() {
		if recover() != f || !strings.Contains(f.why, "0 watches of pods are open, not 1") {
			t.Error(f.why)
		}
	}()
	server.Wait(f, "watches=pods&timeout=0")
}
