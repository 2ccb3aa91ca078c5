"""What a test does in a process that it starts, before the command runs there."""

import signal


def stop_ignoring_ctrl_c() -> None:
    """Let Ctrl-C end the process: a shell makes background processes and their children ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
