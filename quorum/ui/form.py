"""The form in the left column: question, collection, methods, model, number of passages and all settings."""

from collections.abc import Callable, Sequence
from typing import Any

from nicegui import html, ui

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.text import format_count
from quorum.evaluation.run.columns import parse_columns
from quorum.graphs import list_methods
from quorum.ui.query import AskRequest, FormField, format_setting, list_form_fields, select_changed
from quorum.ui.run import Run, describe_error
from quorum.ui.texts import draw_text

SUGGESTED_MODELS = ("embedded", "openai:")
LONGEST_FOLLOWED_QUESTION = 80  # characters shown of the earlier question, above a follow-up question


class Form:
    """The form. `settings` holds the settings that differ from the server's, as texts.

    query: the values that the form shows at first. collections: the names to choose from; only_collection: the one that
    is asked if none is chosen, or empty. ask: is called with the form's values when the user submits it.
    """

    def __init__(
        self,
        server_context: Context,
        query: AskRequest,
        collections: Sequence[str],
        only_collection: str,
        ask: Callable[[AskRequest], None],
    ) -> None:
        self.server_context, self.ask = server_context, ask
        self.settings = dict(query.settings)
        if only_collection and not self.get_setting("collection"):
            # What the form shows is what is asked, even if the store gets another collection meanwhile.
            self.settings["collection"] = only_collection
        self.method_boxes: dict[str, Any] = {}
        self.follows_run_id = query.follows_run_id
        with html.form().classes("ask").props('aria-label="Question"') as self.root:
            self.draw_question(query.question)
            self.draw_main_settings(collections)
            self.draw_methods([column.name for column in parse_columns(query.methods, server_context)])
            self.draw_settings()
        for modifier in ("ctrl", "meta"):
            # `capture` and `stop` keep these keys from the focused field, which would otherwise handle Enter itself.
            self.root.on(f"keydown.capture.{modifier}.enter.stop.prevent", self.submit, args=[])
            self.root.on(f"keyup.capture.{modifier}.enter.stop.prevent", js_handler="() => {}")
        self.root.on("submit.prevent", self.submit, args=[])

    def draw_question(self, question: str) -> None:
        with html.p().classes("followed-question") as self.followed_line:
            self.followed_question = draw_text("span", "A follow-up question")
            ui.button("Begin anew", on_click=lambda: self.set_followed_run(None)).props("flat dense no-caps")
        self.followed_line.set_visibility(bool(self.follows_run_id))
        self.question = ui.textarea("Question", value=question).props(
            "outlined autogrow autofocus input-class=question"
        )
        with html.div().classes("ask-row"):
            ui.button("Ask", on_click=self.submit).props("unelevated no-caps").classes("send")
            html.small("Ctrl + Enter")
        self.message = draw_text("p").classes("error").props("role=alert")

    def draw_main_settings(self, collections: Sequence[str]) -> None:
        """Collection, model and k, each with a field of its own."""
        chosen_collection = self.get_setting("collection")
        names = sorted({*collections, *([chosen_collection] if chosen_collection else [])})
        self.collection = ui.select(names, value=chosen_collection or None, label="Collection").props(
            "outlined dense options-dense"
        )
        self.collection.on_value_change(lambda event: self.change_setting("collection", event.value))
        with html.div().classes("model-and-k"):
            model = ui.input("Model", value=self.get_setting("model"), autocomplete=list(SUGGESTED_MODELS)).props(
                "outlined dense"
            )
            model.on_value_change(lambda event: self.change_setting("model", event.value))
            k = ui.number("Passages", value=float(self.get_setting("k")), min=1, precision=0).props("outlined dense")
            k.on_value_change(lambda event: self.change_setting("k", event.value))

    def draw_methods(self, chosen_methods: Sequence[str]) -> None:
        """A check box for each method, by paper. Chosen methods with settings, such as concat[k=10], come first."""
        with html.fieldset().classes("methods") as fieldset:
            self.legend = draw_text("legend")
            methods = list_methods()
            names_with_settings = [name for name in chosen_methods if name not in methods]
            for name in names_with_settings:
                self.draw_method(name, "with settings of its own", True)
            for paper, names in list_methods_by_paper().items():
                html.h4(paper)
                for name in names:
                    self.draw_method(name, methods[name].summary, name in chosen_methods)
        fieldset.props("tabindex=-1")
        self.show_method_count()

    def draw_method(self, name: str, summary: str, is_chosen: bool) -> None:
        with html.div().classes("method"):
            self.method_boxes[name] = ui.checkbox(name, value=is_chosen, on_change=self.show_method_count).props(
                "dense"
            )
            self.method_boxes[name].props["data-method"] = name
            html.small(summary)

    def show_method_count(self) -> None:
        self.legend.text = f"Methods · {format_count(len(self.list_chosen_methods()), 'chosen', 'chosen')}"

    def draw_settings(self) -> None:
        """All other settings, drawn when they are first opened."""
        with ui.expansion().props("dense switch-toggle-side").classes("settings") as self.expansion:
            self.settings_panel = html.div().classes("setting-fields")
        self.show_settings_count()
        self.expansion.on_value_change(lambda event: self.open_settings() if event.value else None)

    def open_settings(self) -> None:
        if self.settings_panel.default_slot.children:
            return
        with self.settings_panel:
            for setting in list_form_fields(self.server_context):
                self.draw_setting(setting)
            fixed_settings = (
                f"store {self.server_context.store}, journal {self.server_context.journal or 'in the store'}"
            )
            html.p(f"{fixed_settings}: chosen when the server starts.").classes("note")

    def draw_setting(self, setting: FormField) -> None:
        value_text = self.settings.get(setting.name, setting.server_value)
        field: Any
        if setting.kind == "flag":
            field = ui.checkbox(setting.name, value=value_text == "true").props("dense")
        elif setting.kind == "choice":
            choices = [*([""] if setting.optional else []), *setting.choices]
            field = ui.select(choices, value=value_text, label=setting.name).props("outlined dense options-dense")
        elif setting.kind == "number":
            value = float(value_text) if value_text else None
            precision = 0 if setting.is_whole else None
            field = ui.number(setting.name, value=value, min=setting.least, max=setting.most, precision=precision)
            field.props("outlined dense")
        else:
            field = ui.input(setting.name, value=value_text).props("outlined dense")
        html.small(setting.description)
        field.on_value_change(lambda event: self.change_setting(setting.name, event.value))

    def get_setting(self, name: str) -> str:
        """A setting as text; the server's value if the user has not chosen one."""
        return self.settings.get(name, format_setting(getattr(self.server_context, name)))

    def change_setting(self, name: str, value: Any) -> None:
        """Keep a setting if it differs from the server's."""
        text = format_setting(int(value) if isinstance(value, float) and value.is_integer() else value)
        self.settings.pop(name, None)
        if text != format_setting(getattr(self.server_context, name)):
            self.settings[name] = text
        self.show_settings_count()

    def show_settings_count(self) -> None:
        count = len([name for name in self.settings if name not in ("collection", "model", "k")])
        self.expansion.text = "All settings" + (f" · {count} changed" if count else "")

    def list_chosen_methods(self) -> list[str]:
        return [name for name, box in self.method_boxes.items() if box.value]

    def read_query(self) -> AskRequest:
        """The form's values as an `AskRequest`. Raises `SetupError` for an invalid value."""
        if not self.list_chosen_methods():
            raise SetupError("No method is chosen; tick one or more.")
        return AskRequest(
            str(self.question.value or "").strip(),
            ",".join(self.list_chosen_methods()),
            select_changed(self.settings, self.server_context),
            self.follows_run_id,
        )

    def begin_follow_up(self, run: Run) -> None:
        """Make the next question a follow-up to a run."""
        self.set_followed_run(run)
        self.question.value = ""
        self.question.run_method("focus")

    def continue_conversation(self, run: Run) -> None:
        """If this run answers a follow-up question, make the next question a follow-up to this run."""
        if run.query.follows_run_id:
            self.set_followed_run(run)

    def set_followed_run(self, run: Run | None) -> None:
        """Make the question a follow-up to this run, and say so above the question. None: the question stands alone."""
        self.follows_run_id = "" if run is None else run.id
        self.followed_line.set_visibility(run is not None)
        if run is not None:
            self.followed_question.text = f"Follows: {run.query.question[:LONGEST_FOLLOWED_QUESTION]}"

    def submit(self) -> None:
        """Ask, or show the error beside the button."""
        self.message.text = ""
        try:
            self.ask(self.read_query())
        except SetupError as error:
            self.message.text = describe_error(error)

    def set_collections(self, collections: Sequence[str], chosen_collection: str) -> None:
        """Replace the list of collections and choose one of them."""
        self.collection.set_options(sorted({*collections, chosen_collection}), value=chosen_collection)


def list_methods_by_paper() -> dict[str, list[str]]:
    """Short name of a paper -> names of its methods, in the order of `quorum methods`."""
    methods_by_paper: dict[str, list[str]] = {}
    for method in list_methods().values():
        methods_by_paper.setdefault(method.paper.partition(",")[0], []).append(method.name)
    return methods_by_paper
