#ifndef UNISTD_H
#define UNISTD_H

#define _SC_PAGESIZE 0
long sysconf(int what);

#endif
