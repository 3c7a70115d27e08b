#!/usr/bin/env python3
"""Makes the sample data of this folder: two training CSVs, validation, test with its truth, sample submission, vocabulary, model settings.

    python3 sample/make_sample.py [--out FOLDER] [--check]

The comments are made up from short clauses in eight languages. Whether one is toxic is decided by how the words stand together, never by a
word alone: an insult to a person is toxic and a denied one is not, denied praise is; the same words about a thing are harmless; after "but"
the last clause counts; what somebody else is quoted as saying is not the writer's. So counting words does not find the answer (see
tests/oracle/sample_baseline.py), and a network that reads their order does. Runs without other packages and writes the same bytes each time.
--check writes nothing and fails when the files differ from what it would write.
"""
import argparse, csv, io, json, sys, unicodedata
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Random:
    """splitmix64: the same numbers from every version of Python."""

    def __init__(self, seed): self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & (2**64 - 1)
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
        return z ^ (z >> 31)

    def below(self, n): return self.next() % n
    def pick(self, items): return items[self.below(len(items))]
    def chance(self, share): return self.next() / 2**64 < share


# Each language: people and things (subjects), insults and praise, how a clause is said and denied, how two are joined, how one is quoted,
# and remarks that mean nothing either way.
LANGUAGES = {
    "en": dict(people=["You are", "This writer is", "My neighbour is", "That man is", "Our editor is"],
               things=["This film is", "The weather is", "That recipe is", "The old bridge is"],
               bad=["stupid", "rotten", "worthless", "ugly", "pathetic"], good=["clever", "kind", "brilliant", "lovely", "generous"],
               say="{s} {a}", deny="{s} not {a}", but="{x}, but {y}", quote='Somebody wrote "{x}" here',
               filler=["See the talk page.", "I read it twice.", "Thanks for the link.", "It was late in the evening.", "The article has 14 sources."]),
    "es": dict(people=["Usted", "Este autor", "Mi vecino", "Ese hombre", "Nuestro editor"],
               things=["Esta película", "El clima", "Esa receta", "El puente viejo"],
               bad=["estúpido", "podrido", "inútil", "feo", "patético"], good=["listo", "amable", "brillante", "encantador", "generoso"],
               say="{s} es {a}", deny="{s} no es {a}", but="{x}, pero {y}", quote="Alguien escribió «{x}» aquí",
               filler=["Mira la página.", "Lo leí dos veces.", "¡Gracias por el enlace!", "Era ya de noche.", "El artículo tiene 14 fuentes."]),
    "fr": dict(people=["Il est", "Cet auteur est", "Mon voisin est", "Cet homme est", "Le rédacteur est"],
               things=["Ce film est", "Le temps est", "Ce gâteau est", "Le vieux pont est"],
               bad=["stupide", "pourri", "nul", "laid", "minable"], good=["malin", "gentil", "génial", "charmant", "généreux"],
               say="{s} {a}", deny="{s} loin d'être {a}", but="{x}, mais {y}", quote="Quelqu'un a écrit « {x} » ici",
               filler=["Voir la page.", "Je l'ai lu deux fois.", "Merci pour le lien !", "C'était déjà le soir.", "L'article a 14 sources."]),
    "ru": dict(people=["Ты", "Этот автор", "Мой сосед", "Тот человек", "Наш редактор"],
               things=["Этот фильм", "Этот климат", "Тот рецепт", "Старый мост"],
               bad=["глупый", "гнилой", "никчёмный", "уродливый", "жалкий"], good=["умный", "добрый", "блестящий", "милый", "щедрый"],
               say="{s} очень {a}", deny="{s} вовсе не {a}", but="{x}, но {y}", quote="Кто-то написал «{x}» здесь",
               filler=["Смотри страницу.", "Я читал это дважды.", "Спасибо за ссылку!", "Был уже вечер.", "В статье 14 источников."]),
    "tr": dict(people=["Sen", "Bu yazar", "Komşum", "Şu adam", "Editörümüz"],
               things=["Bu film", "Hava", "O tarif", "Eski köprü"],
               bad=["aptal", "çürük", "değersiz", "çirkin", "zavallı"], good=["zeki", "nazik", "parlak", "hoş", "cömert"],
               say="{s} çok {a}", deny="{s} hiç {a} değil", but="{x}, ama {y}", quote="Biri burada “{x}” yazdı",
               filler=["Sayfaya bak.", "İki kez okudum.", "Bağlantı için teşekkürler!", "Akşam olmuştu.", "Maddede 14 kaynak var."]),
    "ar": dict(people=["أنت", "هذا الكاتب", "جاري", "ذلك الرجل", "المحرر"],
               things=["هذا الفيلم", "الطقس", "ذلك الطبق", "الجسر القديم"],
               bad=["غبي", "فاسد", "تافه", "قبيح", "بائس"], good=["ذكي", "لطيف", "رائع", "جميل", "كريم"],
               say="{s} فعلا {a}", deny="{s} غير {a}", but="{x}، لكن {y}", quote="كتب أحدهم «{x}» هنا",
               filler=["انظر الصفحة.", "قرأته مرتين.", "شكرا على الرابط!", "كان الوقت مساء.", "في المقال ١٤ مصدرا."]),
    "hi": dict(people=["तुम", "यह लेखक", "मेरा पड़ोसी", "वह आदमी", "हमारा संपादक"],
               things=["यह फिल्म", "मौसम", "वह व्यंजन", "पुराना पुल"],
               bad=["मूर्ख", "सड़ा", "निकम्मा", "बदसूरत", "घटिया"], good=["चतुर", "दयालु", "शानदार", "प्यारा", "उदार"],
               say="{s} बहुत {a} है", deny="{s} {a} नहीं है", but="{x}, लेकिन {y}", quote="किसी ने यहाँ “{x}” लिखा",
               filler=["पन्ना देखो।", "मैंने इसे दो बार पढ़ा।", "लिंक के लिए धन्यवाद!", "शाम हो चुकी थी।", "लेख में १४ स्रोत हैं।"]),
    "zh": dict(people=["你", "这位作者", "我的邻居", "那个男人", "我们的编辑"],
               things=["这部电影", "天气", "那道菜", "旧桥"],
               bad=["愚蠢", "腐烂", "无用", "丑陋", "可悲"], good=["聪明", "善良", "出色", "可爱", "慷慨"],
               say="{s}很{a}", deny="{s}不{a}", but="{x}，但是{y}", quote="有人在这里写“{x}”",
               filler=["请看页面。", "我读了两遍。", "谢谢你的链接！", "已经是晚上了。", "文章有14个来源。"]),
}


def clause(random, words, toxic=None):
    """A clause and whether it is toxic. With `toxic` given it is about a person and has that verdict."""
    person = toxic is not None or random.chance(0.75)
    subject = random.pick(words["people"] if person else words["things"])
    denied = random.chance(0.5)
    insult = random.chance(0.5) if toxic is None else toxic != denied
    text = words["deny" if denied else "say"].format(s=subject, a=random.pick(words["bad" if insult else "good"]))
    return text, person and insult != denied


def lower_first(text): return text[:1].lower() + text[1:]


def comment(random, lang):
    """A comment and whether it is toxic."""
    words = LANGUAGES[lang]
    kind = random.below(20)
    if kind < 10:
        text, toxic = clause(random, words)
    elif kind < 17:                                     # two clauses about people with opposite verdicts: the last one counts
        toxic = random.chance(0.5)
        first, last = clause(random, words, not toxic)[0], clause(random, words, toxic)[0]
        text = words["but"].format(x=first, y=lower_first(last))
    else:
        text, toxic = words["quote"].format(x=clause(random, words, random.chance(0.7))[0]), False
    text += "。" if lang == "zh" else "।" if lang == "hi" else random.pick([".", "!", "..."])
    parts = [text]
    if random.chance(0.35): parts.insert(random.below(2), random.pick(words["filler"]))
    text = ("\n" if random.chance(0.25) else "\n\n" if random.chance(0.1) else "" if lang == "zh" else " ").join(parts)
    if random.chance(0.05): text = text.upper()
    if random.chance(0.05): text = text.replace(" ", "  ")
    return text, toxic


def table(columns, rows, line_end="\n"):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=line_end)
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue().encode()


def draw(random, count, seen):
    """Comments that no set has yet, languages in turn, as (id, text, lang, toxic)."""
    langs = list(LANGUAGES)
    rows = []
    while len(rows) < count:
        lang = langs[len(rows) % len(langs)] if random.chance(0.9) else "en"
        text, toxic = comment(random, lang)
        key = " ".join(words_of(text))
        if key in seen: continue
        seen.add(key)
        rows.append((f"{random.next():016x}", text, lang, int(toxic)))
    return rows


def first_training(rows):
    columns = ["id", "comment_text", "toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"]
    return table(columns, [(i, text, toxic, 0, 0, 0, toxic, 0) for i, text, _, toxic in rows])


def second_training(random, rows):
    """Shares of annotators as labels, other columns in another order, CRLF between records, and a few empty texts."""
    columns = ["id", "target", "comment_text", "created_date", "rating", "toxicity_annotator_count"]
    out = []
    for n, (_, text, _, toxic) in enumerate(rows):
        votes = 8 + random.below(3) if toxic else random.below(3)
        out.append((59848 + n, f"{votes / 10:.1f}", text, "2016-03-01 10:11:12+00", "approved", 10))
    for n in range(4): out.append((59848 + len(rows) + n, "0.0", "", "2016-03-01 10:11:12+00", "rejected", 10))
    return table(columns, out, "\r\n")


def is_punctuation(c):
    return unicodedata.category(c).startswith("P") or 33 <= ord(c) <= 47 or 58 <= ord(c) <= 64 or 91 <= ord(c) <= 96 or 123 <= ord(c) <= 126


def words_of(text):
    """Lower-cased words without accents, split at spaces, punctuation and Chinese characters, as an uncased BERT vocabulary counts them."""
    plain = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    spaced = "".join(f" {c} " if is_punctuation(c) or 0x4E00 <= ord(c) <= 0x9FFF else c for c in plain)
    return spaced.split()


def vocabulary(rows):
    """Special tokens, every character alone and inside a word, and the words seen at least 12 times."""
    counts = {}
    for _, text, _, _ in rows:
        for word in words_of(text): counts[word] = counts.get(word, 0) + 1
    characters = sorted({c for word in counts for c in word})
    whole = sorted(w for w, n in counts.items() if n >= 12 and len(w) > 1)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return special + characters + ["##" + c for c in characters if not is_punctuation(c)] + whole


def make():
    """Every file of the sample: {path: bytes}."""
    random = Random(20261130)
    seen = set()
    first, second, valid, test = (draw(random, n, seen) for n in (5400, 2600, 800, 800))
    vocab = vocabulary(first + second)
    config = dict(architectures=["BertModel"], model_type="bert", vocab_size=len(vocab), hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                  intermediate_size=128, max_position_embeddings=64, type_vocab_size=2, hidden_act="gelu", hidden_dropout_prob=0.1,
                  attention_probs_dropout_prob=0.1, initializer_range=0.05, layer_norm_eps=1e-12, pad_token_id=0)
    return {
        "train-first.csv": first_training(first),
        "train-second.csv": second_training(random, second),
        "validation.csv": table(["id", "comment_text", "lang", "toxic"], [(n, *row[1:]) for n, row in enumerate(valid)]),
        "test.csv": table(["id", "content", "lang"], [(n, *row[1:3]) for n, row in enumerate(test)]),
        "test_labels.csv": table(["id", "toxic"], [(n, row[3]) for n, row in enumerate(test)]),
        "sample_submission.csv": table(["id", "toxic"], [(n, 0.5) for n in range(len(test))]),
        "model/vocab.txt": ("\n".join(vocab) + "\n").encode(),
        "model/config.json": (json.dumps(config, indent=2, sort_keys=True) + "\n").encode(),
        "model/tokenizer_config.json": b'{\n  "do_lower_case": true\n}\n',
    }


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--out", type=Path, default=HERE)
    ap.add_argument("--check", action="store_true")
    a = ap.parse_args()
    files = make()
    if a.check:
        wrong = [name for name, data in files.items() if not (a.out / name).is_file() or (a.out / name).read_bytes() != data]
        print(f"sample: {len(files) - len(wrong)} of {len(files)} files are as made" + (f"; not: {', '.join(wrong)}" if wrong else ""))
        sys.exit(1 if wrong else 0)
    for name, data in files.items():
        path = a.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    print(f"sample: {len(files)} files, {sum(map(len, files.values()))} bytes in {a.out}")


if __name__ == "__main__":
    main()
