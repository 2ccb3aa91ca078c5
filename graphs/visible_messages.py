"""Messages that a graph streams, without the thoughts of the models that write them."""

from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk

from quorum.core.thinking import remove_thinking
from quorum.core.visible_text import VisibleText, may_omit_opening_tag, remember_omitted_opening_tag

# A key in the metadata of a message's piece. It says that the earlier pieces of this message were a thought: whoever
# shows the message must discard them.
BEGINS_ANEW = "begins_anew"


class VisibleMessages:
    """Removes `<think>...</think>` from the pieces of messages that `astream` yields."""

    def __init__(self) -> None:
        self.replies: dict[str, VisibleText] = {}  # by message id, the replies whose last piece has not come yet

    def clean(self, item: Any) -> Any:
        """The streamed item without the thoughts in its message. An item without a message is returned unchanged.

        `astream` yields a message as a pair (message, metadata). With several stream modes or with subgraphs, this pair
        is the last element of a tuple; with version="v2", it is under "data" in a dict.
        """
        if isinstance(item, dict) and item.get("type") == "messages":
            return {**item, "data": self.clean(item["data"])}
        if not isinstance(item, tuple) or not item:
            return item
        if len(item) == 2 and isinstance(item[0], AIMessage) and isinstance(item[1], dict):
            return self.clean_message(item[0], item[1])
        return (*item[:-1], self.clean(item[-1]))

    def clean_message(self, message: AIMessage, metadata: dict[str, Any]) -> tuple[AIMessage, dict[str, Any]]:
        """(the message with only its visible text, its metadata). A message without thoughts is returned as it is.

        message: a whole message or a piece of one. The metadata get the key BEGINS_ANEW if the piece ends a thought
        whose beginning has been shown.
        """
        if not isinstance(message.content, str):
            return message, metadata
        if not isinstance(message, AIMessageChunk):
            visible_text = remove_thinking(message.content)
            is_changed = visible_text != message.content.strip()
            return message.model_copy(update={"content": visible_text}) if is_changed else message, metadata
        model = str(metadata.get("ls_model_name") or "")
        reply = self.replies.setdefault(str(message.id), VisibleText(may_omit_opening_tag(model)))
        is_last = message.chunk_position == "last"
        visible_text = reply.add(message.content, is_last=is_last)
        if reply.omits_opening_tag:
            remember_omitted_opening_tag(model)
        if reply.ends_shown_thought:
            metadata = {**metadata, BEGINS_ANEW: True}
        if is_last:
            del self.replies[str(message.id)]
        return message if visible_text == message.content else message.model_copy(
            update={"content": visible_text}
        ), metadata
