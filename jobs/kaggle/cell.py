# Paste into one cell of a Kaggle notebook that has the bundle (jobs/kaggle/bundle.sh) and the competition among its inputs. No internet needed.
import glob, os, shutil, subprocess, tempfile

COMPETITION = os.environ.get("FRETSAW_COMPETITION", "/kaggle/input/jigsaw-multilingual-toxic-comment-classification")
WORK = os.environ.get("FRETSAW_WORK", "/kaggle/working")
STUB_BELOW = os.environ.get("FRETSAW_STUB_BELOW", "1000")  # fewer test rows: the sample is copied (a quick commit); "0": never

bundle = os.environ.get("FRETSAW_BUNDLE") or os.path.dirname(glob.glob("/kaggle/input/**/fretsaw-bundle.txt", recursive=True)[0])
scratch = tempfile.mkdtemp()
program = shutil.copy(os.path.join(bundle, "fretsaw"), scratch)  # inputs are read-only and lose the right to execute
os.chmod(program, 0o755)
runs = ",".join(sorted(glob.glob(os.path.join(bundle, "runs", "*"))))
sample, out = os.path.join(COMPETITION, "sample_submission.csv"), os.path.join(WORK, "submission.csv")


def fretsaw(*words):
    print("$ fretsaw", *words, flush=True)
    with subprocess.Popen([program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        for line in child.stdout:
            print(line, end="", flush=True)
    if child.returncode:
        raise SystemExit(f"fretsaw {words[0]} ended with exit code {child.returncode}: the reason stands above")


fretsaw("infer", "--run", runs, "--csv", os.path.join(COMPETITION, "test.csv"), "--sample-submission", sample, "--stub-below", STUB_BELOW,
        "--work", os.path.join(scratch, "predictions"), "--out", out)
fretsaw("infer", "--validate", out, "--sample-submission", sample)
slug = os.path.basename(COMPETITION.rstrip("/"))
print(f"\n{out} is whole. A notebook competition: Save Version, then Submit on its output. Any other, where the file and the kaggle program are:")
print(f"kaggle competitions submit -c {slug} -f {out} -m 'fretsaw'")
