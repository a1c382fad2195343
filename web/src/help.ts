// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Help for each view: how its pictures are read, which commands fill it, and its words (docs/glossary.md; a test compares them).
export interface Help {
  read: string[];
  commands: string[];
  terms: string[];
}

export const terms: Record<string, string> = {
  PU: 'processing unit: what the kernel schedules a thread on (hwloc\'s term)',
  core: 'one or more PUs that share execution units',
  'NUMA node': 'PUs and the memory that is local to them',
  host: 'a computer of a cluster',
  link: 'a connection between two NUMA nodes, or two hosts, with a bandwidth and a latency',
  plan: 'which thread, rank or page goes to which place; a pure function of machine and demand',
  policy: 'how threads and pages are assigned to NUMA nodes: paper, improved, hops, memory-only',
  rank: 'a process of an MPI or space job. In OpenSHMEM and chare programs: PE',
  'one copy': "a message that moves from the sender's buffer to the receiver's without a buffer between them",
  reason: 'why a call was left to the library: unshared, distant, type, ...',
  'shared, private': "memory that peers can reach; memory that they can't",
  PE: 'processing element: a thread or process that runs one entry method at a time',
  'entry method': 'a method of a chare that can be called from anywhere',
  meter: 'a way to measure who accesses which memory: processor samples, page faults, /proc',
  subject: 'one contender of a benchmark; the baseline is the program or library without nigh',
  round: 'one run of every subject, by turns; ratios are taken within a round',
};

export const helps: Record<string, Help> = {
  now: {
    read: [
      'The tree is this computer: boxes hold what is inside them. A coloured PU is one on which a thread of the program ran when it was last looked at; the number is its process.',
      'A thread that was seen on another PU than before has moved: it lost what its caches held. “nigh run” binds threads, so that they stay.',
      'Several runs that were kept (“Keep this page”) stand side by side when they are given to one “nigh report”.',
    ],
    commands: ['nigh run --web -- mpirun -n 4 ./app', 'nigh report first.html second.html'],
    terms: ['PU', 'core', 'NUMA node', 'rank'],
  },
  gains: {
    read: [
      'A ratio is the time with nigh over the time without: 0.80 is a fifth less time. Left of 1 nigh is faster.',
      'Of a program the line is the 95 % interval of the ratio. If it crosses 1, no difference can be seen: more runs make it shorter.',
      'Of a benchmark the line goes from the best of its cases to the worst; each case is among the benchmarks.',
    ],
    commands: ['nigh compare --json -- mpirun -n 4 ./app > app.json', 'nigh bench mpi-pingpong --save bench.json'],
    terms: ['subject', 'round'],
  },
  machine: {
    read: [
      'The tree shows what shares what: PUs in cores, cores below caches, all in packages and NUMA nodes. Under “Show on it” a plan or the threads that run now are drawn on the PUs.',
      'In a matrix a row is the NUMA node of the CPUs, a column the one of the memory. The two directions may differ. Hatched figures were not measured.',
    ],
    commands: ['nigh machine --json > machine.json', 'nigh plan 2x4 --json > plan.json', 'nigh ps --json > ps.json'],
    terms: ['PU', 'core', 'NUMA node', 'link', 'plan'],
  },
  messages: {
    read: [
      'A row is the rank that sends, a column the rank that receives. The scale is logarithmic: each step of the colour is a factor. The lines part hosts.',
      'A dark band beside the diagonal is talk between neighbours; dark cells on the other side of a line cross the network, of a dashed line to another package. Another map of the ranks may bring them to one host.',
      'Messages that the library carries, and not nigh, are of small size, go to another host, or have a reason in Coverage.',
    ],
    commands: ['nigh run --record record -- mpirun -n 4 ./app', 'nigh plan --ranks record --nodes 4 --json > map.json'],
    terms: ['rank', 'host', 'plan'],
  },
  coverage: {
    read: [
      'A bar is one MPI function, as long as the bytes that it moved. Filled is what nigh carried, hatched is what it left to the MPI library, with the reason.',
      'Left to the library is not slower than without nigh: it is the same.',
    ],
    commands: ['nigh run --explain --json --explain-file account.json -- mpirun -n 4 ./app'],
    terms: ['one copy', 'reason', 'shared, private', 'rank', 'host'],
  },
  decisions: {
    read: [
      'A square is the gain of speed that watch predicted when it decided, a disc what the same model says of where accesses went afterwards. Neither is a time: only the program can tell its speed.',
      'What turned out worse is taken back.',
    ],
    commands: ['nigh watch --web -- ./app', 'nigh watch --log watch.log -- ./app'],
    terms: ['NUMA node', 'link', 'policy', 'meter'],
  },
  time: {
    read: [
      'All pictures of a run have one time axis. Drag over a chart to look closer, double click for all; by keyboard plus, minus, arrows and Home.',
      'In the rows a rank that is pale where others are dark is outside MPI while they wait: it has more to do, or it runs more slowly. Its CPU time tells which: below one PU it sleeps, reads a disk, or shares its PU.',
      'Of a message-driven program an arrow is a message to another PE, from when it was sent to when the run that it was for began. Long arrows that end together show a PE that is behind. Look closer, and the slowest of that part of the time are drawn.',
      'For a rank that is late, see on which host and package it ran (Machine, if the record is in the page), and whom it waits for (Messages).',
    ],
    commands: ['nigh run --record record -- mpirun -n 4 ./app', './chare-program --chare-trace trace.json'],
    terms: ['rank', 'PU', 'PE', 'entry method'],
  },
  benchmarks: {
    read: [
      'A disc is measured with cores that share a cache, a ring with cores far apart; a square or a dashed line is predicted by a model, a cross was published. Lines through them show the spread.',
      'Both axes are logarithmic where a title says so.',
    ],
    commands: ['nigh bench --list', 'nigh bench mpi-pingpong --save bench.json'],
    terms: ['subject', 'round'],
  },
  models: {
    read: [
      'Nothing here was timed but what is called measured. The sliders choose the size of the matrix and the number of hosts; the picture shows the way that the model finds fastest there, and how its time is made up.',
    ],
    commands: ['nigh plan --transpose 4096x4096 --nodes 4 --curves --json > plan.json', 'nigh bench placement --save placement.json'],
    terms: ['host', 'NUMA node', 'link', 'policy'],
  },
};
