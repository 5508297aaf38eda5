# SPDX-License-Identifier: Apache-2.0
"""One metric of Kafka Connect's, or of its clients', and one value of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qsl, urlencode

CLIENT_ID: Final = "client-id"


@dataclass(frozen=True, slots=True, eq=False)
class ConnectMetric:
    """A metric by the type of its MBean, ``group``, and its attribute, ``name``.

    ``labels`` are the MBean's keys. A ``text`` is an attribute without a number: its value is 1, and the text is in one
    more label of the attribute's name. Compared by identity. Java: ``MetricNameTemplate``.
    """

    group: str
    name: str
    doc: str
    labels: tuple[str, ...] = ()
    text: bool = False
    is_info: bool = False
    """True if its labels are all that it has to say; Prometheus' type of that name."""

    @property
    def domain(self) -> str:
        """The MBean's domain, after ``kafka.``."""
        return next((client for client in ("producer", "consumer") if self.group.startswith(client)), "connect")

    @property
    def is_counter(self) -> bool:
        """True for a total, as Prometheus requires the names of counters to end."""
        return self.name.endswith("-total")

    @property
    def all_labels(self) -> tuple[str, ...]:
        """The labels' names, that of the text included."""
        return (*self.labels, self.name) if self.text else self.labels


@dataclass(frozen=True, slots=True)
class Reading:
    """A metric's value for the values of its labels, in the order of ``ConnectMetric.all_labels``."""

    metric: ConnectMetric
    labels: Sequence[str]
    value: float


def metrics_of(group: str, labels: tuple[str, ...], docs: Mapping[str, str]) -> tuple[ConnectMetric, ...]:
    """Return the metrics of a group, by their names and what they mean."""
    return tuple(ConnectMetric(group, name, doc, labels) for name, doc in docs.items())


def by_name(metrics: Iterable[ConnectMetric]) -> dict[str, ConnectMetric]:
    """Return the metrics by their names."""
    return {metric.name: metric for metric in metrics}


def tagged(group: str, name: str, **tags: str) -> str:
    """Return a name, for a task's figures, of a metric that there is once for each of some ``tags``.

    Underscores in the tags' names stand for hyphens.
    """
    return f"{group}/{name}?{urlencode({tag.replace('_', '-'): text for tag, text in tags.items()})}"


def untagged(name: str) -> tuple[str, str, Mapping[str, str]] | None:
    """Return group, name and tags of a ``tagged`` name; None of any other."""
    group, slash, rest = name.partition("/")
    if not slash:
        return None
    own_name, _, tags = rest.partition("?")
    return group, own_name, _tags(tags)


# By tags, which all figures of a client share, and not by whole names: those of former connectors stay for a while.
@lru_cache(maxsize=8192)
def _tags(text: str) -> Mapping[str, str]:
    return dict(parse_qsl(text, keep_blank_values=True))
