"""Outputs of further tools, true to their format, each with the fault as a parameter."""

TOPOLOGY = """\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity
GPU0\t X \t{one}\tNV18\tNV18\tPXB\t0-55\t0
GPU1\t{one}\t X \t{one}\t{one}\tSYS\t0-55\t0
GPU2\tNV18\t{one}\t X \tNV18\tSYS\t0-55\t0
GPU3\tNV18\t{one}\tNV18\t X \tSYS\t0-55\t0
NIC0\tPXB\tSYS\tSYS\tSYS\t X \t\t

Legend:

  X    = Self
"""
SMI_LIST = """GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000001)
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000002)
"""
SMI_DMON = """# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk
# Idx      W      C      C      %      %    MHz    MHz
    0     71     33     40      0      0   2619    345
    1     70     {heat}     41      0      0   2619    345
"""
DISCOVERY = """{count} GPUs found.
+--------+----------------------------------------------------------------------+
| GPU ID | Device Information                                                   |
+--------+----------------------------------------------------------------------+
| 0      | Name: NVIDIA H100 80GB HBM3                                          |
|        | PCI Bus ID: 00000000:1B:00.0                                         |
+--------+----------------------------------------------------------------------+
"""
DCGMI_DMON = """#Entity   TMPTR   POWER
ID        C       W
GPU 0     31      70.1
GPU 1     32      71.2
"""
AMD_EXPORTER = """# TYPE gpu_ecc_uncorrect_total gauge
gpu_ecc_uncorrect_total{{gpu_id="0",card_model="0x74a1"}} {errors}
gpu_junction_temperature{{gpu_id="0",card_model="0x74a1"}} 45
gpu_health{{gpu_id="0",card_model="0x74a1"}} {health}
"""
NODE_EXPORTER = """node_edac_uncorrectable_errors_total{{controller="0"}} {errors}
node_infiniband_state_id{{device="mlx5_0",port="1"}} 4
node_infiniband_symbol_error_total{{device="mlx5_0",port="1"}} {symbols}
"""
RDMA_LINK = """link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0
link mlx5_1/1 state {state} physical_state {physical} netdev eth1
"""
RDMA_LINK_JSON = """[{{"ifindex":0,"ifname":"ionic_0","port":1,"state":"ACTIVE","physical_state":"LINK_UP"}},
{{"ifindex":1,"ifname":"ionic_1","port":1,"state":"{state}","physical_state":"LINK_UP"}}]
"""
DEVINFO = """hca_id: mlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t28.39.1002
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tlink_layer:\t\tInfiniBand
hca_id: mlx5_1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_{state}
\t\t\tlink_layer:\t\tInfiniBand
"""
NETDEV = """mlx5_0 port 1 ==> ib0 (Up)
mlx5_1 port 1 ==> ib1 ({state})
"""
MLXLINK = """
Operational Info
----------------
State                              : {state}
Physical state                     : LinkUp
Speed                              : IB-NDR
Width                              : 4x

Troubleshooting Info
--------------------
Status Opcode                      : 0
Recommendation                     : {advice}

Physical Counters and BER Info
------------------------------
Effective Physical BER             : {rate}
Link Down Counter                  : 0
"""
MLXLINK_JSON = """{{"result": {{"output": {{"Operational Info": {{"State": "{state}", "Speed": "200G"}},
"Troubleshooting Info": {{"Recommendation": ""}},
"Physical Counters and BER Info": {{"Effective Physical BER": "15E-255"}}}}}}}}
"""
IMEX = """Connectivity Table Legend:
C - Connected - Ready for operation

Nodes:
Node #0   - 10.0.0.1        - READY                - Version: 570.124
Node #1   - 10.0.0.2        - {node}          - Version: 570.124

 Nodes From\\To  0   1
       0        C   C
Domain State: {state}
"""
IMEX_JSON = '{{"nodes": {{"0": {{"status": "{node}", "host": "10.0.0.1"}}}}, "status": "{state}"}}'
FABRIC_MANAGER = """[Jul 23 2024 07:53:50] [INFO] [tid 841] Fabric Manager started
[Jul 23 2024 07:53:55] [{level}] [tid 841] detected number of NVSwitches don't match, aborting fabric manager
"""
OPENSM = """Nov 17 04:18:21 123456 [7F001122] 0x02 -> osm_vendor_init: 1000 pending umads specified
Nov 17 04:18:22 123456 [7F001122] 0x{level} -> log_rcv_cb_error: {what}
"""
MODULE = """\tIdentifier                                : 0x18 (QSFP-DD)
\tModule temperature                        : 40.16 degrees C / 104.29 degrees F
\tLaser rx power low alarm (Channel 0)      : {alarm}
\tModule temperature high warning           : {warning}
"""
MODULE_JSON = """[ {{ "identifier": 17, "identifier_description": "QSFP28",
 "laser_rx_power_low_alarm": [ {alarm}, false ], "module_temperature_high_warning": false }} ]
"""
LINK = """Settings for eth0:
\tSpeed: 100000Mb/s
\tLink detected: {link}
"""
ALLOWANCE = """     bw_in_allowance_exceeded: 0
     bw_out_allowance_exceeded: {count}
     pps_allowance_exceeded: 0
"""
SEL = """   1 | 02/10/2026 | 14:23:05 | Temperature #0x30 | Upper Critical going high | Asserted
   2 | 02/10/2026 | 14:25:12 | Temperature #0x30 | Upper Critical going high | {state}
   3 | 02/10/2026 | 14:26:12 | Memory #0x48 | {event} | Asserted
"""
SDR = """Inlet Temp       | 04h | ok  |  7.1 | 23 degrees C
FAN2             | 31h | {state}  |  7.1 | 300 RPM
PS1 Status       | 62h | ok  | 10.1 | Presence detected
"""
SENSOR = """Inlet Temp       | 23.000     | degrees C  | ok    | na | na | na | 40.000 | 45.000 | na
FAN2             | 300.000    | RPM        | {state}    | na | 500.000 | na | na | na | na
"""
REDFISH = """{{"@odata.id": "/redfish/v1/Systems/1", "Name": "System", "Status": {{"State": "Enabled", "Health": "OK"}},
"Members": [{{"Name": "GPU3", "Status": {{"State": "Enabled", "Health": "{health}"}}}}]}}
"""
NVME = """Smart Log for NVME device:nvme0 namespace-id:ffffffff
critical_warning                    : {warning}
available_spare                     : {spare}%
available_spare_threshold           : 10%
percentage_used                     : 2%
media_errors                        : {errors}
"""
NVME_JSON = '{{"critical_warning": {warning}, "avail_spare": 100, "spare_thresh": 10, "percent_used": 3}}'
SMARTCTL = """smartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.15.0] (local build)
SMART overall-health self-assessment test result: {result}
  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       {sectors}
"""
NCCL_TESTS = """\
#   out-of-place   in-place
#   size   count   type   redop   root   time   algbw   busbw #wrong   time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
   1048576   262144   float   sum   -1   50.12   20.92   36.61   {wrong}   50.10   20.93   36.63   0
# Out of bounds values : {wrong} {word}
# Avg bus bandwidth    : 36.62
"""
QUOTED = """> [6781741.548779] NVRM: Xid (PCI:0000:91:00): 79, pid=1, GPU has fallen off the bus.
>
> [6781753.400584] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up
"""
OTHER_LANGUAGE = "Okt 06 17:59:27 n1 kernel: NVRM: Xid (PCI:0000:01:00): 79, pid=1122, GPU has fallen off the bus.\n"
TWO_STAMPS = "[2023-06-22 21:55:31.352446][5975153.878190] EDAC MC0: 1 UE memory read error on DIMM_A1 (x)\n"
NO_LINKS = """GPU 0: NVIDIA {model} (UUID: GPU-1)
NVML: Unable to retrieve NVLink information as all links are inActive
GPU 1: NVIDIA {model} (UUID: GPU-2)
NVML: Unable to retrieve NVLink information as all links are inActive
"""
PERFTEST = """---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             392.10             391.80             0.747
"""
OSU = """# OSU MPI-CUDA Allreduce Latency Test v7.2
# Size       Avg Latency(us)
4                      12.10
8                      12.30
"""
AMD_MONITOR = """GPU  XCP  POWER  PWR_CAP   GPU_T   MEM_T   GFX_CLK   GFX%   MEM%  SINGLE_ECC  DOUBLE_ECC
  0    0  251 W   1000 W   55 °C   43 °C   144 MHz    0 %    0 %           0           0
  1    0    N/A   1000 W   58 °C   47 °C   163 MHz    0 %    0 %           0           {errors}
"""
SERVICE = """Sep 18 03:19:01 n1 nvidia-fabricmanager-start.sh[4753]: Detected Pre-NVL5 system
Sep 18 03:19:01 n1 systemd[1]: nvidia-fabricmanager.service: Control process exited, code=exited, status={status}
"""
SYSTEMCTL = """● nvidia-fabricmanager.service - NVIDIA fabric manager service
     Loaded: loaded (/lib/systemd/system/nvidia-fabricmanager.service; enabled)
     Active: {state} since Mon 2026-11-16 10:00:00 UTC; 1h ago
"""
HOST_ENGINE = """2024-05-24 10:22:29.245 ERROR [5231:5273] Read returned no data [/dcgm/x.cpp:388] [Dcgm::RunOnce]
2024-05-24 10:22:30.245 {level} [5231:5273] the host engine ends [/dcgm/x.cpp:389] [Dcgm::RunOnce]
"""
AMD_BLOCKS = 'gpu_ecc_uncorrect_umc{{gpu_id="2",hostname="n"}} {errors}\ngpu_ecc_uncorrect_gfx{{gpu_id="2"}} 0\n'
ROCM_METRICS = "GPU[0]\t\t: temperature_hotspot (C): 43\nGPU[0]\t\t: average_socket_power (W): 20\n"
OTHER_WEEKDAY = "[Sa Feb 18 21:37:50 2023] amdgpu 0000:0b:00.0: amdgpu: {what}\n"
DELTAS = "[  +0.000772] amdgpu 0000:05:00.0: firmware: direct-loading firmware amdgpu/picasso_vcn.bin\n"
WINDOWS = """| NVIDIA-SMI 369.30                 Driver Version: 369.30                    |
|   0  GeForce 840M       WDDM  | 0000:03:00.0     Off |                  N/A |
| N/A   37C    P8    N/A /  N/A |     52MiB /  2048MiB |      0%      Default |
"""
RDMA_STATISTIC = '[{{"ifname": "ionic_0", "port": 1, "tx_rdma_ucast_pkts": 5, "req_tx_retry_excd_err": {count}}}]'
RDMA_STATISTIC_TEXT = "link mlx5_0/1 rx_write_requests 12 local_ack_timeout_err 3 out_of_sequence 0\n"
SMARTCTL_JSON = """{{"smartctl": {{"version": [7, 4]}}, "device": {{"name": "/dev/sda"}},
"smart_status": {{"passed": true}},
"ata_smart_attributes": {{"table": [{{"id": 5, "name": "Reallocated_Sector_Ct", "raw": {{"value": {count}}}}}]}}}}"""
