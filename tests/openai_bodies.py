"""The bodies that the loopback server of the OpenAI protocol sends: completions, echoes, embeddings and errors."""

import base64
import hashlib
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

DIMENSION = 32  # of the embeddings


@dataclass(frozen=True)
class Response:
    """One answer of the server.

    text, finish_reason: the reply of a chat completion; usage: its token counts ("auto": estimated, None: none sent).
    message: more fields of the completion's message, such as reasoning_content, or a content that replaces the text.
    stream_ends: what a stream has at its end, "finish" (the finish reason) and "done" ([DONE]). words: how many words
    of the text a stream has (None: all); the HTTP message ends well.
    status, body, headers: any other response, such as an error. drop: close the connection before answering; truncate:
    close it in the middle of the body; hold: answer only after `server.release_held_replies()`.
    """

    text: str = ""
    finish_reason: str = "stop"
    usage: dict[str, Any] | str | None = "auto"
    message: dict[str, Any] = field(default_factory=dict)
    stream_ends: tuple[str, ...] = ("finish", "done")
    words: int | None = None
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    truncate: bool = False
    hold: bool = False


def make_error(status: int, message: str, code: str | None = None, **headers: str) -> Response:
    """An error in the form that OpenAI sends. headers: with underscores in their names, as in Retry_After="2"."""
    body = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return Response(
        status=status, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


def make_too_long_error(prompt_tokens: int = 9000, limit: int = 8192) -> Response:
    """The error for a prompt that is longer than the model's window."""
    message = (
        f"This model's maximum context length is {limit} tokens. "
        f"However, your messages resulted in {prompt_tokens} tokens."
    )
    return make_error(400, message, "context_length_exceeded")


def count_usage(response: Response, request_body: dict[str, Any]) -> dict[str, Any] | None:
    """The `usage` to send: the one that the test has given, or an estimate of four bytes a token; None: send none."""
    if response.usage != "auto":
        return response.usage  # type: ignore[return-value]
    prompt_tokens = sum(len(str(message["content"]).encode()) for message in request_body["messages"]) // 4
    completion_tokens = len(response.text.encode()) // 4 + 1
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def make_completion(response: Response, request_body: dict[str, Any]) -> Response:
    """A chat completion in one piece, which answers the request."""
    message = {"role": "assistant", "content": response.text} | response.message
    choice = {"index": 0, "message": message, "finish_reason": response.finish_reason, "logprobs": None}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": request_body["model"]}
    completion = head | {"choices": [choice]}
    usage = count_usage(response, request_body)
    return Response(
        body=completion if usage is None else completion | {"usage": usage},
        headers=response.headers,
        truncate=response.truncate,
    )


def make_chunks(response: Response, request_body: dict[str, Any]) -> Iterator[dict[str, Any] | str]:
    """The events of a streamed completion: the fields of `response.message` (if it has any), one event for each word,
    the finish reason, the usage (if the request asks for it) and "[DONE]". `response.stream_ends` says which ends.
    """
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": request_body["model"]}
    if response.message:
        yield base | {"choices": [{"index": 0, "delta": {"role": "assistant"} | response.message}]}
    for word in (re.findall(r"\S+\s*|\s+", response.text) or [""])[: response.words]:
        delta = {"role": "assistant", "content": word}
        yield base | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    if "finish" in response.stream_ends:
        yield base | {"choices": [{"index": 0, "delta": {}, "finish_reason": response.finish_reason}]}
    usage = count_usage(response, request_body)
    if usage is not None and (request_body.get("stream_options") or {}).get("include_usage"):
        yield base | {"choices": [], "usage": usage}
    if "done" in response.stream_ends:
        yield "[DONE]"


def make_echo(request_body: dict[str, Any]) -> dict[str, Any]:
    """A completion that repeats each prompt with log-probabilities: -0.1 for a word that occurs in the text before it,
    also inside another word; -2 for any other, None for the first word. If max_tokens is above 0, the token " end" with
    log-probability -5 follows.
    """
    prompts = request_body["prompt"] if isinstance(request_body["prompt"], list) else [request_body["prompt"]]
    endings = [" end" if request_body.get("max_tokens") else "" for _ in prompts]
    choices = [
        {
            "index": index,
            "text": prompt + ending,
            "finish_reason": "length",
            "logprobs": list_log_probabilities(prompt, ending),
        }
        for index, (prompt, ending) in enumerate(zip(prompts, endings, strict=True))
    ]
    usage = {
        "prompt_tokens": sum(len(prompt.split()) for prompt in prompts),
        "completion_tokens": sum(ending != "" for ending in endings),
    }
    usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
    base = {"id": "cmpl-1", "object": "text_completion", "created": 0, "model": request_body["model"]}
    return base | {"choices": choices, "usage": usage}


def list_log_probabilities(prompt: str, ending: str) -> dict[str, Any]:
    """The field `logprobs` of an echo: tokens (a word with the white space before it), their scores and offsets."""
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
    """The embedding of a text: counts of its hashed words, normalised, so that texts that share words are close."""
    counts = [0.0] * DIMENSION
    for word in re.findall(r"\w+", str(text).lower()):
        counts[hashlib.sha256(word.encode()).digest()[0] % DIMENSION] += 1
    length = sum(count * count for count in counts) ** 0.5 or 1.0
    return [count / length for count in counts]


def make_embeddings(request_body: dict[str, Any]) -> dict[str, Any]:
    """One vector for each input: a list of numbers, or base64 of float32 if the client asks for it."""
    texts = request_body["input"] if isinstance(request_body["input"], list) else [request_body["input"]]

    def encode_vector(values: list[float]) -> list[float] | str:
        packed_vector = base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()
        return packed_vector if request_body.get("encoding_format") == "base64" else values

    data = [
        {"object": "embedding", "index": i, "embedding": encode_vector(hash_words(text))}
        for i, text in enumerate(texts)
    ]
    tokens = sum(len(text.encode()) // 4 for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": request_body["model"], "usage": usage}


def rank_by_length(body: dict[str, Any]) -> dict[str, Any]:
    """The reply to a request for reranking: the longest document first, scored by its characters."""
    scores = [{"index": index, "relevance_score": len(text)} for index, text in enumerate(body["documents"])]
    scores.sort(key=lambda item: -item["relevance_score"])
    return {"model": body["model"], "results": scores[: body["top_n"]], "usage": {"total_tokens": 70}}
