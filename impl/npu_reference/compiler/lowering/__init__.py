"""From operators of a partition to kernels of a device, before any become one."""
