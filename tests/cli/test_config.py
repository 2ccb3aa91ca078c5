"""Settings in files: quorum.toml of a project and the user's own, and `quorum config`."""

import json
import os
from pathlib import Path

import pytest
from openai_server import OpenAIServer
from quorum_command import Quorum

import quorum as library
from quorum.core.errors import SetupError
from quorum.core.settings.config_files import find_project_file, find_user_file


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a repository; the working directory is a folder two levels below it."""
    root = tmp_path / "project"
    (root / "docs" / "deep").mkdir(parents=True)
    (root / ".git").mkdir()
    monkeypatch.chdir(root / "docs" / "deep")
    return root


def write_user_file(text: str) -> Path:
    path = find_user_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def read_sources(quorum: Quorum, *options: str) -> dict[str, tuple[object, str]]:
    run = quorum("config", "--json", *options)
    assert run.code == 0
    return {name: (row["value"], row["source"]) for name, row in json.loads(run.out)["settings"].items()}


def test_a_setting_comes_from_option_environment_project_user_or_default_in_this_order(
    quorum: Quorum, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_sources(quorum)["k"] == (5, "default")
    user_file = write_user_file("k = 6\nseed = 6\n")
    assert read_sources(quorum)["k"] == (6, str(user_file))
    project_file = project / "quorum.toml"
    project_file.write_text("k = 7\n")
    assert read_sources(quorum)["k"] == (7, str(project_file))
    assert read_sources(quorum)["seed"] == (6, str(user_file))
    monkeypatch.setenv("QUORUM_K", "8")
    assert read_sources(quorum)["k"] == (8, "QUORUM_K")
    assert read_sources(quorum, "-k", "9")["k"] == (9, "command line")
    assert read_sources(quorum, "--set", "k=10")["k"] == (10, "command line")
    assert quorum("config", "k").out == "k = 8 (QUORUM_K)\nPassages per query, from 1 to 1000.\n"


def test_the_project_ends_at_the_root_of_its_repository(project: Path) -> None:
    (project.parent / "quorum.toml").write_text("k = 7\n")
    assert find_project_file() is None
    (project / "docs" / "quorum.toml").write_text("k = 8\n")
    assert find_project_file() == project / "docs" / "quorum.toml"


def test_without_a_repository_only_the_folder_itself_is_searched(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "quorum.toml").write_text("k = 7\n")
    assert find_project_file(tmp_path) == tmp_path / "quorum.toml"
    assert find_project_file(tmp_path / "below") is None


def test_commands_and_from_config_read_the_files_and_context_does_not(
    quorum: Quorum, project: Path, openai_server: OpenAIServer
) -> None:
    passages = project / "passages.jsonl"
    passages.write_text(
        "".join(f'{{"id": "{i}", "title": "", "text": "Tower {i} of Vell."}}\n' for i in range(4)), encoding="utf-8"
    )
    (project / "quorum.toml").write_text('model = "openai:test"\nk = 3\n')
    run = quorum("ask", "Which", "tower?", "--method", "post_fusion", "--passages", str(passages))
    assert (run.code, len(openai_server.chats())) == (0, 3)
    assert run.err.startswith(f"quorum: model=openai:test (from {project / 'quorum.toml'}; ")
    assert (library.Context().k, library.Context.from_config().k, library.Context.from_config(k=4).k) == (5, 3, 4)


def test_paths_begin_at_the_file_that_names_them(quorum: Quorum, project: Path) -> None:
    (project / "quorum.toml").write_text('store = "here"\njournal = "off"\ncontext_filter = "transformers:models/f"\n')
    sources = read_sources(quorum)
    assert sources["store"][0] == str(project / "here")
    assert sources["journal"][0] == "off"
    assert sources["context_filter"][0] == f"transformers:{project / 'models/f'}"
    document = project / "vell.md"
    document.write_text("# Vell\n\nAda Korn designed the tower of Vell in 1874.\n")
    assert quorum("index", str(document), "-c", "vell").code == 0
    assert (project / "here" / "chroma").is_dir()
    assert "vell" in quorum("collections").out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kk = 3\n", "there is no setting 'kk'"),
        ("k = 0\n", "Setting k=0 does not fit"),
        ('k = "many"\n', "Setting k='many' does not fit"),
        ("k = [1, 2]\n", "Setting k does not fit"),
        ("[model]\nname = 'x'\n", "Setting model does not fit"),
        ("k = \n", "is no TOML"),
        ('openai_base_url = "http://elsewhere.example/v1"\n', "is not taken from a project's file"),
        ('openai_api_key = "x"\n', "put the secret into the environment as OPENAI_API_KEY"),
        ('model = "sk-abcdef0123456789"\n', "model holds a secret"),
        ('store = "http://alice:hunter22@store:8000"\n', "store holds a secret"),
    ],
)
@pytest.mark.parametrize("command", [("config",), ("ask", "Who?"), ("collections",), ("prompts",)])
def test_a_wrong_file_is_one_sentence_that_names_it(
    quorum: Quorum, project: Path, text: str, message: str, command: tuple[str, ...]
) -> None:
    path = project / "quorum.toml"
    path.write_text(text)
    run = quorum(*command)
    assert (run.code, run.out, run.err.count("\n")) == (2, "", 1)
    assert f"quorum: {path}" in run.err
    assert message in run.err
    assert "hunter22" not in run.err
    assert "sk-abcdef" not in run.err


def test_the_users_own_file_may_name_the_server(
    quorum: Quorum, project: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    path = write_user_file(f'openai_base_url = "{openai_server.url}"\nmodel = "openai:test"\n')
    assert f"openai:  {openai_server.url} ({path})" in quorum("config").out
    (project / "p.jsonl").write_text('{"id": "a", "title": "", "text": "Vell."}\n')
    run = quorum("ask", "Who?", "--passages", str(project / "p.jsonl"), "--method", "concat")
    assert (run.code, run.err, len(openai_server.chats())) == (0, "", 1)
    assert os.environ.pop("OPENAI_BASE_URL") == openai_server.url


def test_a_project_file_of_another_user_is_refused(project: Path) -> None:
    path = project / "quorum.toml"
    path.write_text("k = 3\n")
    if os.getuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, 12345, 12345)
    with pytest.raises(SetupError, match="belongs to another user"):
        library.Context.from_config()


def test_config_shows_no_key(quorum: Quorum, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdef0123456789")
    run = quorum("config")
    assert "OPENAI_API_KEY is set, not shown" in run.out
    assert "sk-abcdef" not in run.out + quorum("config", "--json").out
    assert quorum("config", "colour").code == 2


def test_the_table_fits_a_narrow_terminal(quorum: Quorum, monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (project / "quorum.toml").write_text("k = 3\n")
    run = quorum("config")
    table = run.out.partition("\n\n")[2].splitlines()
    assert (run.code, max(map(len, table)) <= 80) == (0, True)
    assert table[1].split()[:2] == ["k", "3"]
