"""The bodies that the loopback server of the OpenAI protocol sends: completions, echoes, embeddings and errors."""

import base64
import hashlib
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

DIMENSION = 32


@dataclass(frozen=True)
class Response:
    """One answer of the server.

    text, finish_reason: the reply of a chat completion; usage: its token counts ("auto": estimated, None: none sent).
    message: more fields of the completion's message, such as reasoning_content, or a content that replaces the text.
    status, body, headers: any other response, such as an error. drop: close the connection before answering; truncate:
    close it in the middle of the body; hold: answer only after `server.release_held_replies()`.
    """

    text: str = ""
    finish_reason: str = "stop"
    usage: dict[str, Any] | str | None = "auto"
    message: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    truncate: bool = False
    hold: bool = False


def make_error(status: int, message: str, code: str | None = None, **headers: str) -> Response:
    """An error as OpenAI words it; header names are written with underscores (Retry_After="2")."""
    body = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return Response(
        status=status, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


def make_too_long_error(words: int = 9000, limit: int = 8192) -> Response:
    """The error for a prompt that is longer than the model's window."""
    message = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in {words} tokens."
    )
    return make_error(400, message, "context_length_exceeded")


def count_usage(response: Response, body: dict[str, Any]) -> dict[str, Any] | None:
    """Token counts: those that the test set, or an estimate of four bytes a token."""
    if response.usage != "auto":
        return response.usage  # type: ignore[return-value]
    prompt_tokens = sum(len(str(message["content"]).encode()) for message in body["messages"]) // 4
    completion_tokens = len(response.text.encode()) // 4 + 1
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def make_completion(response: Response, body: dict[str, Any]) -> Response:
    """A chat completion in one piece."""
    message = {"role": "assistant", "content": response.text} | response.message
    choice = {"index": 0, "message": message, "finish_reason": response.finish_reason, "logprobs": None}
    reply = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
    usage = count_usage(response, body)
    return Response(
        body=reply if usage is None else reply | {"usage": usage}, headers=response.headers, truncate=response.truncate
    )


def make_chunks(response: Response, body: dict[str, Any]) -> Iterator[dict[str, Any] | str]:
    """The events of a streamed completion, one word each."""
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
    if response.message:
        yield base | {"choices": [{"index": 0, "delta": {"role": "assistant"} | response.message}]}
    for word in re.findall(r"\S+\s*|\s+", response.text) or [""]:
        delta = {"role": "assistant", "content": word}
        yield base | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield base | {"choices": [{"index": 0, "delta": {}, "finish_reason": response.finish_reason}]}
    usage = count_usage(response, body)
    if usage is not None and (body.get("stream_options") or {}).get("include_usage"):
        yield base | {"choices": [], "usage": usage}
    yield "[DONE]"


def make_echo(body: dict[str, Any]) -> dict[str, Any]:
    """A completion that repeats each prompt with log-probabilities: -0.1 for a word that occurred before, -2 for a new
    one, none for the first token. If max_tokens is set, it generates " end" at -5.
    """
    prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
    endings = ["" if not body.get("max_tokens") else " end" for _ in prompts]
    choices = [
        {
            "index": index,
            "text": prompt + ending,
            "finish_reason": "length",
            "logprobs": list_log_probabilities(prompt, ending),
        }
        for index, (prompt, ending) in enumerate(zip(prompts, endings, strict=True))
    ]
    usage = {"prompt_tokens": sum(len(prompt.split()) for prompt in prompts), "completion_tokens": len(endings)}
    usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
    base = {"id": "cmpl-1", "object": "text_completion", "created": 0, "model": body["model"]}
    return base | {"choices": choices, "usage": usage}


def list_log_probabilities(prompt: str, ending: str) -> dict[str, Any]:
    """The log-probabilities of an echo: tokens (a word with the white space before it), scores, offsets in the text."""
    matches = list(re.finditer(r"\s*\S+|\s+$", prompt))
    words = [match.group() for match in matches]
    scores: list[float | None] = [
        -0.1 if word.strip() in prompt[: match.start()] else -2.0 for word, match in zip(words, matches, strict=True)
    ]
    if scores:
        scores[0] = None
    generated_tokens = [ending] if ending else []
    return {
        "tokens": words + generated_tokens,
        "token_logprobs": scores + [-5.0 for _ in generated_tokens],
        "text_offset": [match.start() for match in matches] + [len(prompt) for _ in generated_tokens],
        "top_logprobs": None,
    }


def hash_words(text: Any) -> list[float]:
    """A bag of hashed words, normalised: texts that share words are close."""
    counts = [0.0] * DIMENSION
    for word in re.findall(r"\w+", str(text).lower()):
        counts[hashlib.sha256(word.encode()).digest()[0] % DIMENSION] += 1
    length = sum(count * count for count in counts) ** 0.5 or 1.0
    return [count / length for count in counts]


def make_embeddings(body: dict[str, Any]) -> dict[str, Any]:
    """Vectors as numbers, or base64 of float32 when the client asks for it."""
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]

    def encode_vector(values: list[float]) -> list[float] | str:
        packed_vector = base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()
        return packed_vector if body.get("encoding_format") == "base64" else values

    data = [
        {"object": "embedding", "index": i, "embedding": encode_vector(hash_words(text))}
        for i, text in enumerate(texts)
    ]
    return {"object": "list", "data": data, "model": body["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1}}
