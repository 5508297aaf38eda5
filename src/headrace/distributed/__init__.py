# SPDX-License-Identifier: Apache-2.0
"""Control's way in a cluster: group membership, the config topic's leader, and who runs what."""
