"""`Prompt`: everything that the rest of Quorum knows about one prompt, except its text.

The objects stand in the packages of their families, beside their texts: `quorum.prompts.sure.VALIDITY` is the contract
of quorum/prompts/sure/validity.md.
"""

import sys
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from inspect import signature
from typing import Any, Generic, Literal, TypeVar, cast

from quorum.core.errors import SetupError
from quorum.models.embedded.responders import RESPONDERS, Responder
from quorum.parsing.answers import Parsed
from quorum.parsing.reply_forms import MOST_LISTED_NUMBERS, ReplyForm, limit_numbers
from quorum.prompts import BUILT_IN, FAMILIES

T = TypeVar("T")
NewT = TypeVar("NewT")

ReplyKind = Literal["word", "short", "sentence", "list", "long"]
ShortAnswerPlace = Literal["reply", "end", "items"]
ModelRole = Literal["model", "verifier", "context_filter"]
# Tokens of a chat model's reply of each kind, for estimates. A server's real replies may be longer.
REPLY_TOKENS: Mapping[ReplyKind, float] = {"word": 4, "short": 12, "sentence": 40, "list": 30, "long": 160}
KNOWN_PROMPTS: "dict[str, Prompt[Any]]" = {}  # by name; `quorum.prompts.registry` fills it with the built-in ones
FormMaker = Callable[[Mapping[str, Any]], ReplyForm]


@dataclass(frozen=True)
class Prompt(Generic[T]):
    """The contract of one prompt: how it is answered, and how its replies are read.

    name: the name of its text, quorum/prompts/FAMILY/NAME.md, and of its calls in counts, traces and journals; a prompt
    of a plugin or notebook has a name of its own. A user overrides the text under this name (`Context.prompts`).

    parse: reads a reply in words. Its first parameter is the reply. Of its other parameters, those that are called as
    a variable of the prompt (`question`), `passages` (those that the prompt got) or `count` (how many) are filled in by
    `quorum.nodes.ask.ask`. A reply without the form that the prompt asks for never raises: it is marked as malformed.

    reply: what a reply is: a word (a verdict, a label, a choice, numbers), a short answer or phrase, a sentence or two,
    a list of short lines, or longer text. Estimates follow from it.

    short_answer: where a short answer stands in a reply, so that the setting `shorten` can read it out: the whole
    reply, its end (after a chain of thought, in a step) or each item of a list; None: nowhere.

    form: the JSON schema of the replies, where the server takes one, or a function that makes it from the prompt's
    variables; None: the replies are free text. Text and schema ask for the same. plain_form: the form with
    shorten=off, if it differs.

    model: which model of the context answers it: the model, the verifier or the context filter, if the user named one.

    offline: the embedded reader's reply, a function (variables, sampler) -> text, or the sentence with which it
    refuses, as a `SetupError`.

    answer_type: the type of the answer that the prompt asks for. variants: the prompts that are sent instead of this
    one for other types (`for_answer_type`).

    streams: whether the answer is shown while the model writes it.

    read: how `quorum.read_reply` reads a reply, if `parse` does not take the arguments question, candidates and count.

    sent_by: who sends it beside the methods whose graphs show it: commands, and settings of any method.

    text: the text, if it is not a file of Quorum: for the prompts of plugins and notebooks.

    >>> from quorum.prompts.sure import VALIDITY
    >>> VALIDITY.parse("True").value, VALIDITY.reply, VALIDITY.model
    (True, 'word', 'verifier')
    """

    name: str
    parse: Callable[..., Parsed[T]]
    reply: ReplyKind
    offline: Responder | str
    short_answer: ShortAnswerPlace | None = None
    form: ReplyForm | FormMaker | None = None
    plain_form: ReplyForm | None = None
    model: ModelRole = "model"
    answer_type: str = "short"
    variants: "tuple[Prompt[Any], ...]" = ()
    streams: bool = False
    read: Callable[..., Parsed[Any]] | None = None
    sent_by: tuple[str, ...] = ()
    text: str | None = None

    def __post_init__(self) -> None:
        """Make the prompt known by its name: to estimates, to the embedded reader, and its text if it has no file.

        Raises `SetupError` if Quorum has a prompt of this name, or for a kind of reply that does not exist.
        """
        check_name(self)
        if self.reply not in REPLY_TOKENS:
            raise SetupError(
                f"The prompt {self.name!r} has reply={self.reply!r}; the kinds of replies are: "
                f"{', '.join(REPLY_TOKENS)}."
            )
        KNOWN_PROMPTS[self.name] = self
        RESPONDERS[self.name] = self.offline
        if self.text is not None:
            BUILT_IN[self.name] = self.text.strip()

    def __str__(self) -> str:
        return self.name

    @property
    def reply_tokens(self) -> float:
        """The tokens that a chat model's reply is assumed to have."""
        return REPLY_TOKENS[self.reply]

    @property
    def served_types(self) -> frozenset[str]:
        """The answer types that have a prompt of their own, this one or a variant."""
        return frozenset({self.answer_type, *(variant.answer_type for variant in self.variants)})

    def for_answer_type(self, answer_type: str) -> "Prompt[Any]":
        """The variant for an answer type; the prompt itself if it has none.

        >>> from quorum.prompts.post_fusion import ANSWER
        >>> ANSWER.for_answer_type("yes_no").name
        'answer_yes_no'
        """
        return next((variant for variant in self.variants if variant.answer_type == answer_type), self)

    def list_all(self) -> "list[Prompt[Any]]":
        """The prompt and its variants."""
        return [self, *self.variants]

    def read_with(self, parse: Callable[..., Parsed[NewT]]) -> "Prompt[NewT]":
        """The same prompt, whose replies another function reads."""
        prompt: Any = copy(self)  # unlike `dataclasses.replace`, this does not make it known by its name
        object.__setattr__(prompt, "parse", parse)
        return cast("Prompt[NewT]", prompt)

    def make_parser(self, available: Mapping[str, Any]) -> Callable[[str], Parsed[T]]:
        """`parse` with the values of those parameters that have a name in `available`."""
        arguments = {name: available[name] for name in list(signature(self.parse).parameters)[1:] if name in available}
        return lambda reply: self.parse(reply, **arguments)

    def get_form(
        self, inputs: Mapping[str, Any], passage_count: int = 0, *, is_plain: bool = False
    ) -> ReplyForm | None:
        """The form of the replies in JSON; None if the replies are free text.

        inputs: the prompt's variables. passage_count: how many passages the prompt shows at most; 0: not known.
        is_plain: whether the setting shorten=off asks for the papers' wording.

        >>> from quorum.prompts.blendfilter import CHOOSE
        >>> CHOOSE.get_form({}, passage_count=2).schema["properties"]["passages"]["items"]["enum"]
        [1, 2]
        """
        if is_plain and self.plain_form is not None:
            return self.plain_form
        form = self.form(inputs) if callable(self.form) else self.form
        if form and form.property_schema["type"] == "array" and 0 < passage_count <= MOST_LISTED_NUMBERS:
            return limit_numbers(form, passage_count)
        return form


def check_name(prompt: Prompt[Any]) -> None:
    """Raise a `SetupError` if a prompt of another has the name of a built-in one.

    A built-in prompt has no `text`, and is made once, while its family is imported.
    """
    family = FAMILIES.get(prompt.name)
    if family is None:
        return
    is_built_in = prompt.text is None and prompt.name not in KNOWN_PROMPTS and f"quorum.prompts.{family}" in sys.modules
    if not is_built_in:
        raise SetupError(f"A prompt of Quorum has the name {prompt.name!r}; give yours another name.")
