"""Memory that outlives the process that filled it: anonymous files of the keeper, mapped by descriptor."""

import errno
import fcntl
import mmap
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from itertools import count

import xxhash

MAP_POPULATE = 0x8000
MADV_POPULATE_WRITE = 23  # since Linux 5.14
PART = 1 << 20  # size of a part, which is sent to a partner again if it changed
_NUMBERS = count()


class Pages:
    """A sealed anonymous file of fixed size, mapped. No process can shrink it while another reads it."""

    def __init__(self, fd: int, size: int, mapped: mmap.mmap | None = None) -> None:
        self.fd = fd
        self.size = size
        self.number = next(_NUMBERS)  # descriptors are reused, these numbers are not
        self.before_close: Callable[[], None] | None = None
        self.map = mapped or mmap.mmap(fd, size, flags=mmap.MAP_SHARED | MAP_POPULATE)

    @classmethod
    def new(cls, name: str, size: int) -> "Pages":
        """Allocates pages. Raises OSError if there is not enough memory, so that a later copy cannot fail halfway."""
        fd = os.memfd_create(f"holdfast-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.fchmod(fd, stat.S_IRUSR | stat.S_IWUSR)
            mapped = _filled(fd, size)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            return cls(fd, size, mapped)
        except OSError:
            os.close(fd)
            raise

    @classmethod
    def received(cls, fd: int) -> "Pages":
        """Maps pages whose descriptor another process sent."""
        return cls(fd, os.fstat(fd).st_size)

    def close(self) -> None:
        """Releases the memory; a view that is still in use keeps it alive."""
        if self.before_close is not None:
            self.before_close()
        with suppress(BufferError):  # views keep the mapping, and the mapping keeps the memory
            self.map.close()
        os.close(self.fd)

    def digest(self, size: int) -> str:
        """The xxhash of the first bytes; one flipped bit changes it."""
        with memoryview(self.map) as view:
            return xxhash.xxh3_128_hexdigest(view[:size])

    def copy_from(self, other: "Pages", size: int) -> None:
        """Copies the first bytes of other pages, in parts: no other thread runs during one assignment, and this one
        yields to training."""
        with memoryview(self.map) as view, memoryview(other.map) as source:
            for start in range(0, size, PART):
                end = min(start + PART, size)
                view[start:end] = source[start:end]

    def fingerprint(self, size: int) -> tuple[str, tuple[int, ...]]:
        """The digest, and a hash of each part: memory is read once, and the second hash finds its part in the cache."""
        whole, marks = xxhash.xxh3_128(), []
        with memoryview(self.map) as view:
            for start in range(0, size, PART):
                with view[start : min(start + PART, size)] as part:
                    whole.update(part)
                    marks.append(xxhash.xxh3_64_intdigest(part))
        return whole.hexdigest(), tuple(marks)


def _filled(fd: int, size: int) -> mmap.mmap:
    """A file with all its memory allocated.

    Huge pages are used where the machine offers them on request (`shmem_enabled` is advise), so that a loading process
    maps them quickly. Only a mapping can request them.
    """
    os.ftruncate(fd, size)
    mapped = mmap.mmap(fd, size, flags=mmap.MAP_SHARED)
    try:
        mapped.madvise(mmap.MADV_HUGEPAGE)
        mapped.madvise(MADV_POPULATE_WRITE)
    except OSError as error:
        mapped.close()
        if error.errno != errno.EINVAL:
            raise
        os.posix_fallocate(fd, 0, size)  # the kernel lacks one of the two
        return mmap.mmap(fd, size, flags=mmap.MAP_SHARED | MAP_POPULATE)
    return mapped
