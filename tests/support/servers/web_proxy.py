"""A web proxy on loopback that answers requests to HTTPS hosts itself, with a certificate that clients have to trust.

For clients that ask hosts of their vendor beside the model, at addresses that can't be changed.
"""

from __future__ import annotations

import json
import shutil
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.agents.npm import NotInstalled


class WebProxy:
    """Serves while it is entered."""

    def __init__(self, folder: Path, hosts: Sequence[str], answers: Mapping[str, Any]) -> None:
        """Answer requests to ``hosts`` with JSON by their paths; others get an empty object."""
        self.asked: list[str] = []
        """What was asked: the host and port, and the path, of each request."""
        self.certificate, key = folder / "certificate.pem", folder / "key.pem"
        """The certificate, which a client of Node.js trusts by ``NODE_EXTRA_CA_CERTS``."""
        _make_certificate(self.certificate, key, hosts)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        proxy = self

        class Answering(BaseHTTPRequestHandler):
            """Answers requests within the connection to a host."""

            host = ""

            def log_message(self, format: str, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                self.do_GET()

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                proxy.asked.append(f"{self.host}{path}")
                data = json.dumps(answers.get(path, {})).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        class Connecting(BaseHTTPRequestHandler):
            """Takes connections for other hosts."""

            def log_message(self, format: str, *args: object) -> None:
                pass

            def do_CONNECT(self) -> None:
                self.send_response(200)
                self.end_headers()
                named = type("Named", (Answering,), {"host": self.path})
                with context.wrap_socket(self.connection, server_side=True) as inner:
                    named(inner, self.client_address, self.server)
                self.close_connection = True

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Connecting)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """The address for the variable ``HTTPS_PROXY``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> WebProxy:
        """Start to serve."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()


def _make_certificate(certificate: Path, key: Path, hosts: Sequence[str]) -> None:
    """Make a certificate for hosts that signs itself."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise NotInstalled("there is no openssl on the path, which makes a certificate")
    names = ",".join(f"DNS:{host}" for host in hosts)
    words = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost")
    files = ("-addext", f"subjectAltName={names}", "-out", str(certificate), "-keyout", str(key))
    subprocess.run((openssl, *words, *files), capture_output=True, check=True)
