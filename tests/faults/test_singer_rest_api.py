# SPDX-License-Identifier: Apache-2.0
"""Pages of a REST API by a tap of PyPI, which is killed, as is its task."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.plugins.singer_environments import install
from scripts.connectors_table import pinned_package
from tests.faults.tap_runs import RESTARTS, kill
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.topics import values
from tests.support.worker_process import WorkerProcess

PAGE: Final = 50
ORDERS: Final = 1_000
JSON: Final = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}


@dataclass
class Orders:
    """Orders behind an API that returns those since a time in pages, slowly."""

    count: int = ORDERS
    pages: Counter[int] = field(default_factory=Counter)

    def page(self, since: str, number: int) -> dict[str, Any]:
        self.pages[number] += 1
        found = [order for order in map(self._order, range(self.count)) if order["changed_at"] >= since]
        page = found[(number - 1) * PAGE : number * PAGE]
        return {"orders": page, "next_page": number + 1 if number * PAGE < len(found) else None}

    def await_requests(self, count: int, worker: WorkerProcess) -> None:
        wait_for(lambda: self.pages.total() >= count, 120, lambda: f"{self.pages} {worker.log[-3000:]}")

    def _order(self, number: int) -> dict[str, Any]:
        minutes, seconds = divmod(number, 60)
        changed_at = f"2024-01-01T{minutes // 60:02}:{minutes % 60:02}:{seconds:02}+00:00"
        return {"id": number, "note": f"order {number} 'ü'", "changed_at": changed_at}


@contextmanager
def served(orders: Orders) -> Iterator[str]:
    """The address at which the orders are served."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            query = {name: given[0] for name, given in parse_qs(urlsplit(self.path).query).items()}
            time.sleep(0.02)
            body = json.dumps(orders.page(query.get("since", ""), int(query.get("page", 1)))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            with suppress(OSError):  # its client was killed
                self.wfile.write(body)

        def log_message(self, format: str, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def tap(api: str) -> dict[str, str]:
    stream = {
        "name": "orders",
        "path": "/orders",
        "records_path": "$.orders[*]",
        "primary_keys": ["id"],
        "replication_key": "changed_at",
        "start_date": "2024-01-01T00:00:00+00:00",
        "source_search_field": "since",
        "source_search_query": "$last_run_date",
    }
    config = {"api_url": api, "pagination_response_style": "page", "pagination_page_size": PAGE, "streams": [stream]}
    return {
        "connector.class": "SingerSource",
        "tap": "tap-rest-api-msdk",
        "singer.config": json.dumps(config),
        "singer.interval.ms": "500",
        "singer.retries": "20",
        **JSON,
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The data directory with the tap; skips where PyPI cannot be reached."""
    or_skip(lambda: install(pinned_package("tap-rest-api-msdk"), None, tmp_path / "data" / "singer"))
    return tmp_path / "data"


def test_pages_of_a_rest_api(own_worker: WorkerProcess, broker: EmbeddedBroker, home: Path, unique: str) -> None:
    own_worker.properties.update(RESTARTS)
    own_worker.environment["HEADRACE_DATA_DIR"] = str(home)
    own_worker.start()
    orders, chance = Orders(), random.Random(unique)

    def ids() -> list[int]:
        return [json.loads(each or b"")["payload"]["id"] for each in values(broker.bootstrap_servers, unique)]

    with served(orders) as api:
        own_worker.create(unique, **tap(api), **{"stream.topics": f"orders:{unique}"})
        for number, what in enumerate(("tap", "task", "tap", "task"), 1):
            orders.await_requests(5 * number, own_worker)
            time.sleep(chance.random() / 4)
            kill(own_worker, what, home)
        wait_for(lambda: set(ids()) == set(range(ORDERS)), 120, lambda: own_worker.log[-3000:])
        orders.count += PAGE
        wait_for(lambda: set(ids()) == set(range(ORDERS + PAGE)), 60, lambda: own_worker.log[-3000:])
        own_worker.delete(unique)
    # Each run begins with the rows whose time equals the bookmark: no others are repeated.
    assert {order for order, count in Counter(ids()).items() if count > 1} <= {ORDERS - 1, ORDERS + PAGE - 1}
    assert max(orders.pages) == ORDERS // PAGE
