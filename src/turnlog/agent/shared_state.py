"""What all actors of a session share: the files they have seen, the background, and the list of things to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.agent.conversation import build_reminder
from turnlog.agent.tools.background_agents import BackgroundAgents
from turnlog.agent.tools.call_result import Object
from turnlog.agent.tools.notices import NoticeQueue
from turnlog.agent.tools.seen_files import SeenFiles
from turnlog.agent.tools.shells import Shells
from turnlog.agent.tools.task_events import TaskEnded, TaskMoved, TaskStarted
from turnlog.agent.tools.task_list import TaskList

if TYPE_CHECKING:
    from turnlog.agent.file_history.history import FileHistory


class SharedState:
    """State shared by all actors in a session."""

    def __init__(self, folder: Path) -> None:
        self.files = SeenFiles()
        self.notices = NoticeQueue()
        """What the model is to hear about the background."""
        self.shells = Shells(folder / "background", self.notices)
        self.agents = BackgroundAgents(self.notices)
        self.tasks = TaskList(self.shells, self.agents)
        self.todos: list[Object] = []
        self.history: FileHistory | None = None
        """The copies of changed files; None if none are made."""

    def announce_tasks(self, tell: Callable[[TaskStarted | TaskMoved | TaskEnded], object]) -> None:
        """Report the starts, moves and ends of background tasks to the session's watcher."""
        self.shells.tell = self.agents.tell = tell

    def collect_news(self) -> Iterator[str]:
        """Yield notices for the model about background commands and changed files, each only once."""
        yield from self.notices.take_all()
        if self.files.list_written():
            from turnlog.agent.tools.file_changes import describe_file_changes

            yield from (str(build_reminder(text)["text"]) for text in describe_file_changes(self.files))
