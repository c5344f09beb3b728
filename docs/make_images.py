"""Write the pictures of the documentation from the figures that ``rankwise quick`` left in this folder.

    python docs/make_images.py [FOLDER]

reads machine.json, validate.json and map.json here and writes first-light.svg to FOLDER (default: docs/images).
"""

from __future__ import annotations

import sys
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.files import write_whole
from rankwise.machine.profile import Profile
from rankwise.report.inputs import load_mappings, load_validation
from rankwise.report.nodemaps import summary_picture


def main() -> None:
    """Write the pictures; exits with one line when an input is missing or holds no drawable map."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    try:
        picture = summary_picture(
            Profile.load(Path("machine.json")),
            load_validation(Path("validate.json")),
            load_mappings(Path("map.json")),
        )
    except (RankwiseError, ValueError) as error:
        sys.exit(f"make_images: {error}")
    target = folder / "first-light.svg"
    write_whole(target, picture.file(1040))
    print(target)


if __name__ == "__main__":
    main()
