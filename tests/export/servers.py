# SPDX-License-Identifier: MIT
"""Servers on a port of their own, for the tests that ask them."""
import socket
import subprocess
import time
import urllib.request


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(command, ready):
    """The server, once `ready` (an address) answers; None when it does not start here."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(300):
        try:
            urllib.request.urlopen(ready).read()
            return server
        except OSError:
            if server.poll() is not None:
                return None
            time.sleep(0.1)
    stop(server)
    return None


def stop(server):
    server.terminate()
    server.wait()
