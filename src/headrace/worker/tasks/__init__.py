# SPDX-License-Identifier: Apache-2.0
"""The tasks of one worker: their launch, their life, and the interface of the engine that runs them."""
