/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Fourier transforms over the ranks of MPI_COMM_WORLD against those of FFTW, which every rank does of the
 * whole array: one to four dimensions, complex and real, both ways, both precisions, transposed or not, in
 * place or not; and what is wrong, or has no memory, refused on every rank.
 *
 *     ranks heap|shared THREADS [WANTED]   WANTED: what nigh_fft_explain() must say of a 2-D transform
 *     ranks few-heap|few-shared THREADS    more ranks than rows: whatever one passes that has none, all do
 * the same */
#include <fftw3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nigh/fft_mpi.h>

#include "../transpose/scarce.h"

static int rank, size, failures, shared_memory, threads;

/* The arguments for arrays of no bytes: memory that is there; NULL; one pointer where the others have two,
 * two where they have one. */
static enum { memory, null, other, passings } passing;
static char nowhere[2][64];
static void* passed(void* array, size_t wanted, int second) {
  return wanted > 0 || passing == memory ? array : passing == null ? NULL : nowhere[second];
}
static size_t passed_bytes(size_t bytes, size_t wanted) {
  return wanted > 0 || passing == memory ? bytes : passing == null ? 0 : sizeof nowhere[0];
}

static void expect(int holds, const char* what) {
  if (holds) return;
  if (++failures < 10) fprintf(stderr, "rank %d: %s (%s)\n", rank, what, nigh_fft_why());
}
static void* get(size_t bytes) {
  return shared_memory ? nigh_transpose_alloc(bytes + 16, MPI_COMM_WORLD) : malloc(bytes + 16);
}
static void give(void* memory) {
  if (shared_memory) {
    nigh_transpose_free(memory);
  } else {
    free(memory);
  }
}

/* One transform: what is asked, and the whole of it, by FFTW, in double. */
struct transform {
  int dimensions, sign;
  size_t n[4];
  unsigned flags;
  int in_place;
  size_t all, half, last; /* elements, of complex numbers those of the spectrum */
  double *in, *out;       /* whole arrays without gaps: reals, or complex numbers */
};

static int is_real(const struct transform* t) { return (t->flags & NIGH_FFT_REAL) != 0; }
static int reals_in(const struct transform* t) { return is_real(t) && t->sign < 0; }
static int reals_out(const struct transform* t) { return is_real(t) && t->sign > 0; }

/* A spectrum of reals has conjugates in it where k = 0 or n / 2; so it is made from reals. */
static void reference(struct transform* t) {
  int n[4];
  t->all = 1;
  for (int i = 0; i < t->dimensions; ++i) {
    n[i] = (int)t->n[i];
    t->all *= t->n[i];
  }
  t->last = t->n[t->dimensions - 1];
  t->half = t->all / t->last * (t->last / 2 + 1);
  double* reals = fftw_alloc_real(2 * t->all + 2);
  fftw_complex* spectrum = fftw_alloc_complex(t->all + t->half);
  for (size_t i = 0; i < 2 * t->all; ++i) reals[i] = sin((double)(i * i % 9973)) + 0.25;
  if (is_real(t)) {
    fftw_plan p = fftw_plan_dft_r2c(t->dimensions, n, reals, spectrum, FFTW_ESTIMATE);
    fftw_execute(p);
    fftw_destroy_plan(p);
    if (t->sign > 0)
      for (size_t i = 0; i < t->all; ++i) reals[i] *= (double)t->all;
  } else {
    fftw_plan p = fftw_plan_dft(t->dimensions, n, (fftw_complex*)reals, spectrum, t->sign, FFTW_ESTIMATE);
    fftw_execute(p);
    fftw_destroy_plan(p);
  }
  t->in = reals_out(t) ? (double*)spectrum : reals;
  t->out = reals_out(t) ? reals : (double*)spectrum;
}

/* Element (i, j) of a part as real number `k` of the whole: where it lies there; -1: in a gap. */
static long whole(const struct transform* t, int out, const nigh_fft_part* part, size_t i, size_t j) {
  const int turned = (t->flags & (out ? NIGH_FFT_TRANSPOSED_OUT : NIGH_FFT_TRANSPOSED_IN)) != 0;
  const size_t row = part->first + i;
  if (t->dimensions == 1 && (out ? reals_out(t) : reals_in(t))) return (long)(row * part->row + j);
  if (t->dimensions == 1) {
    const size_t n1 = nigh_fft_factor(t->n[0]);
    return (long)(turned ? row + n1 * j : row * part->row + j);
  }
  if (out ? reals_out(t) : reals_in(t)) {
    const size_t length = t->in_place ? 2 * (t->last / 2 + 1) : t->last, line = j / length, at = j % length;
    if (at >= t->last) return -1;
    return (long)((row * (part->row / length) + line) * t->last + at);
  }
  const size_t columns = (is_real(t) ? t->half : t->all) / t->n[0];
  return (long)(turned ? j * columns + row : row * columns + j);
}

/* The last rank has one element more of a spectrum of reals in one dimension, behind its rows. */
static size_t beyond(const struct transform* t, int out) {
  return t->dimensions == 1 && is_real(t) && !(out ? reals_out(t) : reals_in(t)) && rank == size - 1;
}

static double at(const void* data, size_t i, unsigned flags) {
  return flags & NIGH_FFT_FLOAT ? (double)((const float*)data)[i] : ((const double*)data)[i];
}

static void fill(const struct transform* t, const nigh_fft_part* part, void* data) {
  const size_t words = reals_in(t) ? 1 : 2, more = beyond(t, 0);
  for (size_t i = 0; i < part->rows + more; ++i)
    for (size_t j = 0; j < (i < part->rows ? part->row : 1); ++j) {
      const long from = whole(t, 0, part, i, j);
      for (size_t k = 0; k < words; ++k) {
        const double value = from < 0 ? 0 : t->in[(size_t)from * words + k];
        const size_t to = (i * part->row + j) * words + k;
        if (t->flags & NIGH_FFT_FLOAT) {
          ((float*)data)[to] = (float)value;
        } else {
          ((double*)data)[to] = value;
        }
      }
    }
}

static int right(const struct transform* t, const nigh_fft_part* part, const void* data) {
  const size_t words = reals_out(t) ? 1 : 2, numbers = (is_real(t) ? t->half : t->all) * 2;
  double largest = 0, wrong = 0;
  for (size_t i = 0; i < (words == 1 ? t->all : numbers); ++i) largest = fmax(largest, fabs(t->out[i]));
  for (size_t i = 0; i < part->rows + beyond(t, 1); ++i)
    for (size_t j = 0; j < (i < part->rows ? part->row : 1); ++j) {
      const long from = whole(t, 1, part, i, j);
      for (size_t k = 0; from >= 0 && k < words; ++k)
        wrong = fmax(wrong, fabs(at(data, (i * part->row + j) * words + k, t->flags) -
                                 t->out[(size_t)from * words + k]));
    }
  return wrong <= largest * (t->flags & NIGH_FFT_FLOAT ? 3e-6 : 4e-15 * log2((double)t->all + 2));
}

static void one(struct transform t, const char* wanted) {
  nigh_fft_part in, out;
  char what[200], text[2000] = "";
  snprintf(what, sizeof what, "%d-D %zu x %zu x %zu x %zu sign %d flags %u%s", t.dimensions, t.n[0], t.n[1],
           t.n[2], t.n[3], t.sign, t.flags, t.in_place ? " in place" : "");
  reference(&t);
  expect(nigh_fft_mpi_share(t.dimensions, t.n, t.sign, t.flags, t.in_place, MPI_COMM_WORLD, &in, &out) == 0,
         what);
  const size_t bytes = in.bytes > out.bytes ? in.bytes : out.bytes;
  void *a = get(bytes), *b = t.in_place ? a : get(bytes);
  nigh_fft* plan =
      nigh_fft_mpi(t.dimensions, t.n, t.sign, t.flags, passed(a, in.bytes, 0), passed_bytes(bytes, in.bytes),
                   passed(b, out.bytes, t.in_place), passed_bytes(bytes, out.bytes), MPI_COMM_WORLD, threads);
  expect(plan != NULL, what);
  for (int round = 0; plan != NULL && round < 2; ++round) {
    if (!t.in_place) memset(b, 77, bytes);
    fill(&t, &in, a);
    expect(nigh_fft_execute(plan) == 0, what);
    expect(right(&t, &out, b), what);
    if (!t.in_place && !(t.flags & NIGH_FFT_DESTROY_INPUT)) { /* the input is as it was */
      void* again = malloc(bytes + 16);
      fill(&t, &in, again);
      expect(memcmp(a, again, in.bytes) == 0, "the input was changed");
      free(again);
    }
  }
  if (wanted != NULL) {
    nigh_fft_explain(plan, text, sizeof text);
    if (rank == 0) fputs(text, stdout);
    expect(strstr(text, wanted) != NULL, "it is done in another way than was wanted");
  }
  nigh_fft_destroy(plan);
  if (!t.in_place) give(b);
  give(a);
  fftw_free(t.in);
  fftw_free(t.out);
}

/* All ways of one shape. */
static void shape(int dimensions, size_t n0, size_t n1, size_t n2, size_t n3, unsigned extra) {
  for (int sign = -1; sign <= 1; sign += 2)
    for (unsigned kind = 0; kind < 24; ++kind) {
      const unsigned real = kind % 2, turned = kind / 2 % 3, place = kind / 6 % 2, spoil = kind / 12;
      unsigned flags = extra | (real ? NIGH_FFT_REAL : 0U) | (spoil ? NIGH_FFT_DESTROY_INPUT : 0U);
      if (turned == 1) flags |= NIGH_FFT_TRANSPOSED_OUT;
      if (turned == 2) flags |= NIGH_FFT_TRANSPOSED_IN;
      if (place && spoil) continue; /* it is spoiled anyway */
      if (real && dimensions == 1 && (turned || n0 % 2)) continue;
      if (spoil && ((extra & NIGH_FFT_FLOAT) || n0 > 30 || dimensions > 3)) continue; /* nothing new */
      if (real && ((turned == 1 && sign > 0) || (turned == 2 && sign < 0))) continue;
      one((struct transform){dimensions, sign, {n0, n1, n2, n3}, flags, (int)place, 0, 0, 0, NULL, NULL},
          NULL);
    }
}

/* The part of an array that this rank has along axis 2 or 0, filled or compared; h: elements of the last
 * dimension. */
static const int order[3][3] = {{2, 1, 0}, {0, 2, 1}, {0, 1, 2}};
static size_t pencil(const struct transform* t, int out, int axis, int p, int q, void* data, int* fine) {
  const int reals = out ? reals_out(t) : reals_in(t);
  const size_t h = is_real(t) ? t->last / 2 + 1 : t->last, words = reals ? 1 : 2,
               n[3] = {t->n[0], t->n[1], h};
  const int *axes = order[axis], x = axes[0], y = axes[1], z = axes[2];
  size_t first[3], count[3], i[3], at_word = 0;
  expect(nigh_transpose_pencils_share(n, p, q, axis, MPI_COMM_WORLD, first, count) == 0,
         "no share of pencils");
  if (reals) count[2] = t->last;
  double largest = 0;
  for (size_t k = 0; out && data != NULL && k < 2 * t->half; ++k)
    largest = fmax(largest, fabs(t->out[k % t->all]));
  for (i[x] = first[x]; i[x] < first[x] + count[x]; ++i[x])
    for (i[y] = first[y]; i[y] < first[y] + count[y]; ++i[y])
      for (i[z] = first[z]; i[z] < first[z] + count[z]; ++i[z])
        for (size_t k = 0; k < words; ++k, ++at_word) {
          const size_t where = ((i[0] * t->n[1] + i[1]) * (reals ? t->last : h) + i[2]) * words + k;
          double* value = (double*)data + at_word;
          if (data != NULL && !out) *value = t->in[where];
          if (data != NULL && out && !(fabs(*value - t->out[where]) <= 1e-12 * (largest + (double)t->all)))
            *fine = 0;
        }
  return at_word * sizeof(double);
}
static void pencils(size_t n0, size_t n1, size_t n2) {
  for (int p = 1; p <= size; ++p)
    for (unsigned way = 0; size % p == 0 && way < 12; ++way) {
      const int q = size / p, sign = way % 2 ? 1 : -1;
      const unsigned flags = (way / 2 % 2 ? NIGH_FFT_REAL : 0U) |
                             (way / 4 == 1 ? NIGH_FFT_TRANSPOSED_OUT : 0U) |
                             (way / 4 == 2 ? NIGH_FFT_TRANSPOSED_IN : 0U);
      struct transform t = {3, sign, {n0, n1, n2, 1}, flags, 0, 0, 0, 0, NULL, NULL};
      if (is_real(&t) && way / 4 == (sign < 0 ? 2 : 1)) continue;
      const int from = way / 4 == 2 ? 0 : 2, to = way / 4 == 1 ? 0 : 2;
      char what[100];
      snprintf(what, sizeof what, "pencils of %zu x %zu x %zu over %d x %d sign %d flags %u", n0, n1, n2, p,
               q, sign, flags);
      reference(&t);
      const size_t in_bytes = pencil(&t, 0, from, p, q, NULL, NULL),
                   out_bytes = pencil(&t, 1, to, p, q, NULL, NULL);
      void *a = get(in_bytes), *b = get(out_bytes);
      int fine = 1;
      nigh_fft* plan = nigh_fft_mpi_pencils(t.n, p, q, sign, flags, passed(a, in_bytes, 0),
                                            passed_bytes(in_bytes, in_bytes), passed(b, out_bytes, 0),
                                            passed_bytes(out_bytes, out_bytes), MPI_COMM_WORLD, threads);
      expect(plan != NULL, what);
      for (int round = 0; plan != NULL && round < 2; ++round) {
        pencil(&t, 0, from, p, q, a, NULL);
        memset(b, 77, out_bytes);
        expect(nigh_fft_execute(plan) == 0, what);
        pencil(&t, 1, to, p, q, b, &fine);
        expect(fine, what);
      }
      nigh_fft_destroy(plan);
      give(b);
      give(a);
      fftw_free(t.in);
      fftw_free(t.out);
    }
}

static void refused(const char* words, nigh_fft* plan) {
  expect(plan == NULL, words);
  if (plan == NULL && strstr(nigh_fft_why(), words) == NULL) expect(0, words);
  nigh_fft_destroy(plan);
}

/* Before MPI has begun it can't be asked; MPI would end the program. */
static void nobody(MPI_Comm comm, const char* words) {
  static double a[64], b[64];
  const size_t n[3] = {2, 2, 2};
  refused(words, nigh_fft_mpi(2, n, -1, 0, a, sizeof a, b, sizeof b, comm, 1));
  refused(words, nigh_fft_mpi_pencils(n, 1, 1, -1, 0, a, sizeof a, b, sizeof b, comm, 1));
  expect(nigh_fft_mpi_share(2, n, -1, 0, 0, comm, NULL, NULL) != 0 && strstr(nigh_fft_why(), words), words);
}

static void wrong_ones(void) {
  nobody(MPI_COMM_NULL, "comm is MPI_COMM_NULL");
  static double a[4096], b[4096];
  const size_t n[2] = {16, 16}, mine[2] = {16, rank == size - 1 ? 8 : 16}, bytes = sizeof a,
               none[2] = {16, 0};
  const MPI_Comm all = MPI_COMM_WORLD;
  const int last = rank == size - 1;
  refused("in is NULL", nigh_fft_mpi(2, n, -1, 0, last ? NULL : a, bytes, b, bytes, all, 1));
  refused("out has 8 bytes where", nigh_fft_mpi(2, n, -1, 0, a, bytes, b, last ? 8 : bytes, all, 1));
  refused("in and out overlap", nigh_fft_mpi(2, n, -1, 0, a, bytes, last ? a + 8 : b, bytes - 64, all, 1));
  refused("n is NULL", nigh_fft_mpi(2, NULL, -1, 0, a, bytes, b, bytes, all, 1));
  refused("n[1] is 0", nigh_fft_mpi(2, none, -1, 0, a, bytes, b, bytes, all, 1));
  refused("sign is neither", nigh_fft_mpi(2, n, 0, 0, a, bytes, b, bytes, all, 1));
  refused("a bit that means nothing", nigh_fft_mpi(2, n, -1, 1U << 20, a, bytes, b, bytes, all, 1));
  refused("_OUT are not for one", nigh_fft_mpi(2, n, -1, 12, a, bytes, b, bytes, all, 1));
  const size_t odd[1] = {15};
  refused("an even n", nigh_fft_mpi(1, odd, -1, NIGH_FFT_REAL, a, bytes, b, bytes, all, 1));
  refused("in order only",
          nigh_fft_mpi(1, n, -1, NIGH_FFT_REAL | NIGH_FFT_TRANSPOSED_OUT, a, bytes, b, bytes, all, 1));
  refused("is not that of",
          nigh_fft_mpi_pencils((const size_t[3]){4, 4, 4}, size, 2, -1, 0, a, bytes, b, bytes, all, 1));
  refused("not transposed",
          nigh_fft_mpi(2, n, 1, NIGH_FFT_REAL | NIGH_FFT_TRANSPOSED_OUT, a, bytes, b, bytes, all, 1));
  refused("threads is not", nigh_fft_mpi(2, n, -1, 0, a, bytes, b, bytes, all, last ? -1 : 1));
  if (size == 1) return;
  refused("than rank 0", nigh_fft_mpi(2, mine, -1, 0, a, bytes, b, bytes, all, 1));
  refused("not so on all ranks", nigh_fft_mpi(2, n, -1, 0, a, bytes, last ? a : b, bytes, all, 1));
  expect(nigh_fft_execute(NULL) == -1 && strstr(nigh_fft_why(), "no plan") != NULL, "no plan was executed");
}

/* One rank has no memory for the rows that it works on: an error on all, and no rank waits for ever. */
static void scarce(void) {
  const size_t n[2] = {1048576, (size_t)size}; /* what 4 columns fill, malloc always asks the kernel for */
  nigh_fft_part in, out;
  nigh_fft_mpi_share(2, n, -1, 0, 1, MPI_COMM_WORLD, &in, &out);
  char* a = get(in.bytes);
  memset(a, 0, in.bytes);
  nigh_fft* plan = nigh_fft_mpi(2, n, -1, 0, a, in.bytes, a, in.bytes, MPI_COMM_WORLD, 1);
  expect(plan != NULL, "no plan of long columns");
  if (plan == NULL) return;
  const int poor = rank == size - 1;
  const rlim_t before = poor ? limit_memory(5 << 20) : 0;
  expect(nigh_fft_execute(plan) == -1 && strstr(nigh_fft_why(), "there is no memory for a few rows") != NULL,
         "a transform without memory succeeded");
  if (poor) unlimit_memory(before);
  expect(nigh_fft_execute(plan) == 0, "with memory it does not succeed");
  nigh_fft_destroy(plan);
  give(a);
}

static void many(const char* wanted) {
  one((struct transform){2, -1, {64, 48, 1, 1}, 0, 0, 0, 0, 0, NULL, NULL}, wanted);
  shape(2, 24, 20, 1, 1, 0);
  shape(2, 7, 33, 1, 1, 0);
  shape(2, 101, 6, 1, 1, NIGH_FFT_FLOAT);
  shape(2, 1, 9, 1, 1, 0);
  shape(2, 5, 1, 1, 1, NIGH_FFT_FLOAT);
  shape(2, 64, 130, 1, 1, 0);
  shape(2, 48, 256, 1, 1, 0);
  shape(3, 16, 20, 144, 1, NIGH_FFT_FLOAT);
  shape(3, 6, 5, 8, 1, 0);
  shape(3, 2, 9, 7, 1, NIGH_FFT_FLOAT);
  shape(3, 16, 1, 12, 1, 0);
  shape(4, 3, 4, 5, 6, 0);
  shape(1, 1, 1, 1, 1, 0);
  shape(1, 97, 1, 1, 1, 0);
  shape(1, 30, 1, 1, 1, 0);
  shape(1, 1024, 1, 1, 1, 0);
  shape(1, 2310, 1, 1, 1, NIGH_FFT_FLOAT);
  shape(1, 11664, 1, 1, 1, 0);
  shape(1, 2, 1, 1, 1, 0);
  shape(1, 26, 1, 1, 1, NIGH_FFT_FLOAT);
  shape(1, 90, 1, 1, 1, 0);
  pencils(12, 10, 9);
  pencils(5, 8, 16);
  wrong_ones();
  scarce();
}

static void few(void) {
  for (passing = null; passing < passings; ++passing) {
    shape(2, 1, 9, 1, 1, 0);
    shape(2, 2, 6, 1, 1, 0);
    shape(2, 3, 1, 1, 1, 0);
    shape(3, 2, 3, 4, 1, 0);
    shape(1, 2, 1, 1, 1, 0);
    shape(1, 7, 1, 1, 1, 0);
    shape(1, 16, 1, 1, 1, 0);
    pencils(1, 2, 5);
    pencils(3, 1, 2);
  }
}

int main(int argc, char** argv) {
  nobody(MPI_COMM_WORLD, "call it between MPI_Init and MPI_Finalize");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  shared_memory = argc > 1 && strstr(argv[1], "shared") != NULL;
  threads = argc > 2 ? atoi(argv[2]) : 1;
  if (argc > 1 && strncmp(argv[1], "few", 3) == 0) {
    few();
  } else {
    many(argc > 3 ? argv[3] : NULL);
  }
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("all transforms are right\n");
#ifdef MPICH_VERSION
  MPI_Barrier(MPI_COMM_WORLD);
#endif
  MPI_Finalize();
  return all != 0;
}
