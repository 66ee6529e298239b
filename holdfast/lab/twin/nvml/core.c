/* The library itself: finds its state file, starts, stops, delays, hangs, and names errors. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi.h"

#define HANG_POLL_MICROSECONDS 5000

static struct nvmlstate *mapped;
static int users;

/* nvml.state is next to this library, so that a client needs no environment variable. */
static result map_state(void)
{
    Dl_info self;
    char path[4096];
    if (mapped)
        return OK;
    if (!dladdr((void *)map_state, &self) || strlen(self.dli_fname) + 16 > sizeof path)
        return DRIVER_NOT_LOADED;
    strcpy(path, self.dli_fname);
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, "nvml.state");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0 || info.st_size < (off_t)sizeof(struct nvmlstate)) {
        if (fd >= 0)
            close(fd);
        return DRIVER_NOT_LOADED;
    }
    struct nvmlstate *seen = mmap(NULL, sizeof *seen, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (seen == MAP_FAILED)
        return DRIVER_NOT_LOADED;
    if (seen->magic != STATE_MAGIC || seen->version != STATE_VERSION) {
        munmap(seen, sizeof *seen);
        return LIB_RM_VERSION_MISMATCH;
    }
    mapped = seen;
    return OK;
}

struct nvmlstate *twin_state(void) { return mapped; }

static void wait_as_configured(void)
{
    const volatile struct nvmlstate *now = mapped;
    if (now->answer_delay_microseconds)
        usleep(now->answer_delay_microseconds);
    while (now->hang)
        usleep(HANG_POLL_MICROSECONDS);
}

result library_answers(void)
{
    if (!users)
        return UNINITIALIZED;
    wait_as_configured();
    return OK;
}

result gpu_answers(device handle, int capability, struct gpu **gpu)
{
    result answer = library_answers();
    if (answer != OK)
        return answer;
    size_t number = (size_t)handle; /* a handle is the index plus one, so that NULL is invalid */
    if (number == 0 || number > mapped->gpu_count)
        return INVALID_ARGUMENT;
    *gpu = &mapped->gpu[number - 1];
    const volatile struct gpu *now = *gpu;
    while (now->hang)
        usleep(HANG_POLL_MICROSECONDS);
    if ((*gpu)->lost)
        return GPU_IS_LOST;
    if ((*gpu)->error)
        return (result)(*gpu)->error;
    return ((*gpu)->unsupported >> capability) & 1 ? NOT_SUPPORTED : OK;
}

API result nvmlInitWithFlags(uint flags)
{
    (void)flags;
    result answer = map_state();
    if (answer != OK)
        return answer;
    __atomic_add_fetch(&users, 1, __ATOMIC_SEQ_CST);
    wait_as_configured();
    return OK;
}

API result nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
API result nvmlInit(void) { return nvmlInitWithFlags(0); }

API result nvmlShutdown(void)
{
    if (!users)
        return UNINITIALIZED;
    __atomic_sub_fetch(&users, 1, __ATOMIC_SEQ_CST);
    return OK;
}

API const char *nvmlErrorString(result code)
{
    static const char *const names[] = {
        "Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions",
        "Already Initialized", "Not Found", "Insufficient Size", "Insufficient External Power",
        "Driver Not Loaded", "Timeout", "Interrupt Request Issue", "NVML Shared Library Not Found",
        "Function Not Found", "Corrupted infoROM", "GPU is lost", "GPU requires reset",
        "The operating system has blocked the request", "Driver/library version mismatch", "In use by another client",
        "Insufficient Memory", "No data", "ECC not supported on vGPU", "Insufficient resources",
        "Frequency not supported", "Argument version mismatch", "Deprecated", "Not ready", "GPU not found",
        "Invalid state", "Reset type not supported"};
    if (code < 0 || code >= (int)(sizeof names / sizeof *names))
        return "Unknown Error";
    return names[code];
}

API result nvmlSystemGetDriverVersion(char *text, uint size)
{
    result answer = library_answers();
    return answer != OK ? answer : copy_text(text, size, mapped->driver_version);
}

API result nvmlSystemGetNVMLVersion(char *text, uint size)
{
    result answer = library_answers();
    return answer != OK ? answer : copy_text(text, size, mapped->nvml_version);
}

API result nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    result answer = library_answers();
    if (answer == OK)
        *version = (int)mapped->cuda_version;
    return answer;
}

API result nvmlSystemGetCudaDriverVersion(int *version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

API result nvmlSystemGetProcessName(uint pid, char *text, uint size)
{
    result answer = library_answers();
    if (answer != OK)
        return answer;
    for (uint i = 0; i < mapped->gpu_count; i++)
        for (uint k = 0; k < mapped->gpu[i].process_count; k++)
            if (mapped->gpu[i].process[k].pid == pid)
                return copy_text(text, size, mapped->gpu[i].process[k].name);
    return NOT_FOUND;
}
