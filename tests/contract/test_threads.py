"""Threads: the same bytes for any division of the work, no race, shares that go to who is free, nobody waited for, cores told apart."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from edgec.targets import load_target
from edgec.toolchain import Built, compile_package, run_exam
from tests.conftest import once, require
from tests.contract.examiner import WHOLE, write_package
from tests.contract.subjects import FAMILIES, Net, exam_of, random_float_net, random_net

PORTABLE = load_target("portable")
KINDS = {"int8": random_net, "float": random_float_net}
NETS = [(kind, family) for family in FAMILIES for kind in KINDS if WHOLE or (kind, family) in {("int8", "mobilenet"), ("float", "unet")}]
THREADS, BLOCKS = (1, 2, 3, 8), (1, 3, 8, 64)
RACES = ("-g1", "-fsanitize=thread")


def built(net: Net, shared: Path, flags: Sequence[str] = (), change: tuple[str, str] = ("", "")) -> Built:
    """The portable package of `net`; `change`: words of its source, and others for them."""

    def make(folder: Path) -> None:
        write_package(folder, net, PORTABLE, exam_of(net))
        source = folder / "src" / f"{net.name}.c"
        changed = source.read_text().replace(*change) if change[0] else source.read_text()
        assert (changed != source.read_text()) == bool(change[0])
        source.write_text(changed)
        (folder / "built.pickle").write_bytes(pickle.dumps(compile_package(folder, PORTABLE, "gcc", "-O1", tuple(flags))))

    words = re.sub(r"\W+", "_", "_".join([*flags, change[1]]))
    folder = once(shared / "threads" / f"{net.name}_{words}", make)
    found: Built = pickle.loads((folder / "built.pickle").read_bytes())
    return found


@pytest.mark.parametrize(("kind", "family"), NETS)
def test_any_division_gives_the_same_bytes(kind: str, family: str, shared: Path) -> None:
    """Answers of int8 nets are exact; floats of all divisions have one hash."""
    require("gcc")
    package, found = built(KINDS[kind](family), shared), set()
    for threads in THREADS:
        for blocks in BLOCKS if threads > 1 else (1,):
            done = run_exam(package, PORTABLE, ["--json", "--threads", str(threads), "--blocks", str(blocks), "--least", "0"])
            assert done.returncode == 0, f"{threads} threads, {blocks} blocks: {done.stdout.decode()[-1000:]}"
            found.add(tuple(re.findall(r'"sha256": "(\w+)"', done.stdout.decode())))
    assert len(found) == 1


@pytest.mark.parametrize(("kind", "family"), NETS)
@pytest.mark.parametrize("blocks", [1, 8])
def test_eight_threads_never_race(kind: str, family: str, blocks: int, shared: Path) -> None:
    require("gcc")
    package = built(KINDS[kind](family), shared, RACES)
    for further in ([], ["--bench", "0.2", "--least", "0"]):
        done = run_exam(package, PORTABLE, ["--json", "--threads", "8", "--blocks", str(blocks), *further])
        assert done.returncode == 0, done.stderr.decode()[:3000]


def test_a_race_is_found(shared: Path) -> None:
    """The test above has teeth: blocks that are counted without atomics are taken by two."""
    require("gcc")
    package = built(random_net("mobilenet"), shared, RACES, ("__atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED)", "job->next++"))
    done = run_exam(package, PORTABLE, ["--json", "--threads", "8", "--blocks", "8"])
    assert done.returncode != 0 and b"data race" in done.stderr


PROGRAM = r"""
#define _GNU_SOURCE
#include "NAME_pool.h"
#include "NAME_exam.h"
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPECT(condition) do { if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); return 1; } } while (0)

static int lent, come;

/* Threads that never come: all but the first. */
static void alone(void *user, NAME_task task, void *argument, int32_t parts) {
    (void)user;
    lent++;
    task(argument, 0, parts);
}

static int answers(NAME_t *model) {
    int right = 1;
    for (int v = 0; v < VECTORS; v++) {
        unsigned char *tensors[INPUTS + OUTPUTS];
        for (int i = 0; i < INPUTS + OUTPUTS; i++) {
            const size_t bytes = exam_vectors[v].tensors[i].bytes;
            tensors[i] = (unsigned char *)calloc(bytes, 1);
            if (i < INPUTS) memcpy(tensors[i], exam_data() + exam_vectors[v].tensors[i].offset, bytes);
        }
        right &= exam_run(model, exam_vectors[v].sizes, tensors) == MACRO_OK;
        for (int i = INPUTS; i < INPUTS + OUTPUTS; i++) {
            right &= memcmp(tensors[i], exam_data() + exam_vectors[v].tensors[i].offset, exam_vectors[v].tensors[i].bytes) == 0;
        }
        for (int i = 0; i < INPUTS + OUTPUTS; i++) free(tensors[i]);
    }
    return right;
}

/* The cores of whoever does a part, one behind the other. All wait for each other, so that nobody does two. */
static void note(void *argument, int32_t part, int32_t parts) {
    sched_getaffinity(0, sizeof(cpu_set_t), (cpu_set_t *)argument + part);
    __atomic_add_fetch(&come, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&come, __ATOMIC_RELAXED) < parts) sched_yield();
}

static int held, released;

/* A worker that a signal has stopped, as if the system gave it no processor. */
static void hold(int number) {
    (void)number;
    __atomic_add_fetch(&held, 1, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&released, __ATOMIC_RELAXED)) nanosleep(&(struct timespec){0, 1000000}, NULL);
}

int main(int count, char **words) {
    const int32_t last = atoi(words[1]), threads = 3, far = 100000, negative = -1;
    const size_t bytes = MACRO_ARENA_BYTES_FOR(3);
    void *const arena = aligned_alloc(MACRO_ARENA_ALIGNMENT, (bytes + 63) / 64 * 64), *const memory = malloc(MACRO_POOL_BYTES(3));
    cpu_set_t before, after, seen[3];
    NAME_t model;
    EXPECT(count == 2 && NAME_init(&model, arena, bytes) == MACRO_OK && VECTORS > 0);
    EXPECT(NAME_set_parallel(&model, alone, NULL, 3) == MACRO_OK);
    EXPECT(NAME_set_shares(&model, 1, INT32_MAX) == MACRO_OK && answers(&model) && lent == 0);
    EXPECT(NAME_set_shares(&model, 8, 0) == MACRO_OK && answers(&model) && lent > 0);
    EXPECT(NAME_set_shares(&model, 1, 0) == MACRO_OK && !answers(&model));

    EXPECT(sched_getaffinity(0, sizeof before, &before) == 0);
    EXPECT(NAME_pool_start_on(memory, MACRO_POOL_BYTES(3), threads, NULL, 1) == NULL);
    EXPECT(NAME_pool_start_on(memory, MACRO_POOL_BYTES(3), threads, &last, 0) == NULL);
    EXPECT(NAME_pool_start_on(memory, MACRO_POOL_BYTES(3), threads, &far, 1) == NULL);
    EXPECT(NAME_pool_start_on(memory, MACRO_POOL_BYTES(3), threads, &negative, 1) == NULL);
    EXPECT(NAME_pool_start_on(memory, MACRO_POOL_BYTES(1), threads, &last, 1) == NULL);
    struct NAME_pool *const pool = NAME_pool_start_on(memory, MACRO_POOL_BYTES(3), threads, &last, 1);
    EXPECT(pool != NULL);
    NAME_pool_parallel_for(pool, note, seen, threads);
    EXPECT(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&before, &after) && CPU_EQUAL(&before, &seen[0]));
    for (int i = 1; i < threads; i++) EXPECT(CPU_COUNT(&seen[i]) == 1 && CPU_ISSET((size_t)last, &seen[i]));
    EXPECT(NAME_pool_serve(NULL, &model) == MACRO_BAD_ARGUMENT);
    EXPECT(NAME_pool_blocks(pool) == 1);
    EXPECT(NAME_pool_serve(pool, &model) == MACRO_OK && NAME_set_shares(&model, 2, 0) == MACRO_OK && answers(&model));

    signal(SIGUSR1, hold);
    nanosleep(&(struct timespec){0, 300000000}, NULL); /* they fall asleep */
    for (int i = 1; i < threads; i++) pthread_kill(pool->workers[i].thread, SIGUSR1);
    while (__atomic_load_n(&held, __ATOMIC_RELAXED) < threads - 1) sched_yield();
    EXPECT(answers(&model));
    EXPECT(NAME_set_shares(&model, 1, 0) == MACRO_OK && answers(&model));
    __atomic_store_n(&released, 1, __ATOMIC_RELAXED);
    EXPECT(answers(&model));
    come = 0;
    NAME_pool_parallel_for(pool, note, seen, threads); /* all of them are back */
    NAME_pool_stop(pool);

    struct NAME_pool *const free_pool = NAME_pool_start(memory, MACRO_POOL_BYTES(3), threads);
    printf("%d", (int)NAME_pool_blocks(free_pool));
    EXPECT(NAME_pool_serve(free_pool, &model) == MACRO_OK && answers(&model));
    NAME_pool_stop(free_pool);
    return 0;
}
"""


@cache
def cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def program(shared: Path, folder: Path) -> Path:
    """PROGRAM, whose pool finds what it asks of cores in `folder`."""
    require("gcc")
    net = random_net("mobilenet")
    package = built(net, shared)
    assert package.library is not None
    root = package.library.parents[1]
    (folder / "main.c").write_text(PROGRAM.replace("NAME", net.name).replace("MACRO", net.name.upper()))
    sources = ["main.c", str(root / f"src/{net.name}_pool.c"), str(root / f"exam/{net.name}_vectors.c"), str(package.library)]
    command = ["gcc", "-std=gnu11", "-O1", f'-DEDGEC_CORES="{folder}/cpu"', f"-I{root}/include", f"-I{root}/exam", *sources]
    subprocess.run([*command, "-o", "main", "-pthread"], cwd=folder, check=True)
    return folder / "main"


# What files of cores say, the last core first, and how many blocks that makes of a thread's share
TOLD = {
    "nothing": ("", (), 1),
    "alike": ("cpu_capacity", (1024, 1024), 1),
    "big and little": ("cpu_capacity", (1024, 446), 8),
    "the best of equal cores": ("cpufreq/cpuinfo_max_freq", (5_100_000, 4_900_000), 1),
    "clocks apart": ("cpufreq/cpuinfo_max_freq", (1_804_800, 2_419_200), 8),
    "no number": ("cpu_capacity", ("", "unknown"), 1),
}


@pytest.mark.parametrize("said", TOLD)
def test_a_pool_knows_cores_and_serves_a_model(said: str, shared: Path, tmp_path: Path) -> None:
    if len(cores()) < 2:
        pytest.skip("cores that differ are two at least")
    file, numbers, blocks = TOLD[said]
    for core in cores() if file else ():
        path = tmp_path / f"cpu{core}" / file
        path.parent.mkdir(parents=True)
        path.write_text(f"{numbers[0] if core == cores()[-1] else numbers[1]}\n")
    done = subprocess.run([program(shared, tmp_path), str(cores()[-1])], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, str(blocks))
