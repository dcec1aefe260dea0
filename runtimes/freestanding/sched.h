/* Given by the process, or not: see pthread.h. */
#ifndef EDGEC_SCHED_H
#define EDGEC_SCHED_H

__attribute__((weak)) int sched_yield(void);

#endif
