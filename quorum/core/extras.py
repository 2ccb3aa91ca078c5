"""How to install an extra of Quorum, said in one way everywhere."""


def describe_install(extra: str) -> str:
    """The command that installs an extra, for an installed package and for a checkout.

    >>> describe_install("mcp")
    "pip install 'quorum-rag[mcp]' (in a checkout: pip install -e '.[mcp]')"
    """
    return f"pip install 'quorum-rag[{extra}]' (in a checkout: pip install -e '.[{extra}]')"
