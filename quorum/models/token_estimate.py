"""Token counts without a tokenizer."""


def estimate_tokens(text: str) -> int:
    """An upper estimate for most texts and tokenizers: a token for every three bytes of UTF-8, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // 3)
