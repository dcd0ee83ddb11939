// A kernel that does nothing, to stand between two layers of a graph: what waits for it waits for all it waits for.
// Plain C: clang -x c --target=amdgcn-amd-amdhsa; see tools/build_fixtures.sh.
__attribute__((amdgpu_kernel)) void join(void) {}
