/* Identity of GPUs: handles, names, numbers and PCI addresses. */
#define _GNU_SOURCE
#include "abi.h"

static result found(uint index, device *handle)
{
    if (twin_state()->gpu[index].lost)
        return GPU_IS_LOST;
    *handle = (device)(size_t)(index + 1);
    return OK;
}

static void bus_id(const struct gpu *g, char *text, size_t size, int domain_digits)
{
    snprintf(text, size, "%0*X:%02X:%02X.0", domain_digits, g->pci_domain, g->pci_bus, g->pci_device);
}

API result nvmlDeviceGetCount_v2(uint *count)
{
    result answer = library_answers();
    if (answer == OK)
        *count = twin_state()->gpu_count;
    return answer;
}

API result nvmlDeviceGetCount(uint *count) { return nvmlDeviceGetCount_v2(count); }

API result nvmlDeviceGetHandleByIndex_v2(uint index, device *handle)
{
    result answer = library_answers();
    if (answer != OK)
        return answer;
    REQUIRE(index < twin_state()->gpu_count);
    return found(index, handle);
}

API result nvmlDeviceGetHandleByIndex(uint index, device *handle)
{
    return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

API result nvmlDeviceGetHandleByUUID(const char *uuid, device *handle)
{
    result answer = library_answers();
    if (answer != OK)
        return answer;
    for (uint i = 0; i < twin_state()->gpu_count; i++)
        if (strcmp(twin_state()->gpu[i].uuid, uuid) == 0)
            return found(i, handle);
    return NOT_FOUND;
}

API result nvmlDeviceGetHandleBySerial(const char *serial, device *handle)
{
    result answer = library_answers();
    if (answer != OK)
        return answer;
    for (uint i = 0; i < twin_state()->gpu_count; i++)
        if (strcmp(twin_state()->gpu[i].serial, serial) == 0)
            return found(i, handle);
    return NOT_FOUND;
}

API result nvmlDeviceGetHandleByPciBusId_v2(const char *text, device *handle)
{
    result answer = library_answers();
    if (answer != OK)
        return answer;
    uint domain = 0, bus, slot, function = 0;
    if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
        domain = 0;
        REQUIRE(sscanf(text, "%x:%x.%x", &bus, &slot, &function) >= 2);
    }
    for (uint i = 0; i < twin_state()->gpu_count; i++) {
        const struct gpu *g = &twin_state()->gpu[i];
        if (g->pci_domain == domain && g->pci_bus == bus && g->pci_device == slot)
            return found(i, handle);
    }
    return NOT_FOUND;
}

API result nvmlDeviceGetHandleByPciBusId(const char *text, device *handle)
{
    return nvmlDeviceGetHandleByPciBusId_v2(text, handle);
}

API result nvmlDeviceGetPciInfo_v3(device handle, struct pci_info *pci)
{
    ASK(CAN_IDENTITY);
    memset(pci, 0, sizeof *pci);
    pci->domain = g->pci_domain;
    pci->bus = g->pci_bus;
    pci->device = g->pci_device;
    pci->device_id = g->pci_device_id;
    pci->subsystem_id = g->pci_subsystem_id;
    bus_id(g, pci->bus_id, sizeof pci->bus_id, 8);
    bus_id(g, pci->bus_id_legacy, sizeof pci->bus_id_legacy, 4);
    return OK;
}

API result nvmlDeviceGetPciInfoExt(device handle, struct pci_info_ext *pci)
{
    ASK(CAN_IDENTITY);
    pci->domain = g->pci_domain;
    pci->bus = g->pci_bus;
    pci->device = g->pci_device;
    pci->device_id = g->pci_device_id;
    pci->subsystem_id = g->pci_subsystem_id;
    pci->base_class = 0x03;
    pci->sub_class = 0x02;
    bus_id(g, pci->bus_id, sizeof pci->bus_id, 8);
    return OK;
}

#define TEXT(function, field, capability)                       \
    API result function(device handle, char *text, uint size)   \
    {                                                           \
        ASK(capability);                                        \
        return copy_text(text, size, g->field);                 \
    }
#define NUMBER(function, field, kind, capability)               \
    API result function(device handle, kind *number)            \
    {                                                           \
        ASK(capability);                                        \
        *number = (kind)g->field;                               \
        return OK;                                              \
    }

TEXT(nvmlDeviceGetName, name, CAN_IDENTITY)
TEXT(nvmlDeviceGetUUID, uuid, CAN_IDENTITY)
TEXT(nvmlDeviceGetVbiosVersion, vbios, CAN_IDENTITY)
TEXT(nvmlDeviceGetSerial, serial, CAN_SERIAL)
TEXT(nvmlDeviceGetBoardPartNumber, board_part, CAN_SERIAL)
TEXT(nvmlDeviceGetInforomImageVersion, inforom, CAN_IDENTITY)
NUMBER(nvmlDeviceGetMinorNumber, minor_number, uint, CAN_IDENTITY)
NUMBER(nvmlDeviceGetBrand, brand, int, CAN_IDENTITY)
NUMBER(nvmlDeviceGetArchitecture, architecture, uint, CAN_IDENTITY)
NUMBER(nvmlDeviceGetNumGpuCores, cores, uint, CAN_IDENTITY)
NUMBER(nvmlDeviceGetModuleId, module_id, uint, CAN_IDENTITY)
NUMBER(nvmlDeviceGetNumaNodeId, numa_node, uint, CAN_IDENTITY)
NUMBER(nvmlDeviceGetPersistenceMode, persistence, int, CAN_IDENTITY)
NUMBER(nvmlDeviceGetComputeMode, compute_mode, int, CAN_IDENTITY)

API result nvmlDeviceGetIndex(device handle, uint *index)
{
    ASK(CAN_IDENTITY);
    *index = (uint)(g - twin_state()->gpu);
    return OK;
}

API result nvmlDeviceGetCudaComputeCapability(device handle, int *major, int *minor)
{
    ASK(CAN_IDENTITY);
    *major = (int)g->cuda_major;
    *minor = (int)g->cuda_minor;
    return OK;
}

API result nvmlDeviceGetMigMode(device handle, uint *current, uint *pending)
{
    ASK(CAN_MIG);
    *current = g->mig_mode;
    *pending = g->mig_pending;
    return OK;
}

API result nvmlDeviceIsMigDeviceHandle(device handle, uint *is_mig)
{
    ASK(CAN_IDENTITY);
    *is_mig = 0;
    return OK;
}
