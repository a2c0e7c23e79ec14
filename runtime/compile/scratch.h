/* A worker's own temporary folder. comgr leaves its files behind when it is killed in mid-compile; with a folder of its
 * own for each worker, whoever survives removes them. */
#ifndef MLAF_SCRATCH_H
#define MLAF_SCRATCH_H

/* malloc'ed path of a new folder below $TMPDIR (else /tmp), NULL if none can be made. */
char *mlaf_scratch_make(void);
/* Remove a folder and everything in it; NULL is allowed. */
void mlaf_scratch_remove(const char *path);

#endif
