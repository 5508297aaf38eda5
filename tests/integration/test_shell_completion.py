# SPDX-License-Identifier: Apache-2.0
"""Completion in real shells on terminals, installed as the guide says, with the connectors of a real worker."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.debian import install, or_skip
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

_START, _END = "\x01", "\x05"
"""Keys to the start and the end of the line, in all shells."""


class Terminal:
    """An interactive shell."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines = 0

    def parsed(self, typed: str, seconds: float = 60) -> list[str]:
        """Return the words that the shell makes of a line which ends with TAB; the shell prints them itself."""
        self._lines += 1
        end = f"end{self._lines}"
        os.write(self._descriptor, f"{typed}\t{_START}printf '<%s>\\n' {_END} {end}\r".encode())
        shown = self.read_until(rf"\n<{end}>", seconds)
        *words, _ = re.findall(r"^<(.*)>\r*$", shown, re.MULTILINE)
        return words

    def read_until(self, pattern: str, seconds: float = 60) -> str:
        deadline, shown = time.monotonic() + seconds, b""
        while re.search(pattern, shown.decode(errors="replace")) is None:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self._descriptor], [], [], left)[0], shown
            shown += os.read(self._descriptor, 65536)
        return shown.decode(errors="replace")


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if shutil.which(name) is None:
        or_skip(lambda: install(name))
    return name


@contextmanager
def terminal(shell: str, home: Path, worker: WorkerProcess) -> Iterator[Terminal]:
    """Install completion, and start the shell afterwards."""
    environment = {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "TERM": "xterm" if shell == "fish" else "dumb",
        "LANG": "C.UTF-8",
        "HEADRACE_URL": str(worker.rest.base_url),
        "PS1": "ready> ",
    }
    if shell == "zsh":  # without the file, a new user is asked for settings
        (home / ".zshrc").write_text("PS1='ready> '\n")
    install_it = [shell, "-c", "headrace --install-completion; true"]
    subprocess.run(install_it, env=environment, cwd=home, check=True, timeout=60)
    pid, descriptor = pty.fork()
    if pid == 0:  # pragma: no cover
        os.chdir(home)
        os.execvpe(shell, [shell, "-i"], environment)
    try:
        opened = Terminal(descriptor)
        opened.read_until(r"[>#$] *")
        yield opened
    finally:
        os.close(descriptor)  # SIGHUP
        os.waitpid(pid, 0)


def test_commands_and_connectors_are_completed(shell: str, worker: WorkerProcess, unique: str, tmp_path: Path) -> None:
    """The first TAB of a session completes, and a name is completed to that name after the shell's quoting."""
    config = {"connector.class": "VerifiableSource", "topic": unique}
    names = [f"{unique}-a it's", f"{unique}-b:$x`"]
    for name in names:
        created = worker.rest.post("/connectors", json={"name": name, "initial_state": "STOPPED", "config": config})
        assert created.status_code == 201, created.text
    with terminal(shell, tmp_path, worker) as opened:
        assert opened.parsed("headrace connectors descr")[-2:] == ["connectors", "describe"]
        for name in names:
            typed = name[: len(unique) + 2]
            seen: list[list[str]] = []
            # Completion gives a worker two seconds, which may be too few on a busy machine.
            wait_for(
                lambda typed=typed, name=name, seen=seen: (  # type: ignore[misc]
                    seen.append(opened.parsed(f"headrace connectors get {typed}")[-2:]) or seen[-1] == ["get", name]
                ),
                60,
                lambda name=name, seen=seen: f"{name}: {seen}",  # type: ignore[misc]
            )
    for name in names:
        worker.delete(quote(name))
