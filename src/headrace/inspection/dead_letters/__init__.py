# SPDX-License-Identifier: Apache-2.0
"""Dead letters: what is pending in a connector's dead letter topic, and its redrive.

``letter``, ``letter_filter``, ``letter_groups``, ``letter_view`` and ``redrive_rules`` are pure; ``letter_topic`` reads
the topic; ``redrive`` is the transactional loop; ``letter_chain`` runs plugins, in a sandbox's process;
``dead_letters`` puts all together for REST. Begin with ``redrive``.
"""
