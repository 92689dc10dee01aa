#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""own_queue.py receiver|sender DEVICE...: what arrives at the receiving end of a veth pair waits in a queue of its own.

Without, it waits in the one that each processor has for all devices of all namespaces (net.core.netdev_max_backlog, 1000
packets): too little for one burst to 64 hosts. A receiver has its own where it has GRO (since Linux 5.13) and the sender
leaves it no segments of TCP to cut: `ethtool -K DEVICE gro on` and `ethtool -K DEVICE tso off`.
"""
import array
import fcntl
import socket
import struct
import sys

SIOCETHTOOL, ETHTOOL_STSO, ETHTOOL_SGRO = 0x8946, 0x1F, 0x2C

control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
what = (ETHTOOL_SGRO, 1) if sys.argv[1] == "receiver" else (ETHTOOL_STSO, 0)
for device in sys.argv[2:]:
    command = array.array("B", struct.pack("=II", *what))
    request = struct.pack("16sP", device.encode(), command.buffer_info()[0]).ljust(40, b"\0")
    fcntl.ioctl(control, SIOCETHTOOL, request)
