"""Training the heads on the states of a frozen reader, with a tiny reader in place of the real one."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from quorum.core.errors import SetupError
from quorum.core.text import find_sentences
from quorum.models.embedded import read_manifest
from quorum.models.embedded.encoder import Encoder
from quorum.models.embedded.heads import SentenceHead, pool_states
from quorum.models.embedded.judging import score_sentences_blocking
from quorum.training.sentence_cases import IGNORED, LabelledWindow, make_labelled_windows, read_cases
from quorum.training.sentence_filter import (
    LARGEST_INTEGER_WEIGHT,
    Head,
    collate_windows,
    evaluate_sentence_filter,
    export_head,
    fit_head,
    train_sentence_filter,
)
from training import export, reader, silver_questions, verdict
from training.two_towers import load_reader_weights

SILVER_LINE = {
    "id": "1",
    "question": "where does anra live",
    "answers": ["rome"],
    "passages": [
        {"id": "a", "title": "", "text": "Anra lives in rome. Bero sings in oslo."},
        {"id": "b", "title": "", "text": "Nobody works in rome. Cami sleeps."},
    ],
    "silver": [{"passage": "a", "start": 0, "end": 19, "text": "Anra lives in rome."}],
    "measure": "strinc",
}


@pytest.fixture(scope="module")
def reader_folder(base: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny reader, with the files of the built-in one (reader.onnx, reader.json, vocab.txt) and the
    checkpoint of its training, r.safetensors.
    """
    out = tmp_path_factory.mktemp("reader")
    # --low: how many of the reader's lowest layers use the sentence encoder's weights.
    common_options = ["--base", str(base), "--low", "2"]
    reader.main(
        [*common_options, "--train", str(data), "--out", str(out / "r.safetensors"), "--steps", "30", "--length", "60"]
    )
    export.main(
        [
            *common_options,
            "--checkpoint",
            str(out / "r.safetensors"),
            "--data",
            str(data),
            "--out",
            str(out / "reader.onnx"),
        ]
    )
    token_ids = Tokenizer.from_file(str(base / "tokenizer.json")).get_vocab()
    (out / "vocab.txt").write_text("\n".join(sorted(token_ids, key=token_ids.__getitem__)) + "\n", encoding="utf-8")
    calibration = read_manifest()["calibration"]
    (out / "reader.json").write_text(json.dumps({"sha256": "0" * 64, "calibration": calibration}), encoding="utf-8")
    return out


@pytest.fixture(scope="module")
def silver_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of silver data: a hundred questions, each about a person. The sentence on this person is silver."""
    rng, people = random.Random(3), ["anra", "anro", "beto", "belu", "cami", "cano", "dira", "elro", "fami", "fato"]
    out = tmp_path_factory.mktemp("silver") / "silver.jsonl"
    with out.open("w", encoding="utf-8") as file:
        for number in range(100):
            person, other_person = rng.sample(people, 2)
            town, other_town = rng.sample(["rome", "oslo", "lima", "bonn", "cork"], 2)
            sentences = [f"{person} lives in {town}.", f"{other_person} sings in {other_town}."]
            rng.shuffle(sentences)
            text = f"{sentences[0].capitalize()} {sentences[1].capitalize()}"
            start = text.lower().index(person)
            sentence = f"{person} lives in {town}."
            line = {
                "id": str(number),
                "question": f"where does {person} live {number}",
                "answers": [town],
                "passages": [{"id": "p", "title": "", "text": text}],
                "silver": [{"passage": "p", "start": start, "end": start + len(sentence), "text": sentence}],
            }
            file.write(json.dumps(line) + "\n")
    return out


def test_silver_data_label_the_sentences(tmp_path: Path) -> None:
    file = tmp_path / "silver.jsonl"
    file.write_text(json.dumps(SILVER_LINE) + "\n", encoding="utf-8")
    (case,) = read_cases([file])
    # "Nobody works in rome." contains the answer but is not silver, so it is ignored.
    assert case.labels == [[1.0, 0.0], [IGNORED, 0.0]]
    assert [len(find_sentences(p["text"])) for p in case.passages] == [2, 2]


@pytest.mark.parametrize("change", [{"silver": None}, {"passages": "none"}])
def test_other_data_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text(json.dumps(SILVER_LINE | change) + "\n", encoding="utf-8")
    with pytest.raises(SetupError, match="line 1: expected silver data"):
        list(read_cases([file]))


def test_too_little_data_is_refused(reader_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "silver.jsonl"
    file.write_text(json.dumps(SILVER_LINE) + "\n", encoding="utf-8")
    with pytest.raises(SetupError, match="1 questions are too few"):
        train_sentence_filter([file], tmp_path / "out", folder=reader_folder, report=lambda line: None)


def test_the_sentence_filter_learns_and_is_written_whole(
    reader_folder: Path, silver_file: Path, tmp_path: Path
) -> None:
    progress: list[str] = []
    scores = train_sentence_filter(
        [silver_file], tmp_path, folder=reader_folder, epochs=30, rate=3e-3, batch=16, report=progress.append
    )
    assert scores["f1"] > 0.8
    assert progress[-1].startswith("epoch 30 of 30")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sentences.json", "sentences.onnx"]
    manifest = json.loads((tmp_path / "sentences.json").read_text(encoding="utf-8"))
    assert manifest["reader"] == "0" * 12
    assert 0 < manifest["threshold"] < 1
    model, head = Encoder(reader_folder), SentenceHead(tmp_path, "0" * 12)
    first_cases = list(read_cases([silver_file]))[:20]
    filter_scores = evaluate_sentence_filter(first_cases, model, head, [manifest["threshold"]])
    assert filter_scores["share_kept"] < 0.9
    passages = first_cases[0].passages
    sentence_scores = score_sentences_blocking(first_cases[0].question, passages, model, head)
    scored_spans = [[(start, end) for start, end, _ in passage_scores] for passage_scores in sentence_scores]
    assert scored_spans == [find_sentences(passage["text"]) for passage in passages]


def test_every_epoch_reports_the_mean_of_its_losses() -> None:
    window = LabelledWindow(np.ones((3, 8), np.float16), np.ones((1, 3), np.float32), [1.0])
    head, lines = Head(8, 2, 16), list[str]()
    # With rate 0 the head never changes, so both epochs have the same loss.
    losses = [torch.nn.functional.softplus(-head(*collate_windows([window])[:3], LARGEST_INTEGER_WEIGHT)).item()] * 2
    fit_head(head, [window] * 4, epochs=2, rate=0.0, batch=1, seed=0, report=lines.append)
    assert [float(line.rpartition(" ")[2]) for line in lines] == pytest.approx(losses, abs=1e-3)


def test_the_exported_head_is_the_trained_one(reader_folder: Path, silver_file: Path, tmp_path: Path) -> None:
    torch.manual_seed(1)
    cases = list(read_cases([silver_file]))[:12]
    windows = list(make_labelled_windows(Encoder(reader_folder), cases, 256))
    head = Head(32, 4, 128).eval()
    states, mask, members, _ = collate_windows(windows)
    with torch.no_grad():
        expected = torch.sigmoid(head(states, mask, members)).numpy()
    (tmp_path / "sentences.onnx").write_bytes(export_head(head, windows).SerializeToString())
    (tmp_path / "sentences.json").write_text(json.dumps({"reader": "r", "threshold": 0.5}), encoding="utf-8")
    from quorum.models.embedded.heads import SentenceTokens

    probabilities = SentenceHead(tmp_path, "r").compute_probabilities(
        [window.states.astype(np.float32) for window in windows], [SentenceTokens(window.members) for window in windows]
    )
    expected_probabilities = [expected[row, : len(found)] for row, found in enumerate(probabilities)]
    assert np.abs(np.concatenate(probabilities) - np.concatenate(expected_probabilities)).max() < 0.05


def test_training_goes_on_from_an_exported_file(base: Path, reader_folder: Path) -> None:
    from training.two_towers import load_base

    trained_weights = load_reader_weights(load_base(base, 2), reader_folder / "r.safetensors").get_reader_weights()
    read_back = load_reader_weights(load_base(base, 2), reader_folder / "reader.onnx").get_reader_weights()
    assert trained_weights.keys() == read_back.keys()
    for name, value in trained_weights.items():
        assert read_back[name].shape == value.shape
        # int8 rounds a weight by less than one step, which is at most the tensor's largest weight / 127.
        tolerance = value.abs().amax() / 127 + 1e-3
        assert (read_back[name] - value).abs().max() <= tolerance, name


def test_questions_for_silver_data_are_made_from_reading_comprehension_data(data: Path, tmp_path: Path) -> None:
    examples = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()][:30]
    negatives = tmp_path / "negatives.jsonl"
    lines = [
        {"question": example["question"], "negatives": [{"title": "T", "text": "Nobody."}]} for example in examples
    ]
    negatives.write_text("".join(json.dumps(item) + "\n" for item in lines), encoding="utf-8")
    out = tmp_path / "questions.jsonl"
    silver_questions.main(["--reading", str(data), "--negatives", str(negatives), "--out", str(out)])
    questions = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert questions
    assert all(len(record["passages"]) == 2 and record["answers"] for record in questions)
    assert all(record["answers"][0] in record["passages"][0]["text"] for record in questions)


def test_the_yes_no_head_learns_linear_labels() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6))
    labels = np.where(x[:, 5] > 1, 2, (x[:, 0] > 0).astype(int))
    weights, ridge, accuracy = verdict.choose_ridge_and_fit(x, labels, questions=np.arange(300))
    assert ridge in verdict.RIDGE_PENALTIES
    assert accuracy > 0.85
    assert weights.shape == (3, 7)
    noise_weights, _, noise_accuracy = verdict.choose_ridge_and_fit(
        x, rng.permutation(labels), questions=np.arange(300)
    )
    assert noise_accuracy < 0.65
    assert np.abs(noise_weights[:, :-1]).max() < np.abs(weights[:, :-1]).max()


def test_questions_with_the_passages_of_other_questions_are_labelled_unknown() -> None:
    def make_record(number: int, answer: str) -> Any:
        passages = [{"id": f"p{number}", "title": "", "text": "x"}]
        return {"id": str(number), "question": f"q{number}", "answers": [answer], "passages": passages, "gold": []}

    examples = verdict.make_examples(
        [make_record(1, "yes"), make_record(2, "No"), make_record(3, "Rome"), make_record(4, "no")]
    )
    assert len(examples) > 3
    label_of_pair = {(question, passages[0]["id"]): label for question, passages, label in examples}
    # The labels are indexes of verdict.VERDICT_CLASSES: 0 yes, 1 no, 2 unknown.
    assert (label_of_pair["q1", "p1"], label_of_pair["q2", "p2"], label_of_pair["q4", "p4"]) == (0, 1, 1)
    assert all(label == 2 for (question, id_), label in label_of_pair.items() if question[1:] != id_[1:])
    assert not any(question == "q3" for question, _, _ in examples)


def test_pooling_joins_the_first_state_and_the_mean_state_and_averages_windows() -> None:
    states = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert pool_states([states]).tolist() == [0, 1, 2, 3]
    assert pool_states([states, states + 2]).tolist() == [1, 2, 3, 4]
