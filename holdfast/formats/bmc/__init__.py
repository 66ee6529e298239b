"""Reports of a baseboard management controller: IPMI and Redfish."""
