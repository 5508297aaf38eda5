# SPDX-License-Identifier: Apache-2.0
"""The shell around the herder's core: the herder's thread, the requests that it serves, and its actions.

``worker_herder`` is the herder of distributed and standalone workers, ``herder_services`` names what it is given by
either. Imports ``core``, ``worker``, ``storage`` and what is below them; ``distributed`` and ``standalone`` put it
together. Begin with ``worker_herder``, then ``action_runner``.
"""
