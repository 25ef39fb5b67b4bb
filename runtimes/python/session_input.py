"""The input of a cell, when it came with it."""

import posix


def fill(fd, data):
    while data:
        data = data[posix.write(fd, data) :]
    posix.lseek(fd, 0, 0)
    return fd


def file_of(data):
    """A descriptor to read this from: a file without a name, or memory where the disk is full."""
    try:
        fd = posix.open("/tmp", posix.O_TMPFILE | posix.O_RDWR | posix.O_CLOEXEC, 0o600)
        try:
            return fill(fd, data)
        except OSError:
            posix.close(fd)
    except OSError:
        pass
    return fill(posix.memfd_create("stdin"), data)
