"""Many changes for one program: neither its memory nor its references may grow."""

import measure
import subjects
import tables

PARTS = 10  # after the first, which fills what is reused later
MEMORY_GROWTH = 2_000_000  # bytes in all: of malloc and the interpreter, not of events; 2 bytes for each of 10**6
BLOCK_GROWTH = 1000  # in all; one reference that is lost in 1,000 events is found


def soaked(process, server, changes):
    """Rows of (events, resident memory, Python's blocks), the first after a part that is not counted."""
    rows = []
    for number in range(PARTS + 1):
        subjects.burst(process, server, changes // PARTS)
        resident = subjects.settled(process)[0]
        process.say("blocks")
        rows.append((number * (changes // PARTS), resident, int(process.line().split()[1])))
        subjects.progress(f"{rows[-1][0]:,} events")
    return rows


def judge(subject, rows):
    """Returns lines about what has grown."""
    grown = [rows[-1][i] - rows[0][i] for i in (1, 2)]
    limits = (MEMORY_GROWTH, BLOCK_GROWTH)
    names = ("bytes of resident memory", "blocks of Python")
    return [
        f"{subject}: {value:,} {name} more" for value, limit, name in zip(grown, limits, names) if value > limit
    ]


def run(programs, chosen, changes, count, folder):
    """Returns a table. Raises Failure if something has grown."""
    lines, grown = ["| | events | resident | blocks of Python |", "| --- | ---: | ---: | ---: |"], []
    for subject in chosen:
        with programs.server(count) as server:
            config = measure.kubeconfig(f"{folder}/soak", subjects.served(server)[0])
            with programs.start(subject, config, f"{folder}/log") as process:
                subjects.synced(process)
                rows = soaked(process, server, changes)
        for events, resident, blocks in (rows[0], rows[len(rows) // 2], rows[-1]):
            lines.append(f"| {subject} | {events:,} | {tables.shown(resident, 'MB')} | {blocks:,} |")
        grown += judge(subject, rows)
    print("\n".join(lines))
    if grown:
        raise measure.Failure("; ".join(grown))
