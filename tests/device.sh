#!/usr/bin/env bash
# The device back end by the real compiler, headers and libraries, where they are: built, warnings as errors, and opened; what it says of a driver that is too
# old; the doors to cuBLASLt, cuDNN and NCCL over their stand-ins, compiled with the libraries' own headers.
#   tests/device.sh no      for two architectures (about half a minute)
#   tests/device.sh yes     for all of them, and with CUDA 12 where tests/device12.sh finds what it needs
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

# A driver of CUDA 11, as far as the runtime asks it.
old=build/cuda/old-driver
mkdir -p "$old"
printf '%s\n' 'int cuDriverGetVersion(int *v);' 'int cuDriverGetVersion(int *v) { *v = 11040; return 0; }' 'int cuInit(unsigned f);' \
    'int cuInit(unsigned f) { return f != 0; }' | cc -shared -fPIC -x c -o "$old/libcuda.so.1" -
build/cuda/bin/preprocess --quiet --vocab sample/model --out "$old/tokens" sample/validation.csv >/dev/null
said=$(LD_LIBRARY_PATH=$old${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} build/cuda/bin/train --device cuda --init random --config sample/model \
    --train "$old/tokens" --max-length 64 --lanes 1 --batch 4 --out "$old/run" 2>&1) && code=0 || code=$?
[ $code = 5 ] && [[ $said == *"NVIDIA driver here knows CUDA 11.4 and this build needs CUDA"*": install driver "*" or newer"* ]] ||
    { echo "device back end: of a driver that is too old it says (exit $code): $said" >&2; exit 1; }
cmake -S . -B build/cuda -DFRETSAW_TESTS=ON >build/cuda/build.log 2>&1 &&
    cmake --build build/cuda --target test_cuda_products test_cuda_fused test_cuda_fused_plan test_train_reduce fretsaw_twin >>build/cuda/build.log 2>&1 ||
    { tail -n 40 build/cuda/build.log; echo "device back end: its tests do not build" >&2; exit 1; }
. jobs/mpi.sh
ctest --no-tests=error --test-dir build/cuda --output-on-failure -R '^(cuda_(products|fused|fused_plan)|device_links_np3)$'
echo "device back end: built for $architectures in $((SECONDS - begin)) s"
[ "${1:-no}" != yes ] || tests/device12.sh
