"""Writes messages as Outlook does (msg): compound files [MS-CFB] with a stream for each property [MS-OXMSG]."""

import struct
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

SECTOR, MINI_SECTOR, CUTOFF = 512, 64, 4096
END, FREE, FAT_SECTOR, NOTHING = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFF
Folder = Mapping[str, Any]  # name -> bytes of a stream, or another folder


def write_msg(properties: Mapping[str, str | bytes], **other: Any) -> bytes:
    """A message as a file; for the arguments see `make_message`."""
    return write_compound_file(make_message(properties, **other))


def make_message(
    properties: Mapping[str, str | bytes],
    sent: datetime | None = None,
    pages: Mapping[int, int] | None = None,
    attached: Mapping[str, Folder | None] | None = None,
    header_size: int = 32,
) -> dict[str, Any]:
    """The streams of a message. properties: number in hexadecimal digits, with its type ("0037001F") -> value.

    pages: number of a property -> a code page. attached: name of an attachment -> the message that it is, or None.
    """
    fixed = [(number, 3, struct.pack("<I4x", page)) for number, page in (pages or {}).items()]
    if sent is not None:
        ticks = int((sent - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10**7
        fixed.append((0x39, 0x40, struct.pack("<Q", ticks)))
    encoded = {key: value.encode("utf-16-le") if isinstance(value, str) else value for key, value in properties.items()}
    sizes = [(int(k[:4], 16), int(k[4:], 16), struct.pack("<I4x", len(v) + 2)) for k, v in encoded.items()]
    count = len(attached or {})
    header = struct.pack("<8x4I8x", 0, count, 0, count)[:header_size]
    entries = b"".join(struct.pack("<HHI8s", kind, number, 6, value) for number, kind, value in [*fixed, *sizes])
    streams: dict[str, Any] = {f"__substg1.0_{key}": value for key, value in encoded.items()}
    for place, (name, inner) in enumerate((attached or {}).items()):
        part: dict[str, Any] = {"__properties_version1.0": bytes(8), "__substg1.0_3707001F": name.encode("utf-16-le")}
        if inner is not None:
            part["__substg1.0_3701000D"] = inner
        streams[f"__attach_version1.0_#{place:08X}"] = part
    return {"__properties_version1.0": header + entries, **streams}


def write_compound_file(root: Folder) -> bytes:
    """A compound file of version 3."""
    entries: list[list[Any]] = [["Root Entry", 5, NOTHING, NOTHING, b""]]  # name, kind, next sibling, child, content

    def add(folder: Folder, parent: int) -> None:
        previous = None
        for name in sorted(folder, key=lambda name: (len(name), name.upper())):
            value = folder[name]
            entries.append([name, 2 if isinstance(value, bytes) else 1, NOTHING, NOTHING, value])
            here = len(entries) - 1
            if previous is None:
                entries[parent][3] = here
            else:
                entries[previous][2] = here
            previous = here
            if not isinstance(value, bytes):
                add(value, here)

    add(root, 0)
    sectors, fat, mini, mini_fat = bytearray(), list[int](), bytearray(), list[int]()
    begins = [END] * len(entries)

    def store(data: bytes, space: bytearray, table: list[int], size: int) -> int:
        count, begin = -(-len(data) // size), len(table)
        space.extend(data.ljust(count * size, b"\0"))
        table.extend([*range(begin + 1, begin + count), END] if count else [])
        return begin if count else END

    for number, entry in enumerate(entries):
        if entry[1] == 2 and entry[4]:
            is_small = len(entry[4]) < CUTOFF
            space, table, size = (mini, mini_fat, MINI_SECTOR) if is_small else (sectors, fat, SECTOR)
            begins[number] = store(entry[4], space, table, size)
    begins[0], entries[0][4] = store(bytes(mini), sectors, fat, SECTOR), bytes(mini)
    mini_count = -(-len(mini_fat) * 4 // SECTOR)
    mini_begin = store(
        struct.pack(f"<{len(mini_fat)}I", *mini_fat).ljust(mini_count * SECTOR, b"\xff"), sectors, fat, SECTOR
    )
    directory = b""
    for (name, kind, sibling, child, content), begin in zip(entries, begins, strict=True):
        label = name.encode("utf-16-le") + b"\0\0"
        length = len(content) if isinstance(content, bytes) else 0
        head = struct.pack("<64sHBBIII", label, len(label), kind, 1, NOTHING, sibling, child)
        directory += head + bytes(36) + struct.pack("<IQ", begin if isinstance(content, bytes) else 0, length)
    directory_begin = store(directory, sectors, fat, SECTOR)
    fat_count = 1
    while fat_count * SECTOR // 4 < len(fat) + fat_count:
        fat_count += 1
    fat_begin = len(fat)
    fat += [FAT_SECTOR] * fat_count
    table_bytes = struct.pack(f"<{len(fat)}I", *fat).ljust(fat_count * SECTOR, b"\xff")
    header = struct.pack("<8s16xHHHHH6x", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack(
        "<IIIIIIIIII", 0, fat_count, directory_begin, 0, CUTOFF, mini_begin, mini_count, END, 0, fat_begin
    )
    header += struct.pack(f"<{fat_count - 1}I", *range(fat_begin + 1, fat_begin + fat_count))
    return header.ljust(SECTOR, b"\xff") + bytes(sectors) + table_bytes
