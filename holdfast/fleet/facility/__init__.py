"""Sources of other domains: Modbus, SNMP, BACnet, Redfish, PromQL, storage."""
