# SPDX-License-Identifier: Apache-2.0
"""The interface of a herder, and the validation of configurations."""
