# SPDX-License-Identifier: Apache-2.0
"""Administrative requests to brokers: topics, their ids, consumer groups, fencing, open transactions.

``topic_admin`` is what most callers use; ``fencing`` ends other producers (KIP-618); ``admin_client`` is for operators'
scripts. Calls block until a deadline, and raise the types of ``kafka.errors``. Imports ``kafka.clients``. Begin with
``topic_admin``.
"""
