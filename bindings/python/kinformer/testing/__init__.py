"""A Kubernetes API server in the test's own process, for programs that use any client.

    import kinformer.testing

    with kinformer.testing.Server() as server:
        server.load("objects/*.yaml")
        server.fault("status,code=500,verb=list,count=2")
        run_the_program(kubeconfig=server.kubeconfig)
        assert [request.name for request in server.requests(verb="create", resource="pods")] == ["cart-1"]

With pytest a test asks for the fixture `kube_api`, which is such a server, empty for each test (pytest_kinformer).
"""

from .fault import Fault
from .request import Request
from .server import Server
from .user import User

__all__ = ["Fault", "Request", "Server", "User"]
