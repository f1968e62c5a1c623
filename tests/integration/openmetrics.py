"""Reads the output of tests/programs/print_metrics with OpenMetrics' reference parser, and checks the histograms.

usage: openmetrics.py PROGRAM
"""

import subprocess
import sys

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    print("skipped: there is no prometheus_client")
    sys.exit(77)

NAME = 'a "name" \\ of\ntwo lines'
QUEUE = {"name": NAME, "controller": NAME}
# component-base/metrics/prometheus/workqueue; controller-runtime's pkg/internal/metrics has the last two, too.
QUEUE_BOUNDS = [1e-08, 1e-07, 1e-06, 9.999999999999999e-06, 9.999999999999999e-05, 0.001, 0.01, 0.1, 1, 10, 100, 1000]
# controller-runtime's pkg/internal/controller/metrics
RECONCILE_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
                    1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60]

text = subprocess.run(sys.argv[1:], check=True, capture_output=True, text=True).stdout
families = {family.name: family for family in text_string_to_metric_families(text)}


def must(condition, what):
    if not condition:
        sys.exit(f"openmetrics: {what}, in:\n{text}")


def value(family, suffix, labels):
    """Returns the value of the one sample with these labels."""
    values = [s.value for s in families[family].samples if s.name == family + suffix and s.labels == labels]
    must(len(values) == 1, f"{len(values)} samples of {family}{suffix}{labels}")
    return values[0]


def check_histogram(family, labels, bounds):
    must(families[family].type == "histogram", f"{family} is no histogram")
    must(families[family].unit == "seconds", f"{family} has no unit")
    buckets = [s for s in families[family].samples if s.name == family + "_bucket"]
    must([float(s.labels["le"]) for s in buckets] == bounds + [float("inf")], f"{family}: other buckets")
    must(all({**s.labels, "le": ""} == {**labels, "le": ""} for s in buckets), f"{family}: other labels")
    must(buckets[-1].value == value(family, "_count", labels) == 10, f"{family}: not ten observations")
    must(value(family, "_sum", labels) > 0, f"{family}: no sum")


check_histogram("workqueue_queue_duration_seconds", QUEUE, QUEUE_BOUNDS)
check_histogram("workqueue_work_duration_seconds", QUEUE, QUEUE_BOUNDS)
check_histogram("controller_runtime_reconcile_time_seconds", {"controller": NAME}, RECONCILE_BOUNDS)
must(value("workqueue_depth", "", {**QUEUE, "priority": "-100"}) == 0, "keys of the first list are left")
must(value("controller_runtime_reconcile", "_total", {"controller": NAME, "result": "success"}) == 9, "not 9 successes")
must(value("leader_election_slowpath", "_total", {"name": "lock"}) == 0, "a slow path")
must(families["informer_pending_notifications"].samples[0].labels["handler"] == NAME, "the handler's name")
INFORMER = {"name", "group", "version", "resource", "namespace", "label_selector", "field_selector", "keep"}
for family, kind in (("informer_queued_items", "gauge"), ("informer_processing_latency_seconds", "histogram"),
                     ("informer_store_resource_version", "gauge")):
    must(families[family].type == kind, f"{family} is no {kind}")
    must(all(set(s.labels) - {"le"} == INFORMER for s in families[family].samples), f"{family}: other labels")
must(all(set(s.labels) == {"name", "code", "method", "host"} for s in families["rest_client_requests"].samples),
     "rest_client_requests: other labels")
must({s.labels["method"] for s in families["rest_client_requests"].samples} >= {"GET", "POST"}, "no GET or POST")
LATENCY_BOUNDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60]
gets = [s for s in families["rest_client_request_duration_seconds"].samples
        if s.name.endswith("_bucket") and s.labels["verb"] == "GET"]
must([float(s.labels["le"]) for s in gets] == LATENCY_BOUNDS + [float("inf")], "other buckets of requests")
must(families["informer_object_bytes"].unit == "bytes", "no unit of bytes")
print(f"{len(families)} metrics, {sum(len(f.samples) for f in families.values())} samples")
