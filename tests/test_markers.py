"""Markers of test files decide what each environment runs, so a mistake in one must not make tests run nowhere.

The first tests hold the reader to clear errors. The others hold the markers of this checkout to what environments
leave to each other: each file runs somewhere, and what needs TensorFlow runs with each version but for stated cases.
"""

from __future__ import annotations

import pathlib
import re

import pytest

from tests.markers import OF_FILES, SCOPES, Run, markers_in, markers_of, paths_left_out

pytestmark = pytest.mark.not_oldest

HERE = pathlib.Path(__file__).parent
KNOWN = frozenset({*OF_FILES, "nightly", "skipif"})

#: Environments of tox.ini, as a run for a change.
ENVIRONMENTS = {
    "core": Run(),
    "browser": Run(browser=True),
    "py37-tf115": Run("oldest", tensorflow=True),
    "py39-tf26": Run("between", 1, tensorflow=True),
    "py311-tf215": Run("between", 2, tensorflow=True),
    "py313-tf221": Run("newest", tensorflow=True),
}


@pytest.fixture
def written(tmp_path):
    def write(text, name="area/test_it.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="module")
def marked():
    return markers_of(HERE, KNOWN)


@pytest.fixture(scope="module")
def taken(marked):
    """Environment -> names of the files that it runs, for a change and at night."""

    def names(run):
        left = paths_left_out(marked, run)
        paths = [path for path in marked if path.suffix == ".py" and not left & {path, path.parent}]
        return {path.relative_to(HERE).as_posix() for path in paths}

    return {name: (names(run), names(run._replace(nightly=True))) for name, run in ENVIRONMENTS.items()}


def names_with(marker, marked):
    return {path.relative_to(HERE).as_posix() for path in marked if marker in marked[path] and path.suffix == ".py"}


@pytest.mark.parametrize("text, names", [
    ("import pytest\n", []),
    ("import pytest\nassert test_it.pytestmark == []\n", []),
    ("import pytest\npytestmark = pytest.mark.tensorflow\n", ["tensorflow"]),
    ("import pytest\npytestmark = [pytest.mark.nightly, pytest.mark.not_oldest]\nX = 1\n", ["nightly", "not_oldest"]),
    ("import pytest\npytestmark = [\n    # why\n    pytest.mark.browser,\n\n    pytest.mark.skipif(\n        X(1), "
     "reason='a]'\n    ),\n]\n\nX = [2]\n", ["browser", "skipif"]),
    ("import pytest\npytestmark = []\n", []),
])  # fmt: skip
def test_markers_are_read_without_running_the_file(written, text, names):
    assert markers_in(written(text + "raise SystemExit\n"), KNOWN) == set(names)


@pytest.mark.parametrize("statement", [
    "pytestmark = MARKERS",
    "pytestmark = [*MARKERS, pytest.mark.nightly]",
    "pytestmark = [pytest.mark.nightly] + MARKERS",
    "pytestmark = [getattr(pytest.mark, 'nightly')]",
    "pytestmark = [other.mark.nightly]",
    "pytestmark = OTHER = pytest.mark.nightly",
    "pytestmark: list = [pytest.mark.nightly]",
    "pytestmark = [pytest.mark.nightly\n",
])  # fmt: skip
def test_markers_that_are_not_literal_are_refused_by_file_and_line(written, statement):
    path = written(f"import pytest\n\n{statement}\n")
    with pytest.raises(pytest.UsageError, match=re.escape(f"{path}:3: `pytestmark` is no list of literal markers")):
        markers_in(path, KNOWN)


@pytest.mark.parametrize("text", [
    "import pytest\npytestmark = pytest.mark.nightly\npytestmark = pytest.mark.browser\n",
    "import pytest\npytestmark = []\npytestmark += [pytest.mark.browser]\n",
    "import pytest\nif True:\n    pytestmark = pytest.mark.browser\n",
])  # fmt: skip
def test_markers_that_depend_on_the_run_of_the_file_are_refused(written, text):
    path = written(text)
    with pytest.raises(pytest.UsageError, match=re.escape(f"{path}:3: `pytestmark` is read before the file is run")):
        markers_in(path, KNOWN)


def test_an_unknown_marker_is_refused_by_name(written):
    path = written("import pytest\npytestmark = [pytest.mark.nightly, pytest.mark.oldest_by_night]\n")
    with pytest.raises(pytest.UsageError, match=re.escape(f"{path}:2: pyproject.toml registers no marker oldest_by_n")):
        markers_in(path, KNOWN)


@pytest.mark.parametrize("name", sorted(OF_FILES))
def test_a_marker_of_files_on_one_test_is_refused(written, name):
    path = written(f"import pytest\n\n\n@pytest.mark.{name}\ndef test_it():\n    pass\n")
    with pytest.raises(pytest.UsageError, match=re.escape(f"{path}:4: {name} is a marker of whole files")):
        markers_in(path, KNOWN)


def test_every_marker_of_files_is_registered(request):
    registered = {line.partition(":")[0] for line in request.config.getini("markers")}
    assert registered >= OF_FILES


def test_a_file_has_the_markers_of_its_folder_too(written, tmp_path):
    path = written("import pytest\npytestmark = pytest.mark.not_between\n")
    other = written("", "area/test_other.py")
    written("import pytest\npytestmark = pytest.mark.tensorflow\n", "area/conftest.py")
    found = markers_of(tmp_path, KNOWN)
    assert found == {path: {"tensorflow", "not_between"}, other: {"tensorflow"}, path.parent: {"tensorflow"}}
    assert paths_left_out(found, Run()) == {path, other, path.parent}, "the folder, whose conftest.py may need it too"
    assert paths_left_out(found, Run("between", tensorflow=True)) == {path}


@pytest.mark.parametrize("markers, environments, at_night", [
    ("", "core oldest", "core oldest"),
    ("tensorflow_version", "core oldest between newest", "core oldest between newest"),
    ("tensorflow", "oldest between newest", "oldest between newest"),
    ("not_oldest", "core", "core"),
    ("oldest_at_night", "core", "core oldest"),
    ("tensorflow between_at_night not_newest", "oldest", "oldest between"),
    ("tensorflow not_oldest not_between newest_at_night", "", "newest"),
    ("browser not_oldest", "", ""),
])  # fmt: skip
def test_each_marker_leaves_out_what_it_says(written, tmp_path, markers, environments, at_night):
    path = written(f"import pytest\npytestmark = [{', '.join(f'pytest.mark.{name}' for name in markers.split())}]\n")
    found = markers_of(tmp_path, KNOWN)
    for night, expected in ((False, environments), (True, at_night)):
        runs = {name or "core": Run(name, tensorflow=bool(name), nightly=night) for name in SCOPES}
        assert {name for name, run in runs.items() if path not in paths_left_out(found, run)} == set(expected.split())


def test_two_versions_between_halve_their_files_but_for_those_of_both(written, tmp_path):
    for number in range(6):
        both = ", pytest.mark.both_between" if number == 3 else ""
        written(f"import pytest\npytestmark = [pytest.mark.tensorflow{both}]\n", f"area/test_{number}.py")
    found = markers_of(tmp_path, KNOWN)
    left = [{path.name for path in paths_left_out(found, Run("between", part, tensorflow=True))} for part in (1, 2)]
    assert left == [{"test_1.py", "test_4.py"}, {"test_0.py", "test_2.py", "test_5.py"}]
    assert not paths_left_out(found, Run("between", 1, tensorflow=True, nightly=True))


def test_every_test_file_runs_for_a_change_but_for_models_of_full_size(taken, marked):
    files = {path.relative_to(HERE).as_posix() for path in marked if path.suffix == ".py"}
    # Markers are read in each folder of tests, and not in folders of folders.
    assert files == {path.relative_to(HERE).as_posix() for path in HERE.glob("**/test_*.py")}
    assert files == set().union(*(night for _, night in taken.values()))
    of_full_size = {"device/test_training.py", "models/test_full_size.py", "models/test_recordings.py"}
    assert files - set().union(*(change for change, _ in taken.values())) == of_full_size
    # What skips itself in another version would run nowhere.
    assert not [name for name in of_full_size if re.search(r"\bskip(if)?\b", (HERE / name).read_text(encoding="utf-8"))]


def test_what_the_newest_python_leaves_to_the_oldest_needs_tensorflow(taken, marked):
    needs = names_with("tensorflow", marked)
    everything = set().union(*(night for _, night in taken.values()))
    assert everything - taken["core"][0] - needs == {name for name in everything if name.startswith("browser/")}
    sources = [HERE / name for name in taken["core"][0] - taken["py37-tf115"][1]]
    imports = re.compile("^(import|from) tensorflow", re.MULTILINE)
    assert not [path.name for path in sources if imports.search(path.read_text(encoding="utf-8"))]


def test_the_oldest_python_runs_every_case_and_the_laws(taken):
    assert {"cases/test_reference.py", "cases/test_run_cases.py"} <= taken["py37-tf115"][0]
    assert "conformance/test_laws.py" in taken["py37-tf115"][1]


def test_what_needs_tensorflow_is_tested_with_every_version_of_it_but_for_what_its_ends_run(taken, marked):
    needs = names_with("tensorflow", marked)
    oldest, newest = taken["py37-tf115"][1], taken["py313-tf221"][1]
    assert needs <= oldest | newest
    of_one = (oldest ^ newest) & needs
    ends = names_with("not_between", marked)
    assert of_one <= ends <= needs
    for name in ("py39-tf26", "py311-tf215"):
        assert needs - taken[name][1] == ends
