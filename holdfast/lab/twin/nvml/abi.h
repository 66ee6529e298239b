/* The parts of NVML's binary interface that the twin implements: numbers and record layouts only. */
#ifndef HOLDFAST_TWIN_ABI_H
#define HOLDFAST_TWIN_ABI_H

#include <stdio.h>
#include <string.h>

#include "state.h"

typedef int result;
typedef void *device;
typedef unsigned int uint;
typedef unsigned long long ulonglong;

enum {
    OK = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9,
    GPU_IS_LOST = 15,
    LIB_RM_VERSION_MISMATCH = 18
};

enum { VALUE_UINT = 1, VALUE_ULONGLONG = 3, VALUE_INT = 5 };

struct pci_info {
    char bus_id_legacy[16];
    uint domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};
struct pci_info_ext {
    uint version, domain, bus, device, device_id, subsystem_id, base_class, sub_class;
    char bus_id[32];
};
struct utilization { uint gpu, memory; };
struct memory { ulonglong total, free, used; };
struct memory_v2 { uint version; ulonglong total, reserved, free, used; };
struct bar1 { ulonglong total, free, used; };
struct process_v1 { uint pid; ulonglong used; };
struct process_v2 { uint pid; ulonglong used; uint gpu_instance, compute_instance; };
struct temperature_v1 { uint version; int sensor; int celsius; };
struct margin_v1 { uint version; int celsius; };
struct ecc_counts { ulonglong l1, l2, dram, register_file; };
struct sram_status_v1 {
    uint version;
    ulonglong aggregate_parity, aggregate_secded, aggregate_corrected;
    ulonglong volatile_parity, volatile_secded, volatile_corrected;
    ulonglong bucket_l2, bucket_sm, bucket_pcie, bucket_mcu, bucket_other;
    uint threshold_exceeded;
};
struct remap_histogram { uint max, high, partial, low, none; };
struct fabric_info { unsigned char cluster[16]; int status; uint clique; unsigned char state; };
struct fabric_info_v2 { uint version; unsigned char cluster[16]; int status; uint clique; unsigned char state; uint health; };
struct fabric_info_v3 {
    uint version; unsigned char cluster[16]; int status; uint clique; unsigned char state; uint health;
    unsigned char summary;
};
union value { double real; int si; uint ui; unsigned long ul; ulonglong ull; long long sll; unsigned short us; };
struct field_value { uint field, scope; long long timestamp, latency; int type; int result; union value value; };

/* core.c: every call goes through one of these two functions, so delay, hang and loss are in one place. */
result library_answers(void);
result gpu_answers(device handle, int capability, struct gpu **gpu);
struct nvmlstate *twin_state(void);

#define API __attribute__((visibility("default")))
#define ASK(capability)                                        \
    struct gpu *g;                                             \
    result answer = gpu_answers(handle, capability, &g);       \
    if (answer != OK)                                          \
        return answer
#define REQUIRE(condition)                                     \
    if (!(condition))                                          \
        return INVALID_ARGUMENT

static inline result copy_text(char *to, uint size, const char *from)
{
    if (strlen(from) + 1 > size)
        return INSUFFICIENT_SIZE;
    strcpy(to, from);
    return OK;
}

#endif
