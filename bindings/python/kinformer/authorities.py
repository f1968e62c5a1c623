"""Which certificates verify a server whose configuration names no certificate authority.

The library reads the file of SSL_CERT_FILE and the folders of SSL_CERT_DIR, else the file that its libcurl was built for. A wheel is built on one
system and runs on others, whose file has another place, or which have none. Then the import of `kinformer` sets SSL_CERT_FILE in this process:
to the file of the system, else to that of the package certifi, if it is installed.
"""

from __future__ import annotations

import os

# As Go's crypto/x509 looks for it (root_linux.go). The wheel's libcurl is built for the first one.
_SYSTEM_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def choose_certificates() -> str:
    """Returns where the certificates come from and their place, such as "system: /etc/ssl/certs/ca-certificates.crt".

    Sets SSL_CERT_FILE if the library would not find them by itself. "none": there are none, and only servers whose
    configuration names a certificate authority can be verified.
    """
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        if place := os.environ.get(name):
            return f"{name}: {place}"
    for place in _SYSTEM_FILES:
        if os.path.exists(place):
            if place != _SYSTEM_FILES[0]:
                os.environ["SSL_CERT_FILE"] = place
            return f"system: {place}"
    try:
        import certifi
    except ImportError:
        return "none"
    place = certifi.where()
    os.environ["SSL_CERT_FILE"] = place
    return f"certifi: {place}"
