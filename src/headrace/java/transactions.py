# SPDX-License-Identifier: Apache-2.0
"""The transactions that a Java source task defines: ``transaction.boundary=connector``."""

from __future__ import annotations

from typing import Any, Final

from headrace.api.record import SourceRecord
from headrace.api.source import TransactionContext
from headrace.java.jvm import java_class
from headrace.java.polled_records import PolledRecords
from headrace.java.task_calls import proxy

_CONTEXT: Final = "org.apache.kafka.connect.source.TransactionContext"


class JavaTransactions:
    """Passes on where a Java task wants its transactions to end.

    The task names Java's records before they are the runtime's, or records that are equal to those. So requests are
    kept until their records are polled; one for a record that is never polled has no effect, as in Java. Task's thread
    only, but for the calls from Java.
    """

    def __init__(self, transactions: TransactionContext) -> None:
        self._transactions = transactions
        self._requests: list[tuple[Any, bool]] = []
        """Records, each with True for a commit after it or False for an abort, in the order of requests."""

    def java_context(self) -> Any:
        """Return Java's ``TransactionContext``."""
        return proxy(
            _CONTEXT,
            commitTransaction=lambda *record: self._request(True, *record),
            abortTransaction=lambda *record: self._request(False, *record),
        )

    def pass_on(self, records: PolledRecords) -> None:
        """Pass on the requests for records of a batch: for the same record, or else the first that is equal to it."""
        if not self._requests:
            return
        requests, self._requests = self._requests, []
        places = java_class("java.util.IdentityHashMap")()
        for place, java in enumerate(records.java.toArray()):
            places.put(java, place)
        for java, commits in requests:
            place = places.get(java)
            # Java's runtime compares by equality alone, which takes long for batches of many requests.
            found = records.java.indexOf(java) if place is None else int(place)
            if found < 0:
                self._requests.append((java, commits))
            else:
                self._end_transaction(commits, records[found])

    def _request(self, commits: bool, *record: Any) -> None:
        if not record:
            self._end_transaction(commits)
        elif record[0] is None:
            text = "Source record used to define transaction boundaries may not be null"
            raise java_class("java.lang.NullPointerException")(text)
        else:
            self._requests.append((record[0], commits))

    def _end_transaction(self, commits: bool, record: SourceRecord | None = None) -> None:
        if commits:
            self._transactions.commit_transaction(record)
        else:
            self._transactions.abort_transaction(record)
