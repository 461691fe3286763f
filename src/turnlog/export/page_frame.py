"""The page around exported content: self-contained, with a policy that blocks all external content.

The policy allows the style and the script by their hashes; the page never contacts any address, regardless of what a
transcript contains.
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
    """Load the page's templates; their output is escaped like all content."""
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
    """Build the Content Security Policy of the page."""
    script = _hash_source(_load_script()) if scripted else "'none'"
    return (
        f"default-src 'none'; style-src {_hash_source(_load_style())}; script-src {script}; img-src data:; "
        f"base-uri 'none';"
        " form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def render_page_template(template: str, *, scripted: bool = True, **values: Any) -> str:
    """Render a template of the page; `scripted` must be the same for all templates of one page."""
    common = {
        "version": __version__,
        "policy": build_content_policy(scripted=scripted),
        "style": Markup(_load_style()),
        "script": Markup(_load_script()) if scripted else None,
    }
    return _load_templates().get_template(template).render(common | values)
