"""Standard output that may block without holding up the event loop, its time limits and its signals."""

from __future__ import annotations

import asyncio
import os
import select
import stat
import sys
import threading

_ATOMIC = select.PIPE_BUF  # a pipe that is ready takes so many bytes without blocking


class Output:
    """Writes to standard output; what would block is written by a thread of its own."""

    def __init__(self, *, patience: float, file: int | None = None) -> None:
        """`patience`: seconds that a blocked output is waited for once `hurry` was called."""
        self._file = sys.stdout.fileno() if file is None else file
        self._patience = patience
        self._given_up = asyncio.get_running_loop().create_future()
        self._poll = select.poll()
        self._poll.register(self._file, select.POLLOUT)
        self._is_file = stat.S_ISREG(os.fstat(self._file).st_mode)

    def hurry(self) -> None:
        """The run is asked to end: do not wait much longer for whoever reads."""
        asyncio.get_running_loop().call_later(self._patience, self._give_up)

    async def write(self, data: bytes) -> None:
        """Write all of it; raises BrokenPipeError when nobody reads any more, or not soon enough."""
        while data and self._is_ready():
            data = data[os.write(self._file, data[:_ATOMIC]) :]
        if data:
            await self._write_aside(data)

    def _is_ready(self) -> bool:
        return self._is_file or bool(self._poll.poll(0))

    async def _write_aside(self, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        written: asyncio.Future[None] = loop.create_future()

        def settle(error: OSError | None) -> None:
            if written.done():
                return
            if error is None:
                written.set_result(None)
            else:
                written.set_exception(error)

        def work() -> None:
            fault = _write_all(self._file, data)
            loop.call_soon_threadsafe(settle, fault)

        threading.Thread(target=work, daemon=True).start()
        await asyncio.wait((written, self._given_up), return_when=asyncio.FIRST_COMPLETED)
        if not written.done():
            written.cancel()
            raise BrokenPipeError("standard output is blocked")
        written.result()

    def _give_up(self) -> None:
        if not self._given_up.done():
            self._given_up.set_result(None)


def _write_all(file: int, data: bytes) -> OSError | None:
    try:
        while data:
            data = data[os.write(file, data) :]
    except OSError as error:
        return error
    return None
