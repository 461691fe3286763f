"""Packages as a stranger could make them: any manifest, any headers, any bytes, with checksums that fit."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import zstandard

from turnlog.edit.package.package import MANIFEST_NAME, PackageTrailer, encode_trailer
from turnlog.edit.package.tar_format import TAR_END, build_tar_header, build_tar_padding

ID = "11111111-2222-4333-8444-555555555555"
FOLDER = "-home-dana-webshop"
MAIN = f"config/projects/{FOLDER}/{ID}.jsonl"
LINE = b'{"type":"user","uuid":"u","sessionId":"%s","cwd":"/home/dana/webshop"}\n' % ID.encode()


def session(**fields: Any) -> dict[str, Any]:
    """A session as a manifest tells of it."""
    usual = {"title": "t", "project": "/home/dana/webshop", "config_dir": "/home/dana/.claude", "folder": FOLDER}
    return {"session_id": ID, **usual, "history_lines": 0, **fields}


def file(name: str = MAIN, data: bytes = LINE, **fields: Any) -> dict[str, Any]:
    """A file as a manifest tells of it."""
    digest = hashlib.sha256(data).hexdigest()
    return {"name": name, "session": ID, "size": len(data), "sha256": digest, "mtime_ns": 0, "mode": 0o600, **fields}


def manifest(*files: dict[str, Any], sessions: Any = None, **fields: Any) -> dict[str, Any]:
    """A manifest of the usual session with its transcript, and further files."""
    usual = {"format": "turnlog-pack", "version": 1, "redacted": False}
    listed = sorted([file(), *files], key=lambda item: str(item["name"]))
    return {**usual, "sessions": sessions or [session()], "files": listed, **fields}


def member(name: str = MAIN, data: bytes = LINE, mode: int = 0o600) -> bytes:
    """A file as it stands in the archive."""
    return build_tar_header(name, len(data), mode, 0) + data + build_tar_padding(len(data))


def forge_package(
    path: Path, told: Any, body: bytes | None = None, *, first: bytes | None = None, level: int = 3
) -> Path:
    """Write a package; without a body it holds the usual transcript alone."""
    data = told if isinstance(told, bytes) else json.dumps(told).encode()
    packer = zstandard.ZstdCompressor(level=level)
    one = packer.compress(first if first is not None else member(MANIFEST_NAME, data, 0o644))
    two = packer.compress((member() if body is None else body) + TAR_END)
    digest = hashlib.sha256(one + two).digest()
    path.write_bytes(one + two + encode_trailer(PackageTrailer(len(one), len(two), digest)))
    return path
