"""The HTTP library of OpenAI's client: httpx2 from openai 3 on, httpx before."""

import importlib
from typing import Any

import httpx
import openai

OPENAI_HTTP: Any = importlib.import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])

# The base of a response's body, for the clients of httpx and of OPENAI_HTTP.
STREAM_BASES = dict.fromkeys(
    base for library in (OPENAI_HTTP, httpx) for base in (library.AsyncByteStream, library.SyncByteStream)
)
BodyStream: Any = type("BodyStream", tuple(STREAM_BASES), {})
