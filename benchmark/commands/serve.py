"""`run_all.py serve CELL [CELL] --database DIR`: one page on this machine; drop a picture, see what is nearest to it.

The standard library's server, on the loopback address only. What comes in is a picture of bounded size, decoded as
images always are here, and no path: whatever a browser may send, files are not its to name. Requests that come by way
of another site are refused by their Host and Origin.
"""

from __future__ import annotations

import argparse
import contextlib
import secrets
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.commands import arguments
from benchmark.commands.bars import going_on, shown_progress
from benchmark.commands.search import add_database, found_items, print_kind, print_notes
from benchmark.errors import UsageError
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.execution.image_database import ImageDatabase
    from benchmark.execution.model import Model
    from benchmark.execution.record import Record
    from benchmark.execution.store import Store
    from benchmark.search import Index

HELP = "a page on this machine that shows what is nearest to a picture"
HOST = "127.0.0.1"
LARGEST = 20 << 20  # bytes of a picture
SECONDS = 30  # that a browser may take to send it
MOST_CELLS = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cells", nargs="+", metavar="CELL", help="one or two cells, e.g. 'dph coco 64' 'itq coco 64'")
    add_database(parser)
    parser.add_argument("--top", type=arguments.number_from(1), default=10, metavar="N", help="so many (default: 10)")
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="0 takes any that is free (default: 8000)")
    arguments.add_results(parser)
    arguments.add_plugin(parser)


def run(args: argparse.Namespace) -> int:
    from benchmark.execution.runner import stopping_on_signals
    from benchmark.execution.store import Store

    if len(args.cells) > MOST_CELLS:
        raise UsageError(f"serve: {len(args.cells)} cells, expected one or two; quote each, as in 'dph coco 64'")
    if not 0 <= args.port < 2**16:
        raise UsageError(f"--port {args.port}: expected 0 to {2**16 - 1}")
    arguments.check_results(args)
    arguments.load_plugins(args)
    searched = searched_cells(args, Store(args.results))
    stop = threading.Event()
    with stopping_on_signals(stop), make_server(searched, args.top, args.port) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://{HOST}:{server.server_port}/ (Ctrl-C ends it)", flush=True)
        stop.wait()
        server.shutdown()
    print("ended")
    return 0


@dataclass(frozen=True, eq=False)
class SearchedCell:
    """A kept model and a database, ready to be asked."""

    model: Model
    database: ImageDatabase
    index: Index

    def section(self, pixels: np.ndarray, top: int) -> str:
        """What is nearest to a picture, as part of a page."""
        from benchmark.evaluation.codes import pack
        from benchmark.report.neighbours_page import FoundList, list_html

        start = time.perf_counter()
        code = pack(self.model.encode([pixels]))[0]
        middle = time.perf_counter()
        found = self.index.top(code, top)
        end = time.perf_counter()
        about = f"{counted(len(self.database), 'code')} of {counted(self.model.bits, 'bit')}; "
        about += f"encoded in {1000 * (middle - start):.1f} ms, searched in {1000 * (end - middle):.2f} ms"
        return list_html(FoundList(self.model.label, about, found_items(found, self.database)))


def searched_cells(args: argparse.Namespace, store: Store) -> list[SearchedCell]:
    """All of them; what is to be said of pictures and database is said once."""
    from benchmark.execution.model import find_record

    records = [find_record(cell, store) for cell in args.cells]
    print_kind(records, args.database)
    searched = [_searched_cell(record, args, store) for record in records]
    print_notes(list(dict.fromkeys(line for one in searched for line in one.database.told)))
    return searched


def _searched_cell(record: Record, args: argparse.Namespace, store: Store) -> SearchedCell:
    from benchmark.execution.image_database import open_database
    from benchmark.execution.model import read_model
    from benchmark.search import open_index

    model = read_model(record, store, stale=args.stale)
    if not model.takes_images:
        raise UsageError(f"'{model.label}' takes features, not pictures; name a cell of a data set of images")
    with shown_progress():
        with going_on(args):
            database = open_database(args.database, model, record, store, args.images)
        with contextlib.suppress(UsageError):  # so that the first picture does not wait for what is loaded when needed
            model.encode([np.zeros((64, 64, 3), np.uint8)])
        return SearchedCell(model, database, open_index(database.packed, model.bits, args.index))


class PictureServer(ThreadingHTTPServer):
    """Answers on the loopback address; one picture is encoded at a time."""

    daemon_threads = True

    def __init__(self, searched: Sequence[SearchedCell], top: int, port: int) -> None:
        self.searched, self.top, self.one_at_a_time = searched, top, threading.Lock()
        super().__init__((HOST, port), PictureRequests)

    @property
    def names(self) -> list[str]:
        """What a browser on this machine may call us."""
        return [f"{HOST}:{self.server_port}", f"localhost:{self.server_port}"]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away before it was answered is no fault."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def answer(self, content: bytes) -> str:
        """The neighbours of a picture, model by model."""
        pixels = decoded_upload(content)
        with self.one_at_a_time:
            return "".join(one.section(pixels, self.top) for one in self.searched)


def make_server(searched: Sequence[SearchedCell], top: int, port: int) -> PictureServer:
    try:
        return PictureServer(searched, top, port)
    except OSError as error:
        raise UsageError(f"serve: {HOST}:{port}: {error.strerror or error}; give another --port") from None


def decoded_upload(content: bytes) -> np.ndarray:
    """The pixels of a picture that somebody sent, read as every image is."""
    from benchmark.data.images import FORMATS, read_image

    with tempfile.NamedTemporaryFile(prefix="hashbench-") as file:
        file.write(content)
        file.flush()
        try:
            return read_image(Path(file.name))
        except UsageError as error:
            if "million pixels" in str(error):
                raise UsageError("this picture has too many pixels, refused") from None
            raise UsageError(f"this is no picture that can be read ({', '.join(FORMATS)})") from None


class PictureRequests(BaseHTTPRequestHandler):
    """GET / is the page, POST /search takes a picture; there is nothing else."""

    server: PictureServer
    timeout = SECONDS
    server_version, sys_version = "hashbench", ""

    def do_GET(self) -> None:
        from benchmark.report.neighbours_page import drop_page

        nonce = secrets.token_urlsafe(16)
        if not self._is_ours():
            self._send(403, "this page is for browsers on this machine only")
        elif self.path != "/":
            self._send(404, "there is nothing here but /")
        else:
            self._send(200, drop_page([one.model.label for one in self.server.searched], LARGEST, nonce), "html", nonce)

    def do_POST(self) -> None:
        if not self._is_ours():
            self._send(403, "this page is for browsers on this machine only")
        elif self.path != "/search":
            self._send(404, "pictures go to /search")
        else:
            self._search()

    def _search(self) -> None:
        told = self.headers.get("Content-Length", "")
        size = int(told) if told.isascii() and told.isdigit() else -1
        if size < 0:
            return self._send(411, "the size of the picture is not said")
        if size > LARGEST:
            return self._send(413, f"{size:,} bytes, expected at most {LARGEST:,}")
        try:
            self._send(200, self.server.answer(self.rfile.read(size)), "html")
        except UsageError as error:
            self._send(400, str(error))
        except TimeoutError:
            self._send(408, "the picture did not arrive in time")

    def _is_ours(self) -> bool:
        """Neither a name that another site made point here, nor a request that another site's page sends."""
        origin = self.headers.get("Origin")
        named = self.headers.get("Host", "") in self.server.names
        return named and (origin is None or origin.removeprefix("http://") in self.server.names)

    def _send(self, status: int, text: str, kind: str = "plain", nonce: str = "none") -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        policy = f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'"
        headers = {
            "Content-Type": f"text/{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Content-Security-Policy": f"{policy}; connect-src 'self'; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
            "Connection": "close",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """A terminal is for what matters."""
