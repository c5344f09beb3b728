import subprocess
import sys


def test_results_and_what_is_told_keep_their_order_in_one_pipe() -> None:
    program = "from rankwise.progress import tell; print('one'); tell('two'); print('three'); tell('four')"
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )
    assert done.stdout.split() == ["one", "two", "three", "four"]
