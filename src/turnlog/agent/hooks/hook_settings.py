"""Finds the hooks of a session in all layers of the settings and in enabled plugins.

Administrators can limit hooks to their own (`allowManagedHooksOnly`) or turn all of them off (`disableAllHooks`). The
project's files come with a checkout: until the person trusts the folder, their hooks don't run and can't turn others
off. A guard among them then stops the start, since the session would run without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from turnlog.agent.hooks.hook_definitions import GUARD_EVENTS, HookDefinition, parse_hooks
from turnlog.agent.plugins import EnabledPlugin, read_config_object
from turnlog.agent.settings import Settings, SettingsLayer
from turnlog.agent.unsupported_feature import UnsupportedFeature


class ConfiguredHooks(NamedTuple):
    definitions: tuple[HookDefinition, ...] = ()
    problems: tuple[UnsupportedFeature, ...] = ()
    """Hooks that can't run."""


def load_hooks(settings: Settings, plugins: Sequence[EnabledPlugin] = ()) -> ConfiguredHooks:
    """Return the hooks that run in a session, and everything that is configured but can't run."""
    found = [*_find_hooks(settings, plugins)]
    return ConfiguredHooks(
        tuple(one for one in found if isinstance(one, HookDefinition)),
        tuple(one for one in found if isinstance(one, UnsupportedFeature)),
    )


def _find_hooks(settings: Settings, plugins: Sequence[EnabledPlugin]) -> Iterator[HookDefinition | UnsupportedFeature]:
    layers = [layer for layer in settings.layers if layer.values.get("hooks")]
    managed = [layer for layer in settings.layers if layer.name == "managed"]
    if any(layer.values.get("disableAllHooks") is True for layer in managed):
        return
    is_managed_only = (
        any(layer.values.get("allowManagedHooksOnly") is True for layer in managed)
        or settings.get_value("disableAllHooks", bool) is True
    )
    if is_managed_only:
        layers = [layer for layer in layers if layer.name == "managed"]
    trusted = settings.list_trusted_layers()
    for layer in layers:
        if layer in trusted:
            yield from parse_hooks(layer.where, layer.values["hooks"])
        else:
            yield from _describe_untrusted(layer)
    for plugin in () if is_managed_only else plugins:
        path = plugin.folder / "hooks" / "hooks.json"
        yield from parse_hooks(str(path), read_config_object(path).get("hooks") or {}, str(plugin.folder))


def _describe_untrusted(layer: SettingsLayer) -> Iterator[UnsupportedFeature]:
    """Describe the hooks of a folder that the person does not trust: first the guards, then the others."""
    found = [*parse_hooks(layer.where, layer.values["hooks"])]
    yield from (one for one in found if isinstance(one, UnsupportedFeature))
    events = dict.fromkeys(one.event for one in found if isinstance(one, HookDefinition))
    for is_guard in (True, False):
        some = [event for event in events if (event in GUARD_EVENTS) is is_guard]
        if some:
            remedy = "to trust it, start `turnlog chat` in it"
            what = f"the folder is not trusted, so its hooks for {', '.join(some)} do not run; {remedy}"
            yield UnsupportedFeature(layer.where, what, is_guard)
