"""The frame of the pages: the place behind them, what they load, what they answer with."""

from __future__ import annotations

import json
import math
import re
import shutil
import threading
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.web.conftest import Folders
from turnlog.errors import Busy, NotFound, TurnlogError, UsageError
from turnlog.web.answers import build_html_response, build_json_response
from turnlog.web.app import StaticFiles
from turnlog.web.machine import Machine

ROOT = Path(__file__).parents[2]
WEB = ROOT / "src" / "turnlog" / "web"


class TestPlace:
    """What the pages know of the machine."""

    def test_a_session_is_found_by_its_uuid(self, place: Machine, folders: Folders) -> None:
        for uuid in folders.sessions:
            known = place.find_session(uuid)
            assert (known.uuid, known.ref, known.path.stem) == (uuid, uuid, uuid)
            assert known.path.is_file()

    def test_the_same_uuid_in_two_projects_is_told_apart_by_its_number(self, place: Machine, folders: Folders) -> None:
        uuid = folders.sessions[0]
        first = place.find_session(uuid)
        shutil.copy(first.path, folders.add(uuid, b"", slug="-home-dana-copy"))
        place.store.refresh(place.config_dirs)
        found = {place.find_session(place.load_refs().format_ref(number, uuid)).path for number in numbers(place, uuid)}
        assert found == {first.path, folders.projects / "-home-dana-copy" / f"{uuid}.jsonl"}
        assert place.find_session(uuid).path in found
        assert place.find_session(uuid).ref == place.find_ref(str(place.find_session(uuid).path)) != uuid

    def test_a_number_of_another_session_leads_nowhere(self, place: Machine, folders: Folders) -> None:
        one, other, *_ = folders.sessions
        (number,) = numbers(place, other)
        with pytest.raises(NotFound):
            place.find_session(f"{one}.{number}")

    def test_a_path_that_is_not_in_the_index_has_no_reference(self, place: Machine) -> None:
        assert place.find_ref("/etc/passwd") is None

    def test_every_thread_has_a_connection_of_its_own(self, place: Machine) -> None:
        found = []
        thread = threading.Thread(target=lambda: found.append(place.store))
        thread.start()
        thread.join()
        assert found[0].db is not place.store.db
        assert place.store is place.store

    def test_an_index_that_was_put_in_the_place_of_another_is_opened_again(self, place: Machine) -> None:
        before = place.store
        fresh = place.index.with_name("fresh.db")
        shutil.copy(place.index, fresh)
        fresh.replace(place.index)
        assert place.store is not before

    def test_a_folder_that_can_not_be_written_to_gets_an_index_for_this_one_time(
        self, folders: Folders, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_text("")
        told: list[str] = []
        place = Machine([folders.config], tmp_path / "file", tell=told.append)
        place.store.refresh(place.config_dirs)
        assert place.find_session(folders.sessions[0])
        place.close()
        assert not place.index.exists()
        assert "temporary folder" in told[0]

    def test_it_is_empty_where_there_is_no_session(self, place: Machine, tmp_path: Path) -> None:
        assert not place.is_empty()
        empty = Machine([tmp_path / "nothing"], tmp_path / "data")
        assert empty.is_empty()
        empty.close()


def numbers(place: Machine, uuid: str) -> list[int]:
    return [int(number) for (number,) in place.store.db.execute("SELECT id FROM session WHERE uuid = ?", (uuid,))]


class TestAnswers:
    """What the server answers with."""

    def test_half_a_surrogate_pair_does_not_break_a_page_or_a_document(self) -> None:
        assert build_html_response("a\ud800b").body == "a\ufffdb".encode()
        assert json.loads(bytes(build_json_response({"a": "\ud800", "b": 2**70, "c": math.inf, "d": (1,)}).body)) == {
            "a": "\ud800",
            "b": 2**70,
            "c": None,
            "d": [1],
        }

    @pytest.mark.parametrize(
        ("error", "status"), [(NotFound("x"), 404), (UsageError("x"), 400), (Busy("x"), 409), (TurnlogError("x"), 500)]
    )
    def test_a_failure_is_json_for_the_api_and_a_page_otherwise(
        self, client: TestClient, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
    ) -> None:
        from turnlog.web.answers import build_failure_response

        class Asked:
            def __init__(self, path: str) -> None:
                self.app = client.app.app  # type: ignore[attr-defined]
                self.url = type("Url", (), {"path": path})

        answer = build_failure_response(Asked("/api/x"), error)  # type: ignore[arg-type]
        assert (answer.status_code, json.loads(bytes(answer.body))) == (status, {"error": "x"})
        page = build_failure_response(Asked("/x"), error)  # type: ignore[arg-type]
        assert (page.status_code, page.media_type) == (status, "text/html")


class TestStatic:
    """Styles and scripts."""

    def test_every_file_is_sent_with_its_type_and_kept_by_its_version(self, client: TestClient) -> None:
        found = StaticFiles.from_folders()
        assert {"app.css", "content.css", "fragment.js"} <= found.files.keys()
        for name, path in found.files.items():
            answer = client.get(found.address(name))
            assert answer.content == path.read_bytes()
            assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
            assert answer.headers["content-type"].startswith(("text/", "image/"))

    @pytest.mark.parametrize("address", ["/static/app.css", "/static/v-old/app.css"])
    def test_another_version_is_asked_for_again(self, client: TestClient, address: str) -> None:
        answer = client.get(address)
        assert answer.headers["cache-control"] == "private, no-cache"
        again = client.get(address, headers={"if-none-match": answer.headers["etag"]})
        assert again.status_code in (200, 304)

    def test_a_file_that_nobody_has_is_a_mistake_of_ours(self) -> None:
        with pytest.raises(LookupError):
            StaticFiles.from_folders().address("nothing.css")

    def test_the_current_version_is_compressed_for_whoever_accepts_it(self, client: TestClient) -> None:
        address = re.findall(r"/static/v-[^\"]+/app\.css", client.get("/").text)[0]
        packed, plain = (client.get(address, headers={"accept-encoding": name}) for name in ("gzip", "identity"))
        assert packed.headers["content-encoding"] == "gzip"
        assert "content-encoding" not in plain.headers
        assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 2
        assert packed.content == plain.content

    def test_markup_is_made_from_a_string_in_one_place(self) -> None:
        sinks = re.compile(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|srcdoc|setHTML|DOMParser"
            r"|\beval\(|new Function"
        )
        users = {path.name for path in (WEB / "static").rglob("*.js") if sinks.search(path.read_text("utf-8"))}
        assert users == {"fragment.js"}

    def test_no_template_has_a_style_or_a_script_in_it(self) -> None:
        for path in (WEB / "templates").glob("*.html"):
            text = path.read_text("utf-8")
            assert not re.search(r"\sstyle=|\son\w+=|<style|<script(?![^>]*\ssrc=)|javascript:", text), path
            assert not re.search(r"[^'\"\s]\s*\|\s*safe\b", text), f"{path}: only words of the template itself are safe"
