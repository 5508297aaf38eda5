# SPDX-License-Identifier: Apache-2.0
"""Changes as PostgreSQL's own log has them, to compare with those that a connector has captured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

_KINDS: Final = {"I": "c", "U": "u", "D": "d"}
"""The first byte of a change in PostgreSQL's protocol, and Debezium's `op`."""


@dataclass(frozen=True, slots=True)
class Place:
    """A change in the database's log: its own position, its transaction and its kind."""

    lsn: int
    transaction: int
    kind: str


class Witness:
    """A replication slot beside the connector's, by which the database says what was changed since."""

    def __init__(self, sql: Callable[[str], list[list[str]]], publication: str) -> None:
        """`sql` runs a statement in the database of the publication, which has to be there."""
        self._sql, self._publication = sql, publication
        sql("SELECT pg_create_logical_replication_slot('witness', 'pgoutput')")

    def changes(self) -> list[Place]:
        """Return the changes of the publication's tables in the order of commits."""
        found = self._sql(f"""
            SELECT lsn - '0/0', xid, chr(get_byte(data, 0)) FROM pg_logical_slot_peek_binary_changes(
                'witness', NULL, NULL, 'proto_version', '1', 'publication_names', '{self._publication}')
            WHERE chr(get_byte(data, 0)) IN ('I', 'U', 'D')""")
        return [Place(int(lsn), int(transaction), _KINDS[letter]) for lsn, transaction, letter in found]


def places(changes: Iterable[dict[str, Any]]) -> list[Place]:
    """Return where Debezium's changes were in the database's log, in their order, without rows of snapshots."""
    sources = [(change["source"], change["op"]) for change in changes if change["op"] != "r"]
    return [Place(source["lsn"], source["txId"], kind) for source, kind in sources]
