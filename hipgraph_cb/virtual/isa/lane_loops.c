// Passes over the lanes of a register, in machine code. `lane_loops.py` says what they are for and loads them; see
// there for the arguments too. tools/build_fixtures.sh builds lane_loops.x86-64.so from this file.
//
// Every function takes numpy arrays as the objects they are and reads shape and strides from their public head
// (PyArrayObject_fields in numpy/ndarraytypes.h). It returns 0, having written nothing, when the arrays are of a kind
// that it does not handle, or when a lane would leave the memory it may reach.
#include <stdint.h>

typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

// Words in memory need no alignment.
typedef struct { u8 it; } __attribute__((packed)) packed_u8;
typedef struct { u16 it; } __attribute__((packed)) packed_u16;
typedef struct { u32 it; } __attribute__((packed)) packed_u32;

typedef struct {
  i64 references;
  const void *type;
  char *data;
  int axes;
  const i64 *sizes, *strides;
} array;

// An operand as seen from a result of [rows, lanes]: a stride of 0 repeats its value.
typedef struct {
  const char *data;
  i64 row, lane;
} operand;

static const u8 one = 1;
static const i64 zero = 0;
#define ALL_LANES {(const char *)&one, 0, 0}
#define NO_OFFSET {(const char *)&zero, 0, 0}

#define EXPORT __attribute__((visibility("default")))
#define LOOP EXPORT __attribute__((target("avx2,fma")))
#define PIECE 64  // lanes that are treated at once; what repeats is written out for so many

static int is_plain(const array *from, i64 item) {
  return from->axes == 2 && (from->sizes[1] == 1 || from->strides[1] == item);
}

static int is_whole(const array *from, i64 item) {
  return is_plain(from, item) && (from->sizes[0] == 1 || from->strides[0] == from->sizes[1] * item);
}

__attribute__((noinline)) static int follow(operand *to, const array *from, i64 rows, i64 lanes, i64 item) {
  if (from->axes != 2 || (from->sizes[0] != rows && from->sizes[0] != 1)) return 0;
  if (from->sizes[1] != lanes && from->sizes[1] != 1) return 0;
  to->data = from->data;
  to->row = from->sizes[0] == 1 ? 0 : from->strides[0];
  to->lane = from->sizes[1] == 1 ? 0 : from->strides[1];
  return to->lane == 0 || to->lane == item;
}

// `name`: `count` values of `source` from lane `at` of its current row.
#define PIECE_OF(type, name, source, at, count)                                           \
  type name##_repeated[PIECE];                                                            \
  const type *name = (const type *)source.data + at;                                      \
  if (!source.lane) {                                                                     \
    for (i64 i = 0; i < count; i++) name##_repeated[i] = *(const type *)source.data;      \
    name = name##_repeated;                                                               \
  }

static i64 smaller(i64 a, i64 b) { return a < b ? a : b; }

// ---- out = a * b + c with one rounding, to nearest even ----

#define FUSED_MULTIPLY_ADD(type, fma)                                                                          \
  __attribute__((target("avx2,fma"))) static void fma##_piece(                                                 \
      type *restrict out, const type *a, const type *b, const type *c, i64 count) {                            \
    for (i64 i = 0; i < count; i++) out[i] = __builtin_##fma(a[i], b[i], c[i]);                                \
  }                                                                                                            \
  LOOP int multiply_add_##type(array *out, const array *a, const array *b, const array *c) {                   \
    operand x, y, z;                                                                                           \
    if (!is_whole(out, sizeof(type))) return 0;                                                                \
    i64 rows = out->sizes[0], lanes = out->sizes[1];                                                           \
    if (!follow(&x, a, rows, lanes, sizeof(type)) || !follow(&y, b, rows, lanes, sizeof(type)) ||              \
        !follow(&z, c, rows, lanes, sizeof(type)))                                                             \
      return 0;                                                                                                \
    type *to = (type *)out->data;                                                                              \
    for (; rows > 0; rows--, to += lanes, x.data += x.row, y.data += y.row, z.data += z.row)                   \
      for (i64 at = 0; at < lanes; at += PIECE) {                                                              \
        i64 count = smaller(lanes - at, PIECE);                                                                \
        PIECE_OF(type, first, x, at, count)                                                                    \
        PIECE_OF(type, second, y, at, count)                                                                   \
        PIECE_OF(type, third, z, at, count)                                                                    \
        fma##_piece(to + at, first, second, third, count);                                                     \
      }                                                                                                        \
    return 1;                                                                                                  \
  }
FUSED_MULTIPLY_ADD(float, fmaf)
FUSED_MULTIPLY_ADD(double, fma)

// ---- out = chosen ? a : b ----

#define CHOICE(type)                                                                                           \
  __attribute__((target("avx2,fma"))) static void choose_piece_##type(                                         \
      type *restrict out, const u8 *chosen, const type *a, const type *b, i64 count) {                    \
    for (i64 i = 0; i < count; i++) out[i] = b[i] ^ ((a[i] ^ b[i]) & (type) - (type)chosen[i]);                \
  }                                                                                                            \
  LOOP int choose_##type(array *out, const array *chosen, const array *a, const array *b) {                    \
    operand mask, x, y;                                                                                        \
    if (!is_whole(out, sizeof(type))) return 0;                                                                \
    i64 rows = out->sizes[0], lanes = out->sizes[1];                                                           \
    if (!follow(&mask, chosen, rows, lanes, 1) || !follow(&x, a, rows, lanes, sizeof(type)) ||                 \
        !follow(&y, b, rows, lanes, sizeof(type)))                                                             \
      return 0;                                                                                                \
    type *to = (type *)out->data;                                                                              \
    for (; rows > 0; rows--, to += lanes, mask.data += mask.row, x.data += x.row, y.data += y.row)             \
      for (i64 at = 0; at < lanes; at += PIECE) {                                                              \
        i64 count = smaller(lanes - at, PIECE);                                                                \
        PIECE_OF(u8, bits, mask, at, count)                                                               \
        PIECE_OF(type, first, x, at, count)                                                                    \
        PIECE_OF(type, second, y, at, count)                                                                   \
        choose_piece_##type(to + at, bits, first, second, count);                                              \
      }                                                                                                        \
    return 1;                                                                                                  \
  }
CHOICE(u32)
CHOICE(u64)

// ---- the lowest and the highest index of the chosen lanes; low > high when there are none ----

#define EXTENT(type, largest)                                                                                  \
  LOOP int extent_##type(i64 *low_and_high, const array *index, const array *chosen) {                         \
    i64 rows = index->sizes[0], lanes = index->axes == 2 ? index->sizes[1] : 0;                                \
    operand from, mask = ALL_LANES;                                                                            \
    if (chosen) rows = chosen->sizes[0], lanes = chosen->axes == 2 ? chosen->sizes[1] : 0;                     \
    if (!follow(&from, index, rows, lanes, sizeof(type))) return 0;                                            \
    if (chosen && !follow(&mask, chosen, rows, lanes, 1)) return 0;                                            \
    type low = largest, high = 0;                                                                              \
    for (; rows > 0; rows--, from.data += from.row, mask.data += mask.row)                                     \
      for (i64 at = 0; at < lanes; at += PIECE) {                                                              \
        i64 count = smaller(lanes - at, PIECE);                                                                \
        PIECE_OF(type, indices, from, at, count)                                                               \
        PIECE_OF(u8, bits, mask, at, count)                                                               \
        for (i64 i = 0; i < count; i++) {                                                                      \
          type all = (type)0 - (type)bits[i], above = indices[i] & all, below = indices[i] | ~all;             \
          high = above > high ? above : high;                                                                  \
          low = below < low ? below : low;                                                                     \
        }                                                                                                      \
      }                                                                                                        \
    low_and_high[0] = (i64)low, low_and_high[1] = (i64)high;                                                   \
    return 1;                                                                                                  \
  }
EXTENT(u32, UINT32_MAX)
EXTENT(u64, INT64_MAX)

// ---- out = the word at memory + origin + (index << shift) + the row's offset, 0 in lanes that are not chosen ----

#define GATHER(type, word)                                                                                     \
  LOOP int gather_##type##_##word(array *out, const array *memory, i64 origin, const array *index, int shift,  \
                                  const array *offsets, const array *chosen) {                                 \
    static const word nothing = 0;                                                                             \
    if (!is_whole(out, sizeof(u32))) return 0;                                                                 \
    i64 rows = out->sizes[0], lanes = out->sizes[1];                                                           \
    operand from, offset = NO_OFFSET, mask = ALL_LANES;                                                        \
    if (!follow(&from, index, rows, lanes, sizeof(type))) return 0;                                            \
    if (offsets && !follow(&offset, offsets, rows, lanes, sizeof(i64))) return 0;                              \
    if (chosen && !follow(&mask, chosen, rows, lanes, 1)) return 0;                                            \
    u32 *to = (u32 *)out->data;                                                                                \
    for (; rows > 0; rows--, to += lanes, from.data += from.row, offset.data += offset.row, mask.data += mask.row) { \
      const char *base = memory->data + origin + *(const i64 *)offset.data;                                    \
      for (i64 at = 0; at < lanes; at += PIECE) {                                                              \
        i64 count = smaller(lanes - at, PIECE);                                                                \
        PIECE_OF(type, indices, from, at, count)                                                               \
        PIECE_OF(u8, bits, mask, at, count)                                                               \
        if (!chosen)                                                                                           \
          for (i64 i = 0; i < count; i++) to[at + i] = ((const packed_##word *)(base + ((u64)indices[i] << shift)))->it; \
        else                                                                                                   \
          for (i64 i = 0; i < count; i++) {                                                                    \
            const char *place = bits[i] ? base + ((u64)indices[i] << shift) : (const char *)&nothing;          \
            to[at + i] = ((const packed_##word *)place)->it;                                                   \
          }                                                                                                    \
      }                                                                                                        \
    }                                                                                                          \
    return 1;                                                                                                  \
  }
GATHER(u32, u32)
GATHER(u32, u16)
GATHER(u32, u8)
GATHER(u64, u32)
GATHER(u64, u16)
GATHER(u64, u8)

// ---- the same places written; of two lanes that name one place the higher wins ----

#define SCATTER(type, word)                                                                                    \
  LOOP int scatter_##type##_##word(const array *memory, i64 origin, const array *index, int shift,             \
                                   const array *offsets, const array *chosen, const array *values, i64 rows, i64 lanes) { \
    operand from, value, offset = NO_OFFSET, mask = ALL_LANES;                                                 \
    if (!follow(&from, index, rows, lanes, sizeof(type))) return 0;                                            \
    if (!follow(&value, values, rows, lanes, sizeof(u32))) return 0;                                           \
    if (offsets && !follow(&offset, offsets, rows, lanes, sizeof(i64))) return 0;                              \
    if (chosen && !follow(&mask, chosen, rows, lanes, 1)) return 0;                                            \
    for (; rows > 0; rows--, from.data += from.row, value.data += value.row, offset.data += offset.row, mask.data += mask.row) { \
      char *base = memory->data + origin + *(const i64 *)offset.data;                                          \
      for (i64 at = 0; at < lanes; at += PIECE) {                                                              \
        i64 count = smaller(lanes - at, PIECE);                                                                \
        PIECE_OF(type, indices, from, at, count)                                                               \
        PIECE_OF(u32, words, value, at, count)                                                                 \
        PIECE_OF(u8, bits, mask, at, count)                                                               \
        for (i64 i = 0; i < count; i++)                                                                        \
          if (bits[i]) ((packed_##word *)(base + ((u64)indices[i] << shift)))->it = (word)words[i];            \
      }                                                                                                        \
    }                                                                                                          \
    return 1;                                                                                                  \
  }
SCATTER(u32, u32)
SCATTER(u32, u16)
SCATTER(u32, u8)
SCATTER(u64, u32)
SCATTER(u64, u16)
SCATTER(u64, u8)

// ---- whether these loops can run here ----

static void cpuid(u32 leaf, u32 *b, u32 *c) {
  u32 a = leaf, d;
  *c = 0;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(*b), "+c"(*c), "=d"(d));
}

// The processor has AVX2 and FMA, and the operating system saves their registers.
EXPORT int can_run(void) {
  u32 b, c, low, high;
  cpuid(1, &b, &c);
  if ((c & (1u << 12 | 1u << 27 | 1u << 28)) != (1u << 12 | 1u << 27 | 1u << 28)) return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 6) != 6) return 0;
  cpuid(7, &b, &c);
  return b >> 5 & 1;
}

// The head of an array lies where this file expects it.
EXPORT int knows(const array *it, i64 data, i64 rows, i64 lanes, i64 row_stride, i64 lane_stride) {
  return (i64)it->data == data && it->axes == 2 && it->sizes[0] == rows && it->sizes[1] == lanes &&
         it->strides[0] == row_stride && it->strides[1] == lane_stride;
}
