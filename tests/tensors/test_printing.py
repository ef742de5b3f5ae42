"""The printed forms, against what MindSpore 2.10 printed for the same data."""

# ruff: noqa: E501

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor

# data, type, str(), repr()
RECORDED = [
    ('np.array(1)', 'bool', 'True', 'Tensor(shape=[], dtype=Bool, value= True)'),
    ('np.array(1)', 'int64', '1', 'Tensor(shape=[], dtype=Int64, value= 1)'),
    ('np.array(1)', 'float16', '1.0', 'Tensor(shape=[], dtype=Float16, value= 1)'),
    ('np.array(1)', 'float32', '1.0', 'Tensor(shape=[], dtype=Float32, value= 1)'),
    ('np.array(1)', 'bfloat16', '1.000000', 'Tensor(shape=[], dtype=BFloat16, value= 1)'),
    ('np.array(1)', 'complex64', '(1+0j)', 'Tensor(shape=[], dtype=Complex64, value= 1+0j)'),
    ('np.array(-1)', 'int64', '-1', 'Tensor(shape=[], dtype=Int64, value= -1)'),
    ('np.array(-1)', 'float16', '-1.0', 'Tensor(shape=[], dtype=Float16, value= -1)'),
    ('np.array(-1)', 'float32', '-1.0', 'Tensor(shape=[], dtype=Float32, value= -1)'),
    ('np.array(-1)', 'bfloat16', '-1.000000', 'Tensor(shape=[], dtype=BFloat16, value= -1)'),
    ('np.array(-1)', 'complex64', '(-1+0j)', 'Tensor(shape=[], dtype=Complex64, value= -1+0j)'),
    ('np.array(-1)', 'complex128', '(-1+0j)', 'Tensor(shape=[], dtype=Complex128, value= -1+0j)'),
    ('np.array(1.5)', 'int64', '1', 'Tensor(shape=[], dtype=Int64, value= 1)'),
    ('np.array(1.5)', 'uint16', '1', 'Tensor(shape=[], dtype=UInt16, value= 1)'),
    ('np.array(1.5)', 'uint32', '1', 'Tensor(shape=[], dtype=UInt32, value= 1)'),
    ('np.array(1.5)', 'float16', '1.5', 'Tensor(shape=[], dtype=Float16, value= 1.5)'),
    ('np.array(1.5)', 'float32', '1.5', 'Tensor(shape=[], dtype=Float32, value= 1.5)'),
    ('np.array(1.5)', 'float64', '1.5', 'Tensor(shape=[], dtype=Float64, value= 1.5)'),
    ('np.array(1.5)', 'bfloat16', '1.500000', 'Tensor(shape=[], dtype=BFloat16, value= 1.5)'),
    ('np.array(1.5)', 'complex64', '(1.5+0j)', 'Tensor(shape=[], dtype=Complex64, value= 1.5+0j)'),
    ('np.array(0.1)', 'bool', 'True', 'Tensor(shape=[], dtype=Bool, value= True)'),
    ('np.array(0.1)', 'int32', '0', 'Tensor(shape=[], dtype=Int32, value= 0)'),
    ('np.array(0.1)', 'int64', '0', 'Tensor(shape=[], dtype=Int64, value= 0)'),
    ('np.array(0.1)', 'uint16', '0', 'Tensor(shape=[], dtype=UInt16, value= 0)'),
    ('np.array(0.1)', 'uint32', '0', 'Tensor(shape=[], dtype=UInt32, value= 0)'),
    ('np.array(0.1)', 'float16', '0.1', 'Tensor(shape=[], dtype=Float16, value= 0.0999756)'),
    ('np.array(0.1)', 'float32', '0.1', 'Tensor(shape=[], dtype=Float32, value= 0.1)'),
    ('np.array(0.1)', 'bfloat16', '0.100098', 'Tensor(shape=[], dtype=BFloat16, value= 0.100098)'),
    ('np.array(0.1)', 'complex64', '(0.1+0j)', 'Tensor(shape=[], dtype=Complex64, value= 0.1+0j)'),
    ('np.array([1,2,3])', 'int64', '[1 2 3]', 'Tensor(shape=[3], dtype=Int64, value= [1, 2, 3])'),
    ('np.array([1,2,3])', 'uint8', '[1 2 3]', 'Tensor(shape=[3], dtype=UInt8, value= [1, 2, 3])'),
    ('np.array([1,2,3])', 'float16', '[1. 2. 3.]', 'Tensor(shape=[3], dtype=Float16, value= [ 1.0000e+00,  2.0000e+00,  3.0000e+00])'),
    ('np.array([1,2,3])', 'float32', '[1. 2. 3.]', 'Tensor(shape=[3], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00,  3.00000000e+00])'),
    ('np.array([1,2,3])', 'bfloat16', '[1.000000 2.000000 3.000000]', 'Tensor(shape=[3], dtype=BFloat16, value= [1, 2, 3])'),
    ('np.array([1,2,3])', 'complex64', '[1.+0.j 2.+0.j 3.+0.j]', 'Tensor(shape=[3], dtype=Complex64, value= [1+0j, 2+0j, 3+0j])'),
    ('np.array([])', 'int64', '[]', 'Tensor(shape=[0], dtype=Int64, value= )'),
    ('np.array([])', 'uint64', '[]', 'Tensor(shape=[0], dtype=UInt64, value= )'),
    ('np.array([])', 'float16', '[]', 'Tensor(shape=[0], dtype=Float16, value= )'),
    ('np.array([])', 'float32', '[]', 'Tensor(shape=[0], dtype=Float32, value= )'),
    ('np.array([])', 'bfloat16', '[]', 'Tensor(shape=[0], dtype=BFloat16, value= )'),
    ('np.array([])', 'complex64', '[]', 'Tensor(shape=[0], dtype=Complex64, value= )'),
    ('np.array([[]])', 'int8', '[]', 'Tensor(shape=[1, 0], dtype=Int8, value=\n)'),
    ('np.array([[]])', 'int16', '[]', 'Tensor(shape=[1, 0], dtype=Int16, value=\n)'),
    ('np.array([[]])', 'int64', '[]', 'Tensor(shape=[1, 0], dtype=Int64, value=\n)'),
    ('np.array([[]])', 'uint8', '[]', 'Tensor(shape=[1, 0], dtype=UInt8, value=\n)'),
    ('np.array([[]])', 'uint16', '[]', 'Tensor(shape=[1, 0], dtype=UInt16, value=\n)'),
    ('np.array([[]])', 'uint64', '[]', 'Tensor(shape=[1, 0], dtype=UInt64, value=\n)'),
    ('np.array([[]])', 'float16', '[]', 'Tensor(shape=[1, 0], dtype=Float16, value=\n)'),
    ('np.array([[]])', 'float32', '[]', 'Tensor(shape=[1, 0], dtype=Float32, value=\n)'),
    ('np.array([[]])', 'bfloat16', '[]', 'Tensor(shape=[1, 0], dtype=BFloat16, value=\n)'),
    ('np.array([[]])', 'complex64', '[]', 'Tensor(shape=[1, 0], dtype=Complex64, value=\n)'),
    ('np.array([[1,2.5],[3,4]])', 'int64', '[[1 2]\n [3 4]]', 'Tensor(shape=[2, 2], dtype=Int64, value=\n[[1, 2],\n [3, 4]])'),
    ('np.array([[1,2.5],[3,4]])', 'uint16', '[[1 2]\n [3 4]]', 'Tensor(shape=[2, 2], dtype=UInt16, value=\n[[1, 2],\n [3, 4]])'),
    ('np.array([[1,2.5],[3,4]])', 'uint64', '[[1 2]\n [3 4]]', 'Tensor(shape=[2, 2], dtype=UInt64, value=\n[[1, 2],\n [3, 4]])'),
    ('np.array([[1,2.5],[3,4]])', 'float16', '[[1.  2.5]\n [3.  4. ]]', 'Tensor(shape=[2, 2], dtype=Float16, value=\n[[ 1.0000e+00,  2.5000e+00],\n [ 3.0000e+00,  4.0000e+00]])'),
    ('np.array([[1,2.5],[3,4]])', 'float32', '[[1.  2.5]\n [3.  4. ]]', 'Tensor(shape=[2, 2], dtype=Float32, value=\n[[ 1.00000000e+00,  2.50000000e+00],\n [ 3.00000000e+00,  4.00000000e+00]])'),
    ('np.array([[1,2.5],[3,4]])', 'bfloat16', '[[1.000000 2.500000]\n [3.000000 4.000000]]', 'Tensor(shape=[2, 2], dtype=BFloat16, value=\n[[  1, 2.5],\n [  3,   4]])'),
    ('np.array([[1,2.5],[3,4]])', 'complex64', '[[1. +0.j 2.5+0.j]\n [3. +0.j 4. +0.j]]', 'Tensor(shape=[2, 2], dtype=Complex64, value=\n[[1+0j, 2.5+0j],\n [3+0j, 4+0j]])'),
    ('np.array([1.5,-2.25,3])', 'int8', '[ 1 -2  3]', 'Tensor(shape=[3], dtype=Int8, value= [ 1, -2,  3])'),
    ('np.array([1.5,-2.25,3])', 'int64', '[ 1 -2  3]', 'Tensor(shape=[3], dtype=Int64, value= [ 1, -2,  3])'),
    ('np.array([1.5,-2.25,3])', 'float16', '[ 1.5  -2.25  3.  ]', 'Tensor(shape=[3], dtype=Float16, value= [ 1.5000e+00, -2.2500e+00,  3.0000e+00])'),
    ('np.array([1.5,-2.25,3])', 'float32', '[ 1.5  -2.25  3.  ]', 'Tensor(shape=[3], dtype=Float32, value= [ 1.50000000e+00, -2.25000000e+00,  3.00000000e+00])'),
    ('np.array([1.5,-2.25,3])', 'bfloat16', '[1.500000 -2.250000 3.000000]', 'Tensor(shape=[3], dtype=BFloat16, value= [  1.5, -2.25,     3])'),
    ('np.array([1.5,-2.25,3])', 'complex64', '[ 1.5 +0.j -2.25+0.j  3.  +0.j]', 'Tensor(shape=[3], dtype=Complex64, value= [1.5+0j, -2.25+0j, 3+0j])'),
    ('np.array([[1,-2],[300,4]])', 'int32', '[[  1  -2]\n [300   4]]', 'Tensor(shape=[2, 2], dtype=Int32, value=\n[[  1,  -2],\n [300,   4]])'),
    ('np.array([[1,-2],[300,4]])', 'int64', '[[  1  -2]\n [300   4]]', 'Tensor(shape=[2, 2], dtype=Int64, value=\n[[  1,  -2],\n [300,   4]])'),
    ('np.array([[1,-2],[300,4]])', 'float16', '[[  1.  -2.]\n [300.   4.]]', 'Tensor(shape=[2, 2], dtype=Float16, value=\n[[ 1.0000e+00, -2.0000e+00],\n [ 3.0000e+02,  4.0000e+00]])'),
    ('np.array([[1,-2],[300,4]])', 'float32', '[[  1.  -2.]\n [300.   4.]]', 'Tensor(shape=[2, 2], dtype=Float32, value=\n[[ 1.00000000e+00, -2.00000000e+00],\n [ 3.00000000e+02,  4.00000000e+00]])'),
    ('np.array([[1,-2],[300,4]])', 'bfloat16', '[[1.000000 -2.000000]\n [300.000000 4.000000]]', 'Tensor(shape=[2, 2], dtype=BFloat16, value=\n[[  1,  -2],\n [300,   4]])'),
    ('np.array([[1,-2],[300,4]])', 'complex64', '[[  1.+0.j  -2.+0.j]\n [300.+0.j   4.+0.j]]', 'Tensor(shape=[2, 2], dtype=Complex64, value=\n[[1+0j, -2+0j],\n [300+0j, 4+0j]])'),
    ('np.array([1e-5,1.0,1e5])', 'float16', '[1.e-05 1.e+00    inf]', 'Tensor(shape=[3], dtype=Float16, value= [ 1.0014e-05,  1.0000e+00,         inf])'),
    ('np.array([1e-5,1.0,1e5])', 'float32', '[1.e-05 1.e+00 1.e+05]', 'Tensor(shape=[3], dtype=Float32, value= [ 9.99999975e-06,  1.00000000e+00,  1.00000000e+05])'),
    ('np.array([1e-5,1.0,1e5])', 'bfloat16', '[0.000010 1.000000 99840.000000]', 'Tensor(shape=[3], dtype=BFloat16, value= [1.00136e-05,           1,       99840])'),
    ('np.array([1e-5,1.0,1e5])', 'complex64', '[1.e-05+0.j 1.e+00+0.j 1.e+05+0.j]', 'Tensor(shape=[3], dtype=Complex64, value= [1e-05+0j, 1+0j, 100000+0j])'),
    ('np.array([1e10,1.0])', 'float16', '[inf  1.]', 'Tensor(shape=[2], dtype=Float16, value= [        inf,  1.0000e+00])'),
    ('np.array([1e10,1.0])', 'float32', '[1.e+10 1.e+00]', 'Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+10,  1.00000000e+00])'),
    ('np.array([1e10,1.0])', 'float64', '[1.e+10 1.e+00]', 'Tensor(shape=[2], dtype=Float64, value= [ 1.00000000e+10,  1.00000000e+00])'),
    ('np.array([1e10,1.0])', 'bfloat16', '[9999220736.000000 1.000000]', 'Tensor(shape=[2], dtype=BFloat16, value= [9.99922e+09,           1])'),
    ('np.array([1e10,1.0])', 'complex64', '[1.e+10+0.j 1.e+00+0.j]', 'Tensor(shape=[2], dtype=Complex64, value= [1e+10+0j, 1+0j])'),
    ('np.array([1e-8,1])', 'int64', '[0 1]', 'Tensor(shape=[2], dtype=Int64, value= [0, 1])'),
    ('np.array([1e-8,1])', 'float16', '[0. 1.]', 'Tensor(shape=[2], dtype=Float16, value= [ 0.0000e+00,  1.0000e+00])'),
    ('np.array([1e-8,1])', 'float32', '[1.e-08 1.e+00]', 'Tensor(shape=[2], dtype=Float32, value= [ 9.99999994e-09,  1.00000000e+00])'),
    ('np.array([1e-8,1])', 'bfloat16', '[0.000000 1.000000]', 'Tensor(shape=[2], dtype=BFloat16, value= [1.00117e-08,           1])'),
    ('np.array([1e-8,1])', 'complex64', '[1.e-08+0.j 1.e+00+0.j]', 'Tensor(shape=[2], dtype=Complex64, value= [1e-08+0j, 1+0j])'),
    ('np.array(np.nan)', 'float16', 'nan', 'Tensor(shape=[], dtype=Float16, value= nan)'),
    ('np.array(np.nan)', 'float32', 'nan', 'Tensor(shape=[], dtype=Float32, value= nan)'),
    ('np.array(np.nan)', 'bfloat16', 'nan', 'Tensor(shape=[], dtype=BFloat16, value= nan)'),
    ('np.array(np.nan)', 'complex64', '(nan+0j)', 'Tensor(shape=[], dtype=Complex64, value= nan+0j)'),
    ('np.array([1,np.nan])', 'float16', '[ 1. nan]', 'Tensor(shape=[2], dtype=Float16, value= [ 1.0000e+00,         nan])'),
    ('np.array([1,np.nan])', 'float32', '[ 1. nan]', 'Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,             nan])'),
    ('np.array([1,np.nan])', 'bfloat16', '[1.000000 nan]', 'Tensor(shape=[2], dtype=BFloat16, value= [  1, nan])'),
    ('np.array([1,np.nan])', 'complex64', '[ 1.+0.j nan+0.j]', 'Tensor(shape=[2], dtype=Complex64, value= [1+0j, nan+0j])'),
    ('np.array([np.inf,-np.inf,1.0])', 'float16', '[ inf -inf   1.]', 'Tensor(shape=[3], dtype=Float16, value= [        inf,        -inf,  1.0000e+00])'),
    ('np.array([np.inf,-np.inf,1.0])', 'float32', '[ inf -inf   1.]', 'Tensor(shape=[3], dtype=Float32, value= [            inf,            -inf,  1.00000000e+00])'),
    ('np.array([np.inf,-np.inf,1.0])', 'bfloat16', '[inf -inf 1.000000]', 'Tensor(shape=[3], dtype=BFloat16, value= [ inf, -inf,    1])'),
    ('np.array([np.inf,-np.inf,1.0])', 'complex64', '[ inf+0.j -inf+0.j   1.+0.j]', 'Tensor(shape=[3], dtype=Complex64, value= [inf+0j, -inf+0j, 1+0j])'),
    ('np.array([[[1,2],[3,4]],[[5,6],[7,8]]])', 'int64', '[[[1 2]\n  [3 4]]\n\n [[5 6]\n  [7 8]]]', 'Tensor(shape=[2, 2, 2], dtype=Int64, value=\n[[[1, 2],\n  [3, 4]],\n [[5, 6],\n  [7, 8]]])'),
    ('np.array([[[1,2],[3,4]],[[5,6],[7,8]]])', 'uint32', '[[[1 2]\n  [3 4]]\n\n [[5 6]\n  [7 8]]]', 'Tensor(shape=[2, 2, 2], dtype=UInt32, value=\n[[[1, 2],\n  [3, 4]],\n [[5, 6],\n  [7, 8]]])'),
    ('np.array([[[1,2],[3,4]],[[5,6],[7,8]]])', 'float16', '[[[1. 2.]\n  [3. 4.]]\n\n [[5. 6.]\n  [7. 8.]]]', 'Tensor(shape=[2, 2, 2], dtype=Float16, value=\n[[[ 1.0000e+00,  2.0000e+00],\n  [ 3.0000e+00,  4.0000e+00]],\n [[ 5.0000e+00,  6.0000e+00],\n  [ 7.0000e+00,  8.0000e+00]]])'),
    ('np.array([[[1,2],[3,4]],[[5,6],[7,8]]])', 'float32', '[[[1. 2.]\n  [3. 4.]]\n\n [[5. 6.]\n  [7. 8.]]]', 'Tensor(shape=[2, 2, 2], dtype=Float32, value=\n[[[ 1.00000000e+00,  2.00000000e+00],\n  [ 3.00000000e+00,  4.00000000e+00]],\n [[ 5.00000000e+00,  6.00000000e+00],\n  [ 7.00000000e+00,  8.00000000e+00]]])'),
    ('np.array([[[1,2],[3,4]],[[5,6],[7,8]]])', 'bfloat16', '[[[1.000000 2.000000]\n  [3.000000 4.000000]]\n\n [[5.000000 6.000000]\n  [7.000000 8.000000]]]', 'Tensor(shape=[2, 2, 2], dtype=BFloat16, value=\n[[[1, 2],\n  [3, 4]],\n [[5, 6],\n  [7, 8]]])'),
    ('np.array([[[1,2],[3,4]],[[5,6],[7,8]]])', 'complex64', '[[[1.+0.j 2.+0.j]\n  [3.+0.j 4.+0.j]]\n\n [[5.+0.j 6.+0.j]\n  [7.+0.j 8.+0.j]]]', 'Tensor(shape=[2, 2, 2], dtype=Complex64, value=\n[[[1+0j, 2+0j],\n  [3+0j, 4+0j]],\n [[5+0j, 6+0j],\n  [7+0j, 8+0j]]])'),
    ('np.array(np.ones((2,1,2,2)))', 'int16', '[[[[1 1]\n   [1 1]]]\n\n\n [[[1 1]\n   [1 1]]]]', 'Tensor(shape=[2, 1, 2, 2], dtype=Int16, value=\n[[[[1, 1],\n   [1, 1]]],\n [[[1, 1],\n   [1, 1]]]])'),
    ('np.array(np.ones((2,1,2,2)))', 'int64', '[[[[1 1]\n   [1 1]]]\n\n\n [[[1 1]\n   [1 1]]]]', 'Tensor(shape=[2, 1, 2, 2], dtype=Int64, value=\n[[[[1, 1],\n   [1, 1]]],\n [[[1, 1],\n   [1, 1]]]])'),
    ('np.array(np.ones((2,1,2,2)))', 'float16', '[[[[1. 1.]\n   [1. 1.]]]\n\n\n [[[1. 1.]\n   [1. 1.]]]]', 'Tensor(shape=[2, 1, 2, 2], dtype=Float16, value=\n[[[[ 1.0000e+00,  1.0000e+00],\n   [ 1.0000e+00,  1.0000e+00]]],\n [[[ 1.0000e+00,  1.0000e+00],\n   [ 1.0000e+00,  1.0000e+00]]]])'),
    ('np.array(np.ones((2,1,2,2)))', 'float32', '[[[[1. 1.]\n   [1. 1.]]]\n\n\n [[[1. 1.]\n   [1. 1.]]]]', 'Tensor(shape=[2, 1, 2, 2], dtype=Float32, value=\n[[[[ 1.00000000e+00,  1.00000000e+00],\n   [ 1.00000000e+00,  1.00000000e+00]]],\n [[[ 1.00000000e+00,  1.00000000e+00],\n   [ 1.00000000e+00,  1.00000000e+00]]]])'),
    ('np.array(np.ones((2,1,2,2)))', 'bfloat16', '[[[[1.000000 1.000000]\n   [1.000000 1.000000]]]\n\n\n [[[1.000000 1.000000]\n   [1.000000 1.000000]]]]', 'Tensor(shape=[2, 1, 2, 2], dtype=BFloat16, value=\n[[[[1, 1],\n   [1, 1]]],\n [[[1, 1],\n   [1, 1]]]])'),
    ('np.array(np.ones((2,1,2,2)))', 'complex64', '[[[[1.+0.j 1.+0.j]\n   [1.+0.j 1.+0.j]]]\n\n\n [[[1.+0.j 1.+0.j]\n   [1.+0.j 1.+0.j]]]]', 'Tensor(shape=[2, 1, 2, 2], dtype=Complex64, value=\n[[[[1+0j, 1+0j],\n   [1+0j, 1+0j]]],\n [[[1+0j, 1+0j],\n   [1+0j, 1+0j]]]])'),
    ('np.array(np.ones((2,0,3)))', 'bool', '[]', 'Tensor(shape=[2, 0, 3], dtype=Bool, value=\n)'),
    ('np.array(np.ones((2,0,3)))', 'int16', '[]', 'Tensor(shape=[2, 0, 3], dtype=Int16, value=\n)'),
    ('np.array(np.ones((2,0,3)))', 'int64', '[]', 'Tensor(shape=[2, 0, 3], dtype=Int64, value=\n)'),
    ('np.array(np.ones((2,0,3)))', 'uint64', '[]', 'Tensor(shape=[2, 0, 3], dtype=UInt64, value=\n)'),
    ('np.array(np.ones((2,0,3)))', 'float16', '[]', 'Tensor(shape=[2, 0, 3], dtype=Float16, value=\n)'),
    ('np.array(np.ones((2,0,3)))', 'float32', '[]', 'Tensor(shape=[2, 0, 3], dtype=Float32, value=\n)'),
    ('np.array(np.ones((2,0,3)))', 'bfloat16', '[]', 'Tensor(shape=[2, 0, 3], dtype=BFloat16, value=\n)'),
    ('np.array(np.ones((2,0,3)))', 'complex64', '[]', 'Tensor(shape=[2, 0, 3], dtype=Complex64, value=\n)'),
    ('np.array([0.0,-0.0])', 'bool', '[False False]', 'Tensor(shape=[2], dtype=Bool, value= [False, False])'),
    ('np.array([0.0,-0.0])', 'int32', '[0 0]', 'Tensor(shape=[2], dtype=Int32, value= [0, 0])'),
    ('np.array([0.0,-0.0])', 'int64', '[0 0]', 'Tensor(shape=[2], dtype=Int64, value= [0, 0])'),
    ('np.array([0.0,-0.0])', 'float16', '[ 0. -0.]', 'Tensor(shape=[2], dtype=Float16, value= [ 0.0000e+00, -0.0000e+00])'),
    ('np.array([0.0,-0.0])', 'float32', '[ 0. -0.]', 'Tensor(shape=[2], dtype=Float32, value= [ 0.00000000e+00, -0.00000000e+00])'),
    ('np.array([0.0,-0.0])', 'float64', '[ 0. -0.]', 'Tensor(shape=[2], dtype=Float64, value= [ 0.00000000e+00, -0.00000000e+00])'),
    ('np.array([0.0,-0.0])', 'bfloat16', '[0.000000 -0.000000]', 'Tensor(shape=[2], dtype=BFloat16, value= [ 0, -0])'),
    ('np.array([0.0,-0.0])', 'complex64', '[ 0.+0.j -0.+0.j]', 'Tensor(shape=[2], dtype=Complex64, value= [0+0j, -0+0j])'),
    ('np.array([0.0,-0.0])', 'complex128', '[ 0.+0.j -0.+0.j]', 'Tensor(shape=[2], dtype=Complex128, value= [0+0j, -0+0j])'),
    ('np.array([123456789,1])', 'int64', '[123456789         1]', 'Tensor(shape=[2], dtype=Int64, value= [123456789,         1])'),
    ('np.array([123456789,1])', 'uint8', '[21  1]', 'Tensor(shape=[2], dtype=UInt8, value= [21,  1])'),
    ('np.array([123456789,1])', 'float16', '[inf  1.]', 'Tensor(shape=[2], dtype=Float16, value= [        inf,  1.0000e+00])'),
    ('np.array([123456789,1])', 'float32', '[1.2345679e+08 1.0000000e+00]', 'Tensor(shape=[2], dtype=Float32, value= [ 1.23456792e+08,  1.00000000e+00])'),
    ('np.array([123456789,1])', 'bfloat16', '[123207680.000000 1.000000]', 'Tensor(shape=[2], dtype=BFloat16, value= [1.23208e+08,           1])'),
    ('np.array([123456789,1])', 'complex64', '[1.2345679e+08+0.j 1.0000000e+00+0.j]', 'Tensor(shape=[2], dtype=Complex64, value= [1.23457e+08+0j, 1+0j])'),
    ('np.array([123456789,1])', 'complex128', '[1.23456789e+08+0.j 1.00000000e+00+0.j]', 'Tensor(shape=[2], dtype=Complex128, value= [1.23457e+08+0j, 1+0j])'),
    ('np.array([1.23456789,2.3456789])', 'int32', '[1 2]', 'Tensor(shape=[2], dtype=Int32, value= [1, 2])'),
    ('np.array([1.23456789,2.3456789])', 'int64', '[1 2]', 'Tensor(shape=[2], dtype=Int64, value= [1, 2])'),
    ('np.array([1.23456789,2.3456789])', 'float16', '[1.234 2.346]', 'Tensor(shape=[2], dtype=Float16, value= [ 1.2344e+00,  2.3457e+00])'),
    ('np.array([1.23456789,2.3456789])', 'float32', '[1.2345679 2.3456788]', 'Tensor(shape=[2], dtype=Float32, value= [ 1.23456788e+00,  2.34567881e+00])'),
    ('np.array([1.23456789,2.3456789])', 'bfloat16', '[1.234375 2.343750]', 'Tensor(shape=[2], dtype=BFloat16, value= [1.23438, 2.34375])'),
    ('np.array([1.23456789,2.3456789])', 'complex64', '[1.2345679+0.j 2.3456788+0.j]', 'Tensor(shape=[2], dtype=Complex64, value= [1.23457+0j, 2.34568+0j])'),
    ('np.array(np.arange(30))', 'int64', '[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n 24 25 26 27 28 29]', 'Tensor(shape=[30], dtype=Int64, value= [ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, \n 24, 25, 26, 27, 28, 29])'),
    ('np.array(np.arange(30))', 'uint64', '[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n 24 25 26 27 28 29]', 'Tensor(shape=[30], dtype=UInt64, value= [ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, \n 24, 25, 26, 27, 28, 29])'),
    ('np.array(np.arange(30))', 'float16', '[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.\n 18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29.]', 'Tensor(shape=[30], dtype=Float16, value= [ 0.0000e+00,  1.0000e+00,  2.0000e+00,  3.0000e+00,  4.0000e+00,  5.0000e+00,  6.0000e+00,  7.0000e+00,  8.0000e+00,  9.0000e+00,  1.0000e+01,  1.1000e+01, \n  1.2000e+01,  1.3000e+01,  1.4000e+01,  1.5000e+01,  1.6000e+01,  1.7000e+01,  1.8000e+01,  1.9000e+01,  2.0000e+01,  2.1000e+01,  2.2000e+01,  2.3000e+01, \n  2.4000e+01,  2.5000e+01,  2.6000e+01,  2.7000e+01,  2.8000e+01,  2.9000e+01])'),
    ('np.array(np.arange(30))', 'bfloat16', '[0.000000 1.000000 2.000000 3.000000 4.000000 5.000000 6.000000 7.000000\n 8.000000 9.000000 10.000000 11.000000 12.000000 13.000000 14.000000\n 15.000000 16.000000 17.000000 18.000000 19.000000 20.000000 21.000000\n 22.000000 23.000000 24.000000 25.000000 26.000000 27.000000 28.000000\n 29.000000]', 'Tensor(shape=[30], dtype=BFloat16, value= [ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, \n 24, 25, 26, 27, 28, 29])'),
    ('np.array(np.arange(30))', 'complex64', '[ 0.+0.j  1.+0.j  2.+0.j  3.+0.j  4.+0.j  5.+0.j  6.+0.j  7.+0.j  8.+0.j\n  9.+0.j 10.+0.j 11.+0.j 12.+0.j 13.+0.j 14.+0.j 15.+0.j 16.+0.j 17.+0.j\n 18.+0.j 19.+0.j 20.+0.j 21.+0.j 22.+0.j 23.+0.j 24.+0.j 25.+0.j 26.+0.j\n 27.+0.j 28.+0.j 29.+0.j]', 'Tensor(shape=[30], dtype=Complex64, value= [0+0j, 1+0j, 2+0j, 3+0j, 4+0j, 5+0j, 6+0j, 7+0j, 8+0j, 9+0j, 10+0j, 11+0j, 12+0j, 13+0j, 14+0j, 15+0j, 16+0j, 17+0j, 18+0j, 19+0j, 20+0j, 21+0j, 22+0j, 23+0j, \n 24+0j, 25+0j, 26+0j, 27+0j, 28+0j, 29+0j])'),
    ('np.array(np.arange(30))', 'complex128', '[ 0.+0.j  1.+0.j  2.+0.j  3.+0.j  4.+0.j  5.+0.j  6.+0.j  7.+0.j  8.+0.j\n  9.+0.j 10.+0.j 11.+0.j 12.+0.j 13.+0.j 14.+0.j 15.+0.j 16.+0.j 17.+0.j\n 18.+0.j 19.+0.j 20.+0.j 21.+0.j 22.+0.j 23.+0.j 24.+0.j 25.+0.j 26.+0.j\n 27.+0.j 28.+0.j 29.+0.j]', 'Tensor(shape=[30], dtype=Complex128, value= [0+0j, 1+0j, 2+0j, 3+0j, 4+0j, 5+0j, 6+0j, 7+0j, 8+0j, 9+0j, 10+0j, 11+0j, 12+0j, 13+0j, 14+0j, 15+0j, 16+0j, 17+0j, 18+0j, 19+0j, 20+0j, 21+0j, 22+0j, 23+0j, \n 24+0j, 25+0j, 26+0j, 27+0j, 28+0j, 29+0j])'),
    ('np.array(np.arange(30)*1.1-7)', 'int8', '[-7 -5 -4 -3 -2 -1  0  0  1  2  4  5  6  7  8  9 10 11 12 13 15 16 17 18\n 19 20 21 22 23 24]', 'Tensor(shape=[30], dtype=Int8, value= [-7, -5, -4, -3, -2, -1,  0,  0,  1,  2,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 15, 16, 17, 18, \n 19, 20, 21, 22, 23, 24])'),
    ('np.array(np.arange(30)*1.1-7)', 'int64', '[-7 -5 -4 -3 -2 -1  0  0  1  2  4  5  6  7  8  9 10 11 12 13 15 16 17 18\n 19 20 21 22 23 24]', 'Tensor(shape=[30], dtype=Int64, value= [-7, -5, -4, -3, -2, -1,  0,  0,  1,  2,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 15, 16, 17, 18, \n 19, 20, 21, 22, 23, 24])'),
    ('np.array(np.arange(30)*1.1-7)', 'float16', '[-7.  -5.9 -4.8 -3.7 -2.6 -1.5 -0.4  0.7  1.8  2.9  4.   5.1  6.2  7.3\n  8.4  9.5 10.6 11.7 12.8 13.9 15.  16.1 17.2 18.3 19.4 20.5 21.6 22.7\n 23.8 24.9]', 'Tensor(shape=[30], dtype=Float16, value= [-7.0000e+00, -5.8984e+00, -4.8008e+00, -3.6992e+00, -2.5996e+00, -1.5000e+00, -3.9990e-01,  7.0020e-01,  1.7998e+00,  2.9004e+00,  4.0000e+00,  5.1016e+00, \n  6.1992e+00,  7.3008e+00,  8.3984e+00,  9.5000e+00,  1.0602e+01,  1.1703e+01,  1.2797e+01,  1.3898e+01,  1.5000e+01,  1.6094e+01,  1.7203e+01,  1.8297e+01, \n  1.9406e+01,  2.0500e+01,  2.1594e+01,  2.2703e+01,  2.3797e+01,  2.4906e+01])'),
    ('np.array(np.arange(30)*1.1-7)', 'complex64', '[-7. +0.j -5.9+0.j -4.8+0.j -3.7+0.j -2.6+0.j -1.5+0.j -0.4+0.j  0.7+0.j\n  1.8+0.j  2.9+0.j  4. +0.j  5.1+0.j  6.2+0.j  7.3+0.j  8.4+0.j  9.5+0.j\n 10.6+0.j 11.7+0.j 12.8+0.j 13.9+0.j 15. +0.j 16.1+0.j 17.2+0.j 18.3+0.j\n 19.4+0.j 20.5+0.j 21.6+0.j 22.7+0.j 23.8+0.j 24.9+0.j]', 'Tensor(shape=[30], dtype=Complex64, value= [-7+0j, -5.9+0j, -4.8+0j, -3.7+0j, -2.6+0j, -1.5+0j, -0.4+0j, 0.7+0j, 1.8+0j, 2.9+0j, 4+0j, 5.1+0j, 6.2+0j, 7.3+0j, 8.4+0j, 9.5+0j, 10.6+0j, 11.7+0j, 12.8+0j, 13.9+0j, 15+0j, 16.1+0j, 17.2+0j, 18.3+0j, \n 19.4+0j, 20.5+0j, 21.6+0j, 22.7+0j, 23.8+0j, 24.9+0j])'),
    ('np.array(np.ones((3,1,2,1,1)))', 'int8', '[[[[[1]]\n\n   [[1]]]]\n\n\n\n [[[[1]]\n\n   [[1]]]]\n\n\n\n [[[[1]]\n\n   [[1]]]]]', 'Tensor(shape=[3, 1, 2, 1, 1], dtype=Int8, value=\n[[[[[1]],\n   [[1]]]],\n [[[[1]],\n   [[1]]]],\n [[[[1]],\n   [[1]]]]])'),
    ('np.array(np.ones((3,1,2,1,1)))', 'int16', '[[[[[1]]\n\n   [[1]]]]\n\n\n\n [[[[1]]\n\n   [[1]]]]\n\n\n\n [[[[1]]\n\n   [[1]]]]]', 'Tensor(shape=[3, 1, 2, 1, 1], dtype=Int16, value=\n[[[[[1]],\n   [[1]]]],\n [[[[1]],\n   [[1]]]],\n [[[[1]],\n   [[1]]]]])'),
    ('np.array(np.ones((3,1,2,1,1)))', 'int32', '[[[[[1]]\n\n   [[1]]]]\n\n\n\n [[[[1]]\n\n   [[1]]]]\n\n\n\n [[[[1]]\n\n   [[1]]]]]', 'Tensor(shape=[3, 1, 2, 1, 1], dtype=Int32, value=\n[[[[[1]],\n   [[1]]]],\n [[[[1]],\n   [[1]]]],\n [[[[1]],\n   [[1]]]]])'),
    ('np.array(np.ones((3,1,2,1,1)))', 'int64', '[[[[[1]]\n\n   [[1]]]]\n\n\n\n [[[[1]]\n\n   [[1]]]]\n\n\n\n [[[[1]]\n\n   [[1]]]]]', 'Tensor(shape=[3, 1, 2, 1, 1], dtype=Int64, value=\n[[[[[1]],\n   [[1]]]],\n [[[[1]],\n   [[1]]]],\n [[[[1]],\n   [[1]]]]])'),
    ('np.array(np.ones((3,1,2,1,1)))', 'uint8', '[[[[[1]]\n\n   [[1]]]]\n\n\n\n [[[[1]]\n\n   [[1]]]]\n\n\n\n [[[[1]]\n\n   [[1]]]]]', 'Tensor(shape=[3, 1, 2, 1, 1], dtype=UInt8, value=\n[[[[[1]],\n   [[1]]]],\n [[[[1]],\n   [[1]]]],\n [[[[1]],\n   [[1]]]]])'),
    ('np.array(np.ones((3,1,2,1,1)))', 'uint64', '[[[[[1]]\n\n   [[1]]]]\n\n\n\n [[[[1]]\n\n   [[1]]]]\n\n\n\n [[[[1]]\n\n   [[1]]]]]', 'Tensor(shape=[3, 1, 2, 1, 1], dtype=UInt64, value=\n[[[[[1]],\n   [[1]]]],\n [[[[1]],\n   [[1]]]],\n [[[[1]],\n   [[1]]]]])'),
    ('np.array(np.ones((3,1,2,1,1)))', 'float16', '[[[[[1.]]\n\n   [[1.]]]]\n\n\n\n [[[[1.]]\n\n   [[1.]]]]\n\n\n\n [[[[1.]]\n\n   [[1.]]]]]', 'Tensor(shape=[3, 1, 2, 1, 1], dtype=Float16, value=\n[[[[[ 1.0000e+00]],\n   [[ 1.0000e+00]]]],\n [[[[ 1.0000e+00]],\n   [[ 1.0000e+00]]]],\n [[[[ 1.0000e+00]],\n   [[ 1.0000e+00]]]]])'),
    ('np.array(np.ones((3,1,2,1,1)))', 'float32', '[[[[[1.]]\n\n   [[1.]]]]\n\n\n\n [[[[1.]]\n\n   [[1.]]]]\n\n\n\n [[[[1.]]\n\n   [[1.]]]]]', 'Tensor(shape=[3, 1, 2, 1, 1], dtype=Float32, value=\n[[[[[ 1.00000000e+00]],\n   [[ 1.00000000e+00]]]],\n [[[[ 1.00000000e+00]],\n   [[ 1.00000000e+00]]]],\n [[[[ 1.00000000e+00]],\n   [[ 1.00000000e+00]]]]])'),
    ('np.array(np.ones((3,1,2,1,1)))', 'bfloat16', '[[[[[1.000000]]\n\n   [[1.000000]]]]\n\n\n\n [[[[1.000000]]\n\n   [[1.000000]]]]\n\n\n\n [[[[1.000000]]\n\n   [[1.000000]]]]]', 'Tensor(shape=[3, 1, 2, 1, 1], dtype=BFloat16, value=\n[[[[[1]],\n   [[1]]]],\n [[[[1]],\n   [[1]]]],\n [[[[1]],\n   [[1]]]]])'),
    ('np.array(np.ones((3,1,2,1,1)))', 'complex64', '[[[[[1.+0.j]]\n\n   [[1.+0.j]]]]\n\n\n\n [[[[1.+0.j]]\n\n   [[1.+0.j]]]]\n\n\n\n [[[[1.+0.j]]\n\n   [[1.+0.j]]]]]', 'Tensor(shape=[3, 1, 2, 1, 1], dtype=Complex64, value=\n[[[[[1+0j]],\n   [[1+0j]]]],\n [[[[1+0j]],\n   [[1+0j]]]],\n [[[[1+0j]],\n   [[1+0j]]]]])'),
    ('np.array(np.ones((3,1,2,1,1)))', 'complex128', '[[[[[1.+0.j]]\n\n   [[1.+0.j]]]]\n\n\n\n [[[[1.+0.j]]\n\n   [[1.+0.j]]]]\n\n\n\n [[[[1.+0.j]]\n\n   [[1.+0.j]]]]]', 'Tensor(shape=[3, 1, 2, 1, 1], dtype=Complex128, value=\n[[[[[1+0j]],\n   [[1+0j]]]],\n [[[[1+0j]],\n   [[1+0j]]]],\n [[[[1+0j]],\n   [[1+0j]]]]])'),
    ('np.array([1e-45,3e38])', 'float16', '[ 0. inf]', 'Tensor(shape=[2], dtype=Float16, value= [ 0.0000e+00,         inf])'),
    ('np.array([1e-45,3e38])', 'float32', '[1.e-45 3.e+38]', 'Tensor(shape=[2], dtype=Float32, value= [ 1.40129846e-45,  3.00000001e+38])'),
    ('np.array([1e-45,3e38])', 'bfloat16', '[0.000000 300405527047390987276260395623357874176.000000]', 'Tensor(shape=[2], dtype=BFloat16, value= [          0, 3.00406e+38])'),
    ('np.array([1e-45,3e38])', 'complex64', '[1.e-45+0.j 3.e+38+0.j]', 'Tensor(shape=[2], dtype=Complex64, value= [1.4013e-45+0j, 3e+38+0j])'),
    ('np.array([1e-45,3e38])', 'complex128', '[1.e-45+0.j 3.e+38+0.j]', 'Tensor(shape=[2], dtype=Complex128, value= [1e-45+0j, 3e+38+0j])'),
    ('np.array([1/3,2/3])', 'int64', '[0 0]', 'Tensor(shape=[2], dtype=Int64, value= [0, 0])'),
    ('np.array([1/3,2/3])', 'uint8', '[0 0]', 'Tensor(shape=[2], dtype=UInt8, value= [0, 0])'),
    ('np.array([1/3,2/3])', 'uint64', '[0 0]', 'Tensor(shape=[2], dtype=UInt64, value= [0, 0])'),
    ('np.array([1/3,2/3])', 'float16', '[0.3333 0.6665]', 'Tensor(shape=[2], dtype=Float16, value= [ 3.3325e-01,  6.6650e-01])'),
    ('np.array([1/3,2/3])', 'float32', '[0.33333334 0.6666667 ]', 'Tensor(shape=[2], dtype=Float32, value= [ 3.33333343e-01,  6.66666687e-01])'),
    ('np.array([1/3,2/3])', 'float64', '[0.33333333 0.66666667]', 'Tensor(shape=[2], dtype=Float64, value= [ 3.33333333e-01,  6.66666667e-01])'),
    ('np.array([1/3,2/3])', 'bfloat16', '[0.333984 0.667969]', 'Tensor(shape=[2], dtype=BFloat16, value= [0.333984, 0.667969])'),
    ('np.array([1/3,2/3])', 'complex64', '[0.33333334+0.j 0.6666667 +0.j]', 'Tensor(shape=[2], dtype=Complex64, value= [0.333333+0j, 0.666667+0j])'),
    ('np.array([1/3,2/3])', 'complex128', '[0.33333333+0.j 0.66666667+0.j]', 'Tensor(shape=[2], dtype=Complex128, value= [0.333333+0j, 0.666667+0j])'),
    ('np.array(np.linspace(-1,1,7))', 'bool', '[ True  True  True False  True  True  True]', 'Tensor(shape=[7], dtype=Bool, value= [ True,  True,  True, False,  True,  True,  True])'),
    ('np.array(np.linspace(-1,1,7))', 'int64', '[-1  0  0  0  0  0  1]', 'Tensor(shape=[7], dtype=Int64, value= [-1,  0,  0,  0,  0,  0,  1])'),
    ('np.array(np.linspace(-1,1,7))', 'float16', '[-1.     -0.6665 -0.3333  0.      0.3333  0.6665  1.    ]', 'Tensor(shape=[7], dtype=Float16, value= [-1.0000e+00, -6.6650e-01, -3.3325e-01,  0.0000e+00,  3.3325e-01,  6.6650e-01,  1.0000e+00])'),
    ('np.array(np.linspace(-1,1,7))', 'float32', '[-1.         -0.6666667  -0.33333334  0.          0.33333334  0.6666667\n  1.        ]', 'Tensor(shape=[7], dtype=Float32, value= [-1.00000000e+00, -6.66666687e-01, -3.33333343e-01,  0.00000000e+00,  3.33333343e-01,  6.66666687e-01,  1.00000000e+00])'),
    ('np.array(np.linspace(-1,1,7))', 'bfloat16', '[-1.000000 -0.667969 -0.333984 0.000000 0.333984 0.667969 1.000000]', 'Tensor(shape=[7], dtype=BFloat16, value= [       -1, -0.667969, -0.333984,         0,  0.333984,  0.667969,         1])'),
    ('np.array(np.linspace(-1,1,7))', 'complex64', '[-1.        +0.j -0.6666667 +0.j -0.33333334+0.j  0.        +0.j\n  0.33333334+0.j  0.6666667 +0.j  1.        +0.j]', 'Tensor(shape=[7], dtype=Complex64, value= [-1+0j, -0.666667+0j, -0.333333+0j, 0+0j, 0.333333+0j, 0.666667+0j, 1+0j])'),
    ('np.array([100000.0,1.0])', 'int8', '[-96   1]', 'Tensor(shape=[2], dtype=Int8, value= [-96,   1])'),
    ('np.array([100000.0,1.0])', 'int32', '[100000      1]', 'Tensor(shape=[2], dtype=Int32, value= [100000,      1])'),
    ('np.array([100000.0,1.0])', 'int64', '[100000      1]', 'Tensor(shape=[2], dtype=Int64, value= [100000,      1])'),
    ('np.array([100000.0,1.0])', 'uint8', '[160   1]', 'Tensor(shape=[2], dtype=UInt8, value= [160,   1])'),
    ('np.array([100000.0,1.0])', 'uint16', '[34464     1]', 'Tensor(shape=[2], dtype=UInt16, value= [34464,     1])'),
    ('np.array([100000.0,1.0])', 'uint64', '[100000      1]', 'Tensor(shape=[2], dtype=UInt64, value= [100000,      1])'),
    ('np.array([100000.0,1.0])', 'float16', '[inf  1.]', 'Tensor(shape=[2], dtype=Float16, value= [        inf,  1.0000e+00])'),
    ('np.array([100000.0,1.0])', 'float32', '[1.e+05 1.e+00]', 'Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+05,  1.00000000e+00])'),
    ('np.array([100000.0,1.0])', 'float64', '[1.e+05 1.e+00]', 'Tensor(shape=[2], dtype=Float64, value= [ 1.00000000e+05,  1.00000000e+00])'),
    ('np.array([100000.0,1.0])', 'bfloat16', '[99840.000000 1.000000]', 'Tensor(shape=[2], dtype=BFloat16, value= [99840,     1])'),
    ('np.array([100000.0,1.0])', 'complex64', '[1.e+05+0.j 1.e+00+0.j]', 'Tensor(shape=[2], dtype=Complex64, value= [100000+0j, 1+0j])'),
    ('np.array([1e16,1.])', 'float16', '[inf  1.]', 'Tensor(shape=[2], dtype=Float16, value= [        inf,  1.0000e+00])'),
    ('np.array([1e16,1.])', 'float32', '[1.e+16 1.e+00]', 'Tensor(shape=[2], dtype=Float32, value= [ 1.00000003e+16,  1.00000000e+00])'),
    ('np.array([1e16,1.])', 'bfloat16', '[9992361673228288.000000 1.000000]', 'Tensor(shape=[2], dtype=BFloat16, value= [9.99236e+15,           1])'),
    ('np.array([1e16,1.])', 'complex64', '[1.e+16+0.j 1.e+00+0.j]', 'Tensor(shape=[2], dtype=Complex64, value= [1e+16+0j, 1+0j])'),
    ('np.array([1e16,1.])', 'complex128', '[1.e+16+0.j 1.e+00+0.j]', 'Tensor(shape=[2], dtype=Complex128, value= [1e+16+0j, 1+0j])'),
    ('np.array([0.001,0.0001])', 'int64', '[0 0]', 'Tensor(shape=[2], dtype=Int64, value= [0, 0])'),
    ('np.array([0.001,0.0001])', 'uint8', '[0 0]', 'Tensor(shape=[2], dtype=UInt8, value= [0, 0])'),
    ('np.array([0.001,0.0001])', 'float16', '[0.001  0.0001]', 'Tensor(shape=[2], dtype=Float16, value= [ 1.0004e-03,  1.0002e-04])'),
    ('np.array([0.001,0.0001])', 'float32', '[1.e-03 1.e-04]', 'Tensor(shape=[2], dtype=Float32, value= [ 1.00000005e-03,  9.99999975e-05])'),
    ('np.array([0.001,0.0001])', 'bfloat16', '[0.000999 0.000100]', 'Tensor(shape=[2], dtype=BFloat16, value= [0.000999451, 0.000100136])'),
    ('np.array([0.001,0.0001])', 'complex64', '[1.e-03+0.j 1.e-04+0.j]', 'Tensor(shape=[2], dtype=Complex64, value= [0.001+0j, 0.0001+0j])'),
    ('np.arange(1001)', 'int64', '[   0    1    2 ...  998  999 1000]', 'Tensor(shape=[1001], dtype=Int64, value= [   0,    1,    2 ...  998,  999, 1000])'),
    ('np.arange(1001)', 'float32', '[   0.    1.    2. ...  998.  999. 1000.]', 'Tensor(shape=[1001], dtype=Float32, value= [ 0.00000000e+00,  1.00000000e+00,  2.00000000e+00 ...  9.98000000e+02,  9.99000000e+02,  1.00000000e+03])'),
    ('np.arange(1001)', 'float16', '[   0.    1.    2. ...  998.  999. 1000.]', 'Tensor(shape=[1001], dtype=Float16, value= [ 0.0000e+00,  1.0000e+00,  2.0000e+00 ...  9.9800e+02,  9.9900e+02,  1.0000e+03])'),
    ('np.arange(1001)', 'complex64', '[   0.+0.j    1.+0.j    2.+0.j ...  998.+0.j  999.+0.j 1000.+0.j]', 'Tensor(shape=[1001], dtype=Complex64, value= [0+0j, 1+0j, 2+0j ... 998+0j, 999+0j, 1000+0j])'),
    ('np.arange(2000).reshape(40,50)', 'int64', '[[   0    1    2 ...   47   48   49]\n [  50   51   52 ...   97   98   99]\n [ 100  101  102 ...  147  148  149]\n ...\n [1850 1851 1852 ... 1897 1898 1899]\n [1900 1901 1902 ... 1947 1948 1949]\n [1950 1951 1952 ... 1997 1998 1999]]', 'Tensor(shape=[40, 50], dtype=Int64, value=\n[[   0,    1,    2 ...   47,   48,   49],\n [  50,   51,   52 ...   97,   98,   99],\n [ 100,  101,  102 ...  147,  148,  149],\n ...\n [1850, 1851, 1852 ... 1897, 1898, 1899],\n [1900, 1901, 1902 ... 1947, 1948, 1949],\n [1950, 1951, 1952 ... 1997, 1998, 1999]])'),
    ('np.arange(2000).reshape(2,1000)', 'int64', '[[   0    1    2 ...  997  998  999]\n [1000 1001 1002 ... 1997 1998 1999]]', 'Tensor(shape=[2, 1000], dtype=Int64, value=\n[[   0,    1,    2 ...  997,  998,  999],\n [1000, 1001, 1002 ... 1997, 1998, 1999]])'),
    ('np.arange(2000).reshape(2,1000)', 'float32', '[[0.000e+00 1.000e+00 2.000e+00 ... 9.970e+02 9.980e+02 9.990e+02]\n [1.000e+03 1.001e+03 1.002e+03 ... 1.997e+03 1.998e+03 1.999e+03]]', 'Tensor(shape=[2, 1000], dtype=Float32, value=\n[[ 0.00000000e+00,  1.00000000e+00,  2.00000000e+00 ...  9.97000000e+02,  9.98000000e+02,  9.99000000e+02],\n [ 1.00000000e+03,  1.00100000e+03,  1.00200000e+03 ...  1.99700000e+03,  1.99800000e+03,  1.99900000e+03]])'),
    ('np.arange(2000).reshape(2,1000)', 'float16', '[[0.000e+00 1.000e+00 2.000e+00 ... 9.970e+02 9.980e+02 9.990e+02]\n [1.000e+03 1.001e+03 1.002e+03 ... 1.997e+03 1.998e+03 1.999e+03]]', 'Tensor(shape=[2, 1000], dtype=Float16, value=\n[[ 0.0000e+00,  1.0000e+00,  2.0000e+00 ...  9.9700e+02,  9.9800e+02,  9.9900e+02],\n [ 1.0000e+03,  1.0010e+03,  1.0020e+03 ...  1.9970e+03,  1.9980e+03,  1.9990e+03]])'),
    ('np.arange(2000).reshape(2,1000)', 'float64', '[[0.000e+00 1.000e+00 2.000e+00 ... 9.970e+02 9.980e+02 9.990e+02]\n [1.000e+03 1.001e+03 1.002e+03 ... 1.997e+03 1.998e+03 1.999e+03]]', 'Tensor(shape=[2, 1000], dtype=Float64, value=\n[[ 0.00000000e+00,  1.00000000e+00,  2.00000000e+00 ...  9.97000000e+02,  9.98000000e+02,  9.99000000e+02],\n [ 1.00000000e+03,  1.00100000e+03,  1.00200000e+03 ...  1.99700000e+03,  1.99800000e+03,  1.99900000e+03]])'),
    ('np.arange(2000).reshape(2,1000)', 'complex64', '[[0.000e+00+0.j 1.000e+00+0.j 2.000e+00+0.j ... 9.970e+02+0.j\n  9.980e+02+0.j 9.990e+02+0.j]\n [1.000e+03+0.j 1.001e+03+0.j 1.002e+03+0.j ... 1.997e+03+0.j\n  1.998e+03+0.j 1.999e+03+0.j]]', 'Tensor(shape=[2, 1000], dtype=Complex64, value=\n[[0+0j, 1+0j, 2+0j ... 997+0j, 998+0j, 999+0j],\n [1000+0j, 1001+0j, 1002+0j ... 1997+0j, 1998+0j, 1999+0j]])'),
    ('np.arange(2000).reshape(1000,2)', 'int64', '[[   0    1]\n [   2    3]\n [   4    5]\n ...\n [1994 1995]\n [1996 1997]\n [1998 1999]]', 'Tensor(shape=[1000, 2], dtype=Int64, value=\n[[   0,    1],\n [   2,    3],\n [   4,    5],\n ...\n [1994, 1995],\n [1996, 1997],\n [1998, 1999]])'),
    ('np.arange(2000).reshape(1000,2)', 'float32', '[[0.000e+00 1.000e+00]\n [2.000e+00 3.000e+00]\n [4.000e+00 5.000e+00]\n ...\n [1.994e+03 1.995e+03]\n [1.996e+03 1.997e+03]\n [1.998e+03 1.999e+03]]', 'Tensor(shape=[1000, 2], dtype=Float32, value=\n[[ 0.00000000e+00,  1.00000000e+00],\n [ 2.00000000e+00,  3.00000000e+00],\n [ 4.00000000e+00,  5.00000000e+00],\n ...\n [ 1.99400000e+03,  1.99500000e+03],\n [ 1.99600000e+03,  1.99700000e+03],\n [ 1.99800000e+03,  1.99900000e+03]])'),
    ('np.arange(2000).reshape(1000,2)', 'float16', '[[0.000e+00 1.000e+00]\n [2.000e+00 3.000e+00]\n [4.000e+00 5.000e+00]\n ...\n [1.994e+03 1.995e+03]\n [1.996e+03 1.997e+03]\n [1.998e+03 1.999e+03]]', 'Tensor(shape=[1000, 2], dtype=Float16, value=\n[[ 0.0000e+00,  1.0000e+00],\n [ 2.0000e+00,  3.0000e+00],\n [ 4.0000e+00,  5.0000e+00],\n ...\n [ 1.9940e+03,  1.9950e+03],\n [ 1.9960e+03,  1.9970e+03],\n [ 1.9980e+03,  1.9990e+03]])'),
    ('np.arange(2000).reshape(1000,2)', 'complex64', '[[0.000e+00+0.j 1.000e+00+0.j]\n [2.000e+00+0.j 3.000e+00+0.j]\n [4.000e+00+0.j 5.000e+00+0.j]\n ...\n [1.994e+03+0.j 1.995e+03+0.j]\n [1.996e+03+0.j 1.997e+03+0.j]\n [1.998e+03+0.j 1.999e+03+0.j]]', 'Tensor(shape=[1000, 2], dtype=Complex64, value=\n[[0+0j, 1+0j],\n [2+0j, 3+0j],\n [4+0j, 5+0j],\n ...\n [1994+0j, 1995+0j],\n [1996+0j, 1997+0j],\n [1998+0j, 1999+0j]])'),
    ('np.ones((1001,))*0.1', 'int64', '[0 0 0 ... 0 0 0]', 'Tensor(shape=[1001], dtype=Int64, value= [0, 0, 0 ... 0, 0, 0])'),
    ('np.ones((1001,))*0.1', 'float32', '[0.1 0.1 0.1 ... 0.1 0.1 0.1]', 'Tensor(shape=[1001], dtype=Float32, value= [ 1.00000001e-01,  1.00000001e-01,  1.00000001e-01 ...  1.00000001e-01,  1.00000001e-01,  1.00000001e-01])'),
    ('np.ones((1001,))*0.1', 'float16', '[0.1 0.1 0.1 ... 0.1 0.1 0.1]', 'Tensor(shape=[1001], dtype=Float16, value= [ 9.9976e-02,  9.9976e-02,  9.9976e-02 ...  9.9976e-02,  9.9976e-02,  9.9976e-02])'),
    ('np.ones((1001,))*0.1', 'uint8', '[0 0 0 ... 0 0 0]', 'Tensor(shape=[1001], dtype=UInt8, value= [0, 0, 0 ... 0, 0, 0])'),
    ('np.ones((1001,))*0.1', 'complex64', '[0.1+0.j 0.1+0.j 0.1+0.j ... 0.1+0.j 0.1+0.j 0.1+0.j]', 'Tensor(shape=[1001], dtype=Complex64, value= [0.1+0j, 0.1+0j, 0.1+0j ... 0.1+0j, 0.1+0j, 0.1+0j])'),
    ('np.arange(1001)*1000.5', 'int64', '[      0    1000    2001 ...  998499  999499 1000500]', 'Tensor(shape=[1001], dtype=Int64, value= [      0,    1000,    2001 ...  998499,  999499, 1000500])'),
    ('np.arange(1001)*1000.5', 'float32', '[      0.     1000.5    2001.  ...  998499.   999499.5 1000500. ]', 'Tensor(shape=[1001], dtype=Float32, value= [ 0.00000000e+00,  1.00050000e+03,  2.00100000e+03 ...  9.98499000e+05,  9.99499500e+05,  1.00050000e+06])'),
    ('np.arange(1001)*1000.5', 'float16', '[   0.  1000.5 2001.  ...    inf    inf    inf]', 'Tensor(shape=[1001], dtype=Float16, value= [ 0.0000e+00,  1.0005e+03,  2.0010e+03 ...         inf,         inf,         inf])'),
    ('np.arange(1001)*1000.5', 'complex64', '[      0. +0.j    1000.5+0.j    2001. +0.j ...  998499. +0.j  999499.5+0.j\n 1000500. +0.j]', 'Tensor(shape=[1001], dtype=Complex64, value= [0+0j, 1000.5+0j, 2001+0j ... 998499+0j, 999500+0j, 1.0005e+06+0j])'),
    ('np.arange(0)', 'int64', '[]', 'Tensor(shape=[0], dtype=Int64, value= )'),
    ('np.arange(0)', 'float32', '[]', 'Tensor(shape=[0], dtype=Float32, value= )'),
    ('np.arange(0)', 'float16', '[]', 'Tensor(shape=[0], dtype=Float16, value= )'),
    ('np.arange(0)', 'complex64', '[]', 'Tensor(shape=[0], dtype=Complex64, value= )'),
    ('np.arange(0)', 'int32', '[]', 'Tensor(shape=[0], dtype=Int32, value= )'),
    ('np.array([[1+2j,3.25]])', 'complex64', '[[1.  +2.j 3.25+0.j]]', 'Tensor(shape=[1, 2], dtype=Complex64, value=\n[[1+2j, 3.25+0j]])'),
    ('np.random.RandomState(0).randn(*(3,))*1', 'float64', '[1.76405235 0.40015721 0.97873798]', 'Tensor(shape=[3], dtype=Float64, value= [ 1.76405235e+00,  4.00157208e-01,  9.78737984e-01])'),
    ('np.random.RandomState(0).randn(*(3,))*100', 'float16', '[176.4   40.03  97.9 ]', 'Tensor(shape=[3], dtype=Float16, value= [ 1.7638e+02,  4.0031e+01,  9.7875e+01])'),
    ('np.random.RandomState(0).randn(*(3,))*1e-3', 'float32', '[0.00176405 0.00040016 0.00097874]', 'Tensor(shape=[3], dtype=Float32, value= [ 1.76405231e-03,  4.00157209e-04,  9.78737953e-04])'),
    ('np.random.RandomState(0).randn(*(3,))*1e-3', 'float16', '[0.001764 0.0004   0.000978]', 'Tensor(shape=[3], dtype=Float16, value= [ 1.7643e-03,  4.0007e-04,  9.7847e-04])'),
    ('np.random.RandomState(0).randn(*(3,))*1e12', 'float32', '[1.7640523e+12 4.0015721e+11 9.7873795e+11]', 'Tensor(shape=[3], dtype=Float32, value= [ 1.76405230e+12,  4.00157213e+11,  9.78737955e+11])'),
    ('np.random.RandomState(0).randn(*(3,))*1e-12', 'float16', '[0. 0. 0.]', 'Tensor(shape=[3], dtype=Float16, value= [ 0.0000e+00,  0.0000e+00,  0.0000e+00])'),
    ('np.random.RandomState(0).randn(*(5,))*1', 'float16', '[1.764  0.4001 0.9785 2.24   1.867 ]', 'Tensor(shape=[5], dtype=Float16, value= [ 1.7637e+00,  4.0015e-01,  9.7852e-01,  2.2402e+00,  1.8672e+00])'),
    ('np.random.RandomState(0).randn(*(5,))*100', 'float32', '[176.40523  40.01572  97.8738  224.08932 186.7558 ]', 'Tensor(shape=[5], dtype=Float32, value= [ 1.76405228e+02,  4.00157204e+01,  9.78738022e+01,  2.24089325e+02,  1.86755798e+02])'),
    ('np.random.RandomState(0).randn(*(3,4))*1', 'float32', '[[ 1.7640524   0.4001572   0.978738    2.2408931 ]\n [ 1.867558   -0.9772779   0.95008844 -0.1513572 ]\n [-0.10321885  0.41059852  0.14404356  1.4542735 ]]', 'Tensor(shape=[3, 4], dtype=Float32, value=\n[[ 1.76405239e+00,  4.00157213e-01,  9.78738010e-01,  2.24089313e+00],\n [ 1.86755800e+00, -9.77277875e-01,  9.50088441e-01, -1.51357204e-01],\n [-1.03218853e-01,  4.10598516e-01,  1.44043565e-01,  1.45427346e+00]])'),
    ('np.random.RandomState(0).randn(*(3,4))*100', 'float32', '[[176.40523   40.01572   97.8738   224.08932 ]\n [186.7558   -97.72779   95.00884  -15.135721]\n [-10.321885  41.05985   14.404357 145.42735 ]]', 'Tensor(shape=[3, 4], dtype=Float32, value=\n[[ 1.76405228e+02,  4.00157204e+01,  9.78738022e+01,  2.24089325e+02],\n [ 1.86755798e+02, -9.77277908e+01,  9.50088425e+01, -1.51357212e+01],\n [-1.03218851e+01,  4.10598488e+01,  1.44043570e+01,  1.45427353e+02]])'),
    ('np.random.RandomState(0).randn(*(3,4))*1e-3', 'float32', '[[ 0.00176405  0.00040016  0.00097874  0.00224089]\n [ 0.00186756 -0.00097728  0.00095009 -0.00015136]\n [-0.00010322  0.0004106   0.00014404  0.00145427]]', 'Tensor(shape=[3, 4], dtype=Float32, value=\n[[ 1.76405231e-03,  4.00157209e-04,  9.78737953e-04,  2.24089320e-03],\n [ 1.86755799e-03, -9.77277872e-04,  9.50088433e-04, -1.51357206e-04],\n [-1.03218852e-04,  4.10598499e-04,  1.44043574e-04,  1.45427347e-03]])'),
    ('np.random.RandomState(0).randn(*(3,4))*1e-3', 'float16', '[[ 0.001764    0.0004      0.000978    0.002241  ]\n [ 0.001867   -0.0009775   0.00095    -0.0001514 ]\n [-0.00010324  0.0004106   0.000144    0.001454  ]]', 'Tensor(shape=[3, 4], dtype=Float16, value=\n[[ 1.7643e-03,  4.0007e-04,  9.7847e-04,  2.2411e-03],\n [ 1.8673e-03, -9.7752e-04,  9.4986e-04, -1.5140e-04],\n [-1.0324e-04,  4.1056e-04,  1.4400e-04,  1.4544e-03]])'),
    ('np.random.RandomState(0).randn(*(20,))*1', 'float16', '[ 1.764   0.4001  0.9785  2.24    1.867  -0.977   0.95   -0.1514 -0.1032\n  0.4106  0.144   1.454   0.761   0.1217  0.4438  0.3337  1.494  -0.2052\n  0.313  -0.854 ]', 'Tensor(shape=[20], dtype=Float16, value= [ 1.7637e+00,  4.0015e-01,  9.7852e-01,  2.2402e+00,  1.8672e+00, -9.7705e-01,  9.5020e-01, -1.5137e-01, -1.0321e-01,  4.1064e-01,  1.4404e-01,  1.4541e+00, \n  7.6123e-01,  1.2170e-01,  4.4385e-01,  3.3374e-01,  1.4941e+00, -2.0520e-01,  3.1299e-01, -8.5400e-01])'),
    ('np.random.RandomState(0).randn(*(20,))*100', 'float16', '[176.4    40.03   97.9   224.1   186.8   -97.75   95.    -15.13  -10.32\n  41.06   14.41  145.4    76.1    12.164  44.38   33.38  149.4   -20.52\n  31.31  -85.44 ]', 'Tensor(shape=[20], dtype=Float16, value= [ 1.7638e+02,  4.0031e+01,  9.7875e+01,  2.2412e+02,  1.8675e+02, -9.7750e+01,  9.5000e+01, -1.5133e+01, -1.0320e+01,  4.1062e+01,  1.4406e+01,  1.4538e+02, \n  7.6125e+01,  1.2164e+01,  4.4375e+01,  3.3375e+01,  1.4938e+02, -2.0516e+01,  3.1312e+01, -8.5438e+01])'),
    ('np.random.RandomState(0).randn(*(2,2,2,2))*1e-3', 'float16', '[[[[ 0.001764    0.0004    ]\n   [ 0.000978    0.002241  ]]\n\n  [[ 0.001867   -0.0009775 ]\n   [ 0.00095    -0.0001514 ]]]\n\n\n [[[-0.00010324  0.0004106 ]\n   [ 0.000144    0.001454  ]]\n\n  [[ 0.000761    0.00012165]\n   [ 0.000444    0.0003338 ]]]]', 'Tensor(shape=[2, 2, 2, 2], dtype=Float16, value=\n[[[[ 1.7643e-03,  4.0007e-04],\n   [ 9.7847e-04,  2.2411e-03]],\n  [[ 1.8673e-03, -9.7752e-04],\n   [ 9.4986e-04, -1.5140e-04]]],\n [[[-1.0324e-04,  4.1056e-04],\n   [ 1.4400e-04,  1.4544e-03]],\n  [[ 7.6103e-04,  1.2165e-04],\n   [ 4.4394e-04,  3.3379e-04]]]])'),
    ('np.random.RandomState(0).randn(*(2,2,2,2))*1e6', 'float16', '[[[[ inf  inf]\n   [ inf  inf]]\n\n  [[ inf -inf]\n   [ inf -inf]]]\n\n\n [[[-inf  inf]\n   [ inf  inf]]\n\n  [[ inf  inf]\n   [ inf  inf]]]]', 'Tensor(shape=[2, 2, 2, 2], dtype=Float16, value=\n[[[[        inf,         inf],\n   [        inf,         inf]],\n  [[        inf,        -inf],\n   [        inf,        -inf]]],\n [[[       -inf,         inf],\n   [        inf,         inf]],\n  [[        inf,         inf],\n   [        inf,         inf]]]])'),
]


@pytest.mark.parametrize(("source", "dtype", "printed", "shown"), RECORDED)
def test_recorded_forms(source, dtype, printed, shown):
    array = np.asarray(eval(source, {"np": np}))
    if dtype == "bfloat16":
        x = Tensor(array, ms.float64).astype(ms.bfloat16)
    else:
        x = Tensor(array, getattr(ms, "bool_" if dtype == "bool" else dtype))
    assert str(x) == printed
    assert repr(x) == shown


LONG = [
    ('np.arange(24)', 'int64', 'Tensor(shape=[24], dtype=Int64, value= [ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23\n ])'),
    ('np.arange(25)', 'int64', 'Tensor(shape=[25], dtype=Int64, value= [ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, \n 24])'),
    ('np.arange(60).reshape(2,30)', 'int32', 'Tensor(shape=[2, 30], dtype=Int32, value=\n[[ 0,  1,  2 ... 27, 28, 29],\n [30, 31, 32 ... 57, 58, 59]])'),
    ('np.arange(1020).reshape(170,6)', 'int64', 'Tensor(shape=[170, 6], dtype=Int64, value=\n[[   0,    1,    2,    3,    4,    5],\n [   6,    7,    8,    9,   10,   11],\n [  12,   13,   14,   15,   16,   17],\n ...\n [1002, 1003, 1004, 1005, 1006, 1007],\n [1008, 1009, 1010, 1011, 1012, 1013],\n [1014, 1015, 1016, 1017, 1018, 1019]])'),
    ('np.arange(1001)', 'float16', '[   0.    1.    2. ...  998.  999. 1000.]'),
    ('np.arange(1001)*1000.5', 'float32', '[      0.     1000.5    2001.  ...  998499.   999499.5 1000500. ]'),
    ('np.arange(2000).reshape(40,50)', 'int64', '[[   0    1    2 ...   47   48   49]\n [  50   51   52 ...   97   98   99]\n [ 100  101  102 ...  147  148  149]\n ...\n [1850 1851 1852 ... 1897 1898 1899]\n [1900 1901 1902 ... 1947 1948 1949]\n [1950 1951 1952 ... 1997 1998 1999]]'),
    ('np.arange(1001)*1000.5', 'complex64', '[      0. +0.j    1000.5+0.j    2001. +0.j ...  998499. +0.j  999499.5+0.j\n 1000500. +0.j]'),
]


@pytest.mark.parametrize(("source", "dtype", "text"), LONG)
def test_long_tensors_are_wrapped_and_summarised(source, dtype, text):
    x = Tensor(eval(source, {"np": np}), getattr(ms, dtype))
    assert text == (repr(x) if text.startswith("Tensor") else str(x))


def test_inside_containers():
    x = Tensor([1, 2.5])
    assert str((x, Tensor(1))) == (
        "(Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.50000000e+00]), "
        "Tensor(shape=[], dtype=Int64, value= 1))")
    assert str({"a": [Tensor([[1, 2]])]}) == (
        "{'a': [Tensor(shape=[1, 2], dtype=Int64, value=\n[[1, 2]])]}")
    assert str([ms.Parameter(Tensor([1.0]), name="x")]) == (
        "[Parameter (name=x, shape=(1,), dtype=Float32, requires_grad=True)]")


def test_numpy_print_options_are_heard():
    with np.printoptions(precision=3):
        assert str(Tensor([1.23456789, 2])) == "[1.235 2.   ]"
    with np.printoptions(threshold=5):
        assert str(Tensor(np.arange(10))) == "[0 1 2 ... 7 8 9]"
        assert repr(Tensor(np.arange(10))).endswith("[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])")
    with np.printoptions(suppress=True):
        assert str(Tensor([1e-5, 1.0])) == "[0.00001 1.     ]"


def _with(array, place, value):
    array[place] = value
    return array


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("values", [
    [1e8], [1e8, 2e8], [1e-5, 1.2345678], [1e-12, 3e-5, 0.1],
    _with(np.ones(1000), 500, 22.25), _with(np.ones(1001), 500, 22.25),
    _with(np.ones((7, 200)), 3, 0.125), _with(np.ones((6, 200)), 3, 0.125),
    _with(np.ones((200, 9)), (50, 4), 0.125), [INF], [NAN], [-INF, 1.5], [NAN, -2.0], [INF, -3.25],
    [complex(1, INF), complex(INF, -2)], [complex(1, -INF), complex(NAN, 0.5)],
    [complex(2, NAN), complex(-1, 1e-6)], [complex(INF, 1e9), 3.0]], ids=range(18))
@pytest.mark.parametrize("options", [
    {}, {"nanstr": ".", "infstr": "*"}, {"nanstr": "nothing"}, {"infstr": "endless"},
    {"threshold": 5, "edgeitems": 1}], ids=str)
def test_numbers_are_printed_as_numpy_prints_them(values, options):
    array = np.asarray(values, np.complex64 if np.iscomplexobj(values) else np.float32)
    with np.printoptions(**options):
        assert str(Tensor(array)) == str(array)


def test_exponents_are_printed_beyond_a_thousand():
    for values in ([1000.0, 1.0], [1000.5, 1.0], [0.5, 500.25]):
        assert str(Tensor(values)) == str(np.float32(values))


def test_the_user_can_format_one_number():
    assert f"{Tensor(1.0)}" == "1.0"
    assert f"{Tensor(3.14159):.2f}" == "3.14"
    assert "%.3f" % Tensor(0.1) == "0.100"  # noqa: UP031
    assert f"{Tensor(5):03d}" == "005"
    with pytest.raises(TypeError, match=r"format '.3f' is for one number.*shape \(2,\)"):
        f"{Tensor([1.0, 2.0]):.3f}"


def test_data_yet_to_be_made():
    x = Tensor(shape=(2, 2), dtype=ms.float32, init=ms.common.initializer.One())
    assert str(x) == "[[1. 1.]\n [1. 1.]]" and not x.has_init  # printing makes it
    assert repr(Tensor(shape=[None, 3], dtype=ms.float32)) == (
        "Tensor(shape=[-1, 3], dtype=Float32, value=\n)")


@pytest.mark.parametrize("shape, cut", [((1000,), False), ((1001,), True), ((6, 6), False),
                                        ((7, 2), True), ((2, 7), True), ((1, 6, 6), False)])
def test_from_which_size_on_the_form_inside_containers_is_cut(shape, cut):
    assert ("..." in repr(Tensor(np.zeros(shape, np.int32)))) is cut
