"""Records shared by Python and C: declared once as a class, printed as a C struct with its size asserted."""

import ctypes
from ctypes import Structure
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

S = TypeVar("S", bound=Structure)

U32 = Annotated[int, ctypes.c_uint32]
I32 = Annotated[int, ctypes.c_int32]
U64 = Annotated[int, ctypes.c_uint64]
F64 = Annotated[float, ctypes.c_double]
Text = Annotated[bytes, ctypes.c_char * 96]

_C_NAMES: dict[Any, str] = {
    ctypes.c_uint8: "uint8_t",
    ctypes.c_uint32: "uint32_t",
    ctypes.c_int32: "int32_t",
    ctypes.c_uint64: "uint64_t",
    ctypes.c_double: "double",
    ctypes.c_char: "char",
}


def packed(cls: type[S]) -> type[S]:
    """Derives ctypes' _fields_ from the annotations, so that names and types are written once."""
    hints = get_type_hints(cls, include_extras=True)
    cls._fields_ = [(name, get_args(hints[name])[1]) for name in cls.__annotations__]
    return cls


def c_struct(struct: type[Structure]) -> str:
    """The same layout as a C struct with an asserted size, so that the two cannot differ."""
    name = struct.__name__.lower()
    members = " ".join(_c_member(field, kind) for field, kind, *_ in struct._fields_)
    return (
        f'struct {name} {{ {members} }};\n_Static_assert(sizeof(struct {name}) == {ctypes.sizeof(struct)}, "layout");\n'
    )


def _c_member(name: str, kind: Any) -> str:
    if hasattr(kind, "_length_"):
        return f"{_c_type(kind._type_)} {name}[{kind._length_}];"
    return f"{_c_type(kind)} {name};"


def _c_type(kind: Any) -> str:
    return _C_NAMES.get(kind) or f"struct {kind.__name__.lower()}"
