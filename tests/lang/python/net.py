import errno
import socket

try:
    socket.create_connection(("192.0.2.1", 80), timeout=2).close()
    print("connected")
except OSError as e:
    print("unreachable" if e.errno == errno.ENETUNREACH else "denied")
