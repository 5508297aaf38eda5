# SPDX-License-Identifier: Apache-2.0
"""The connectors of one worker: instances, their threads, and their task configurations."""
