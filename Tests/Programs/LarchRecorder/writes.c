/* The calls that change files and flush them. */
#ifdef __linux__
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "recorder.h"

/* The function of this name that would be called without this library. */
#define REAL(name, type, ...)                                             \
  static type (*real)(__VA_ARGS__);                                       \
  if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static ssize_t real_pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  REAL(pwritev, ssize_t, int, const struct iovec *, int, off_t);
  return real(fd, parts, count, offset);
}

static ssize_t real_writev(int fd, const struct iovec *parts, int count) {
  REAL(writev, ssize_t, int, const struct iovec *, int);
  return real(fd, parts, count);
}

/* The bytes of several parts in one piece, which the caller frees. */
static char *gathered(const struct iovec *parts, int count, size_t wanted) {
  char *bytes = malloc(wanted + 1);
  size_t done = 0;
  if (!bytes) abort();
  for (int part = 0; part < count && done < wanted; part++) {
    size_t length = parts[part].iov_len;
    if (length > wanted - done) length = wanted - done;
    memcpy(bytes + done, parts[part].iov_base, length);
    done += length;
  }
  return bytes;
}

/* Every write comes down to this; `offset` is -1 for one at the position of the descriptor. */
static ssize_t written(int fd, const struct iovec *parts, int count, off_t offset) {
  recorder_lock();
  struct descriptor descriptor = recorder_descriptor(fd);
  if (descriptor.watched != A_FILE) {
    recorder_unlock();
    return offset < 0 ? real_writev(fd, parts, count) : real_pwritev(fd, parts, count, offset);
  }
  size_t wanted = 0;
  for (int part = 0; part < count; part++) wanted += parts[part].iov_len;
  int code = recorder_refuse(descriptor.is_durable ? LARCH_CALL_META : LARCH_CALL_DATA);
  size_t length = code ? recorder_part(wanted) : wanted;
  ssize_t result = 0;
  if (length > 0 || !code) {
    off_t place = offset;
    if (offset < 0) {
      struct stat status;
      place = lseek(fd, 0, SEEK_CUR);
      if ((fcntl(fd, F_GETFL) & O_APPEND) && fstat(fd, &status) == 0) place = status.st_size;
    }
    char *bytes = gathered(parts, count, length);
    struct iovec whole = {bytes, length};
    result = offset < 0 ? real_writev(fd, &whole, 1) : real_pwritev(fd, &whole, 1, offset);
    int saved = errno;
    if (result > 0) {
      recorder_log(
          descriptor.is_durable ? LARCH_EVENT_META : LARCH_EVENT_DATA, descriptor.file,
          (uint64_t)place, bytes, (uint64_t)result);
    }
    free(bytes);
    errno = saved;
  }
  if (code) {
    recorder_die_if_asked();
    errno = code;
    result = -1;
  }
  int saved = errno;
  recorder_unlock();
  errno = saved;
  return result;
}

ssize_t write(int fd, const void *bytes, size_t length) {
  struct iovec part = {(void *)bytes, length};
  return written(fd, &part, 1, -1);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  struct iovec part = {(void *)bytes, length};
  if (offset < 0) {
    errno = EINVAL;
    return -1;
  }
  return written(fd, &part, 1, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
  return pwrite(fd, bytes, length, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count) { return written(fd, parts, count, -1); }

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  if (offset < 0) {
    errno = EINVAL;
    return -1;
  }
  return written(fd, parts, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  return pwritev(fd, parts, count, offset);
}

/* Calls that copy between descriptors: what has arrived is written in the usual way instead. */
static ssize_t copied(int to, off_t *to_offset, int from, off_t *from_offset, size_t length) {
  size_t wanted = length < 1 << 20 ? length : 1 << 20;
  char *bytes = malloc(wanted + 1);
  if (!bytes) abort();
  ssize_t result =
      from_offset ? pread(from, bytes, wanted, *from_offset) : read(from, bytes, wanted);
  if (result > 0) {
    ssize_t arrived = to_offset ? pwrite(to, bytes, (size_t)result, *to_offset)
                                : write(to, bytes, (size_t)result);
    if (!from_offset && arrived < result)
      lseek(from, (arrived > 0 ? arrived : 0) - result, SEEK_CUR);
    result = arrived;
    if (result > 0 && from_offset) *from_offset += result;
    if (result > 0 && to_offset) *to_offset += result;
  }
  int saved = errno;
  free(bytes);
  errno = saved;
  return result;
}

static int is_file(int fd) {
  recorder_lock();
  int result = recorder_descriptor(fd).watched == A_FILE;
  recorder_unlock();
  return result;
}

ssize_t sendfile(int to, int from, off_t *offset, size_t length) {
  REAL(sendfile, ssize_t, int, int, off_t *, size_t);
  if (!is_file(to)) return real(to, from, offset, length);
  return copied(to, NULL, from, offset, length);
}

ssize_t sendfile64(int to, int from, off64_t *offset, size_t length) {
  return sendfile(to, from, offset, length);
}

ssize_t copy_file_range(
    int from, off64_t *from_offset, int to, off64_t *to_offset, size_t length, unsigned flags) {
  REAL(copy_file_range, ssize_t, int, off64_t *, int, off64_t *, size_t, unsigned);
  if (!is_file(to)) return real(from, from_offset, to, to_offset, length, flags);
  return copied(to, to_offset, from, from_offset, length);
}

/* Runs a call that changes the length of a file, and logs the length that it has then. */
#define CHANGE_LENGTH(fd, call)                                                              \
  do {                                                                                       \
    recorder_lock();                                                                         \
    struct descriptor descriptor = recorder_descriptor(fd);                                  \
    int code = descriptor.watched == A_FILE ? recorder_refuse(LARCH_CALL_LENGTH) : 0;        \
    int result = -1;                                                                         \
    if (code) {                                                                              \
      errno = code;                                                                          \
    } else {                                                                                 \
      struct stat before, after;                                                             \
      int is_known = fstat(fd, &before) == 0;                                                \
      result = call;                                                                         \
      if (result == 0 && descriptor.watched == A_FILE && is_known && fstat(fd, &after) == 0  \
          && before.st_size != after.st_size)                                                \
        recorder_log(LARCH_EVENT_LENGTH, descriptor.file, (uint64_t)after.st_size, NULL, 0); \
    }                                                                                        \
    int saved = errno;                                                                       \
    recorder_unlock();                                                                       \
    errno = saved;                                                                           \
    return code && is_code ? code : result;                                                  \
  } while (0)

int ftruncate(int fd, off_t length) {
  REAL(ftruncate, int, int, off_t);
  const int is_code = 0;
  CHANGE_LENGTH(fd, real(fd, length));
}

int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }

int fallocate(int fd, int mode, off_t offset, off_t length) {
  REAL(fallocate, int, int, int, off_t, off_t);
  const int is_code = 0;
  CHANGE_LENGTH(fd, real(fd, mode, offset, length));
}

int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
  return fallocate(fd, mode, offset, length);
}

/* This one gives its error back instead of leaving it in errno. */
int posix_fallocate(int fd, off_t offset, off_t length) {
  REAL(posix_fallocate, int, int, off_t, off_t);
  const int is_code = 1;
  CHANGE_LENGTH(fd, real(fd, offset, length));
}

int posix_fallocate64(int fd, off64_t offset, off64_t length) {
  return posix_fallocate(fd, offset, length);
}

static int flushed(int (*real)(int), int fd) {
  recorder_lock();
  struct descriptor descriptor = recorder_descriptor(fd);
  int code = 0;
  if (descriptor.watched == A_FILE) code = recorder_refuse(LARCH_CALL_FLUSH);
  if (descriptor.watched == THE_DIRECTORY) code = recorder_refuse(LARCH_CALL_DIRECTORY);
  int result = -1;
  if (code) {
    errno = code;
  } else {
    result = descriptor.watched && recorder_skips_flushes() ? 0 : real(fd);
    if (result == 0 && descriptor.watched == A_FILE)
      recorder_log(LARCH_EVENT_FLUSH, descriptor.file, 0, NULL, 0);
    if (result == 0 && descriptor.watched == THE_DIRECTORY)
      recorder_log(LARCH_EVENT_DIRECTORY, 0, 0, NULL, 0);
  }
  int saved = errno;
  recorder_unlock();
  errno = saved;
  return result;
}

int fsync(int fd) {
  REAL(fsync, int, int);
  return flushed(real, fd);
}

int fdatasync(int fd) {
  REAL(fdatasync, int, int);
  return flushed(real, fd);
}
#endif
