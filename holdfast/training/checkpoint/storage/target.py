"""Storage target: a folder or any fsspec URL such as s3://bucket/llama. Needs no torch.

A shard is a few files in `step-00001000/rank-00003/`. It counts once its index exists, which is written last and
atomically.
"""

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import xxhash

LOG = logging.getLogger(__name__)
INDEX = "holdfast.index"
METADATA = ".metadata"
CHUNK = 8 << 20
TRIES = 5
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 8.0

Result = TypeVar("Result")


def step_name(step: int) -> str:
    return f"step-{step:08}"


def rank_name(step: int, rank: int) -> str:
    return f"{step_name(step)}/rank-{rank:05}"


def rank_folder(folder: Path, step: int, rank: int) -> Path:
    return folder / rank_name(step, rank)


class StorageTarget(Protocol):
    """A storage target. Names are relative to it, with slashes."""

    def names(self, pattern: str) -> list[str]:
        """Names that match, in order."""

    def read(self, name: str) -> bytes: ...

    def exists(self, name: str) -> bool: ...

    def write(self, name: str, raw: bytes) -> None:
        """Writes a file atomically."""

    def drafting(self, name: str) -> Any:
        """A context with an empty local folder, which `publish` turns into the named one."""

    def publish(self, draft: Path, name: str) -> None: ...

    def fetched(self, name: str) -> Any:
        """A context with a local folder that has the files of the named one."""

    def remove(self, name: str) -> None: ...

    def free_bytes(self) -> int | None:
        """Free bytes; None if unknown."""


class FolderTarget:
    def __init__(self, root: Path) -> None:
        self.root = root

    def __str__(self) -> str:
        return str(self.root)

    def names(self, pattern: str) -> list[str]:
        return sorted(str(path.relative_to(self.root)) for path in self.root.glob(pattern))

    def read(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def exists(self, name: str) -> bool:
        return (self.root / name).exists()

    def write(self, name: str, raw: bytes) -> None:
        path = self.root / name
        draft = path.with_name(f"{path.name}.draft-{os.getpid()}")
        write_synced(draft, raw)
        draft.replace(path)

    @contextmanager
    def drafting(self, name: str) -> Iterator[Path]:
        target = self.root / name
        draft = target.with_name(f"{target.name}.draft-{os.getpid()}")
        shutil.rmtree(draft, ignore_errors=True)
        try:
            draft.mkdir(parents=True, mode=0o700)
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def publish(self, draft: Path, name: str) -> None:
        shutil.rmtree(self.root / name, ignore_errors=True)
        draft.rename(self.root / name)

    @contextmanager
    def fetched(self, name: str) -> Iterator[Path]:
        yield self.root / name

    def remove(self, name: str) -> None:
        shutil.rmtree(self.root / name, ignore_errors=True)

    def free_bytes(self) -> int | None:
        return shutil.disk_usage(self.root).free


class Remote:
    """An object store or another file system of fsspec. Each request is retried; each file is read back."""

    def __init__(self, url: str, sleep: Callable[[float], None] = time.sleep) -> None:
        import fsspec  # type: ignore[import-untyped]

        self._files, self._root = fsspec.core.url_to_fs(url, use_listings_cache=False)
        self._url, self._sleep = url, sleep

    def __str__(self) -> str:
        return self._url

    def names(self, pattern: str) -> list[str]:
        found = self._try(lambda: self._files.glob(self._path(pattern)))
        return sorted(str(path)[len(self._root) :].strip("/") for path in found)

    def read(self, name: str) -> bytes:
        return bytes(self._try(lambda: self._files.cat_file(self._path(name))))

    def exists(self, name: str) -> bool:
        return bool(self._try(lambda: self._files.exists(self._path(name))))

    def write(self, name: str, raw: bytes) -> None:
        def attempt() -> None:
            self._files.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(self._path(name), raw)
            if self._files.cat_file(self._path(name)) != raw:
                raise OSError(f"{self._url}/{name} is not what was written")

        self._try(attempt)

    @contextmanager
    def drafting(self, name: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="holdfast-upload-") as folder:
            yield Path(folder)

    def publish(self, draft: Path, name: str) -> None:
        """Publishes a draft, with its index last: a shard without an index does not count. The index of an earlier
        run is removed before its data."""
        if self.exists(f"{name}/{INDEX}"):
            self._try(lambda: self._files.rm_file(self._path(f"{name}/{INDEX}")))
        paths = sorted(draft.iterdir(), key=lambda path: path.name == INDEX)
        for path in paths:
            self._try(lambda path=path: self._upload(path, f"{name}/{path.name}"))  # type: ignore[misc]

    def _upload(self, path: Path, name: str) -> None:
        self._files.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
        self._files.put_file(str(path), self._path(name))
        digest = xxhash.xxh3_128()
        with self._files.open(self._path(name), "rb", block_size=CHUNK, cache_type="none") as file:
            while raw := file.read(CHUNK):
                digest.update(raw)
        if digest.hexdigest() != _digest(path):
            raise OSError(f"{self._url}/{name} is not what was written")

    @contextmanager
    def fetched(self, name: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="holdfast-load-") as folder:
            for path in self._try(lambda: self._files.ls(self._path(name), detail=False)):
                local = Path(folder) / str(path).rstrip("/").rpartition("/")[2]
                self._try(lambda path=path, local=local: self._files.get_file(path, str(local)))  # type: ignore[misc]
            yield Path(folder)

    def remove(self, name: str) -> None:
        """Removes a shard, its indexes first: a partly removed one must not count."""
        for index in self.names(f"{name}/*/{INDEX}"):
            self._try(lambda index=index: self._files.rm_file(self._path(index)))  # type: ignore[misc]
        try:
            self._files.rm(self._path(name), recursive=True)
        except FileNotFoundError:
            return
        except OSError as error:
            LOG.warning("%s/%s could not be removed: %s", self._url, name, error)

    def free_bytes(self) -> int | None:
        return None

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def _try(self, action: Callable[[], Result]) -> Result:
        """Retries a request, because a store may recover. A missing file is not retried."""
        pause = FIRST_PAUSE_SECONDS
        for left in reversed(range(TRIES)):
            try:
                return action()
            except FileNotFoundError:
                raise
            except Exception as error:
                if not left:
                    raise OSError(f"{self._url}: {error}") from error
                LOG.info("%s: %s; trying again in %g s", self._url, error, pause)
            self._sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        raise AssertionError("the last try returns or raises")


def target_of(place: "str | Path | StorageTarget") -> StorageTarget:
    if isinstance(place, Path):
        return FolderTarget(place)
    if isinstance(place, str):
        return Remote(place) if "://" in place else FolderTarget(Path(place))
    return place


def write_synced(path: Path, raw: bytes) -> None:
    with open(path, "wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())


def _digest(path: Path) -> str:
    digest = xxhash.xxh3_128()
    with open(path, "rb") as file:
        while raw := file.read(CHUNK):
            digest.update(raw)
    return digest.hexdigest()
