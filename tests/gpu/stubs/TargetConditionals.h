/* Which Apple system is being compiled for, as far as the host asks. */
#pragma once
#ifndef TARGET_OS_OSX
#define TARGET_OS_OSX 1
#endif
