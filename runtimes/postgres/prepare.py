"""Makes the cluster that every run starts from: prepare.py INITDB.

What a server keeps on disk is as initdb leaves it, shut down cleanly: a run
has nothing to recover.
"""

import os
import subprocess
import sys

TARGET = "/sandbox/output/data"

# The server lives as long as one program and its files are in memory: nothing is flushed. What a program can see of the
# rest is as it is by default. initdb reads them too, for its own servers.
SETTINGS = """\
shared_memory_type = sysv               # anonymous shared memory may be closed where the kernel counts no memory
dynamic_shared_memory_type = posix
listen_addresses = ''
unix_socket_directories = '/tmp/.pg'
max_connections = 20
shared_buffers = 16MB
huge_pages = off
max_files_per_process = 256             # the server tries so many at its start
fsync = off
synchronous_commit = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
min_wal_size = 2MB
max_wal_size = 64MB
checkpoint_timeout = 1h
autovacuum = off                        # its first round would come after the end
max_logical_replication_workers = 0
max_parallel_workers_per_gather = 0     # one core
jit = off
update_process_title = off
log_min_messages = fatal
log_min_error_statement = panic
log_timezone = 'UTC'
timezone = 'UTC'
datestyle = 'iso, mdy'
lc_messages = 'C.UTF-8'
lc_monetary = 'C.UTF-8'
lc_numeric = 'C.UTF-8'
lc_time = 'C.UTF-8'
default_text_search_config = 'pg_catalog.english'
"""


def share(initdb):
    """A copy, by links, of the directory initdb takes its input from, with our settings in it."""
    shown = subprocess.run([initdb, "--show", "-D", TARGET], capture_output=True, text=True)
    lines = (shown.stdout + shown.stderr).splitlines()
    path = next((line.partition("=")[2] for line in lines if line.startswith("share_path=")), None)
    if not path:
        sys.exit(f"{initdb} does not tell where its files are: {shown.stderr.strip()}")
    copy = "/tmp/share"
    os.mkdir(copy)
    for name in os.listdir(path):
        if name != "postgresql.conf.sample":
            os.symlink(os.path.join(path, name), os.path.join(copy, name))
    with open(os.path.join(copy, "postgresql.conf.sample"), "w") as file:
        file.write(SETTINGS)
    return copy


def main(initdb):
    command = [initdb, "-D", TARGET, "-L", share(initdb), "-U", "postgres", "--auth=trust", "--encoding=UTF8"]
    command += ["--locale=C.UTF-8", "--wal-segsize=1", "--no-sync", "--no-instructions"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stdout}")
    # Segments of the log that were made ahead: every run would copy them.
    log = os.path.join(TARGET, "pg_wal")
    for name in sorted(n for n in os.listdir(log) if len(n) == 24)[1:]:
        os.unlink(os.path.join(log, name))


main(*sys.argv[1:])
