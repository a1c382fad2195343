# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""measure.py rtt HOST | rate HOST PORTS SECONDS [AT] | sink PORT: what a link shows to a program. `rtt` prints the least and
the median time of an echo in us, answered by the other host's kernel; `rate` starts sinks by the agent, sends to all at once
and prints what each received, in Mbit/s."""

import os
import socket
import struct
import subprocess
import sys
import threading
import time


def rtt(host, count=60):
    echo, times = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP), []
    echo.settimeout(10)
    for i in range(count):
        total = sum(struct.unpack("!4H", struct.pack("!BBHHH", 8, 0, 0, 7, i)))
        start = time.monotonic()
        echo.sendto(struct.pack("!BBHHH", 8, 0, ~(total + (total >> 16)) & 0xFFFF, 7, i), (host, 0))
        while True:
            answer = echo.recv(128)
            if answer[20] == 0 and struct.unpack("!H", answer[26:28])[0] == i:
                break
        times.append((time.monotonic() - start) * 1e6)
    times.sort()
    print(f"{times[0]:.0f} {times[len(times) // 2]:.0f}")


def sink(port):
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("", port))
    server.listen()
    print("listening", flush=True)
    connection, size, start = server.accept()[0], 0, None
    while part := connection.recv(1 << 20):
        start = start or time.monotonic()
        size += len(part)
    print(f"{size * 8e-6 / (time.monotonic() - start):.1f}", flush=True)


def rate(host, ports, seconds, at=0):
    agent = [os.path.join(os.environ["NIGH_HOSTS"], "enter"), host, sys.executable, os.path.abspath(__file__), "sink"]
    sinks = [subprocess.Popen(agent + [port], stdout=subprocess.PIPE, text=True) for port in ports]
    for process in sinks:
        process.stdout.readline()
    sockets = [socket.create_connection((host, int(port))) for port in ports]
    for one in sockets:  # the machine's may be bbr, which measures the link itself and leaves up to half of it unused
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
    time.sleep(max(0, at - time.time()))  # several that share a link have to send at the same time
    end, block = time.monotonic() + seconds, bytes(1 << 17)

    def send(to):
        while time.monotonic() < end:
            to.sendall(block)
        to.close()

    senders = [threading.Thread(target=send, args=(s,)) for s in sockets]
    for sender in senders:
        sender.start()
    told = " ".join(process.communicate()[0].strip() for process in sinks)
    sys.stdout.write(told + "\n")  # at once: who sends beside it ends at the same time


def main(words):
    if words[0] == "rtt":
        rtt(words[1])
    elif words[0] == "sink":
        sink(int(words[1]))
    else:
        rate(words[1], words[2].split(","), *(float(word) for word in words[3:]))


main(sys.argv[1:])
