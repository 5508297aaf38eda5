# SPDX-License-Identifier: Apache-2.0
"""Steps of a chain that transform whole batches, as Spark DataFrames."""
