"""The page around what is exported: everything it needs stands in it, and its policy lets nothing else in.

The style and the script are allowed by their hashes; no address is ever asked for anything, whatever a transcript says.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from turnlog._version import __version__
from turnlog.render.templating import environment


@lru_cache(maxsize=1)
def _templates() -> Environment:
    """Those of the page; what they print is escaped as in all content."""
    return environment().overlay(loader=FileSystemLoader(Path(__file__).with_name("templates")))


@lru_cache(maxsize=1)
def _style() -> str:
    content = files("turnlog.render").joinpath("static", "content.css").read_text(encoding="utf-8")
    return f"\n{content}\n{_own('export.css')}"


@lru_cache(maxsize=1)
def _script() -> str:
    return f"\n{_own('export.js')}"


def _own(name: str) -> str:
    return Path(__file__).with_name("static").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(*, scripted: bool = True) -> str:
    """What a browser may do on the page."""
    script = _hash(_script()) if scripted else "'none'"
    return (
        f"default-src 'none'; style-src {_hash(_style())}; script-src {script}; img-src data:; base-uri 'none';"
        " form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def rendered(template: str, *, scripted: bool = True, **values: Any) -> str:
    """A template of the page; the same for all templates of one page: whether it has a script."""
    usual = {
        "version": __version__,
        "policy": policy(scripted=scripted),
        "style": Markup(_style()),
        "script": Markup(_script()) if scripted else None,
    }
    return _templates().get_template(template).render(usual | values)
