"""A reader of QR codes that has not been damaged, written from the standard (ISO/IEC 18004)."""

import numpy as np

# Blocks of codewords, and codewords of data in each, by version and at level M (all of one size).
BLOCKS = {2: (1, 28), 3: (1, 44), 4: (2, 32), 5: (2, 43), 6: (4, 27)}
MASKS = (
    lambda y, x: (y + x) % 2,
    lambda y, x: y % 2,
    lambda y, x: x % 3,
    lambda y, x: (y + x) % 3,
    lambda y, x: (y // 2 + x // 3) % 2,
    lambda y, x: y * x % 2 + y * x % 3,
    lambda y, x: (y * x % 2 + y * x % 3) % 2,
    lambda y, x: ((y + x) % 2 + y * x % 3) % 2,
)


def read_code(modules):
    """Return the text of a code, given which of its squares are dark."""
    size = len(modules)
    version = (size - 17) // 4
    level_and_mask = "".join(str(int(dark)) for dark in modules[8, :5])
    number = int(level_and_mask, 2) ^ 0b10101
    assert number >> 3 == 0b00, "a code at level M"
    flipped, taken = MASKS[number & 7], functional(version)
    bits = [modules[y, x] ^ (flipped(y, x) == 0) for y, x in places(size) if not taken[y, x]]
    words = np.packbits(np.array(bits[: len(bits) // 8 * 8], dtype=bool))
    blocks, length = BLOCKS[version]
    data = words[: blocks * length].reshape(length, blocks).T.tobytes()
    stream = "".join(f"{byte:08b}" for byte in data)
    assert stream[:4] == "0100", "bytes"
    count = int(stream[4:12], 2)
    return bytes(int(stream[12 + 8 * i : 20 + 8 * i], 2) for i in range(count)).decode()


def functional(version):
    """Which squares hold no data: finders with the format, timing, alignment, and one that is always dark."""
    size = 17 + 4 * version
    taken = np.zeros((size, size), dtype=bool)
    taken[:9, :9] = taken[:9, -8:] = taken[-8:, :9] = True
    taken[6] = taken[:, 6] = True
    taken[size - 9 : size - 4, size - 9 : size - 4] = True
    return taken


def places(size):
    """The squares in the order of the bits: two columns at a time from the right, up and down in turn."""
    upwards = True
    for right in [*range(size - 1, 6, -2), 5, 3, 1]:
        for y in range(size - 1, -1, -1) if upwards else range(size):
            yield from ((y, right), (y, right - 1))
        upwards = not upwards
