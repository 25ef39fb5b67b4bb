"""A way to the service for clients that cannot be told a token: a port that adds it to each request, and changes
nothing else but that a connection carries one request.

    with TokenProxy(running) as proxy:
        … http://localhost:{proxy.port}/mcp …
"""

import socket
import threading


class TokenProxy:
    def __init__(self, running):
        self._to = running.address
        self._line = f"Authorization: Bearer {running.token}\r\nConnection: close\r\n".encode()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                data = client.recv(65536)
                if not data:
                    return
                head += data
            line, _, rest = head.partition(b"\r\n")
            fields, _, body = rest.partition(b"\r\n\r\n")
            kept = [field for field in fields.split(b"\r\n") if not field.lower().startswith(b"connection:")]
            with socket.create_connection(self._to) as server:
                server.sendall(line + b"\r\n" + self._line + b"\r\n".join(kept) + b"\r\n\r\n" + body)
                threading.Thread(target=self._pump, args=(client, server), daemon=True).start()
                self._pump(server, client)

    @staticmethod
    def _pump(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            # The client is gone: so is what it asked for.
            for end in (source, target):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
