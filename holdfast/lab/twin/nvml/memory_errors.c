/* Memory errors: ECC counts, remapped rows, retired pages. */
#include "abi.h"

enum { CORRECTED, UNCORRECTED };
enum { VOLATILE, AGGREGATE };
enum { L1, L2, DRAM, REGISTER_FILE, TEXTURE, TEXTURE_SHM, CBU, SRAM, LOCATIONS };

static const struct ecc *counts(const struct gpu *g, int kind, int since)
{
    if (since == VOLATILE)
        return kind == CORRECTED ? &g->volatile_corrected : &g->volatile_uncorrected;
    return kind == CORRECTED ? &g->aggregate_corrected : &g->aggregate_uncorrected;
}

static ulonglong total(const struct ecc *ecc)
{
    ulonglong sum = 0;
    for (int i = 0; i < LOCATIONS; i++)
        sum += ecc->count[i];
    return sum;
}

API result nvmlDeviceGetEccMode(device handle, int *current, int *pending)
{
    ASK(CAN_ECC_MODE);
    *current = (int)g->ecc_current;
    *pending = (int)g->ecc_pending;
    return OK;
}

API result nvmlDeviceGetDefaultEccMode(device handle, int *mode)
{
    ASK(CAN_ECC_MODE);
    *mode = 1;
    return OK;
}

API result nvmlDeviceGetTotalEccErrors(device handle, int kind, int since, ulonglong *number)
{
    ASK(CAN_ECC_COUNTS);
    REQUIRE(kind >= 0 && kind <= 1 && since >= 0 && since <= 1);
    *number = total(counts(g, kind, since));
    return OK;
}

API result nvmlDeviceGetMemoryErrorCounter(device handle, int kind, int since, int location, ulonglong *number)
{
    ASK(CAN_ECC_COUNTS);
    REQUIRE(kind >= 0 && kind <= 1 && since >= 0 && since <= 1 && location >= 0 && location < LOCATIONS);
    if (location != DRAM && location != SRAM)
        return NOT_SUPPORTED; /* GPUs of this age count per chip part only: HBM and SRAM */
    *number = counts(g, kind, since)->count[location];
    return OK;
}

API result nvmlDeviceGetDetailedEccErrors(device handle, int kind, int since, struct ecc_counts *detail)
{
    ASK(CAN_ECC_COUNTS);
    REQUIRE(kind >= 0 && kind <= 1 && since >= 0 && since <= 1);
    const struct ecc *ecc = counts(g, kind, since);
    *detail = (struct ecc_counts){ecc->count[L1], ecc->count[L2], ecc->count[DRAM], ecc->count[REGISTER_FILE]};
    return OK;
}

API result nvmlDeviceGetSramEccErrorStatus(device handle, struct sram_status_v1 *status)
{
    ASK(CAN_SRAM_STATUS);
    uint version = status->version;
    memset(status, 0, sizeof *status);
    status->version = version;
    status->aggregate_secded = g->aggregate_uncorrected.count[SRAM];
    status->aggregate_corrected = g->aggregate_corrected.count[SRAM];
    status->volatile_secded = g->volatile_uncorrected.count[SRAM];
    status->volatile_corrected = g->volatile_corrected.count[SRAM];
    status->bucket_l2 = g->aggregate_uncorrected.count[SRAM];
    status->threshold_exceeded = g->sram_threshold_exceeded;
    return OK;
}

API result nvmlDeviceGetRemappedRows(device handle, uint *corrected, uint *uncorrected, uint *pending, uint *failure)
{
    ASK(CAN_REMAPPED_ROWS);
    *corrected = g->remapped_corrected;
    *uncorrected = g->remapped_uncorrected;
    *pending = g->remap_pending;
    *failure = g->remap_failure;
    return OK;
}

API result nvmlDeviceGetRowRemapperHistogram(device handle, struct remap_histogram *banks)
{
    ASK(CAN_REMAP_HISTOGRAM);
    *banks = (struct remap_histogram){g->banks_max, g->banks_high, g->banks_partial, g->banks_low, g->banks_none};
    return OK;
}

API result nvmlDeviceGetRetiredPages(device handle, int cause, uint *count, ulonglong *addresses)
{
    ASK(CAN_RETIRED_PAGES);
    uint room = *count, there = cause == 0 ? g->retired_single_bit : g->retired_double_bit;
    *count = there;
    if (there && (!addresses || room < there))
        return INSUFFICIENT_SIZE;
    for (uint i = 0; i < there; i++)
        addresses[i] = 0x10000ULL * (i + 1);
    return OK;
}

API result nvmlDeviceGetRetiredPagesPendingStatus(device handle, int *pending)
{
    ASK(CAN_RETIRED_PAGES);
    *pending = (int)g->retired_pending;
    return OK;
}
