# SPDX-License-Identifier: Apache-2.0
"""A worker that is alone: no group, no internal topics, configurations in memory and source offsets in a file."""
