"""Responses of the viewer's server: JSON bodies, security headers, and the check that refuses foreign requests."""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler

from execledger.errors import LedgerError
from execledger.local_server.loopback import foreign_origin
from execledger.viewer.assets import LOCKED
from execledger.viewer.encoding import encoded

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    f"{LOCKED}; frame-ancestors 'none'"
)
"""The content security policy: only our own files, no inline scripts or styles, nothing from other hosts."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
"""The headers of every response."""
SMALL = 1000
"""Bytes below which a response is not compressed."""


class RequestRefused(LedgerError):
    """A request that is refused, with an HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        """``message`` says what was found, and what was expected."""
        super().__init__(message)
        self.status = status
        """The HTTP status of the response."""


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Add the common headers to a response."""
    response.headers.update(HEADERS)


@web.middleware
async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer requests of our own page only; every error becomes one sentence of JSON, without a traceback."""
    try:
        _check(request)
        return await handler(request)
    except RequestRefused as error:
        return answered({"error": error.message}, error.status)
    except web.HTTPException as error:
        return answered({"error": error.reason.lower()}, error.status)
    except LedgerError as error:
        return answered({"error": error.message}, 422)
    except OSError as error:
        return answered({"error": f"the file can't be read: {error.strerror or 'it is gone'}"}, 422)
    except Exception as error:
        # A run is foreign input: one that breaks the viewer must not break the page, nor be quoted to it.
        return answered(
            {"error": f"this can't be shown, after a fault of the viewer's own: {type(error).__name__}"}, 500
        )


def _check(request: web.Request) -> None:
    """Refuse requests of other sites, and methods other than GET and HEAD."""
    if reason := foreign_origin(request.host, request.headers, linked=request.path == "/"):
        raise RequestRefused(403, reason)
    if request.method not in ("GET", "HEAD"):
        raise RequestRefused(405, "there is nothing here but to look at")


def answered(answer: object, status: int = 200) -> web.Response:
    """A response in JSON."""
    return packed(web.Response(body=encoded(answer), status=status, content_type="application/json"))


def packed(response: web.Response) -> web.Response:
    """The response, compressed if it is large and the browser accepts that."""
    if isinstance(response.body, bytes) and len(response.body) > SMALL:
        response.enable_compression()
    return response
