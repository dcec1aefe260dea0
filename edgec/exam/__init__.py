"""The exam of a package: what is asked, what is expected and how far off an answer may be; who judges, here and on boards."""
