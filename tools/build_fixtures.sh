#!/bin/sh
# Rebuilds the code objects of the samples, of the demo and of both backends for every target family, and those of the
# tests for gfx942.
# What stands in tests/fixtures/corpus comes from several compilers; its README says how it was made.
set -eu
cd "$(dirname "$0")/.."
if ! command -v clang-19 >/dev/null || ! command -v ld.lld-19 >/dev/null; then
  echo "make fixtures needs clang-19 and lld-19 (Debian: apt-get install clang-19 lld-19); the prebuilt files stay as they are" >&2
  exit 1
fi

# opencl SOURCE TARGET LEVEL: SOURCE.cl -> SOURCE.TARGET.hsaco
opencl() {
  clang-19 -x cl -cl-std=CL2.0 -Xclang -finclude-default-header --target=amdgcn-amd-amdhsa -mcpu="$2" -nogpulib \
    "-O$3" -mcode-object-version=5 "$1.cl" -o "$1.$2.hsaco"
  chmod 644 "$1.$2.hsaco"
}

# plain_c SOURCE TARGET VERSION: SOURCE.c -> SOURCE.TARGET.hsaco; generic targets exist from code object version 6 on
plain_c() {
  # Protected, as kernels of OpenCL and HIP are: a runtime finds only what the dynamic symbol table names.
  clang-19 -x c --target=amdgcn-amd-amdhsa -mcpu="$2" -nogpulib -ffreestanding -nostdlib -O2 -fvisibility=protected \
    -mcode-object-version="$3" "$1.c" -o "$1.$2.hsaco"
  chmod 644 "$1.$2.hsaco"
}

# Machine code of this kind of computer, for which nothing but the processor's own instructions is needed.
clang-19 --target=x86_64-unknown-linux-gnu -x c -std=c11 -O2 -ffreestanding -nostdlib -shared -fPIC -fvisibility=hidden \
  -fno-asynchronous-unwind-tables -fuse-ld=lld-19 -Wl,--build-id=none -s -Wall -Wextra -Werror \
  hipgraph_cb/virtual/isa/lane_loops.c -o hipgraph_cb/virtual/isa/lane_loops.x86-64.so
chmod 644 hipgraph_cb/virtual/isa/lane_loops.x86-64.so

for target in gfx908 gfx90a gfx942 gfx1100 gfx1201; do
  plain_c hipgraph_cb/backend/kernels/blit $target 5
done
for target in gfx9-generic gfx10-1-generic gfx10-3-generic gfx11-generic gfx12-generic; do
  plain_c hipgraph_cb/backend/kernels/blit $target 6
done
for target in gfx908 gfx90a gfx942 gfx1100 gfx1201; do
  plain_c hipgraph_cb/hip/kernels/join $target 5
done
for target in gfx9-generic gfx10-1-generic gfx10-3-generic gfx11-generic gfx12-generic; do
  plain_c hipgraph_cb/hip/kernels/join $target 6
done
for source in hipgraph_cb/cli/kernels/demo samples/kernels/saxpy samples/kernels/pipeline; do
  for target in gfx90a gfx942 gfx1100 gfx1201; do
    opencl "$source" "$target" 2
  done
done
opencl tests/fixtures/conformance/conformance gfx942 2
opencl tests/fixtures/conformance/arguments gfx942 2
opencl tests/fixtures/virtual/endless gfx942 2
opencl tests/fixtures/memory/generic gfx942 0
clang-19 -x assembler --target=amdgcn-amd-amdhsa -mcpu=gfx942 tests/fixtures/loader/relocated.s \
  -o tests/fixtures/loader/relocated.gfx942.hsaco
chmod 644 tests/fixtures/loader/relocated.gfx942.hsaco
clang-19 -x c --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -ffreestanding -nostdlib -O2 -mcode-object-version=5 \
  -Wl,--unresolved-symbols=ignore-all tests/fixtures/loader/outside.c -o tests/fixtures/loader/outside.gfx942.hsaco
chmod 644 tests/fixtures/loader/outside.gfx942.hsaco
clang-19 -x c --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -ffreestanding -nostdlib -O1 -mcode-object-version=5 \
  tests/fixtures/virtual/indexed.c -o tests/fixtures/virtual/indexed.gfx942.hsaco
chmod 644 tests/fixtures/virtual/indexed.gfx942.hsaco
plain_c tests/fixtures/virtual/faults gfx942 5
