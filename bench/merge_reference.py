"""The merge of manifest fragments once more, written plainly: `python3 merge_reference.py DIR OUT`.

Reads the fragments of DIR and writes to OUT what `manifest.json` has to say of ranges, gaps, overlaps, drops,
statistics and hashes. No fragment in DIR is bad: refusing is not what is measured.
"""

import hashlib
import heapq
import json
import os
import sys


def read(directory):
    fragments = []
    for entry in os.scandir(directory):
        if entry.name.startswith("manifest_fragment_") and entry.name.endswith(".json"):
            with open(entry.path, "rb") as file:
                content = file.read()
            fragment = json.loads(content)
            fragment["file"] = entry.name
            fragment["worker"] = entry.name[len("manifest_fragment_"):].rsplit("_", 1)[0]
            fragment["sha256"] = hashlib.sha256(content).hexdigest()
            fragments.append(fragment)
    fragments.sort(key=lambda fragment: (fragment["frameRange"], fragment["globalIdChunkId"]))
    return fragments


def sweep(fragments):
    """Who wins which frames, and who was there."""
    pieces, overlaps, active, ends = [], [], {}, []
    at = following = 0
    while following < len(fragments) or ends:
        begin = fragments[following]["frameRange"][0] if following < len(fragments) else None
        boundary = min(value for value in (begin, ends[0][0] if ends else None) if value is not None)
        if active and at < boundary:
            cover(fragments, active, at, boundary, pieces, overlaps)
        while ends and ends[0][0] == boundary:
            del active[heapq.heappop(ends)[1]]
        while following < len(fragments) and fragments[following]["frameRange"][0] == boundary:
            fragment = fragments[following]
            active[following] = (fragment.get("replay", False), fragment["globalIdChunkId"])
            heapq.heappush(ends, (fragment["frameRange"][1], following))
            following += 1
        at = boundary
    return pieces, overlaps


def cover(fragments, active, start, end, pieces, overlaps):
    # Few fragments overlap here, so that looking at all of them costs nothing.
    winner = max(active, key=active.get)
    if len(active) > 1:
        chunks = sorted(chunk for _, chunk in active.values())
        if overlaps and overlaps[-1]["frameRange"][1] == start and overlaps[-1]["chunkIds"] == chunks:
            overlaps[-1]["frameRange"][1] = end
        else:
            overlaps.append({"frameRange": [start, end], "chunkIds": chunks})
    if pieces and pieces[-1][2] == winner and pieces[-1][1] == start:
        pieces[-1][1] = end
    else:
        pieces.append([start, end, winner])


def lost(fragments, pieces):
    drops = []
    settled = [fragment["frameRange"][0] for fragment in fragments]
    ends = [[fragment["frameRange"][1]] * 2 + [place] for place, fragment in enumerate(fragments)]
    for start, end, place in pieces + ends:
        if settled[place] < start:
            drops.append([settled[place], start, fragments[place]["globalIdChunkId"]])
        settled[place] = max(settled[place], end)
    return [{"frameRange": [start, end], "retiredChunkId": chunk} for start, end, chunk in sorted(drops)]


def missing(pieces, end):
    gaps, at = [], 0
    for start, stop, _ in pieces + [[end, end, None]]:
        if at < start:
            gaps.append([at, start])
        at = stop
    return gaps


def statistics(fragments, pieces):
    """What survived counts; a part without frames of its own in proportion."""
    surviving = [0] * len(fragments)
    for start, end, place in pieces:
        surviving[place] += end - start
    whole, fractions, estimated = {}, {}, False
    for fragment, frames in zip(fragments, surviving):
        start, end = fragment["frameRange"]
        for name, value in fragment.get("statistics", {}).items() if frames else ():
            if frames != end - start:
                estimated = True
                share = value * frames
                exact = isinstance(value, int) and share % (end - start) == 0
                value = share // (end - start) if exact else share / (end - start)
            into = whole if isinstance(value, int) else fractions
            into[name] = into.get(name, 0) + value
    totals = {name: whole.get(name, 0) + fractions.get(name, 0) for name in whole.keys() | fractions.keys()}
    return totals | ({"estimated": True} if estimated else {})


def merge(directory):
    fragments = read(directory)
    pieces, overlaps = sweep(fragments)
    return {
        "ranges": [
            {
                "frameRange": [start, end],
                "globalIdChunkId": fragments[place]["globalIdChunkId"],
                "workerId": fragments[place]["worker"],
            }
            for start, end, place in pieces
        ],
        "gaps": missing(pieces, max(fragment["frameRange"][1] for fragment in fragments)),
        "overlaps": overlaps,
        "replayDrops": lost(fragments, pieces),
        "statistics": statistics(fragments, pieces),
        "fragmentHashes": [{"file": fragment["file"], "sha256": fragment["sha256"]} for fragment in fragments],
    }


def main(directory, out):
    merged = merge(directory)
    with open(out + ".part", "w") as file:
        json.dump(merged, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(out + ".part", out)


main(*sys.argv[1:])
