# SPDX-License-Identifier: Apache-2.0
"""The config providers that come with headrace. Each hands out nothing until a worker's property says what it may."""
