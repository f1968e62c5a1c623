// The status server of the library's sample controller, read as Prometheus, the kubelet and a person read it: /metrics by the parser of
// Prometheus' Go libraries (expfmt), the probes, and the page.
package main

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

var statusCases = []testCase{
	{name: "status-server", kinformerOnly: true, run: statusServer},
}

// family is a metric that the sample controller must have, with its type and, if labels is set, the labels of one of its samples.
type family struct {
	name   string
	kind   dto.MetricType
	labels map[string]string
}

var families = []family{
	{"informer_synced", dto.MetricType_GAUGE, map[string]string{"resource": "foos", "group": foos.Group}},
	{"informer_events_total", dto.MetricType_COUNTER, map[string]string{"resource": "deployments"}},
	{"informer_object_bytes", dto.MetricType_GAUGE, nil},
	{"reflector_list_duration_seconds", dto.MetricType_SUMMARY, nil},
	{"workqueue_depth", dto.MetricType_GAUGE, map[string]string{"name": "foo", "controller": "foo"}},
	{"workqueue_queue_duration_seconds", dto.MetricType_HISTOGRAM, map[string]string{"name": "foo"}},
	{"controller_runtime_reconcile_total", dto.MetricType_COUNTER, map[string]string{"result": "success"}},
	{"controller_runtime_reconcile_time_seconds", dto.MetricType_HISTOGRAM, map[string]string{"controller": "foo"}},
	{"leader_election_master_status", dto.MetricType_GAUGE, map[string]string{"name": "sample-controller"}},
}

// fetch returns the body of a response with this status. It asks for gzip, and the body is unpacked.
func fetch(ctx context.Context, url, accept string, status int) (string, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", nil, err
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", nil, err
	}
	defer response.Body.Close()
	var body io.Reader = response.Body
	if response.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(response.Body); err != nil {
			return "", nil, err
		}
	}
	text, err := io.ReadAll(body)
	if err == nil && response.StatusCode != status {
		err = fmt.Errorf("%s: %s, wanted %d: %s", url, response.Status, status, text)
	}
	return string(text), response.Header, err
}

// parse reads metrics in the format that the response's header names.
func parse(text string, header http.Header) (map[string]*dto.MetricFamily, error) {
	if format := expfmt.ResponseFormat(header); format.FormatType() != expfmt.TypeTextPlain {
		return nil, fmt.Errorf("the format %s of %q is not text", format, header.Get("Content-Type"))
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return parser.TextToMetricFamilies(strings.NewReader(text))
}

func hasLabels(metric *dto.Metric, labels map[string]string) bool {
	found := 0
	for _, label := range metric.GetLabel() {
		if labels[label.GetName()] == label.GetValue() && label.GetValue() != "" {
			found++
		}
	}
	return found == len(labels)
}

func familyProblem(parsed map[string]*dto.MetricFamily, want family) string {
	have := parsed[want.name]
	if have == nil || have.GetHelp() == "" {
		return want.name + " is missing, or has no help"
	}
	if have.GetType() != want.kind {
		return fmt.Sprintf("%s is a %v, not a %v", want.name, have.GetType(), want.kind)
	}
	if !slices.ContainsFunc(have.GetMetric(), func(metric *dto.Metric) bool { return hasLabels(metric, want.labels) }) {
		return fmt.Sprintf("%s has no sample with %v", want.name, want.labels)
	}
	return ""
}

// histogramProblem returns what is wrong with the buckets of a histogram.
func histogramProblem(name string, parsed map[string]*dto.MetricFamily) string {
	for _, metric := range parsed[name].GetMetric() {
		histogram, last := metric.GetHistogram(), uint64(0)
		for _, bucket := range histogram.GetBucket() {
			if bucket.GetCumulativeCount() < last {
				return name + ": a bucket has less than the one before"
			}
			last = bucket.GetCumulativeCount()
		}
		if last != histogram.GetSampleCount() || last == 0 {
			return fmt.Sprintf("%s: %d in the last bucket, %d observations", name, last, histogram.GetSampleCount())
		}
	}
	return ""
}

func statusServer(ctx context.Context, h *harness) error {
	s, err := h.fooServer(ctx)
	if err != nil {
		return err
	}
	st, err := h.newStage(ctx, s, "status")
	if err != nil {
		return err
	}
	closed, err := closedPort()
	if err != nil {
		return err
	}
	address := strings.TrimPrefix(closed, "https://")
	url := "http://" + address
	controller, err := h.startLibraryController("sample-controller-status", s.file("kubeconfig-kinformer"),
		"--status", address, "--leader-elect", "--lease-namespace", st.namespace)
	if err != nil {
		return err
	}
	if err := awaitState(ctx, "readiness", func() (string, error) {
		if _, _, err := fetch(ctx, url+"/readyz", "*/*", http.StatusOK); err != nil {
			return err.Error(), nil
		}
		return "", nil
	}); err != nil {
		return err
	}
	if _, err := st.createFoo(ctx, "test", "test-deployment", 1); err != nil {
		return err
	}
	if err := st.awaitEvent(ctx, "test", "Synced"); err != nil {
		return err
	}
	if err := checkMetrics(ctx, url); err != nil {
		return err
	}
	if err := checkPages(ctx, url); err != nil {
		return err
	}
	return controller.stop()
}

func checkMetrics(ctx context.Context, url string) error {
	text, header, err := fetch(ctx, url+"/metrics", "text/plain;version=0.0.4", http.StatusOK)
	if err != nil {
		return err
	}
	parsed, err := parse(text, header)
	if err != nil {
		return err
	}
	for _, want := range families {
		if problem := familyProblem(parsed, want); problem != "" {
			return fmt.Errorf("%s, in:\n%s", problem, text)
		}
		if want.kind == dto.MetricType_HISTOGRAM {
			if problem := histogramProblem(want.name, parsed); problem != "" {
				return fmt.Errorf("%s, in:\n%s", problem, text)
			}
		}
	}
	// What Prometheus sends: it prefers OpenMetrics.
	open, header, err := fetch(ctx, url+"/metrics", "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3", http.StatusOK)
	if err != nil {
		return err
	}
	if expfmt.Format(header.Get("Content-Type")).FormatType() != expfmt.TypeOpenMetrics || !strings.HasSuffix(open, "# EOF\n") {
		return fmt.Errorf("no OpenMetrics, but %s", header.Get("Content-Type"))
	}
	return nil
}

func checkPages(ctx context.Context, url string) error {
	for path, part := range map[string]string{
		"/livez":          "ok\n",
		"/readyz?verbose": "[+]informer foos." + foos.Group + ": watching, synced",
		"/":               "<td role=\"cell\" data-label=\"This process\"><span class=\"state\">✔ leads</span>",
	} {
		text, _, err := fetch(ctx, url+path, "*/*", http.StatusOK)
		if err != nil {
			return err
		}
		if !strings.Contains(text, part) {
			return fmt.Errorf("%s has not %q, but:\n%s", path, part, text)
		}
	}
	return nil
}
