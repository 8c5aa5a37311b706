#!/usr/bin/env python3
"""queue-sim.py RESULTS [SVG]: what a queue of many workers would do, from the service times in the results of brig map.

The model: each of W workers has 4 slots; a million jobs wait. A slot asks the server for a job, which serves RATE requests
a second, one after the other; it then takes a service time of RESULTS, chosen at random. A worker dies DEATHS times an
hour: its jobs are delivered again when ACK_WAIT has passed, and it is back after BACK seconds. Job is done at the first
end. The table has what comes out; docs/queue-model.md has where it stops being true."""

import heapq
import json
import random
import sys

SLOTS, RATE, DEATHS, ACK_WAIT, BACK, JOBS = 4, 8450, 1, 30, 10, 1_000_000


def simulate(workers, jobs, times, deaths, rnd):
    events, waiting, again = [], jobs, []  # again: when lost jobs come back
    server = done = redelivered = 0.0
    alive, epoch = [True] * workers, [0] * workers
    busy = [0] * workers

    def ask(now, w):
        nonlocal server, waiting, redelivered
        while again and again[0] <= now:
            heapq.heappop(again)
            waiting += 1
            redelivered += 1
        if not waiting:
            return False
        waiting -= 1
        server = max(server, now) + 1 / RATE
        busy[w] += 1
        heapq.heappush(events, (server + rnd.choice(times), 0, w, epoch[w]))
        return True

    for w in range(workers):
        if deaths:
            heapq.heappush(events, (rnd.expovariate(deaths / 3600), 1, w, 0))
        for _ in range(SLOTS):
            ask(0, w)
    now = 0
    while done < jobs:
        now, kind, w, e = heapq.heappop(events)
        if kind == 0 and e == epoch[w]:  # a job has ended
            done += 1
            busy[w] -= 1
            if not ask(now, w) and again:
                heapq.heappush(events, (again[0], 2, w, e))
        elif kind == 1:  # a worker dies
            for _ in range(busy[w]):
                heapq.heappush(again, now + ACK_WAIT)
            busy[w], epoch[w], alive[w] = 0, epoch[w] + 1, False
            heapq.heappush(events, (now + BACK, 2, w, epoch[w]))
            heapq.heappush(events, (now + BACK + rnd.expovariate(deaths / 3600), 1, w, 0))
        elif kind == 2 and e == epoch[w]:  # a worker is back, or looks for lost jobs
            while busy[w] < SLOTS and ask(now, w):
                pass
            if busy[w] < SLOTS and again:
                heapq.heappush(events, (again[0], 2, w, e))
    return now, redelivered


def main():
    with open(sys.argv[1]) as f:
        times = [json.loads(line)["result"]["usage"]["wall_ms"] / 1000 for line in f]
    mean, rnd = sum(times) / len(times), random.Random(1)
    print(f"{len(times)} service times, {mean * 1000:.1f} ms in the mean, {sorted(times)[len(times) * 99 // 100] * 1000:.0f} ms at 99 %")
    print("| workers | jobs | deaths an hour and worker | takes | jobs a second | of the ideal | delivered again |")
    print("|---|---|---|---|---|---|---|")
    rows = []
    for workers in (1, 10, 100, 1000):
        jobs = min(JOBS, 100_000 * workers)
        for deaths in (0, DEATHS, 60 * DEATHS):
            took, again = simulate(workers, jobs, times, deaths, rnd)
            part = jobs / took * mean / SLOTS / workers
            rows.append((workers, deaths, part))
            print(f"| {workers:,} | {jobs:,} | {deaths} | {took:,.0f} s | {jobs / took:,.0f} | {part:.2f} | {again:,.0f} |", flush=True)
    if len(sys.argv) > 2:
        plot(sys.argv[2], rows)


def plot(path, rows):
    """The part of the ideal throughput by the number of workers, a line for each rate of deaths."""
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="640" height="300" font-family="sans-serif" font-size="12">'
           '<rect width="640" height="300" fill="#fff"/>']
    x = {1: 60, 10: 220, 100: 380, 1000: 540}
    for part in (0, 0.25, 0.5, 0.75, 1):
        y = 260 - 220 * part
        out.append(f'<path d="M60 {y}H560" stroke="#ddd"/><text x="20" y="{y + 4}">{part}</text>')
    for w, at in x.items():
        out.append(f'<text x="{at - 10}" y="280">{w}</text>')
    for deaths, color in ((0, "#2a7"), (1, "#37c"), (60, "#c33")):
        points = [(x[w], 260 - 220 * part) for w, d, part in rows if d == deaths]
        out.append(f'<polyline fill="none" stroke="{color}" stroke-width="2" points="{" ".join(f"{a},{b:.1f}" for a, b in points)}"/>')
        out.append(f'<text x="566" y="{points[-1][1] + 4:.0f}" fill="{color}">{deaths}/h</text>')
    out.append('<text x="60" y="20">part of the ideal throughput, by workers of 4 slots; deaths an hour and worker</text></svg>')
    with open(path, "w") as f:
        f.write("\n".join(out) + "\n")


main()
