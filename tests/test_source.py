"""Files and streams as chunks: whole, compressed, cut and broken."""

import errno
import gzip
import os
import random
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stenograph import source
from stenograph.errors import ReadError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LINES = b"".join(b'{"type":"user","n":%d,"text":"%s"}\n' % (n, b"x" * (n % 97)) for n in range(20_000))
SHORT = LINES[:5000]


def unpack(data: bytes, size: int) -> tuple[bytes, str | None]:
    """What a compressed stream gives when it comes in pieces of this size, and how it fails."""
    found = []
    try:
        for part in source.unpacked((data[at : at + size] for at in range(0, len(data), size)), source="s"):
            assert part
            found.append(part)
    except ReadError as error:
        return b"".join(found), str(error)
    return b"".join(found), None


@pytest.mark.parametrize("size", [1, 7, 4096, 1 << 20])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress], ids=["plain", "gzip", "zstd"])
def test_any_chunking_gives_the_same_bytes(pack, size):
    data = SHORT if size < 100 else LINES
    assert unpack(pack(data), size) == (data, None)


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_several_archives_one_behind_the_other_are_one(pack):
    assert unpack(pack(b"one\n") + pack(b"") + pack(b"two\n"), 5) == (b"one\ntwo\n", None)


def test_zero_bytes_behind_a_gzip_member_are_padding():
    assert unpack(gzip.compress(b"one\n") + bytes(1000), 64) == (b"one\n", None)


def test_a_zstd_stream_may_begin_with_a_skippable_frame():
    skippable = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    assert unpack(skippable + zstd.compress(b"one\n"), 3) == (b"one\n", None)


def test_the_largest_expansion_comes_in_bounded_parts():
    packed = zstd.compress(bytes(50_000_000))
    parts = list(map(len, source.unpacked(iter([packed]), source="s")))
    assert (sum(parts), max(parts)) == (50_000_000, 64 * 1024)
    packed = gzip.compress(bytes(50_000_000))
    parts = list(map(len, source.unpacked(iter([packed]), source="s")))
    assert (sum(parts), max(parts)) == (50_000_000, 64 * 1024)


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_a_cut_archive_gives_what_is_whole_and_says_so(pack):
    packed = pack(random.Random(1).randbytes(400_000))
    found, fault = unpack(packed[: len(packed) // 2], 4096)
    assert len(found) >= 128 * 1024
    assert fault is not None
    assert "cut off" in fault
    assert f"byte {len(packed) // 2}" in fault


def test_a_corrupt_gzip_gives_every_byte_in_front_of_the_fault():
    packed = bytearray(gzip.compress(LINES))
    half = len(packed) // 2
    packed[half : half + 20] = b"\xff" * 20
    readable = zlib.decompressobj(31).decompress(bytes(packed[:half]))
    found, fault = unpack(bytes(packed), 4096)
    assert found.startswith(readable)
    assert "corrupt gzip data" in str(fault)


def test_a_corrupt_zstd_gives_the_blocks_in_front_of_the_fault():
    data = random.Random(1).randbytes(1_000_000)
    packed = bytearray(zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1}))
    packed[700_000:700_003] = b"\xff\xff\xff"
    found, fault = unpack(bytes(packed), 4096)
    assert len(found) >= 600_000
    assert "corrupt zstd data" in str(fault)


@given(st.binary(max_size=300), st.sampled_from([1, 3, 4096]))
@settings(max_examples=60, deadline=None)
def test_plain_bytes_pass_untouched(data, size):
    plain = b"{" + data
    assert unpack(plain, size) == (plain, None)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_damage_raises_only_our_error(data):
    packed = bytearray(data.draw(st.sampled_from([gzip.compress(SHORT), zstd.compress(SHORT)])))
    for _ in range(data.draw(st.integers(1, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    unpack(bytes(packed), 64)


def test_a_file_is_told_by_its_bytes_not_its_name(tmp_path: Path):
    path = tmp_path / "plain.gz"
    path.write_bytes(SHORT)
    assert b"".join(source.chunks(str(path))) == SHORT
    path = tmp_path / "packed.jsonl"
    path.write_bytes(zstd.compress(SHORT))
    assert b"".join(source.chunks(str(path))) == SHORT


def test_what_cannot_be_opened_says_why(tmp_path: Path):
    for path, reason in [(tmp_path / "none", "no such file"), (tmp_path, "is a directory")]:
        with pytest.raises(ReadError, match=reason) as caught:
            list(source.chunks(str(path)))
        assert str(caught.value).startswith(str(path))


def test_an_unreadable_file_says_so(monkeypatch):
    def refuse(path, flags):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ReadError, match=r"closed\.jsonl: permission denied"):
        list(source.chunks("closed.jsonl"))


def test_standard_input_is_read_as_it_comes():
    code = (
        "import sys\nfrom stenograph import source\nfor part in source.chunks('-'): print(part, flush=True)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    for part in (b'{"a":1}\n', b"half"):
        process.stdin.write(part)
        process.stdin.flush()
        assert process.stdout.readline() == f"{part!r}\n".encode()
    process.stdin.close()
    assert process.wait(timeout=10) == 0
    process.stdout.close()


def test_closed_standard_input_is_an_error(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(ReadError, match="standard input: is closed"):
        list(source.chunks("-"))
