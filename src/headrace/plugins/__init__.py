# SPDX-License-Identifier: Apache-2.0
"""Plugins: they are found by name, loaded and listed; config providers; policies for client overrides."""
