"""Recipes of packagers: one version everywhere, and nothing asked for that pyproject.toml does not ask for."""

from __future__ import annotations

import ast
import hashlib
import re
import tomllib
from pathlib import Path
from runpy import run_path

import rankwise

ROOT = Path(__file__).parents[2]
SPACK = Path("packaging/spack/spack_repo/rankwise/packages/rankwise/package.py")
CONDA = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text()


def test_the_version_is_the_headers() -> None:
    assert re.search(r'version: "(.*)"', CONDA)[1] == rankwise.__version__  # type: ignore[index]
    assert f"\n## {rankwise.__version__} - " in (ROOT / "CHANGELOG.md").read_text()


def test_conda_asks_for_what_pip_does() -> None:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    run = CONDA.partition("  run:\n")[2].partition("\ntests:")[0]
    listed = {line.strip("- ").replace(" ", "") for line in run.splitlines() if line.strip().startswith("-")}
    assert listed - {"python>=3.11", "mpich"} == {word.split(";")[0].replace(" ", "") for word in asked}


def test_spacks_recipe_is_python_and_names_options_that_exist() -> None:
    tree = ast.parse((ROOT / SPACK).read_text())
    names = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and str(node.value).startswith("RANKWISE_")
    }
    assert names
    assert all(f"option({name} " in (ROOT / "CMakeLists.txt").read_text() for name in names)


def test_a_release_has_a_recipe_with_its_checksum(tmp_path: Path) -> None:
    (tarball := tmp_path / "rankwise-1.2.3.tar.gz").write_bytes(b"all of it")
    recipe = run_path(str(ROOT / "packaging" / "release.py"))["write_recipe"](tarball, tmp_path, "https://example.org/of")
    text = recipe.read_text()
    tree = ast.parse(text)
    assert recipe == tmp_path / SPACK.relative_to("packaging/spack")
    assert 'url = "https://example.org/of/rankwise-1.2.3.tar.gz"' in text and "git" not in text.partition("class ")[2]
    (version,) = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "version")
    assert ast.unparse(version) == f"version('1.2.3', sha256='{hashlib.sha256(b'all of it').hexdigest()}')"


def test_containers_copy_no_builds_and_install_the_mpi() -> None:
    for name in ("Containerfile", "rankwise.def"):
        assert "'/src[mpich]'" in (ROOT / "packaging" / "container" / name).read_text()
