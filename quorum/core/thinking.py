"""Removes what surrounds a model's reply: thoughts before it, and the tokens that begin and end a turn."""

import re

# The tags around a thought, in the forms of several models. The named groups match only in a closing tag.
THINKING_TAG = re.compile(
    r"<(?P<closing_angle>/)?(?:think|thinking|thought)\s{0,9}>|\[(?P<closing_bracket>/)?THINK\]|◁(?P<closing_diamond>/)?think▷",
    re.IGNORECASE,
)


def remove_thinking(text: str) -> str:
    """The reply without `<think>...</think>` and without white space around it.

    Without a closing tag everything after the opening tag is removed. Without an opening tag everything before the
    closing tag is removed: some chat templates end with the opening tag, so that the server sends only the closing tag.
    An opening tag inside a thought is ignored.

    >>> remove_thinking("<think>Paris? Yes.</think> Paris")
    'Paris'
    """
    pieces: list[str] = []
    begin, in_thought = 0, False
    for tag in THINKING_TAG.finditer(text):
        is_closing = tag.lastgroup is not None
        if is_closing and not in_thought:
            pieces.clear()
        elif not is_closing and not in_thought:
            pieces.append(text[begin : tag.start()])
        begin, in_thought = tag.end(), not is_closing
    return "".join(pieces if in_thought else [*pieces, text[begin:]]).strip()


FINAL_CHANNEL = "<|channel|>final<|message|>"  # the thought stands before it, the reply after it
TURN_BEGINS = re.compile(
    r"(?:\s{0,9}(?:<s>|</s>|<bos>|\[/INST\]|<start_of_turn>\w{0,20}|<\|(?:im_start|start|assistant|begin_of_text"
    r"|start_header_id)\|>(?:\w{0,20}<\|(?:end_header_id|message)\|>|assistant\b)?))+\s*"
)
# `<|begin_of_box|>` and `<|end_of_box|>` are no ends: they surround the answer (`quorum.parsing.wrapping`).
TURN_ENDS = re.compile(r"</s>|<eos>|<(?:end|start)_of_turn>|\[/?INST\]|<\|(?!(?:begin|end)_of_box)[\w ]{1,40}\|>")


def extract_first_turn(text: str) -> str:
    """The reply up to the token that ends its turn (`</s>`, `<|im_end|>` ...), without tokens that begin the turn.

    If the text contains FINAL_CHANNEL, everything up to it is left out, too.

    >>> extract_first_turn("Paris<|im_end|><|im_start|>user")
    'Paris'
    """
    if "<" not in text and "[" not in text:
        return text
    final_message = text.rpartition(FINAL_CHANNEL)[2]
    begin = TURN_BEGINS.match(final_message)
    start = begin.end() if begin else 0
    end = TURN_ENDS.search(final_message, start)
    return final_message[start : end.start()] if end else final_message[start:]
