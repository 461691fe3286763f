"""File history: copies of files before their first edit and at every prompt."""

from __future__ import annotations

from demo.ids import Row, format_time, hash_text
from demo.ledger import Ledger
from demo.project import Call


class Backups(Ledger):
    """A journal that keeps backups of edited files."""

    def _back_up_file(self, name: str, content: str | None, version: int) -> Row:
        path = self.project.resolve_path(name)
        file = None if content is None else f"{hash_text(path, 16)}@v{version}"
        if file and content is not None:
            self.home.put_file(f"file-history/{self.sid}/{file}", content)
        parent = {"realParentDir": path.rsplit("/", 1)[0]} if self.late else {}
        return {"backupFileName": file, "version": version, "backupTime": format_time(self.clock), **parent}

    def _track_edit(self, call: Call, source: str) -> None:
        assert call.before
        name, before = call.before
        for hunk in (call.result or {}).get("structuredPatch") or []:
            self.lines[0] += sum(line.startswith("+") for line in hunk["lines"])
            self.lines[1] += sum(line.startswith("-") for line in hunk["lines"])
        self._touched.add(name)
        if self.entrypoint != "cli" or name in self._tracked or self.version.startswith("1."):
            return
        self._tracked[name] = self._back_up_file(name, before, 1)
        if self.newest:
            self.rows.append(
                {
                    "type": "file-history-delta",
                    "messageId": source,
                    "snapshotMessageId": self.prompt_row,
                    "trackingPath": name,
                    "backup": self._tracked[name],
                    "timestamp": self.next_time(),
                }
            )
        else:
            self._add_snapshot_row(source, self.prompt_row, True)

    def _take_snapshot(self, prompt: str) -> None:
        if self.entrypoint != "cli" or self.agent or self.version.startswith("1."):
            return
        for name in sorted(self._touched):
            if name in self._tracked:
                number = self._tracked[name]["version"] + 1
                self._tracked[name] = self._back_up_file(name, self.project.files[name], number)
        self._touched.clear()
        self._add_snapshot_row(prompt, prompt, False)

    def _add_snapshot_row(self, message: str, prompt: str, update: bool) -> None:
        snapshot = {
            "messageId": prompt,
            "trackedFileBackups": dict(self._tracked),
            "timestamp": self.started or format_time(self.clock),
        }
        self.rows.append(
            {
                "type": "file-history-snapshot",
                "messageId": message,
                "snapshot": snapshot,
                "isSnapshotUpdate": update,
            }
        )
