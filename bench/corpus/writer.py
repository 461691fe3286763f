"""Write the lines of one session file in the key order of their era."""

from __future__ import annotations

import base64
import random
from datetime import datetime, timedelta
from typing import Any

import msgspec

from .eras import Era
from .project import Project
from .text import Bank
from .truth import NEEDLES, Truth

Json = dict[str, Any]

_encode = msgspec.json.Encoder().encode
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_SLUGS = (
    "radiant drifting lexical modular foamy steady silly dazzling delegated virtual quiet brave".split(),
    "painting tumbling plotting stirring wishing imagining marinating puzzling floating petting".split(),
    "whisper zebra dragon narwhal barto toast nygaard music thompson harbor falcon meadow".split(),
)
_CHAIN = "the last line"


class Writer:
    """The file of a session or a sub-agent while it is being written."""

    def __init__(
        self,
        r: random.Random,
        bank: Bank,
        project: Project,
        truth: Truth,
        era: Era,
        start: datetime,
        session_id: str | None = None,
        agent: str | None = None,
        version: str | None = None,
        sink: Writer | None = None,
    ) -> None:
        self.r, self.bank, self.project, self.truth = r, bank, project, truth
        self.era, self.era_name = era, era.name
        self.now, self.version = start, version or r.choice(era.versions)
        self.session_id, self.agent = session_id or self.make_uuid(), agent
        self.parent: str | None = None
        self.branch = r.choice(project.branches)
        self.slug = "-".join(r.choice(words) for words in _SLUGS)
        self.model = r.choices(era.models, weights=[6, 3, 1][: len(era.models)])[0]
        self.lines: list[bytes] = []
        self.size = 0
        self.context = r.randint(12_000, 30_000)
        self.history: list[str] = []
        """The uuids to which the user can rewind."""
        self.extra: dict[str, bytes] = {}
        """Other files: path within the project folder, and content."""
        self.sink = sink
        """The session into which a sub-agent's lines are echoed."""
        self.prompt_id = self.make_uuid()
        self.todos: list[Json] = []

    @property
    def is_new(self) -> bool:
        """Whether the client belongs to the newest era."""
        return self.era_name == "2.1b"

    def make_uuid(self) -> str:
        digits = f"{self.r.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    def draw_base58(self, count: int) -> str:
        """Draw random characters like those in the API's ids."""
        return "".join(self.r.choices(_BASE58, k=count))

    def advance_clock(self, low: float, high: float) -> str:
        """Advance the clock by a random number of seconds and return the new time."""
        self.now += timedelta(seconds=self.r.uniform(low, high))
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.now.microsecond // 1000:03d}Z"

    def plant_needle(self, text: str) -> str:
        """Sometimes append a word that the benchmarks search for."""
        share = self.r.random()
        for word, limit in NEEDLES:
            if share < limit:
                return f"{text} {word}"
        return text

    def make_prose(self, chars: int) -> str:
        """Make English sentences of about `chars` characters in total."""
        return self.bank.make_prose(self.r, chars)

    def make_image_block(self) -> Json:
        """Make an image block that contains noise."""
        self.truth.facts["images"] += 1
        noise = self.r.randbytes(int(min(500_000, self.r.lognormvariate(10.6, 0.9))))
        data = base64.b64encode(noise).decode()
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}

    def write_line(self, line: Json) -> None:
        raw = _encode(line)
        self.lines.append(raw)
        self.size += len(raw) + 1
        self.truth.count_line(line["type"], raw)

    def write_chained_line(
        self, body: Json, tail: Json | None = None, low: float = 0.05, high: float = 2.0, parent: str | None = _CHAIN
    ) -> str:
        """Write a line whose parent is the previous one, and return its uuid."""
        uuid = self.make_uuid()
        end = {"uuid": uuid, "timestamp": self.advance_clock(low, high), **(tail or {})}
        head: Json = {"parentUuid": self.parent if parent is _CHAIN else parent, "isSidechain": self.agent is not None}
        place: Json = {"cwd": self.project.cwd, "sessionId": self.session_id, "version": self.version}
        if self.era_name != "1.0":
            place["gitBranch"] = self.branch
        if self.is_new:
            if self.agent:
                head["agentId"] = self.agent
            self.write_line({**head, **body, **end, "userType": "external", "entrypoint": "cli", **place})
        else:
            if self.agent and self.era_name != "1.0":
                place["agentId"] = self.agent
            if self.era_name == "2.1a":
                place["slug"] = self.slug
            self.write_line({**head, "userType": "external", **place, **body, **end})
        self.parent = uuid
        return uuid
