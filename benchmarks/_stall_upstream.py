"""A server that takes any request and gives one short answer, each on a thread of its own: it prints its address."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = b'data: {"type":"response.completed","response":{"id":"r","usage":{"input_tokens":1}}}\n\n'


class Upstream(BaseHTTPRequestHandler):
    """Answers when it has the whole body."""

    protocol_version = "HTTP/1.1"
    # Without this, an answer waits for an acknowledgement that the other side delays by 40 ms.
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self) -> None:
        """Take a request."""
        if self.headers.get("transfer-encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                self.rfile.read(size + 2)
            self.rfile.readline()
        left = int(self.headers.get("content-length", 0))
        while left:
            left -= len(self.rfile.read(min(left, 1_000_000)))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """Has room for all that wait."""

    daemon_threads = True
    request_queue_size = 64


if __name__ == "__main__":
    with Server(("127.0.0.1", 0), Upstream) as server:
        print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
        server.serve_forever()
