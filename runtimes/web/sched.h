/* Beside pthread.h, for NAME_pool; src/web/threads.c has it. */
#ifndef MACRO_WEB_SCHED_H
#define MACRO_WEB_SCHED_H

int sched_yield(void);

#endif
