"""Models in folders, which the setting `model` names as `transformers:FOLDER`: used as chat models, or refused."""

from pathlib import Path

import pytest
import tiny_language_models as tiny

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.models.call import call
from quorum.models.chat import chat_model
from quorum.models.pretrained import load_pretrained


def test_a_sample_depends_on_the_seed_and_a_greedy_reply_does_not(base_models: dict[str, Path]) -> None:
    """Each reply here has at most 9 tokens."""
    loaded_model = load_pretrained(str(base_models["llama"]))
    samples = [loaded_model.generate("Hello", 9, temperature=1.0, seed=seed).text for seed in (1, 1, 2)]
    assert samples[0] == samples[1] != samples[2]
    assert loaded_model.generate("Hello", 9).text == loaded_model.generate("Hello", 9, seed=5).text


async def test_a_folder_that_quorum_did_not_train_is_a_chat_model(base_models: dict[str, Path]) -> None:
    spec = f"transformers:{base_models['chat']}"
    (reply,) = await call("answer", "Hello", context=Context(model=spec))
    assert reply.finish in ("length", "stop")
    assert chat_model(spec) is chat_model(spec)


def test_folders_without_a_usable_model_are_refused(base_models: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot be loaded"):
        chat_model(f"transformers:{tmp_path}")
    mixed_folder = tmp_path / "mixed"
    # a tokenizer with more tokens than the model has embeddings for
    larger_tokenizer = tiny.make_tokenizer(adds_end=True)
    larger_tokenizer.add_tokens([f"word{number}" for number in range(99)])
    tiny.save_model(mixed_folder, load_pretrained(str(base_models["gpt2"])).model, larger_tokenizer)
    with pytest.raises(SetupError, match="the two belong to different models"):
        load_pretrained(str(mixed_folder))
    (mixed_folder / "quorum.json").write_text("{}", encoding="utf-8")
    with pytest.raises(SetupError, match=r"quorum\.json cannot be read"):
        load_pretrained(str(mixed_folder))
