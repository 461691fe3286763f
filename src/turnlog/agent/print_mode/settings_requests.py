"""Settings that a program changes while the session runs.

`apply_flag_settings` sets values for this session: above all settings files, below those of the administrator. What a
file or an option forbids stays forbidden, whatever a program clears. `update_settings` writes a value to a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnlog.agent.events import WarningIssued
from turnlog.agent.loop import AgentLoop
from turnlog.agent.model_names import choose_model
from turnlog.agent.settings import PROGRAM_LAYER, Settings, SettingsLayer, rewrite_settings
from turnlog.agent.setup_builder import SetupBuilder
from turnlog.agent.started_session import StartedSession
from turnlog.agent.thinking_choice import EFFORT_LEVELS
from turnlog.agent.tools.call_result import to_object
from turnlog.agent.unsupported_features import describe_guards, find_unsupported
from turnlog.errors import TurnlogError

Object = Mapping[str, Any]
_KINDS: Mapping[str, tuple[type, ...]] = {
    "permissions": (Mapping,),
    "hooks": (Mapping,),
    "env": (Mapping,),
    **dict.fromkeys(("model", "outputStyle", "agent"), (str,)),
    **dict.fromkeys(("alwaysThinkingEnabled", "showThinkingSummaries", "disableAllHooks", "ultracode"), (bool,)),
}
"""The types of the settings that have an effect at once."""
_THINKING_KEYS = ("alwaysThinkingEnabled", "showThinkingSummaries")
_WRITABLE_KEYS = {"localSettings": "outputStyle", "userSettings": "effortLevel"}


class SessionSettings:
    """Changes the settings of one session."""

    def __init__(self, session: StartedSession) -> None:
        self._loop: AgentLoop = session.loop
        self._builder: SetupBuilder = session.builder
        self._values: dict[str, Any] = {}
        """What the program has set."""
        self._environ = dict(session.builder.environ)

    def apply_flag_settings(self, request: Object) -> None:
        """Set some values, or clear them (`null`); if one of them is malformed, nothing changes."""
        given = _read_object(request, "apply_flag_settings")
        values = {name: value for name, value in {**self._values, **given}.items() if value is not None}
        if invalid := [name for name, value in given.items() if value is not None and _is_invalid(name, value)]:
            raise TurnlogError(
                "apply_flag_settings: nothing in this request was applied and earlier settings stay in force. Fix or"
                f" remove these invalid settings and send it again: {', '.join(invalid)}"
            )
        guard, place = self._builder.guard, self._loop.setup.place
        if "hooks" in given or "disableAllHooks" in given:
            self._replace_hooks(guard.settings.with_program_values(values, place.root))
        self._values = values
        guard.replace_program_settings(values, place)
        self._apply_values(given)
        self._warn_of_unsupported(given)

    def update_settings(self, request: Object) -> None:
        """Write one of the few settings that a program may write to a file."""
        source = str(request.get("source"))
        if source not in _WRITABLE_KEYS:
            raise TurnlogError(f"update_settings: unsupported source {source}")
        values = _read_object(request, "update_settings")
        if not values:
            raise TurnlogError("update_settings requires at least one key")
        if unknown := [name for name in values if name != _WRITABLE_KEYS[source]]:
            raise TurnlogError(f"update_settings keys not allowed: {', '.join(unknown)}")
        if source.removesuffix("Settings") not in self._builder.options.setting_sources:
            raise TurnlogError(f"update_settings: the {source} source is disabled for this session (--setting-sources)")
        ((name, value),) = values.items()
        if not isinstance(value, str):
            raise TurnlogError(f"update_settings values must be strings (deletion is not supported): {name}")
        if source == "localSettings":
            self._write_style(value)
        else:
            self._write_effort(value)

    # -- what a setting changes at once

    def _apply_values(self, given: Object) -> None:
        setup, builder = self._loop.setup, self._builder
        if "env" in given:
            setup.environ = builder.environ = {**self._environ, **builder.guard.settings.collect_variables()}
        if "model" in given:
            setup.name = choose_model((given["model"],), setup.aliases)
        if "effortLevel" in given and (given["effortLevel"] is None or given["effortLevel"] in EFFORT_LEVELS):
            setup.thinking = setup.thinking._replace(effort=given["effortLevel"])
        if any(name in given for name in _THINKING_KEYS):
            chosen = builder.choose_thinking(setup.name)
            setup.thinking = setup.thinking._replace(budget=chosen.budget, is_shown=chosen.is_shown)
        if "outputStyle" in given:
            self._apply_style()

    def _apply_style(self) -> None:
        """Put the output style that the settings choose into the system prompt."""
        setup = self._loop.setup
        style = self._builder.find_style()
        setup.system, setup.style = self._builder.build_system(style), style.name if style else "default"

    def _replace_hooks(self, settings: Settings) -> None:
        """Run the hooks of these settings; raise TurnlogError if one of the program's own can't run."""
        from turnlog.agent.hooks.hook_runner import HookRunner
        from turnlog.agent.hooks.hook_scope import HookScope
        from turnlog.agent.hooks.hook_settings import load_hooks

        hooks = load_hooks(settings, self._builder.plugins)
        guards = [one for one in hooks.problems if one.is_guard and one.where == PROGRAM_LAYER]
        if guards and not self._builder.options.ignores_hooks:
            raise TurnlogError(describe_guards(guards))
        if self._loop.hooks is not None:
            self._loop.hooks.runner.replace_configured_hooks(hooks.definitions)
        elif hooks.definitions:
            runner = HookRunner(hooks.definitions, self._builder.cwd)
            self._loop.attach_hooks(HookScope(runner, self._loop.setup, self._loop.record, self._loop.tell))

    def _warn_of_unsupported(self, given: Object) -> None:
        layer = SettingsLayer("flags", PROGRAM_LAYER, given, self._builder.cwd)
        for one in find_unsupported(Settings((layer,)), self._builder.config_dir):
            self._loop.tell(WarningIssued(str(one)))

    # -- files

    def _write_style(self, name: str) -> None:
        root = self._builder.cwd
        path = root / ".claude" / "settings.local.json"
        _write_value(path, root, lambda values: {**values, "outputStyle": name})
        guard = self._builder.guard
        guard.replace_local_value("outputStyle", name, path, root)
        self._apply_style()

    def _write_effort(self, level: str) -> None:
        if level not in EFFORT_LEVELS:
            raise TurnlogError(f"update_settings: effortLevel must be one of {', '.join(EFFORT_LEVELS)}")
        if level == "max":  # applies to a session only
            return
        model, folder = self._loop.setup.name, self._builder.config_dir

        def set_level(values: Mapping[str, Any]) -> Object | None:
            models: Any = values.get("modelSettings", {})
            own: Any = models.get(model, {}) if isinstance(models, Mapping) else None
            if not isinstance(own, Mapping):
                return None
            return {**values, "modelSettings": {**models, model: {**own, "effortLevel": level}}}

        _write_value(folder / "settings.json", folder, set_level)


def _read_object(request: Object, name: str) -> Object:
    values = request.get("settings")
    if isinstance(values, Mapping):
        return values
    kind = "undefined" if "settings" not in request else "an array" if isinstance(values, list) else "another value"
    raise TurnlogError(f"{name} requires `settings` to be an object, got {kind}")


def _is_invalid(name: str, value: Any) -> bool:
    """Return whether a value is so malformed that it can't be applied."""
    if not isinstance(value, _KINDS.get(name, object)):
        return True
    if name == "permissions":
        lists = (to_object(value).get(kind) or [] for kind in ("allow", "ask", "deny", "additionalDirectories"))
        return not all(isinstance(one, list) for one in lists)
    if name == "hooks":
        return not all(isinstance(groups, list) for groups in to_object(value).values())
    return False


def _write_value(path: Path, root: Path, change: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rewrite_settings(path, change, "its content is malformed", root=root)
