# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus of the tests' own, and its promtool."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

import httpx2

from headrace.api.errors import ConfigError
from headrace.broker.free_port import free_port
from tests.support.debian import can_install, or_skip, unpack
from tests.support.polling import wait_for

_UNPACKED = Path(tempfile.gettempdir()) / "headrace-prometheus"


def prometheus_programs() -> Path:
    """The directory of `prometheus` and `promtool`, of Debian's package; skips the test where there is none."""
    on_path = shutil.which("promtool")
    if on_path is not None:
        return Path(on_path).parent
    return or_skip(_unpacked)


def _unpacked() -> Path:
    if not can_install():
        raise ConfigError("Prometheus is not installed, and only root can fetch Debian's package")
    _UNPACKED.mkdir(exist_ok=True)
    unpack("prometheus", _UNPACKED)
    return _UNPACKED / "usr" / "bin"


def promtool(*arguments: str, directory: Path) -> str:
    """What it prints; AssertionError if it finds something wrong."""
    done = subprocess.run(
        [str(prometheus_programs() / "promtool"), *arguments], cwd=directory, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


class Prometheus:
    """Scrapes one worker once a second while it runs."""

    def __init__(self, directory: Path, target: str, labels: dict[str, str]) -> None:
        self._directory = directory
        port = free_port()
        (directory / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
            "scrape_configs:\n"
            "  - job_name: headrace\n"
            f"    static_configs: [{{targets: ['{target}'], labels: {labels}}}]\n"
        )
        self._command = [
            str(prometheus_programs() / "prometheus"),
            f"--config.file={directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        self._http = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=10)

    def __enter__(self) -> Self:
        with (self._directory / "prometheus.log").open("wb") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        wait_for(lambda: self._is_ready(), 30, lambda: (self._directory / "prometheus.log").read_text()[-2000:])
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.close()
        self._process.terminate()
        self._process.wait(20)

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of an instant query, each with its labels and its newest value. AssertionError if it is wrong."""
        answer = self._http.get("/api/v1/query", params={"query": expression}).json()
        assert answer["status"] == "success", f"{expression}: {answer}"
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def names(self) -> set[str]:
        """The names of all metrics that there are."""
        return set(self._http.get("/api/v1/label/__name__/values").json()["data"])

    def scrape_error(self) -> str:
        """Why the last scrape failed, empty if it did not."""
        [target] = self._http.get("/api/v1/targets").json()["data"]["activeTargets"]
        return str(target["lastError"])

    def _is_ready(self) -> bool:
        try:
            return self._http.get("/-/ready").status_code == 200
        except httpx2.TransportError:
            return False
