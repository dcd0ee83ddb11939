// The first call of a virtual library on disk comes here: start a Python interpreter in the process, or join the one
// that is there, and let it fill the library's slots. It stays loaded as long as the process lives.
//
// No header of the C library is included and no version of a symbol is asked for, so that any glibc will do.

#include <stddef.h>
#include <stdint.h>

typedef int Flag;
typedef struct { int words[10]; } Mutex; // pthread_mutex_t of x86-64: the fifth word is its kind, 1 is recursive

// What a library says about itself (hipgraph_cb/virtual/shared_object.py writes it).
typedef struct {
  void **slots;
  uint64_t count;
  char *starters;  // for each slot the native code that leads to here, ENTRY_SIZE bytes apart
  char *fallbacks; // and the code that answers by itself
  const char *libpython;
  const char *program;
  const char *script;
  uint64_t names;
} Library;

enum { RTLD_NOW = 2, RTLD_NOLOAD = 4, RTLD_GLOBAL = 0x100, SIGINT = 2, ENTRY_SIZE = 16, MOST_LIBRARIES = 32 };

void *dlopen(const char *, int);
char *dlerror(void);
void *dlsym(void *, const char *);
int dl_iterate_phdr(int (*)(void *, size_t, void *), void *);
int sigaction(int, const void *, void *);
int pthread_mutex_lock(Mutex *);
int pthread_mutex_unlock(Mutex *);
int __cxa_atexit(void (*)(void *), void *, void *);
int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
long write(int, const void *, size_t);
size_t strlen(const char *);
char *strstr(const char *, const char *);

static Mutex starting = {{0, 0, 0, 0, 1}};
static void *python; // the handle that its functions are looked for in; NULL is the program and its libraries
static Flag is_ours; // this process had no interpreter
static Library *to_restore[MOST_LIBRARIES];
static int restore_count;

#define PYTHON(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(python, name))

static void complain(const char *text, const char *detail) {
  const char *parts[] = {"hipgraph_cb: the virtual GPU cannot start: ", text, detail, "\n"};
  for (int i = 0; i < 4; i++)
    if (write(2, parts[i], strlen(parts[i])) < 0) return;
}

// -- finding an interpreter ------------------------------------------------------------------------------------------

static int is_libpython(void *object, size_t size, void *found) {
  const char *name = ((const char **)object)[1]; // of a struct dl_phdr_info: an address, then a name
  (void)size;
  if (name == NULL || strstr(name, "/libpython3") == NULL) return 0;
  *(const char **)found = name;
  return 1;
}

// A library with an interpreter may have been opened for its opener alone; modules look for its symbols everywhere.
static void *loaded_libpython(void) {
  const char *name = NULL;
  dl_iterate_phdr(is_libpython, &name);
  return name == NULL ? NULL : dlopen(name, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

static Flag find_python(const Library *library) {
  if (dlsym(NULL, "Py_IsInitialized") != NULL) return 1;
  python = loaded_libpython();
  if (python == NULL) python = dlopen(library->libpython, RTLD_NOW | RTLD_GLOBAL);
  if (python == NULL) complain("its Python cannot be loaded: ", dlerror());
  return python != NULL;
}

// -- starting one ----------------------------------------------------------------------------------------------------

static void set_flag(const char *name) {
  Flag *flag = dlsym(python, name);
  if (flag != NULL) *flag = 1;
}

// Python 3.14 and newer.
static void start_by_config(const char *program) {
  void *config = PYTHON(void *, "PyInitConfig_Create", void)();
  int (*set)(void *, const char *, int64_t) = dlsym(python, "PyInitConfig_SetInt");
  set(config, "isolated", 1);
  set(config, "use_environment", 0);
  set(config, "site_import", 0);
  set(config, "install_signal_handlers", 0);
  set(config, "configure_locale", 0);
  set(config, "utf8_mode", 1);
  PYTHON(int, "PyInitConfig_SetStr", void *, const char *, const char *)(config, "program_name", program);
  PYTHON(int, "Py_InitializeFromInitConfig", void *)(config);
  PYTHON(void, "PyInitConfig_Free", void *)(config);
}

// The program's settings for its own Python, its signal handlers and its locale are left alone.
static void start_by_flags(const char *program) {
  static wchar_t name[4096];
  const char *flags[] = {"Py_IgnoreEnvironmentFlag", "Py_NoSiteFlag", "Py_NoUserSiteDirectory", "Py_UTF8Mode"};
  for (int i = 0; i < 4; i++) set_flag(flags[i]);
  for (int i = 0; i < 4095 && program[i]; i++) { // a byte beyond ASCII as Python escapes it
    unsigned char byte = program[i];
    name[i] = byte < 0x80 ? byte : 0xDC00 + byte;
  }
  PYTHON(void, "Py_SetProgramName", const wchar_t *)(name);
  PYTHON(void, "Py_InitializeEx", int)(0);
}

static void start_python(const Library *library) {
  if (dlsym(python, "PyInitConfig_Create") != NULL) start_by_config(library->program);
  else start_by_flags(library->program);
  is_ours = 1;
}

static void run_script(const char *script) {
  void *kind, *value, *traceback;
  PYTHON(void, "PyErr_Fetch", void **, void **, void **)(&kind, &value, &traceback);
  PYTHON(int, "PyRun_SimpleString", const char *)(script);
  PYTHON(void, "PyErr_Restore", void *, void *, void *)(kind, value, traceback);
}

static void fill(Library *library) {
  if (!find_python(library)) return;
  if (!PYTHON(int, "Py_IsInitialized", void)()) {
    char action[256]; // a struct sigaction: Python's module of signals takes Ctrl-C over, which is the program's
    sigaction(SIGINT, NULL, action);
    start_python(library);
    if (!PYTHON(int, "Py_IsInitialized", void)()) return;
    run_script(library->script);
    sigaction(SIGINT, action, NULL);
    PYTHON(void *, "PyEval_SaveThread", void)();
  } else {
    int state = PYTHON(int, "PyGILState_Ensure", void)();
    run_script(library->script);
    PYTHON(void, "PyGILState_Release", int)(state);
  }
}

static void restore(Library *library) {
  for (uint64_t i = 0; i < library->count; i++) library->slots[i] = library->fallbacks + ENTRY_SIZE * i;
}

// Nobody waits for `starting` with the interpreter's own lock in hand: the thread that fills needs both.
static void *release_interpreter(void) {
  int (*is_held)(void) = dlsym(python, "PyGILState_Check");
  if (is_held == NULL || !PYTHON(int, "Py_IsInitialized", void)() || !is_held()) return NULL;
  return PYTHON(void *, "PyEval_SaveThread", void)();
}

__attribute__((used)) static void start(Library *library, uint64_t index) {
  void *thread = release_interpreter();
  pthread_mutex_lock(&starting);
  void *starter = library->starters + ENTRY_SIZE * index;
  if (library->slots[index] == starter) fill(library);
  if (library->slots[index] == starter) restore(library);
  pthread_mutex_unlock(&starting);
  if (thread != NULL) PYTHON(void, "PyEval_RestoreThread", void *)(thread);
}

// A starter has pushed its index and set %r11 to its library. The call goes on, with all of its arguments, where the
// slot points now.
__asm__(".globl hipgraph_cb_first_call\n.type hipgraph_cb_first_call, @function\nhipgraph_cb_first_call:\n"
        "push %rbp\nmov %rsp, %rbp\n"
        "push %rax\npush %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %r11\n"
        "sub $136, %rsp\n"
        "movaps %xmm0, (%rsp)\nmovaps %xmm1, 16(%rsp)\nmovaps %xmm2, 32(%rsp)\nmovaps %xmm3, 48(%rsp)\n"
        "movaps %xmm4, 64(%rsp)\nmovaps %xmm5, 80(%rsp)\nmovaps %xmm6, 96(%rsp)\nmovaps %xmm7, 112(%rsp)\n"
        "mov %r11, %rdi\nmov 8(%rbp), %rsi\ncall start\n"
        "movaps (%rsp), %xmm0\nmovaps 16(%rsp), %xmm1\nmovaps 32(%rsp), %xmm2\nmovaps 48(%rsp), %xmm3\n"
        "movaps 64(%rsp), %xmm4\nmovaps 80(%rsp), %xmm5\nmovaps 96(%rsp), %xmm6\nmovaps 112(%rsp), %xmm7\n"
        "add $136, %rsp\n"
        "pop %r11\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\npop %rax\n"
        "pop %rbp\npop %r10\nmov (%r11), %r11\njmp *(%r11, %r10, 8)\n"
        ".size hipgraph_cb_first_call, .-hipgraph_cb_first_call\n");

// -- the end, and forks ----------------------------------------------------------------------------------------------

// The script calls this for each library whose slots it fills.
__attribute__((visibility("default"))) void hipgraph_cb_restore_after_fork(Library *library) {
  if (restore_count < MOST_LIBRARIES) to_restore[restore_count++] = library;
}

// No thread of the interpreter exists in a forked child, and its lock may be held by one: native code answers there.
// A Python program forks through Python, which knows what to do.
static void after_fork(void) {
  if (!is_ours) return;
  for (int i = 0; i < restore_count; i++) restore(to_restore[i]);
}

// Runs behind the destructors of the program, since it was registered before them. A Python program has done this.
static void at_exit(void *unused) {
  (void)unused;
  if (!is_ours) return;
  int state = PYTHON(int, "PyGILState_Ensure", void)();
  PYTHON(int, "PyRun_SimpleString", const char *)("__import__('atexit')._run_exitfuncs()");
  PYTHON(void, "PyGILState_Release", int)(state);
}

__attribute__((constructor)) static void when_loaded(void) {
  __cxa_atexit(at_exit, NULL, NULL);
  __register_atfork(NULL, NULL, after_fork, NULL);
}
