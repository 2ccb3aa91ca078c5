"""Who may send requests: the keys of --token, and the names of the token file, which is read again when it changes."""

import hmac
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from quorum.core.errors import SetupError
from quorum.core.files import escape_name, expand_home
from quorum.serving.client import Client, make_key_client, make_named_client
from quorum.serving.errors import Refusal
from quorum.serving.named_tokens import (
    NamedToken,
    derive_cookie,
    find_open_mode,
    hash_cookie,
    hash_token,
    read_named_tokens,
)


class Access:
    """Finds out who sends a request.

    keys: of --token; the first one is the owner's. token_file: with the names of a team; None without one. origins: of
    the pages of other sites that may ask this server.
    """

    def __init__(
        self, keys: Sequence[str] = (), token_file: "TokenFile | None" = None, origins: Sequence[str] = ()
    ) -> None:
        self.keys, self.token_file, self.origins = tuple(keys), token_file, frozenset(origins)

    @property
    def is_open(self) -> bool:
        """Whether clients need no token, so that only this machine may ask."""
        return not self.keys and self.token_file is None

    def find_by_token(self, token: str) -> Client | None:
        """The client with this token; None if there is none. Raises `Refusal` (503) if the token file is unreadable."""
        for index, key in enumerate(self.keys):
            if hmac.compare_digest(token.encode(), key.encode()):
                return make_key_client(key, index)
        return self.find_named(hash_token(token)) if token else None

    def find_by_cookies(self, cookies: Sequence[str]) -> Client | None:
        """The visitor of the page with one of these cookies. Raises `Refusal` (503)."""
        visitors = map(self.find_by_cookie, cookies)
        return next((visitor for visitor in visitors if visitor is not None), None)

    def find_by_cookie(self, cookie: str) -> Client | None:
        """The visitor with this cookie, who has shown the first key or a named token. Raises `Refusal` (503)."""
        if self.keys and hmac.compare_digest(cookie.encode(), derive_cookie(self.keys[0]).encode()):
            return make_key_client(self.keys[0], 0)
        return self.find_named(hash_cookie(cookie)) if cookie else None

    def find_visitor(self, token: str) -> Client | None:
        """The visitor of the page who shows this token. Raises `Refusal` (503)."""
        return self.find_by_cookie(derive_cookie(token))

    def find_named(self, hash_: str) -> Client | None:
        if self.token_file is None:
            return None
        token = self.token_file.find(hash_)
        return None if token is None else make_named_client(token)


OPEN_ACCESS = Access()  # of a server without keys


class TokenFile:
    """A token file in use. Every request looks whether it has changed, so that a token is revoked at once.

    check_token: raises SetupError for an entry whose limits the server cannot keep; check_names: for collections and
    methods that it does not serve. Raises SetupError if the file cannot be used when the server starts. If that happens
    later, nobody in it is let in until it is mended, since whoever was to be revoked must not stay; an entry that is
    faulty by itself is left out; and of unknown names the server's terminal says so.
    """

    def __init__(
        self,
        path: str | Path,
        check_token: Callable[[NamedToken], None] = lambda token: None,
        check_names: Callable[[Sequence[NamedToken]], None] = lambda tokens: None,
    ) -> None:
        self.path, self.check_token, self.check_names = expand_home(path), check_token, check_names
        self.state: Any = self.look()
        tokens = read_named_tokens(self.path)
        for token in tokens:
            check_token(token)
        check_names(tokens)
        self.tokens = {token.hash: token for token in tokens}
        self.is_broken = self.must_retry = False
        self.told = ""
        self.warn_if_open()

    def find(self, hash_: str) -> NamedToken | None:
        """The entry with this hash. Raises `Refusal` (503) as long as the file cannot be used."""
        state = self.look()
        if state != self.state or self.must_retry:
            self.state = state
            self.read_again()
        if self.is_broken:
            message = "The server's token file cannot be used now; ask whoever runs the server."
            raise Refusal(503, message, "tokens_unreadable", "server_error", headers={"retry-after": "5"})
        return self.tokens.get(hash_)

    def look(self) -> Any:
        """What changes when the file does; None if there is no file."""
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns

    def read_again(self) -> None:
        """Take over a changed file."""
        self.tokens = {}
        try:
            tokens = read_named_tokens(self.path)
        except SetupError as error:
            self.is_broken = True
            # What the system refuses now it may allow later, without a change of the file.
            self.must_retry = isinstance(error.__cause__, OSError)
            if str(error) != self.told:
                self.told = str(error)
                print(f"quorum: nobody of the token file is let in until it is mended: {error}", file=sys.stderr)
            return
        self.is_broken, self.must_retry, self.told = False, False, ""
        for token in tokens:
            try:
                self.check_token(token)
                self.tokens[token.hash] = token
            except SetupError as error:
                print(f"quorum: {token.name} is not let in: {error}", file=sys.stderr)
        self.warn_if_open()
        threading.Thread(target=self.warn_of_names, args=(tokens,), name="quorum-tokens", daemon=True).start()

    def warn_of_names(self, tokens: Sequence[NamedToken]) -> None:
        """Say which collections and methods of a changed file are not served. The call may read the store."""
        with suppress(Exception):  # a store that cannot be used now is told when it is asked
            try:
                self.check_names(tokens)
            except SetupError as error:
                print(f"quorum: {error}", file=sys.stderr)

    def warn_if_open(self) -> None:
        mode = find_open_mode(self.path)
        if mode is not None:
            name = escape_name(self.path)
            print(
                f"quorum: others on this machine can read the token file {name} (mode {mode}); run: chmod 600 {name}",
                file=sys.stderr,
            )
