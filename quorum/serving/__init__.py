"""Quorum over HTTP, in the tools that people use: OpenAI's chat protocol. Begin with `app`."""
