/* State of a running GPU: heat, power, clocks, utilization, memory and the processes on it. */
#include "abi.h"

enum { CLOCK_GRAPHICS, CLOCK_SM, CLOCK_MEMORY, CLOCK_VIDEO };

#define NUMBER(function, field, kind, capability)               \
    API result function(device handle, kind *number)            \
    {                                                           \
        ASK(capability);                                        \
        *number = (kind)g->field;                               \
        return OK;                                              \
    }

NUMBER(nvmlDeviceGetPowerUsage, power_milliwatts, uint, CAN_POWER)
NUMBER(nvmlDeviceGetPowerManagementLimit, power_limit_milliwatts, uint, CAN_POWER)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, power_limit_milliwatts, uint, CAN_POWER)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, power_default_milliwatts, uint, CAN_POWER)
NUMBER(nvmlDeviceGetTotalEnergyConsumption, energy_millijoules, ulonglong, CAN_ENERGY)
NUMBER(nvmlDeviceGetPerformanceState, performance_state, int, CAN_CLOCKS)
NUMBER(nvmlDeviceGetPowerState, performance_state, int, CAN_CLOCKS)
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, event_reasons, ulonglong, CAN_EVENT_REASONS)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, event_reasons, ulonglong, CAN_EVENT_REASONS)
NUMBER(nvmlDeviceGetSupportedClocksEventReasons, supported_event_reasons, ulonglong, CAN_EVENT_REASONS)
NUMBER(nvmlDeviceGetSupportedClocksThrottleReasons, supported_event_reasons, ulonglong, CAN_EVENT_REASONS)

API result nvmlDeviceGetPowerManagementLimitConstraints(device handle, uint *lowest, uint *highest)
{
    ASK(CAN_POWER);
    *lowest = g->power_min_milliwatts;
    *highest = g->power_max_milliwatts;
    return OK;
}

API result nvmlDeviceGetTemperature(device handle, int sensor, uint *celsius)
{
    ASK(CAN_TEMPERATURE);
    REQUIRE(sensor == 0);
    *celsius = g->temperature;
    return OK;
}

API result nvmlDeviceGetTemperatureV(device handle, struct temperature_v1 *temperature)
{
    ASK(CAN_TEMPERATURE);
    REQUIRE(temperature->sensor == 0);
    temperature->celsius = (int)g->temperature;
    return OK;
}

API result nvmlDeviceGetMarginTemperature(device handle, struct margin_v1 *margin)
{
    ASK(CAN_MARGIN);
    margin->celsius = g->margin;
    return OK;
}

API result nvmlDeviceGetTemperatureThreshold(device handle, int kind, uint *celsius)
{
    ASK(CAN_THRESHOLDS);
    REQUIRE(kind >= 0 && kind <= 7);
    if (kind > 3 || g->threshold[kind] == 0)
        return NOT_SUPPORTED;
    *celsius = g->threshold[kind];
    return OK;
}

static result clock_of(int kind, uint sm, uint memory, uint *mhz)
{
    REQUIRE(kind >= CLOCK_GRAPHICS && kind <= CLOCK_VIDEO);
    *mhz = kind == CLOCK_MEMORY ? memory : kind == CLOCK_VIDEO ? sm * 4 / 5 : sm;
    return OK;
}

API result nvmlDeviceGetClockInfo(device handle, int kind, uint *mhz)
{
    ASK(CAN_CLOCKS);
    return clock_of(kind, g->sm_clock_mhz, g->memory_clock_mhz, mhz);
}

API result nvmlDeviceGetClock(device handle, int kind, int which, uint *mhz)
{
    (void)which;
    return nvmlDeviceGetClockInfo(handle, kind, mhz);
}

API result nvmlDeviceGetMaxClockInfo(device handle, int kind, uint *mhz)
{
    ASK(CAN_CLOCKS);
    return clock_of(kind, g->max_sm_clock_mhz, g->max_memory_clock_mhz, mhz);
}

API result nvmlDeviceGetApplicationsClock(device handle, int kind, uint *mhz)
{
    return nvmlDeviceGetMaxClockInfo(handle, kind, mhz);
}

API result nvmlDeviceGetUtilizationRates(device handle, struct utilization *rates)
{
    ASK(CAN_UTILIZATION);
    rates->gpu = g->gpu_utilization;
    rates->memory = g->memory_utilization;
    return OK;
}

API result nvmlDeviceGetMemoryInfo(device handle, struct memory *memory)
{
    ASK(CAN_MEMORY);
    memory->total = g->memory_total;
    memory->used = g->memory_used + g->memory_reserved; /* the first version counts the reserved part as used */
    memory->free = memory->total - memory->used;
    return OK;
}

API result nvmlDeviceGetMemoryInfo_v2(device handle, struct memory_v2 *memory)
{
    ASK(CAN_MEMORY);
    memory->total = g->memory_total;
    memory->reserved = g->memory_reserved;
    memory->used = g->memory_used;
    memory->free = memory->total - memory->used - memory->reserved;
    return OK;
}

API result nvmlDeviceGetBAR1MemoryInfo(device handle, struct bar1 *memory)
{
    ASK(CAN_MEMORY);
    memory->total = g->bar1_total;
    memory->used = g->bar1_used;
    memory->free = memory->total - memory->used;
    return OK;
}

static result room_for(uint *count, uint there, const void *infos)
{
    uint room = *count;
    *count = there;
    return there == 0 || (infos && room >= there) ? OK : INSUFFICIENT_SIZE;
}

API result nvmlDeviceGetComputeRunningProcesses_v3(device handle, uint *count, struct process_v2 *infos)
{
    ASK(CAN_PROCESSES);
    answer = room_for(count, g->process_count, infos);
    for (uint i = 0; answer == OK && i < *count; i++)
        infos[i] = (struct process_v2){g->process[i].pid, g->process[i].used_bytes, ~0u, ~0u};
    return answer;
}

API result nvmlDeviceGetComputeRunningProcesses_v2(device handle, uint *count, struct process_v2 *infos)
{
    return nvmlDeviceGetComputeRunningProcesses_v3(handle, count, infos);
}

API result nvmlDeviceGetComputeRunningProcesses(device handle, uint *count, struct process_v1 *infos)
{
    ASK(CAN_PROCESSES);
    answer = room_for(count, g->process_count, infos);
    for (uint i = 0; answer == OK && i < *count; i++)
        infos[i] = (struct process_v1){g->process[i].pid, g->process[i].used_bytes};
    return answer;
}

static result none_running(device handle, uint *count)
{
    ASK(CAN_PROCESSES);
    *count = 0;
    return OK;
}

#define NO_PROCESSES(function)                                           \
    API result function(device handle, uint *count, void *infos)         \
    {                                                                    \
        (void)infos;                                                     \
        return none_running(handle, count);                              \
    }

NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3)
