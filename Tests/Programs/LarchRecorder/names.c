/* The calls that open files and change names. */
#ifdef __linux__
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder.h"

/* The function of this name that would be called without this library. */
#define REAL(name, type, ...)                                             \
  static type (*real)(__VA_ARGS__);                                       \
  if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

/* A recording that is not complete must not look like one. */
static void give_up(const char *why) {
  fprintf(stderr, "larch recorder: %s\n", why);
  abort();
}

/* The number of a file that was there before the recording. Its content is logged as if it had been
   written and flushed. By numbers of system calls: this library's own functions take the lock. */
static uint32_t found(int directory, const char *path, const char *name) {
  struct stat status;
  int source = (int)syscall(SYS_openat, directory, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
  if (source < 0) return 0;
  if (fstat(source, &status) != 0 || !S_ISREG(status.st_mode)) {
    syscall(SYS_close, source);
    return 0;
  }
  uint32_t file = recorder_find_file(status.st_dev, status.st_ino);
  if (!file) {
    file = recorder_new_file(status.st_dev, status.st_ino);
    recorder_log(LARCH_EVENT_FOUND, file, 0, name, strlen(name));
    if (recorder_logs()) {
      char *bytes = malloc((size_t)status.st_size + 1);
      if (!bytes || pread(source, bytes, (size_t)status.st_size, 0) != status.st_size)
        give_up("cannot read a file that was there");
      recorder_log(LARCH_EVENT_DATA, file, 0, bytes, (uint64_t)status.st_size);
      recorder_log(LARCH_EVENT_FLUSH, file, 0, NULL, 0);
      free(bytes);
    }
  }
  syscall(SYS_close, source);
  return file;
}

/* Whether the descriptor is the watched directory itself. */
static int is_directory(int fd) {
  const char *watched = getenv("LARCH_RECORDER_DIRECTORY");
  struct stat one, other;
  return watched && fstat(fd, &one) == 0 && S_ISDIR(one.st_mode) && stat(watched, &other) == 0
      && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static int opened(
    int (*real)(int, const char *, int, ...), int directory, const char *path, int flags,
    mode_t mode) {
  static const struct descriptor none;
  char name[NAME_MAX + 1];
  recorder_lock();
  if (!recorder_is_on()) {
    recorder_unlock();
    return real(directory, path, flags, mode);
  }
  struct stat status;
  int is_file = (flags & O_ACCMODE) != O_RDONLY && !(flags & O_DIRECTORY)
      && recorder_name(directory, path, name, sizeof name);
  int is_new = 0;
  struct descriptor descriptor = none;
  if (is_file) {
    is_new = fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
    int code = is_new && (flags & O_CREAT) ? recorder_refuse(LARCH_CALL_CREATE) : 0;
    if (code) {
      recorder_unlock();
      errno = code;
      return -1;
    }
    /* Before it is opened, which may cut it. */
    if (!is_new) descriptor.file = found(directory, path, name);
  }
  int fd = real(directory, path, flags, mode);
  int saved = errno;
  if (fd >= 0) {
    if (is_file && is_new && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
      descriptor.file = recorder_new_file(status.st_dev, status.st_ino);
      recorder_log(LARCH_EVENT_CREATED, descriptor.file, 0, name, strlen(name));
    } else if (descriptor.file && (flags & O_TRUNC)) {
      recorder_log(LARCH_EVENT_LENGTH, descriptor.file, 0, NULL, 0);
    }
    if (descriptor.file) {
      descriptor.watched = A_FILE;
      descriptor.is_durable = (flags & (O_DSYNC | O_SYNC)) != 0;
    } else if (is_directory(fd)) {
      descriptor.watched = THE_DIRECTORY;
    }
    recorder_set_descriptor(fd, descriptor);
  }
  recorder_unlock();
  errno = saved;
  return fd;
}

/* Another form of openat may be missing from a C library; then the plain one does. */
static int (*real_openat(void))(int, const char *, int, ...) {
  REAL(openat, int, int, const char *, int, ...);
  return real;
}

static int takes_mode(int flags) { return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE; }

#define MODE                          \
  mode_t mode = 0;                    \
  if (takes_mode(flags)) {            \
    va_list list;                     \
    va_start(list, flags);            \
    mode = (mode_t)va_arg(list, int); \
    va_end(list);                     \
  }

int open(const char *path, int flags, ...) {
  MODE
  return opened(real_openat(), AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  MODE
  return opened(real_openat(), AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

int openat(int directory, const char *path, int flags, ...) {
  MODE
  return opened(real_openat(), directory, path, flags, mode);
}

int openat64(int directory, const char *path, int flags, ...) {
  MODE
  return opened(real_openat(), directory, path, flags | O_LARGEFILE, mode);
}

int creat(const char *path, mode_t mode) {
  return opened(real_openat(), AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

/* What programs compiled with _FORTIFY_SOURCE call. */
int __open_2(const char *path, int flags) { return open(path, flags); }
int __open64_2(const char *path, int flags) { return open64(path, flags); }
int __openat_2(int directory, const char *path, int flags) { return openat(directory, path, flags); }

int close(int fd) {
  static const struct descriptor none;
  REAL(close, int, int);
  recorder_lock();
  recorder_set_descriptor(fd, none);
  int result = real(fd);
  recorder_unlock();
  return result;
}

static int duplicated(int from, int to) {
  if (to >= 0) recorder_set_descriptor(to, recorder_descriptor(from));
  return to;
}

int dup(int fd) {
  REAL(dup, int, int);
  recorder_lock();
  int result = duplicated(fd, real(fd));
  recorder_unlock();
  return result;
}

int dup2(int fd, int to) {
  REAL(dup2, int, int, int);
  recorder_lock();
  int result = duplicated(fd, real(fd, to));
  recorder_unlock();
  return result;
}

int dup3(int fd, int to, int flags) {
  REAL(dup3, int, int, int, int);
  recorder_lock();
  int result = duplicated(fd, real(fd, to, flags));
  recorder_unlock();
  return result;
}

static int changed_names(
    int (*real)(int, const char *, int, const char *, unsigned), int from_directory,
    const char *from, int to_directory, const char *to, unsigned flags, int is_link) {
  char old[NAME_MAX + 1], new[NAME_MAX + 1], both[2 * NAME_MAX + 2];
  recorder_lock();
  int has_old = recorder_name(from_directory, from, old, sizeof old);
  int has_new = recorder_name(to_directory, to, new, sizeof new);
  int code = has_old || has_new ? recorder_refuse(LARCH_CALL_NAME) : 0;
  int result = -1;
  if (code) {
    errno = code;
  } else {
    uint32_t file = has_old ? found(from_directory, from, old) : 0;
    result = real(from_directory, from, to_directory, to, flags);
    if (result == 0 && has_new && !file) {
      struct stat status;
      if (fstatat(to_directory, to, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode))
        file = recorder_find_file(status.st_dev, status.st_ino);
      if (!file && recorder_logs()) give_up("a file came from elsewhere, unseen");
    }
    if (result == 0 && is_link && has_new) {
      recorder_log(LARCH_EVENT_LINK, file, 0, new, strlen(new));
    } else if (result == 0 && has_old && has_new) {
      size_t length = strlen(old) + 1;
      memcpy(both, old, length);
      strcpy(both + length, new);
      recorder_log(LARCH_EVENT_RENAME, file, 0, both, length + strlen(new));
    } else if (result == 0 && !is_link && has_old) {
      recorder_log(LARCH_EVENT_REMOVE, 0, 0, old, strlen(old));
    } else if (result == 0 && has_new) {
      recorder_log(LARCH_EVENT_LINK, file, 0, new, strlen(new));
    }
  }
  int saved = errno;
  recorder_unlock();
  errno = saved;
  return result;
}

static int do_rename(
    int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
  REAL(renameat2, int, int, const char *, int, const char *, unsigned);
  return real(from_directory, from, to_directory, to, flags);
}

static int do_link(
    int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
  REAL(linkat, int, int, const char *, int, const char *, int);
  return real(from_directory, from, to_directory, to, (int)flags);
}

int rename(const char *from, const char *to) {
  return changed_names(do_rename, AT_FDCWD, from, AT_FDCWD, to, 0, 0);
}

int renameat(int from_directory, const char *from, int to_directory, const char *to) {
  return changed_names(do_rename, from_directory, from, to_directory, to, 0, 0);
}

int renameat2(
    int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
  return changed_names(do_rename, from_directory, from, to_directory, to, flags, 0);
}

int link(const char *from, const char *to) {
  return changed_names(do_link, AT_FDCWD, from, AT_FDCWD, to, 0, 1);
}

int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) {
  return changed_names(do_link, from_directory, from, to_directory, to, (unsigned)flags, 1);
}

int unlinkat(int directory, const char *path, int flags) {
  char name[NAME_MAX + 1];
  REAL(unlinkat, int, int, const char *, int);
  recorder_lock();
  int has_name = recorder_name(directory, path, name, sizeof name);
  struct stat status;
  /* Removing what is not there changes nothing, and is not counted. */
  if (has_name && fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) != 0) has_name = 0;
  int code = has_name ? recorder_refuse(LARCH_CALL_REMOVE) : 0;
  int result = -1;
  if (code) {
    errno = code;
  } else {
    result = real(directory, path, flags);
    if (result == 0 && has_name) recorder_log(LARCH_EVENT_REMOVE, 0, 0, name, strlen(name));
  }
  int saved = errno;
  recorder_unlock();
  errno = saved;
  return result;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int remove(const char *path) {
  int result = unlinkat(AT_FDCWD, path, 0);
  if (result != 0 && errno == EISDIR) result = unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
  return result;
}
#endif
