// Two steps of a pipeline: a moving average of three neighbours, then the sum of 256 values per workgroup.
// Built by `make fixtures`.
kernel void smooth(global float *out, global const float *in, uint n) {
  uint i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
  if (i >= n) return;
  float left = in[i == 0 ? 0 : i - 1], right = in[i + 1 == n ? i : i + 1];
  out[i] = 0.25f * left + 0.5f * in[i] + 0.25f * right;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void block_sum(global float *sums, global const float *in, uint n) {
  local float part[256];
  uint t = __builtin_amdgcn_workitem_id_x(), i = __builtin_amdgcn_workgroup_id_x() * 256 + t;
  part[t] = i < n ? in[i] : 0.0f;
  for (uint width = 128; width > 0; width >>= 1) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    if (t < width) part[t] += part[t + width];
  }
  if (t == 0) sums[__builtin_amdgcn_workgroup_id_x()] = part[0];
}
