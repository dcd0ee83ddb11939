// A kernel that does nothing, to stand between two layers of a graph: what waits for it waits for all it waits for.
// Plain C, built by `make fixtures` as provenance.json says.
// AMD's runtime finds kernels of protected visibility only, which plain C does not give them by itself.
__attribute__((amdgpu_kernel, visibility("protected"))) void join(void) {}
