# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

import httpx2
import pytest

from headrace.cli.ctl.address import Address, Login
from headrace.cli.ctl.command import Session
from headrace.cli.ctl.ctl_error import CtlError, ExitCode, UnavailableError
from headrace.cli.ctl.following import Follower
from headrace.cli.ctl.output import Output
from headrace.cli.ctl.rest_api import RestApi
from headrace.model.deadline import Deadline


class Scene:
    """A worker that fails some requests, and a clock that goes on as long as one sleeps."""

    def __init__(self, *failures: CtlError) -> None:
        self.now = 0.0
        self.left = list(failures)
        self.session = Session(None, None, Output.TABLE)

    def follower(self, timeout: float | None, end: float | None = None) -> Follower:
        deadline = None if end is None else Deadline(end, lambda: self.now)
        return Follower(self.session, timeout, deadline, lambda: self.now, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def request(self) -> str:
        if self.left:
            raise self.left.pop(0)
        return "answer"


AWAY = UnavailableError("No answer from http://h", ExitCode.NO_ANSWER)


def test_a_worker_that_is_away_is_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    scene = Scene(AWAY, UnavailableError("It is starting"), AWAY)
    assert scene.follower(None).ask(scene.request) == "answer"
    said = capsys.readouterr().err.splitlines()
    assert said == ["No answer from http://h; it is asked again until it answers", "The worker answers again"]
    assert scene.follower(None).ask(scene.request) == "answer"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("timeout", "end", "after"), [(5, None, 5), (0, None, 0), (None, 3, 3), (9, 3, 3)])
def test_it_ends_at_a_deadline(timeout: float | None, end: float | None, after: float) -> None:
    scene = Scene(*[AWAY] * 100)
    with pytest.raises(CtlError, match=f"No answer for {after} s: No answer from http://h") as raised:
        scene.follower(timeout, end).ask(scene.request)
    assert (raised.value.code, scene.now) == (ExitCode.NO_ANSWER, after)


@pytest.mark.parametrize("code", [ExitCode.NOT_FOUND, ExitCode.NOT_ALLOWED, ExitCode.ERROR])
def test_what_lasts_ends_it_at_once(code: ExitCode) -> None:
    scene = Scene(AWAY, CtlError("no", code))
    with pytest.raises(CtlError, match="no") as raised:
        scene.follower(None).ask(scene.request)
    assert raised.value.code is code


@pytest.mark.parametrize(
    ("status", "passes"),
    [
        *((status, False) for status in (400, 401, 403, 404, 409, 500)),
        *((status, True) for status in (429, 502, 503, 504)),
    ],
)
def test_answers_that_may_be_others_later(status: int, passes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    api = RestApi(Address("http://h", {}, "test"), Login())
    answers: Callable[[httpx2.Request], httpx2.Response] = lambda request: httpx2.Response(HTTPStatus(status))  # noqa: E731
    monkeypatch.setattr(api, "_http", httpx2.Client(base_url="http://h", transport=httpx2.MockTransport(answers)))
    with pytest.raises(CtlError) as raised:
        api.get("/")
    assert isinstance(raised.value, UnavailableError) is passes
