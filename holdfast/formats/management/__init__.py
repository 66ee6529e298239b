"""Management controllers and building devices: IPMI, Redfish and Modbus."""
