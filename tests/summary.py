"""What became of all tests: reasons of those that were skipped, names of those that failed, counts in the last line.

Reads JUnit files; one that is missing stands for tests that did not run. A test that ran in one file and was skipped in another
has run; with --all-run none may have been skipped in all. What failed beside others and passed in the file of tests that were
repeated alone has passed, and is listed."""

import argparse
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path


def outcome_of(case: ET.Element) -> tuple[str, str]:
    """Return "passed", "failed" or "skipped", and why."""
    if case.get("status") in ("notrun", "disabled"):  # CTest: why, the test itself has printed
        return "skipped", " ".join((case.findtext("system-out") or "not run").split())[:200]
    for name, outcome in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        if (found := case.find(name)) is not None:
            return outcome, " ".join((found.get("message") or found.text or "").split())[:200]
    return "passed", ""


REPEATED = "pytest-again.xml"
MOST_REPEATED = 10  # of more that fail, the machine's load is not the cause


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all-run", action="store_true", help="fail where a test was skipped in all files that know it")
    parser.add_argument("--repeat", action="store_true", help="only say, by the exit code 0, whether to repeat what failed")
    parser.add_argument("files", nargs="+", type=Path)
    asked = parser.parse_args()
    worst = ("skipped", "passed", "failed")
    outcomes: dict[str, tuple[str, str]] = {}
    missing = [str(path) for path in asked.files if not path.is_file() and path.name != REPEATED]
    for path in sorted(asked.files, key=lambda path: path.name == REPEATED):
        for case in ET.parse(path).iter("testcase") if path.is_file() else ():
            test = "::".join(dict.fromkeys(filter(None, (case.get("classname"), case.get("name")))))
            new, known = outcome_of(case), outcomes.get(test, ("skipped", ""))
            if path.name == REPEATED and (new[0], known[0]) == ("passed", "failed"):
                print(f"passed alone, failed beside others: {test}: {known[1]}")
                outcomes[test] = new
            else:
                outcomes[test] = max(new, known, key=lambda one: worst.index(one[0]))
    if asked.repeat:
        return int(not 0 < [outcome for outcome, _ in outcomes.values()].count("failed") <= MOST_REPEATED)
    for why, count in Counter(why for outcome, why in outcomes.values() if outcome == "skipped").most_common():
        print(f"skipped {count}: {why}")
    skipped = [test for test, (outcome, _) in outcomes.items() if outcome == "skipped"]
    for test, (outcome, why) in outcomes.items():
        if outcome == "failed":
            print(f"FAILED {test}: {why}")
    for name in missing:
        print(f"FAILED: {name} was not written: these tests did not run to their end")
    if asked.all_run:
        print(*(f"SKIPPED everywhere: {test}" for test in skipped), sep="\n", end="\n" if skipped else "")
    counts = Counter(outcome for outcome, _ in outcomes.values())
    print(f"{counts['passed']} passed, {counts['failed'] + len(missing)} failed, {counts['skipped']} skipped")
    return int(bool(counts["failed"] or missing or not counts["passed"] or (asked.all_run and skipped)))


if __name__ == "__main__":
    sys.exit(main())
