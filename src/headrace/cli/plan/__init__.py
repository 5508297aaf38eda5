# SPDX-License-Identifier: Apache-2.0
"""`headrace plan`, `apply`, `lint` and `export`: connectors as files, and the changes that make a cluster like them.

``connector_documents`` and ``desired_connectors`` read files, ``cluster_state`` the cluster; ``differences`` is the
pure core, from both to a frozen ``Plan``. ``planning`` puts them together, ``plan_file`` and ``plan_view`` write a
plan, ``applying`` carries it out and undoes it. ``linting`` checks files without a worker. Begin with ``differences``,
then ``planning``.
"""
