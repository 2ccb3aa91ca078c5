"""The contents of a form and of a link: round trips, invalid values, and the settings that the form shows."""

from dataclasses import fields
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.ui.query import FIXED_SETTINGS, MAIN_SETTINGS, AskRequest, format_setting, list_form_fields, parse_link

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def read_link(link: str, base: Context | None = None) -> AskRequest:
    return parse_link(urlsplit(link).query, base or Context())


@given(question=TEXTS, collection=st.sampled_from(["sample", "my-own"]), k=st.integers(1, 1000))
def test_a_link_holds_the_values_of_the_form(question: str, collection: str, k: int) -> None:
    settings = {"collection": collection, "k": str(k), "temperature": "0.5", "vote": "staged"}
    ask_request = AskRequest(question, "concat,sure[ranking=lazy]", settings)
    request_in_link = read_link(ask_request.make_link())
    changed_settings = {  # without the settings that have the server's value
        name: value for name, value in settings.items() if (name, value) not in (("k", "5"),)
    }
    expected_request = AskRequest(question, ask_request.methods, changed_settings)
    assert request_in_link == expected_request


def test_a_link_with_run_asks_its_question_immediately() -> None:
    assert read_link("/?q=Why%3F&run=1") == AskRequest("Why?")  # there is no way to ask without a click
    assert read_link("/?unknown=word") == AskRequest()  # the parameter "unknown" does not exist: it is ignored


@pytest.mark.parametrize(
    ("query_string", "message"),
    [
        ("k=0", "Setting k=0 does not fit"),
        ("k=many", "give a whole number from 1 to 1000"),
        ("set=nonsense=1", "no setting 'nonsense'"),
        ("set=store=/tmp/elsewhere", "cannot change 'store'"),
        ("set=journal=/tmp/file", "cannot change 'journal'"),
        ("methods=no_such", "no method 'no_such'"),
        ("methods=concat[", "cannot be read"),
        ("methods=concat,/etc/composed.json", "is a file, which is not accepted here"),
        ("methods=composed.json,a]", "is a file, which is not accepted here"),
        ("&".join(["k=1"] * 201), "more than 200 parts"),
    ],
)
def test_an_invalid_link_is_reported(query_string: str, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        parse_link(query_string, Context())


@pytest.mark.parametrize(
    ("ask_request", "message"),
    [
        (AskRequest("  "), "no question yet"),
        (AskRequest("x" * 20_001), "20,000 characters"),
        (AskRequest("Why?", "concat[journal=/tmp/file]"), "cannot change 'journal'"),
    ],
)
def test_an_invalid_request_is_refused(ask_request: AskRequest, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        ask_request.make_columns(Context())


def test_every_method_has_the_settings_of_the_form_and_its_own() -> None:
    columns = AskRequest("Why?", "concat,sure[k=3]", {"k": "7", "model": "openai:test"}).make_columns(Context(seed=4))
    assert [(column.name, column.context.k, column.context.model, column.context.seed) for column in columns] == [
        ("concat", 7, "openai:test", 4),
        ("sure[k=3]", 3, "openai:test", 4),
    ]


def test_every_setting_is_in_the_form() -> None:
    form_fields = {field.name: field for field in list_form_fields(Context(temperature=0.7))}
    assert set(form_fields) | {*MAIN_SETTINGS, *FIXED_SETTINGS} == {setting.name for setting in fields(Context)}
    assert all(field.description for field in form_fields.values())
    assert (
        form_fields["temperature"].server_value,
        form_fields["temperature"].most,
        form_fields["temperature"].is_whole,
    ) == (
        "0.7",
        2,
        False,
    )
    assert (form_fields["samples"].kind, form_fields["samples"].least, form_fields["samples"].is_whole) == (
        "number",
        1,
        True,
    )
    assert (form_fields["reranker"].kind, form_fields["reranker"].optional, form_fields["reranker"].server_value) == (
        "choice",
        True,
        "",
    )
    assert form_fields["retrieve"].kind == "flag"
    assert (form_fields["context_window"].kind, form_fields["context_window"].optional) == ("number", True)
    assert form_fields["retriever"].kind == "text"


@pytest.mark.parametrize(
    ("value", "text"), [(0.7, "0.7"), (0.1234567, "0.1234567"), (60.0, "60"), (1234567.0, "1234567"), (True, "true")]
)
def test_a_setting_is_written_without_rounding(value: float | bool, text: str) -> None:
    assert format_setting(value) == text
