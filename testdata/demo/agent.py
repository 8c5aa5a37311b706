"""Analyse the table of the elements: what melts when, and when was it found?

Reads /input/elements.csv; writes /output/summary.md and /output/chart.svg. Then it turns on its host (mischief.py).
"""

import csv
import statistics
import sys
from html import escape

import mischief

BLOCKS = {"s": "s (alkali, alkaline earth)", "p": "p (non-metals and neighbours)",
          "d": "d (transition metals)", "f": "f (lanthanides, actinides)"}
# A perceptually even scale from cold to hot.
SCALE = [(68, 57, 131), (49, 104, 142), (33, 145, 140), (53, 183, 121), (143, 215, 68), (253, 231, 37)]


def read(path):
    with open(path, newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    for r in rows:
        r["number"], r["period"] = int(r["number"]), int(r["period"])
        r["group"] = int(r["group"]) if r["group"] else None
        r["melting_k"] = float(r["melting_k"]) if r["melting_k"] else None
        r["discovered"] = int(r["discovered"]) if r["discovered"] else None
    return rows


def summary(rows):
    known = sorted((r for r in rows if r["melting_k"]), key=lambda r: r["melting_k"])
    low, high = known[0], known[-1]
    lines = [f"# {len(rows)} elements", "",
             f"- {len(known)} have a known melting point; the median is "
             f"{statistics.median(r['melting_k'] for r in known):.0f} K.",
             f"- The lowest is {low['name']}'s, {low['melting_k']} K; the highest is {high['name']}'s, {high['melting_k']} K.",
             "", "| block | elements | median melting point |", "|---|---:|---:|"]
    for block, title in BLOCKS.items():
        mine = [r for r in rows if r["block"] == block]
        melts = [r["melting_k"] for r in mine if r["melting_k"]]
        lines.append(f"| {title} | {len(mine)} | {statistics.median(melts):.0f} K |")
    lines += ["", "| found | elements |", "|---|---:|",
              f"| before 1600 | {sum(1 for r in rows if r['discovered'] is None)} |"]
    for start in range(1600, 2050, 50):
        found = sum(1 for r in rows if r["discovered"] and start <= r["discovered"] < start + 50)
        lines.append(f"| {start}-{start + 49} | {found} |")
    return "\n".join(lines) + "\n"


def colour(kelvin):
    if kelvin is None:
        return "#eceff1", "#90a4ae"
    x = min(kelvin / 3700, 0.999) * (len(SCALE) - 1)
    i, t = int(x), x - int(x)
    rgb = [round(a + (b - a) * t) for a, b in zip(SCALE[i], SCALE[i + 1])]
    light = (rgb[0] * 299 + rgb[1] * 587 + rgb[2] * 114) / 1000 > 140
    return "#%02x%02x%02x" % tuple(rgb), "#1b1b1b" if light else "#ffffff"


def place(r):
    """The cell of an element; the f block stands below the table."""
    if r["group"]:
        return r["group"] - 1, r["period"] - 1
    first = 57 if r["period"] == 6 else 89
    return r["number"] - first + 2, r["period"] + 1.4


def chart(rows):
    size, left, top = 48, 24, 84
    width, height = left * 2 + 18 * size, top + int(9.4 * size) + 44
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif">',
           f'<rect width="{width}" height="{height}" rx="14" fill="#fafafa"/>',
           f'<text x="{left}" y="42" font-size="24" font-weight="bold" fill="#263238">Melting points of the elements</text>',
           f'<text x="{left}" y="66" font-size="13" fill="#607d8b">kelvin at normal pressure; grey: none, or not measured</text>']
    for r in rows:
        column, line = place(r)
        fill, ink = colour(r["melting_k"])
        x, y = left + column * size, top + line * size
        melts = f"{r['melting_k']:.0f}" if r["melting_k"] else "–"
        out += [f'<g><title>{escape(r["name"])}: {melts} K</title>',
                f'<rect x="{x + 1.5:g}" y="{y + 1.5:g}" width="{size - 3}" height="{size - 3}" rx="6" fill="{fill}"/>',
                f'<text x="{x + 6:g}" y="{y + 13:g}" font-size="8.5" fill="{ink}" opacity="0.8">{r["number"]}</text>',
                f'<text x="{x + size / 2:g}" y="{y + 29:g}" font-size="16" font-weight="bold" text-anchor="middle" fill="{ink}">{escape(r["symbol"])}</text>',
                f'<text x="{x + size / 2:g}" y="{y + 41:g}" font-size="9" text-anchor="middle" fill="{ink}">{melts}</text></g>']
    y, steps = height - 30, 75
    for i in range(steps):
        out.append(f'<rect x="{left + i * 4}" y="{y}" width="4.5" height="10" fill="{colour(i * 3700 / steps)[0]}"/>')
    for kelvin in (0, 1000, 2000, 3000):
        out.append(f'<text x="{left + kelvin / 3700 * 300:.0f}" y="{y + 23}" font-size="10" fill="#607d8b">{kelvin} K</text>')
    return "\n".join(out) + "\n</svg>\n"


def main():
    rows = read("/input/elements.csv")
    with open("/output/summary.md", "w", encoding="utf-8") as f:
        f.write(summary(rows))
    with open("/output/chart.svg", "w", encoding="utf-8") as f:
        f.write(chart(rows))
    print(f"agent: read {len(rows)} rows, wrote /output/summary.md and /output/chart.svg", flush=True)
    return mischief.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
