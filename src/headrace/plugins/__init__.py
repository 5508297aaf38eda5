# SPDX-License-Identifier: Apache-2.0
"""Plugins: they are found by name, loaded and listed; config providers; policies for client overrides.

``discovery`` finds a class by any of its names, ``builtin`` lists headrace's own, ``installed`` those of entry points,
``plugin_access`` says which may be imported; ``config_transformer`` puts values in the place of references (KIP-297).
Imports ``config``. Begin with ``discovery``.
"""
