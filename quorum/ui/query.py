"""A question with its methods and settings, as the form and a link represent them; and the form field of a setting."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode

from quorum.core.context import Context, get_setting_schemas, parse_setting
from quorum.core.errors import SetupError
from quorum.evaluation.run.columns import Column, parse_columns
from quorum.graphs import DEFAULT_METHOD

# The form always shows these settings; it shows the others in a panel that opens. In a link, each of these has its own
# parameter, and any other setting is written as "set=key=value".
MAIN_SETTINGS = ("collection", "model", "k")
FIXED_SETTINGS = ("store", "journal")  # a link must not choose the server's files
LONGEST_QUESTION = 20_000  # characters
MAX_LINK_PARTS = 200  # parameters of a link


@dataclass(frozen=True)
class AskRequest:
    """A question, the methods to ask, and the settings that differ from the server's, as texts.

    methods: as `quorum eval --methods` takes them.
    follows_run_id: the run that a follow-up question follows; empty for a question that stands alone.
    """

    question: str = ""
    methods: str = DEFAULT_METHOD
    settings: Mapping[str, str] = field(default_factory=dict)
    follows_run_id: str = ""

    def make_columns(self, server_context: Context) -> list[Column]:
        """The chosen methods, each with its settings and context.

        Raises `SetupError` for a question that is empty or too long, and for an invalid method or setting.
        """
        if not self.question.strip():
            raise SetupError("There is no question yet; write one.")
        if len(self.question) > LONGEST_QUESTION:
            raise SetupError(f"The question has more than {LONGEST_QUESTION:,} characters; shorten it.")
        columns = parse_columns(self.methods, make_query_context(self.settings, server_context), takes_files=False)
        for column in columns:
            check_changeable(column.settings)
        return columns

    def make_link(self) -> str:
        """The address that opens the form with these values."""
        pairs = [("q", self.question), ("methods", self.methods)]
        pairs += [("follows", self.follows_run_id)] if self.follows_run_id else []
        pairs += [(name, self.settings[name]) for name in MAIN_SETTINGS if name in self.settings]
        pairs += [("set", f"{name}={value}") for name, value in self.settings.items() if name not in MAIN_SETTINGS]
        return f"/?{urlencode(pairs)}"


def make_query_context(settings: Mapping[str, str], server_context: Context) -> Context:
    """The server's context with these settings in place of its own. Raises `SetupError` for an invalid setting."""
    check_changeable(settings)
    return replace(server_context, **{name: parse_setting(name, text) for name, text in settings.items()})


def check_changeable(settings: Mapping[str, str]) -> None:
    """Raise a SetupError for a setting that only the server may choose."""
    fixed_setting = next((name for name in FIXED_SETTINGS if name in settings), None)
    if fixed_setting:
        raise SetupError(
            f"The page cannot change {fixed_setting!r}; choose it when the server starts: quorum serve --help."
        )


def parse_link(query_string: str, server_context: Context) -> AskRequest:
    """The request with which a link fills the form. Raises `SetupError` for a bad link.

    A link never asks its question: this may cost money, so it takes a click.
    """
    parameters, settings = {"q": "", "methods": DEFAULT_METHOD, "follows": ""}, dict[str, str]()
    try:
        pairs = parse_qsl(query_string, max_num_fields=MAX_LINK_PARTS)
    except ValueError:
        raise SetupError(f"The link has more than {MAX_LINK_PARTS} parts; name fewer settings.") from None
    for name, value in pairs:
        if name == "set":
            key, _, text = value.partition("=")
            settings[key.strip()] = text.strip()
        elif name in MAIN_SETTINGS:
            settings[name] = value
        elif name in parameters:
            parameters[name] = value
    changed_settings = select_changed(settings, server_context)
    # Check the methods. A link must not make the server read a file.
    parse_columns(parameters["methods"], server_context, takes_files=False)
    return AskRequest(parameters["q"], parameters["methods"], changed_settings, parameters["follows"])


def select_changed(settings: Mapping[str, str], server_context: Context) -> dict[str, str]:
    """The settings that differ from the server's. Raises `SetupError` for an invalid one."""
    changed_context = make_query_context(settings, server_context)
    return {
        name: text for name, text in settings.items() if getattr(changed_context, name) != getattr(server_context, name)
    }


@dataclass(frozen=True)
class FormField:
    """A setting in the form.

    server_value: the server's value as text. optional: whether the field may be empty. least, most: the bounds of a
    number; is_whole: whether it must be a whole number.
    """

    name: str
    description: str
    kind: Literal["flag", "choice", "number", "text"]
    server_value: str
    choices: tuple[str, ...] = ()
    optional: bool = False
    least: float | None = None
    most: float | None = None
    is_whole: bool = False


def list_form_fields(server_context: Context) -> list[FormField]:
    """A form field for every setting that is in neither MAIN_SETTINGS nor FIXED_SETTINGS."""
    schemas = get_setting_schemas()
    names = [part.name for part in fields(Context) if part.name not in (*MAIN_SETTINGS, *FIXED_SETTINGS)]
    return [make_form_field(name, schemas[name], getattr(server_context, name)) for name in names]


def make_form_field(name: str, schema: Mapping[str, Any], value: Any) -> FormField:
    """Make the field from the JSON schema of one setting and the server's value."""
    alternatives = schema.get("anyOf", [schema])
    value_schemas = [alternative for alternative in alternatives if alternative.get("type") != "null"]
    value_schema, optional = value_schemas[0], len(value_schemas) < len(alternatives)
    kind_of_type: dict[str, Literal["flag", "number"]] = {"boolean": "flag", "integer": "number", "number": "number"}
    return FormField(
        name=name,
        description=str(schema["description"]),
        kind="choice" if "enum" in value_schema else kind_of_type.get(str(value_schema.get("type")), "text"),
        server_value=format_setting(value),
        choices=tuple(map(str, value_schema.get("enum", ()))),
        optional=optional,
        least=value_schema.get("minimum"),
        most=value_schema.get("maximum"),
        is_whole=value_schema.get("type") == "integer",
    )


def format_setting(value: Any) -> str:
    """A setting's value as written in --set; None becomes an empty text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
