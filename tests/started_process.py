"""A function for `preexec_fn`: a process started by a test calls this function before the process runs its command."""

import signal


def stop_ignoring_ctrl_c() -> None:
    """Let Ctrl-C end the process.

    If a shell runs the tests in the background, they ignore Ctrl-C, and so do the processes that they start.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
