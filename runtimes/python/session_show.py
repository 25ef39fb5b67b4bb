"""Rich results of Python: values as text, html, images and rows; matplotlib's figures; display()."""

import io
import sys
from _json import encode_basestring as quote

WIDTH = 80
TEXT_MAX = 1 << 20  # characters of a text
IMAGE_MAX = 3 << 20  # bytes of an image
BUNDLE_MAX = 7 << 20  # bytes of all of one result; the keeper takes 8 MiB
ITEMS_MAX = 1000  # of a container, as IPython has it
DEPTH_MAX = 50
ROWS_MAX = 1000  # of a table as JSON
CELLS_MAX = 100_000

METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_latex_": "text/latex",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_json_": "application/json",
}
BRACKETS = {list: "[]", tuple: "()", set: "{}", frozenset: ("frozenset({", "})"), dict: "{}"}
ENDLESS = 1 << 30


# Values as text


def leaf(value):
    """repr(), of a long text only so much as is shown."""
    if type(value) in (str, bytes, bytearray) and len(value) > TEXT_MAX:
        return cut(repr(value[:TEXT_MAX]), len(value) - TEXT_MAX)
    return repr(value)


def cut(text, more=0):
    if len(text) <= TEXT_MAX and not more:
        return text
    return f"{text[:TEXT_MAX]} [… {max(0, len(text) - TEXT_MAX) + more} more characters]"


def is_plain(value):
    """Whether it is a container that repr() writes with brackets, and not one of a class of the cell's."""
    return type(value) in BRACKETS and (len(value) > 0 or type(value) not in (set, frozenset))


def flat(value, room, seen=()):
    """repr() on one line, or None if that has more characters than there is room for; takes no longer than that."""
    if not is_plain(value):
        text = leaf(value)
        return text if len(text) <= room and "\n" not in text else None
    first, last = BRACKETS[type(value)]
    if id(value) in seen:
        return first + "..." + last
    room -= len(first) + len(last) - 2
    if 3 * len(value) > room + 2 or len(seen) > DEPTH_MAX:
        return None
    parts, seen = [], (*seen, id(value))
    for item in value:
        text = flat(item, room, seen)
        if text is not None and type(value) is dict:
            other = flat(value[item], room - len(text) - 2, seen)
            text = None if other is None else f"{text}: {other}"
        if text is None:
            return None
        room -= len(text) + 2
        parts.append(text)
        if room < -2:
            return None
    comma = "," if type(value) is tuple and len(parts) == 1 else ""
    return first + ", ".join(parts) + comma + last


class Full(Exception):
    """There is as much text as is shown."""


class Writer:
    """A value on many lines, each item on its own."""

    def __init__(self):
        self.parts, self.size = [], 0

    def put(self, text):
        self.parts.append(text)
        self.size += len(text)
        if self.size > TEXT_MAX:
            raise Full

    def write(self, value, indent, seen=()):
        text = flat(value, WIDTH - min(indent, WIDTH // 2), seen)
        if text is not None:
            self.put(text)
        elif not is_plain(value):
            self.put(leaf(value))
        elif len(seen) > DEPTH_MAX:
            self.put("...")
        else:
            self.items(value, indent, (*seen, id(value)))

    def items(self, value, indent, seen):
        first, last = BRACKETS[type(value)]
        self.put(first)
        indent += len(first)
        for count, item in enumerate(value):
            if count:
                self.put(",\n" + " " * indent)
            if count == ITEMS_MAX:
                self.put("...")
                break
            if type(value) is dict:
                key = flat(item, ENDLESS, seen) or leaf(item)
                self.put(key + ": ")
                self.write(value[item], indent + min(len(key), 40) + 2, seen)
            else:
                self.write(item, indent, seen)
        self.put("," + last if type(value) is tuple and len(value) == 1 else last)


def pretty(value):
    """As repr() says it, on several lines where one would be too long; never more than is shown."""
    if not is_plain(value):
        return cut(leaf(value))
    writer = Writer()
    try:
        writer.write(value, 0)
    except Full:
        return cut("".join(writer.parts))
    return "".join(writer.parts)


# Rich results


def images(data):
    """An image as base64; it may be that already."""
    if isinstance(data, str):
        return data.strip()
    import binascii

    return binascii.b2a_base64(data, newline=False).decode()


def rows(frame):
    """A DataFrame or Series of pandas as columns and rows."""
    import json

    count = len(frame)
    frame = frame.to_frame() if frame.ndim == 1 else frame
    width = max(1, frame.shape[1])
    most = min(ROWS_MAX, max(1, CELLS_MAX // width))
    part = frame.head(most)
    if type(part.index).__name__ != "RangeIndex" or part.index.name is not None:
        part = part.rename_axis(index="index") if part.index.name is None and part.index.nlevels == 1 else part
        part = part.reset_index() if not set(part.index.names) & set(part.columns) else part
    part = part.set_axis([name if isinstance(name, str) else str(name) for name in part.columns], axis=1)
    part.columns = unique(list(part.columns))
    split = json.loads(part.to_json(orient="split", date_format="iso", default_handler=str))
    told = {"columns": split["columns"], "rows": split["data"], "row_count": count}
    return told | ({"truncated": True} if count > most else {})


def unique(names):
    seen, out = set(), []
    for name in names:
        key, number = name, 1
        while key in seen:
            number += 1
            key = f"{name}_{number}"
        seen.add(key)
        out.append(key)
    return out


def is_of(value, module, *names):
    """Whether it is of a class, found without importing where it is from."""
    found = sys.modules.get(module)
    return found is not None and any([isinstance(value, getattr(found, name, ())) for name in names])


def parts_of(value):
    """{mime: data} without text/plain."""
    kind, found = type(value), {}
    method = getattr(kind, "_repr_mimebundle_", None)
    if callable(method):
        made = method(value, include=None, exclude=None)
        made = made[0] if isinstance(made, tuple) else made
        found.update(made if isinstance(made, dict) else {})
    for name, mime in METHODS.items():
        method = getattr(kind, name, None)
        if mime in found or not callable(method):
            continue
        try:
            data = method(value)
        except NotImplementedError:
            continue
        data = data[0] if isinstance(data, tuple) else data
        if data is not None:
            found[mime] = data
    if "pandas" in sys.modules and is_of(value, "pandas", "DataFrame", "Series"):
        found.setdefault("application/json", rows(value))
    if "matplotlib.figure" in sys.modules and is_of(value, "matplotlib.figure", "Figure"):
        found.update(drawn(value))
    return found


def encoded(found, text):
    """The payload of {mime: data} and a text; what is over the bounds is left out, and the text says so."""
    body, size, told = {}, 0, []
    for mime, data in found.items():
        if mime == "application/json" or mime.endswith("+json") and not isinstance(data, str):
            import json

            one = json.dumps(data, ensure_ascii=False, allow_nan=False, default=str)
        elif mime.startswith("image/") and mime != "image/svg+xml":
            one = quote(images(data))
        else:
            one = quote(data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data))
        one = one.encode("utf-8", "replace")
        most = IMAGE_MAX * 4 // 3 + 4 if mime.startswith("image/") else TEXT_MAX * 2
        if len(one) > most or size + len(one) > BUNDLE_MAX - 2 * TEXT_MAX:
            told.append(f"[{mime} of {len(one)} bytes is left out: too large]")
        else:
            body[mime] = one
            size += len(one)
    text = "\n".join([text, *told] if text else told)
    plain = quote(text).encode("utf-8", "replace")
    if len(plain) > 2 * TEXT_MAX:
        plain = quote(cut(text[: TEXT_MAX // 3], len(text) - TEXT_MAX // 3)).encode("utf-8", "replace")
    body = {"text/plain": plain, **body} if text else body
    return b"{" + b",".join([quote(mime).encode("utf-8", "replace") + b":" + one for mime, one in body.items()]) + b"}"


def described(value):
    """{mime: data} and the text."""
    found = {} if type(value) in BRACKETS else parts_of(value)
    text = found.pop("text/plain", None)
    return found, cut(text) if isinstance(text, str) else pretty(value)


def bundle(value):
    """The payload of a value's rich result."""
    return encoded(*described(value))


def display(output, objects, raw=False, include=None, exclude=None, **_more):
    """What the built-in function does."""
    for value in objects:
        if hasattr(type(value), "_ipython_display_"):
            type(value)._ipython_display_(value)
            continue
        if raw and isinstance(value, dict):
            found = {str(mime): data for mime, data in value.items()}
            text = found.pop("text/plain", "")
        else:
            found, text = described(value)
        found = {mime: data for mime, data in found.items() if include is None or mime in include}
        found = {mime: data for mime, data in found.items() if exclude is None or mime not in exclude}
        output(encoded(found, text), text)


# matplotlib

shown = []  # figures of this cell that were shown already, by id; with them, so that no id is used again


class Bounded(io.BytesIO):
    """A file in memory that takes only so much."""

    most = ENDLESS

    def write(self, data):
        if self.tell() + len(data) > self.most:
            raise Full
        return super().write(data)


def drawn(figure):
    """A figure as PNG and SVG; of too large an SVG only the PNG."""
    shown.append(figure)
    found = {}
    for form, mime, most in (("png", "image/png", ENDLESS), ("svg", "image/svg+xml", TEXT_MAX)):
        file = Bounded()
        file.most = most
        try:
            figure.savefig(file, format=form, bbox_inches="tight")
        except Full:
            continue
        found[mime] = file.getvalue()
    return found


def figures(output):
    """At the end of a cell: shows the figures that are open, and closes them."""
    pyplot = sys.modules["matplotlib.pyplot"]
    try:
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if not any([figure is other for other in shown]):
                text = repr(figure)
                output(encoded(drawn(figure), text), text)
        pyplot.close("all")
    finally:
        shown.clear()


def quiet_show():
    """pyplot.show() has nothing to do: that the figures cannot be shown would not be true."""
    import warnings

    for message in (".*non-GUI backend.*", ".*is non-interactive, and thus cannot be shown"):
        warnings.filterwarnings("ignore", message=message, category=UserWarning)
