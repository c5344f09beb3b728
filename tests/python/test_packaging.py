"""Recipes of packagers: one version everywhere, nothing asked for that pyproject.toml does not ask for, placeholders listed."""

from __future__ import annotations

import ast
import hashlib
import re
import tomllib
from collections import Counter
from pathlib import Path
from runpy import run_path

import rankwise

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
RECIPES = {
    "spack": "spack/spack_repo/rankwise/packages/rankwise/package.py", "conda": "conda/recipe.yaml",
    "easybuild": f"easybuild/rankwise-{rankwise.__version__}-foss-2025b.eb",
    "lmod": f"modules/rankwise-{rankwise.__version__}.lua", "apptainer": "container/rankwise.def",
}  # fmt: skip
TEXTS = {name: (PACKAGING / path).read_text() for name, path in RECIPES.items()}
# What no release has given yet: where the sources lie, the tarball's checksum, and who maintains a recipe.
PLACEHOLDERS = ("example.org", "0" * 64, "rankwise-developers")


def _asked() -> dict[str, str]:
    """Return what pip is asked for: names and their least versions."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return dict(re.match(r"([\w-]+)>=([\d.]+)", word).groups() for word in asked)  # type: ignore[union-attr]


def test_placeholders_are_these() -> None:
    found = {name: Counter(re.findall("|".join(PLACEHOLDERS), text)) for name, text in TEXTS.items()}
    assert found == {
        "spack": {"example.org": 3, "0" * 64: 1, "rankwise-developers": 2},
        "conda": {"example.org": 3, "0" * 64: 1, "rankwise-developers": 1},
        "easybuild": {"example.org": 2, "0" * 64: 1},
        "lmod": {"example.org": 1},
        "apptainer": {},
    }


def test_the_version_is_the_headers() -> None:
    for name, text in TEXTS.items():
        assert rankwise.__version__ in text, name
        stale = set(re.findall(r"rankwise-(\d+\.\d+\.\d+)", text)) - {rankwise.__version__}
        assert not stale, name
    assert re.search(r'version: "(.*)"', TEXTS["conda"])[1] == rankwise.__version__  # type: ignore[index]
    assert f"\n## {rankwise.__version__} - " in (ROOT / "CHANGELOG.md").read_text()


def test_conda_and_spack_ask_for_what_pip_does() -> None:
    run = TEXTS["conda"].partition("  run:\n")[2].partition("\ntests:")[0]
    listed = dict(re.findall(r"- ([\w-]+) >=([\d.]+)", run))
    assert listed.pop("python") == "3.11" and listed == _asked()
    spack = dict(re.findall(r'"py-([\w-]+)@([\d.]+):[\d.]*", type=\("build", "run"\)', TEXTS["spack"]))
    assert spack == _asked()


def test_spacks_recipe_is_python_and_names_options_that_exist() -> None:
    tree = ast.parse(TEXTS["spack"])
    names = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and str(node.value).startswith("RANKWISE_")
    }
    assert names - {"RANKWISE_MPI"}
    assert max(map(len, TEXTS["spack"].splitlines())) <= 99  # as 'spack style' has it
    assert all(f"option({name} " in (ROOT / "CMakeLists.txt").read_text() for name in names - {"RANKWISE_MPI"})


def test_a_release_has_recipes_with_its_checksum(tmp_path: Path) -> None:
    (tarball := tmp_path / "rankwise-1.2.3.tar.gz").write_bytes(b"all of it")
    written = run_path(str(PACKAGING / "release.py"))["write_recipes"](tarball, tmp_path, "https://sources.example.net/of")
    checksum = hashlib.sha256(b"all of it").hexdigest()
    assert (tmp_path / "rankwise-1.2.3.tar.gz.sha256").read_text() == f"{checksum}  rankwise-1.2.3.tar.gz\n"
    assert {path.relative_to(tmp_path).parts[0] for path in written} == {"spack", "conda", "easybuild"}
    for name in ("spack", "conda", "easybuild"):
        text = (tmp_path / RECIPES[name]).read_text()
        assert "example.org" not in text and checksum in text and "https://sources.example.net/of" in text, name


def test_containers_take_the_tarball_and_install_the_mpi() -> None:
    for name in ("Containerfile", "rankwise.def"):
        text = (PACKAGING / "container" / name).read_text()
        assert "[mpich]" in text and "dist/rankwise-" in text and "USER" not in text
    taken = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert taken == ["!dist/rankwise-*.tar.gz"]
