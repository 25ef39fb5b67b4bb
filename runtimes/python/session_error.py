"""What is told of an error in a cell: its traceback as Python prints it, and the same in parts."""

import posix
import sys

FOLDER = __file__.rpartition("/")[0] + "/"
TEXT_MAX = 1 << 20  # characters of a traceback that are printed
MESSAGE_MAX = 16 << 10
FRAMES_MAX = 50  # frames told of, at either end
CHAIN_MAX = 100  # causes of causes
MARK = "\n[… {} more characters …]\n"


def is_cell(name):
    return name.startswith("<cell ")


def cleaned(trace):
    """Without the frames of what runs cells: they stand before the cell's first."""
    first = trace
    while first and not is_cell(first.tb_frame.f_code.co_filename):
        first = first.tb_next
    if first:
        return first
    while trace and trace.tb_frame.f_code.co_filename.startswith(FOLDER):
        trace = trace.tb_next
    return trace


def clean(error, depth=0):
    while error is not None and depth < CHAIN_MAX:
        error.__traceback__ = cleaned(error.__traceback__)
        for other in getattr(error, "exceptions", ()):
            if isinstance(other, BaseException):
                clean(other, depth + 1)
        error, depth = error.__cause__ or error.__context__, depth + 1


def shortened(text, most):
    if len(text) <= most:
        return text
    return text[: most // 2] + MARK.format(len(text) - most) + text[-most // 2 :]


def printed(error):
    """Prints the traceback, as a cell's own sys.excepthook does if it set one."""
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.excepthook is not sys.__excepthook__:
        sys.excepthook(type(error), error, error.__traceback__)
        return
    import traceback

    text = shortened("".join(traceback.format_exception(type(error), error, error.__traceback__)), TEXT_MAX)
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except Exception:
        raw(text)


def raw(text):
    try:
        posix.write(2, text.encode("utf-8", "backslashreplace"))
    except OSError:
        pass


def named(kind):
    module = kind.__module__
    return kind.__qualname__ if module in ("builtins", "__main__") else f"{module}.{kind.__qualname__}"


def frames_of(trace):
    """The frames from the outermost, without the middle of very many; their traces; and how many there were."""
    import linecache

    found = []
    while trace:
        found.append(trace)
        trace = trace.tb_next
    count = len(found)
    if count > 2 * FRAMES_MAX:
        found = found[:FRAMES_MAX] + found[-FRAMES_MAX:]
    out = []
    for each in found:
        code, line = each.tb_frame.f_code, each.tb_lineno
        file = code.co_filename
        text = linecache.getline(file, line, each.tb_frame.f_globals).strip() if line else ""
        user = is_cell(file) or file.startswith("/sandbox/")
        out.append({"file": file, "line": line, "function": code.co_name, "text": text[:1000], "user": user})
    return out, found, count


def column_of(trace):
    """Where in its line, from 1; None where Python does not know (before 3.11)."""
    positions = getattr(trace.tb_frame.f_code, "co_positions", None)
    if not positions or trace.tb_lasti < 0:
        return None
    for i, (_, _, column, _) in enumerate(positions()):
        if i == trace.tb_lasti // 2:
            break
    if column is None:
        return None
    import linecache

    line = linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno).encode("utf-8", "replace")
    return len(line[:column].decode("utf-8", "replace")) + 1  # Python counts bytes


def parts(error):
    """The error as an object of the protocol."""
    try:
        message = str(error)
    except Exception:
        message = "<exception str() failed>"
    frames, traces, count = frames_of(error.__traceback__)
    told = {"type": named(type(error)), "message": message, "file": None, "line": None, "column": None}
    if isinstance(error, SyntaxError) and error.lineno:
        told |= {"message": str(error.msg), "file": error.filename, "line": error.lineno, "column": error.offset}
    else:
        own = [i for i, frame in enumerate(frames) if frame["user"]]
        if frames:
            at = own[-1] if own else -1
            told |= {"file": frames[at]["file"], "line": frames[at]["line"], "column": column_of(traces[at])}
    told["message"] = shortened(told["message"], MESSAGE_MAX)
    return told | {"frames": frames, "frame_count": count}


def report(error):
    """Prints it; the payload of the answer, and the exit code."""
    exit = 130 if isinstance(error, KeyboardInterrupt) else 1
    kind = "Exception"
    try:
        kind = named(type(error))
        clean(error)
        try:
            printed(error)
        except BaseException:  # a cell took apart what prints it
            raw(f"{kind}\n")
        from json import dumps

        body = dumps(parts(error), ensure_ascii=False).encode("utf-8", "replace")
    except BaseException:
        name = kind.encode("ascii", "replace")
        body = b'{"type":"%s","message":"","file":null,"line":null,"column":null,"frames":[]}' % name
    return body, exit
