"""Serial numbers of this node: from signals and sysfs, and only what identifies a part."""

from pathlib import Path

from holdfast.model.assets import Part
from holdfast.node.agent.assets import parts

SIGNALS = [
    ("node/n1/gpu/0", "gpu_serial", "1650001", 1.0),
    ("node/n1/gpu/0", "gpu_model", "H100", 1.0),
    ("node/n1/gpu/1", "gpu_serial", "0", 1.0),
    ("node/n1/gpu/1", "gpu_uuid", "GPU-77", 1.0),
    ("node/n1/gpu/2", "gpu_serial", "N/A", 1.0),
    ("node/n1/gpu/2", "gpu_temperature_celsius", 40.0, 1.0),
]


def test_gpus_nics_and_the_chassis(tmp_path: Path) -> None:
    nic = tmp_path / "class" / "infiniband"
    for name, guid in (("mlx5_0", "1070:fd03:0012:3456\n"), ("mlx5_1", "0000:0000:0000:0000\n")):
        (nic / name).mkdir(parents=True)
        (nic / name / "node_guid").write_text(guid)
        (nic / name / "hca_type").write_text("MT4129\n")
    chassis = tmp_path / "class" / "dmi" / "id"
    chassis.mkdir(parents=True)
    (chassis / "product_serial").write_text("J1234\x00\n")
    (chassis / "product_name").write_text("DGX\n")
    assert parts(str(tmp_path), SIGNALS) == (
        Part("gpu/0", "1650001", "H100"),
        Part("gpu/1", "GPU-77", ""),
        Part("nic/mlx5_0", "1070:fd03:0012:3456", "MT4129"),
        Part("node", "J1234", "DGX"),
    )


def test_what_has_no_serial_number_is_left_out(tmp_path: Path) -> None:
    assert parts(str(tmp_path), []) == ()
    chassis = tmp_path / "class" / "dmi" / "id"
    chassis.mkdir(parents=True)
    (chassis / "product_serial").write_text("To Be Filled By O.E.M.\n")
    assert parts(str(tmp_path), []) == ()
