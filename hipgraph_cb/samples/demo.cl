// The two kernels of `hipgraph-cb demo`. Built by `make fixtures`; no device library is needed.
#define GLOBAL_ID_X \
  (__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x())

kernel void saxpy(global float *y, global const float *x, float a, uint n) {
  uint i = GLOBAL_ID_X;
  if (i < n) y[i] = a * x[i] + y[i];
}

kernel void soft_sign(global float *z, global const float *y, uint n) {
  uint i = GLOBAL_ID_X;
  if (i < n) z[i] = y[i] * __builtin_amdgcn_rcpf(1.0f + __builtin_fabsf(y[i]));
}
