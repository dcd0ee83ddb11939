// What one rank does of a collective, when every rank has arrived: it reads what others send and writes what others
// receive, in their memory. Plain C, built by `make fixtures` as provenance.json says. No hidden arguments are used.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long i64;
typedef unsigned long u64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;
typedef struct { u16 bits; } bf16;
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

#define GLOBAL __attribute__((address_space(1)))
// Tables of addresses are written before the kernel starts.
#define TABLE __attribute__((address_space(4))) const u64
#define KERNEL __attribute__((amdgpu_kernel))
#define WORKGROUP_SIZE 256

enum { SUM, PRODUCT, MINIMUM, MAXIMUM };

static inline u64 work_item(void) {
  return (u64)__builtin_amdgcn_workgroup_id_x() * WORKGROUP_SIZE + __builtin_amdgcn_workitem_id_x();
}

static inline f32 from_bf16(bf16 value) {
  union { u32 bits; f32 value; } wide = {(u32)value.bits << 16};
  return wide.value;
}

// Rounds to nearest, ties to even; a NaN stays one.
static inline bf16 to_bf16(f32 value) {
  union { f32 value; u32 bits; } wide = {value};
  u32 rounded = (wide.bits + 0x7fff + (wide.bits >> 16 & 1)) >> 16;
  u32 quiet = wide.bits >> 16 | 0x40;
  return (bf16){(u16)(value == value ? rounded : quiet)};
}

// The number in a register of each lane: a division by a number that all lanes share takes other instructions on
// gfx12, which the virtual GPU does not execute.
static inline u32 of_each_lane(u32 number) {
  __asm__("" : "+v"(number));
  return number;
}

#define SAME(value) (value)

// Of `count` elements, `source_first` on in each source: all combined in the order of the sources, divided by
// `divisor` where that is not 1, and written to each target from `target_first` on. A NaN is the result wherever it is
// an operand. Floats of 16 bits are combined as f32 and rounded once.
#define REDUCE(name, type, wide, FROM, TO)                                                                      \
  KERNEL void name(TABLE *sources, TABLE *targets, u64 source_first, u64 target_first, u64 count,               \
                   u32 source_count, u32 target_count, u32 reduction, u32 divisor, u32 lanes) {                 \
    for (u64 index = work_item(); index < count; index += lanes) {                                              \
      wide result = FROM(((GLOBAL const type *)sources[0])[source_first + index]);                              \
      for (u32 source = 1; source < source_count; ++source) {                                                   \
        wide next = FROM(((GLOBAL const type *)sources[source])[source_first + index]);                         \
        if (reduction == SUM)                                                                                   \
          result = (wide)(result + next);                                                                       \
        else if (reduction == PRODUCT)                                                                          \
          result = (wide)(result * next);                                                                       \
        else if (reduction == MINIMUM)                                                                          \
          result = result < next || result != result ? result : next;                                           \
        else                                                                                                    \
          result = result > next || result != result ? result : next;                                           \
      }                                                                                                         \
      if (divisor != 1)                                                                                         \
        result = (wide)(result / (wide)of_each_lane(divisor));                                                  \
      for (u32 target = 0; target < target_count; ++target)                                                     \
        ((GLOBAL type *)targets[target])[target_first + index] = TO(result);                                    \
    }                                                                                                           \
  }

REDUCE(reduce_i8, i8, i8, SAME, SAME)
REDUCE(reduce_u8, u8, u8, SAME, SAME)
REDUCE(reduce_i16, i16, i16, SAME, SAME)
REDUCE(reduce_u16, u16, u16, SAME, SAME)
REDUCE(reduce_i32, i32, i32, SAME, SAME)
REDUCE(reduce_u32, u32, u32, SAME, SAME)
REDUCE(reduce_i64, i64, i64, SAME, SAME)
REDUCE(reduce_u64, u64, u64, SAME, SAME)
REDUCE(reduce_f16, f16, f32, (f32), (f16))
REDUCE(reduce_bf16, bf16, f32, from_bf16, to_bf16)
REDUCE(reduce_f32, f32, f32, SAME, SAME)
REDUCE(reduce_f64, f64, f64, SAME, SAME)

#define COPY(type)                                                                                              \
  for (u64 index = first; index < length / sizeof(type); index += lanes)                                        \
    ((GLOBAL type *)to)[index] = ((GLOBAL const type *)from)[index];                                            \
  done = length / sizeof(type) * sizeof(type);

// Copies `length` bytes of the source to each target; for each further target from `source_step` bytes on.
KERNEL void spread(TABLE *sources, TABLE *targets, u64 source_first, u64 source_step, u64 target_first, u64 length,
                   u32 target_count, u32 lanes) {
  u64 first = work_item(), done = 0;
  for (u32 target = 0; target < target_count; ++target) {
    u64 from = sources[0] + source_first + target * source_step, to = targets[target] + target_first;
    if (from == to)
      continue;
    if (((from | to) & 15) == 0) {
      COPY(u32x4)
    } else if (((from | to) & 3) == 0) {
      COPY(u32)
    } else {
      COPY(u8)
    }
    if (first < length - done)
      ((GLOBAL u8 *)to)[done + first] = ((GLOBAL const u8 *)from)[done + first];
  }
}
