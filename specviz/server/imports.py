"""torch and transformers take seconds to import, so that is left to whoever first needs them."""

from __future__ import annotations

import threading

importing = threading.RLock()
"""Held while they are first imported: two threads that began at once would each find the
other's half of transformers."""
