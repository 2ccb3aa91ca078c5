"""The judge of served answers: a chat model that says whether the passages that were read support an answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.errors import CallError, SetupError
from quorum.core.state import Passage
from quorum.models import get_model_identity
from quorum.nodes.ask import ask
from quorum.parsing.answers import add_malformed_flag
from quorum.prompts import get_version
from quorum.prompts.evaluation import ANSWER_CHECK


@dataclass(frozen=True)
class WatchJudge:
    """context: the settings of its calls, with the judge as `model`. Its replies are never taken from the journal: a
    stored reply would hide that it has changed.
    """

    context: Context

    def describe_settings(self) -> dict[str, Any]:
        """The settings on which the judge's verdicts depend."""
        name = get_model_identity(self.context.model, self.context) or type(self.context.model).__name__
        return {"judge": name, "prompt": get_version(ANSWER_CHECK.name, self.context.prompts)}

    async def is_right(
        self, question: str, answer: Mapping[str, Any], config: RunnableConfig | None = None
    ) -> bool | None:
        """The verdict on an answer {"answer", "passages"}; None if the call failed or the reply cannot be read."""

        async def ask_verdict(_: Any) -> bool | None:
            replies = await ask(
                ANSWER_CHECK.read_with(add_malformed_flag(ANSWER_CHECK.parse)),
                Runtime(context=self.context),
                passages=list(answer["passages"]),
                question=question,
                answer=str(answer["answer"]),
            )
            verdict = replies.values[0]
            return None if verdict.malformed else bool(verdict.value)

        try:
            # A runnable passes its callbacks on to the call inside it, so that its cost is counted.
            verdict: bool | None = await RunnableLambda(ask_verdict).ainvoke(None, config)
        except CallError:
            return None
        return verdict


def make_watch_judge(model: str, context: Context) -> WatchJudge:
    """A judge that is this model, which decodes greedily. Raises `SetupError` for the embedded reader."""
    if model == "embedded":
        raise SetupError(str(ANSWER_CHECK.offline))
    return WatchJudge(
        replace(context, model=model, verifier=None, temperature=0.0, top_p=1.0, samples=1, journal="off")
    )


def keep_passages(passages: Sequence[Passage] | None) -> list[dict[str, str]]:
    """What the judge reads of passages."""
    return [{name: str(passage.get(name) or "") for name in ("id", "title", "text")} for passage in passages or ()]
