"""Times FlashRAG's SuRe over given passages; `benchmarks.peers.flashrag_sure` runs this file in FlashRAG's environment.

Reads {"url", "slots", "questions": [{"id", "question", "passages": [{"title", "text"}]}]} from stdin and writes
{"seconds", "version", "answers"} as the last line of stdout. url: the address of the model's server; slots: how many
calls the server answers at once; seconds: the time for all questions but the first; version: FlashRAG's; answers: those
to the timed questions. FlashRAG takes the passages from its retrieval cache. Its wheel has no default configuration, so
this file gives the settings that this run needs; FlashRAG reads all others as null.
"""

import asyncio
import importlib.metadata
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


class Settings(dict[str, Any]):
    """FlashRAG's configuration. A setting without a value is null, as in FlashRAG's own class of settings."""

    def __missing__(self, key: str) -> None:
        return None


def make_settings(task: dict[str, Any], folder: Path) -> Settings:
    """Write the passages to a retrieval cache in `folder`, and return FlashRAG's settings.

    FlashRAG speaks OpenAI's protocol with the server, sends as many prompts at once as the server has slots, and takes
    the passages from the cache.
    """
    (folder / "cache.json").write_text(
        json.dumps({question["question"]: make_documents(question) for question in task["questions"]})
    )
    return Settings(
        framework="openai",
        generator_model="gpt-4o",  # a name that FlashRAG's tokenizer knows; the server accepts any name
        generator_batch_size=task["slots"],
        generator_max_input_len=1_000_000,
        generation_params={},
        openai_setting={"api_key": "none", "base_url": task["url"]},
        retrieval_method="bm25",
        bm25_backend="bm25s",
        retrieval_topk=max(len(question["passages"]) for question in task["questions"]),
        index_path=str(write_placeholder_index(folder / "index")),
        use_retrieval_cache=True,
        retrieval_cache_path=str(folder / "cache.json"),
        save_dir=str(folder),
        metrics=[],
        dataset_name="given",
    )


def make_documents(question: dict[str, Any]) -> list[dict[str, Any]]:
    """The passages of a question in the form of FlashRAG's retrieval cache."""
    return [
        {**passage, "contents": f"{passage['title']}\n{passage['text']}", "score": 1.0}
        for passage in question["passages"]
    ]


def write_placeholder_index(folder: Path) -> Path:
    """Write an index of one document, which the retriever loads but never searches."""
    import bm25s

    searcher = bm25s.BM25(corpus=[{"id": "0", "contents": "none"}])
    searcher.index(bm25s.tokenize(["none"], show_progress=False), show_progress=False)
    searcher.save(str(folder), corpus=[{"id": "0", "contents": "none"}])
    return folder


def prepare_tokenizer() -> None:
    """Make FlashRAG's tokenizer work without a network: it then counts bytes instead of tokens."""
    import tiktoken
    import tiktoken.registry

    try:
        tiktoken.encoding_for_model("gpt-4o")
    except Exception:  # noqa: BLE001  a failed download may raise anything
        bytes_only = tiktoken.Encoding(
            "o200k_base", pat_str=r"[\s\S]", mergeable_ranks={bytes([byte]): byte for byte in range(256)},
            special_tokens={},
        )  # fmt: skip
        tiktoken.registry.ENCODINGS["o200k_base"] = bytes_only


def make_pipeline(configuration: Settings) -> Any:
    """FlashRAG's SuRe.

    For a single prompt, FlashRAG's generator wraps the list of messages in another list, which servers refuse; we
    remove the outer list.
    """
    from flashrag.generator import OpenaiGenerator  # type: ignore[import-not-found]
    from flashrag.pipeline import SuRePipeline  # type: ignore[import-not-found]

    class UnwrappingGenerator(OpenaiGenerator):  # type: ignore[misc]
        async def get_response(self, input: list[Any], **params: Any) -> Any:
            return await super().get_response(input[0] if isinstance(input[0], list) else input, **params)

    sure = SuRePipeline(configuration)
    sure.generator = UnwrappingGenerator(configuration)
    return sure


def main() -> None:
    from flashrag.dataset import Dataset  # type: ignore[import-not-found]
    from flashrag.dataset.dataset import Item  # type: ignore[import-not-found]

    task = json.load(sys.stdin)
    prepare_tokenizer()
    asyncio.set_event_loop(asyncio.new_event_loop())  # FlashRAG calls asyncio.get_event_loop()
    with tempfile.TemporaryDirectory() as folder:
        configuration = make_settings(task, Path(folder))
        sure = make_pipeline(configuration)
        items = [
            Item({"id": question["id"], "question": question["question"], "output": {}})
            for question in task["questions"]
        ]
        warm_up_items, timed_items = items[:1], items[1:]
        sure.run(Dataset(configuration, data=warm_up_items), do_eval=False)  # opens the connection; not timed
        begin = time.perf_counter()
        answered_data = sure.run(Dataset(configuration, data=timed_items), do_eval=False)
        seconds = time.perf_counter() - begin
    result = {"seconds": seconds, "version": importlib.metadata.version("flashrag-dev"), "answers": answered_data.pred}
    print("\n" + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
