"""The tables whose work grows: objects, handlers of an informer, informers of a program."""

import measure
import tables
from subjects import burst, in_rounds, progress, served, settled, sync, synced

TYPED = ["client-go typed", "kube typed", "kinformer", "kinformer view"]
RATIOS = [("client-go typed", "kinformer"), ("kube typed", "kinformer")]
OBJECTS = [1000, 10000, 100000, 1000000]
LARGEST = {"kinformer view": 1000000}  # for the others: LARGEST_WHOLE
LARGEST_WHOLE = 100000
# Memory that a size needs: the server and the largest program together, with room to spare.
NEEDED_BYTES = {100000: 9e9, 1000000: 5e9}
CHANGES = 20000
FEW = 1000  # objects, where handlers or informers grow
COUNTS = [1, 10, 100]

OF_OBJECTS = [
    ("bytes", "memory of an object", "KB"),
    ("sync CPU", "first list, CPU time of an object", "us"),
    ("sync wall", "first list, time of an object", "us"),
    ("sync peak", "first list, peak resident", "MB"),
    ("burst CPU", "CPU time of a change", "us"),
]
OF_HANDLERS = [("burst CPU", "CPU time of a change", "us"), ("burst peak", "peak resident", "MB")]
OF_INFORMERS = [
    ("sync CPU", "CPU time of the first lists", "s"),
    ("settled", "resident", "MB"),
    ("call CPU", "CPU time of a change for one of them", "us"),
]


def available():
    return int(measure.read("/proc/meminfo").split("MemAvailable:")[1].split()[0]) * 1024


def resident_without_objects(programs, chosen, folder):
    found = {}
    with programs.server(0) as server:
        config = measure.kubeconfig(f"{folder}/empty", served(server)[0])
        for subject in filter(programs.has, chosen):
            with programs.start(subject, config) as process:
                synced(process)
                found[subject] = settled(process)[0]
    return found


def of_size(process, server, count, resident):
    """Rows of a program with so many objects."""
    rows = sync(process, server)
    rows["bytes"] = (settled(process)[0] - resident) / count
    rows |= burst(process, server, CHANGES)
    return rows | {"sync CPU": rows["sync CPU"] / count, "sync wall": rows["sync wall"] / count}


def of_count(process, server, count, changes):
    """Rows of a program with so many handlers or informers."""
    rows = sync(process, server)
    rows["settled"] = settled(process)[0]
    rows |= burst(process, server, changes, count)
    return rows | {"call CPU": rows["burst CPU"] / count}


def grow(programs, folder, counts, fitting, server_of, run):
    """Runs the fitting subjects at each count. Rows have the count in their name."""
    results = {subject: {} for subject in TYPED}
    for count in counts:
        with programs.server(server_of(count)) as server:
            config = measure.kubeconfig(f"{folder}/growing", served(server)[0])
            for subject, rows in tables.medians(
                in_rounds(programs, fitting(count), 1, lambda subject: run(subject, config, server, count))
            ).items():
                results[subject] |= {f"{name} {count}": value for name, value in rows.items()}
    return results


def growing_objects(programs, chosen, folder, counts):
    resident = resident_without_objects(programs, chosen, folder)

    def run(subject, config, server, count):
        with programs.start(subject, config) as process:
            return of_size(process, server, count, resident[subject])

    def fitting(count):
        if available() >= NEEDED_BYTES.get(count, 0):
            return [subject for subject in chosen if count <= LARGEST.get(subject, LARGEST_WHOLE)]
        progress(f"{count:,} objects: not enough memory is available")
        return []

    return grow(programs, folder, [count for count in counts if fitting(count)], fitting, lambda count: count, run)


def growing_counts(programs, chosen, folder, option, changes):
    def run(subject, config, server, count):
        with programs.start(subject, config, option, str(count)) as process:
            return of_count(process, server, count, changes)

    return grow(programs, folder, COUNTS, lambda _: chosen, lambda _: FEW, run)


def table(kinds, counts, what, results):
    rows = [
        (f"{name} {count}", f"{count:,} {what if count > 1 else what[:-1]}: {label}", kind)
        for name, label, kind in kinds
        for count in counts
    ]
    return tables.table(TYPED, rows, results, RATIOS)


def tables_of(programs, options, folder):
    chosen = [subject for subject in TYPED if options.only in subject]
    sizes = OBJECTS[:2] if options.quick else OBJECTS
    objects = growing_objects(programs, chosen, folder, sizes)
    handlers = growing_counts(programs, chosen, folder, "--handlers", CHANGES // 2)
    informers = growing_counts(programs, chosen, folder, "--informers", FEW)
    return "\n\n".join(
        [
            "One round. Pods of the load with managedFields, which are not kept, plain HTTP.",
            "### Objects",
            f"{CHANGES:,} changes of them. Above {LARGEST_WHOLE:,} objects only the view is measured.",
            table(OF_OBJECTS, sizes, "objects", objects),
            "### Handlers of one informer",
            f"{FEW:,} objects, {CHANGES // 2:,} changes.",
            table(OF_HANDLERS, COUNTS, "handlers", handlers),
            "### Informers of one program",
            f"{FEW:,} objects in each, {FEW:,} changes of each.",
            table(OF_INFORMERS, COUNTS, "informers", informers),
        ]
    )
