#!/usr/bin/env bash
# The device back end by the real compiler and libraries, where they are: built, warnings as errors, and opened; what it says where there is no device.
#   tests/device.sh no      for two architectures (about half a minute)
#   tests/device.sh yes     for all of them
set -euo pipefail
cd "$(dirname "$0")/.."
architectures="75;90"
[ "${1:-no}" = yes ] && architectures="75;80;86;89;90;100"
begin=$SECONDS
if ! command -v nvcc >/dev/null && [ ! -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]; then
    echo "device back end: skipped, there is no nvcc here (PATH, CUDA_HOME or /usr/local/cuda)"
    exit 0
fi
jobs/build.sh build/cuda -DCMAKE_BUILD_TYPE=Release -DFRETSAW_CUDA=ON "-DFRETSAW_CUDA_ARCHITECTURES=$architectures" -DFRETSAW_TESTS=OFF -DFRETSAW_BENCH=OFF
[ -f build/cuda/fretsaw_cuda.so ] || { echo "device back end: no library was built" >&2; exit 1; }
# Nothing that the library takes from the program may be missing from it.
missing=$(comm -13 <(nm -D --defined-only build/cuda/bin/train | awk '{print $3}' | sort -u) \
    <(nm -D --undefined-only build/cuda/fretsaw_cuda.so | awk '$1 == "U" && $2 !~ /@/ && $2 !~ /^cublasLt/ {print $2}' | sort -u))
[ -z "$missing" ] || { echo "device back end: the program lacks $missing" >&2; exit 1; }
for program in train infer; do
    [[ $(build/cuda/bin/$program --help) == *--device* ]] || { echo "device back end: $program has no --device" >&2; exit 1; }
done
echo "device back end: built for $architectures in $((SECONDS - begin)) s"
