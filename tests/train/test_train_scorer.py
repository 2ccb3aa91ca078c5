"""Log-probabilities by local models, and the training commands, on tiny random models."""

import json
from pathlib import Path

import pytest
import tiny_language_models as tiny
import torch

from quorum.cli.main import main
from quorum.core.errors import SetupError
from quorum.models.logprobs import make_scorer
from quorum.models.logprobs_transformers import TOKENS_AT_ONCE, make_batches
from quorum.models.pretrained import load_pretrained

PAIRS = [  # (prompt, text whose log-probability after the prompt is computed)
    ("Question: Who designed it?\nAnswer:", "Eiffel"),
    ("Eiffel designed it. It is tall.\n\nQuestion: Who designed it?\nAnswer:", "Gustave Eiffel"),
    ("Answer:", "x"),
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("scorers")
    folders = {
        "t5": tiny.write_t5(folder / "t5"),
        "llama": tiny.write_llama(folder / "llama"),
        "gpt2": tiny.write_gpt2(folder / "gpt2"),
    }
    return folders | {"chat": tiny.write_llama(folder / "chat", chat=True)}


@pytest.mark.parametrize("kind", ["t5", "llama", "gpt2", "chat"])
async def test_the_score_is_the_models_own_loss(kind: str, models: dict[str, Path]) -> None:
    """A score is the sum of the log-probabilities of the answer's tokens, without the end token.

    It is the same in a padded batch and for a single pair.
    """
    scores = await make_scorer(f"transformers:{models[kind]}").log_probabilities(PAIRS)
    loaded_model = load_pretrained(str(models[kind]))
    for (prompt, text), score in zip(PAIRS, scores, strict=True):
        ids, target = loaded_model.codec.encode_prompt(prompt), loaded_model.codec.encode_target(text)[:-1]
        if loaded_model.codec.seq2seq:
            inputs = {"input_ids": torch.tensor([ids]), "labels": torch.tensor([target])}
        else:
            inputs = {
                "input_ids": torch.tensor([ids + target]),
                "labels": torch.tensor([[-100] * len(ids) + target]),
            }
        with torch.no_grad():
            loss = loaded_model.model(**inputs).loss.item()
        assert score == pytest.approx(-loss * len(target), rel=1e-4)
        assert score < 0


async def test_a_text_that_does_not_fit_is_refused(models: dict[str, Path]) -> None:
    with pytest.raises(SetupError, match=r"does not fit the scorer .*which reads at most 128; split the passages"):
        await make_scorer(f"transformers:{models['gpt2']}").log_probabilities([("word " * 200, "x")])
    assert await make_scorer(f"transformers:{models['gpt2']}").log_probabilities([]) == []


def test_padded_batches_stay_within_the_token_limit() -> None:
    lengths = [5, 900, 3, 1000, TOKENS_AT_ONCE + 1, *[40] * 500]
    batches = make_batches(lengths)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert batches[0] == [4]  # a text longer than TOKENS_AT_ONCE is a batch of its own
    assert all(len(batch) * max(lengths[i] for i in batch) <= TOKENS_AT_ONCE for batch in batches[1:])


def run_command(*arguments: str) -> int:
    with pytest.raises(SystemExit) as command_exit:
        main([*arguments])
    return int(command_exit.value.code or 0)


def test_the_commands_make_silver_data_and_train_a_filter_that_ask_uses(
    models: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    passages = [{"id": "p", "title": "", "text": "Iron rusts. Eiffel designed it. It is tall."}]
    record = {"question": "Who designed it?", "answers": ["Eiffel"], "passages": passages}
    Path("data.jsonl").write_text(
        "".join(json.dumps(record | {"id": f"q{number}"}) + "\n" for number in range(4)), encoding="utf-8"
    )
    scorer_options = ["--measure", "cxmi", "--scorer", f"transformers:{models['t5']}"]
    assert run_command("filter", "silver", "data.jsonl", *scorer_options, "--out", "silver.jsonl") == 0
    capsys.readouterr()
    train_options = ["silver.jsonl", "--base", str(models["t5"]), "--epochs", "1", "--batch", "2", "--length", "600"]
    assert run_command("filter", "train", *train_options, "--out", "filter") == 0
    output = capsys.readouterr()
    assert "4 examples; training loss by epoch, nats per token:" in output.out
    assert "use it with --method filco --set context_filter=transformers:filter" in output.err
    assert run_command("filter", "train", *train_options, "--out", "filter") == 0
    assert run_command("filter", "train", *train_options, "--out", "filter", "--seed", "1") == 2
    assert "is there already (settings.seed is 0 there, and 1 in this run)" in capsys.readouterr().err
    assert run_command("generator", "train", *train_options, "--context", "full", "--out", "reader") == 0
    Path("passages.jsonl").write_text(json.dumps(passages[0]) + "\n", encoding="utf-8")
    ask_command = [
        "ask",
        record["question"],
        "--passages",
        "passages.jsonl",
        "--model",
        "transformers:reader",
        "--json",
    ]
    capsys.readouterr()
    assert run_command(*map(str, ask_command), "--method", "filco", "--set", "context_filter=transformers:filter") == 0
    usage = json.loads(capsys.readouterr().out)["usage"]
    assert {name: used["calls"] for name, used in usage.items()} == {"filter_sentences": 1, "answer": 1}
