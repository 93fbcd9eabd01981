"""Guest kernels: a study, or any command, inside its own Linux kernel.

A guest sees the files of this machine through an overlay that writes nothing back; only shared
folders are writable. It has no external network.

::

    culvert vm build            config, source ──> a kernel in the cache
    culvert vm run -- COMMAND   job folder ──> hypervisor (KVM, User Mode Linux, TCG) ──> exit code
    culvert run STUDY --lab vm  the same, and the command is ``culvert run`` with the lab netns
"""
