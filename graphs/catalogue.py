"""The catalogue: every method, its paper and what it costs.

`make readme` writes langgraph.json from the catalogue.
"""

from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, cast

from quorum.core import plugins
from quorum.core.errors import SetupError

if TYPE_CHECKING:  # imported when a graph is used: LangGraph is slow to import
    from quorum.core.context import Context
    from quorum.core.state import Question, Result, State
    from quorum.graphs.method_graph import CompiledMethodGraph

DEFAULT_METHOD = "concat_pf"


@dataclass(frozen=True)
class Method:
    """A method, its paper and its cost.

    `calls` and `depth` are formulas, in which k is the number of passages, n the number of samples, K the number of
    candidates, T the number of rounds (iterations), s the largest number of searches (max_steps), and d, in
    self_verification only, the number of different answers. [condition] stands before calls that are made only if the
    condition holds.
    """

    name: str
    """What `--methods` and `answer` call it."""
    paper: str
    """Authors, year and title, or what it is an example of."""
    summary: str
    """What it does, in a sentence."""
    calls: str
    """The number of model calls; empty if it is not known."""
    depth: str
    """How many of the calls follow one another; empty if it is not known."""
    module: str = ""
    """The module of the compiled `graph`; if empty, quorum.graphs.NAME."""

    @property
    def import_path(self) -> str:
        """The import path of the graph, as langgraph.json writes it: "module:graph"."""
        return f"{self.module or f'quorum.graphs.{self.name}'}:graph"

    @property
    def graph(self) -> "CompiledMethodGraph[State, Context, Question, Result]":
        """The compiled graph, imported on first use."""
        return cast(
            "CompiledMethodGraph[State, Context, Question, Result]",
            import_module(self.import_path.partition(":")[0]).graph,
        )

    def draw(self, *, is_open: bool = False) -> str:
        """The graph as Mermaid text. is_open: also show what is inside the nodes that are graphs themselves, one level
        deep; `graph.get_graph(xray=True)` shows all levels.

        >>> METHODS["concat"].draw().count("-->"), "rerank" in METHODS["concat"].draw(is_open=True)
        (5, True)
        """
        return self.graph.get_graph(xray=1 if is_open else False).draw_mermaid()


REACT = "Yao et al. 2023, ReAct: Synergizing Reasoning and Acting in Language Models (arXiv:2210.03629)"
SELF_ASK = "Press et al. 2023, Measuring and Narrowing the Compositionality Gap in Language Models (arXiv:2210.03350)"
ITER_RETGEN = (
    "Shao et al. 2023, Enhancing Retrieval-Augmented Large Language Models with Iterative Retrieval-Generation Synergy "
    "(arXiv:2305.15294)"
)
FILCO = "Wang et al. 2023, Learning to Filter Context for Retrieval-Augmented Generation (arXiv:2311.08377)"
DIRECT = "Brown et al. 2020, Language Models are Few-Shot Learners (arXiv:2005.14165)"
COT = "Wei et al. 2022, Chain-of-Thought Prompting Elicits Reasoning in Large Language Models (arXiv:2201.11903)"
BLENDFILTER = "Wang et al. 2024, BlendFilter: Query Generation Blending and Knowledge Filtering (arXiv:2402.11129)"
SURE = "Kim et al. 2024, SuRe: Summarizing Retrievals using Answer Candidates (arXiv:2404.13081)"
RERANK = "Lazaridou et al. 2022, Internet-Augmented Language Models through Few-Shot Prompting (arXiv:2203.05115)"
REPLUG = "Shi et al. 2023, REPLUG: Retrieval-Augmented Black-Box Language Models (arXiv:2301.12652)"
ZERO_SHOT_COT = "Kojima et al. 2022, Large Language Models are Zero-Shot Reasoners (arXiv:2205.11916)"
SELECTION_INFERENCE = "Creswell et al. 2022, Selection-Inference (arXiv:2205.09712)"
SELF_VERIFICATION = (
    "Weng et al. 2023, Large Language Models are Better Reasoners with Self-Verification (arXiv:2212.09561)"
)
AGENT = "Li et al. 2025, Search-o1: Agentic Search-Enhanced Large Reasoning Models (arXiv:2501.05366)"
HYDE = "Gao et al. 2023, Precise Zero-Shot Dense Retrieval without Relevance Labels (arXiv:2212.10496)"
SELF_ROUTE = (
    "Li et al. 2024, Retrieval Augmented Generation or Long-Context LLMs? A Comprehensive Study and Hybrid Approach "
    "(arXiv:2407.16833)"
)
CRAG = "Yan et al. 2024, Corrective Retrieval Augmented Generation (arXiv:2401.15884)"
POST_FUSION = "Liu et al. 2024, Modeling Uncertainty and Using Post-fusion as Fallback (arXiv:2308.12574)"

METHODS = {
    method.name: method
    for method in (
        Method("concat", POST_FUSION, "One prompt over all passages.", "n", "1"),
        Method("post_fusion", POST_FUSION, "Every passage answers alone, then a majority vote.", "k*n", "1"),
        Method("pruning", POST_FUSION, "Rule out passages step by step, answer from the rest.", "1", "1"),
        Method(
            "summary", POST_FUSION, "Summarize what is relevant to the question, answer from the summary.", "1", "1"
        ),
        Method(
            "concat_pf",
            POST_FUSION,
            "One prompt over all passages; if the answer is unknown, every passage alone and a vote.",
            "n + [unknown] k*n",
            "1 or 2",
        ),
        Method(
            "pf_concat",
            POST_FUSION,
            "Every passage answers alone; one prompt over those that gave an answer, with these answers as candidates.",
            "k*n + n",
            "2",
        ),
        Method("no_retrieval", SURE, "The question alone, from what the model knows.", "n", "1"),
        Method("base", SURE, "One prompt over all passages; the answer has at most three words.", "n", "1"),
        Method("rerank", RERANK, "Every passage answers alone; votes are weighted by TF-IDF similarity.", "k*n", "1"),
        Method(
            "replug", REPLUG, "Every passage answers alone; votes are weighted by embedding similarity.", "k*n", "1"
        ),
        Method("zero_shot_cot", ZERO_SHOT_COT, "Step by step over all passages, without an example.", "1", "1"),
        Method(
            "selection_inference",
            SELECTION_INFERENCE,
            "The model ranks the passages, then reads one after the other and keeps notes.",
            "1 + k",
            "1 + k",
        ),
        Method(
            "self_verification",
            SELF_VERIFICATION,
            "Five samples; of d different answers, the one that best helps recover hidden words of the question wins.",
            "5 + [d > 1] 11d",
            "1 or 3",
        ),
        Method(
            "filco",
            FILCO,
            "A filter keeps the sentences that help, if any; one prompt over them.",
            "1 + n",
            "2",
        ),
        Method(
            "blendfilter",
            BLENDFILTER,
            "Three queries, with and without generated knowledge; the model keeps the passages that help.",
            "11",
            "5",
        ),
        Method("direct", DIRECT, "Three examples, then the answer alone, over the passages or from memory.", "1", "1"),
        Method(
            "cot",
            COT,
            "Three worked examples, then step by step to the answer, over the passages or from memory.",
            "1",
            "1",
        ),
        Method(
            "react",
            REACT,
            "Thoughts and searches in turn, at most s searches (max_steps), until a thought ends in the answer.",
            "1..2s+2",
            "1..2s+2",
        ),
        Method(
            "agent",
            AGENT,
            "The model calls a search tool, several searches at once if it likes, at most s (max_steps), then answers.",
            "1..s+1",
            "1..s+1",
        ),
        Method(
            "self_ask",
            SELF_ASK,
            "At most s follow-up questions (max_steps), each looked up and answered, then the final answer.",
            "1..2s+1",
            "1..2s+1",
        ),
        Method(
            "iter_retgen",
            ITER_RETGEN,
            "T rounds of search and reasoning; each round searches by the question and the previous reasoning.",
            "T",
            "T",
        ),
        Method(
            "sure",
            SURE,
            "K candidate answers, each with a supporting summary; the summaries' validity and ranking choose one.",
            "1 + 2K + K(K-1)",
            "3",
        ),
        Method("mcq", SURE, "K candidate answers, then one prompt with them as choices.", "2", "2"),
        Method("sum_and_pred", SURE, "A summary of the passages, then the answer from it alone.", "2", "2"),
        Method(
            "hyde",
            HYDE,
            "The model makes up a passage that might answer; the search is for it; one prompt over what is found.",
            "1 + n",
            "2",
        ),
        Method(
            "full_documents",
            SELF_ROUTE,
            "One prompt over the documents of the passages found, as far as they fit, or over all (documents).",
            "n",
            "1",
        ),
        Method(
            "self_route",
            SELF_ROUTE,
            "One prompt over the passages found; if the answer is unknown, one over their documents.",
            "n + [unknown] n",
            "1 or 2",
        ),
        Method(
            "crag",
            CRAG,
            "The passages are graded; if none is good, one more search; the best of their text in one prompt.",
            "n + [not correct] 1 + [evaluator=llm] (k+1)",
            "1..4",
        ),
    )
}


def list_methods() -> dict[str, Method]:
    """Quorum's methods and, after them, those of other installed packages (docs/plugins.md), by name."""
    return plugins.add_plugins(plugins.METHOD_GROUP, METHODS, accept_plugin_method)


def accept_plugin_method(name: str, value: object) -> Method:
    """Check the object that a package registers as a method, and return it with the name of its entry point."""
    if not isinstance(value, Method) or not value.module:
        raise TypeError(f"expected a quorum.Method that names its module, found {value!r}")
    return replace(value, name=name)


def find_listed_method(name: str) -> Method:
    """The method of this name in `list_methods`. If there is none, raises a SetupError that lists the methods and
    suggests the nearest name.
    """
    if name in METHODS:
        return METHODS[name]
    methods = list_methods()
    if name not in methods:
        similar_names = get_close_matches(name.strip().lower().replace("-", "_"), methods, n=1)
        suggestion = f"did you mean {similar_names[0]}? The" if similar_names else "the"
        raise SetupError(f"There is no method {name!r}; {suggestion} methods are: {', '.join(methods)}.")
    return methods[name]
