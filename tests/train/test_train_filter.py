"""Fine-tuning filters and generators, on tiny random models."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny_language_models as tiny
from safetensors.torch import load_file

from quorum.core.context import Context
from quorum.core.errors import SetupError, TooLong
from quorum.core.state import Passage
from quorum.datasets.silver import SilverLine, read_silver
from quorum.graphs import answer
from quorum.models.chat import get_model_identity
from quorum.models.pretrained import fingerprint_model, load_pretrained, read_model_manifest
from quorum.models.scripted import ScriptedModel
from quorum.prompts import BUILT_IN, format_passages, render_prompt
from quorum.training.finetune import Report, Settings, finetune_model
from quorum.training.pairs import TrainingTask, read_lines

TOWNS = {"Ana": "Rome", "Bea": "Oslo", "Cal": "Lima", "Dov": "Bonn"}
FAST_SETTINGS = {"rate": 5e-3, "batch": 4, "length": 700, "output": 24}


def make_silver_line(name: str, town: str, has_spans: bool = True) -> dict[str, Any]:
    """A line of silver data about a person and a town. has_spans: whether a silver sentence is marked."""
    texts = [f"{name} is tall. {name} lives in {town}.", "Cats sleep. Dogs do not."]
    sentence = f"{name} lives in {town}."
    start = texts[0].index(sentence)
    span = {"passage": "a", "start": start, "end": start + len(sentence), "text": sentence}
    return {
        "id": name,
        "question": f"Where does {name} live?",
        "answers": [town],
        "passages": [{"id": id_, "title": "", "text": text} for id_, text in zip("ab", texts, strict=True)],
        "silver": [span] if has_spans else [],
        "measure": "strinc",
    }


@pytest.fixture(scope="session")
def silver_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Silver data with a line for each name in TOWNS. Only the last, Dov, has no silver sentence."""
    lines = [make_silver_line(name, town, has_spans=name != "Dov") for name, town in TOWNS.items()]
    path = tmp_path_factory.mktemp("data") / "silver.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def ignore_progress(stage: str, done: int, total: int | None) -> None:
    """Do not report progress."""


def train_model(
    task: TrainingTask, data: Path, base: Path, out: Path, report_progress: Any = ignore_progress, **settings: Any
) -> Report:
    lines = read_lines(data, task.kind)
    return finetune_model(task, lines, data, str(base), out, Settings(**FAST_SETTINGS | settings), report_progress)


def read_weights(folder: Path) -> dict[str, Any]:
    return {name: value for path in sorted(folder.glob("*.safetensors")) for name, value in load_file(path).items()}


@pytest.fixture(scope="session")
def trained_filter(base_models: dict[str, Path], silver_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A causal filter that knows the data by heart."""
    out = tmp_path_factory.mktemp("filters") / "learned"
    report = train_model(
        TrainingTask("filter", mode="filco"), silver_file, base_models["llama"], out, epochs=100, lora=False
    )
    assert (report.examples, report.left_out, report.shortened) == (4, 0, 0)
    assert report.losses[-1] < 0.1 < 1 < report.losses[0]
    return out


def test_a_model_learns_its_data_by_heart(trained_filter: Path, silver_file: Path) -> None:
    loaded_model = load_pretrained(str(trained_filter))
    pairs = [TrainingTask("filter", mode="filco").make_pair(line, 2) for line in read_silver(silver_file)]  # 2 passages
    assert [loaded_model.generate(pair.prompt, 24).text for pair in pairs] == [pair.target for pair in pairs]
    assert pairs[0].target == "Ana lives in Rome."
    assert pairs[3].target == "None"
    assert not list(trained_filter.parent.glob("learned.*"))  # the working folder is gone


@pytest.mark.parametrize(("base", "epochs"), [("t5", 100), ("chat", 70)])
def test_models_of_every_kind_learn(
    base: str, epochs: int, base_models: dict[str, Path], silver_file: Path, tmp_path: Path
) -> None:
    task, lines = TrainingTask("filter", mode="psg"), read_lines(silver_file, "filter")[2:]  # Cal: passage 1; Dov: none
    settings = Settings(**FAST_SETTINGS | {"rate": 1e-2, "epochs": epochs, "lora": False})
    report = finetune_model(
        task, lines, silver_file, str(base_models[base]), tmp_path / "filter", settings, ignore_progress
    )
    assert report.losses[-1] < 0.2 < 1 < report.losses[0]
    loaded_model = load_pretrained(str(tmp_path / "filter"))
    assert [loaded_model.generate(task.make_pair(line, 2).prompt, 9).text for line in lines] == ["1", "None"]


@pytest.mark.parametrize("base", ["t5", "llama"])
def test_adapters_learn_too(base: str, base_models: dict[str, Path], silver_file: Path, tmp_path: Path) -> None:
    task = TrainingTask("filter", mode="filco")
    report = train_model(task, silver_file, base_models[base], tmp_path / "filter", epochs=6, rate=5e-2, lora=True)
    assert report.losses[-1] < report.losses[0] - 0.1
    manifest = read_model_manifest(tmp_path / "filter")
    assert manifest is not None
    assert (manifest.adapter, manifest.base) == (True, str(base_models[base]))
    assert load_pretrained(str(tmp_path / "filter")).generate("Question", 3).reply_tokens > 0
    assert all("lora" in name for name in read_weights(tmp_path / "filter"))


def test_the_number_of_examples_in_memory_does_not_change_the_result(
    base_models: dict[str, Path], silver_file: Path, tmp_path: Path
) -> None:
    reports = [
        train_model(
            TrainingTask("filter", mode="filco"),
            silver_file,
            base_models["llama"],
            tmp_path / str(n),
            epochs=2,
            at_once=n,
            lora=False,
        )
        for n in (1, 4)
    ]
    assert reports[0].losses == pytest.approx(reports[1].losses, rel=1e-4)


class KilledError(Exception):
    """Ends a run in the middle, as a kill of the process does."""


@pytest.mark.parametrize("settings", [{}, {"lora": True}, {"at_once": 1}])
def test_a_killed_training_continues_to_the_same_result(
    settings: dict[str, Any], base_models: dict[str, Path], silver_file: Path, tmp_path: Path
) -> None:
    task = TrainingTask("filter", mode="filco")
    common = {"epochs": 3, "batch": 2, "save_every": 0.0} | settings
    train_model(task, silver_file, base_models["t5"], tmp_path / "uninterrupted", **common)

    def stop(stage: str, done: int, total: int | None) -> None:
        if done == 3:
            raise KilledError

    with pytest.raises(KilledError):
        train_model(task, silver_file, base_models["t5"], tmp_path / "killed", stop, **common)
    assert not (tmp_path / "killed").exists()
    steps: list[int] = []
    train_model(
        task,
        silver_file,
        base_models["t5"],
        tmp_path / "killed",
        lambda stage, done, total: steps.append(done),
        **common,
    )
    assert steps == [4, 5, 6]  # of 3 epochs with 2 batches each
    expected_weights, continued_weights = read_weights(tmp_path / "uninterrupted"), read_weights(tmp_path / "killed")
    assert set(expected_weights) == set(continued_weights)
    assert all(expected_weights[name].equal(continued_weights[name]) for name in expected_weights)
    assert fingerprint_model(tmp_path / "uninterrupted") == fingerprint_model(tmp_path / "killed")


def test_a_finished_training_is_not_repeated(base_models: dict[str, Path], silver_file: Path, tmp_path: Path) -> None:
    task, out = TrainingTask("filter", mode="filco"), tmp_path / "filter"
    report = train_model(task, silver_file, base_models["t5"], out, epochs=1)
    written_at = (out / "model.safetensors").stat().st_mtime_ns
    assert train_model(task, silver_file, base_models["t5"], out, epochs=1) == report
    assert (out / "model.safetensors").stat().st_mtime_ns == written_at
    with pytest.raises(SetupError, match=r"is there already \(settings.epochs is 1 there, and 2 in this run\)"):
        train_model(task, silver_file, base_models["t5"], out, epochs=2)
    (tmp_path / "other").mkdir()
    with pytest.raises(SetupError, match="is there already"):
        train_model(task, silver_file, base_models["t5"], tmp_path / "other", epochs=1)


def test_other_settings_do_not_continue_an_interrupted_training(
    base_models: dict[str, Path], silver_file: Path, tmp_path: Path
) -> None:
    def stop(stage: str, done: int, total: int | None) -> None:
        raise KilledError

    task = TrainingTask("filter", mode="filco")
    with pytest.raises(KilledError):
        train_model(task, silver_file, base_models["t5"], tmp_path / "filter", stop, epochs=1)
    with pytest.raises(SetupError, match="holds another interrupted run"):
        train_model(task, silver_file, base_models["t5"], tmp_path / "filter", epochs=1, seed=5)
    assert (tmp_path / "filter.training").is_dir()


def test_the_model_card_describes_the_training(base_models: dict[str, Path], silver_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "filter"
    train_model(TrainingTask("filter", mode="filco"), silver_file, base_models["t5"], out, epochs=1)
    card = (out / "README.md").read_text(encoding="utf-8")
    for text in (
        "silver.jsonl",
        "strinc",
        "0.005",
        "4 trained on",
        str(base_models["t5"]),
        "all weights",
        "700",
        "torch",
    ):
        assert text in card
    assert (out / "prompts" / "filter_sentences.md").read_text(encoding="utf-8").strip() == BUILT_IN["filter_sentences"]


def test_passages_are_left_out_until_an_example_fits(
    base_models: dict[str, Path], silver_file: Path, tmp_path: Path
) -> None:
    """Each line has two passages, and the longest prompt with one passage sets the limit."""
    lines = list(read_silver(silver_file))
    codec = load_pretrained(str(base_models["t5"])).codec
    task = TrainingTask("filter", mode="filco")
    longest_prompt = max(len(codec.encode_prompt(task.make_pair(line, 1).prompt)) for line in lines)
    report = train_model(task, silver_file, base_models["t5"], tmp_path / "filter", epochs=1, length=longest_prompt)
    assert (report.examples, report.shortened) == (4, 4)
    with pytest.raises(SetupError, match=r"None of 4 examples fits into 50 tokens for the prompt .*larger --length"):
        train_model(task, silver_file, base_models["t5"], tmp_path / "none", epochs=1, length=50)
    with pytest.raises(SetupError, match=r"and 1 for the reply; give a larger --length or --output"):
        train_model(task, silver_file, base_models["t5"], tmp_path / "short", epochs=1, output=1)
    with pytest.raises(SetupError, match=r"takes 128 tokens and would need 724"):
        train_model(task, silver_file, base_models["gpt2"], tmp_path / "none", epochs=1)


async def test_a_generator_answers_the_graphs_prompt(
    base_models: dict[str, Path], silver_file: Path, tmp_path: Path
) -> None:
    lines, out = read_lines(silver_file, "generator"), tmp_path / "generator"
    train_model(
        TrainingTask("generator", context="full"), silver_file, base_models["llama"], out, epochs=60, lora=False
    )
    spec, line = f"transformers:{out}", lines[1]  # Bea, who lives in Oslo
    result = await answer(line["question"], "concat", Context(model=spec), given=line["passages"])
    assert (result["answer"], result["unknown"]) == ("Oslo", False)
    usage = result["usage"]["answer"]
    assert usage["calls"] == 1
    assert usage["input_tokens"] == len(load_pretrained(str(out)).codec.encode_prompt(render_full_prompt(line)))
    assert usage["output_tokens"] == len(load_pretrained(str(out)).codec.encode_target("Oslo"))
    assert get_model_identity(spec) == {"provider": "transformers", "base_url": None, "model": fingerprint_model(out)}
    with pytest.raises(SetupError, match=r"trained on answer and cannot be asked the prompt 'summary'"):
        await answer(line["question"], "summary", Context(model=spec), given=line["passages"])
    context = Context(model=spec, prompts={"answer": "Shorter: $passages $question"})
    with pytest.raises(SetupError, match=r"has changed since the generator .* was trained .*set prompts="):
        await answer(line["question"], "concat", context, given=line["passages"])
    context = Context(model=spec, prompts=str(out / "prompts"))
    assert (await answer(line["question"], "concat", context, given=line["passages"]))["answer"] == "Oslo"


async def test_a_trained_filter_serves_the_graph(trained_filter: Path, silver_file: Path) -> None:
    lines = list(read_silver(silver_file))
    reader = ScriptedModel().enqueue("Rome", "unknown")
    context = Context(model=reader, context_filter=f"transformers:{trained_filter}")
    known_result = await answer(lines[0]["question"], "filco", context, given=lines[0]["passages"])
    assert [passage["text"] for passage in known_result["passages"]] == ["Ana lives in Rome."]
    assert known_result["usage"]["filter_sentences"]["calls"] == 1
    assert known_result["malformed"] == {}
    unknown_result = await answer(lines[3]["question"], "filco", context, given=lines[3]["passages"])
    assert unknown_result["passages"] == []
    with pytest.raises(
        SetupError, match=r"cannot be asked the prompt 'filter_passages'; use it as .* with filter_mode=filco"
    ):
        await answer("Who?", "filco", replace(context, filter_mode="psg"), given=lines[0]["passages"])


def render_full_prompt(line: SilverLine) -> str:
    """The prompt of a generator with all passages of the line."""
    return render_prompt("answer", question=line["question"], passages=format_passages(line["passages"])).text


async def test_a_prompt_longer_than_in_training_loses_passages(
    base_models: dict[str, Path], silver_file: Path, tmp_path: Path
) -> None:
    lines, out = read_lines(silver_file, "generator"), tmp_path / "generator"
    length = len(load_pretrained(str(base_models["t5"])).codec.encode_prompt(render_full_prompt(lines[0]))) + 20
    train_model(TrainingTask("generator", context="full"), silver_file, base_models["t5"], out, epochs=1, length=length)
    context = Context(model=f"transformers:{out}")
    long_passage = Passage(id="c", title="", text="Words without an end. " * 40)
    result = await answer(lines[0]["question"], "concat", context, given=[*lines[0]["passages"], long_passage])
    assert result["dropped"] == 1
    with pytest.raises(TooLong, match="does not fit the model's window even with passage 'c' alone"):
        await answer(lines[0]["question"], "concat", context, given=[long_passage])


def test_adapters_need_the_base_they_were_trained_on(
    base_models: dict[str, Path], silver_file: Path, tmp_path: Path
) -> None:
    base = tiny.write_llama(tmp_path / "base")
    train_model(TrainingTask("filter", mode="psg"), silver_file, base, tmp_path / "filter", epochs=1)
    (base / "config.json").write_text((base_models["chat"] / "config.json").read_text("utf-8") + "\n", encoding="utf-8")
    with pytest.raises(SetupError, match=r"was trained on the model .*base, which has changed since"):
        load_pretrained(str(tmp_path / "filter"))
    base.rename(tmp_path / "away")
    with pytest.raises(SetupError, match="which is not there"):
        load_pretrained(str(tmp_path / "filter"))
