"""The HTTP server under the loopback servers of the tests."""

from http.server import ThreadingHTTPServer


class LoopbackServer(ThreadingHTTPServer):
    """A threading HTTP server for many clients at once.

    Python's standard server queues five waiting connections; a client that finds the queue full tries again only a
    second later.
    """

    daemon_threads = True
    request_queue_size = 1000
