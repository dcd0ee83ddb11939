/* The device side of HIP C++ for compilers without AMD's headers: ids, barriers, lanes, atomics, vectors, mathematics. */
#pragma once

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define HGCB_BOUNDS_1(most) __attribute__((amdgpu_flat_work_group_size(1, most)))
#define HGCB_BOUNDS_2(most, waves) HGCB_BOUNDS_1(most) __attribute__((amdgpu_waves_per_eu(waves)))
#define HGCB_BOUNDS(one, two, name, ...) name
#define __launch_bounds__(...) HGCB_BOUNDS(__VA_ARGS__, HGCB_BOUNDS_2, HGCB_BOUNDS_1, )(__VA_ARGS__)
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

#define DEVICE static inline __device__
#include "device_math.h"

typedef __SIZE_TYPE__ size_t;
typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
typedef _Float16 half;
typedef _Float16 __half;
typedef __bf16 hip_bfloat16;
typedef __bf16 __hip_bfloat16;

/* Ids are members that are read through functions. */
#define HGCB_AXIS(axis, value)                                                                                        \
  __declspec(property(get = get_##axis)) unsigned axis;                                                              \
  DEVICE unsigned get_##axis() { return value; }
struct hgcb_thread_id {
  HGCB_AXIS(x, __builtin_amdgcn_workitem_id_x())
  HGCB_AXIS(y, __builtin_amdgcn_workitem_id_y())
  HGCB_AXIS(z, __builtin_amdgcn_workitem_id_z())
};
struct hgcb_block_id {
  HGCB_AXIS(x, __builtin_amdgcn_workgroup_id_x())
  HGCB_AXIS(y, __builtin_amdgcn_workgroup_id_y())
  HGCB_AXIS(z, __builtin_amdgcn_workgroup_id_z())
};
#define HGCB_IMPLICIT(type, offset)                                                                                   \
  (*(const __attribute__((address_space(4))) type *)                                                                 \
   ((const __attribute__((address_space(4))) char *)__builtin_amdgcn_implicitarg_ptr() + offset))
struct hgcb_block_size {
  HGCB_AXIS(x, HGCB_IMPLICIT(unsigned short, 12))
  HGCB_AXIS(y, HGCB_IMPLICIT(unsigned short, 14))
  HGCB_AXIS(z, HGCB_IMPLICIT(unsigned short, 16))
};
struct hgcb_grid_size {
  HGCB_AXIS(x, HGCB_IMPLICIT(unsigned, 0))
  HGCB_AXIS(y, HGCB_IMPLICIT(unsigned, 4))
  HGCB_AXIS(z, HGCB_IMPLICIT(unsigned, 8))
};
extern const __device__ __attribute__((weak)) hgcb_thread_id threadIdx;
extern const __device__ __attribute__((weak)) hgcb_block_id blockIdx;
extern const __device__ __attribute__((weak)) hgcb_block_size blockDim;
extern const __device__ __attribute__((weak)) hgcb_grid_size gridDim;
#define warpSize (__AMDGCN_WAVEFRONT_SIZE)

/* Barriers and fences. */
DEVICE void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
DEVICE void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
DEVICE void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
DEVICE void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* Lanes of a wave. */
DEVICE unsigned __lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }
template <typename T> DEVICE T hgcb_from_lane(T value, int lane) {
  static_assert(sizeof(T) % 4 == 0, "a value of whole 32-bit words");
  struct Words {
    int word[sizeof(T) / 4];
  };
  Words words = __builtin_bit_cast(Words, value);
  for (unsigned i = 0; i < sizeof(T) / 4; i++) words.word[i] = __builtin_amdgcn_ds_bpermute(lane << 2, words.word[i]);
  return __builtin_bit_cast(T, words);
}
template <typename T> DEVICE T __shfl(T value, int source, int width = warpSize) {
  int self = __lane_id();
  return hgcb_from_lane(value, (self & ~(width - 1)) + (source & (width - 1)));
}
template <typename T> DEVICE T __shfl_up(T value, unsigned delta, int width = warpSize) {
  int self = __lane_id(), from = self - (int)delta;
  return hgcb_from_lane(value, from < (self & ~(width - 1)) ? self : from);
}
template <typename T> DEVICE T __shfl_down(T value, unsigned delta, int width = warpSize) {
  int self = __lane_id(), from = self + (int)delta;
  return hgcb_from_lane(value, (self & (width - 1)) + (int)delta >= width ? self : from);
}
template <typename T> DEVICE T __shfl_xor(T value, int mask, int width = warpSize) {
  int self = __lane_id(), from = self ^ mask;
  return hgcb_from_lane(value, from >= ((self + width) & ~(width - 1)) ? self : from);
}
DEVICE unsigned long long __ballot(int predicate) {
#if __AMDGCN_WAVEFRONT_SIZE == 64
  return __builtin_amdgcn_ballot_w64(predicate != 0);
#else
  return __builtin_amdgcn_ballot_w32(predicate != 0);
#endif
}
DEVICE unsigned long long __activemask() { return __ballot(1); }
DEVICE int __any(int predicate) { return __ballot(predicate) != 0; }
DEVICE int __all(int predicate) { return __ballot(!predicate) == 0; }
DEVICE int __popc(unsigned value) { return __builtin_popcount(value); }
DEVICE int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
DEVICE int __clz(int value) { return value ? __builtin_clz((unsigned)value) : 32; }
DEVICE int __ffs(int value) { return __builtin_ffs(value); }
DEVICE int __ffsll(long long value) { return __builtin_ffsll(value); }
DEVICE unsigned __brev(unsigned value) { return __builtin_bitreverse32(value); }
DEVICE float __int_as_float(int value) { return __builtin_bit_cast(float, value); }
DEVICE int __float_as_int(float value) { return __builtin_bit_cast(int, value); }

/* Atomics: relaxed, for the whole device; they return the value before. */
#define HGCB_ATOMIC(name, function, type)                                                                             \
  DEVICE type name(type *address, type value) {                                                                      \
    return function(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);                                     \
  }
#define HGCB_ATOMIC_INTEGERS(name, function)                                                                          \
  HGCB_ATOMIC(name, function, int)                                                                                   \
  HGCB_ATOMIC(name, function, unsigned)                                                                              \
  HGCB_ATOMIC(name, function, unsigned long long)
#define HGCB_ATOMIC_NUMBERS(name, function)                                                                           \
  HGCB_ATOMIC_INTEGERS(name, function)                                                                               \
  HGCB_ATOMIC(name, function, float)                                                                                 \
  HGCB_ATOMIC(name, function, double)
HGCB_ATOMIC_NUMBERS(atomicAdd, __hip_atomic_fetch_add)
HGCB_ATOMIC_NUMBERS(atomicExch, __hip_atomic_exchange)
HGCB_ATOMIC_INTEGERS(atomicMin, __hip_atomic_fetch_min)
HGCB_ATOMIC_INTEGERS(atomicMax, __hip_atomic_fetch_max)
HGCB_ATOMIC_INTEGERS(atomicAnd, __hip_atomic_fetch_and)
HGCB_ATOMIC_INTEGERS(atomicOr, __hip_atomic_fetch_or)
HGCB_ATOMIC_INTEGERS(atomicXor, __hip_atomic_fetch_xor)
template <typename T> DEVICE T atomicSub(T *address, T value) { return atomicAdd(address, (T)-value); }
template <typename T> DEVICE T atomicCAS(T *address, T expected, T value) {
  __hip_atomic_compare_exchange_strong(address, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}

/* Vectors, as structs of their elements. */
#define HGCB_VECTORS(type, name)                                                                                      \
  struct alignas(2 * sizeof(type)) name##2 {                                                                         \
    type x, y;                                                                                                       \
  };                                                                                                                 \
  struct name##3 {                                                                                                   \
    type x, y, z;                                                                                                    \
  };                                                                                                                 \
  struct alignas(4 * sizeof(type)) name##4 {                                                                         \
    type x, y, z, w;                                                                                                 \
  };                                                                                                                 \
  DEVICE __host__ name##2 make_##name##2(type x, type y) { return {x, y}; }                                          \
  DEVICE __host__ name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                               \
  DEVICE __host__ name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
HGCB_VECTORS(signed char, char)
HGCB_VECTORS(unsigned char, uchar)
HGCB_VECTORS(short, short)
HGCB_VECTORS(unsigned short, ushort)
HGCB_VECTORS(int, int)
HGCB_VECTORS(unsigned, uint)
HGCB_VECTORS(long long, longlong)
HGCB_VECTORS(unsigned long long, ulonglong)
HGCB_VECTORS(float, float)
HGCB_VECTORS(double, double)

/* Mathematics: name(double), name(float) and namef(float). */
#define HGCB_MATH(name, of_double, of_float)                                                                          \
  DEVICE double name(double x) { return of_double(x); }                                                              \
  DEVICE float name(float x) { return (float)of_float(x); }                                                          \
  DEVICE float name##f(float x) { return (float)of_float(x); }
#define HGCB_MATH_2(name, of_double, of_float)                                                                        \
  DEVICE double name(double x, double y) { return of_double(x, y); }                                                 \
  DEVICE float name(float x, float y) { return (float)of_float(x, y); }                                              \
  DEVICE float name##f(float x, float y) { return (float)of_float(x, y); }
DEVICE double hgcb_log2(double x) { return hgcb_log(x) * 1.4426950408889634; }
DEVICE double hgcb_log10(double x) { return hgcb_log(x) * 0.43429448190325182; }
DEVICE double hgcb_log1p(double x) {
  double one = 1.0 + x;
  return one == 1.0 ? x : one == __builtin_inf() ? one : hgcb_log(one) * (x / (one - 1.0));
}
DEVICE double hgcb_rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
HGCB_MATH(exp, hgcb_exp, hgcb_exp)
HGCB_MATH(exp2, hgcb_exp2, hgcb_exp2)
HGCB_MATH(exp10, hgcb_exp10, hgcb_exp10)
HGCB_MATH(expm1, hgcb_expm1, hgcb_expm1)
HGCB_MATH(log, hgcb_log, hgcb_log)
HGCB_MATH(log2, hgcb_log2, hgcb_log2)
HGCB_MATH(log10, hgcb_log10, hgcb_log10)
HGCB_MATH(log1p, hgcb_log1p, hgcb_log1p)
HGCB_MATH(sin, hgcb_sin, hgcb_sin)
HGCB_MATH(cos, hgcb_cos, hgcb_cos)
HGCB_MATH(tan, hgcb_tan, hgcb_tan)
HGCB_MATH(sinh, hgcb_sinh, hgcb_sinh)
HGCB_MATH(cosh, hgcb_cosh, hgcb_cosh)
HGCB_MATH(tanh, hgcb_tanh, hgcb_tanh)
HGCB_MATH(erf, hgcb_erf, hgcb_erf)
HGCB_MATH(sqrt, __builtin_sqrt, __builtin_sqrtf)
HGCB_MATH(rsqrt, hgcb_rsqrt, hgcb_rsqrt)
HGCB_MATH(fabs, __builtin_fabs, __builtin_fabsf)
HGCB_MATH(floor, __builtin_floor, __builtin_floorf)
HGCB_MATH(ceil, __builtin_ceil, __builtin_ceilf)
HGCB_MATH(trunc, __builtin_trunc, __builtin_truncf)
HGCB_MATH(round, __builtin_round, __builtin_roundf)
HGCB_MATH(rint, __builtin_rint, __builtin_rintf)
HGCB_MATH_2(pow, hgcb_pow, hgcb_pow)
HGCB_MATH_2(fmin, __builtin_fmin, __builtin_fminf)
HGCB_MATH_2(fmax, __builtin_fmax, __builtin_fmaxf)
HGCB_MATH_2(copysign, __builtin_copysign, __builtin_copysignf)
DEVICE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
DEVICE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
DEVICE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
DEVICE float __expf(float x) { return expf(x); }
DEVICE float __logf(float x) { return logf(x); }
DEVICE float __fdividef(float x, float y) { return x / y; }
DEVICE bool isnan(double x) { return x != x; }
DEVICE bool isinf(double x) { return __builtin_fabs(x) == __builtin_inf(); }
template <typename T> DEVICE __host__ T min(T x, T y) { return y < x ? y : x; }
template <typename T> DEVICE __host__ T max(T x, T y) { return x < y ? y : x; }
DEVICE int abs(int x) { return x < 0 ? -x : x; }
#undef HGCB_MATH
#undef HGCB_MATH_2
