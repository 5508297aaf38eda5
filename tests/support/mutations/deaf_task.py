# SPDX-License-Identifier: Apache-2.0
"""A task's process that does not notice that its worker is gone: a zombie that nothing but fencing can stop."""

from __future__ import annotations

import signal

from headrace.spark.channel_link import ChannelLink

_listen = ChannelLink.listen


def _listen_deafly(link: ChannelLink) -> None:
    # Spark's Python daemon, when it ends, sends this to its children.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _listen(link)


def _broken(link: ChannelLink) -> None:
    pass


ChannelLink.listen = _listen_deafly  # type: ignore[method-assign]
ChannelLink._broken = _broken  # type: ignore[method-assign]
