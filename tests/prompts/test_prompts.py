"""Prompts: order of slots ($variables), shared beginnings, overrides, and errors that name prompt and variable."""

from pathlib import Path
from string import Template

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llm_fixtures import VALUES

from quorum import prompts
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.parsing.reply_forms import ReplyForm
from quorum.prompts import BUILT_IN, format_passages, get_version, load_overrides, render_prompt
from quorum.prompts.registry import PROMPTS
from quorum.prompts.sure import RANKING

TITLED_PASSAGE = Passage(id="a", title="Harbour", text="It was dug in 1850.\n")
UNTITLED_PASSAGE = Passage(id="b", title="", text="Ships came.")


def test_passages_are_numbered_with_title_and_text() -> None:
    assert format_passages([TITLED_PASSAGE, UNTITLED_PASSAGE]) == "[1] Harbour\nIt was dug in 1850.\n\n[2] Ships came."
    assert format_passages([]) == ""


SLOTS_FIXED_FOR_A_RUN = {"demonstrations", "examples", "kind"}  # the settings of a run determine them


@pytest.mark.parametrize("name", BUILT_IN)
def test_fixed_text_comes_first(name: str) -> None:
    """The order is fixed text, passages, question, then what varies, such as results of earlier steps. The order is not
    checked for variants of a prompt (NAME.VARIANT), which follow a paper, and for the prompts `react` and
    `react_action`.
    """
    text = BUILT_IN[name]
    slots_in_order = [slot for slot in Template(text).get_identifiers() if slot not in SLOTS_FIXED_FOR_A_RUN]
    if "passages" in slots_in_order and not name.startswith("react") and "." not in name:
        assert slots_in_order[0] == "passages"
        # A prompt that asks the model to write a question has no slot after the passages.
        assert not slots_in_order[1:] or slots_in_order[1] in ("question", "statement")
    # The example pairs have no passages: the prompt must say that they only show the length of an answer.
    assert text.count("Question: Which river") == text.count("These pairs show how long")
    assert ":" in text.splitlines()[-1]  # the cue, such as "Answer:"


def test_the_tests_with_a_language_model_have_a_value_for_each_variable() -> None:
    """A new variable without a value is found here first, and not only by `make test-llm`."""
    variables = {name for text in BUILT_IN.values() for name in Template(text).get_identifiers()}
    assert variables - VALUES.keys() == {"passages", "demonstrations"}


def test_answer_and_answer_candidates_begin_alike_up_to_the_question() -> None:
    answer_prompt = render_prompt("answer", passages="P", question="Q").text
    candidates_prompt = render_prompt("answer_candidates", passages="P", question="Q", candidates="- c").text
    shared_part = "P\n</passages>\n\nQuestion: Q\n"
    shared_length = answer_prompt.index(shared_part) + len(shared_part)
    assert answer_prompt[:shared_length] == candidates_prompt[:shared_length]
    assert candidates_prompt.index("- c") > shared_length


@given(st.text(), st.text())
def test_values_are_inserted_unchanged(passages: str, question: str) -> None:
    text = render_prompt("answer", passages=f"{passages} $question ${{x}} $5", question=f"{question} $$ $passages").text
    assert f"{passages} $question ${{x}} $5" in text
    assert text.endswith(f"Question: {question} $$ $passages\nAnswer:")


def test_every_exported_name_exists() -> None:
    assert all(hasattr(prompts, name) for name in prompts.__all__)


def test_a_prompts_version_changes_with_its_text() -> None:
    assert get_version("answer") == render_prompt("answer", passages="", question="").version
    assert len(get_version("answer")) == 10
    overrides = {"answer": "$passages $question"}
    assert get_version("answer", overrides) != get_version("answer")
    assert get_version("summary", overrides) == get_version("summary")


def test_a_mapping_or_a_folder_overrides_prompts(tmp_path: Path) -> None:
    text = "Costs $$5. $passages / $question"
    (tmp_path / "answer.md").write_text(text, encoding="utf-8")
    (tmp_path / "README.md").write_text("Notes", encoding="utf-8")
    for overrides in ({"answer": text}, str(tmp_path)):
        assert render_prompt("answer", overrides, passages="p", question="q").text == "Costs $5. p / q"
        assert "Rationale" in render_prompt("pruning", overrides, passages="p", question="q").text
    assert load_overrides(None) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$passages $question $speaker", r"'answer' uses \$speaker"),
        ("$passages", r"'answer' does not use \$question"),
        ("$passages $question for $ 5", r"'answer' has a '\$'"),
    ],
)
def test_a_broken_override_names_prompt_and_variable(text: str, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        render_prompt("answer", {"answer": text}, passages="p", question="q")


def test_a_missing_input_is_named() -> None:
    with pytest.raises(SetupError, match=r"'answer_candidates' uses \$candidates"):
        render_prompt("answer_candidates", passages="p", question="q")


def test_unusable_overrides_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="There is no prompt 'anwser'"):
        render_prompt("anwser")
    with pytest.raises(SetupError, match="replaces the text of 'anwser', but there is no such prompt"):
        render_prompt("answer", {"anwser": "x"}, passages="p", question="q")
    with pytest.raises(SetupError, match=r"The setting 'prompts' is .*, which is not a folder"):
        load_overrides(str(tmp_path / "missing"))
    (tmp_path / "answer.md").write_bytes(b"\xff\xfe\x00bad")
    with pytest.raises(SetupError, match=r"answer\.md cannot be read"):
        load_overrides(str(tmp_path))


@pytest.mark.parametrize(
    "name", ["answer", "direct", "direct_from_memory", "reason", "reason_from_memory", "extract_answer"]
)
def test_prompts_for_short_answers_also_allow_yes_or_no(name: str) -> None:
    """In HotpotQA and 2Wiki, 7 to 9% of the answers are yes or no. The prompts of react and self_ask allow them,
    too, by the variable $kind.
    """
    assert "or yes or no" in BUILT_IN[name]


@pytest.mark.parametrize("name", ["reason", "reason_yes_no"])
def test_blendfilter_may_reason_from_what_the_model_knows(name: str) -> None:
    assert "what you know" in BUILT_IN[name]
    assert "Unknown" in BUILT_IN[name]


ENUM_PROMPTS = [
    (name, form.property_schema["enum"])
    for name, prompt in PROMPTS.items()
    if isinstance(form := prompt.form, ReplyForm) and "enum" in form.property_schema
]


@pytest.mark.parametrize(("name", "choices"), ENUM_PROMPTS)
def test_a_prompt_names_every_choice_that_its_schema_offers(name: str, choices: list[str]) -> None:
    assert [choice for choice in choices if choice not in BUILT_IN[name]] == []


def test_the_schema_of_the_papers_wording_has_no_tie() -> None:
    schemas = [RANKING.get_form({}, is_plain=is_plain) for is_plain in (False, True)]
    ties = [form is not None and "Tie" in form.property_schema["enum"] for form in schemas]
    assert ties == ["Tie" in BUILT_IN["ranking"], "Tie" in BUILT_IN["ranking.plain"]] == [True, False]


@pytest.mark.parametrize("name", ["choose", "choose_yes_no", "judge_and_choose", "judge_and_choose_yes_no"])
def test_no_passage_need_help(name: str) -> None:
    assert "write none." in BUILT_IN[name]


CANDIDATE_PROMPTS = [name for name in BUILT_IN if name.startswith("answer_candidates") and "." not in name]


@pytest.mark.parametrize("name", CANDIDATE_PROMPTS)
def test_readers_of_single_passages_do_not_talk_the_model_out_of_unknown(name: str) -> None:
    last_words = BUILT_IN[name].partition("$candidates")[2]
    assert "or Unknown" in last_words or "may be NOT ENOUGH INFO" in last_words
    assert "the one right answer" not in last_words


def test_prompts_leave_room_for_reasons_one_candidate_and_false() -> None:
    for name in ("answer", "answer_candidates", "direct", "reason", "pruning", "summary", "extract_answer"):
        assert "phrase or reason" in BUILT_IN[name], name
    assert "even a single one" in BUILT_IN["candidates"]
    assert "correctly supported" not in BUILT_IN["validity"]
    for name in ("pruning", "summary"):
        assert BUILT_IN[name].count("Rationale: ") == 2  # the form, and the question worked out
        assert "do not repeat the passages" in BUILT_IN[name]
