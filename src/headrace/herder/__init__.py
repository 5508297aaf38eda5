# SPDX-License-Identifier: Apache-2.0
"""The interface of a herder, and the validation of configurations.

``herder`` is the protocol that REST calls, ``errors`` what it raises, ``herder_queries`` the answers that any herder
gives from snapshots, ``connector_validation`` what is wrong with a configuration. Imports ``worker`` and what is below
it; ``distributed`` and ``standalone`` implement it. Begin with ``herder``.
"""
