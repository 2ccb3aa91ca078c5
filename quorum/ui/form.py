"""The form in the left column: question, collection, methods, model, passages and all settings."""

from collections.abc import Callable, Sequence
from typing import Any

from nicegui import html, ui

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.text import format_count
from quorum.evaluation.run.columns import parse_methods
from quorum.graphs import list_methods
from quorum.ui.query import FormField, Query, format_setting, list_form_fields, select_changed
from quorum.ui.run import Run, describe_error
from quorum.ui.texts import draw_text

SUGGESTED_MODELS = ("embedded", "openai:")
LONGEST_FOLLOWED_TEXT = 80  # characters of the question that is followed


class Form:
    """The form. `settings` holds the settings that differ from the server's, as texts."""

    def __init__(self, base: Context, query: Query, collections: Sequence[str], ask: Callable[[Query], None]) -> None:
        self.base, self.ask = base, ask
        self.settings = dict(query.settings)
        self.methods: dict[str, Any] = {}
        self.follows = query.follows
        with html.form().classes("ask").props('aria-label="Question"') as self.root:
            self.draw_question(query.question)
            self.draw_main_settings(collections)
            self.draw_methods([column.name for column in parse_methods(query.methods, base)])
            self.draw_settings()
        for modifier in ("ctrl", "meta"):  # runs before the focused field's own handler of Enter
            self.root.on(f"keydown.capture.{modifier}.enter.stop.prevent", self.submit, args=[])
            self.root.on(f"keyup.capture.{modifier}.enter.stop.prevent", js_handler="() => {}")
        self.root.on("submit.prevent", self.submit, args=[])

    def draw_question(self, question: str) -> None:
        with html.p().classes("follows") as self.followed:
            self.followed_words = draw_text("span", "A follow-up question")
            ui.button("Begin anew", on_click=lambda: self.set_followed(None)).props("flat dense no-caps")
        self.followed.set_visibility(bool(self.follows))
        self.question = ui.textarea("Question", value=question).props(
            "outlined autogrow autofocus input-class=question"
        )
        with html.div().classes("go"):
            ui.button("Ask", on_click=self.submit).props("unelevated no-caps").classes("send")
            html.small("Ctrl + Enter")
        self.message = draw_text("p").classes("error").props("role=alert")

    def draw_main_settings(self, collections: Sequence[str]) -> None:
        """Collection, model and k, each with a field of its own."""
        chosen = self.get_setting("collection")
        names = sorted({*collections, chosen})
        self.collection = ui.select(names, value=chosen, label="Collection").props("outlined dense options-dense")
        self.collection.on_value_change(lambda event: self.change_setting("collection", event.value))
        with html.div().classes("pair"):
            model = ui.input("Model", value=self.get_setting("model"), autocomplete=list(SUGGESTED_MODELS)).props(
                "outlined dense"
            )
            model.on_value_change(lambda event: self.change_setting("model", event.value))
            k = ui.number("Passages", value=float(self.get_setting("k")), min=1, precision=0).props("outlined dense")
            k.on_value_change(lambda event: self.change_setting("k", event.value))

    def draw_methods(self, chosen: Sequence[str]) -> None:
        """A check box for each method, grouped by paper; methods with settings of their own come first."""
        with html.fieldset().classes("methods") as box:
            self.legend = draw_text("legend")
            methods = list_methods()
            own_names = [name for name in chosen if name not in methods]
            for name in own_names:
                self.draw_method(name, "with settings of its own", True)
            for paper, names in list_families().items():
                html.h4(paper)
                for name in names:
                    self.draw_method(name, methods[name].summary, name in chosen)
        box.props("tabindex=-1")
        self.show_method_count()

    def draw_method(self, name: str, summary: str, chosen: bool) -> None:
        with html.div().classes("method"):
            self.methods[name] = ui.checkbox(name, value=chosen, on_change=self.show_method_count).props("dense")
            self.methods[name].props["data-method"] = name
            html.small(summary)

    def show_method_count(self) -> None:
        self.legend.text = f"Methods · {format_count(len(self.list_chosen()), 'chosen', 'chosen')}"

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
            for setting in list_form_fields(self.base):
                self.draw_setting(setting)
            fixed_settings = f"store {self.base.store}, journal {self.base.journal or 'in the store'}"
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
        return self.settings.get(name, format_setting(getattr(self.base, name)))

    def change_setting(self, name: str, value: Any) -> None:
        """Keep a setting if it differs from the server's."""
        text = format_setting(int(value) if isinstance(value, float) and value.is_integer() else value)
        self.settings.pop(name, None)
        if text != format_setting(getattr(self.base, name)):
            self.settings[name] = text
        self.show_settings_count()

    def show_settings_count(self) -> None:
        count = len([name for name in self.settings if name not in ("collection", "model", "k")])
        self.expansion.text = "All settings" + (f" · {count} changed" if count else "")

    def list_chosen(self) -> list[str]:
        return [name for name, box in self.methods.items() if box.value]

    def read_query(self) -> Query:
        """The form's values as a `Query`. Raises `SetupError` for an invalid value."""
        if not self.list_chosen():
            raise SetupError("No method is chosen; tick one or more.")
        return Query(
            str(self.question.value or "").strip(),
            ",".join(self.list_chosen()),
            select_changed(self.settings, self.base),
            self.follows,
        )

    def follow(self, run: Run) -> None:
        """Let the next question follow a run."""
        self.set_followed(run)
        self.question.value = ""
        self.question.run_method("focus")

    def continue_conversation(self, run: Run) -> None:
        """After a follow-up question was asked, let the next one follow it."""
        if run.query.follows:
            self.set_followed(run)

    def set_followed(self, run: Run | None) -> None:
        """Show above the question which run the question follows; None for a stand-alone question."""
        self.follows = "" if run is None else run.id
        self.followed.set_visibility(run is not None)
        if run is not None:
            self.followed_words.text = f"Follows: {run.query.question[:LONGEST_FOLLOWED_TEXT]}"

    def submit(self) -> None:
        """Ask, or show the error beside the button."""
        self.message.text = ""
        try:
            self.ask(self.read_query())
        except SetupError as error:
            self.message.text = describe_error(error)

    def set_collections(self, collections: Sequence[str], chosen: str) -> None:
        """Replace the list of collections and choose one of them."""
        self.collection.set_options(sorted({*collections, chosen}), value=chosen)


def list_families() -> dict[str, list[str]]:
    """Short name of a paper -> its methods, in the order of `quorum methods`."""
    families: dict[str, list[str]] = {}
    for method in list_methods().values():
        families.setdefault(method.paper.partition(",")[0], []).append(method.name)
    return families
