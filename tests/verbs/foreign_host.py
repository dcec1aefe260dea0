"""Runs edgec's program in a Python that has lost what only POSIX has: python foreign_host.py WORDS... , WORDS..."""

import importlib
import os
import platform
import signal
import sys

MODULES = "fcntl pwd grp resource termios tty pty syslog posix readline"
SYSTEM = """
geteuid getuid getgid getegid getgroups uname sched_getaffinity sched_setaffinity fork forkpty setsid killpg getpgid chown fchown fchmod
lchown mkfifo mknod pread pwrite statvfs getloadavg nice wait3 wait4 WNOHANG O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_NONBLOCK sysconf pathconf
openpty ttyname confstr sendfile posix_spawn posix_fadvise register_at_fork
"""
SIGNALS = "SIGHUP SIGKILL SIGPIPE SIGUSR1 SIGUSR2 SIGALRM SIGCHLD SIGCONT SIGQUIT SIGSTOP setitimer alarm pthread_sigmask sigwait"

for module in ("edgec.verbs.inspect", "edgec.pipeline.compiler", "onnxruntime", "paramiko"):
    importlib.import_module(module)  # other people's modules are as they are for this system
for verb in importlib.import_module("edgec.cli.verbs").VERBS:
    importlib.import_module(f"edgec.cli.{verb}")
for name in [name for name in sys.modules if name.split(".")[0] == "edgec"]:
    del sys.modules[name]
for name in MODULES.split():
    sys.modules[name] = None  # type: ignore[assignment] # importing it fails
for holder, names in ((os, SYSTEM), (signal, SIGNALS)):
    for name in names.split():
        if hasattr(holder, name):
            delattr(holder, name)
sys.platform = "win32"
platform.system = lambda: "Windows"
platform.machine = lambda: "AMD64"
program = importlib.import_module("edgec.cli.main")
lines = "\0".join(sys.argv[1:]).split("\0,\0")
sys.exit(max(program.main(line.split("\0")) for line in lines))
