"""Quorum's exceptions.

RuntimeError         LangGraph's server shows the message of a RuntimeError to its client, but of no other exception
└── QuorumError      any error that Quorum raises on purpose
    ├── SetupError   a mistake in input or configuration: what is wrong, what was given, what to do next (exit code 2)
    └── CallError    a call of a model or of a user's system that failed: an error row in an evaluation (exit code 1)
        └── TooLong  the prompt does not fit the model's window (the caller drops a passage and tries again)
"""


class QuorumError(RuntimeError):
    """Any error that Quorum raises on purpose. Catch this one to catch them all."""


class SetupError(QuorumError):
    """A mistake in input or configuration. Its message is one sentence, which the command line shows without traceback:
    what is wrong, what was given, what to do next.
    """


class CallError(QuorumError):
    """A call of a model, or of a user's own system, that failed (after its retries, if there are any).

    status: the HTTP status of the server's response; None without one.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class TooLong(CallError):  # noqa: N818  the name describes the error without "Error"
    """The prompt does not fit the model's window, as our estimate, the model's own limit or the server's reply says."""
