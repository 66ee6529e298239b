"""`python -m writer` in tests/diagnosis/incidents writes every folder anew."""

from writer import fabric, gpu, host, job, launch, numbers, storage

for incident in (*gpu.ALL, *fabric.ALL, *storage.ALL, *host.ALL, *job.ALL, *numbers.ALL, *launch.ALL):
    incident.write()
