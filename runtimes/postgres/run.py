"""Runs a script of SQL statements, one after the other, in a PostgreSQL server of its own.

    run.py POSTGRES PREPARED OUTPUTS ENTRY FILES… -- ARGS…

The server is started on the prepared cluster and ends with the box; user and
database are "postgres". The script is read as psql -f reads it, with
ON_ERROR_STOP: each statement is a transaction unless it says BEGIN, and the
first error ends the run. COPY … FROM STDIN takes the lines up to \\. that
follow it, or without them the program's standard input. Given *.sql files are
loaded before the script, in their order, unless it includes them itself.
Arguments are bound to $1, $2 … where a query has them.

Results are printed as psql prints them and written to OUTPUTS as JSON: numbers
that a double cannot hold exactly, NaN and infinities as strings, json and jsonb
as they are, everything else in PostgreSQL's own notation, \\x6869 for bytes.
"""

import sys

sys.path.insert(0, sys.argv[0].rpartition("/")[0])

import posix

SOCKETS = "/tmp/.pg"
LOG = SOCKETS + "/log"


def forget(data):
    """What a server left that was killed at the end of a run before this one, in a container."""
    for path in (SOCKETS + "/notify", data + "/postmaster.pid", LOG):
        try:
            posix.unlink(path)
        except FileNotFoundError:
            pass


def start(postgres, prepared):
    """Starts the server: its process and its directory."""
    data = prepared + "/data"
    found = posix.stat(data)
    if found.st_uid != posix.geteuid() or not posix.access(data, posix.W_OK):
        import shutil  # it has to be the server's own

        try:
            data = shutil.copytree(data, "/tmp/.pgdata")
        except FileExistsError:
            data = "/tmp/.pgdata"
        posix.chmod(data, 0o700)
    elif found.st_mode & 0o27:
        posix.chmod(data, 0o700)
    try:
        posix.mkdir(SOCKETS, 0o700)
    except FileExistsError:
        forget(data)
    files = [
        (posix.POSIX_SPAWN_OPEN, 0, "/dev/null", posix.O_RDONLY, 0),
        (posix.POSIX_SPAWN_OPEN, 1, LOG, posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND, 0o600),
        (posix.POSIX_SPAWN_DUP2, 1, 2),
    ]
    # As for systemd, if it was built for it, it says there that it is ready.
    environment = {**posix.environ, b"NOTIFY_SOCKET": SOCKETS.encode() + b"/notify"}
    # In a group of its own: an interrupt of a session's cell would end it.
    return posix.posix_spawn(postgres, [postgres, "-D", data], environment, file_actions=files, setpgroup=0), data


if __name__ == "__main__":
    process, data = start(*sys.argv[1:3])

    # The rest is loaded while the server starts.
    import session

    posix._exit(session.main(process, data))
