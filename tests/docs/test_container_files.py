"""The Dockerfile, .dockerignore and compose.yaml fit the package. `make test-container` runs the image."""

import json
import re
import tomllib
from pathlib import Path

import yaml
from container.dockerfile import list_context, read_dockerfile

from quorum.serving.access_control import PUBLIC_PATH

ROOT = Path(__file__).resolve().parents[2]
STAGES = read_dockerfile((ROOT / "Dockerfile").read_text(encoding="utf-8"))
LAST = {instruction.name: instruction for instruction in STAGES[-1].instructions}


def test_the_build_is_given_what_the_wheel_is_made_of_and_little_else() -> None:
    files = list_context(ROOT, (ROOT / ".dockerignore").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel_tops = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    tops = [*wheel_tops, "pyproject.toml", "constraints.txt", "README.md", "LICENSE"]
    assert {top for top in tops if not any(f"{file}/".startswith(f"{top}/") for file in files)} == set()
    assert [file for file in files if not any(f"{file}/".startswith(f"{top}/") for top in tops)] == []
    assert [file for file in files if re.search(r"__pycache__|node_modules|page/src/", file)] == []
    assert any(file.startswith("quorum/page/built/") for file in files)


def test_the_image_runs_as_a_user_without_rights_who_is_named_by_a_number() -> None:
    assert int(LAST["USER"].rest) > 0  # Kubernetes cannot tell whether a name is root


def test_the_health_check_asks_the_address_that_needs_no_token_at_the_port_that_is_served() -> None:
    command = LAST["HEALTHCHECK"].rest.removeprefix("CMD")
    assert f"http://127.0.0.1:{LAST['EXPOSE'].rest}{PUBLIC_PATH}" in " ".join(json.loads(command))
    assert "--port" not in LAST["CMD"].rest


def test_the_compose_file_runs_the_chroma_server_whose_client_is_installed() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    [version] = re.findall(r"^chromadb==(\S+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert services["chroma"]["image"] == f"chromadb/chroma:{version}"
    assert services["quorum"]["depends_on"] == {"chroma": {"condition": "service_healthy"}}
