#!/bin/sh
# Rebuilds the code objects of the samples and of the demo from their sources, for every target family.
set -eu
cd "$(dirname "$0")/.."
if ! command -v clang-19 >/dev/null || ! command -v ld.lld-19 >/dev/null; then
  echo "make fixtures needs clang-19 and lld-19 (Debian: apt-get install clang-19 lld-19); the prebuilt files stay as they are" >&2
  exit 1
fi
for source in hipgraph_cb/cli/kernels/demo.cl samples/kernels/saxpy.cl samples/kernels/pipeline.cl; do
  for target in gfx90a gfx942 gfx1100 gfx1201; do
    clang-19 -x cl -cl-std=CL2.0 -Xclang -finclude-default-header --target=amdgcn-amd-amdhsa -mcpu="$target" \
      -nogpulib -O2 -mcode-object-version=5 "$source" -o "${source%.cl}.$target.hsaco"
    chmod 644 "${source%.cl}.$target.hsaco"
  done
done
