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

#define NEXT(result, name, ...) ((result(*)(__VA_ARGS__))dlsym((void *)(long)RTLD_NEXT, name))
#define EXPORT __attribute__((visibility("default")))

#define BY_PATH(result, name, type)                                                                                   \
  EXPORT result name(const char *path, type second) {                                                                 \
    char room[ROOM];                                                                                                  \
    return NEXT(result, #name, const char *, type)(redirected(path, room), second);                                   \
  }

#define WITH_MODE(name)                                                                                               \
  EXPORT int name(const char *path, int flags, ...) {                                                                 \
    char room[ROOM];                                                                                                  \
    va_list rest;                                                                                                     \
    va_start(rest, flags);                                                                                            \
    int mode = va_arg(rest, int);                                                                                     \
    va_end(rest);                                                                                                     \
    return NEXT(int, #name, const char *, int, ...)(redirected(path, room), flags, mode);                             \
  }

#define AT_WITH_MODE(name)                                                                                            \
  EXPORT int name(int folder, const char *path, int flags, ...) {                                                     \
    char room[ROOM];                                                                                                  \
    va_list rest;                                                                                                     \
    va_start(rest, flags);                                                                                            \
    int mode = va_arg(rest, int);                                                                                     \
    va_end(rest);                                                                                                     \
    return NEXT(int, #name, int, const char *, int, ...)(folder, redirected(path, room), flags, mode);                \
  }

#define AT(name, third, fourth)                                                                                       \
  EXPORT int name(int folder, const char *path, third a, fourth b) {                                                  \
    char room[ROOM];                                                                                                  \
    return NEXT(int, #name, int, const char *, third, fourth)(folder, redirected(path, room), a, b);                  \
  }

// What glibc before 2.33 has in place of stat and its family: a version of the structure comes first.
#define VERSIONED(name)                                                                                               \
  EXPORT int name(int version, const char *path, void *out) {                                                         \
    char room[ROOM];                                                                                                  \
    return NEXT(int, #name, int, const char *, void *)(version, redirected(path, room), out);                         \
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

EXPORT void *opendir(const char *path) {
  char room[ROOM];
  return NEXT(void *, "opendir", const char *)(redirected(path, room));
}

EXPORT int statx(int folder, const char *path, int flags, unsigned mask, void *out) {
  char room[ROOM];
  return NEXT(int, "statx", int, const char *, int, unsigned, void *)(folder, redirected(path, room), flags, mask, out);
}
