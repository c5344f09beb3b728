"""Writes a release into dist/: the source tarball, its checksum (sha256), and the recipes for it.

python packaging/release.py [--from https://where.it/will/lie]
"""

import argparse
import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What recipes have in place of what is known of a release only.
URL, CHECKSUM = "https://example.org/rankwise", "0" * 64
RECIPES = ("spack/spack_repo", "conda", "easybuild")
SCRIPT = ROOT / "python" / "rankwise" / "report" / "templates" / "vega.js"


def write_recipes(tarball: Path, folder: Path, published: str) -> list[Path]:
    """Copy the recipes to ``folder``, with a tarball's place and checksum; ``published``: the URL of its folder."""
    checksum = hashlib.sha256(tarball.read_bytes()).hexdigest()
    written = []
    for recipe in (path for name in RECIPES for path in sorted((ROOT / "packaging" / name).rglob("*.*")) if path.is_file()):
        if recipe.suffix not in (".py", ".yaml", ".eb"):
            continue
        written.append(folder / recipe.relative_to(ROOT / "packaging"))
        written[-1].parent.mkdir(parents=True, exist_ok=True)
        text = recipe.read_text(encoding="utf-8").replace(URL, published).replace(CHECKSUM, checksum)
        written[-1].write_text(text, encoding="utf-8")
    tarball.with_name(f"{tarball.name}.sha256").write_text(f"{checksum}  {tarball.name}\n", encoding="utf-8")
    return written


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="published", help="the URL of the folder where the tarball will lie (default: dist/)")
    asked = parser.parse_args()
    dist = ROOT / "dist"
    # With the charts' script: whoever builds from the tarball needs no vl-convert.
    if not SCRIPT.is_file():
        subprocess.run([sys.executable, ROOT / "python/rankwise/report/vega_bundle.py", SCRIPT], check=True)
    subprocess.run([sys.executable, "-m", "build", "--sdist", "--outdir", dist, ROOT], check=True)
    tarball = max(dist.glob("rankwise-*.tar.gz"), key=lambda path: path.stat().st_mtime)
    recipes = write_recipes(tarball, dist, asked.published or dist.as_uri())
    print(tarball, f"{tarball}.sha256", *recipes, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
