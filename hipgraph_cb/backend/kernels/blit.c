// Our own kernels: fills (for HIP too, where they are asked for), copies, both of rows (for HIP too), and the patch in
// front of an indirect dispatch.
// Plain C, built by `make fixtures` as provenance.json says. No hidden arguments are used.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long u64;
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

#define GLOBAL __attribute__((address_space(1)))
#define KERNEL __attribute__((amdgpu_kernel))
#define WORKGROUP_SIZE 256
#define BARRIER_AND 3
#define NO_PACKET_TYPE 6

static inline u64 work_item(void) {
  return (u64)__builtin_amdgcn_workgroup_id_x() * WORKGROUP_SIZE + __builtin_amdgcn_workitem_id_x();
}

// Copies `head` bytes, then `count` elements, then `tail` bytes, with `lanes` work-items. `target` + `head` and
// `source` + `head` are aligned to the element.
#define COPY(name, type)                                                                                        \
  KERNEL void name(GLOBAL u8 *target, GLOBAL const u8 *source, u64 count, u32 head, u32 tail, u32 lanes) {      \
    u64 first = work_item();                                                                                    \
    GLOBAL type *to = (GLOBAL type *)(target + head);                                                           \
    GLOBAL const type *from = (GLOBAL const type *)(source + head);                                             \
    for (u64 index = first; index < count; index += lanes)                                                      \
      to[index] = from[index];                                                                                  \
    if (first < head)                                                                                           \
      target[first] = source[first];                                                                            \
    if (first < tail) {                                                                                         \
      u64 end = head + count * sizeof(type) + first;                                                            \
      target[end] = source[end];                                                                                \
    }                                                                                                           \
  }

COPY(copy_1, u8)
COPY(copy_2, u16)
COPY(copy_4, u32)
COPY(copy_8, u64)
COPY(copy_16, u32x4)

// Fills as COPY copies. `word` holds the pattern as it stands at addresses that are multiples of four.
KERNEL void fill(GLOBAL u8 *target, u64 count, u32 head, u32 tail, u32 word, u32 lanes) {
  u64 first = work_item();
  GLOBAL u32x4 *to = (GLOBAL u32x4 *)(target + head);
  u32x4 words = {word, word, word, word};
  for (u64 index = first; index < count; index += lanes)
    to[index] = words;
  u64 address = (u64)target + first;
  if (first < head)
    target[first] = (u8)(word >> 8 * (address & 3));
  if (first < tail)
    target[head + count * 16 + first] = (u8)(word >> 8 * (first & 3));
}

// Copies and fills whole elements, one for each work-item. Those beyond `last` move the last one again, so that all
// lanes do the same.
static inline u32 element(u32 last) {
  u32 index = __builtin_amdgcn_workgroup_id_x() * WORKGROUP_SIZE + __builtin_amdgcn_workitem_id_x();
  return index < last ? index : last;
}

#define COPY_ONCE(name, type)                                                                                   \
  KERNEL void name(GLOBAL type *target, GLOBAL const type *source, u32 last) {                                  \
    u32 index = element(last);                                                                                  \
    target[index] = source[index];                                                                              \
  }

COPY_ONCE(copy_once_4, u32)
COPY_ONCE(copy_once_16, u32x4)

KERNEL void fill_once_4(GLOBAL u32 *target, u32 last, u32 word) {
  target[element(last)] = word;
}

KERNEL void fill_once_16(GLOBAL u32x4 *target, u32 last, u32 word) {
  u32x4 words = {word, word, word, word};
  target[element(last)] = words;
}

// Goes over `rows` rows of `columns` elements, one element in a step. The next one of a work-item is as many elements on
// as there are work-items: `row_step` rows and `column_step` columns.
#define ROWS(statement)                                                                                         \
  u32 item = (u32)work_item();                                                                                  \
  u32 row_of_item = item < columns ? 0 : item / (u32)columns;                                                   \
  u64 row = row_of_item, column = item - row_of_item * (u32)columns;                                            \
  while (row < rows) {                                                                                          \
    statement;                                                                                                  \
    column += column_step;                                                                                      \
    row += row_step;                                                                                            \
    if (column >= columns) {                                                                                    \
      column -= columns;                                                                                        \
      row += 1;                                                                                                 \
    }                                                                                                           \
  }

#define COPY_ROWS(name, type)                                                                                   \
  KERNEL void name(GLOBAL u8 *target, GLOBAL const u8 *source, u64 target_pitch, u64 source_pitch, u64 columns, \
                   u64 rows, u32 row_step, u32 column_step) {                                                   \
    ROWS(((GLOBAL type *)(target + row * target_pitch))[column] =                                               \
             ((GLOBAL const type *)(source + row * source_pitch))[column])                                      \
  }

COPY_ROWS(copy_rows_1, u8)
COPY_ROWS(copy_rows_4, u32)
COPY_ROWS(copy_rows_16, u32x4)

// `value` makes the element of the pattern, which each row begins with.
#define FILL_ROWS(name, type, value)                                                                            \
  KERNEL void name(GLOBAL u8 *target, u64 pitch, u64 columns, u64 rows, u32 word, u32 row_step, u32 column_step) { \
    u32x4 words = {word, word, word, word};                                                                     \
    ROWS(((GLOBAL type *)(target + row * pitch))[column] = value)                                               \
  }

FILL_ROWS(fill_rows_1, u8, (u8)(words.x >> 8 * (column & 3)))
FILL_ROWS(fill_rows_4, u32, words.x)
FILL_ROWS(fill_rows_16, u32x4, words)

// Runs as one work-item in front of a dispatch whose packet is not published yet. Reads three workgroup counts, writes
// the grid into the packet and the counts into the hidden arguments that `hidden` places (0xffff: there is none), then
// publishes the packet with one 32-bit store. With a count of 0 there is nothing to run: the packet becomes a barrier
// that waits for nothing. More work-items in one dimension than 32 bits hold cannot run: the packet gets a type that does
// not exist, which stops the queue with an error.
KERNEL void patch(GLOBAL const u32 *counts, GLOBAL u32 *packet, GLOBAL u8 *kernargs, u32 header, u16 size_x, u16 size_y,
                  u16 size_z, u16 hidden_x, u16 hidden_y, u16 hidden_z) {
  if (work_item() != 0)
    return;
  u32 count[3] = {counts[0], counts[1], counts[2]};
  u16 size[3] = {size_x, size_y, size_z};
  u16 hidden[3] = {hidden_x, hidden_y, hidden_z};
  u32 is_empty = 0, is_too_large = 0;
  for (int axis = 0; axis < 3; ++axis) {
    u64 grid = (u64)count[axis] * size[axis];
    is_empty |= grid == 0;
    is_too_large |= grid > 0xffffffff;
  }
  if (is_empty) {
    for (int word = 1; word < 14; ++word)
      packet[word] = 0;
    header = (header & 0xff00) | BARRIER_AND;
  } else if (is_too_large) {
    header = (header & ~0xffu) | NO_PACKET_TYPE;
  } else {
    for (int axis = 0; axis < 3; ++axis) {
      packet[3 + axis] = count[axis] * size[axis];
      if (hidden[axis] != 0xffff)
        *(GLOBAL u32 *)(kernargs + hidden[axis]) = count[axis];
    }
  }
  __atomic_store_n(packet, header, __ATOMIC_RELEASE);
}
