"""What a baseboard management controller reports: IPMI and Redfish."""
