"""reranker=cross_encoder:FOLDER scores pairs as transformers does, and scores no pair twice."""

from pathlib import Path
from typing import Any

import pytest
import tiny_models
import torch

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.graphs.parts.search_and_rerank import search_and_rerank
from quorum.models.cross_encoders import get_cross_encoder, score_pairs_with

QUESTION = "which river flows through vienna ?"
TEXTS = ["the rhine flows through basel.", "the danube flows through vienna.", "a tiger hunts deer in the forest."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.write_cross_encoder(tmp_path_factory.mktemp("cross") / "model", seed=3)


def compute_scores(folder: Path, texts: list[str]) -> list[float]:
    """The model's scores by transformers alone, between 0 and 1 as Sentence Transformers gives them."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        logits = [model(**tokenizer(QUESTION, text, return_tensors="pt")).logits[0, 0] for text in texts]
    return [float(torch.sigmoid(logit)) for logit in logits]


async def test_the_best_passages_by_the_models_score_are_kept(folder: Path, tmp_path: Path) -> None:
    passages = [Passage(id=str(number), title="", text=text) for number, text in enumerate(TEXTS)]
    context = Context(reranker=f"cross_encoder:{folder}", k=2, journal=str(tmp_path / "journal.sqlite"))
    state: Any = {"question": QUESTION, "given_passages": passages}
    result = await search_and_rerank.ainvoke(state, context=context)
    expected = sorted(zip(compute_scores(folder, TEXTS), "012", strict=True), reverse=True)[:2]
    assert [passage["id"] for passage in result["passages"]] == [name for _, name in expected]
    assert [passage["score"] for passage in result["passages"]] == pytest.approx(
        [score for score, _ in expected], abs=1e-5
    )
    assert result["usage"]["rerank"] == {"calls": 1, "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0}


async def test_known_pairs_come_from_the_journal(folder: Path, tmp_path: Path) -> None:
    context = Context(journal=str(tmp_path / "journal.sqlite"))
    first = await score_pairs_with(str(folder), QUESTION, TEXTS[:2], context)
    model = get_cross_encoder(str(folder))
    scored: list[str] = []

    class Recording:
        """The loaded encoder, which notes what it is asked."""

        def __init__(self, encoder: Any) -> None:
            self.encoder = encoder

        def predict(self, pairs: list[tuple[str, str]], **options: Any) -> Any:
            scored.extend(text for _, text in pairs)
            return self.encoder.predict(pairs, **options)

    encoder, model.encoder = model.encoder, Recording(model.encoder)
    try:
        again = await score_pairs_with(str(folder), QUESTION, TEXTS, context)
    finally:
        model.encoder = encoder
    assert (again[:2], scored) == (first, TEXTS[2:])


async def test_a_model_with_several_numbers_for_a_pair_is_no_reranker(tmp_path: Path) -> None:
    folder = tiny_models.write_cross_encoder(tmp_path / "classes", labels=3)
    with pytest.raises(SetupError, match=r"cannot be loaded \(it gives 3 numbers for a pair"):
        await score_pairs_with(str(folder), QUESTION, TEXTS, Context(journal="off"))
