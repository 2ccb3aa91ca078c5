"""A function for `preexec_fn`: a process that a test starts calls it before it runs the command."""

import signal


def stop_ignoring_ctrl_c() -> None:
    """Let Ctrl-C end the process. If a shell runs the tests in the background, it makes them and the processes that
    they start ignore Ctrl-C.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
