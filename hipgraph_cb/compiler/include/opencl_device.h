/* The built-in functions of OpenCL C, where AMD's device library is not installed. The compiler declares them; these
 * definitions go into each use. */

#define DEVICE static inline __attribute__((always_inline))
#include "device_math.h"

#define BUILTIN inline __attribute__((gnu_inline, always_inline, overloadable))
extern BUILTIN uint get_work_dim(void) { return 3; }
#define HGCB_IMPLICIT(type, offset) (*(const constant type *)((const constant char *)__builtin_amdgcn_implicitarg_ptr() + offset))
extern BUILTIN size_t get_local_id(uint axis) {
  return axis == 0   ? __builtin_amdgcn_workitem_id_x()
         : axis == 1 ? __builtin_amdgcn_workitem_id_y()
         : axis == 2 ? __builtin_amdgcn_workitem_id_z()
                     : 0;
}
extern BUILTIN size_t get_group_id(uint axis) {
  return axis == 0   ? __builtin_amdgcn_workgroup_id_x()
         : axis == 1 ? __builtin_amdgcn_workgroup_id_y()
         : axis == 2 ? __builtin_amdgcn_workgroup_id_z()
                     : 0;
}
extern BUILTIN size_t get_local_size(uint axis) { return axis < 3 ? HGCB_IMPLICIT(ushort, 12 + 2 * axis) : 1; }
extern BUILTIN size_t get_enqueued_local_size(uint axis) { return get_local_size(axis); }
extern BUILTIN size_t get_num_groups(uint axis) { return axis < 3 ? HGCB_IMPLICIT(uint, 4 * axis) : 1; }
extern BUILTIN size_t get_global_size(uint axis) { return get_num_groups(axis) * get_local_size(axis); }
extern BUILTIN size_t get_global_offset(uint axis) { return axis < 3 ? HGCB_IMPLICIT(ulong, 40 + 8 * axis) : 0; }
extern BUILTIN size_t get_global_id(uint axis) {
  return get_group_id(axis) * get_local_size(axis) + get_local_id(axis) + get_global_offset(axis);
}
extern BUILTIN size_t get_local_linear_id(void) {
  return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);
}

extern BUILTIN void mem_fence(cl_mem_fence_flags flags) { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
extern BUILTIN void work_group_barrier(cl_mem_fence_flags flags) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
extern BUILTIN void barrier(cl_mem_fence_flags flags) { work_group_barrier(flags); }

#define HGCB_ATOMIC(name, operation, space, type)                                                                     \
  extern BUILTIN type name(volatile space type *address, type value) {                                                \
    return operation(address, value, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);                                 \
  }
#define HGCB_ATOMICS(name, operation)                                                                                 \
  HGCB_ATOMIC(name, operation, global, int)                                                                           \
  HGCB_ATOMIC(name, operation, global, uint)                                                                          \
  HGCB_ATOMIC(name, operation, local, int)                                                                            \
  HGCB_ATOMIC(name, operation, local, uint)
HGCB_ATOMICS(atomic_add, __scoped_atomic_fetch_add)
HGCB_ATOMICS(atomic_sub, __scoped_atomic_fetch_sub)
HGCB_ATOMICS(atomic_min, __scoped_atomic_fetch_min)
HGCB_ATOMICS(atomic_max, __scoped_atomic_fetch_max)
HGCB_ATOMICS(atomic_and, __scoped_atomic_fetch_and)
HGCB_ATOMICS(atomic_or, __scoped_atomic_fetch_or)
HGCB_ATOMICS(atomic_xor, __scoped_atomic_fetch_xor)
HGCB_ATOMICS(atomic_xchg, __scoped_atomic_exchange_n)

/* Mathematics, for scalars and vectors, element by element. */
#define HGCB_VECTOR(name, type, count, each)                                                                          \
  extern BUILTIN type##count name(type##count x) {                                                                    \
    type##count result;                                                                                               \
    for (int i = 0; i < each; i++) ((type *)&result)[i] = name(((type *)&x)[i]);                                      \
    return result;                                                                                                    \
  }
#define HGCB_VECTORS(name, type)                                                                                      \
  HGCB_VECTOR(name, type, 2, 2)                                                                                       \
  HGCB_VECTOR(name, type, 3, 3)                                                                                       \
  HGCB_VECTOR(name, type, 4, 4)                                                                                       \
  HGCB_VECTOR(name, type, 8, 8)                                                                                       \
  HGCB_VECTOR(name, type, 16, 16)
#define HGCB_MATH(name, of_double, of_float)                                                                          \
  extern BUILTIN double name(double x) { return of_double(x); }                                                       \
  extern BUILTIN float name(float x) { return (float)of_float(x); }                                                   \
  HGCB_VECTORS(name, double)                                                                                          \
  HGCB_VECTORS(name, float)
DEVICE double hgcb_log2(double x) { return hgcb_log(x) * 1.4426950408889634; }
DEVICE double hgcb_log10(double x) { return hgcb_log(x) * 0.43429448190325182; }
DEVICE double hgcb_rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
HGCB_MATH(exp, hgcb_exp, hgcb_exp)
HGCB_MATH(exp2, hgcb_exp2, hgcb_exp2)
HGCB_MATH(exp10, hgcb_exp10, hgcb_exp10)
HGCB_MATH(expm1, hgcb_expm1, hgcb_expm1)
HGCB_MATH(log, hgcb_log, hgcb_log)
HGCB_MATH(log2, hgcb_log2, hgcb_log2)
HGCB_MATH(log10, hgcb_log10, hgcb_log10)
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
#define HGCB_MATH_2(name, of_double, of_float)                                                                        \
  extern BUILTIN double name(double x, double y) { return of_double(x, y); }                                          \
  extern BUILTIN float name(float x, float y) { return (float)of_float(x, y); }
HGCB_MATH_2(pow, hgcb_pow, hgcb_pow)
HGCB_MATH_2(fmin, __builtin_fmin, __builtin_fminf)
HGCB_MATH_2(fmax, __builtin_fmax, __builtin_fmaxf)
extern BUILTIN double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
extern BUILTIN float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
extern BUILTIN float mad(float x, float y, float z) { return x * y + z; }
#define HGCB_INTEGERS(type)                                                                                           \
  extern BUILTIN type min(type x, type y) { return y < x ? y : x; }                                                   \
  extern BUILTIN type max(type x, type y) { return x < y ? y : x; }
HGCB_INTEGERS(int)
HGCB_INTEGERS(uint)
HGCB_INTEGERS(long)
HGCB_INTEGERS(ulong)
