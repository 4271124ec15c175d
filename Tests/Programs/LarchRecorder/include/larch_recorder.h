#ifndef LARCH_RECORDER_H
#define LARCH_RECORDER_H

/* A library to be preloaded (LD_PRELOAD) into a program that writes a store: it logs what happens to
   the files of one directory, so that a test can make what a power failure would have left, and it
   lets a write or a flush of these files fail on demand. Linux only; elsewhere it is empty.

   Environment:
     LARCH_RECORDER_DIRECTORY  the directory that is watched, without links in its path; what is in
                               directories inside of it is not, and neither are files "…-lock"
     LARCH_RECORDER_LOG        where the log goes; none without it
     LARCH_RECORDER_NO_FLUSH   set: the real flushes are left out (recording is then faster)
     LARCH_RECORDER_FAIL       as larch_recorder_fail from the start: "<call> <mode> <errno>"
     LARCH_RECORDER_ONLY       as larch_recorder_only from the start

   A program finds the functions with dlsym; without the library there are none. */

#include <stdint.h>

/* What a watched call does; each call is of one kind. */
enum {
  LARCH_CALL_DATA = 1,        /* a write that a later flush makes durable */
  LARCH_CALL_META = 2,        /* a write through a descriptor with O_DSYNC or O_SYNC */
  LARCH_CALL_FLUSH = 4,       /* a flush of a file */
  LARCH_CALL_DIRECTORY = 8,   /* a flush of the directory */
  LARCH_CALL_LENGTH = 16,     /* truncating, growing, allocating */
  LARCH_CALL_CREATE = 32,     /* opening a file that was not there */
  LARCH_CALL_NAME = 64,       /* rename, link */
  LARCH_CALL_REMOVE = 128,    /* unlink */
};

/* How a call fails. */
enum {
  LARCH_FAIL_ONCE = 0,
  LARCH_FAIL_FOREVER = 1,  /* every later call too */
  LARCH_FAIL_TORN = 2,     /* a write that fails has written the first half of its bytes */
  LARCH_FAIL_LATE = 4,     /* the first write that fails has written all of them: its flush failed */
  LARCH_FAIL_KILLED = 8,   /* the process is killed in the call instead of getting an error */
};

/* From now on calls are counted from 1 anew, and call number `call` fails with `code`; 0: none does.
   `mode` is made of LARCH_FAIL_…. */
void larch_recorder_fail(long call, int mode, int code);

/* Only calls of these kinds (LARCH_CALL_…, added) are counted and fail; all of them at first. */
void larch_recorder_only(int kinds);

/* Calls since the last larch_recorder_fail. */
long larch_recorder_calls(void);

/* How many of them have failed. */
long larch_recorder_failures(void);

/* The kind of the first one that failed since then; 0 when none has. */
int larch_recorder_failed_kind(void);

/* Writes a mark into the log: the test knows what it means. */
void larch_recorder_mark(uint32_t kind, uint64_t number, uint64_t detail);

/* The log is a sequence of these, each followed by `length` bytes. */
struct larch_recorder_entry {
  uint32_t event; /* LARCH_EVENT_… */
  uint32_t file;  /* numbers of files begin at 1 and are never used again */
  uint64_t offset;
  uint64_t length;
};

enum {
  LARCH_EVENT_FOUND = 1,     /* a file that was there; its name. Its content follows as DATA, flushed */
  LARCH_EVENT_CREATED = 2,   /* a new file; its name */
  LARCH_EVENT_DATA = 3,      /* bytes at an offset */
  LARCH_EVENT_META = 4,      /* the same, durable when it has returned */
  LARCH_EVENT_LENGTH = 5,    /* the file has `offset` bytes now */
  LARCH_EVENT_FLUSH = 6,
  LARCH_EVENT_DIRECTORY = 7, /* the directory was flushed */
  LARCH_EVENT_RENAME = 8,    /* old name, 0, new name */
  LARCH_EVENT_LINK = 9,      /* another name of the file */
  LARCH_EVENT_REMOVE = 10,   /* a name that is gone */
  LARCH_EVENT_MARK = 11,     /* file: kind, offset: number, 8 bytes: detail */
};

#endif
