# SPDX-License-Identifier: Apache-2.0
"""Hours of faults and of what operators do, after which nothing has leaked and no record is lost: `make soak`."""
