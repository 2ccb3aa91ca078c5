"""Makes the files of our image without Docker: Debian's debootstrap makes the base, and every instruction of the
Dockerfile is carried out in a folder by chroot. It must be root, on Linux.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from dockerfile import (
    ROOT_USER,
    Instruction,
    Settings,
    Stage,
    list_context,
    read_dockerfile,
    read_pairs,
    replace_variables,
)

ROOT = Path(__file__).resolve().parents[2]
MEGABYTE = 1_000_000
# What the clients of package indexes are told on this machine, which a build needs where there is a proxy or a mirror.
CLIENT_VARIABLES = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
CERTIFICATES = "/run/certificates.crt"  # of this machine, in the image while a RUN lasts
CERTIFICATE_VARIABLES = dict.fromkeys(("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), CERTIFICATES)
LENT_FILES = {"/etc/resolv.conf": "/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt": CERTIFICATES}
SHELL = ["/bin/sh", "-c"]
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def build_image(folder: Path) -> tuple[Path, Settings]:
    """Build every stage in a folder of its own below `folder`; the last one's files and settings."""
    if os.geteuid() != 0 or sys.platform != "linux":
        raise SystemExit("The files of the image are made with debootstrap and chroot: run this as root, on Linux.")
    context = list_context(ROOT, (ROOT / ".dockerignore").read_text(encoding="utf-8"))
    built: dict[str, tuple[Path, Settings]] = {}
    for stage in read_dockerfile((ROOT / "Dockerfile").read_text(encoding="utf-8")):
        root = folder / stage.name
        settings = start_stage(stage, root, built, folder)
        values: dict[str, str] = {}
        for instruction in stage.instructions:
            carry_out(instruction, root, settings, values, context, built)
        built[stage.name] = root, settings
    return built[stage.name]


def start_stage(stage: Stage, root: Path, built: dict[str, tuple[Path, Settings]], folder: Path) -> Settings:
    """The files that a stage begins with, in `root`; what the image before it says."""
    if stage.source in built:
        source, settings = built[stage.source]
        subprocess.run(["cp", "--archive", source, root], check=True)
        return Settings(dict(settings.environment), settings.user, settings.folder)
    distribution, _, tag = stage.source.partition(":")
    suite, _, variant = tag.partition("-")
    assert (distribution, variant) == ("debian", "slim"), f"{stage.source}: only debian:SUITE-slim can be made here."
    copy_of_base = folder.parent / f"debian-{suite}"  # the same for every build
    if not copy_of_base.exists():
        make_debian(suite, copy_of_base)
    subprocess.run(["cp", "--archive", copy_of_base, root], check=True)
    return Settings({"PATH": PATH})


def make_debian(suite: str, root: Path) -> None:
    """debian:SUITE-slim is what `debootstrap --variant=minbase` makes, without lists of packages, manuals and other
    languages.
    """
    if not shutil.which("debootstrap"):
        raise SystemExit("debootstrap is missing, which makes Debian's files: apt-get install -y debootstrap.")
    part = root.with_name(f"{root.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    command = ["debootstrap", "--variant=minbase", suite, str(part)]
    run_in_own_mounts(command)
    for pattern in ("var/cache/apt/*", "var/lib/apt/lists/*", "var/log/*", "usr/share/doc/*", "usr/share/man/*"):
        for path in part.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for path in (part / "usr/share/locale").iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (part / "etc/dpkg/dpkg.cfg.d").mkdir(parents=True, exist_ok=True)
    rules = [f"path-exclude /usr/share/{name}/*" for name in ("doc", "man", "locale", "info")]
    (part / "etc/dpkg/dpkg.cfg.d/docker").write_text("\n".join(rules) + "\n", encoding="utf-8")
    part.rename(root)


def carry_out(
    instruction: Instruction,
    root: Path,
    settings: Settings,
    values: dict[str, str],
    context: list[str],
    built: dict[str, tuple[Path, Settings]],
) -> None:
    """One instruction. values: those of ARG."""
    variables = values | settings.environment
    match instruction.name:
        case "ARG":
            values.update(read_pairs(instruction, variables))
        case "ENV":
            settings.environment.update(read_pairs(instruction, variables))
        case "LABEL" | "EXPOSE":
            pass
        case "USER":
            settings.user = instruction.rest
        case "WORKDIR":
            settings.folder = replace_variables(instruction.rest, variables)
            (root / settings.folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
        case "VOLUME":
            settings.volumes.append(instruction.rest)
        case "HEALTHCHECK":
            name, _, words = instruction.rest.partition(" ")
            assert name == "CMD", instruction.rest
            settings.health_check = Instruction("HEALTHCHECK", {}, words).read_list()
        case "ENTRYPOINT":
            settings.entrypoint = instruction.read_list()
        case "CMD":
            settings.command = instruction.read_list()
        case "COPY":
            copy(instruction, root, settings, context, built)
        case "RUN":
            assert settings.user == ROOT_USER, "Instructions after USER are not carried out as another user here."
            run(instruction.rest, root, settings, variables)
        case _:
            raise NotImplementedError(f"{instruction.name}: tests/container/root_files.py does not carry this out yet.")


def copy(
    instruction: Instruction,
    root: Path,
    settings: Settings,
    context: list[str],
    built: dict[str, tuple[Path, Settings]],
) -> None:
    """COPY: files of the build's folder, or with --from a folder of an earlier stage, which is not there yet."""
    *sources, target = instruction.rest.split()
    if "from" in instruction.options:
        [source] = sources
        place = root / target.lstrip("/")
        assert not place.exists(), f"{target} is there already."
        place.parent.mkdir(parents=True, exist_ok=True)
        earlier, _ = built[instruction.options["from"]]
        subprocess.run(["cp", "--archive", earlier / source.lstrip("/"), place], check=True)
        return
    folder = root / settings.folder.lstrip("/") / target
    for path in context if sources == ["."] else sources:
        assert path in context, f".dockerignore leaves {path} out, and the Dockerfile copies it."
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, folder / path, follow_symlinks=False)


def run(command: str, root: Path, settings: Settings, variables: dict[str, str]) -> None:
    """RUN: a shell's command in the image's files, with this machine's access to package indexes."""
    lent = {name: value for name, value in os.environ.items() if name.startswith(CLIENT_VARIABLES)}
    lent |= CERTIFICATE_VARIABLES | {"DEBIAN_FRONTEND": "noninteractive", "HOME": "/root"}
    environment = [f"{name}={value}" for name, value in (lent | variables).items()]
    script = f'mount --types proc proc "{root}/proc"\nmount --rbind /dev "{root}/dev"\n'
    made = []
    for file, place in LENT_FILES.items():
        if Path(file).exists():
            target = Path(f"{root}{place}")
            if not target.exists():
                target.touch()
                made.append(target)
            script += f'mount --bind "$(realpath {file})" "{target}"\n'
    chroot = ["chroot", str(root), "env", "-i", *environment, *SHELL, f"cd {settings.folder} && {command}"]
    run_in_own_mounts(["sh", "-ec", f'{script}exec "$@"', "sh", *chroot])
    for target in made:
        target.unlink()


def run_in_own_mounts(command: list[str]) -> None:
    """Run a command whose mounts end with it; if it fails, exit with its output."""
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "--", *command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{command[-1]}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


def measure(root: Path) -> float:
    """The megabytes of all files, as `docker image ls` counts them: the layers unpacked."""
    counted = set()
    size = 0
    for path in root.rglob("*"):
        status = path.lstat()
        if status.st_ino not in counted:
            counted.add(status.st_ino)
            size += status.st_size
    return size / MEGABYTE
