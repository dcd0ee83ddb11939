#!/bin/sh
# Rebuilds the code objects of the samples and of the demo for every target family, and those of the tests for gfx942.
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
