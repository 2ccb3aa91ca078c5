"""The names of Quorum's own retrievers, as the registry has them: a new one is tested with the others."""

from quorum.retrievers.registry import RETRIEVERS

PLAIN_RETRIEVERS = [name for name, kind in RETRIEVERS.items() if not kind.argument]  # those that need no model's name
LISTED_RETRIEVERS = ", ".join(f"{name}:{kind.argument}" if kind.argument else name for name, kind in RETRIEVERS.items())
