"""A shell starts what stands before its `&` with interrupts ignored, and children inherit that."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
