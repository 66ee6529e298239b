"""A plant: cooling, power, fabric, storage, jobs and pools of a simulated fleet, as the panels that seams evaluate."""
