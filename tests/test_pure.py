"""The selection of the tests of the pure rooms."""

from pathlib import Path

from tests.pure import IMPURE, is_pure


def test_only_tests_of_pure_rooms_count_for_their_coverage(tmp_path: Path) -> None:
    """A test that imports a port, a loop or a process, itself or through a helper, is not one of them."""
    texts = {
        "test_pure.py": "from shoed.model.cards import Card\nimport tests.cards_of\n",
        "cards_of.py": "from shoed import cards\n",
        "test_loop.py": "def test() -> None:\n    import asyncio.events\n",
        "test_port.py": "from shoed import ports\n",
        "test_helped.py": "from tests import house\n",
        "house.py": "import subprocess\n",
    }
    (tmp_path / "tests").mkdir()
    for name, text in texts.items():
        (tmp_path / "tests" / name).write_text(text)
    impure = IMPURE | {"shoed.ports"}
    pure = {name for name in texts if is_pure(tmp_path / "tests" / name, impure, tmp_path)}
    assert pure == {"test_pure.py", "cards_of.py"}
