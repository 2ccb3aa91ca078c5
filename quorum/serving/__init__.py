"""Serves Quorum over HTTP by OpenAI's chat protocol, and to agents by MCP. Begin with `app`."""
