"""Writes a release into dist/: the tarball, its checksum, and Spack's recipe for it.

python packaging/release.py [--from https://where.it/will/lie]
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GIT = '    version("main", branch="main")\n'


def write_recipe(tarball: Path, folder: Path, published: str) -> Path:
    """Copy Spack's repository to ``folder``, with the version that a tarball holds; ``published``: the folder's URL."""
    version = tarball.name.removeprefix("rankwise-").removesuffix(".tar.gz")
    checksum = hashlib.sha256(tarball.read_bytes()).hexdigest()
    shutil.copytree(ROOT / "packaging" / "spack" / "spack_repo", folder / "spack_repo", dirs_exist_ok=True)
    recipe = folder / "spack_repo" / "rankwise" / "packages" / "rankwise" / "package.py"
    text = recipe.read_text(encoding="utf-8")
    head, git, tail = text.partition(GIT)
    assert git, f"{recipe} has no line {GIT}"
    before, _, after = head.partition("    # The clone")
    released = f'    version("{version}", sha256="{checksum}")\n'
    after = after.partition("\n\n")[2]
    recipe.write_text(f'{before}    url = "{published}/{tarball.name}"\n\n{after}{released}{tail}', encoding="utf-8")
    return recipe


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="published", help="the URL of the folder where the tarball will lie (default: dist/)")
    asked = parser.parse_args()
    dist = ROOT / "dist"
    subprocess.run([sys.executable, "-m", "build", "--sdist", "--outdir", dist, ROOT], check=True)
    tarball = max(dist.glob("rankwise-*.tar.gz"), key=lambda path: path.stat().st_mtime)
    recipe = write_recipe(tarball, dist, asked.published or dist.as_uri())
    print(f"{tarball}\n{recipe}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
