#ifndef LARCH_CLMDB_SHIM_H
#define LARCH_CLMDB_SHIM_H
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/mount.h>
#include <sys/param.h>
#else
#include <sys/vfs.h>
#endif

/* The version that Larch was compiled against. LMDB's own macros for it are expressions that the
   importer leaves out; mdb_version() tells the version that runs. */
static inline int larch_mdb_compiled_version(void) { return MDB_VERSION_FULL; }

/* A version in the same form, for comparisons. */
static inline int larch_mdb_version(int major, int minor, int patch) {
  return MDB_VERINT(major, minor, patch);
}

/* Whether a directory is on a file system that several machines share, where maps and locks do not
   work: 1 or 0, or a negative errno. Here because Swift's module of glibc leaves statfs out. */
static inline int larch_is_remote_file_system(const char *path) {
  struct statfs status;
  if (statfs(path, &status) != 0) return -errno;
#ifdef __APPLE__
  return (status.f_flags & MNT_LOCAL) == 0;
#else
  /* Numbers of the kernel's magic.h and of the drivers. */
  switch ((unsigned)status.f_type) {
  case 0x6969:     /* NFS */
  case 0x517B:     /* SMB */
  case 0xFF534D42: /* CIFS */
  case 0xFE534D42: /* SMB2 */
  case 0x01021997: /* 9P */
  case 0x65735546: /* FUSE, and shared directories of virtual machines */
  case 0x00C36400: /* Ceph */
  case 0x5346414F: /* AFS */
  case 0x6B414653: /* kAFS */
  case 0x73757245: /* Coda */
  case 0x564C:     /* NCP */
  case 0x0BD00BD0: /* Lustre */
  case 0x47504653: /* GPFS */
  case 0x7461636F: /* OCFS2 */
  case 0x786F4256: /* VirtualBox shared folders */
    return 1;
  default:
    return 0;
  }
#endif
}

/* Gives the first bytes of a file their place on the disk: 0 or an errno. What is there stays as it
   is, which posix_fallocate does not promise: where the file system cannot do it, that one writes. */
static inline int larch_allocate(int file, off_t size) {
#ifdef __linux__
  extern int fallocate(int, int, off_t, off_t);
  return fallocate(file, 0, 0, size) == 0 ? 0 : errno;
#else
  (void)file;
  (void)size;
  return 0;
#endif
}

/* A pipe whose ends no program that this process starts inherits: 0 or an errno. */
static inline int larch_pipe(int ends[2]) {
#ifdef __linux__
  extern int pipe2(int[2], int);
  return pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
#else
  if (pipe(ends) != 0) return errno;
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  return 0;
#endif
}

/* Whether another process has the environment of this lock file open: 1 or 0, or a negative errno.
   LMDB keeps a lock on the first byte as long as it is open. */
static inline int larch_is_lock_held(int file) {
  struct flock lock = {0};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0;
  lock.l_len = 1;
  if (fcntl(file, F_GETLK, &lock) != 0) return -errno;
  return lock.l_type != F_UNLCK;
}

/* Locks of bytes that belong to an open file and not to a process, so that closing another descriptor
   of the file drops none of them; exec closes them, fork shares them. The numbers are those of Linux,
   whose headers show them to some programs only. Not on Darwin, where Larch's own flock would wait for
   them: no request has this number there. */
#ifdef __linux__
enum { larch_ofd_get = 36, larch_ofd_set = 37 };
#else
enum { larch_ofd_get = -1, larch_ofd_set = -1 };
#endif

static inline struct flock larch_bytes(short type, int64_t start, int64_t count) {
  struct flock lock = {0};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = count;
  return lock;
}

static inline int larch_set_lock(int file, short type, int64_t start, int64_t count) {
  struct flock lock = larch_bytes(type, start, count);
  if (sizeof lock.l_start < sizeof start) return ENOTSUP;
  while (fcntl(file, larch_ofd_set, &lock) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

/* Locks bytes for this open file alone, without waiting: 0 or an errno, EAGAIN when another one has
   a lock there. */
static inline int larch_lock_bytes(int file, int64_t start, int64_t count) {
  return larch_set_lock(file, F_WRLCK, start, count);
}

/* Locks bytes against those who want them alone: 0 or an errno. The file must be open for reading. */
static inline int larch_share_bytes(int file, int64_t start, int64_t count) {
  return larch_set_lock(file, F_RDLCK, start, count);
}

static inline void larch_unlock_bytes(int file, int64_t start, int64_t count) {
  (void)larch_set_lock(file, F_UNLCK, start, count);
}

/* Whether another open file has a lock on one of the bytes: 1, with the first and the last byte of
   such a lock, or 0, or a negative errno. */
static inline int larch_find_lock(
    int file, int64_t start, int64_t count, int64_t *first, int64_t *last) {
  struct flock lock = larch_bytes(F_WRLCK, start, count);
  if (count <= 0) return 0;
  if (sizeof lock.l_start < sizeof start) return -ENOTSUP;
  if (fcntl(file, larch_ofd_get, &lock) != 0) return -errno;
  if (lock.l_type == F_UNLCK) return 0;
  *first = lock.l_start;
  /* A lock without a length goes to the end of all files. */
  *last = lock.l_len == 0 ? start + count - 1 : lock.l_start + (lock.l_len - 1);
  return 1;
}

/* Brings what was written to a file to the disk, past the cache of the drive: 0 or an errno. */
static inline int larch_flush(int file) {
#ifdef __APPLE__
  if (fcntl(file, F_FULLFSYNC) == 0) return 0;
#endif
  return fsync(file) == 0 ? 0 : errno;
}

/* The same without what only a look at the file shows, such as its times. */
static inline int larch_flush_data(int file) {
#ifdef __linux__
  return fdatasync(file) == 0 ? 0 : errno;
#else
  return larch_flush(file);
#endif
}

#endif
