/* What processors this process may use, and what its control groups allow.
 *
 *     int n = cores_available();
 *     double q = cores_quota("/proc/self/cgroup", "/sys/fs/cgroup");     // cores' worth of time; INFINITY: no limit
 *
 * Local, cannot fail: what cannot be read limits nothing.
 */
#ifndef FRETSAW_COMMON_CORES_H
#define FRETSAW_COMMON_CORES_H

/* Processors of the affinity, at most the quota (a part of one counts as one), at least 1. */
int cores_available(void);
/* The lowest quota of the groups that `groups` lists and of those above them, version 1 and 2, with their files below `root`. */
double cores_quota(const char *groups, const char *root);
/* The number of the core that a processor belongs to: its lowest sibling, itself where unknown. */
int cores_core_of(int processor);

#endif
