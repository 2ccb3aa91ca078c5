"""What the loopback server sends: the bodies of chat completions, of prompts echoed with their log-probabilities, of
embeddings and of errors.

In the functions below, `body` is the body of the client's request.
"""

import base64
import math
import struct
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

DIMENSION = 64


def make_events(body: dict[str, Any], reply: str, usage: dict[str, Any]) -> Iterator[dict[str, Any] | str]:
    """The events of a streamed chat completion: one for each word, one with the finish reason, one with the usage if
    the client asks for it, and "[DONE]".
    """
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
    for word in reply.split(" "):
        delta = {"role": "assistant", "content": word + " "}
        yield base | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield base | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    if (body.get("stream_options") or {}).get("include_usage"):
        yield base | {"choices": [], "usage": usage}
    yield "[DONE]"


def make_completion(body: dict[str, Any], reply: str, usage: dict[str, Any]) -> dict[str, Any]:
    """A chat completion that is not streamed."""
    choice = {"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
    base = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": body["model"]}
    return base | {"choices": [choice], "usage": usage}


def make_error(message: str, code: str | None = None) -> dict[str, Any]:
    """The body of an error, in the form of OpenAI's API."""
    return {"error": {"message": message, "type": "error", "param": None, "code": code}}


def make_echo(body: dict[str, Any]) -> dict[str, Any]:
    """Each prompt, echoed with the log-probabilities of its words: -0.1 for a repeated word, -2 for a new one, none for
    the first.
    """
    prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
    choices = [
        {"index": index, "text": prompt, "finish_reason": "length", "logprobs": make_log_probabilities(prompt)}
        for index, prompt in enumerate(prompts)
    ]
    base = {"id": "cmpl-1", "object": "text_completion", "created": 0, "model": body["model"]}
    return base | {"choices": choices, "usage": {"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1}}


def make_log_probabilities(prompt: str) -> dict[str, Any]:
    """The prompt's tokens (each is a word with the space before it), their log-probabilities and their places."""
    words = prompt.split(" ")
    tokens = [words[0], *(f" {word}" for word in words[1:])]
    earlier_words: set[str] = set()
    scores: list[float | None] = []
    for word in words:
        scores.append(-0.1 if word in earlier_words else -2.0)
        earlier_words.add(word)
    starts = [0]
    for token in tokens[:-1]:
        starts.append(starts[-1] + len(token))
    return {"tokens": tokens, "token_logprobs": [None, *scores[1:]], "text_offset": starts, "top_logprobs": None}


def make_embeddings(body: dict[str, Any]) -> dict[str, Any]:
    """The vector of each text: its bag of hashed words, normalised, as numbers or as base64 of float32."""
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    is_base64 = body.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": i, "embedding": make_vector(str(text), is_base64)}
        for i, text in enumerate(texts)
    ]
    return {"object": "list", "data": data, "model": body["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def make_vector(text: str, is_base64: bool) -> list[float] | str:
    """The vector of one text."""
    counts = [0.0] * DIMENSION
    for word in text.lower().split():
        counts[sha256(word.encode()).digest()[0] % DIMENSION] += 1
    length = math.sqrt(math.fsum(count * count for count in counts)) or 1.0
    values = [count / length for count in counts]
    return base64.b64encode(struct.pack(f"<{DIMENSION}f", *values)).decode() if is_base64 else values
