"""Making, converting and computing with Tensors, against what MindSpore 2.10 answered."""

# ruff: noqa: E501, F401

import copy
import pickle

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor

b, i8, i16, i32, i64 = ms.bool_, ms.int8, ms.int16, ms.int32, ms.int64
u8, u16, u32, u64 = ms.uint8, ms.uint16, ms.uint32, ms.uint64
f16, f32, f64, bf16, c64, c128 = ms.float16, ms.float32, ms.float64, ms.bfloat16, ms.complex64, ms.complex128


def _show(value):
    if isinstance(value, Tensor):
        return f"T {value.dtype} {tuple(value.shape)} {value}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}[{'; '.join(_show(v) for v in value)}]"
    return f"{type(value).__name__} {value!r}"


def _run(source):
    scope = dict(globals())
    if not source.startswith("!"):
        return eval(source, scope)
    exec(source[1:], scope)
    return scope["r"]


# An expression, or after ! statements that set r, and what MindSpore 2.10 gave for it.
RECORDED = [
    ('Tensor(1)', 'T Int64 () 1'),
    ('Tensor(True)', 'T Bool () True'),
    ('Tensor(1.5)', 'T Float32 () 1.5'),
    ('Tensor(1+2j)', 'T Complex128 () (1+2j)'),
    ('Tensor([1,2,3])', 'T Int64 (3,) [1 2 3]'),
    ('Tensor((1,2.5))', 'T Float32 (2,) [1.  2.5]'),
    ('Tensor([True,False])', 'T Bool (2,) [ True False]'),
    ('Tensor([True,2])', 'T Int64 (2,) [1 2]'),
    ('Tensor([1,2.5,True])', 'T Float32 (3,) [1.  2.5 1. ]'),
    ('Tensor([[1,2],[3,4]],f16)', 'T Float16 (2, 2) [[1. 2.]\n [3. 4.]]'),
    ('Tensor([1.7,-1.7],i32)', 'T Int32 (2,) [ 1 -1]'),
    ('Tensor([1,2],b)', 'T Bool (2,) [ True  True]'),
    ('Tensor([])', 'T Float32 (0,) []'),
    ('Tensor([[]])', 'T Float32 (1, 0) []'),
    ('Tensor(())', 'T Float32 (0,) []'),
    ('Tensor(np.float32(1.5))', 'T Float32 () 1.5'),
    ('Tensor(np.float64(1.5))', 'T Float64 () 1.5'),
    ('Tensor(np.int8(3))', 'T Int8 () 3'),
    ('Tensor(np.bool_(True))', 'T Bool () True'),
    ('Tensor(np.array([1.5]))', 'T Float64 (1,) [1.5]'),
    ('Tensor(np.array([1.5],np.float16))', 'T Float16 (1,) [1.5]'),
    ('Tensor(np.array([1,2],np.uint16))', 'T UInt16 (2,) [1 2]'),
    ('Tensor([Tensor(1),Tensor(2)])', 'T Int64 (2,) [1 2]'),
    ('Tensor([Tensor([1,2]),Tensor([3,4])])', 'T Int64 (2, 2) [[1 2]\n [3 4]]'),
    ('Tensor([Tensor(1.5),2])', 'T Float32 (2,) [1.5 2. ]'),
    ('Tensor((Tensor([1.5]),))', 'T Float32 (1, 1) [[1.5]]'),
    ('Tensor([np.float32(1.5),2])', 'T Float32 (2,) [1.5 2. ]'),
    ('Tensor([np.array([1,2]),np.array([3,4])])', 'T Int64 (2, 2) [[1 2]\n [3 4]]'),
    ('Tensor(Tensor([1,2]),f32)', 'T Float32 (2,) [1. 2.]'),
    ('Tensor(Tensor([1.5,2.5]))', 'T Float32 (2,) [1.5 2.5]'),
    ('Tensor(2**63-1)', 'T Int64 () 9223372036854775807'),
    ('Tensor(-2**63)', 'T Int64 () -9223372036854775808'),
    ('Tensor(2**40,i32)', 'T Int32 () 0'),
    ('Tensor(300,u8)', 'T UInt8 () 44'),
    ('Tensor(-1,u8)', 'T UInt8 () 255'),
    ('Tensor(-1,u32)', 'T UInt32 () 4294967295'),
    ('Tensor([300,-1],u8)', 'T UInt8 (2,) [ 44 255]'),
    ('Tensor(np.array([300,-1]),u8)', 'T UInt8 (2,) [ 44 255]'),
    ('Tensor(1e40)', 'T Float32 () inf'),
    ('Tensor(1e40,f64)', 'T Float64 () 1e+40'),
    ('Tensor([1e300])', 'T Float32 (1,) [inf]'),
    ('Tensor(1.5,const_arg=True).const_arg', 'bool True'),
    ("Tensor(1.5,device='CPU')", 'T Float32 () 1.5'),
    ('Tensor(np.array([[1,2],[3,4]])[::-1])', 'T Int64 (2, 2) [[3 4]\n [1 2]]'),
    ('Tensor(np.array([[1,2],[3,4]]).T)', 'T Int64 (2, 2) [[1 3]\n [2 4]]'),
    ('Tensor(np.asfortranarray(np.arange(6).reshape(2,3)))', 'T Int64 (2, 3) [[0 1 2]\n [3 4 5]]'),
    ('Tensor(np.array([1+2j]))', 'T Complex128 (1,) [1.+2.j]'),
    ('Tensor(np.array([1+2j],np.complex64))', 'T Complex64 (1,) [1.+2.j]'),
    ('Tensor([1+2j,3])', 'T Complex128 (2,) [1.+2.j 3.+0.j]'),
    ('Tensor([1.5],c64)', 'T Complex64 (1,) [1.5+0.j]'),
    ('Tensor([1+1j],f32)', 'T Float32 (1,) [1.]'),
    ('Tensor(np.array([True,False]),i8)', 'T Int8 (2,) [1 0]'),
    ('ms.tensor([1,2])', 'T Int64 (2,) [1 2]'),
    ('ms.tensor(1.5,f16)', 'T Float16 () 1.5'),
    ('ms.tensor([1,2],dtype=f32)', 'T Float32 (2,) [1. 2.]'),
    ('ms.Tensor.from_numpy(np.array([1.0,2]))', 'T Float64 (2,) [1. 2.]'),
    ('ms.from_numpy(np.array([1,2],np.int32))', 'T Int32 (2,) [1 2]'),
    ('!a=np.array([1.,2.]); t=Tensor.from_numpy(a); a[0]=9; r=t', 'T Float64 (2,) [9. 2.]'),
    ('!a=np.array([1.,2.]); t=Tensor(a); a[0]=9; r=t', 'T Float64 (2,) [1. 2.]'),
    ('!a=np.array([1.,2.]); t=Tensor.from_numpy(a); t[0]=9; r=a', 'ndarray array([9., 2.])'),
    ('!t=Tensor([1.,2.]); a=t.asnumpy(); a[0]=9; r=t', 'T Float32 (2,) [9. 2.]'),
    ('!t=Tensor([1.,2.]); a=t.asnumpy(); t[0]=9; r=a', 'ndarray array([9., 2.], dtype=float32)'),
    ('!t=Tensor([1.,2.]); u=Tensor(t); u[0]=9; r=t', 'T Float32 (2,) [9. 2.]'),
    ('!t=Tensor([1.,2.]); u=ms.tensor(t); u[0]=9; r=t', 'T Float32 (2,) [9. 2.]'),
    ('Tensor([1.5,2]).asnumpy()', 'ndarray array([1.5, 2. ], dtype=float32)'),
    ('Tensor([1.5,2],bf16).float().asnumpy()', 'ndarray array([1.5, 2. ], dtype=float32)'),
    ('Tensor([1.5,2]).numpy()', 'ndarray array([1.5, 2. ], dtype=float32)'),
    ('Tensor(1.5).item()', 'float 1.5'),
    ('Tensor([1.5]).item()', 'float 1.5'),
    ('Tensor([[3]]).item()', 'int 3'),
    ('Tensor(True).item()', 'bool True'),
    ('Tensor([1+2j]).item()', 'complex (1+2j)'),
    ('Tensor(1.5,bf16).item()', 'float 1.5'),
    ('Tensor([[1,2],[3,4]]).tolist()', 'list[list[int 1; int 2]; list[int 3; int 4]]'),
    ('Tensor(3.5).tolist()', 'float 3.5'),
    ('Tensor([True]).tolist()', 'list[bool True]'),
    ('Tensor([0.1]).tolist()', 'list[float 0.10000000149011612]'),
    ('Tensor([0.1],f16).tolist()', 'list[float 0.0999755859375]'),
    ('Tensor([1.5],bf16).tolist()', 'list[float 1.5]'),
    ('Tensor([]).tolist()', 'list[]'),
    ('Tensor([1+2j]).tolist()', 'list[complex (1+2j)]'),
    ('int(Tensor(3.7))', 'int 3'),
    ('int(Tensor([3]))', 'int 3'),
    ('int(Tensor([[3]]))', 'int 3'),
    ('int(Tensor(-3.7))', 'int -3'),
    ('float(Tensor(3))', 'float 3.0'),
    ('float(Tensor([2.5]))', 'float 2.5'),
    ('int(Tensor(True))', 'int 1'),
    ('complex(Tensor(1.5))', 'complex (1.5+0j)'),
    ('bool(Tensor([1]))', 'bool True'),
    ('bool(Tensor(0.0))', 'bool False'),
    ('bool(Tensor([[2]]))', 'bool True'),
    ('bool(Tensor(1+0j))', 'bool True'),
    ('range(5)[Tensor(2)]', 'int 2'),
    ('[1,2,3][Tensor([1])]', 'int 2'),
    ('[1,2,3][Tensor(True)]', 'int 2'),
    ('list(range(Tensor(3)))', 'list[int 0; int 1; int 2]'),
    ('round(Tensor(2.5))', 'T Float32 () 2.0'),
    ('round(Tensor([1.567,2.5]))', 'T Float32 (2,) [2. 2.]'),
    ('round(Tensor([1,2]))', 'T Int64 (2,) [1 2]'),
    ('len(Tensor([[1,2]]))', 'int 1'),
    ('list(Tensor([1,2]))', 'list[T Int64 () 1; T Int64 () 2]'),
    ('list(Tensor([[1,2],[3,4]]))', 'list[T Int64 (2,) [1 2]; T Int64 (2,) [3 4]]'),
    ('1 in Tensor([1,2])', 'bool True'),
    ('3 in Tensor([1,2])', 'bool False'),
    ('Tensor(1) in Tensor([1,2])', 'bool True'),
    ('None in Tensor([1,2])', 'bool False'),
    ("'a' in Tensor([1])", 'bool False'),
    ('Tensor([1,2]) in Tensor([[1,2],[3,4]])', 'bool True'),
    ('Tensor([1.5]).half()', 'T Float16 (1,) [1.5]'),
    ('Tensor([1.5]).float()', 'T Float32 (1,) [1.5]'),
    ('Tensor([1.5]).double()', 'T Float64 (1,) [1.5]'),
    ('Tensor([1.5]).int()', 'T Int32 (1,) [1]'),
    ('Tensor([1.5]).long()', 'T Int64 (1,) [1]'),
    ('Tensor([1.5]).short()', 'T Int16 (1,) [1]'),
    ('Tensor([1.5]).byte()', 'T UInt8 (1,) [1]'),
    ('Tensor([1.5,0]).bool()', 'T Bool (2,) [ True False]'),
    ('Tensor([1.5]).bfloat16()', 'T BFloat16 (1,) [1.500000]'),
    ('Tensor([-1.5,300]).byte()', 'T UInt8 (2,) [255  44]'),
    ('Tensor([1.5]).to(f16)', 'T Float16 (1,) [1.5]'),
    ('Tensor([1.5]).to(dtype=i32)', 'T Int32 (1,) [1]'),
    ('Tensor([1.5]).to(Tensor([1]))', 'T Int64 (1,) [1]'),
    ("Tensor([1.5]).to('CPU')", 'T Float32 (1,) [1.5]'),
    ("Tensor([1.5]).to('cpu')", 'T Float32 (1,) [1.5]'),
    ("Tensor([1.5]).to('CPU',f16)", 'T Float16 (1,) [1.5]'),
    ('Tensor([1.5]).to(None)', 'T Float32 (1,) [1.5]'),
    ('Tensor([1.5]).to(f16,non_blocking=True,copy=True)', 'T Float16 (1,) [1.5]'),
    ('Tensor([1.5]).to(other=Tensor([1]))', 'T Int64 (1,) [1]'),
    ("Tensor([1.5]).to(device='CPU',dtype=f16)", 'T Float16 (1,) [1.5]'),
    ('!x=Tensor([1.5]); r=x.to(f32) is x', 'bool False'),
    ('!x=Tensor([1.5]); r=x.to(f32,copy=True) is x', 'bool False'),
    ('!x=Tensor([1.5]); r=x.float() is x', 'bool False'),
    ('!x=Tensor([1.5]); r=x.contiguous() is x', 'bool True'),
    ('!x=Tensor([1.5]); r=x.value() is x', 'bool True'),
    ('!x=Tensor([1.5]); y=x.to(f32); y[0]=3; r=x', 'T Float32 (1,) [3.]'),
    ('!x=Tensor([1.5]); y=x.float(); y[0]=3; r=x', 'T Float32 (1,) [3.]'),
    ('!x=Tensor([1.5]); y=x.value(); y[0]=3; r=x', 'T Float32 (1,) [3.]'),
    ('!x=Tensor([1.5]); y=x.copy(); y[0]=3; r=x', 'T Float32 (1,) [1.5]'),
    ('Tensor([1.5]).type_as(Tensor([1]))', 'T Int64 (1,) [1]'),
    ('Tensor([[1,2],[3,4]]).T.is_contiguous()', 'bool False'),
    ('Tensor([[1,2],[3,4]]).T.contiguous().is_contiguous()', 'bool True'),
    ('Tensor([[1,2],[3,4]]).is_contiguous()', 'bool True'),
    ('Tensor([[1,2,3],[3,4,5]]).stride()', 'list[int 3; int 1]'),
    ('Tensor([[1,2,3],[3,4,5]]).stride(0)', 'int 3'),
    ('Tensor([[1,2,3],[3,4,5]]).stride(-1)', 'int 1'),
    ('Tensor([[1,2,3],[3,4,5]]).stride(dim=1)', 'int 1'),
    ('Tensor([[1,2,3],[3,4,5]]).strides', 'tuple[int 24; int 8]'),
    ('Tensor([[1,2,3],[3,4,5]])[1].storage_offset()', 'int 3'),
    ('Tensor([[1,2,3],[3,4,5]])[:,1].storage_offset()', 'int 1'),
    ('Tensor([1]).storage_offset()', 'int 0'),
    ('Tensor([[1]]).dim()', 'int 2'),
    ('Tensor([[1]]).ndimension()', 'int 2'),
    ('Tensor([[1,2]]).numel()', 'int 2'),
    ('Tensor([[1,2]]).nelement()', 'int 2'),
    ('Tensor([[1,2]]).ndim', 'int 2'),
    ('Tensor([[1,2]]).size', 'int 2'),
    ('Tensor([[1,2]]).itemsize', 'int 8'),
    ('Tensor([[1,2]]).nbytes', 'int 16'),
    ('Tensor([[1,2]]).shape', 'tuple[int 1; int 2]'),
    ('Tensor([[1,2]]).dtype', 'Int mindspore.int64'),
    ('Tensor([[1,2]]).has_init', 'bool False'),
    ('Tensor([[1,2]]).init', 'NoneType None'),
    ('Tensor([1.5]).is_floating_point()', 'bool True'),
    ('Tensor([1.5],bf16).is_floating_point()', 'bool True'),
    ('Tensor([1]).is_floating_point()', 'bool False'),
    ('Tensor([1]).is_complex()', 'bool False'),
    ('Tensor([1j]).is_complex()', 'bool True'),
    ('Tensor([1]).is_signed()', 'bool True'),
    ('Tensor([1],u8).is_signed()', 'bool False'),
    ('Tensor([True]).is_signed()', 'bool False'),
    ('Tensor([1.5]).is_signed()', 'bool True'),
    ('Tensor([1.5]).is_pinned()', 'bool False'),
    ('Tensor([1.5]).is_shared()', 'bool False'),
    ('Tensor([1.5]).is_meta', 'bool False'),
    ('Tensor([1.5]).new_zeros((2,3))', 'T Float32 (2, 3) [[0. 0. 0.]\n [0. 0. 0.]]'),
    ('Tensor([1.5]).new_zeros(2)', 'T Float32 (2,) [0. 0.]'),
    ('Tensor([1.5]).new_zeros([2])', 'T Float32 (2,) [0. 0.]'),
    ('Tensor([1.5]).new_zeros((2,),dtype=i32)', 'T Int32 (2,) [0 0]'),
    ('Tensor([1]).new_ones((2,3))', 'T Int64 (2, 3) [[1 1 1]\n [1 1 1]]'),
    ('Tensor([1]).new_ones(2)', 'T Int64 (2,) [1 1]'),
    ('Tensor([1]).new_ones((2,),dtype=f16)', 'T Float16 (2,) [1. 1.]'),
    ('!x=Tensor([1.5]); x.assign_value(Tensor([2,3])); r=x', 'T Int64 (2,) [2 3]'),
    ('!x=Tensor([1.5]); x.assign_value(Tensor([2.5])); r=x', 'T Float32 (1,) [2.5]'),
    ('!x=Tensor([1.5]); y=x[:]; x.assign_value(Tensor([2.5])); r=y', 'T Float32 (1,) [1.5]'),
    ('!x=Tensor([1.5]); x.requires_grad=True; r=x.requires_grad', 'bool True'),
    ('Tensor([1.5]).flush_from_cache()', 'NoneType None'),
    ("Tensor([1.5]).move_to('CPU')", 'T Float32 (1,) [1.5]'),
    ('!x=Tensor([1.5,2.5]); x.copy_(Tensor([3,4])); r=x', 'T Float32 (2,) [3. 4.]'),
    ('!x=Tensor([1.5,2.5]); x.copy_(Tensor(3)); r=x', 'T Float32 (2,) [3. 3.]'),
    ('!x=Tensor([1,2]); x.copy_(Tensor([3.7,4.2])); r=x', 'T Int64 (2,) [3 4]'),
    ('!x=Tensor([1,2]); x.copy_(Tensor([3,4]),non_blocking=True); r=x', 'T Int64 (2,) [3 4]'),
    ('Tensor([1,2]).get_bytes()', "bytes b'\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\x00'"),
    ('Tensor([1.5],f16).get_bytes()', "bytes b'\\x00>'"),
    ('Tensor.from_dlpack(Tensor([1,2]).to_dlpack())', 'T Int64 (2,) [1 2]'),
    ('!x=Tensor([1,2]); y=Tensor.from_dlpack(x.to_dlpack()); y[0]=9; r=x', 'T Int64 (2,) [9 2]'),
    ('pickle.loads(pickle.dumps(Tensor([1.5,2])))', 'T Float32 (2,) [1.5 2. ]'),
    ('pickle.loads(pickle.dumps(Tensor([1.5,2],bf16))).dtype', 'BFloat mindspore.bfloat16'),
    ("pickle.loads(pickle.dumps(Parameter(Tensor([1.5,2]),name='w')))", 'T Float32 (2,) Parameter (name=w, shape=(2,), dtype=Float32, requires_grad=True)'),
    ("pickle.loads(pickle.dumps(Parameter(Tensor([1.5,2]),name='w',requires_grad=False))).requires_grad", 'bool False'),
    ('copy.deepcopy(Tensor([1.5,2]))', 'T Float32 (2,) [1.5 2. ]'),
    ('copy.copy(Tensor([1.5,2]))', 'T Float32 (2,) [1.5 2. ]'),
    ('!x=Tensor([1.5,2]); y=copy.copy(x); y[0]=9; r=x', 'T Float32 (2,) [1.5 2. ]'),
    ("copy.deepcopy(Parameter(Tensor([1.5]),name='w'))", 'T Float32 (1,) Parameter (name=w, shape=(1,), dtype=Float32, requires_grad=True)'),
    ('!x=Tensor([1]); r={x:3}[x]', 'int 3'),
    ('Tensor([1]) == None', 'bool False'),
    ('Tensor([1]) != None', 'bool True'),
    ("Tensor([1]) == 'a'", 'bool False'),
    ("Tensor([1]) != 'a'", 'bool True'),
    ('Tensor([1,2]) == [1,2]', 'bool False'),
    ('Tensor([1,2]) != [1,2]', 'bool True'),
    ('Tensor([1,2]) == (1,2)', 'bool False'),
    ('Tensor([1,2]) == True', 'T Bool (2,) [ True False]'),
    ('Tensor([1,2]) == 1.0', 'T Bool (2,) [ True False]'),
    ('Tensor([1,2]) + [1,2]', 'T Int64 (2,) [2 4]'),
    ('[1,2] + Tensor([1,2])', 'T Int64 (2,) [2 4]'),
    ('Tensor([1,2]) + (1,2)', 'T Int64 (2,) [2 4]'),
    ('(1,2) + Tensor([1,2])', 'T Int64 (2,) [2 4]'),
    ('Tensor([1,2]) + np.float32(1.5)', 'T Float32 (2,) [2.5 3.5]'),
    ('Tensor([1,2]) - [1,2]', 'T Int64 (2,) [0 0]'),
    ('[1,2] - Tensor([1,2])', 'T Int64 (2,) [0 0]'),
    ('Tensor([1,2]) // [1,2]', 'T Int64 (2,) [1 1]'),
    ('Tensor([True])-Tensor([True])', 'T Bool (1,) [False]'),
    ('Tensor([True])+Tensor([True])', 'T Bool (1,) [ True]'),
    ('Tensor([True])*Tensor([True])', 'T Bool (1,) [ True]'),
    ('Tensor([True])/Tensor([True])', 'T Float32 (1,) [1.]'),
    ('Tensor([True])//Tensor([True])', 'T Bool (1,) [ True]'),
    ('Tensor([True])-True', 'T Bool (1,) [False]'),
    ('Tensor([True])+True', 'T Bool (1,) [ True]'),
    ('Tensor([True])+1', 'T Int64 (1,) [2]'),
    ('Tensor([True])+1.5', 'T Float32 (1,) [2.5]'),
    ('Tensor([True])-1', 'T Int64 (1,) [0]'),
    ('Tensor([True])*2', 'T Int64 (1,) [2]'),
    ('~Tensor([True,False])', 'T Bool (2,) [False  True]'),
    ('~Tensor([1,0,2])', 'T Bool (3,) [False  True False]'),
    ('~Tensor([1.5,0.])', 'T Bool (2,) [False  True]'),
    ('+Tensor([True])', 'T Bool (1,) [ True]'),
    ('abs(Tensor([-1,2]))', 'T Int64 (2,) [1 2]'),
    ('abs(Tensor([True]))', 'T Bool (1,) [ True]'),
    ('abs(Tensor([3+4j]))', 'T Complex128 (1,) [5.+0.j]'),
    ('abs(Tensor([1],u8))', 'T UInt8 (1,) [1]'),
    ('Tensor([1,2,3])**-1', 'T Int64 (3,) [1 0 0]'),
    ('Tensor([1,2,3])**2', 'T Int64 (3,) [1 4 9]'),
    ('Tensor([1,2,3])**0.5', 'T Float32 (3,) [1.        1.4142135 1.7320508]'),
    ('Tensor([1,2,3])**Tensor([-1,0,1])', 'T Int64 (3,) [1 1 3]'),
    ('2**Tensor([1,-1])', 'T Int64 (2,) [2 0]'),
    ('2**Tensor([1.,-1.])', 'T Float32 (2,) [2.  0.5]'),
    ('2.0**Tensor([1,2])', 'T Float32 (2,) [2. 4.]'),
    ('(-2.0)**Tensor([0.5])', 'T Float32 (1,) [nan]'),
    ('Tensor([-8.0])**(1/3)', 'T Float32 (1,) [nan]'),
    ('Tensor([0.0])**-1', 'T Float32 (1,) [inf]'),
    ('Tensor([0])**0', 'T Int64 (1,) [1]'),
    ('Tensor([2],i32)**Tensor([3],i8)', 'T Int32 (1,) [8]'),
    ('Tensor([7,-7])//2', 'T Int64 (2,) [ 3 -4]'),
    ('Tensor([7,-7])//-2', 'T Int64 (2,) [-4  3]'),
    ('Tensor([7.,-7.])//2', 'T Float32 (2,) [ 3. -4.]'),
    ('Tensor([7.,-7.])//0', 'T Float32 (2,) [ inf -inf]'),
    ('Tensor([7.5,-7.5])//2.5', 'T Float32 (2,) [ 3. -3.]'),
    ('7//Tensor([2,-2])', 'T Int64 (2,) [ 3 -4]'),
    ('7//Tensor([2.,-2.])', 'T Float32 (2,) [ 3. -4.]'),
    ('Tensor([7,-7])%3', 'T Int64 (2,) [1 2]'),
    ('Tensor([7,-7])%-3', 'T Int64 (2,) [-2 -1]'),
    ('Tensor([7.,-7.])%3', 'T Float32 (2,) [1. 2.]'),
    ('Tensor([7.,-7.])%-3', 'T Float32 (2,) [-2. -1.]'),
    ('Tensor([7.,-7.])%0', 'T Float32 (2,) [nan nan]'),
    ('7%Tensor([3,-3])', 'T Int64 (2,) [ 1 -2]'),
    ('7%Tensor([3.,-3.])', 'T Float32 (2,) [ 1. -2.]'),
    ('-7%Tensor([3,5])', 'T Int64 (2,) [2 3]'),
    ('Tensor([7],u8)%Tensor([4],i8)', 'T Int16 (1,) [3]'),
    ('Tensor([7,-7])/2', 'T Float32 (2,) [ 3.5 -3.5]'),
    ('Tensor([7,-7])/0', 'T Float32 (2,) [ inf -inf]'),
    ('Tensor([1,0])/0.0', 'T Float32 (2,) [inf nan]'),
    ('1/Tensor([2,4])', 'T Float32 (2,) [0.5  0.25]'),
    ('1/Tensor([0.0])', 'T Float32 (1,) [inf]'),
    ('1/Tensor([0])', 'T Float32 (1,) [inf]'),
    ('Tensor([5,3])&Tensor([3,1])', 'T Int64 (2,) [1 1]'),
    ('Tensor([5,3])|2', 'T Int64 (2,) [7 3]'),
    ('Tensor([5,3])^1', 'T Int64 (2,) [4 2]'),
    ('Tensor([True])&Tensor([False])', 'T Bool (1,) [False]'),
    ('Tensor([True])|False', 'T Bool (1,) [ True]'),
    ('Tensor([True])^True', 'T Bool (1,) [False]'),
    ('Tensor([1,2])@Tensor([3,4])', 'T Int64 () 11'),
    ('Tensor([[1.,2]])@Tensor([[1.],[2]])', 'T Float32 (1, 1) [[5.]]'),
    ('Tensor([[1],[2]])*Tensor([1,2,3])', 'T Int64 (2, 3) [[1 2 3]\n [2 4 6]]'),
    ('Tensor([1,2])<1.5', 'T Bool (2,) [ True False]'),
    ('Tensor([1,2])>=True', 'T Bool (2,) [ True  True]'),
    ('1<Tensor([1,2])', 'T Bool (2,) [False  True]'),
    ('1==Tensor([1,2])', 'T Bool (2,) [ True False]'),
    ('1.5!=Tensor([1,2])', 'T Bool (2,) [ True  True]'),
    ('!x=Tensor([1,2]); y=x; x+=1; r=(x,y)', 'tuple[T Int64 (2,) [2 3]; T Int64 (2,) [1 2]]'),
    ('!x=Tensor([1,2]); y=x; x-=1; r=(x,y)', 'tuple[T Int64 (2,) [0 1]; T Int64 (2,) [1 2]]'),
    ('!x=Tensor([1,2]); y=x; x*=2.5; r=(x,y)', 'tuple[T Float32 (2,) [2.5 5. ]; T Int64 (2,) [1 2]]'),
    ('!x=Tensor([1,2]); y=x; x/=2; r=(x,y)', 'tuple[T Float32 (2,) [0.5 1. ]; T Int64 (2,) [1 2]]'),
    ('!x=Tensor([1,2]); y=x; x//=2; r=(x,y)', 'tuple[T Int64 (2,) [0 1]; T Int64 (2,) [1 2]]'),
    ('!x=Tensor([1,2]); y=x; x%=2; r=(x,y)', 'tuple[T Int64 (2,) [1 0]; T Int64 (2,) [1 2]]'),
    ('!x=Tensor([1.,2]); y=x; x**=2; r=(x,y)', 'tuple[T Float32 (2,) [1. 4.]; T Float32 (2,) [1. 2.]]'),
    ('!x=Tensor([1.,2]); y=x; x@=Tensor([1.,1]); r=(x,y)', 'tuple[T Float32 () 3.0; T Float32 (2,) [1. 2.]]'),
    ('!x=Tensor([1,2]); y=x; x&=1; r=(x,y)', 'tuple[T Int64 (2,) [1 0]; T Int64 (2,) [1 2]]'),
    ('!x=Tensor([1,2]); y=x; x|=1; r=(x,y)', 'tuple[T Int64 (2,) [1 3]; T Int64 (2,) [1 2]]'),
    ('!x=Tensor([1,2]); y=x; x+=1.5; r=(x,y)', 'tuple[T Float32 (2,) [2.5 3.5]; T Int64 (2,) [1 2]]'),
    ('!x=Tensor([1,2]); y=x; x+=Tensor([1.5,1]); r=(x,y)', 'tuple[T Float32 (2,) [2.5 3. ]; T Int64 (2,) [1 2]]'),
    ('!x=Tensor([1,2]); y=x; x+=Tensor([[1,2],[3,4]]); r=(x,y)', 'tuple[T Int64 (2, 2) [[2 4]\n [4 6]]; T Int64 (2,) [1 2]]'),
    ("!x=Parameter(Tensor([1.,2]),name='p'); y=x; x+=1; r=(x,y)", 'tuple[T Float32 (2,) [2. 3.]; T Float32 (2,) Parameter (name=p, shape=(2,), dtype=Float32, requires_grad=True)]'),
    ('Tensor([[1,2]]).T', 'T Int64 (2, 1) [[1]\n [2]]'),
    ('Tensor([1,2]).T', 'T Int64 (2,) [1 2]'),
    ('Tensor(np.ones((2,3,4))).T.shape', 'tuple[int 4; int 3; int 2]'),
    ('Tensor(np.ones((2,3,4))).mT.shape', 'tuple[int 2; int 4; int 3]'),
    ('Tensor([[1+2j]]).H', 'T Complex128 (1, 1) [[1.-2.j]]'),
    ('Tensor([[1+2j]]).mH', 'T Complex128 (1, 1) [[1.-2.j]]'),
    ('Tensor([1]).data', 'T Int64 (1,) [1]'),
    ('Tensor([1]).symbolic_shape', 'NoneType None'),
    ('Tensor([1])._dtensor_info', 'NoneType None'),
    ('Tensor([1]).parent_tensor_', 'NoneType None'),
    ('Tensor([1]).param_info', 'NoneType None'),
    ('Tensor([1,2]).itemset(0,5)', 'T Int64 (2,) [5 2]'),
    ('Tensor([1,2]).set_const_arg()', 'T Int64 (2,) [1 2]'),
    ('Tensor([1,2]).set_const_arg(False).const_arg', 'bool False'),
    ('Tensor([1.5]).untyped_storage().size()', 'int 4'),
    ('Tensor([1.5]).storage().nbytes()', 'int 4'),
    ('isinstance(Tensor(1),Tensor)', 'bool True'),
    ('isinstance(Parameter(Tensor(1.)),Tensor)', 'bool True'),
    ('np.array(Tensor([1,2]),dtype=np.float32)', 'ndarray array([1., 2.], dtype=float32)'),
    ('np.asarray(Tensor([1.5]))', 'ndarray array([1.5], dtype=float32)'),
    ('sum(Tensor([1,2]))', 'T Int64 () 3'),
    ('ms.Tensor([1.0]) if Tensor([True]) else 0', 'T Float32 (1,) [1.]'),
    ('not Tensor([0])', 'bool True'),
    ('isinstance(Tensor([1]).shape,tuple)', 'bool True'),
    ('Tensor([1.0]).data_sync()', 'NoneType None'),
    ('Tensor([1.0]).wait_pipeline()', 'NoneType None'),
    ('Tensor([1.0]).init_finished', 'bool True'),
]
# Expressions, and the error that MindSpore 2.10 raised.
REFUSED = [
    ("Tensor('abc')", TypeError),
    ('Tensor(None)', TypeError),
    ('Tensor()', TypeError),
    ('Tensor([1,[2,3]])', TypeError),
    ("Tensor([1,'a'])", TypeError),
    ("Tensor({'a':1})", TypeError),
    ('Tensor(object())', TypeError),
    ('Tensor([1,2],ms.number)', TypeError),
    ('Tensor(1,shape=(2,))', ValueError),
    ('Tensor([1,2],shape=(2,))', ValueError),
    ('Tensor([1,2],shape=(3,))', ValueError),
    ('Tensor(np.array([1,2]),shape=(1,2))', ValueError),
    ('Tensor(1,dtype=f32,shape=(2,),init=1)', ValueError),
    ("Tensor(init='zeros',shape=(2,)).init_data()", ValueError),
    ("Tensor(init='zeros',dtype=f32)", ValueError),
    ('Tensor(range(3))', TypeError),
    ('Tensor(range(3),f32)', TypeError),
    ('Tensor(iter([1]))', TypeError),
    ('Tensor({1,2})', TypeError),
    ('Tensor(1.5,const_arg=1)', TypeError),
    ("Tensor(1.5,device='GPU')", ValueError),
    ('Tensor(np.array([1.5],np.longdouble))', TypeError),
    ("Tensor(np.datetime64('2020-01-01'))", TypeError),
    ('ms.Tensor.from_numpy([1,2])', TypeError),
    ('Tensor([1,2]).item()', ValueError),
    ('Tensor([]).item()', ValueError),
    ('int(Tensor([1,2]))', ValueError),
    ('float(Tensor([1,2]))', ValueError),
    ('float(Tensor([]))', ValueError),
    ('int(Tensor(1+2j))', TypeError),
    ('float(Tensor(1+0j))', TypeError),
    ('bool(Tensor([0,1]))', ValueError),
    ('bool(Tensor([]))', ValueError),
    ('[1,2,3][Tensor(1.0)]', ValueError),
    ('[1,2,3][Tensor([1,2])]', ValueError),
    ('len(Tensor(1))', TypeError),
    ('list(Tensor(1))', TypeError),
    ("Tensor([1.5]).to('float16')", ValueError),
    ('Tensor([1.5]).to(np.float16)', TypeError),
    ('Tensor([1.5]).to(float)', TypeError),
    ('Tensor([1.5]).to(int)', TypeError),
    ('Tensor([[1,2,3],[3,4,5]]).stride(5)', IndexError),
    ('Tensor([1.5]).new_zeros(2,3)', TypeError),
    ('Tensor([1]).new_ones(2,3)', TypeError),
    ("Tensor([1.5]).move_to('TPU')", ValueError),
    ("Tensor([1.5]).move_to('CPU',blocking=1)", ValueError),
    ('Tensor([1.5]).pin_memory()', RuntimeError),
    ('Tensor([1,2]) == Tensor([1,2,3])', ValueError),
    ('Tensor([1,2]) < None', TypeError),
    ("Tensor([1,2]) < 'a'", TypeError),
    ('Tensor([1,2]) + None', TypeError),
    ('None + Tensor([1,2])', TypeError),
    ("Tensor([1,2]) + 'a'", TypeError),
    ('Tensor([1,2]) + {}', TypeError),
    ('-Tensor([True,False])', TypeError),
    ('Tensor([True])**Tensor([True])', TypeError),
    ('divmod(Tensor([7,-7]),3)', TypeError),
    ('divmod(7,Tensor([3]))', TypeError),
    ('Tensor([1.5])&Tensor([1.5])', TypeError),
    ('Tensor([1,2])@Tensor([1,2,3])', ValueError),
    ('Tensor([1.,2])@2', TypeError),
    ('Tensor([1,2])+Tensor([1,2,3])', ValueError),
    ('Tensor([1,2])<Tensor([1,2,3])', ValueError),
    ('Tensor([1j])<Tensor([2j])', TypeError),
    ('Tensor([1]).mT', ValueError),
    ('Tensor([1]).H', ValueError),
    ('Tensor([1,2]).itemset(5)', IndexError),
    ('Tensor([1,2]) and 3', ValueError),
    ('a0=1', SyntaxError),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy casting infinities to whole numbers
@pytest.mark.parametrize(("source", "expected"), RECORDED)
def test_recorded_answers(source, expected):
    assert _show(_run(source)) == expected


@pytest.mark.parametrize(("source", "kind"), REFUSED)
def test_recorded_errors(source, kind):
    with pytest.raises(kind):
        _run(source)


@pytest.mark.parametrize(("source", "kind", "message"), [
    ("Tensor()", TypeError, "'input_data' must be a Tensor, an array, a list.*but got None"),
    ("Tensor({1: 2})", TypeError, "'input_data' should be one of Tensor.*but got 'dict'"),
    ("Tensor([1, [2, 3]])", TypeError, "nested lists must have one shape"),
    ("Tensor([1, 'a'])", TypeError, "must be numbers or truth values, but got elements of type"),
    ("Tensor(np.array([1.5], np.longdouble))", TypeError, "arrays of type .* can't be held"),
    ("Tensor(2**64)", TypeError, "the number 18446744073709551616 is too large"),
    ("Tensor([1], ms.string)", TypeError, "must be one that a tensor can hold"),
    ("Tensor(1, shape=(2,))", ValueError, r"go with no 'input_data', but got shape=\(2,\)"),
    ("Tensor(shape=(2,), init='ones')", ValueError, "give 'input_data', or 'dtype' with 'shape'"),
    ("Tensor(shape=(2,), dtype=f32, init='ones')", TypeError, "'init' must be an Initializer"),
    ("Tensor(shape=(-2,), dtype=f32)", ValueError, "'shape' must hold ints of 0 or more"),
    ("Tensor(1, const_arg=1)", TypeError, "'const_arg' must be a bool, but got 1"),
    ("Tensor(1, device='TPU')", ValueError, "must be 'CPU', 'GPU' or 'Ascend', but got 'TPU'"),
    ("Tensor.from_numpy([1])", TypeError, "must be a numpy.ndarray, but got list"),
    ("Tensor.from_numpy(np.array(['a']))", TypeError, "must hold numbers or truth values"),
    ("Tensor([1, 2]).item()", ValueError, r"one element.*but got shape \(2,\)"),
    ("int(Tensor([1, 2]))", ValueError, "Only a Tensor with one element can be turned into int"),
    ("bool(Tensor([1, 2]))", ValueError, "ambiguous.*Use .any"),
    ("[1][Tensor(0.5)]", ValueError, "Only a Tensor of whole numbers can be an index"),
    ("len(Tensor(1))", TypeError, "rank 0 has no len"),
    ("list(Tensor(1))", TypeError, "rank 0 can't be iterated"),
    ("Tensor([1]).astype('foo')", TypeError, "one that a tensor can hold.*but got 'foo'"),
    ("Tensor([1]).astype(None)", TypeError, "but got None"),
    ("Tensor([1]).to(3)", TypeError, "Failed calling to with .to.int"),
    ("Tensor([1]).to('float16')", ValueError, "device must be 'CPU'.*but got 'float16'"),
    ("Tensor([1]).type_as(1)", TypeError, "'other' must be a Tensor, but got 1"),
    ("Tensor([1]).copy_(3)", TypeError, "'src' must be a Tensor, but got 3"),
    ("Tensor([1, 2]).copy_(Tensor([1, 2, 3]))", ValueError, r"shape \(3,\) can't be broadcast"),
    ("Tensor([1]).stride(2)", IndexError, r"'dim' must be in \[-1, 1\), but got 2"),
    ("Tensor([1]).move_to('TPU')", ValueError, "'to' must be 'Ascend', 'GPU' or 'CPU'"),
    ("Tensor([1, 2]).itemset(3)", IndexError, "give an index and a value"),
    ("Tensor([1]).requires_grad_('a')", TypeError, "must be a bool, but got 'a'"),
    ("Tensor.convert_bytes_to_tensor(b'abc', (1,), i32)", ValueError, "needs 4 bytes, but got 3"),
    ("Tensor.convert_bytes_to_tensor('abc', (1,), i32)", TypeError, "must be bytes, but got str"),
    ("Tensor.from_dlpack(3)", TypeError, "must be a DLPack capsule or an array .*but got int"),
    ("-Tensor([True])", TypeError, "a Tensor of Bool has no negative"),
    ("Tensor([1, 2]) + Tensor([1, 2, 3])", ValueError, r"For 'add'.*Tensor\[2\] Int64, other=Tensor\[3\]"),
    ("Tensor([1]) + None", TypeError, "unsupported operand"),
    ("Tensor([1]) < 'a'", TypeError, "For 'lt', the other side must be a Tensor or a number, but got 'a'"),
])
def test_errors_say_what_is_wrong(source, kind, message):
    with pytest.raises(kind, match=message):
        _run(source)


def test_comparing_for_equality_with_what_is_no_number():
    x = Tensor([1, 2])
    for other in (None, "a", [1, 2], (1, 2), {}):
        assert (x == other) is False and (x != other) is True
    assert (x == np.array([1, 3])).tolist() == [True, False]


def test_a_tensor_from_a_tensor_shares_memory_and_a_copy_does_not():
    x = Tensor([1.0, 2.0])
    shared, other = Tensor(x), Tensor(x, ms.float64)
    copies = [x.copy(), x.clone(), copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))]
    x[0] = 9
    assert shared.tolist() == [9, 2] and other.tolist() == [1, 2]
    assert all(c.tolist() == [1, 2] for c in copies)


def test_numpy_and_torch_share_memory():
    array = np.array([1.0, 2.0])
    x = Tensor.from_numpy(array)
    x[0] = 9
    assert array[0] == 9 and Tensor.from_torch(torch.ones(2)).shape == (2,)
    raw = x.to_torch()
    raw[1] = 7
    assert array[1] == 7
    assert Tensor.from_numpy(array[::-1]).tolist() == [7, 9]
    assert Tensor.from_numpy(np.array(3)).shape == ()


def test_dlpack():
    x = Tensor([1.0, 2.0])
    for y in (Tensor.from_dlpack(x.to_dlpack()), ms.from_dlpack(x), Tensor.from_torch(torch.from_dlpack(x))):
        y[0] += 1
    assert x.tolist() == [4, 2]
    assert np.from_dlpack(x).tolist() == [4, 2]


@pytest.mark.parametrize("dtype", [b, i8, i32, i64, u8, f16, f32, f64, bf16, c64])
def test_bytes_and_pickles(dtype):
    x = Tensor([[1, 0, 3]], dtype)
    for y in (Tensor.convert_bytes_to_tensor(x.get_bytes(), (1, 3), dtype),
              pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert y.dtype is dtype and str(y) == str(x)
    assert len(x.get_bytes()) == x.nbytes


def test_large_whole_numbers():
    assert Tensor(2**63).dtype is u64 and Tensor([2**63]).tolist() == [2**63]
    assert Tensor(2**40, i32).item() == 0 and Tensor(300, u8).item() == 44
    assert Tensor(-1, u32).item() == 2**32 - 1 and Tensor(1e40).item() == float("inf")


def test_no_data_yet():
    x = Tensor(shape=[None, 3], dtype=f32)
    assert x.shape == (-1, 3) and x.dtype is f32 and isinstance(x, Tensor) and x.size == 0


def test_gradients_flow_through_conversions():
    def fn(x):
        y = x.copy().astype(f64).clone().to(f32).contiguous().value().double().float()
        return (y * y).sum()

    assert ms.grad(fn)(Tensor([1.0, 3.0])).tolist() == [2, 6]


def test_round_and_index():
    assert round(Tensor([1.567, 2.5]), 1).tolist() == pytest.approx([1.6, 2.5])
    assert list(range(5))[Tensor(2)] == 2 and 1 in Tensor([1, 2]) and None not in Tensor([1])


def test_every_method_is_described():
    assert [name for name, value in vars(Tensor).items()
            if not name.startswith("_") and callable(value) and not value.__doc__] == []
