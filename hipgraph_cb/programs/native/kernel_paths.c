// Programs that ask the kernel whether there is an AMD GPU find files of this run in the places of the driver.

#include <stdarg.h>
#include <stddef.h>

enum { ROOM = 4096, RTLD_NEXT = -1 };

typedef struct { const char *file; void *base; const char *symbol; void *address; } Location; // Dl_info

int dladdr(const void *, Location *);
void *dlsym(void *, const char *);
size_t strlen(const char *);
int strncmp(const char *, const char *, size_t);
char *strrchr(const char *, int);
void *memcpy(void *, const void *, size_t);

static char root[ROOM]; // the folder `kernel` beside the folder of this library
static size_t root_length;

__attribute__((constructor)) static void find_root(void) {
  Location here;
  if (!dladdr(&root, &here) || strlen(here.file) >= ROOM / 2) return;
  memcpy(root, here.file, strlen(here.file) + 1);
  for (int level = 0; level < 2; level++) {
    char *slash = strrchr(root, '/');
    if (slash == NULL) return;
    *slash = 0;
  }
  memcpy(root + strlen(root), "/kernel", sizeof "/kernel");
  root_length = strlen(root);
}

static int is_below(const char *path, const char *place) {
  size_t length = strlen(place);
  return strncmp(path, place, length) == 0 && (path[length] == 0 || path[length] == '/');
}

static const char *redirected(const char *path, char *room) {
  if (path == NULL || path[0] != '/' || !root_length) return path;
  if (!is_below(path, "/dev/kfd") && !is_below(path, "/sys/class/kfd") && !is_below(path, "/sys/module/amdgpu"))
    return path;
  size_t length = strlen(path) + 1;
  if (root_length + length > ROOM) return path;
  memcpy(room, root, root_length);
  memcpy(room + root_length, path, length);
  return room;
}

#define EXPORT __attribute__((visibility("default")))

// `next_NAME`, the function of that name behind this library. It is looked for before the program begins: looking takes
// the loader's lock, which another thread may hold for long.
#define NEXT(result, name, ...)                                                                                       \
  static result (*next_##name)(__VA_ARGS__);                                                                          \
  __attribute__((constructor)) static void find_##name(void) {                                                        \
    if (next_##name == NULL) next_##name = (result(*)(__VA_ARGS__))dlsym((void *)(long)RTLD_NEXT, #name);             \
  }

// Constructors of other libraries may call before those here have run.
#define CALL(name, ...) (find_##name(), next_##name(__VA_ARGS__))

#define BY_PATH(result, name, type)                                                                                   \
  NEXT(result, name, const char *, type)                                                                              \
  EXPORT result name(const char *path, type second) {                                                                 \
    char room[ROOM];                                                                                                  \
    return CALL(name, redirected(path, room), second);                                                                \
  }

#define WITH_MODE(name)                                                                                               \
  NEXT(int, name, const char *, int, ...)                                                                             \
  EXPORT int name(const char *path, int flags, ...) {                                                                 \
    char room[ROOM];                                                                                                  \
    va_list rest;                                                                                                     \
    va_start(rest, flags);                                                                                            \
    int mode = va_arg(rest, int);                                                                                     \
    va_end(rest);                                                                                                     \
    return CALL(name, redirected(path, room), flags, mode);                                                           \
  }

#define AT_WITH_MODE(name)                                                                                            \
  NEXT(int, name, int, const char *, int, ...)                                                                        \
  EXPORT int name(int folder, const char *path, int flags, ...) {                                                     \
    char room[ROOM];                                                                                                  \
    va_list rest;                                                                                                     \
    va_start(rest, flags);                                                                                            \
    int mode = va_arg(rest, int);                                                                                     \
    va_end(rest);                                                                                                     \
    return CALL(name, folder, redirected(path, room), flags, mode);                                                   \
  }

#define AT(name, third, fourth)                                                                                       \
  NEXT(int, name, int, const char *, third, fourth)                                                                   \
  EXPORT int name(int folder, const char *path, third a, fourth b) {                                                  \
    char room[ROOM];                                                                                                  \
    return CALL(name, folder, redirected(path, room), a, b);                                                          \
  }

// What glibc before 2.33 has in place of stat and its family: a version of the structure comes first.
#define VERSIONED(name)                                                                                               \
  NEXT(int, name, int, const char *, void *)                                                                          \
  EXPORT int name(int version, const char *path, void *out) {                                                         \
    char room[ROOM];                                                                                                  \
    return CALL(name, version, redirected(path, room), out);                                                          \
  }

WITH_MODE(open)
WITH_MODE(open64)
BY_PATH(int, __open_2, int)
BY_PATH(int, __open64_2, int)
AT_WITH_MODE(openat)
AT_WITH_MODE(openat64)
BY_PATH(void *, fopen, const char *)
BY_PATH(void *, fopen64, const char *)
BY_PATH(int, access, int)
AT(faccessat, int, int)
BY_PATH(int, stat, void *)
BY_PATH(int, stat64, void *)
BY_PATH(int, lstat, void *)
BY_PATH(int, lstat64, void *)
AT(fstatat, void *, int)
AT(fstatat64, void *, int)
VERSIONED(__xstat)
VERSIONED(__xstat64)
VERSIONED(__lxstat)
VERSIONED(__lxstat64)
BY_PATH(char *, realpath, char *)

NEXT(void *, opendir, const char *)
EXPORT void *opendir(const char *path) {
  char room[ROOM];
  return CALL(opendir, redirected(path, room));
}

NEXT(int, statx, int, const char *, int, unsigned, void *)
EXPORT int statx(int folder, const char *path, int flags, unsigned mask, void *out) {
  char room[ROOM];
  return CALL(statx, folder, redirected(path, room), flags, mask, out);
}
