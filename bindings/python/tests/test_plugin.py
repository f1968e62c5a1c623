"""The plugin of pytest, as a project uses it: in a pytest of its own."""

import pathlib
import subprocess
import sys

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"
PROJECT = pathlib.Path(__file__).parent / "project"

TESTS = """
import kinformer, pytest, urllib.request

def test_the_objects_of_the_session_are_there(kube_api):
    assert [pod["metadata"]["name"] for pod in kube_api.list("pods")] == ["cart-1", "cart-2"]
    kube_api.delete("pods", "cart-1", "shop")
    kube_api.fault("status,code=500")
    kube_api.user("jane")

def test_each_test_begins_at_the_start(kube_api):
    assert [pod["metadata"]["name"] for pod in kube_api.list("pods")] == ["cart-1", "cart-2"]
    assert kube_api.requests() == []

def test_files_are_beside_the_test(kube_api):
    assert kube_api.load("beside.yaml") == 1
    assert kube_api.get("configmaps", "beside")

def test_that_fails(kube_api):
    with kinformer.Factory.from_kubeconfig(kube_api.kubeconfig) as factory:
        factory.informer("nodes")
        factory.start()
        factory.wait_for_sync(timeout=30)
    assert kube_api.list("nodes")

def test_after_a_failure(kube_api):
    assert kube_api.requests() == []
"""


def run(folder, *options):
    command = [sys.executable, "-m", "pytest", "-p", "pytest_kinformer", "-p", "no:cacheprovider", "-q", *options]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    return done.returncode, done.stdout


def test_a_project_has_a_server_for_all_its_tests(tmp_path):
    (tmp_path / "conftest.py").write_text((PROJECT / "conftest.py").read_text().replace('"base/', f'"{PROJECT}/base/'))
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_shop.py").write_text(TESTS)
    (tmp_path / "tests" / "beside.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: beside}\n")
    status, output = run(tmp_path)
    assert status == 1 and "1 failed, 4 passed" in output, output
    assert "requests to kube_api" in output and "watch /api/v1/nodes?" in output, output


def test_the_fixtures_say_what_they_are(tmp_path):
    (tmp_path / "test_none.py").write_text("")
    _, output = run(tmp_path, "--fixtures")
    assert "kube_api_server [session scope]" in output and "A Kubernetes API server" in output, output


def test_a_project_without_a_test_of_it_does_not_load_the_library(tmp_path):
    test = "import sys\ndef test_it():\n    assert 'kinformer' not in sys.modules\n"
    (tmp_path / "test_other.py").write_text(test)
    status, output = run(tmp_path)
    assert status == 0, output


def test_the_tests_of_the_example_pass():
    status, output = run(EXAMPLES / "python", "test_failed_pods.py")
    assert status == 0 and "2 passed" in output, output
