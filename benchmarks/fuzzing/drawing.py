"""What hostile inputs are made of: words, numbers, JSON values, and bytes that are changed."""

from __future__ import annotations

from npu_reference.options import OPTIONS

__all__ = ["NAMES", "changed", "mutated", "text", "value"]


NAMES = sorted(OPTIONS)
WORDS = [
    "", " ", "0", "1", "-1", "true", "None", "null", "nan", "1e999", "9" * 30, "9" * 5000, "a" * 3000, "[", "]", "{",
    "}", ",", ";", ":", "=", "'", '"', "\\", "\n", "\r", "\0", "\x1b[31m", "\u202e", "\ud800", "\udcff", "\u2028",
    "名", "..", "/", "../..", "/dev/null", "~", "*", "?", "%s", "%n", "{{7*7}}", "<script>", "add", "mul", "x",
    "in_out_pair", "[[]]", "[['a'],['b']]", "force_fp16", "allow_mix_precision", "16 * 1024", "0x10", "1_000",
    "\u0661", "--", "-o", "@", "#", "\t", "Relu", "MatMul",
]  # fmt: skip
NUMBERS = [
    0, 1, -1, 2, 7, 255, 1 << 31, -(1 << 31), 1 << 62, (1 << 63) - 1, 1 << 63, 1 << 64, 10**30, 10**400, 0.5, -0.0,
    1e308, float("inf"), float("nan"),
]  # fmt: skip


def text(r):
    """A text of some words, now and then with a character of anywhere."""
    parts = [r.choice(WORDS) for _ in range(r.randrange(4))]
    if r.random() < 0.2:
        parts.append(chr(r.choice([r.randrange(0x20), r.randrange(0x110000)])))
    return "".join(parts)


def value(r, depth=0):
    """A JSON value."""
    kind = r.randrange(8 if depth < 4 else 5)
    if kind < 2:
        return text(r)
    if kind == 2:
        return r.choice(NUMBERS)
    if kind == 3:
        return r.choice([True, False, None])
    if kind == 4:
        return r.choice(NAMES)
    if kind == 5:
        return [value(r, depth + 1) for _ in range(r.randrange(4))]
    if kind == 6:
        return {"field": r.choice("bifsx"), "value": value(r, depth + 1)}
    return {
        r.choice([text(r), r.choice(NAMES), "class", "arguments"]): value(r, depth + 1) for _ in range(r.randrange(4))
    }


def mutated(r, data):
    """The bytes with some changed, cut out, doubled or put in."""
    data = bytearray(data)
    for _ in range(r.randrange(1, 6)):
        at = r.randrange(len(data) + 1)
        kind = r.randrange(6)
        if kind == 0 and data:
            data[at % len(data)] = r.randrange(256)
        elif kind == 1:
            del data[at : at + r.randrange(1, 20)]
        elif kind == 2:
            data[at:at] = data[at : at + r.randrange(1, 40)]
        elif kind == 3:
            data[at:at] = r.choice(WORDS).encode("utf-8", "surrogatepass")
        elif kind == 4:
            data[at:at] = bytes(r.randrange(256) for _ in range(r.randrange(1, 6)))
        else:
            del data[at:]
    return bytes(data)


def changed(r, found):
    """A JSON value with one part replaced."""
    if isinstance(found, dict) and found and r.random() < 0.8:
        key = r.choice(sorted(found))
        return {**found, key: changed(r, found[key])}
    if isinstance(found, list) and found and r.random() < 0.8:
        at = r.randrange(len(found))
        return [*found[:at], changed(r, found[at]), *found[at + 1 :]]
    return value(r)
