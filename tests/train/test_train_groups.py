"""The reader is trained on groups: several passages of one question, of which one contains the answer."""

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from quorum.training.examples import Example
from training.examples import EncodedExample
from training.groups import GROUP_SIZE, Groups
from training.reader import Mixture, draw_batches, main, train_reader
from training.reader_loss import compute_loss, pad_batch
from training.two_towers import load_base


@pytest.fixture
def examples_with_wrong_passages(examples: list[Example]) -> list[Example]:
    """All examples, and for each that has an answer five more: its question with a passage that does not answer it."""
    # " in " is replaced, because a passage with the words "in TOWN" would seem to answer the question.
    wrong = [
        Example(example.question, other.context.replace(" in ", " a "), (), "wrong")
        for number, example in enumerate(examples)
        if example.spans
        for other in (examples[(number + 11 * step) % len(examples)] for step in range(1, 6))
    ]
    return [*examples, *wrong]


@pytest.fixture
def groups(examples_with_wrong_passages: list[Example], tokenizer: Tokenizer) -> Groups:
    return Groups(examples_with_wrong_passages, {}, tokenizer, 60, seed=0)


def test_a_group_begins_with_the_passage_that_answers(groups: Groups) -> None:
    for batch in groups.draw_batches(16, 8):
        assert sum(batch.sizes) == len(batch.rows) <= 16
        begin = 0
        for size in batch.sizes:
            right, *wrong = batch.rows[begin : begin + size]
            assert right.spans
            assert len(wrong) == GROUP_SIZE - 1
            assert not any(item.spans for item in wrong)
            assert all(get_question(item) == get_question(right) for item in wrong)
            begin += size


def get_question(item: EncodedExample) -> list[int]:
    """The tokens of the question: those before the first token of the passage, which has type 1."""
    return item.ids[: item.types.index(1)]


def test_questions_without_a_wrong_passage_form_no_group(examples: list[Example], tokenizer: Tokenizer) -> None:
    assert Groups(examples, {}, tokenizer, 60, seed=0).right_examples == []


def test_the_weight_of_a_source_decides_how_often_its_questions_are_drawn(
    examples_with_wrong_passages: list[Example], tokenizer: Tokenizer
) -> None:
    weighted_example = Example("Where does Ada live?", "Ada lives in Rome.", ((13, 17),), "chosen")
    wrong = Example(weighted_example.question, "Ada lives a boat.", (), "wrong")
    # The key "" stands for all other sources, so only questions of the source "chosen" are drawn. There is one such
    # question, and it has one wrong passage, so all groups have two passages.
    groups = Groups(
        [*examples_with_wrong_passages, weighted_example, wrong], {"chosen": 1.0, "": 0.0}, tokenizer, 60, seed=0
    )
    assert all(size == 2 for batch in groups.draw_batches(8, 4) for size in batch.sizes)


def test_the_loss_of_a_group_takes_the_share_of_its_gold_spans_among_all_its_spans(base: Path) -> None:
    model = load_base(base, 1)
    right = EncodedExample([2, 50, 3, 60, 61, 62, 3], [0, 0, 0, 1, 1, 1, 1], [(3, 4), (5, 5)])
    wrong = EncodedExample([2, 50, 3, 70, 71, 3], [0, 0, 0, 1, 1, 1], [])
    span_logits, _ = model.read(*pad_batch([right, wrong]))
    total, gold = 1.0, 0.0  # "no answer" has the score 0, so it adds exp(0) = 1
    for row, last in ((0, 6), (1, 5)):
        no_answer = span_logits[row, 0].sum()
        # the scores of all pairs of a start and an end, from the passage's first token (3) to the last [SEP]
        scores = span_logits[row, 3 : last + 1, 0, None] + span_logits[row, None, 3 : last + 1, 1] - no_answer
        total += scores.exp().sum().item()
        if row == 0:
            gold += scores[0, 1].exp().item() + scores[2, 2].exp().item()
    expected = -torch.log(torch.tensor(gold / total)) / 2  # the losses of groups have the weight 1/2
    separate_loss, group_loss = compute_loss(model, [right, wrong]), compute_loss(model, [right, wrong], [2])
    torch.testing.assert_close(group_loss - separate_loss, expected)
    torch.testing.assert_close(compute_loss(model, [right, wrong], [1, 1]), separate_loss)


def test_the_right_reply_to_a_group_without_an_answer_is_no_answer(base: Path) -> None:
    model = load_base(base, 1)
    wrong = EncodedExample([2, 50, 3, 70, 71, 3], [0, 0, 0, 1, 1, 1], [])
    span_logits, _ = model.read(*pad_batch([wrong]))
    scores = span_logits[0, 3:6, 0, None] + span_logits[0, None, 3:6, 1] - span_logits[0, 0].sum()
    expected = torch.log(1 + 2 * scores.exp().sum()) / 2
    torch.testing.assert_close(
        compute_loss(model, [wrong, wrong], [2]) - compute_loss(model, [wrong, wrong]), expected.detach()
    )


def test_a_share_of_the_batches_comes_from_the_groups(
    examples_with_wrong_passages: list[Example], groups: Groups, tokenizer: Tokenizer
) -> None:
    mixture = Mixture(examples_with_wrong_passages, {}, tokenizer, 60, seed=0)
    batches = draw_batches(mixture, groups, rows_per_batch=16, batch_count=10, group_share=0.6)
    assert [max(batch.sizes) for batch in batches].count(GROUP_SIZE) == 6
    assert len(batches) == 10
    assert all(max(batch.sizes) == 1 for batch in draw_batches(mixture, None, 16, 10, 0.0))


def test_training_on_groups_lowers_their_loss(
    base: Path, examples_with_wrong_passages: list[Example], groups: Groups, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    model = load_base(base, 1)
    batch = groups.draw_batches(16, 4)[0]
    loss_before = compute_loss(model, batch.rows, batch.sizes).item()
    mixture = Mixture(examples_with_wrong_passages, {}, tokenizer, 60, seed=0)
    # in the second half of the steps, weights are rounded to integers from -63 to 63
    options = {"steps": 60, "rate": 3e-3, "batch": 16, "weight_limit": 63, "weight_limit_from": 0.5, "bf16": True}
    train_reader(model, mixture, tmp_path / "r.safetensors", minutes=0, groups=groups, group_share=0.5, **options)
    assert compute_loss(model, batch.rows, batch.sizes).item() < 0.7 * loss_before


def test_bfloat16_changes_the_loss_only_by_rounding(base: Path, examples: list[Example], groups: Groups) -> None:
    model, batch = load_base(base, 1), groups.draw_batches(16, 1)[0]
    exact_loss, rounded_loss = (compute_loss(model, batch.rows, batch.sizes, bf16=bf16) for bf16 in (False, True))
    assert exact_loss.item() != rounded_loss.item()
    torch.testing.assert_close(exact_loss, rounded_loss, rtol=0.02, atol=0.02)


def test_the_command_trains_on_groups(base: Path, data: Path, negatives: Path, tmp_path: Path) -> None:
    common = ["--base", str(base), "--train", str(data), "--steps", "3", "--group-share", "0.5", "--bf16"]
    main([*common, "--negatives", str(negatives), "--out", str(tmp_path / "r.safetensors")])
    assert (tmp_path / "r.safetensors").exists()


def test_groups_need_wrong_passages(base: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as command_exit:
        main(
            [
                "--base",
                str(base),
                "--train",
                str(data),
                "--group-share",
                "0.5",
                "--out",
                str(tmp_path / "r.safetensors"),
            ]
        )
    assert command_exit.value.code == 2
    assert "add --negatives" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
