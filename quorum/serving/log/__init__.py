"""The request log: a line of JSON for each request, with its real outcome, its calls, tokens, dollars and time."""
