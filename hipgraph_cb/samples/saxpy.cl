// y = a * x + y. Built by `make fixtures`.
kernel void saxpy(global float *y, global const float *x, float a, uint n) {
  uint i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
  if (i < n) y[i] = a * x[i] + y[i];
}
