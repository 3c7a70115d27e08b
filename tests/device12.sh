#!/usr/bin/env bash
# The device back end with CUDA 12, as far as PyPI and Debian have it: all kernels by clang over CUDA 12's headers, libdevice and ptxas, all other sources over the
# headers of its libraries, warnings as errors; linked with its runtime and cuBLASLt, opened by a program of build/cuda (tests/device.sh), refused by an old driver.
#   FRETSAW_CUDA12=FOLDER tests/device12.sh        FOLDER: python3 -m pip install --no-deps --target FOLDER nvidia-cuda-nvcc-cu12 nvidia-cuda-runtime-cu12
#                                                  nvidia-cublas-cu12 nvidia-cuda-cccl-cu12, and nvidia-nccl-cu12 nvidia-cudnn-cu12 for what they are for
#   CLANG=PROGRAM                                  clang 16 or newer (clang-19 of Debian 12 unless given)
# PyPI has no nvcc, no fatbinary and no front end of CUDA 12: objects are put together by fatbinary of the CUDA here, so what is built shows that the sources
# are CUDA 12's, and is no library to use. Architectures are those that clang 19 knows: no sm_100.
set -euo pipefail
cd "$(dirname "$0")/.."
clang=${CLANG:-clang-19}
wheels=${FRETSAW_CUDA12:-}
wheels=${wheels:+$wheels/nvidia}
skip() { echo "device back end with CUDA 12: skipped, $1" && exit 0; }
[ -n "$wheels" ] && [ -x "$(command -v "$clang")" ] || skip "FRETSAW_CUDA12 names no folder or there is no $clang"
[ -f "$wheels/cuda_nvcc/bin/ptxas" ] && [ -f "$wheels/cuda_runtime/lib/libcudart_static.a" ] || skip "$wheels has no ptxas or runtime"
fatbinary=$(command -v fatbinary || echo "${CUDA_HOME:-/usr/local/cuda}/bin/fatbinary")
[ -x "$fatbinary" ] && [ -x build/cuda/bin/train ] && [ -d build/cuda/old-driver/tokens ] || skip "tests/device.sh comes first, with a CUDA that has fatbinary"
begin=$SECONDS
out=$PWD/build/cuda12
root=$out/root
rm -rf "$out"
mkdir -p "$root/bin" "$root/include" "$root/lib64" "$root/nvvm"
wheels=$(realpath "$wheels")
for part in cuda_nvcc cuda_runtime cublas cuda_cccl nccl cudnn; do
    [ ! -d "$wheels/$part/include" ] || cp -rn "$wheels/$part/include/." "$root/include/"
done
ln -s "$wheels/cuda_nvcc/nvvm/libdevice" "$root/nvvm/libdevice"
ln -s "$wheels/cuda_runtime/lib/libcudart_static.a" "$root/lib64/"
cp "$wheels/cuda_nvcc/bin/ptxas" "$root/bin/ptxas"
chmod +x "$root/bin/ptxas"
# clang's words for fatbinary are CUDA 12's; CUDA 13's has others.
cat >"$root/bin/fatbinary" <<WRAP
#!/usr/bin/env bash
args=()
for a in "\$@"; do
    case \$a in
        --image=profile=sm_*) a=\${a#--image=profile=sm_} && a=--image3=kind=elf,sm=\${a%%,*},file=\${a#*file=} ;;
        --image=profile=compute_*) a=\${a#--image=profile=compute_} && a=--image3=kind=ptx,sm=\${a%%,*},file=\${a#*file=} ;;
    esac
    args+=("\$a")
done
exec "$fatbinary" "\${args[@]}"
WRAP
chmod +x "$root/bin/fatbinary"
architectures=(75 80 86 89 90)
for source in model/cuda/kernels/*.cu; do
    "$clang" -x cuda "--cuda-path=$root" "${architectures[@]/#/--cuda-gpu-arch=sm_}" -std=c++17 -O3 -ffp-contract=off -fPIC -Wall -Wextra -Werror \
        -Wno-unknown-cuda-version -I. -c "$source" -o "$out/$(basename "$source" .cu).o"
done
sources=(model/cuda/cuda*.c model/cuda/gpu_cuda.c model/cuda/product_cublas.c model/cuda/kernels/limits.c common/tree.c)
[ -f "$root/include/nccl.h" ] && sources+=(model/cuda/link_nccl.c) || sources+=(model/cuda/link_none.c)
[ -f "$root/include/cudnn_graph.h" ] && sources+=(model/cuda/fused_cudnn.c model/cuda/fused_plan.c) || sources+=(model/cuda/fused_none.c)
for source in "${sources[@]}"; do
    cc -std=c17 -D_GNU_SOURCE -O2 -fPIC -Wall -Wextra -Werror -I. -isystem "$root/include" -c "$source" -o "$out/$(basename "$source" .c).c.o"
done
cc -shared "$out"/*.o "$wheels/cublas/lib/libcublasLt.so.12" "$root/lib64/libcudart_static.a" -lm -ldl -lrt -lpthread \
    -o "$out/fretsaw_cuda.so"
missing=$(comm -13 <(nm -D --defined-only build/cuda/bin/train | awk '{print $3}' | sort -u) \
    <(nm -D --undefined-only "$out/fretsaw_cuda.so" | awk '$1 == "U" && $2 !~ /@/ && $2 !~ /^cublasLt/ {print $2}' | sort -u))
[ -z "$missing" ] || { echo "device back end with CUDA 12: the program lacks $missing" >&2; exit 1; }
said=$(LD_LIBRARY_PATH=build/cuda/old-driver:$wheels/cublas/lib FRETSAW_DEVICE_LIBRARY=$out/fretsaw_cuda.so build/cuda/bin/train --device cuda --init random \
    --config sample/model --train build/cuda/old-driver/tokens --max-length 64 --lanes 1 --batch 4 --out "$out/run" 2>&1) && code=0 || code=$?
[ $code = 5 ] && [[ $said == *"NVIDIA driver here knows CUDA 11.4 and this build needs CUDA 12"*": install driver "*" or newer"* ]] ||
    { echo "device back end with CUDA 12: of a driver that is too old it says (exit $code): $said" >&2; exit 1; }
printf '%s' "$said" | grep -o "NVIDIA driver here.*" || true
echo "device back end with CUDA 12: $("$root/bin/ptxas" --version | grep -o 'release [0-9.]*'), ${sources[*]##*/}, in $((SECONDS - begin)) s"
