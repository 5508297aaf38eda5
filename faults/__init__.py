# SPDX-License-Identifier: Apache-2.0
"""Seeded random faults against real workers, and a judgement of what came through: `make faults`."""
