"""The HTTP server under the loopback servers of the tests."""

from http.server import ThreadingHTTPServer


class LoopbackServer(ThreadingHTTPServer):
    """A threading HTTP server for many clients at once.

    A connection that does not fit into the queue of waiting ones is tried again by its client only a second later;
    the standard queue holds five.
    """

    daemon_threads = True
    request_queue_size = 1000
