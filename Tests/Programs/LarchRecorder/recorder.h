/* What the intercepted calls and the log share. */
#ifndef LARCH_RECORDER_STATE_H
#define LARCH_RECORDER_STATE_H
#include <sys/types.h>

#include "include/larch_recorder.h"

enum watched { UNWATCHED, A_FILE, THE_DIRECTORY };

struct descriptor {
  enum watched watched;
  uint32_t file;
  int is_durable; /* opened with O_DSYNC or O_SYNC */
};

/* Everything below is used with this lock held: the log has the order in which things happened. */
void recorder_lock(void);
void recorder_unlock(void);

/* What a descriptor is; a zeroed one for what is not watched. */
struct descriptor recorder_descriptor(int fd);
void recorder_set_descriptor(int fd, struct descriptor value);

/* The name of a path in the watched directory, in `name`; 0 when it is elsewhere. */
int recorder_name(int directory, const char *path, char *name, size_t size);

/* Counts a call; the errno with which it has to fail, or 0. */
int recorder_refuse(int kind);
/* How much of its bytes a refused write has to write. */
size_t recorder_part(size_t wanted);
/* Ends the process as SIGKILL does, where a refused call is to do so. */
void recorder_die_if_asked(void);

/* The number of the file with this device and inode; 0 when it is unknown. */
uint32_t recorder_find_file(dev_t device, ino_t inode);
uint32_t recorder_new_file(dev_t device, ino_t inode);

void recorder_log(
    uint32_t event, uint32_t file, uint64_t offset, const void *bytes, uint64_t length);
int recorder_logs(void);
int recorder_skips_flushes(void);
int recorder_is_on(void);

#endif
