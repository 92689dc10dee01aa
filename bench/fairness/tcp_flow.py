#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tcp_flow.py receive PORT | send ADDRESS PORT: one TCP connection with the kernel's congestion control that is never short of bytes."""
import socket
import sys
import time

PIECE = bytes(256 << 10)

if sys.argv[1] == "receive":
    with socket.create_server(("", int(sys.argv[2]))) as server:
        connection, _ = server.accept()
        with connection:
            while connection.recv(len(PIECE)):
                pass
else:
    end = time.monotonic() + 10
    while True:
        try:
            connection = socket.create_connection((sys.argv[2], int(sys.argv[3])))
            break
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
    with connection:
        while True:
            connection.sendall(PIECE)
