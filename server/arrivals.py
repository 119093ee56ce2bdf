"""When the request arrived that a thread of a web process works on. A busy process may begin with it much later."""

import threading
import time

_thread = threading.local()


def note(moment: float) -> None:
    """Note when the request of this thread arrived, by `time.monotonic()`."""
    _thread.moment = moment


def noted() -> float:
    """When the request of this thread arrived; now, if the server noted nothing."""
    moment: float = getattr(_thread, "moment", None) or time.monotonic()
    return moment
