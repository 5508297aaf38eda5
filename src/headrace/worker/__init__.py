# SPDX-License-Identifier: Apache-2.0
"""The connectors and tasks of one process.

``worker`` is what herders use; ``connectors`` runs connectors, ``tasks`` has tasks run by the engine, ``offsets`` reads
and changes offsets; ``producer_fencing`` fences (invariant 2). Declares the Protocols that ``spark`` implements
(``tasks.task_launcher``) and that herders implement (``callbacks``). Imports ``plugins``, ``storage`` and ``kafka``.
Begin with ``worker``.
"""
