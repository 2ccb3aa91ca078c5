"""`quorum serve` checks the address and the token before it serves."""

import re
import socket
from pathlib import Path

import pytest

from quorum.cli.main import main
from quorum.core.errors import SetupError
from quorum.serving.address import open_listening_socket


def get_error_message(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """The message of `quorum serve` with arguments with which it must fail."""
    with pytest.raises(SystemExit) as exit_info:
        main(["serve", *args])
    assert exit_info.value.code == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    return message


@pytest.mark.parametrize("args", [["--host", "0.0.0.0"], ["--host", "0.0.0.0", "--token", ""]])
def test_clients_on_other_machines_need_a_token(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "no token is given" in get_error_message(capsys, *args)


@pytest.mark.parametrize("port", ["99999", "-1"])
def test_a_port_that_does_not_exist_is_refused_in_a_sentence(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"--port {port} is not a port; give one from 1 to 65535" in get_error_message(
        capsys, "--no-page", "--port", port
    )


def test_the_token_may_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QUORUM_TOKEN", "zebra")
    message = get_error_message(capsys, "--host", "0.0.0.0")
    assert "The token has 5 characters" in message
    assert "zebra" not in message  # a message must not show a token


def test_a_taken_port_is_reported() -> None:
    with open_listening_socket("127.0.0.1", 0) as server_socket:
        with pytest.raises(SetupError, match=r"The server cannot listen at 127\.0\.0\.1:.*another --port"):
            open_listening_socket("127.0.0.1", server_socket.getsockname()[1])
        # A client can connect as soon as the socket listens, before a server accepts connections.
        socket.create_connection(server_socket.getsockname(), 5).close()


@pytest.mark.parametrize("host", ["a..b", "a" * 70])
def test_a_host_that_is_not_a_valid_name_is_refused_in_a_sentence(host: str) -> None:
    with pytest.raises(SetupError, match=f"The server cannot listen at {re.escape(host)}:0 .*; give another --port"):
        open_listening_socket(host, 0)


def test_an_ipv6_address_of_this_machine_is_recognised() -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        with open_listening_socket("::1", 0) as listener:
            assert listener.getsockname()[0] == "::1"
    except SetupError as error:
        assert "cannot listen at ::1" in str(error)  # noqa: PT017  a machine may have IPv6 turned off


def test_options_of_the_log_that_do_not_fit_are_refused_in_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, store: Path
) -> None:
    assert "--log-questions belongs to --log-file FILE" in get_error_message(capsys, "--log-questions")
    missing = str(tmp_path / "none" / "log.jsonl")
    assert "give --log-file a file in a folder that exists" in get_error_message(
        capsys, "--no-page", "--port", "0", "--store", str(store), "-c", "towers", "--log-file", missing
    )
    with pytest.raises(SystemExit):
        main(["mcp", "--log-file", "-"])
    assert "--log-file - is the standard output, over which quorum mcp speaks" in capsys.readouterr().err
