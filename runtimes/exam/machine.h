/* What the exam of NAME asks the system: the time, memory, the core's frequency, and to stay on chosen cores. */
#ifndef MACRO_MACHINE_H
#define MACRO_MACHINE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#if defined(__linux__)
#include <sched.h>
#endif

/* Microseconds that only ever grow. */
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

/* The first number in a file after `label`, 0 where there is none. */
static long long number_in(const char *path, const char *label) {
    char line[256];
    long long found = 0;
    FILE *const file = fopen(path, "r");
    if (file == NULL) return 0;
    while (found <= 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, label, strlen(label)) == 0) found = strtoll(line + strlen(label), NULL, 10);
    }
    fclose(file);
    return found > 0 ? found : 0;
}

/* The largest resident set so far, in bytes. Linux lets ru_maxrss start with that of the process which started this one, and before 6.2
   its VmHWM may lack the last 64 pages of each thread, which is most of a small program: what is resident now is counted exactly. */
static long long peak_memory(void) {
    struct rusage usage;
    const long long peak = number_in("/proc/self/status", "VmHWM:"), present = number_in("/proc/self/smaps_rollup", "Rss:");
    if (peak > 0 || present > 0) return (peak > present ? peak : present) * 1024;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
#if defined(__APPLE__)
    return usage.ru_maxrss;
#else
    return (long long)usage.ru_maxrss * 1024;
#endif
}

/* Of the core that this thread is on, in kHz; 0 where the system does not tell. */
static long long core_frequency(void) {
#if defined(__linux__)
    char path[96];
    const int core = sched_getcpu();
    if (core < 0) return 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", core);
    return number_in(path, "");
#else
    return 0;
#endif
}

/* Keeps this thread, and those that it starts from now on, on the cores of a list as "2,3"; NULL, or why it cannot. */
static const char *stay_on_cores(const char *list) {
#if defined(__linux__)
    cpu_set_t wanted, got;
    CPU_ZERO(&wanted);
    for (const char *text = list;; text++) {
        char *end = NULL;
        const long core = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
        if (core < 0 || core >= CPU_SETSIZE || (*end != ',' && *end != '\0')) return "not a list of cores as 2,3";
        CPU_SET((size_t)core, &wanted);
        text = end;
        if (*text == '\0') break;
    }
    if (sched_setaffinity(0, sizeof wanted, &wanted) != 0) return strerror(errno);
    if (sched_getaffinity(0, sizeof got, &got) != 0) return strerror(errno);
    return CPU_EQUAL(&wanted, &got) ? NULL : "some of them are not there, or not for this process";
#else
    (void)list;
    return "this system does not let a program choose";
#endif
}

#endif
