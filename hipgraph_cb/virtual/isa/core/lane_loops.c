// Passes over the lanes of a register, in machine code. lane_loops.py says what they are for, and calls them.
// `make fixtures` makes lane_loops.x86-64.so of this file; provenance.json holds the command line.
//
// Every function takes numpy arrays as the objects they are and reads shape and strides from their public head
// (PyArrayObject_fields in numpy/ndarraytypes.h). It returns 0, having written nothing, when an array is of a kind that
// it does not handle, or when a lane would leave the memory it may reach.
#include <stdint.h>

typedef int64_t i64;
typedef int16_t i16;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef __int128 wide;  // sums of numbers that a kernel chooses: 64 bits would wrap round

typedef struct {
  i64 references;
  const void *type;
  char *data;
  int axes;
  const i64 *sizes, *strides;
} array;

// An array as seen from a result of [rows, lanes]: a stride of 0 repeats its value.
typedef struct {
  const char *data;
  i64 row, lane;
} operand;

#define EXPORT __attribute__((visibility("default")))
#define FAST __attribute__((target("avx2,fma")))
#define PIECE 64  // lanes that are treated at once; what repeats is written out for so many

static const u8 yes = 1;
static const i64 nothing = 0;
static const operand every_lane = {(const char *)&yes, 0, 0};
static const operand no_offset = {(const char *)&nothing, 0, 0};

static int follow(operand *to, const array *from, i64 rows, i64 lanes, i64 item) {
  if (from->axes != 2 || (from->sizes[0] != rows && from->sizes[0] != 1)) return 0;
  if (from->sizes[1] != lanes && from->sizes[1] != 1) return 0;
  to->data = from->data;
  to->row = from->sizes[0] == 1 ? 0 : from->strides[0];
  to->lane = from->sizes[1] == 1 ? 0 : from->strides[1];
  return to->lane == 0 || to->lane == item;
}

// The numbers of rows and lanes of an array that is to be filled from its start to its end.
static int measure(const array *out, i64 item, i64 *rows, i64 *lanes) {
  if (out->axes != 2) return 0;
  *rows = out->sizes[0], *lanes = out->sizes[1];
  return (*lanes == 1 || out->strides[1] == item) && (*rows == 1 || out->strides[0] == *lanes * item);
}

static i64 smaller(i64 a, i64 b) { return a < b ? a : b; }

// `name`: `count` values of `source` from lane `at` of its current row.
#define TAKE(type, name, source, at, count)                                              \
  type name##_repeated[PIECE];                                                           \
  const type *name = (const type *)(source).data + (at);                                 \
  if (!(source).lane) {                                                                  \
    for (i64 i = 0; i < (count); i++) name##_repeated[i] = *(const type *)(source).data; \
    name = name##_repeated;                                                              \
  }

// ---- out = f(a, b, c) of each lane ----

#define THREE_OPERANDS(name, type, first_type, expression)                                                          \
  FAST static void name##_piece(type *restrict out, const first_type *a, const type *b, const type *c, i64 count) { \
    for (i64 i = 0; i < count; i++) out[i] = expression;                                                            \
  }                                                                                                                 \
  FAST EXPORT int name(array *out, const array *a, const array *b, const array *c) {                                \
    operand x, y, z;                                                                                                \
    i64 rows, lanes;                                                                                                \
    if (!measure(out, sizeof(type), &rows, &lanes) || !follow(&x, a, rows, lanes, sizeof(first_type)) ||            \
        !follow(&y, b, rows, lanes, sizeof(type)) || !follow(&z, c, rows, lanes, sizeof(type)))                     \
      return 0;                                                                                                     \
    type *to = (type *)out->data;                                                                                   \
    for (; rows > 0; rows--, to += lanes, x.data += x.row, y.data += y.row, z.data += z.row)                        \
      for (i64 at = 0; at < lanes; at += PIECE) {                                                                   \
        i64 count = smaller(lanes - at, PIECE);                                                                     \
        TAKE(first_type, first, x, at, count)                                                                       \
        TAKE(type, second, y, at, count)                                                                            \
        TAKE(type, third, z, at, count)                                                                             \
        name##_piece(to + at, first, second, third, count);                                                         \
      }                                                                                                             \
    return 1;                                                                                                       \
  }

// a * b + c with one rounding, to nearest even
THREE_OPERANDS(multiply_add_float, float, float, __builtin_fmaf(a[i], b[i], c[i]))
THREE_OPERANDS(multiply_add_double, double, double, __builtin_fma(a[i], b[i], c[i]))
// a ? b : c
THREE_OPERANDS(choose_u32, u32, u8, c[i] ^ ((b[i] ^ c[i]) & -(u32)a[i]))
THREE_OPERANDS(choose_u64, u64, u8, c[i] ^ ((b[i] ^ c[i]) & -(u64)a[i]))

// ---- out = the exponent of a or of b, or the one less the other, is out of its bounds (f32) ----

typedef struct {
  i16 low, high;
} bounds;

static int is_out(int exponent, bounds of) { return exponent < of.low || exponent > of.high; }

// `limits`: of a, of b, and of the difference. Returns 1 when some lane is out, 2 when none is.
FAST EXPORT int unusual_exponents(array *out, const array *a, const array *b, const bounds *limits) {
  operand x, y;
  i64 rows, lanes;
  if (!measure(out, 1, &rows, &lanes) || !follow(&x, a, rows, lanes, sizeof(u32)) ||
      !follow(&y, b, rows, lanes, sizeof(u32)))
    return 0;
  u8 *to = (u8 *)out->data, found = 0;
  for (; rows > 0; rows--, to += lanes, x.data += x.row, y.data += y.row)
    for (i64 at = 0; at < lanes; at += PIECE) {
      i64 count = smaller(lanes - at, PIECE);
      TAKE(u32, first, x, at, count)
      TAKE(u32, second, y, at, count)
      for (i64 i = 0; i < count; i++) {
        int upper = first[i] >> 23 & 0xFF, lower = second[i] >> 23 & 0xFF;
        to[at + i] = is_out(upper, limits[0]) | is_out(lower, limits[1]) | is_out(upper - lower, limits[2]);
        found |= to[at + i];
      }
    }
  return found ? 1 : 2;
}

// ---- memory: each chosen lane has the word at origin + (index << shift), plus an offset of its row ----

typedef struct {
  operand index, offset, chosen;
  i64 rows, lanes, item;
  int shift;
} places;

// Places of [rows, lanes]; `offsets` and `chosen` may be null.
static int locate(places *to, i64 rows, i64 lanes, const array *index, i64 item, int shift, const array *offsets,
                  const array *chosen) {
  *to = (places){.offset = no_offset, .chosen = every_lane, .rows = rows, .lanes = lanes, .item = item, .shift = shift};
  return shift >= 0 && shift < 32 && follow(&to->index, index, rows, lanes, item) &&
         (!offsets || follow(&to->offset, offsets, rows, lanes, sizeof(i64))) &&
         (!chosen || follow(&to->chosen, chosen, rows, lanes, 1));
}

static void next_row(places *from) {
  from->index.data += from->index.row;
  from->offset.data += from->offset.row;
  from->chosen.data += from->chosen.row;
}

// `count` values of index << shift from lane `at` of the current row.
FAST static void take_distances(u64 *restrict out, const places *from, i64 at, i64 count) {
  if (from->item == sizeof(u32)) {
    TAKE(u32, index, from->index, at, count)
    for (i64 i = 0; i < count; i++) out[i] = (u64)index[i] << from->shift;
  } else {
    TAKE(u64, index, from->index, at, count)
    for (i64 i = 0; i < count; i++) out[i] = index[i] << from->shift;
  }
}

// The lowest and the highest of `count` indices that are chosen; low > high when there are none.
#define EXTENT_OF(type, largest)                                                                           \
  FAST static void extent_of_##type(const type *index, const u8 *chosen, i64 count, u64 *low, u64 *high) { \
    type lowest = largest, highest = 0;                                                                    \
    for (i64 i = 0; i < count; i++) {                                                                      \
      type mask = -(type)chosen[i], above = index[i] & mask, below = index[i] | (largest & ~mask);         \
      highest = above > highest ? above : highest;                                                         \
      lowest = below < lowest ? below : lowest;                                                            \
    }                                                                                                      \
    *high = highest > *high ? highest : *high;                                                             \
    *low = lowest < *low ? lowest : *low;                                                                  \
  }
EXTENT_OF(u32, UINT32_MAX)
EXTENT_OF(u64, UINT64_MAX)

// The lowest and the highest index of the chosen lanes; low > high when there are none.
FAST static void find_extent(places from, u64 *low, u64 *high) {
  *low = UINT64_MAX, *high = 0;
  for (; from.rows > 0; from.rows--, next_row(&from))
    for (i64 at = 0; at < from.lanes; at += PIECE) {
      i64 count = smaller(from.lanes - at, PIECE);
      TAKE(u8, chosen, from.chosen, at, count)
      if (from.item == sizeof(u32)) {
        TAKE(u32, index, from.index, at, count)
        extent_of_u32(index, chosen, count, low, high);
      } else {
        TAKE(u64, index, from.index, at, count)
        extent_of_u64(index, chosen, count, low, high);
      }
    }
}

EXPORT int extent(u64 *low_and_high, const array *index, i64 item, const array *chosen) {
  places from;
  const array *shape = chosen ? chosen : index;
  if (shape->axes != 2 || !locate(&from, shape->sizes[0], shape->sizes[1], index, item, 0, 0, chosen)) return 0;
  find_extent(from, &low_and_high[0], &low_and_high[1]);
  return 1;
}

// Whether the `size` bytes at origin + (index << shift) of every chosen lane are among those from `first` to `last`.
static int is_inside(places from, i64 origin, i64 size, i64 first, i64 last) {
  u64 low, high;
  find_extent(from, &low, &high);
  if (low > high) return 1;
  return origin + ((wide)low << from.shift) >= first && origin + ((wide)high << from.shift) + size <= last;
}

// Words need no alignment.
typedef struct __attribute__((packed)) {
  u8 it;
} word8;
typedef struct __attribute__((packed)) {
  u16 it;
} word16;
typedef struct __attribute__((packed)) {
  u32 it;
} word32;

#define LOAD_EACH(word) \
  for (i64 i = 0; i < count; i++) out[i] = ((const word *)(base + distance[i]))->it;

FAST static void load_piece(u32 *restrict out, const char *base, const u64 *distance, i64 size, i64 count) {
  if (size == 4) {
    LOAD_EACH(word32)
  } else if (size == 2) {
    LOAD_EACH(word16)
  } else {
    LOAD_EACH(word8)
  }
}

// The same of the chosen lanes: the others read what the first of those does, and give 0.
FAST static void load_chosen(u32 *restrict out, const char *base, u64 *distance, const u8 *chosen, i64 size,
                             i64 count) {
  i64 first = 0;
  while (first < count && !chosen[first]) first++;
  if (first < count) {
    const u64 safe = distance[first];
    for (i64 i = 0; i < count; i++) distance[i] = safe ^ ((distance[i] ^ safe) & -(u64)chosen[i]);
    load_piece(out, base, distance, size, count);
    for (i64 i = 0; i < count; i++) out[i] &= -(u32)chosen[i];
  } else {
    for (i64 i = 0; i < count; i++) out[i] = 0;
  }
}

// Zero-extended words of `size` bytes; 0 in lanes that are not chosen.
FAST EXPORT int gather(array *out, const array *memory, i64 origin, const array *index, i64 item, int shift, i64 size,
                       const array *offsets, const array *chosen, i64 room, i64 first, i64 last) {
  places from;
  i64 rows, lanes;
  if (!measure(out, sizeof(u32), &rows, &lanes)) return 0;
  if (!locate(&from, rows, lanes, index, item, shift, offsets, chosen)) return 0;
  if (room && !is_inside(from, origin, room, first, last)) return 0;
  u32 *to = (u32 *)out->data;
  for (; rows > 0; rows--, to += lanes, next_row(&from)) {
    const char *base = memory->data + origin + *(const i64 *)from.offset.data;
    for (i64 at = 0; at < lanes; at += PIECE) {
      u64 distance[PIECE];
      i64 count = smaller(lanes - at, PIECE);
      take_distances(distance, &from, at, count);
      if (chosen) {
        TAKE(u8, is_chosen, from.chosen, at, count)
        load_chosen(to + at, base, distance, is_chosen, size, count);
      } else {
        load_piece(to + at, base, distance, size, count);
      }
    }
  }
  return 1;
}

#define STORE_EACH(word)                                          \
  for (i64 i = 0; i < count; i++) {                               \
    if (chosen[i]) ((word *)(base + distance[i]))->it = value[i]; \
  }

static void store_piece(char *base, const u64 *distance, const u8 *chosen, const u32 *value, i64 size, i64 count) {
  if (size == 4) {
    STORE_EACH(word32)
  } else if (size == 2) {
    STORE_EACH(word16)
  } else {
    STORE_EACH(word8)
  }
}

// The low `size` bytes of each value; of two lanes that name one place the higher wins.
FAST EXPORT int scatter(i64 rows, i64 lanes, const array *memory, i64 origin, const array *index, i64 item, int shift,
                        i64 size, const array *offsets, const array *chosen, i64 room, i64 first, i64 last,
                        const array *values) {
  places from;
  operand value;
  if (!locate(&from, rows, lanes, index, item, shift, offsets, chosen)) return 0;
  if (!follow(&value, values, rows, lanes, sizeof(u32))) return 0;
  if (room && !is_inside(from, origin, room, first, last)) return 0;
  for (; rows > 0; rows--, value.data += value.row, next_row(&from)) {
    char *base = memory->data + origin + *(const i64 *)from.offset.data;
    for (i64 at = 0; at < lanes; at += PIECE) {
      u64 distance[PIECE];
      i64 count = smaller(lanes - at, PIECE);
      take_distances(distance, &from, at, count);
      TAKE(u8, is_chosen, from.chosen, at, count)
      TAKE(u32, words, value, at, count)
      store_piece(base, distance, is_chosen, words, size, count);
    }
  }
  return 1;
}

// ---- whether these loops can run here ----

static void cpuid(u32 leaf, u32 *b, u32 *c) {
  u32 a = leaf, d;
  *c = 0;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(*b), "+c"(*c), "=d"(d));
}

// The processor has AVX2 and FMA, and the operating system saves their registers.
EXPORT int can_run(void) {
  const u32 fma_osxsave_avx = 1u << 12 | 1u << 27 | 1u << 28;
  u32 b, c, low, high;
  cpuid(1, &b, &c);
  if ((c & fma_osxsave_avx) != fma_osxsave_avx) return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 6) != 6) return 0;
  cpuid(7, &b, &c);
  return b >> 5 & 1;
}

// The head of an array is where this file expects it.
EXPORT int knows(const array *it, i64 data, i64 rows, i64 lanes, i64 row_stride, i64 lane_stride) {
  return (i64)it->data == data && it->axes == 2 && it->sizes[0] == rows && it->sizes[1] == lanes &&
         it->strides[0] == row_stride && it->strides[1] == lane_stride;
}
