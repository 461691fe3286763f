"""The tar format of a package, in the only form that turnlog writes: POSIX, with regular files only.

To read a package, turnlog builds the expected header and compares it with the one in the package, so there is no parser
that an untrusted archive could mislead. Any `tar` can read this form.
"""

from __future__ import annotations

from turnlog.errors import Unreadable

TAR_BLOCK_BYTES = 512
TAR_END = bytes(2 * TAR_BLOCK_BYTES)
"""The end of an archive."""
_MAX_NAME_BYTES = 100
_MAX_OCTAL_SIZE = 8**11 - 1


def build_tar_header(name: str, size: int, mode: int, mtime: int) -> bytes:
    raw = name.encode()
    extended = {}
    if len(raw) > _MAX_NAME_BYTES or not name.isascii():
        extended["path"] = raw
    if size > _MAX_OCTAL_SIZE:
        extended["size"] = str(size).encode()
    before = b""
    if extended:
        data = b"".join(_build_pax_record(key.encode(), value) for key, value in extended.items())
        before = _build_header_block(b"PaxHeader", len(data), 0o644, 0, b"x") + data + build_tar_padding(len(data))
    short = raw if "path" not in extended else raw[-_MAX_NAME_BYTES:].lstrip(b"/")
    return before + _build_header_block(
        short, min(size, _MAX_OCTAL_SIZE), mode, min(max(mtime, 0), _MAX_OCTAL_SIZE), b"0"
    )


def build_tar_padding(size: int) -> bytes:
    """Build the zero bytes that follow a file of the given size."""
    return bytes(-size % TAR_BLOCK_BYTES)


def read_declared_size(block: bytes, name: str) -> int:
    """Return the size in the first header of a package; raise `Unreadable` unless the header has the given name."""
    digits = block[124:135]
    is_ours = block[:_MAX_NAME_BYTES].rstrip(b"\0") == name.encode() and digits.isdigit()
    size = int(digits, 8) if is_ours and not set(digits) & set(b"89") else -1
    if size < 0 or block != build_tar_header(name, size, 0o644, 0):
        raise Unreadable("not a turnlog package")
    return size


def _build_pax_record(key: bytes, value: bytes) -> bytes:
    """Build `<length> <key>=<value>` with a line ending; the length includes itself."""
    rest = len(key) + len(value) + 3
    length = rest + len(str(rest))
    length = rest + len(str(length))
    return str(length).encode() + b" " + key + b"=" + value + b"\n"


def _build_header_block(name: bytes, size: int, mode: int, mtime: int, kind: bytes) -> bytes:
    fields = (
        name.ljust(_MAX_NAME_BYTES, b"\0"),
        b"%07o\0" % mode,
        b"%07o\0" % 0,
        b"%07o\0" % 0,
        b"%011o\0" % size,
        b"%011o\0" % mtime,
        b" " * 8,
        kind,
        bytes(100),
        b"ustar\x0000",
    )
    block = b"".join(fields).ljust(TAR_BLOCK_BYTES, b"\0")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]
