/* nvmlDeviceGetFieldValues: many values by number in one call. Numbers are NVML's field ids. */
#include <time.h>

#include "abi.h"

enum { DRAM = 2, SRAM = 7 };

static result supported(const struct gpu *g, int capability)
{
    return (g->unsupported >> capability) & 1 ? NOT_SUPPORTED : OK;
}

static result as_uint(struct field_value *v, const struct gpu *g, int capability, uint number)
{
    v->type = VALUE_UINT;
    v->value.ui = number;
    return supported(g, capability);
}

static result as_int(struct field_value *v, const struct gpu *g, int capability, int number)
{
    v->type = VALUE_INT;
    v->value.si = number;
    return supported(g, capability);
}

static result as_ulonglong(struct field_value *v, const struct gpu *g, int capability, ulonglong number)
{
    v->type = VALUE_ULONGLONG;
    v->value.ull = number;
    return supported(g, capability);
}

static ulonglong sum(const struct ecc *ecc)
{
    ulonglong all = 0;
    for (int i = 0; i <= SRAM; i++)
        all += ecc->count[i];
    return all;
}

static result memory_field(const struct gpu *g, struct field_value *v)
{
    switch (v->field) {
    case 1: return as_uint(v, g, CAN_ECC_MODE, g->ecc_current);
    case 2: return as_uint(v, g, CAN_ECC_MODE, g->ecc_pending);
    case 3: return as_ulonglong(v, g, CAN_ECC_COUNTS, sum(&g->volatile_corrected));
    case 4: return as_ulonglong(v, g, CAN_ECC_COUNTS, sum(&g->volatile_uncorrected));
    case 5: return as_ulonglong(v, g, CAN_ECC_COUNTS, sum(&g->aggregate_corrected));
    case 6: return as_ulonglong(v, g, CAN_ECC_COUNTS, sum(&g->aggregate_uncorrected));
    case 11: return as_ulonglong(v, g, CAN_ECC_COUNTS, g->volatile_corrected.count[DRAM]);
    case 12: return as_ulonglong(v, g, CAN_ECC_COUNTS, g->volatile_uncorrected.count[DRAM]);
    case 22: return as_ulonglong(v, g, CAN_ECC_COUNTS, g->aggregate_corrected.count[DRAM]);
    case 23: return as_ulonglong(v, g, CAN_ECC_COUNTS, g->aggregate_uncorrected.count[DRAM]);
    case 29: return as_uint(v, g, CAN_RETIRED_PAGES, g->retired_single_bit);
    case 30: return as_uint(v, g, CAN_RETIRED_PAGES, g->retired_double_bit);
    case 31: return as_uint(v, g, CAN_RETIRED_PAGES, g->retired_pending);
    case 142: return as_uint(v, g, CAN_REMAPPED_ROWS, g->remapped_corrected);
    case 143: return as_uint(v, g, CAN_REMAPPED_ROWS, g->remapped_uncorrected);
    case 144: return as_uint(v, g, CAN_REMAPPED_ROWS, g->remap_pending);
    case 145: return as_uint(v, g, CAN_REMAPPED_ROWS, g->remap_failure);
    default: return NOT_SUPPORTED;
    }
}

static result running_field(const struct gpu *g, struct field_value *v)
{
    switch (v->field) {
    case 82: return as_uint(v, g, CAN_MEMORY_TEMPERATURE, g->memory_temperature);
    case 83: return as_ulonglong(v, g, CAN_ENERGY, g->energy_millijoules);
    case 94: return as_uint(v, g, CAN_PCIE_REPLAY, g->pcie_replays);
    case 95: return as_uint(v, g, CAN_PCIE_REPLAY, g->pcie_replay_rollovers);
    case 185:
    case 186: return as_uint(v, g, CAN_POWER, g->power_milliwatts);
    case 187: return as_uint(v, g, CAN_POWER, g->power_min_milliwatts);
    case 188: return as_uint(v, g, CAN_POWER, g->power_max_milliwatts);
    case 189: return as_uint(v, g, CAN_POWER, g->power_default_milliwatts);
    case 190:
    case 192: return as_uint(v, g, CAN_POWER, g->power_limit_milliwatts);
    case 193: return as_int(v, g, CAN_TLIMIT, g->shutdown_tlimit);
    case 194: return as_int(v, g, CAN_TLIMIT, g->slowdown_tlimit);
    case 195: return as_int(v, g, CAN_TLIMIT, g->memory_max_tlimit);
    case 196: return as_int(v, g, CAN_TLIMIT, g->gpu_max_tlimit);
    case 226:
    case 227: return as_uint(v, g, CAN_RECOVERY_ACTION, 0);
    case 230: return as_uint(v, g, CAN_RECOVERY_ACTION, g->recovery_action);
    default: return memory_field(g, v);
    }
}

#define PER_LINK(capability, name) return as_ulonglong(v, g, capability, link->name)

static result link_field(const struct gpu *g, const struct link *link, struct field_value *v)
{
    switch (v->field) {
    case 138:
    case 140: return as_ulonglong(v, g, CAN_NVLINK, link->sent_bytes / 1024);
    case 139:
    case 141: return as_ulonglong(v, g, CAN_NVLINK, link->received_bytes / 1024);
    case 161: PER_LINK(CAN_NVLINK, replay_errors);
    case 162: PER_LINK(CAN_NVLINK, recovery_errors);
    case 163: PER_LINK(CAN_NVLINK, crc_flit_errors);
    case 164: return as_uint(v, g, CAN_NVLINK, link->speed_mbps);
    case 165: return as_uint(v, g, CAN_NVLINK, link->active);
    case 166: return as_uint(v, g, CAN_NVLINK, link->version);
    case 202: PER_LINK(CAN_NVLINK5_COUNTERS, sent_bytes);
    case 204: PER_LINK(CAN_NVLINK5_COUNTERS, received_bytes);
    case 206:
    case 207: return as_ulonglong(v, g, CAN_NVLINK5_COUNTERS, 0);
    case 208: PER_LINK(CAN_NVLINK5_COUNTERS, receive_errors);
    case 209:
    case 210: return as_ulonglong(v, g, CAN_NVLINK5_COUNTERS, 0);
    case 211: PER_LINK(CAN_NVLINK5_COUNTERS, replay_errors);
    case 213: return as_ulonglong(v, g, CAN_NVLINK5_COUNTERS, link->recovery_errors - link->recovery_failed);
    case 214: PER_LINK(CAN_NVLINK5_COUNTERS, recovery_failed);
    case 215: PER_LINK(CAN_NVLINK5_COUNTERS, recovery_errors);
    case 219: PER_LINK(CAN_NVLINK5_COUNTERS, effective_errors);
    case 220: PER_LINK(CAN_NVLINK5_COUNTERS, effective_ber);
    case 221: PER_LINK(CAN_NVLINK5_COUNTERS, symbol_errors);
    case 222: PER_LINK(CAN_NVLINK5_COUNTERS, symbol_ber);
    default: return NOT_SUPPORTED;
    }
}

/* Four counters have ids per link in two ranges (links 0-5 with a total after them, links 6-11). */
static result numbered_link_field(const struct gpu *g, struct field_value *v)
{
    static const struct { uint first, total, second; size_t offset; } counters[] = {
        {32, 38, 96, __builtin_offsetof(struct link, crc_flit_errors)},
        {39, 45, 102, __builtin_offsetof(struct link, crc_data_errors)},
        {46, 52, 108, __builtin_offsetof(struct link, replay_errors)},
        {53, 59, 114, __builtin_offsetof(struct link, recovery_errors)},
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        ulonglong all = 0;
        for (uint n = 0; n < g->link_count; n++) {
            ulonglong count = *(const uint64_t *)((const char *)&g->link[n] + counters[i].offset);
            if ((n < 6 && v->field == counters[i].first + n) || (n >= 6 && n < 12 && v->field == counters[i].second + n - 6))
                return as_ulonglong(v, g, CAN_NVLINK, count);
            all += count;
        }
        if (v->field == counters[i].total)
            return as_ulonglong(v, g, CAN_NVLINK, all);
    }
    return NOT_SUPPORTED;
}

static result answer_field(const struct gpu *g, struct field_value *v)
{
    int per_link = (v->field >= 138 && v->field <= 141) || (v->field >= 161 && v->field <= 166) ||
                   (v->field >= 201 && v->field <= 222);
    int numbered = (v->field >= 32 && v->field <= 59) || (v->field >= 96 && v->field <= 119);
    if (v->field >= 170 && v->field <= 172) {
        uint link = v->scope;
        if (!g->c2c_links || (v->field != 170 && link >= g->c2c_links))
            return NOT_SUPPORTED;
        uint up = !(g->c2c_down >> link & 1);
        return as_uint(v, g, CAN_NVLINK, v->field == 170 ? g->c2c_links : v->field == 171 ? up : up * 44712);
    }
    if (v->field == 91)
        return as_uint(v, g, CAN_NVLINK, g->link_count);
    if (v->field == 90)
        return as_uint(v, g, CAN_NVLINK, g->link_count ? g->link[0].speed_mbps : 0);
    if (numbered)
        return numbered_link_field(g, v);
    if (!per_link)
        return running_field(g, v);
    return v->scope < g->link_count ? link_field(g, &g->link[v->scope], v) : INVALID_ARGUMENT;
}

API result nvmlDeviceGetFieldValues(device handle, int count, struct field_value *values)
{
    ASK(CAN_IDENTITY);
    REQUIRE(count > 0 && values);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < count; i++) {
        values[i].timestamp = now.tv_sec * 1000000LL + now.tv_nsec / 1000;
        values[i].latency = 0;
        values[i].value.ull = 0;
        values[i].result = answer_field(g, &values[i]);
    }
    return OK;
}
