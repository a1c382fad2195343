#!/bin/busybox sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# The first process of a NUMA guest. It mounts the host's / read-only over 9p with a tmpfs over it, and a second,
# writable share at /out; runs /out/cmd/*.sh one after the other inside, each with its own stdout, stderr and status
# file in /out; then tells QEMU to end. Nothing of a command goes to the console, so what it prints stays clean.

b=/bin/busybox
base=/out

say() { echo "numa-vm: $*"; }

give_up() {
    say "$*"
    quit
}

quit() {
    $b sync
    # QEMU's isa-debug-exit device: a write to port 0xf4 ends it at once.
    $b printf '\001' | $b dd of=/dev/port bs=1 seek=244 count=1 conv=notrunc 2>/dev/null
    $b poweroff -f
}

mount_host() {
    $b mount -t proc proc /proc
    $b mount -t sysfs sys /sys
    $b mount -t devtmpfs dev /dev
    for module in /lib/*.ko; do
        [ -e "$module" ] || continue
        $b insmod "$module" || say "module $module could not be loaded"
    done
    options=trans=virtio,version=9p2000.L,msize=512000
    $b mount -t 9p -o "ro,$options,cache=loose" hostroot /host || give_up "the host's / could not be mounted"
    $b mount -t 9p -o "rw,$options,cache=none,access=any" out /out || give_up "the output folder could not be mounted"
    $b mount -t tmpfs tmpfs /rw
    $b mkdir /rw/upper /rw/work
    $b mount -t overlay -o lowerdir=/host,upperdir=/rw/upper,workdir=/rw/work overlay /new ||
        give_up "the overlay over the host's / could not be mounted"
}

mount_inside() {
    for folder in proc sys dev; do
        $b mkdir -p "/new/$folder"
        $b mount --bind "/$folder" "/new/$folder"
    done
    $b mkdir -p /new/dev/pts /new/dev/shm /new/run /new/tmp "/new$base"
    $b mount -t devpts devpts /new/dev/pts
    $b mount -t tmpfs tmpfs /new/dev/shm
    $b mount -t tmpfs tmpfs /new/run
    $b mount -t cgroup2 cgroup /new/sys/fs/cgroup
    $b mount -t debugfs debugfs /new/sys/kernel/debug
    $b mount -t tracefs tracefs /new/sys/kernel/tracing
    $b mount --bind /out "/new$base"
}

# The kernel's view of the tables; the host compares it with the model before it believes any result.
describe() {
    cd /sys/devices/system
    $b grep -H . cpu/cpu[0-9]*/topology/physical_package_id cpu/cpu[0-9]*/topology/thread_siblings_list \
        node/node[0-9]*/cpulist node/node[0-9]*/distance
    $b grep -H MemTotal node/node[0-9]*/meminfo
    $b cat /proc/uptime
    cd /
}

# No command starts on a guest that lacks a CPU: the host boots it once more.
all_here() {
    wanted=$($b sed -n 's/.*numa_vm\.cpus=\([0-9]*\).*/\1/p' /proc/cmdline)
    here=$($b grep -c '^processor' /proc/cpuinfo)
    [ "$here" = "${wanted:-$here}" ] || give_up "$here of $wanted CPUs came up"
}

run_all() {
    for script in /out/cmd/*.sh; do
        name=${script##*/}
        name=${name%.sh}
        $b chroot /new /bin/sh "$base/cmd/$name.sh" </dev/null >"/out/$name.out" 2>"/out/$name.err"
        echo $? >"/out/$name.part"
        $b mv "/out/$name.part" "/out/$name.status"
    done
}

mount_host
mount_inside 2>/dev/null
$b hostname numa-vm
$b ifconfig lo 127.0.0.1 up
describe >/out/guest
all_here
run_all
quit
