"""The current directory, the root and the files of one request."""

import base64
import contextlib
import os
import re
import shutil
import tempfile

#: A path from the root in a text: at its begin, or behind what paths stand behind in options' texts.
_ROOTED = re.compile(r"(^|[\"'=,:])/(?=[^/\s])")

#: More than this of a file an answer says the length alone.
_LARGEST = 1 << 16


class AdapterPlace:
    """Where a request takes place: a current directory, and a folder that stands for the root of the machine."""

    def __init__(self, base, folder=""):
        self.root, self.folder, self.given = os.path.join(base, "root"), folder, set()

    def staged(self, value):
        """The value with paths from the root below the folder that stands for it, so that nothing else is touched."""
        if isinstance(value, str):
            return _ROOTED.sub(lambda found: f"{found.group(1)}{self.root}/", value)
        if isinstance(value, list):
            return [self.staged(one) for one in value]
        return {key: self.staged(one) for key, one in value.items()} if isinstance(value, dict) else value

    def shown(self, value):
        """The value as the request wrote it."""
        if isinstance(value, str):
            return value.replace(self.root + "/", "/")
        if isinstance(value, list):
            return [self.shown(one) for one in value]
        return {key: self.shown(one) for key, one in value.items()} if isinstance(value, dict) else value

    def beside(self, name):
        """A file that is no part of the request's folder."""
        return f"{self.folder}.{name}"

    def fill(self, files):
        """The request's files.

        Raises:
            NotImplementedError: permissions are asked for, and this user has all of them.
        """
        for name, content in files.items():
            if ".." in name.split("/"):
                raise NotImplementedError("files outside the current directory")
            path = self.staged(name) if name.startswith("/") else os.path.join(self.folder, name)
            os.makedirs(path if name.endswith("/") else os.path.dirname(path), exist_ok=True)
            self.given.add(path)
            if isinstance(content, str) and not name.endswith("/"):
                with open(path, "w", encoding="utf-8", newline="") as stream:
                    stream.write(content)
        for name, content in files.items():
            if not isinstance(content, str):
                self._allow(self.staged(name) if name.startswith("/") else os.path.join(self.folder, name), content)

    def _allow(self, path, content):
        if set(content) != {"access"}:
            raise NotImplementedError("files of other kinds")
        if not os.path.lexists(path):
            with open(path, "w", encoding="utf-8"):
                pass
        mode = (0o500 if os.path.isdir(path) else 0) | (0o400 if "r" in content["access"] else 0)
        os.chmod(path, mode | (0o200 if "w" in content["access"] else 0))
        wanted = (os.R_OK if "r" in content["access"] else 0) | (os.W_OK if "w" in content["access"] else 0)
        if not wanted or os.access(path, os.R_OK | os.W_OK) is not (wanted == os.R_OK | os.W_OK):
            raise NotImplementedError("permissions, of a user who has them all")

    def left(self):
        """What a run left: name from the request's folder, or from what stands for the root, to its content."""
        files = {}
        for base in (self.root, self.folder):
            for folder, _, names in os.walk(base):
                for name in sorted(names):
                    path = os.path.join(folder, name)
                    size = os.path.getsize(path) if os.path.isfile(path) and not os.path.islink(path) else None
                    if size is None or path in self.given:
                        continue
                    files[os.path.relpath(path, base)] = contents(path, size)
        return {"files": files}


def contents(path, size):
    """A file's content, or of a large one its length."""
    if size > _LARGEST:
        return {"bytes": size}
    with open(path, "rb") as stream:
        return {"b64": base64.b64encode(stream.read()).decode("ascii")}


@contextlib.contextmanager
def room(params):
    """The current directory, the root and the environment of one request, with its files in them."""
    before, environment = os.getcwd(), dict(os.environ)
    place = AdapterPlace(before, tempfile.mkdtemp(prefix="request-", dir=before))
    try:
        os.makedirs(place.root, exist_ok=True)
        place.fill(params.get("files", {}))
        os.environ.update(place.staged(params.get("env", {})))
        os.chdir(place.folder)
        yield place
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)
        for folder in (place.root, place.folder):
            removed(folder)


def removed(folder):
    """Removes a folder, though a request took permissions from what is in it."""
    for path, names, _ in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                os.chmod(os.path.join(path, name), 0o700)
    shutil.rmtree(folder, ignore_errors=True)
