"""Creates scorers. A scorer is a model that gives the log-probabilities of a text, which the measure CXMI needs."""

from quorum.algorithms.filco_measures import LogProbabilityModel
from quorum.core.context import Context
from quorum.core.errors import SetupError

SPEC_FORMS = (
    "transformers:PATH (the folder of a model; needs the extra `train`) or completions:MODEL (a model on a server "
    "whose /v1/completions supports `echo`)"
)


def make_scorer(spec: str, context: Context | None = None) -> LogProbabilityModel:
    """The scorer that a spec names. There are two forms of specs; any other raises `SetupError`:

    - "transformers:PATH": a seq2seq or causal model of the transformers library, run in this process;
    - "completions:MODEL": an OpenAI-compatible server (OPENAI_BASE_URL, OPENAI_API_KEY) that echoes log-probabilities
      of the prompt. `context` sets its timeout, attempts and concurrency.
    """
    kind, _, name = (part.strip() for part in spec.strip().partition(":"))
    if kind == "transformers" and name:
        from quorum.models.logprobs_transformers import TransformersScorer

        return TransformersScorer(name)
    if kind == "completions" and name:
        from quorum.models.logprobs_completions import CompletionsScorer

        return CompletionsScorer(name, context or Context())
    if kind == "embedded":
        reason = "the embedded model finds answers in passages and cannot say how likely a text is"
    elif kind == "openai":
        reason = "a chat endpoint returns no log-probabilities of a given text"
    else:
        reason = "it names no model that gives log-probabilities"
    raise SetupError(f"scorer={spec!r} cannot be used for cxmi: {reason}; give {SPEC_FORMS}.")
