"""report_check.py PAGE RUN [REPORT.json]: the page against the run's own records and infer's AUC; its markup, colours and what it would load."""
import html
import json
import re
import sys
from html.parser import HTMLParser

page, run = sys.argv[1:3]
text = open(page, encoding="utf-8").read()
wrong = []


class Markup(HTMLParser):
    void = {"meta", "link", "br", "img", "path"}

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in self.void:
            self.open.append(tag)
        for name, value in attributes:
            if name in ("src", "href") and value != "data:," or name.startswith("on"):
                wrong.append(f"<{tag} {name}={value}>")

    def handle_endtag(self, tag):
        if tag in self.void:
            return
        if not self.open or self.open.pop() != tag:
            wrong.append(f"</{tag}> closes nothing at {self.getpos()}")


markup = Markup()
markup.feed(text)
markup.close()
if markup.open:
    wrong.append(f"never closed: {markup.open}")
if re.search(r"https?:|url\(|@import|fetch\(|XMLHttp|localStorage", text):
    wrong.append("something that could reach out")
if "default-src 'none'" not in text:
    wrong.append("no policy that forbids requests")
for data in re.findall(r'<script type="application/json">(.*?)</script>', text):
    json.loads(data)


def contrast(a, b):
    a, b = sorted((light(a), light(b)))
    return (b + 0.05) / (a + 0.05)


def channel(v):
    v /= 255
    return ((v + 0.055) / 1.055) ** 2.4 if v > 0.03928 else v / 12.92


def light(colour):
    red, green, blue = (channel(int(colour[i:i + 2], 16)) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


if abs(contrast("#ffffff", "#000000") - 21) > 1e-9 or abs(contrast("#767676", "#ffffff") - 4.54) > 0.01:
    wrong.append("the contrast is computed wrongly")
themes = [dict(re.findall(r"--([\w-]+):(#[0-9a-f]{6})", block)) for block in re.findall(r":root\{[^}]*?(--page[^}]*)\}", text)]
if len(themes) != 2:
    wrong.append(f"{len(themes)} themes")
for theme in themes:
    for ink, ground, least in [("ink", "page", 4.5), ("ink", "card", 4.5), ("soft", "page", 4.5), ("soft", "card", 4.5), ("accent", "card", 4.5),
                               ("mark-ink", "mark", 4.5)] + [(f"c{i}", "card", 3) for i in range(8)]:
        if contrast(theme[ink], theme[ground]) < least:
            wrong.append(f"{ink} {theme[ink]} on {ground} {theme[ground]}: {contrast(theme[ink], theme[ground]):.2f}")

epochs = [json.loads(line) for line in open(f"{run}/metrics.jsonl", encoding="utf-8") if '"valid_rows"' in line]
best = max((e for e in epochs if isinstance(e["valid_auc"], float)), key=lambda e: e["valid_auc"])
seen = html.unescape(re.sub(r"<[^>]*>", "\n", text))
if f"{best['valid_auc']:.5f}" not in seen:
    wrong.append(f"the best AUC {best['valid_auc']:.5f} is not there")
for epoch in epochs:
    if isinstance(epoch["valid_auc"], float) and f",{epoch['valid_auc']:.5g}]" not in text:
        wrong.append(f"epoch {epoch['epoch']}: its AUC is not in the chart")
for word in ("run.json", "provenance.json"):
    loaded = json.load(open(f"{run}/{word}", encoding="utf-8"))
    for key in ("recipe_sha256", "state"):
        if key in loaded and loaded[key] not in seen:
            wrong.append(f"{key} of {word} is not there")
if run.rsplit("/", 1)[1] not in seen:
    wrong.append("the run's name is not there as it is written")
if len(sys.argv) > 3:
    for label, measured in json.load(open(sys.argv[3], encoding="utf-8")).items():
        for lang, one in [("all", measured["all"]), *measured["lang"].items()]:
            if one["auc"] is not None and f"{one['auc']:.5f}" not in seen:
                wrong.append(f"{label} {lang}: AUC {one['auc']:.5f} is not there")
    for words in ("ROC curve", "AUC by language", "Missed", "False alarms", "Scores"):
        if words not in seen:
            wrong.append(f"no {words}")
elif "ROC curve" in seen:
    wrong.append("a ROC curve without scores")
for line in wrong:
    print(f"{page.rsplit('/', 1)[1]}: {line}")
sys.exit(bool(wrong))
