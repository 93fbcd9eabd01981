"""Guest kernels: a study, or any command, inside a Linux kernel of its own.

A guest sees the files of this machine through an overlay that writes nothing back, and the few
folders that are shared with it as they are. Its network has no way out.

::

    culvert vm build            config, source ──> a kernel in the cache
    culvert vm run -- COMMAND   job folder ──> vehicle (KVM, User Mode Linux, TCG) ──> exit code
    culvert run STUDY --lab vm  the same, and the command is ``culvert run`` with the lab netns
"""
