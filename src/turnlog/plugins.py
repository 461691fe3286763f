"""The types that a package needs to extend turnlog with tool cards, exporters and redaction rules.

    from turnlog.plugins import CardContents, FieldsSection, ToolCall

docs/extending.md has an example of each, and `turnlog.conformance` checks plugins. These names are stable; nothing else
in turnlog is intended for plugins. Modules are imported on first use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing, whose import takes as long as all of this
if TYPE_CHECKING:
    from turnlog.export.plugin_exporters import ExportDocument, Exporter
    from turnlog.redact.plugin_rules import RedactionRule
    from turnlog.render.card import (
        ChecklistSection,
        ChecklistTask,
        CodeSection,
        FieldsSection,
        HitsSection,
        LinkSection,
        PlainSection,
        TerminalSection,
        TextSection,
        TreeSection,
    )
    from turnlog.render.tools.plugin_cards import CardContents, CardSection, ToolCall, ToolCard

_MODULES = {
    "turnlog.export.plugin_exporters": "ExportDocument Exporter",
    "turnlog.redact.plugin_rules": "RedactionRule",
    "turnlog.render.card": (
        "ChecklistSection ChecklistTask CodeSection FieldsSection HitsSection LinkSection PlainSection TerminalSection"
        " TextSection TreeSection"
    ),
    "turnlog.render.tools.plugin_cards": "CardContents CardSection ToolCall ToolCard",
}

__all__ = [
    "CardContents",
    "CardSection",
    "ChecklistSection",
    "ChecklistTask",
    "CodeSection",
    "ExportDocument",
    "Exporter",
    "FieldsSection",
    "HitsSection",
    "LinkSection",
    "PlainSection",
    "RedactionRule",
    "TerminalSection",
    "TextSection",
    "ToolCall",
    "ToolCard",
    "TreeSection",
]


if not TYPE_CHECKING:  # a type checker knows these names, and should report any other

    def __getattr__(name: str) -> object:
        from importlib import import_module

        for module, names in _MODULES.items():
            if name in names.split():
                return getattr(import_module(module), name)
        raise AttributeError(f"module 'turnlog.plugins' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
