"""The collections that the benchmarks read; each is generated once and then kept."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from .measure import ROOT, find_bench_folder

_OPTIONS = {
    "many": ["--size", "2GB"],
    "large": ["--session-size", "200MB"],
    "list": ["--sessions", "5000"],
    "tiny": ["--tiny", "50000"],
}


def generate_corpus(name: str, *, scale: float = 1.0) -> Path:
    """Return a collection, generated on first use: many (2 GB), large (one 200 MB session), list (5,000) or tiny
    (50,000 sessions of a few KB)."""
    out = find_bench_folder() / (name if scale == 1 else f"{name}-{scale:g}")
    if not (out / "truth.json").exists():
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        print(f"generating {out} …", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "bench.corpus", "generate", str(out), *_scale_options(_OPTIONS[name], scale)]
        subprocess.run(command, cwd=ROOT, check=True)
    return out


def copy_corpus(name: str, *, scale: float = 1.0) -> Path:
    """Copy a collection so that a benchmark can change it."""
    source = generate_corpus(name, scale=scale)
    out = source.with_name(f"{source.name}.copy")
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(source, out)
    return out


def append_lines(folder: Path, *, files: int, lines: int, seed: int) -> None:
    """Append lines to some sessions of a copy."""
    command = [sys.executable, "-m", "bench.corpus", "append", str(folder)]
    command += ["--files", str(files), "--lines", str(lines), "--seed", str(seed)]
    subprocess.run(command, cwd=ROOT, check=True, stderr=subprocess.DEVNULL)


def _scale_options(options: list[str], scale: float) -> list[str]:
    sizes = {"2GB": str(int(2e9 * scale)), "200MB": str(int(2e8 * scale)), "5000": str(max(1, int(5000 * scale)))}
    sizes["50000"] = str(max(1, int(50_000 * scale)))
    return [sizes.get(option, option) for option in options]
