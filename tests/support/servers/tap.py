"""A hop between a client and a server that notes every request body and forwards it: what a client really sent."""

from __future__ import annotations

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit


class Tap:
    """Forwards to a server while it is entered."""

    def __init__(self, target: str) -> None:
        """A hop before ``target``."""
        self.bodies: list[bytes] = []
        """The bodies of all POST requests, in the order of their arrival."""
        tap, host = self, urlsplit(target).netloc

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                self._forward()

            def do_HEAD(self) -> None:
                self._forward()

            def do_POST(self) -> None:
                self._forward()

            def _forward(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.command == "POST":
                    tap.bodies.append(body)
                connection = http.client.HTTPConnection(host, timeout=60)
                headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                data = answer.read()
                self.send_response(answer.status)
                self.send_header("content-type", answer.headers.get("content-type") or "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                connection.close()

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """The address that a client is given."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Tap:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
