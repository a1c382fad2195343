# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""link_cases.py BUILD tc|wire: the delay and the rate that were asked for are those that programs see, a host's link is shared
by what runs there, and hosts that do not share one do not share its rate."""

import sys

from testing import HERE, Failed, bed, check, main, running, steadily

MEASURE = f"{sys.executable} {HERE / 'measure.py'}"


def numbers(build, options, line, limit=60):
    told = bed(build, options, ["sh", "-c", line], limit)
    try:
        return [float(x) for x in told.out.split()]
    except ValueError:
        raise Failed(f"{line} on {options}: {told}") from None


def delay(build, link):
    none = numbers(build, f"-n 2 --link {link}", f"{MEASURE} rtt nigh-1")[1]
    for us in (200, 2000):
        least, median = numbers(build, f"-n 2 --link {link} --delay {us}us", f"{MEASURE} rtt nigh-1")
        print(f"{link}: delay {us} us a link: round trip least {least:.0f}, median {median:.0f} us; {none:.0f} without")
        check(least >= 4 * us, f"a round trip of {least} us over four links of {us} us")
        check(least <= 4 * us + none + 1000, f"a round trip of {least} us, {4 * us} us of which are delay, {none} us the machine's")


def rate(build, link):
    for mbit in (1000, 100):
        one, *two = numbers(build, f"-n 2 --link {link} --rate {mbit}mbit",
                            f"{MEASURE} rate nigh-1 5001 0.7; {MEASURE} rate nigh-1 5002,5003 0.7")
        print(f"{link}: rate {mbit} Mbit/s: one sender {one}, two senders of a host {two}")
        check(0.6 * mbit < one < 1.05 * mbit, f"{one} of {mbit} Mbit/s")
        check(len(two) == 2 and 0.6 * mbit < sum(two) < 1.1 * mbit, f"two senders of one host: {two} of {mbit} Mbit/s")
    # Two pairs of hosts: each has a link of its own. Two senders to one host: its link is shared.
    at = "at=$(($(date +%s) + 2)); "
    pair = "$NIGH_HOSTS/enter {} " + MEASURE + " rate {} {} 0.7 $at"
    apart = numbers(build, f"-n 4 --link {link} --rate 100mbit",
                    f"{at}{pair.format('nigh-1', 'nigh-2', 5001)} & {pair.format('nigh-0', 'nigh-3', 5002)}; wait")
    into = numbers(build, f"-n 3 --link {link} --rate 100mbit",
                   f"{at}{pair.format('nigh-1', 'nigh-2', 5001)} & {pair.format('nigh-0', 'nigh-2', 5002)}; wait")
    print(f"{link}: 100 Mbit/s, two pairs of hosts {apart}, two hosts to one {into}")
    check(len(apart) == 2 and min(apart) > 60, f"two pairs of hosts share what they should not: {apart}")
    check(len(into) == 2 and sum(into) < 120, f"two hosts together send more to one than its link takes: {into}")


def test():
    build, link = sys.argv[1:]
    steadily(rate, build, link)
    if link == "tc":
        with running(build, "-n 1 --link tc --delay 1ms", ["true"]) as process:
            if process.wait(30) == 77:
                print("tc: this kernel has no netem, so the delay is not tested")
                return
    steadily(delay, build, link)


main(test)
