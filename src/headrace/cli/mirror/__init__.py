# SPDX-License-Identifier: Apache-2.0
"""`headrace mirror`: MirrorMaker 2 in dedicated mode. Java: ``MirrorMaker`` (KIP-382, KIP-710).

``mirror_config`` derives, without I/O, what follows from the one properties file for each pair of clusters: a worker's
properties, with ``pair_properties``, and the configurations of its connectors. ``node`` runs a worker process for each
pair until one ends or a signal comes; ``pair_worker`` is one of these; ``mirror_connectors`` configures its connectors
while it is the leader. Begin with ``mirror_config``, then ``node``.
"""
