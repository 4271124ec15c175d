#ifdef __linux__
#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define DESCRIPTORS 8192
#define FILES 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char watched[PATH_MAX];
static size_t watched_length;
static int log_file = -1;
static int skips_flushes;
static struct descriptor descriptors[DESCRIPTORS];
static struct { dev_t device; ino_t inode; } files[FILES];
static uint32_t file_count;

static int kinds = ~0;
static long calls, failures, failing_call;
static int failing_mode, failing_code, failed_kind;

/* A recording that is not complete must not look like one. */
static void give_up(const char *why) {
  static const char prefix[] = "larch recorder: ";
  struct iovec parts[3] = {
      {(void *)prefix, sizeof prefix - 1}, {(void *)why, strlen(why)}, {(void *)"\n", 1}};
  syscall(SYS_writev, 2, parts, 3);
  abort();
}

static void start(void) {
  const char *text = getenv("LARCH_RECORDER_DIRECTORY");
  if (text && strlen(text) + 2 < sizeof watched) {
    strcpy(watched, text);
    watched_length = strlen(watched);
    while (watched_length > 1 && watched[watched_length - 1] == '/') watched_length--;
    watched[watched_length] = 0;
  }
  skips_flushes = getenv("LARCH_RECORDER_NO_FLUSH") != NULL;
  if ((text = getenv("LARCH_RECORDER_ONLY"))) kinds = atoi(text);
  if ((text = getenv("LARCH_RECORDER_FAIL"))) {
    if (sscanf(text, "%ld %d %d", &failing_call, &failing_mode, &failing_code) != 3)
      give_up("LARCH_RECORDER_FAIL is not \"<call> <mode> <errno>\"");
  }
  if ((text = getenv("LARCH_RECORDER_LOG")) && watched_length) {
    /* By number: the library's own open is the one that is defined beside this file. */
    log_file = (int)syscall(SYS_openat, AT_FDCWD, text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log_file < 0) give_up("cannot open the log");
  }
}

void recorder_lock(void) {
  pthread_once(&once, start);
  pthread_mutex_lock(&lock);
}

void recorder_unlock(void) { pthread_mutex_unlock(&lock); }

int recorder_is_on(void) { return watched_length > 0; }
int recorder_logs(void) { return log_file >= 0; }
int recorder_skips_flushes(void) { return skips_flushes; }

struct descriptor recorder_descriptor(int fd) {
  static const struct descriptor none;
  return fd >= 0 && fd < DESCRIPTORS ? descriptors[fd] : none;
}

void recorder_set_descriptor(int fd, struct descriptor value) {
  if (fd >= 0 && fd < DESCRIPTORS)
    descriptors[fd] = value;
  else if (value.watched)
    give_up("the number of a descriptor is too large");
}

int recorder_name(int directory, const char *path, char *name, size_t size) {
  char full[PATH_MAX];
  if (!watched_length || !path) return 0;
  if (path[0] == '/') {
    if (strlen(path) >= sizeof full) return 0;
    strcpy(full, path);
  } else {
    char link[64];
    ssize_t length;
    if (directory == AT_FDCWD)
      strcpy(link, "/proc/self/cwd");
    else
      snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    length = readlink(link, full, sizeof full - 1);
    if (length < 0 || (size_t)length + strlen(path) + 2 > sizeof full) return 0;
    full[length] = '/';
    strcpy(full + length + 1, path);
  }
  char *slash = strrchr(full, '/');
  if (!slash || !slash[1]) return 0;
  const char *last = slash + 1;
  size_t length = strlen(last);
  if (length + 1 > size || (length >= 5 && strcmp(last + length - 5, "-lock") == 0)) return 0;
  /* The directory may be written in another way: the file system knows whether it is the same. */
  struct stat one, other;
  if ((size_t)(slash - full) != watched_length || memcmp(full, watched, watched_length) != 0) {
    *slash = 0;
    if (stat(slash == full ? "/" : full, &one) != 0 || stat(watched, &other) != 0) return 0;
    if (one.st_dev != other.st_dev || one.st_ino != other.st_ino) return 0;
  }
  memcpy(name, last, length + 1);
  return 1;
}

uint32_t recorder_find_file(dev_t device, ino_t inode) {
  /* From the newest one: a number of an inode may have been used before. */
  for (uint32_t n = file_count; n > 0; n--)
    if (files[n - 1].device == device && files[n - 1].inode == inode) return n;
  return 0;
}

uint32_t recorder_new_file(dev_t device, ino_t inode) {
  if (file_count == FILES) give_up("too many files");
  files[file_count].device = device;
  files[file_count].inode = inode;
  return ++file_count;
}

void recorder_log(
    uint32_t event, uint32_t file, uint64_t offset, const void *bytes, uint64_t length) {
  if (log_file < 0) return;
  struct larch_recorder_entry entry = {event, file, offset, length};
  struct iovec parts[2] = {{&entry, sizeof entry}, {(void *)bytes, length}};
  size_t left = sizeof entry + length;
  int saved = errno;
  for (int part = 0; left > 0;) {
    ssize_t done = syscall(SYS_writev, log_file, parts + part, 2 - part);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) give_up("cannot write the log");
    left -= (size_t)done;
    while (part < 2 && (size_t)done >= parts[part].iov_len) done -= (ssize_t)parts[part++].iov_len;
    if (part < 2) {
      parts[part].iov_base = (char *)parts[part].iov_base + done;
      parts[part].iov_len -= (size_t)done;
    }
  }
  errno = saved;
}

int recorder_refuse(int kind) {
  if (!(kinds & kind)) return 0;
  calls++;
  if (!failing_call || calls < failing_call) return 0;
  if (calls > failing_call && !(failing_mode & LARCH_FAIL_FOREVER)) return 0;
  failures++;
  if (!failed_kind) failed_kind = kind;
  /* A write dies when its part is written. */
  if (kind != LARCH_CALL_DATA && kind != LARCH_CALL_META) recorder_die_if_asked();
  return failing_code;
}

size_t recorder_part(size_t wanted) {
  if (failing_mode & LARCH_FAIL_LATE) return failures == 1 ? wanted : 0;
  return failing_mode & LARCH_FAIL_TORN ? wanted / 2 : 0;
}

void recorder_die_if_asked(void) {
  if (!(failing_mode & LARCH_FAIL_KILLED)) return;
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

void larch_recorder_fail(long call, int mode, int code) {
  recorder_lock();
  calls = failures = 0;
  failed_kind = 0;
  failing_call = call;
  failing_mode = mode;
  failing_code = code;
  recorder_unlock();
}

void larch_recorder_only(int wanted) {
  recorder_lock();
  kinds = wanted;
  recorder_unlock();
}

long larch_recorder_calls(void) {
  recorder_lock();
  long result = calls;
  recorder_unlock();
  return result;
}

long larch_recorder_failures(void) {
  recorder_lock();
  long result = failures;
  recorder_unlock();
  return result;
}

int larch_recorder_failed_kind(void) {
  recorder_lock();
  int result = failed_kind;
  recorder_unlock();
  return result;
}

void larch_recorder_mark(uint32_t kind, uint64_t number, uint64_t detail) {
  recorder_lock();
  recorder_log(LARCH_EVENT_MARK, kind, number, &detail, sizeof detail);
  recorder_unlock();
}
#endif
