/* Connections of a GPU: PCIe, NVLink and the NVLink fabric. */
#include "abi.h"

enum { REPLAY, RECOVERY, CRC_FLIT, CRC_DATA, ECC_DATA };
enum { REMOTE_GPU, REMOTE_SWITCH = 2 };

#define NUMBER(function, field, capability)                     \
    API result function(device handle, uint *number)            \
    {                                                           \
        ASK(capability);                                        \
        *number = g->field;                                     \
        return OK;                                              \
    }

NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, pcie_generation, CAN_PCIE_LINK)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, pcie_width, CAN_PCIE_LINK)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, pcie_max_generation, CAN_PCIE_LINK)
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, pcie_max_generation, CAN_PCIE_LINK)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, pcie_max_width, CAN_PCIE_LINK)
NUMBER(nvmlDeviceGetPcieReplayCounter, pcie_replays, CAN_PCIE_REPLAY)

API result nvmlDeviceGetPcieThroughput(device handle, int direction, uint *kilobytes_per_second)
{
    ASK(CAN_PCIE_TRAFFIC);
    *kilobytes_per_second = direction == 0 ? g->pcie_sent_kilobytes_per_second : g->pcie_received_kilobytes_per_second;
    return OK;
}

#define ASK_LINK()                                              \
    ASK(CAN_NVLINK);                                            \
    REQUIRE(number < g->link_count);                            \
    const struct link *link = &g->link[number]

API result nvmlDeviceGetNvLinkState(device handle, uint number, int *active)
{
    ASK_LINK();
    *active = (int)link->active;
    return OK;
}

API result nvmlDeviceGetNvLinkVersion(device handle, uint number, uint *version)
{
    ASK_LINK();
    *version = link->version;
    return OK;
}

API result nvmlDeviceGetNvLinkRemoteDeviceType(device handle, uint number, int *kind)
{
    ASK_LINK();
    *kind = link->remote_is_switch ? REMOTE_SWITCH : REMOTE_GPU;
    return OK;
}

API result nvmlDeviceGetNvLinkErrorCounter(device handle, uint number, int which, ulonglong *value)
{
    ASK_LINK();
    const ulonglong errors[] = {link->replay_errors, link->recovery_errors, link->crc_flit_errors, link->crc_data_errors,
                                link->ecc_data_errors};
    REQUIRE(which >= REPLAY && which <= ECC_DATA);
    *value = errors[which];
    return OK;
}

API result nvmlDeviceGetGpuFabricInfo(device handle, struct fabric_info *info)
{
    ASK(CAN_FABRIC);
    memcpy(info->cluster, g->fabric_cluster, sizeof info->cluster);
    info->status = (int)g->fabric_status;
    info->clique = g->fabric_clique;
    info->state = (unsigned char)g->fabric_state;
    return OK;
}

API result nvmlDeviceGetGpuFabricInfoV(device handle, struct fabric_info_v3 *info)
{
    ASK(CAN_FABRIC);
    uint version = info->version >> 24;
    REQUIRE(version == 2 || version == 3);
    memcpy(info->cluster, g->fabric_cluster, sizeof info->cluster);
    info->status = (int)g->fabric_status;
    info->clique = g->fabric_clique;
    info->state = (unsigned char)g->fabric_state;
    info->health = g->fabric_health_mask;
    if (version == 3)
        info->summary = (unsigned char)g->fabric_health_summary;
    return OK;
}
