"""Sort three numbers and look inside: the residual stream after every stage, coordinate by coordinate.

    python examples/sort_and_look_inside.py
"""

import numpy

import formwright


def main() -> None:
    network = formwright.build("sort(x) on integers 0..4", tokens=3)
    x = numpy.array([[3.0], [0.0], [2.0]])
    print(network.claim)
    for coordinate, meaning in network.coordinates:
        print(f"  {coordinate}: {meaning}")
    with numpy.printoptions(precision=3, suppress=True):
        for stage, state in network.trace(x).items():
            print(f"{stage}\n{state}")
        print("output", network(x).ravel())
    assert network(x).round().ravel().tolist() == [0, 2, 3]


if __name__ == "__main__":
    main()
