/* Memory: GPU memory is an anonymous file of the process that allocated it, and ends with it; a handle names the file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi.h"

#define MAX_REGIONS 256
#define HANDLE_MAGIC 0x4350494441554348ULL

struct region {
    char *base;
    size_t size;
    int device, fd, opened; /* opened: how often this process opened memory of another process; 0 for its own */
    ino_t inode;
    struct allocation *counted;
};
struct handle {
    uint64_t magic, size, inode;
    int32_t owner, fd, device;
};
_Static_assert(sizeof(struct handle) <= sizeof(cudaIpcMemHandle_t), "a handle holds what is needed to find it again");

static struct region regions[MAX_REGIONS];
static struct region locked[MAX_REGIONS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct region *with_base(struct region *table, const void *base)
{
    for (int at = 0; at < MAX_REGIONS; at++)
        if (table[at].base == base)
            return &table[at];
    return NULL;
}

static struct region *around(const char *place)
{
    for (int at = 0; at < MAX_REGIONS; at++)
        if (regions[at].base && place >= regions[at].base && place < regions[at].base + regions[at].size)
            return &regions[at];
    return NULL;
}

static int counts(struct allocation *one)
{
    uint32_t owner = one->owner;
    if (owner && kill((pid_t)owner, 0) != 0 && errno == ESRCH)
        __atomic_compare_exchange_n(&one->owner, &owner, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return one->owner != 0;
}

static uint64_t used_bytes(int device)
{
    uint64_t used = 0;
    struct cudastate *state = twin_state();
    for (int at = 0; at < MAX_ALLOCATIONS; at++)
        if (counts(&state->allocation[at]) && (int)state->allocation[at].device == device)
            used += state->allocation[at].size;
    return used;
}

static struct allocation *count(int device, size_t size)
{
    struct cudastate *state = twin_state();
    for (int at = 0; at < MAX_ALLOCATIONS; at++) {
        uint32_t nobody = 0;
        struct allocation *one = &state->allocation[at];
        if (!counts(one) && __atomic_compare_exchange_n(&one->owner, &nobody, (uint32_t)getpid(), 0, __ATOMIC_SEQ_CST,
                                                        __ATOMIC_SEQ_CST)) {
            one->device = (uint32_t)device;
            one->size = size;
            return one;
        }
    }
    return NULL;
}

static cudaError_t map_region(struct region *into, int fd, size_t size, int device)
{
    struct stat info;
    char *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED || fstat(fd, &info) != 0)
        return cudaErrorMapBufferObjectFailed;
    *into = (struct region){base, size, device, fd, 0, info.st_ino, NULL};
    return cudaSuccess;
}

static cudaError_t allocate(void **pointer, size_t size)
{
    int device = current_device();
    cudaError_t answer = device_answers(device);
    struct region *free = with_base(regions, NULL);
    if (answer != cudaSuccess)
        return answer;
    if (!free || size == 0 || used_bytes(device) + size > twin_state()->device[device].total)
        return size ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
    int fd = memfd_create("twin-gpu-memory", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0 || map_region(free, fd, size, device) != cudaSuccess) {
        if (fd >= 0)
            close(fd);
        return cudaErrorMemoryAllocation;
    }
    free->counted = count(device, size);
    *pointer = free->base;
    return cudaSuccess;
}

static void forget(struct region *region)
{
    munmap(region->base, region->size);
    close(region->fd);
    if (region->counted)
        region->counted->owner = 0;
    *region = (struct region){0};
}

static cudaError_t open_handle(void **pointer, const struct handle *handle)
{
    cudaError_t answer = device_answers(current_device());
    if (answer != cudaSuccess)
        return answer;
    if (handle->magic != HANDLE_MAGIC || twin_state()->refuse_handles)
        return cudaErrorInvalidResourceHandle;
    if (handle->owner == getpid())
        return cudaErrorDeviceUninitialized; /* the vendor's error for a handle that its own process opens */
    if (handle->device != current_device() && twin_state()->no_peer_access)
        return cudaErrorPeerAccessUnsupported;
    for (int at = 0; at < MAX_REGIONS; at++)
        if (regions[at].opened && regions[at].inode == handle->inode) {
            regions[at].opened++;
            *pointer = regions[at].base;
            return cudaSuccess;
        }
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", handle->owner, handle->fd); /* does not exist after the end of its process */
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct region *free = with_base(regions, NULL);
    if (fd < 0 || !free || fstat(fd, &info) != 0 || info.st_ino != handle->inode
        || map_region(free, fd, handle->size, handle->device) != cudaSuccess) {
        if (fd >= 0)
            close(fd);
        return cudaErrorInvalidResourceHandle;
    }
    free->opened = 1;
    *pointer = free->base;
    return cudaSuccess;
}

/* A pointer outside of all regions is host memory; a range that begins in a region must end in it, and its GPU must work. */
static cudaError_t may_touch(const char *place, size_t size)
{
    struct region *region = around(place);
    if (!region)
        return cudaSuccess;
    if (place + size > region->base + region->size)
        return cudaErrorInvalidValue;
    return device_answers(region->device);
}

static cudaError_t copy(char *to, const char *from, size_t size, enum cudaMemcpyKind kind)
{
    if ((int)kind < cudaMemcpyHostToHost || (int)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t answer = may_touch(to, size);
    if (answer == cudaSuccess)
        answer = may_touch(from, size);
    if (answer != cudaSuccess)
        return answer;
    memcpy(to, from, size);
    if (around(to) && size && twin_state()->flip_copy && --twin_state()->flip_copy == 0)
        to[size / 2] ^= 4;
    return cudaSuccess;
}

#define ALONE(doing)                     \
    pthread_mutex_lock(&mutex);          \
    cudaError_t answer = (doing);        \
    pthread_mutex_unlock(&mutex);        \
    return returned(answer)

API cudaError_t cudaMalloc(void **pointer, size_t size) { ALONE(allocate(pointer, size)); }

static cudaError_t release(void *pointer, int opened)
{
    struct region *region = pointer ? with_base(regions, pointer) : NULL;
    if (!region || (region->opened > 0) != opened)
        return cudaErrorInvalidValue;
    if (region->opened > 1)
        region->opened--;
    else
        forget(region);
    return cudaSuccess;
}

API cudaError_t cudaFree(void *pointer) { ALONE(pointer ? release(pointer, 0) : cudaSuccess); }

API cudaError_t cudaIpcCloseMemHandle(void *pointer) { ALONE(release(pointer, 1)); }

static cudaError_t reset(void)
{
    for (int at = 0; at < MAX_REGIONS; at++)
        if (regions[at].base && regions[at].device == current_device())
            forget(&regions[at]);
    return device_answers(current_device());
}

API cudaError_t cudaDeviceReset(void) { ALONE(reset()); }

static cudaError_t export(cudaIpcMemHandle_t *handle, void *pointer)
{
    struct region *region = pointer ? with_base(regions, pointer) : NULL;
    if (!region || region->opened)
        return cudaErrorInvalidValue;
    struct handle made = {HANDLE_MAGIC, region->size, region->inode, getpid(), region->fd, region->device};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &made, sizeof made);
    return device_answers(region->device);
}

API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer) { ALONE(export(handle, pointer)); }

API cudaError_t cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t handle, unsigned int flags)
{
    struct handle given;
    memcpy(&given, &handle, sizeof given);
    ALONE(flags == cudaIpcMemLazyEnablePeerAccess ? open_handle(pointer, &given) : cudaErrorInvalidValue);
}

API cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
    ALONE(copy(to, from, size, kind));
}

API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    (void)stream;
    ALONE(copy(to, from, size, kind));
}

API cudaError_t cudaMemGetInfo(size_t *unused, size_t *total)
{
    int device = current_device();
    cudaError_t answer = device_answers(device);
    if (answer == cudaSuccess) {
        *total = twin_state()->device[device].total;
        uint64_t used = used_bytes(device);
        *unused = used < *total ? *total - used : 0;
    }
    return returned(answer);
}

static cudaError_t lock_pages(char *base, size_t size)
{
    struct region *free = with_base(locked, NULL);
    cudaError_t answer = device_answers(current_device());
    if (answer != cudaSuccess)
        return answer;
    if (!size || !free || msync((void *)((uintptr_t)base & ~4095UL), size, MS_ASYNC) != 0)
        return cudaErrorInvalidValue; /* nothing is mapped there */
    if (with_base(locked, base))
        return cudaErrorHostMemoryAlreadyRegistered;
    free->base = base;
    free->size = size;
    __atomic_add_fetch(&twin_state()->page_locked, size, __ATOMIC_SEQ_CST);
    return cudaSuccess;
}

static cudaError_t unlock_pages(void *base)
{
    struct region *region = base ? with_base(locked, base) : NULL;
    if (!region)
        return cudaErrorHostMemoryNotRegistered;
    __atomic_sub_fetch(&twin_state()->page_locked, region->size, __ATOMIC_SEQ_CST);
    *region = (struct region){0};
    return cudaSuccess;
}

API cudaError_t cudaHostRegister(void *pointer, size_t size, unsigned int flags)
{
    (void)flags;
    ALONE(lock_pages(pointer, size));
}

API cudaError_t cudaHostUnregister(void *pointer) { ALONE(unlock_pages(pointer)); }
