# ruff: noqa: E501  a file is one row
"""`--forks N` tells what one process would tell: what passed, failed, was skipped or warned, and which test killed a fork."""

import os
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CONFTEST = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from forks import Forks

def pytest_configure(config):
    config.pluginmanager.register(Forks(2), "forks")
"""
FILES = {
    "test_good.py": "import pytest\n@pytest.mark.parametrize('n', range(20))\ndef test_it(n, tmp_path):\n    assert tmp_path.is_dir()\n",
    "test_bad.py": "def test_wrong():\n    print('said before')\n    assert 1 == 2\n",
    "test_skipped.py": "import pytest\ndef test_it():\n    pytest.skip('the moon is full')\n",
    "test_warned.py": "import warnings\ndef test_it():\n    warnings.warn('look out')\n",
    "test_torn.py": "import pytest\n@pytest.fixture\ndef thing():\n    yield\n    raise ValueError('torn down')\ndef test_it(thing):\n    pass\n",
    "test_dead.py": "import os\ndef test_before():\n    pass\ndef test_end():\n    os._exit(7)\ndef test_never():\n    pass\n",
}  # fmt: skip
pytest_plugins = "pytester"


def test_what_forks_found_is_reported_as_by_one_process(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(CONFTEST)
    for name, text in FILES.items():
        (pytester.path / name).write_text(text)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-rsf")
    output = str(done.stdout)
    assert done.ret == 1
    done.assert_outcomes(passed=23, failed=2, skipped=1, errors=1, warnings=1)
    assert "assert 1 == 2" in output and "said before" in output
    assert "look out" in output and "the moon is full" in output and "ValueError: torn down" in output
    assert "FAILED test_dead.py::test_end" in output and "ended with exit status 7" in output
