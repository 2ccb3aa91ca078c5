"""The one exception for a user.

RuntimeError         whose message LangGraph's server passes on; that of an unknown kind it keeps to itself
└── QuorumError      everything of ours that a caller may want to catch
    ├── SetupError   a mistake in input or configuration: what is wrong, what was given, what to do next (exit code 2)
    └── CallError    one model call that failed after its retries: an error row in an evaluation (exit code 1)
        └── TooLong  the prompt does not fit the model's window (the caller drops a passage and tries again)
"""


class QuorumError(RuntimeError):
    """Everything of ours that a caller may want to catch."""


class SetupError(QuorumError):
    """What is wrong, what was given, what to do next: one sentence, shown without a traceback."""


class CallError(QuorumError):
    """A model call that failed after its retries. `status` is the server's HTTP status, when it gave one."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class TooLong(CallError):  # noqa: N818  it reads as what it says
    """The server refused the prompt because it does not fit the model's window."""
