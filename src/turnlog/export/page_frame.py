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
from turnlog.render.jinja_templates import load_template_environment


@lru_cache(maxsize=1)
def _load_templates() -> Environment:
    """Those of the page; what they print is escaped as in all content."""
    return load_template_environment().overlay(loader=FileSystemLoader(Path(__file__).with_name("templates")))


@lru_cache(maxsize=1)
def _load_style() -> str:
    content = files("turnlog.render").joinpath("static", "content.css").read_text(encoding="utf-8")
    return f"\n{content}\n{_read_static_file('export.css')}"


@lru_cache(maxsize=1)
def _load_script() -> str:
    return f"\n{_read_static_file('export.js')}"


def _read_static_file(name: str) -> str:
    return Path(__file__).with_name("static").joinpath(name).read_text(encoding="utf-8")


def _hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def build_content_policy(*, scripted: bool = True) -> str:
    """What a browser may do on the page."""
    script = _hash_source(_load_script()) if scripted else "'none'"
    return (
        f"default-src 'none'; style-src {_hash_source(_load_style())}; script-src {script}; img-src data:; "
        f"base-uri 'none';"
        " form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def render_page_template(template: str, *, scripted: bool = True, **values: Any) -> str:
    """A template of the page; the same for all templates of one page: whether it has a script."""
    usual = {
        "version": __version__,
        "policy": build_content_policy(scripted=scripted),
        "style": Markup(_load_style()),
        "script": Markup(_load_script()) if scripted else None,
    }
    return _load_templates().get_template(template).render(usual | values)
