"""Becomes a process of the image in `ROOT`: `unshare --pid --net --mount ... python enter.py JSON COMMAND ...`

It runs as root in new namespaces, mounts what a container has, gives up all rights and becomes the command.
"""

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

UP, SET_FLAGS = 0x1, 0x8914  # IFF_UP, SIOCSIFFLAGS
DEVICES = ("null", "zero", "full", "random", "urandom")


def main(options: dict[str, object], command: list[str]) -> None:
    """options: root, user ("UID:GID"), folder, environment, volumes ({place in the image: folder}), is_read_only."""
    root = Path(str(options["root"]))
    mount("--bind", root, root)
    if options["is_read_only"]:
        mount("-o", "remount,bind,ro", root)
    mount("--types", "proc", "proc", root / "proc")
    mount("--types", "tmpfs", "-o", "mode=755", "tmpfs", root / "dev")
    for name in DEVICES:
        (root / "dev" / name).touch()
        mount("--bind", f"/dev/{name}", root / "dev" / name)
    (root / "dev" / "shm").mkdir()
    for place in ("tmp", "dev/shm"):
        mount("--types", "tmpfs", "-o", "mode=1777", "tmpfs", root / place)
    volumes = options["volumes"]
    assert isinstance(volumes, dict)
    for place, folder in volumes.items():
        mount("--bind", folder, root / place.lstrip("/"))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:  # loopback, and no other network
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh14x", b"lo", UP))
    uid, _, gid = str(options["user"]).partition(":")
    os.chroot(root)
    os.chdir(str(options["folder"]))
    os.setgroups([])
    os.setgid(int(gid))
    os.setuid(int(uid))
    environment = options["environment"]
    assert isinstance(environment, dict)
    os.environ.clear()
    os.environ.update(environment)
    os.execvp(command[0], command)


def mount(*words: object) -> None:
    subprocess.run(["mount", *map(str, words)], check=True)


main(json.loads(sys.argv[1]), sys.argv[2:])
