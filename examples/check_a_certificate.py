"""A certificate checked from Python; and what happens when somebody claims more than is true.

    python examples/check_a_certificate.py
"""

import tempfile
from pathlib import Path

import formwright


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "times-mean"
        formwright.build("x * mean(x)", tokens=2, resolution=4, norm="l2", construction="yun", precision="f64", out=folder)
        verdict = formwright.check(folder)
        print(verdict)
        assert verdict.accepted
        certificate = folder / "certificate.fwc"
        lines = certificate.read_text().splitlines()
        bound = next(line for line in lines if line.startswith("bound "))
        certificate.write_text("\n".join("bound 0" if line == bound else line for line in lines) + "\n")
        verdict = formwright.check(folder)
        print(verdict)
        assert verdict.verdict == "rejected"


if __name__ == "__main__":
    main()
