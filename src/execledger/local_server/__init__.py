"""A web server on loopback in a thread of its own, for the proxy and the viewer."""
