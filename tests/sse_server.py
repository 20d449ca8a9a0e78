"""A small HTTP server that answers each request with the next scripted stream of server-sent events."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server:
    """`answers` are (status, events): an event is an object, a str sent as it is, or a pause in seconds."""

    def __init__(self, answers: list[tuple[int, list[Any]]]) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.url = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        self.requests.append(json.loads(body))
        status, events = self.answers.pop(0) if self.answers else (500, [{"error": {"message": "no more"}}])
        if status != 200:
            text = json.dumps(events[0]).encode()
            handler.send_response(status)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(text)))
            handler.end_headers()
            handler.wfile.write(text)
            return
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        for event in events:
            self.send(handler, event)

    def send(self, handler: BaseHTTPRequestHandler, event: Any) -> None:
        if isinstance(event, float):
            time.sleep(event)
            return
        name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
        text = event if isinstance(event, str) else json.dumps(event)
        handler.wfile.write(f"{name}data: {text}\n\n".encode())
        handler.wfile.flush()


@contextmanager
def serving(*answers: tuple[int, list[Any]]) -> Iterator[Server]:
    """Serve the answers on a free port of the loopback address."""
    script = Server(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                script.answer(self)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.url = f"http://127.0.0.1:{httpd.server_port}"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()
