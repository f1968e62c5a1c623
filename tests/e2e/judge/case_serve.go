// client-go's shared informers, and kinformer itself, against `kinformer serve` under load. The load never ends, so the case compares the state
// at the resource version of a list. It creates a pod after the list: once the observer has that pod, it has all changes up to the list.
package main

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var serveCases = []testCase{
	{name: "serve-informer-streaming", kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		return serveInformer(ctx, h, true)
	}},
	{name: "serve-informer-plain", kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		return serveInformer(ctx, h, false)
	}},
	{name: "serve-watch", kinformerOnly: true, run: serveWatch},
	{name: "serve-informers-tls", kinformerOnly: true, run: serveInformersTLS},
}

const (
	// The number of comparisons, and the least number of changes before each.
	comparisons        = 3
	changesBetweenEach = 200
)

func serveInformer(ctx context.Context, h *harness, streaming bool) error {
	s, err := h.serve(ctx, "--pods", "200", "--nodes", "5", "--churn", "100")
	if err != nil {
		return err
	}
	config, err := restConfig(s.kubectl.kubeconfig)
	if err != nil {
		return err
	}
	return informerAgainstLists(ctx, config, streaming)
}

func informerAgainstLists(ctx context.Context, config *rest.Config, streaming bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer setStreamingList(streaming)()
	var streams atomic.Int32
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return countStreams{next, &streams} })
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	r := newRecord("client-go's shared informer")
	factory := informers.NewSharedInformerFactory(client, 0)
	registration, err := factory.Core().V1().Pods().Informer().AddEventHandler(r.handler(plainPod))
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return fmt.Errorf("client-go's shared informer did not sync: %w", ctx.Err())
	}
	if used := streams.Load() > 0; used != streaming {
		return fmt.Errorf("client-go used a streaming list: %t, wanted: %t", used, streaming)
	}
	writer, err := dynamic.NewForConfig(config) // sends JSON
	if err != nil {
		return err
	}
	err = compareWithLists(ctx, r, nil, writer, func() (objects, string, error) {
		list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, "", err
		}
		found := objects{}
		for i := range list.Items {
			obj, err := plainPod(&list.Items[i])
			if err != nil {
				return nil, "", err
			}
			id, err := identify(obj)
			if err != nil {
				return nil, "", err
			}
			found[id] = obj
		}
		return found, list.ResourceVersion, nil
	})
	if err == nil && streaming && streams.Load() != 1 {
		err = fmt.Errorf("client-go opened %d streaming lists, wanted 1", streams.Load())
	}
	return errors.Join(err, r.check())
}

// serveWatch compares `kinformer watch` of a `kinformer serve` under load with a raw watch and with lists.
func serveWatch(ctx context.Context, h *harness) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := h.serve(ctx, "--pods", "2000", "--nodes", "20", "--churn", "500")
	if err != nil {
		return err
	}
	config, err := restConfig(s.kubectl.kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	writer, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	witness, err := rawWatch(ctx, writer, pods)
	if err != nil {
		return err
	}
	w, err := h.watch("kinformer", "pods", "-A", "--server", s.url)
	if err != nil {
		return err
	}
	if err := w.awaitSynced(ctx, "pods"); err != nil {
		return errors.Join(err, w.check())
	}
	list := func() (objects, string, error) {
		text, err := client.CoreV1().RESTClient().Get().AbsPath("/api/v1/pods").DoRaw(ctx)
		if err != nil {
			return nil, "", err
		}
		return parseRawPods(text)
	}
	err = errors.Join(compareWithLists(ctx, w.record, w.process.ended, writer, list), w.process.stop())
	if err != nil {
		return errors.Join(err, w.check())
	}
	// The witness can lag behind kinformer. The comparison waits until the witness has all of kinformer's versions.
	if err := errors.Join(witness.awaitVersion(ctx, w.record), s.process.stop()); err != nil {
		return errors.Join(err, w.check())
	}
	return errors.Join(w.check(), comparePrefixes(w.record, witness))
}

// comparePrefixes compares an observer that has ended with a witness that continued. The changes of the observer must be those of the witness up
// to the observer's last one, with none missing between.
func comparePrefixes(observer, witness *record) error {
	var differences []string
	for id := range observer.log {
		observed, actual := observer.historyOf(id), witness.historyOf(id)
		end := len(actual)
		for end > 0 && actual[end-1].version != observed[len(observed)-1].version {
			end--
		}
		if !follows(observed, actual[:end]) {
			differences = append(differences, fmt.Sprintf("%s: saw %v of %v", id, observed, actual))
		}
	}
	return report(fmt.Sprintf("events of %s compared with %s", observer.name, witness.name), differences)
}

// compareWithLists lists, creates a pod, waits until the observer has that pod, and compares the observer's state at the version of the list.
// It does so several times.
func compareWithLists(ctx context.Context, r *record, ended <-chan struct{}, client dynamic.Interface,
	list func() (objects, string, error)) error {
	for i := range comparisons {
		enough := (i + 1) * changesBetweenEach
		if err := r.await(ctx, fmt.Sprintf("%d changes", enough), ended, func() bool { return r.changes >= enough }); err != nil {
			return err
		}
		want, version, err := list()
		if err != nil {
			return err
		}
		marker := identity{"Pod", "default", fmt.Sprintf("e2e-marker-%d", i)}
		_, err = client.Resource(pods).Namespace(marker.namespace).Create(ctx, newPod(marker.name), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if err := r.awaitChange(ctx, ended, addedChange, marker); err != nil {
			return err
		}
		if err := compareObjects(fmt.Sprintf("%s as of version %s", r.name, version), r.stateAt(version), want); err != nil {
			return err
		}
	}
	return nil
}

// parseRawPods parses a PodList as the server sends it. The items of a PodList have no kind and no apiVersion.
func parseRawPods(text []byte) (objects, string, error) {
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []object
	}
	if err := decode(text, &list); err != nil {
		return nil, "", err
	}
	found := objects{}
	for _, item := range list.Items {
		item["apiVersion"], item["kind"] = "v1", "Pod"
		if metadata, isObject := item["metadata"].(object); isObject {
			delete(metadata, "managedFields")
		}
		id, err := identify(item)
		if err != nil {
			return nil, "", err
		}
		found[id] = item
	}
	return found, list.Metadata.ResourceVersion, nil
}

// plainPod converts a *corev1.Pod to decoded JSON, without managedFields.
func plainPod(pod any) (object, error) {
	copied := pod.(*corev1.Pod).DeepCopy()
	copied.APIVersion, copied.Kind = "v1", "Pod"
	copied.ManagedFields = nil
	text, err := json.Marshal(copied)
	if err != nil {
		return nil, err
	}
	var obj object
	err = decode(text, &obj)
	return obj, err
}

// countStreams counts the streaming lists to which the server responds with 200.
type countStreams struct {
	next    http.RoundTripper
	granted *atomic.Int32
}

func (c countStreams) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusOK && request.URL.Query().Get("sendInitialEvents") == "true" {
		c.granted.Add(1)
	}
	return response, err
}

// streamingListGate sets the feature WatchListClient of client-go in this process. Other features do not change.
type streamingListGate struct {
	clientfeatures.Gates
	on bool
}

func (g streamingListGate) Enabled(feature clientfeatures.Feature) bool {
	if feature == clientfeatures.WatchListClient {
		return g.on
	}
	return g.Gates.Enabled(feature)
}

// setStreamingList sets the gate, and returns the function that restores the old one.
func setStreamingList(on bool) func() {
	before := clientfeatures.FeatureGates()
	clientfeatures.ReplaceFeatureGates(streamingListGate{before, on})
	return func() { clientfeatures.ReplaceFeatureGates(before) }
}

// servedLoad is the load of serve-informers-tls.
var servedLoad = []string{"--pods", "200", "--nodes", "5", "--churn", "100"}

// serveInformersTLS runs client-go's informers over TLS, with the token of the server's kubeconfig, and with a client certificate that a CA of
// the judge has signed.
func serveInformersTLS(ctx context.Context, h *harness) error {
	if err := servedWithToken(ctx, h); err != nil {
		return fmt.Errorf("with a token: %w", err)
	}
	if err := servedWithCertificate(ctx, h); err != nil {
		return fmt.Errorf("with a client certificate: %w", err)
	}
	return nil
}

func servedWithToken(ctx context.Context, h *harness) error {
	s, err := h.serve(ctx, append([]string{"--tls", "--rbac"}, servedLoad...)...)
	if err != nil {
		return err
	}
	config, err := restConfig(s.kubectl.kubeconfig)
	if err != nil {
		return err
	}
	wrong := rest.AnonymousClientConfig(config)
	wrong.BearerToken = "wrong"
	if err := checkListError(ctx, wrong, apierrors.IsUnauthorized); err != nil {
		return err
	}
	if err := checkListError(ctx, rest.AnonymousClientConfig(config), apierrors.IsForbidden); err != nil {
		return err
	}
	return informerAgainstLists(ctx, config, true)
}

// checkListError checks that a list of pods fails with the wanted kind of error.
func checkListError(ctx context.Context, config *rest.Config, as func(error) bool) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1}); !as(err) {
		return fmt.Errorf("list of pods with wrong or no credentials: unexpected result %v", err)
	}
	return nil
}

func servedWithCertificate(ctx context.Context, h *harness) error {
	ca, caPEM, _, err := (*issuer)(nil).issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "e2e-ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	if err != nil {
		return err
	}
	_, serverPEM, serverKey, err := ca.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "e2e-server"}, IPAddresses: []net.IP{net.ParseIP("127.0.0.1")},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return err
	}
	_, clientPEM, clientKey, err := ca.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "jane", Organization: []string{"dev"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return err
	}
	file := func(name string) string { return filepath.Join(h.caseDir, name) }
	err = errors.Join(os.WriteFile(file("ca.pem"), caPEM, 0o600), os.WriteFile(file("server.pem"), serverPEM, 0o600),
		os.WriteFile(file("server.key"), serverKey, 0o600))
	if err != nil {
		return err
	}
	s, err := h.serve(ctx, append([]string{"--tls-cert", file("server.pem"), "--tls-key", file("server.key"), "--tls-ca",
		file("ca.pem"), "--allow", "group=dev,resource=pods"}, servedLoad...)...)
	if err != nil {
		return err
	}
	config, err := restConfig(s.kubectl.kubeconfig)
	if err != nil {
		return err
	}
	config = rest.AnonymousClientConfig(config)
	config.QPS = -1
	config.TLSClientConfig.CertData, config.TLSClientConfig.KeyData = clientPEM, clientKey
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().Secrets("").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		return fmt.Errorf("list of secrets as a member of dev: %v, wanted forbidden", err)
	}
	return informerAgainstLists(ctx, config, true)
}
