"""Output of tools as they print it, written for these tests: short, with one thing wrong in each."""

SMI_TEXT = """
==============NVSMI LOG==============

Timestamp                                 : Tue Nov 17 01:00:00 2026
Driver Version                            : 570.86.15
CUDA Version                              : 12.8

Attached GPUs                             : 2
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    Serial Number                         : 1650000000001
    GPU UUID                              : GPU-11111111-2222-3333-4444-555555555555
    VBIOS Version                         : 96.00.74.00.01
    GPU Recovery Action                   : None
    PCI
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 5
            Link Width
                Max                       : 16x
                Current                   : 16x
        Replays Since Reset               : 0
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 12 MiB
    Utilization
        Gpu                               : 0 %
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : {parity}
            SRAM Uncorrectable SEC-DED    : 1
            DRAM Correctable              : 0
            DRAM Uncorrectable            : 0
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 0
        Pending                           : {pending}
        Remapping Failure Occurred        : No
    Temperature
        GPU Current Temp                  : 33 C
        GPU T.Limit Temp                  : 54 C
        Memory Current Temp               : {memory}
    GPU Power Readings
        Average Power Draw                : N/A
        Instantaneous Power Draw          : 71.20 W
        Current Power Limit               : 700.00 W
        Default Power Limit               : 700.00 W
    Clocks
        Graphics                          : 345 MHz
        SM                                : 345 MHz
        Memory                            : 2619 MHz
    Max Clocks
        SM                                : 1980 MHz
        Memory                            : 2619 MHz
    Fabric
        State                             : Completed
        Status                            : Success
    Processes                             : None

GPU 00000000:43:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Temperature
        GPU Current Temp                  : {second}
    Processes                             : None
"""


def smi_text(parity="2", pending="No", memory="41 C", second="35 C"):
    return SMI_TEXT.format(parity=parity, pending=pending, memory=memory, second=second)


SMI_XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <driver_version>535.104.05</driver_version>
  <gpu id="00000000:1B:00.0">
    <product_name>NVIDIA A100-SXM4-80GB</product_name>
    <persistence_mode>Enabled</persistence_mode>
    <temperature><gpu_temp>30 C</gpu_temp><memory_temp>31 C</memory_temp></temperature>
    <clocks_throttle_reasons>
      <clocks_throttle_reason_hw_slowdown>Active</clocks_throttle_reason_hw_slowdown>
      <clocks_throttle_reason_sw_thermal_slowdown>Not Active</clocks_throttle_reason_sw_thermal_slowdown>
    </clocks_throttle_reasons>
    <remapped_rows>
      <remapped_row_corr>0</remapped_row_corr><remapped_row_unc>1</remapped_row_unc>
      <remapped_row_pending>Yes</remapped_row_pending><remapped_row_failure>No</remapped_row_failure>
    </remapped_rows>
    <processes><process_info><pid>7</pid></process_info></processes>
  </gpu>
</nvidia_smi_log>
"""
SMI_CSV = """index, name, temperature.gpu, power.draw [W], memory.used [MiB], ecc.errors.uncorrected.volatile.total, clocks.current.sm [MHz]
0, NVIDIA H100 80GB HBM3, 33, 71.20 W, 12 MiB, 0, 345 MHz
1, NVIDIA H100 80GB HBM3, [Unknown Error], [Unknown Error], [N/A], 0, [Unknown Error]
"""  # noqa: E501
SMI_CSV_NOUNITS = """timestamp,index,uuid,temperature.gpu,memory.total [MiB],utilization.gpu [%]
2026/11/17 01:00:00.000,0,GPU-1,40,81559,97
2026/11/17 01:00:01.000,0,GPU-1,41,81559,98
"""
SMI_TABLE = """
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 570.86.15              Driver Version: 570.86.15      CUDA Version: 12.8     |
|-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    0 |
| N/A   33C    P0             71W /  700W |      12MiB /  81559MiB |      0%      Default |
|   1  NVIDIA H100 80GB HBM3          On  |   00000000:43:00.0 Off |                 ERR! |
| ERR!  ERR! ERR!            ERR! /  ERR! |      12MiB /  81559MiB |    ERR!      Default |
+-----------------------------------------+------------------------+----------------------+
"""
NVLINK = """GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)
\t Link 0: 26.562 GB/s
\t Link 1: <inactive>
\t Link 2: 26.562 GB/s
"""
DMESG = """[Tue Nov 17 00:59:00 2026] NVRM: loading NVIDIA UNIX x86_64 Kernel Module
[Tue Nov 17 01:00:00 2026] NVRM: Xid (PCI:0000:1b:00): 79, pid=1, name=python, GPU has fallen off the bus.
"""
IBSTAT = """CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tFirmware version: 28.41.1000
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tLink layer: InfiniBand
CA 'mlx5_1'
\tCA type: MT4129
\tPort 1:
\t\tState: {state}
\t\tPhysical state: {physical}
\t\tRate: {rate}
\t\tLink layer: InfiniBand
"""
IBLINKINFO = """Switch: 0x248a070300f88060 MF0;leaf1:MQM8700/U1:
           1    1[  ] ==( 4X      53.125 Gbps Active/  LinkUp)==>       5    1[  ] "n01 mlx5_0" ( )
           1    2[  ] ==( 2X      53.125 Gbps Active/  LinkUp)==>       6    1[  ] "n02 mlx5_0" ( Could be 4X)
           1    3[  ] ==(                Down/ Polling)==>             [  ] "" ( )
           1    4[  ] ==(                Down/ Polling)==>       9    1[  ] "n04 mlx5_0" ( )
"""
IBDIAGNET = """Running version: "IBDIAGNET 2.12.0" (ibdiagnet)
-I- Discovering ... 4 nodes
-E- Link: S248a/N1(leaf1)/P7 has BER over the threshold: 1e-8
-W- Port n02/U1/P1: firmware differs
-I- Stage                     Warnings   Errors     Comment
-I- Discovery                 0          0
-I- Port Counters             1          1
"""
IBSWINFO = """=================================================
leaf1
=================================================
part number        | MQM8700-HS2F
GUID               | 0x1c34da0300010540
firmware version   | 27.2010.4102
-------------------------------------------------
PSU0 status        | OK
     DC power      | OK
     fan status    | OK
PSU1 status        | {psu}
     DC power      | {psu}
-------------------------------------------------
temperature (C)    | 45
max temp (C)       | 57
-------------------------------------------------
fan status         | OK
fan#1 (rpm)        | {fan}
"""
ETHTOOL = """NIC statistics:
     rx_packets: 100000000
     rx_out_of_buffer: {discards}
     rx_crc_errors_phy: {crc}
     link_down_events_phy: {downs}
     rx_symbol_err_phy: 0
"""
DCGMI_NVLINK = """+----------------------+
|  NvLink Link Status  |
+----------------------+
GPUs:
    gpuId 0:
        U U U U
    gpuId 1:
        U D U X
"""
DCGMI_HEALTH = """+---------------------------+----------------------------------------------------------+
| Health Monitor Report                                                                |
+===========================+==========================================================+
| Overall Health            | Failure                                                  |
| GPU                       |                                                          |
| -> 1                      | Failure                                                  |
|    -> Errors              |                                                          |
|       -> NVLINK system    | Failure                                                  |
|                           | GPU 1's NvLink link 3 is currently down. Run a field     |
|                           | diagnostic on the GPU.                                   |
+---------------------------+----------------------------------------------------------+
"""
AMD_METRIC = """[{{"gpu": 0, "temperature": {{"edge": "N/A", "hotspot": {{"value": 45, "unit": "C"}}, "mem": {{"value": 40, "unit": "C"}}}},
 "power": {{"socket_power": {{"value": 140, "unit": "W"}}}},
 "ecc": {{"total_correctable_count": 0, "total_uncorrectable_count": {errors}}},
 "ecc_blocks": {{"UMC": {{"correctable_count": 0, "uncorrectable_count": {errors}}}}},
 "pcie": {{"width": 16, "speed": {{"value": 32, "unit": "GT/s"}}, "replay_count": 0}}}}]"""  # noqa: E501
ROCM_SMI = """GPU[0]\t\t: Temperature (Sensor junction) (C): 45.0
GPU[0]\t\t: Average Graphics Package Power (W): 140.0
GPU[1]\t\t: Temperature (Sensor junction) (C): 44.0
"""
EXPORTER = """# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{{gpu="0",UUID="GPU-1",modelName="NVIDIA H100 80GB HBM3"}} 33
DCGM_FI_DEV_XID_ERRORS{{gpu="0",UUID="GPU-1",modelName="NVIDIA H100 80GB HBM3"}} {xid}
"""
SINFO_HEADERLESS = """normal*|up|c1|0/1/0/1|1000|idle|none
normal*|up|c2|0/1/0/1|1000|down*|Node not responding for a while
normal*|up|c3|0/1/0/1|1000|drained|bad cable at port 3
"""
SCONTROL = """NodeName=n01 Arch=x86_64 CoresPerSocket=64
   State=IDLE ThreadsPerCore=2
NodeName=n02 Arch=x86_64 CoresPerSocket=64
   State=DOWN+DRAIN ThreadsPerCore=2
   Reason=GPU fell off the bus [root@2026-11-17T01:00:00]
"""
SLURM_JSON = """{"meta": {"slurm": {"version": {"major": "25", "minor": "05"}}}, "nodes": [
 {"name": "n01", "state": ["IDLE"], "reason": ""},
 {"name": "n02", "state": ["IDLE", "DRAIN"], "reason": "bad cable"}]}"""
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest ..."
)
SINFO_LONG = """Tue Nov 17 01:00:00 2026
NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON
gpu01          1      gpu*        idle 128    2:64:1 1000000       0      1   (null) none
gpu02          1      gpu*       down* 128    2:64:1 1000000       0      1   (null) Not responding
"""
SINFO_REASONS = """REASON               USER      TIMESTAMP           NODELIST
Not responding       slurm     2026-11-16T10:00:00 gpu[03-04]
bad gpu              root      2026-11-16T11:00:00 gpu07
"""
NVLINK_ERRORS = """GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)
\t Link 0: Replay Errors: 7
\t Link 0: Recovery Errors: 0
\t Link 0: CRC Errors: 1200
"""
ROCM_TABLE = """=================== ROCm System Management Interface ===================
============================= Concise Info =============================
GPU  Temp (DieEdge)  AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%
0    45.0c           90.0W   800Mhz  1600Mhz  0%   auto  560.0W    0%   3%
1    46.0c           91.0W   800Mhz  1600Mhz  0%   auto  560.0W    0%   0%
"""
