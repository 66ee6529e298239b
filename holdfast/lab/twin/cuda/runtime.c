/* Devices and errors: finds the state file, selects a device, names errors. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi.h"

static struct cudastate *mapped;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread int device;
static __thread cudaError_t last;

/* cuda.state is next to this library, so that a client needs no environment variable. */
static void map_state(void)
{
    Dl_info self;
    char path[4096];
    if (!dladdr((void *)map_state, &self) || strlen(self.dli_fname) + 16 > sizeof path)
        return;
    strcpy(path, self.dli_fname);
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, "cuda.state");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat info;
    if (fd < 0)
        return;
    if (fstat(fd, &info) == 0 && info.st_size >= (off_t)sizeof(struct cudastate)) {
        struct cudastate *seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (seen != MAP_FAILED && seen->magic == STATE_MAGIC && seen->version == STATE_VERSION)
            mapped = seen;
    }
    close(fd);
}

struct cudastate *twin_state(void)
{
    pthread_once(&once, map_state);
    return mapped;
}

int current_device(void) { return device; }

cudaError_t returned(cudaError_t answer)
{
    if (answer != cudaSuccess)
        last = answer;
    return answer;
}

cudaError_t device_answers(int number)
{
    const volatile struct cudastate *now = twin_state();
    if (!now)
        return cudaErrorInitializationError;
    if (number < 0 || number >= (int)now->device_count)
        return cudaErrorInvalidDevice;
    return (cudaError_t)now->device[number].fault;
}

API cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 0;
    if (!twin_state())
        return returned(cudaErrorNoDevice);
    *count = (int)twin_state()->device_count;
    return cudaSuccess;
}

API cudaError_t cudaSetDevice(int number)
{
    cudaError_t answer = device_answers(number);
    if (answer == cudaSuccess)
        device = number;
    return returned(answer);
}

API cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int number)
{
    if (!twin_state() || number < 0 || number >= (int)twin_state()->device_count)
        return returned(cudaErrorInvalidDevice);
    const char *bus_id = twin_state()->device[number].bus_id;
    if ((int)strlen(bus_id) + 1 > length)
        return returned(cudaErrorInvalidValue);
    strcpy(text, bus_id);
    return cudaSuccess;
}

API cudaError_t cudaDeviceGetByPCIBusId(int *number, const char *text)
{
    for (int at = 0; twin_state() && at < (int)twin_state()->device_count; at++)
        if (strcasecmp(twin_state()->device[at].bus_id, text) == 0) {
            *number = at;
            return cudaSuccess;
        }
    return returned(cudaErrorInvalidDevice);
}

API cudaError_t cudaDeviceCanAccessPeer(int *can, int number, int peer)
{
    if (!twin_state() || number < 0 || peer < 0 || number >= (int)twin_state()->device_count
        || peer >= (int)twin_state()->device_count)
        return returned(cudaErrorInvalidDevice);
    *can = number != peer && !twin_state()->no_peer_access;
    return cudaSuccess;
}

API cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return returned(device_answers(device));
}

API cudaError_t cudaGetLastError(void)
{
    cudaError_t answer = last;
    last = cudaSuccess;
    return answer;
}

API const char *cudaGetErrorString(cudaError_t code)
{
    switch (code) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInitializationError: return "initialization error";
    case cudaErrorInvalidMemcpyDirection: return "invalid copy direction for memcpy";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorDeviceUninitialized: return "invalid device context";
    case cudaErrorMapBufferObjectFailed: return "mapping of buffer object failed";
    case cudaErrorPeerAccessUnsupported: return "peer access is not supported between these two devices";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorHostMemoryAlreadyRegistered: return "part or all of the requested memory range is already mapped";
    case cudaErrorHostMemoryNotRegistered: return "pointer does not correspond to a registered memory region";
    default: return code == cudaErrorUnknown ? "unknown error" : "unrecognized error code";
    }
}
