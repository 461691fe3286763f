"""A typical tracing hook: it loads an SDK, creates a span, and sends the span before it exits.

The published hooks for Langfuse work this way (the official one is a Python script that uses this SDK). They are not in
a registry, so the benchmark measures only the mechanism: one span, without reading a transcript.
"""

from __future__ import annotations

from pathlib import Path

from ..measure import ROOT, Program
from .environment import install_package

VERSION = "5.0.4"
FOLDER = ROOT / ".tools" / "peers" / f"langfuse-{VERSION}"
_HOOK = """
import json, sys
try:
    json.load(sys.stdin)
except ValueError:
    pass
from langfuse import Langfuse
client = Langfuse(public_key="pk-lf-bench", secret_key="sk-lf-bench", base_url=sys.argv[1], timeout=5)
client.start_observation(name="Turn 1", as_type="agent", input="hello", output="hi").end()
client.flush()
"""


def install_sdk() -> Path | str:
    """Return the interpreter of an environment that contains the SDK, or the reason why there is none."""
    return install_package(FOLDER, "python", f"langfuse=={VERSION}", "langfuse")


def build_hook_command(python: Path, url: str) -> Program:
    """Build the command of a hook that sends one span."""
    return Program([str(python), "-I", "-c", _HOOK, url], discards_output=True)
