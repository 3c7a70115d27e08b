# Paste into one cell of a Kaggle notebook that has the bundle (jobs/kaggle/bundle.sh) and the competition among its inputs. No internet needed.
import glob, os, shutil, subprocess, tempfile

COMPETITION = os.environ.get("FRETSAW_COMPETITION", "/kaggle/input/jigsaw-multilingual-toxic-comment-classification")
WORK = os.environ.get("FRETSAW_WORK", "/kaggle/working")
STUB_BELOW = os.environ.get("FRETSAW_STUB_BELOW", "1000")  # fewer test rows: the sample is copied (a quick commit); "0": never
DEVICE = os.environ.get("FRETSAW_DEVICE", "auto")  # auto: the GPU, where the notebook has one and the bundle was made with --cuda; cpu; cuda
TYPE = os.environ.get("FRETSAW_TYPE", "float32")  # on a GPU also float16 (a T4), or bfloat16 (compute capability 8.0 and newer)

bundle = os.environ.get("FRETSAW_BUNDLE") or os.path.dirname(glob.glob("/kaggle/input/**/fretsaw-bundle.txt", recursive=True)[0])
scratch = tempfile.mkdtemp()  # inputs are read-only and lose the right to execute, so programs are copied
program = shutil.copy(os.path.join(bundle, "fretsaw"), scratch)
os.chmod(program, 0o755)
infer = score = [program, "infer"]
if DEVICE == "cuda" or (DEVICE == "auto" and os.path.exists("/dev/nvidia0") and os.path.isdir(os.path.join(bundle, "cuda"))):
    if not os.path.isdir(os.path.join(bundle, "cuda")):
        raise SystemExit("this bundle computes on the CPU only: make it with jobs/kaggle/bundle.sh --cuda")
    cuda = shutil.copytree(os.path.join(bundle, "cuda"), os.path.join(scratch, "cuda"))
    loader = os.path.join(cuda, "loader")
    os.chmod(loader, 0o755)
    os.environ.setdefault("FRETSAW_DEVICE_LIBRARY", os.path.join(cuda, "fretsaw_cuda.so"))
    driver = [*os.environ.get("LD_LIBRARY_PATH", "").split(":"), "/usr/local/nvidia/lib64"]
    libraries = ":".join(filter(None, [os.path.join(cuda, "lib"), *driver]))
    score = [loader, "--library-path", libraries, os.path.join(cuda, "bin", "infer"), "--device", DEVICE, "--type", TYPE]
runs = ",".join(sorted(glob.glob(os.path.join(bundle, "runs", "*"))))
sample, out = os.path.join(COMPETITION, "sample_submission.csv"), os.path.join(WORK, "submission.csv")


def run(*words):
    print("$", *words, flush=True)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        for line in child.stdout:
            print(line, end="", flush=True)
    if child.returncode:
        raise SystemExit(f"fretsaw infer ended with exit code {child.returncode}: the reason stands above")


run(*score, "--run", runs, "--csv", os.path.join(COMPETITION, "test.csv"), "--sample-submission", sample, "--stub-below", STUB_BELOW,
    "--work", os.path.join(scratch, "predictions"), "--out", out)
run(*infer, "--validate", out, "--sample-submission", sample)
slug = os.path.basename(COMPETITION.rstrip("/"))
print(f"\n{out} is whole. A notebook competition: Save Version, then Submit on its output. Any other, where the file and the kaggle program are:")
print(f"kaggle competitions submit -c {slug} -f {out} -m 'fretsaw'")
